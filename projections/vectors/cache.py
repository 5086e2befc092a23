"""The cache of one embedder: what it made of every text so far, by the digest of the text.

Protects work: no text is embedded twice, whichever process asks, whatever becomes of views and
index. Rows are numbered as they came and their vectors never change, so that an index of them only
ever adds; a row that gives way to another is of no text from then on. Each carries a sum over its
vectors: what was altered on the disk is never compared. May not know a palace: it holds digests, no
texts and no ids.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from domain.errors import Damaged
from projections.sqlite import checkpoint as move_wal
from projections.sqlite import connect, end, is_open
from projections.vectors.embedder import Bits, Identity, Passage, Vectors
from projections.vectors.folders import CACHE_FILE, USE_FILE, fault_in, row_sum
from projections.vectors.remembered import Remembered

_SCHEMA: Final = "2"
_AT_ONCE: Final = 500
_FLOAT_BYTES: Final = 4
_WHOLE: Final = "digest, chunk, vector, bits, sum"
MADE_AGAIN: Final = "Run `palacelog reindex`; vectors are made again from the texts."
_TABLES: Final = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passages (number INTEGER PRIMARY KEY, digest BLOB NOT NULL,"
    " chunk INTEGER NOT NULL, vector BLOB NOT NULL, bits BLOB NOT NULL, sum INTEGER NOT NULL,"
    " UNIQUE (digest, chunk))",
    "CREATE TABLE failures (digest BLOB PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE attached (digest BLOB PRIMARY KEY, op_id TEXT NOT NULL) WITHOUT ROWID",
)
# Numbers are never used again, and a row of no text may be the last.
_RETIRE: Final = "UPDATE passages SET digest = CAST(number AS BLOB) WHERE digest = ?"

_COUNT_RETIRED: Final = (
    "INSERT INTO about VALUES ('retired', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1"
)


class Stored(NamedTuple):
    """Rows of the cache, in the order of their numbers.

    Attributes:
        numbers: of the rows, [n] int64.
        vectors: [n, dimension].
    """

    numbers: NDArray[np.int64]
    vectors: Vectors


class Cache:
    """An open cache. Safe to use from any number of threads and processes."""

    def __init__(self, folder: Path, identity: Identity, source: str) -> None:
        """Open the cache of an embedder; make it where there is none.

        Args:
            source: what the embedder is named by; noted where the cache is new.

        Raises:
            Damaged: `palacelog::vectors::cache`, the file is of another embedder.
        """
        self.identity = identity
        self.folder = folder
        self._guard = threading.RLock()
        self._remembered = Remembered()
        with ExitStack() as opened:
            self._used = _use(folder)
            if self._used >= 0:
                opened.callback(os.close, self._used)
            self._connection = opened.enter_context(
                closing(connect(folder / CACHE_FILE, synchronous="NORMAL"))
            )
            self._file = (folder / CACHE_FILE).stat().st_ino
            self._begin(source)
            opened.pop_all()

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._guard:
            self._connection.close()
            used, self._used = self._used, -1
            if used >= 0:
                os.close(used)

    def stands(self) -> bool:
        """Whether it can be used, and its file is the one that lies in the folder: it was not made
        anew meanwhile.
        """
        try:
            same = (self.folder / CACHE_FILE).stat().st_ino == self._file
        except OSError:
            return False
        return same and is_open(self._connection)

    def name(self, source: str) -> None:
        """Note what the embedder is named by from now on: its folder was moved."""
        with self._writing() as cursor:
            cursor.execute("UPDATE about SET value = ? WHERE name = 'source'", (source,))

    def store(self, made: Iterable[tuple[bytes, Sequence[Passage]]]) -> None:
        """Keep what was made of texts, all chunks of each; what is held already stays."""
        whole = list(made)
        with self._writing() as cursor:
            for digest, passages in whole:
                _insert(cursor, digest, passages)

    def attach(self, digest: bytes, op_id: str, passages: Sequence[Passage]) -> None:
        """Take what was given for a text, in place of what is held of it."""
        with self._writing() as cursor:
            if cursor.execute(_RETIRE, (digest,)).rowcount > 0:
                cursor.execute(_COUNT_RETIRED)
            _insert(cursor, digest, passages)
            cursor.execute("INSERT OR REPLACE INTO attached VALUES (?, ?)", (digest, op_id))

    def detach(self, digest: bytes) -> None:
        """Take back what was given for a text; nothing is held of it then."""
        with self._writing() as cursor:
            cursor.execute(_RETIRE, (digest,))
            cursor.execute("DELETE FROM attached WHERE digest = ?", (digest,))
            cursor.execute(_COUNT_RETIRED)

    def attached(self) -> dict[bytes, str]:
        """The texts that vectors were given for, with the op_id of each."""
        with self._guard:
            rows = self._connection.execute("SELECT digest, op_id FROM attached").fetchall()
        return dict(rows)

    def retired(self) -> int:
        """How often a text lost what was held of it, whether other vectors came or none."""
        with self._guard:
            row = self._connection.execute(
                "SELECT value FROM about WHERE name = 'retired'"
            ).fetchone()
        return 0 if row is None else int(row[0])

    def failed(self, digest: bytes, reason: str) -> None:
        """Remember that a text could not be embedded; it is tried again when asked for."""
        with self._writing() as cursor:
            cursor.execute("INSERT OR REPLACE INTO failures VALUES (?, ?)", (digest, reason))

    def failures(self, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Those of some texts that could not be embedded, and why."""
        return dict(self._of(digests, "SELECT digest, reason FROM failures WHERE digest IN ({})"))

    def missing(self, digests: Sequence[bytes]) -> list[bytes]:
        """Those of some digests of which nothing is held, in the order given."""
        select = "SELECT digest FROM passages WHERE chunk = 0 AND digest IN ({})"
        held = {digest for (digest,) in self._of(digests, select)}
        return [one for one in dict.fromkeys(digests) if one not in held]

    def numbers(self, digests: Sequence[bytes]) -> list[tuple[int, bytes]]:
        """The rows of some texts, as (number, digest)."""
        select = "SELECT number, digest FROM passages WHERE digest IN ({})"
        return [(number, digest) for number, digest in self._of(digests, select)]

    def digests(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Which text each of some rows is of.

        Raises:
            Damaged: `palacelog::vectors::cache`, one of them is gone.
        """
        select = "SELECT number, digest FROM passages WHERE number IN ({})"
        found = dict(self._of(numbers, select))
        if len(found) < len(set(numbers)):
            raise self._damaged("has lost rows that its index knows")
        return found

    def passages(self, digests: Sequence[bytes]) -> dict[bytes, Sequence[Passage]]:
        """What was made of some texts, chunk by chunk.

        Raises:
            Damaged: `palacelog::vectors::cache`, it is not what was written.
        """
        version = self.retired()
        found = self._remembered.of(digests, version)
        read = self._read([one for one in digests if one not in found])
        self._remembered.add(read, version)
        return found | read

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, Sequence[Passage]]:
        select = f"SELECT {_WHOLE} FROM passages WHERE digest IN ({{}}) ORDER BY digest, chunk"
        found: dict[bytes, list[Passage]] = {}
        for row in self._of(digests, select):
            digest, vector, bits = self._checked(row)
            passage = Passage(np.frombuffer(vector, dtype=np.float32), self._bits(bits))
            found.setdefault(digest, []).append(passage)
        return dict(found)

    def after(self, number: int, limit: int) -> Stored:
        """At most `limit` rows behind one.

        Raises:
            Damaged: `palacelog::vectors::cache`, one of them is not what was written.
        """
        with self._guard:
            rows = self._connection.execute(
                f"SELECT number, {_WHOLE} FROM passages WHERE number > ? ORDER BY number LIMIT ?",
                (number, limit),
            ).fetchall()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        whole = b"".join(self._checked(row[1:])[1] for row in rows)
        vectors = np.frombuffer(whole, dtype=np.float32)
        return Stored(numbers, vectors.reshape(len(rows), self.identity.dimension))

    def check(self) -> None:
        """Go through all of it.

        Raises:
            Damaged: `palacelog::vectors::cache`, it is not what was written.
            sqlite3.DatabaseError: it cannot be read.
        """
        fault = fault_in(self.folder / CACHE_FILE)
        if fault is not None:
            raise self._damaged(fault)

    def move_wal(self) -> None:
        """Move the WAL into the file; under the embedding lock."""
        with self._guard:
            move_wal(self._connection)

    def last(self) -> int:
        """The number of the newest row, 0 where there is none."""
        with self._guard:
            row = self._connection.execute("SELECT max(number) FROM passages").fetchone()
        return int(row[0] or 0)

    def _begin(self, source: str) -> None:
        """Make the tables where there are none; else nothing is written."""
        said = orjson.dumps(self.identity.as_json(), option=orjson.OPT_SORT_KEYS).decode()
        wanted = {"schema": _SCHEMA, "identity": said}
        if not _about(self._connection):
            with self._writing() as cursor:
                if not _about(self._connection):
                    for table in _TABLES:
                        cursor.execute(table)
                    about = wanted | {"source": source}
                    cursor.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        held = _about(self._connection)
        if any(held.get(name) != value for name, value in wanted.items()):
            raise self._damaged(f"is not one of the embedder {self.identity.short}")

    def _checked(self, row: Sequence[Any]) -> tuple[bytes, bytes, bytes]:
        """The digest, vector and bits of a row that is what was written."""
        digest, chunk, vector, bits, told = row
        try:
            whole = told == row_sum(chunk, vector, bits)
        except (TypeError, OverflowError):
            whole = False
        if not whole or len(vector) != self.identity.dimension * _FLOAT_BYTES:
            raise self._damaged("holds a vector that is not what was written")
        return digest, vector, bits

    def _damaged(self, how: str) -> Damaged:
        return Damaged("vectors::cache", f"The cache in {self.folder} {how}.", MADE_AGAIN)

    def _bits(self, stored: bytes) -> Bits:
        return np.frombuffer(stored, dtype=np.uint8).reshape(-1, (self.identity.dimension + 7) // 8)

    def _of(self, keys: Sequence[Any], select: str) -> Iterator[tuple[Any, ...]]:
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            statement = select.format(",".join("?" * len(some)))
            with self._guard:
                rows = self._connection.execute(statement, some).fetchall()
            yield from rows

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        with self._guard:
            cursor = self._connection.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            finally:
                cursor.close()  # what it has left open would keep a closed file locked
                end(self._connection)


def _insert(cursor: sqlite3.Cursor, digest: bytes, passages: Sequence[Passage]) -> None:
    cursor.executemany(
        "INSERT OR IGNORE INTO passages (digest, chunk, vector, bits, sum) VALUES (?, ?, ?, ?, ?)",
        (_row(digest, chunk, one) for chunk, one in enumerate(passages)),
    )
    cursor.execute("DELETE FROM failures WHERE digest = ?", (digest,))


def _row(digest: bytes, chunk: int, passage: Passage) -> tuple[Any, ...]:
    vector, bits = passage.vector.tobytes(), passage.bits.tobytes()
    return digest, chunk, vector, bits, row_sum(chunk, vector, bits)


def _about(connection: sqlite3.Connection) -> dict[str, str]:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'about'").fetchone():
        return {}
    return dict(connection.execute("SELECT name, value FROM about").fetchall())


def _use(folder: Path) -> int:
    """Make a folder where it is not, and say that it is used; as long as that is open, nobody
    removes it. Nothing is open (-1) where it may not be written.
    """
    path = folder / USE_FILE
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return -1
        with suppress(FileNotFoundError):
            used = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if _shared(path, used):
                return used
            os.close(used)


def _shared(path: Path, descriptor: int) -> bool:
    """Whether the lock was taken, on the file that lies there: it may have been removed meanwhile,
    with its folder.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
