"""The folders of the embedders, looked at from outside: whose they are, and how far they have come.

Protects quick answers: only SQLite is asked, so that a palace can say how its vectors are without
loading what they are made with. May not change anything.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

from domain.embedders import short_of
from projections.sqlite import attach, connect

CACHE_FILE: Final = "cache.db"
INDEX_FILE: Final = "vectors.index"
LOCK_FILE: Final = "embedding.lock"
INDEX_MAGIC: Final = b"palacelog vectors 1\n"
USE_FILE: Final = "use.lock"
REMOVED: Final = ".removed-"
"""What the name of a folder begins with that is being removed."""

WHOLE: Final = "whole"
UNREADABLE: Final = "unreadable"
_NO_FAULTS: Final = ("locked", "busy", "full", "i/o", "unable to open", "readonly", "closed")
_SUM_BYTES: Final = 32
_ROWS: Final = "SELECT chunk, vector, bits, sum FROM passages ORDER BY number"
_VIEWS: Final = "views"
_TEXTS: Final = "SELECT count(DISTINCT digest) FROM numbered"
# In the order of two indexes, which SQLite walks side by side: 100,000 texts in 50 ms.
_LACKING: Final = (
    "SELECT count(*) FROM (SELECT digest FROM views.numbered"
    " EXCEPT SELECT digest FROM passages WHERE chunk = 0 ORDER BY 1)"
)
_FAILED: Final = (
    "SELECT count(*) FROM failures AS one"
    " WHERE EXISTS (SELECT 1 FROM views.numbered WHERE digest = one.digest)"
    " AND NOT EXISTS (SELECT 1 FROM passages WHERE digest = one.digest AND chunk = 0)"
)


class Saved(NamedTuple):
    """A saved index that is whole.

    Attributes:
        identity: whose vectors they are.
        upto: the number of the last row of the cache that is in it.
        body: as the library that made it wrote it.
    """

    identity: dict[str, Any]
    upto: int
    body: bytes


class Coverage(NamedTuple):
    """How many of a palace's texts an embedder has.

    Attributes:
        missing: nobody tried them yet.
        failed: they could not be embedded.
    """

    texts: int
    embedded: int
    missing: int
    failed: int


def is_damage(error: Exception) -> bool:
    """Whether a database said that it is not what was written, not that it cannot be used now."""
    text = str(error).lower()
    return isinstance(error, sqlite3.DatabaseError) and not any(one in text for one in _NO_FAULTS)


def short_names(folder: Path) -> list[str]:
    """The folders of embedders that are there, by name."""
    if not folder.is_dir():
        return []
    found = [one.name for one in folder.iterdir() if (one / CACHE_FILE).is_file()]
    return sorted(name for name in found if not name.startswith("."))


def leftovers(folder: Path) -> list[str]:
    """The folders whose removal was not finished, by name."""
    return sorted(one.name for one in folder.glob(f"{REMOVED}*")) if folder.is_dir() else []


def read_about(path: Path) -> dict[str, str]:
    """What a cache says of itself: `schema`, `identity` (JSON) and `source`; empty where it says
    nothing that can be read.
    """
    try:
        with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
            return dict(connection.execute("SELECT name, value FROM about").fetchall())
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return {}
        raise


def identity_in(about: dict[str, str]) -> dict[str, Any] | None:
    """The identity that a cache says it is of; None where it says none."""
    try:
        found = orjson.loads(about["identity"])
        short_of(found)
    except (KeyError, TypeError, ValueError):
        return None
    return dict(found)


def index_file(identity: dict[str, Any], upto: int, body: bytes) -> bytes:
    """A saved index as it lies in its file: a line that says what it is, a sum, the body."""
    head = INDEX_MAGIC + orjson.dumps({"identity": identity, "upto": upto}) + b"\n"
    return head + sha256(head + body).digest() + body


def saved_index(path: Path) -> Saved | None:
    """What was saved; None where there is nothing whole: the cache has it all."""
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    if not whole.startswith(INDEX_MAGIC):
        return None
    end = whole.find(b"\n", len(INDEX_MAGIC)) + 1
    begin = end + _SUM_BYTES
    head, told, body = whole[:end], whole[end:begin], whole[begin:]
    if sha256(head + body).digest() != told:
        return None
    said = orjson.loads(head[len(INDEX_MAGIC) :])
    return Saved(said["identity"], said["upto"], body)


def texts(cursor: sqlite3.Cursor) -> int:
    """How many different texts a snapshot of the views holds."""
    [(count,)] = cursor.execute(_TEXTS).fetchall()
    return int(count)


def coverage(path: Path, views: Path, count: int) -> Coverage:
    """How many of the texts of the views a cache has.

    Args:
        views: their file.
        count: how many texts they hold.

    Raises:
        sqlite3.DatabaseError: it cannot be read.
    """
    if not path.is_file():
        return Coverage(count, 0, count, 0)
    with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
        attach(connection, views, _VIEWS)
        [(lacking,)] = connection.execute(_LACKING).fetchall()
        [(failed,)] = connection.execute(_FAILED).fetchall()
    # What was written meanwhile is counted by the next who asks.
    lacking = min(lacking, count)
    failed = min(failed, lacking)
    return Coverage(count, count - lacking, lacking - failed, failed)


def row_sum(chunk: int, vector: bytes, bits: bytes) -> int:
    """The sum that a row of a cache carries."""
    return crc32(bits, crc32(vector, crc32(chunk.to_bytes(4, "big"))))


def fault_in(path: Path) -> str | None:
    """How a cache is not what was written, as the end of a sentence; None where it is.

    Raises:
        sqlite3.DatabaseError: it cannot be read.
    """
    with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
        said = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if said != ("ok",):
            return f"is damaged ({said[0]})"
        for *row, told in connection.execute(_ROWS):
            try:
                if row_sum(*row) == told:
                    continue
            except (TypeError, OverflowError):
                pass
            return "holds a vector that is not what was written"
    return None


def state(folder: Path, views: Path, count: int) -> dict[str, Any]:
    """How an embedder's folder is: the coverage of the texts, and whether it can be read."""
    try:
        found = coverage(folder / CACHE_FILE, views, count)
        readable = WHOLE
    except (sqlite3.Error, OSError):
        found, readable = Coverage(count, 0, count, 0), UNREADABLE
    return found._asdict() | {"state": readable}
