"""How this house opens SQLite: one function, one set of pragmas, for the log and the views alike.

Protects durability and the write lock: WAL with checkpoints only where we ask for them, busy
waiting bounded, transactions begun by hand. May not know what is stored. `connection_class` is the
seam where tests let the n-th database call fail.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from domain.canonical import comparable
from projections.text import searchable

_Kind = TypeVar("_Kind", bound=sqlite3.Connection)
BUSY_SECONDS: Final = 30.0
WAL_PAGES_MAX: Final = 2_000

connection_class: type[sqlite3.Connection] = sqlite3.Connection


class Unchanging(sqlite3.Connection):
    """A database that cannot be written from here, read as it lies on the disk.

    SQLite takes no lock on it, so that somebody else who can write it must be noticed.
    """

    path: Path
    seen: tuple[int, int, bool]

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """A cursor.

        Raises:
            OperationalError: the database is not as it was opened: somebody writes it.
        """
        if self.look() != self.seen:
            raise sqlite3.OperationalError("the database is locked: somebody else writes it")
        return super().cursor(factory)

    def look(self) -> tuple[int, int, bool]:
        """What differs once somebody writes it."""
        now = self.path.stat()
        return now.st_mtime_ns, now.st_size, _has_wal(self.path)


def connect(path: Path, *, synchronous: str, read_only: bool = False) -> sqlite3.Connection:
    """Open a database file in WAL mode, in autocommit: every BEGIN is ours.

    Args:
        synchronous: FULL where a commit must survive power loss (the log), NORMAL where it can be
            rebuilt (the views).
        read_only: refuse statements that write. The file is opened for writing all the same, as
            WAL readers need the shared memory file.

    In SQL, `folded(name)` is the comparable form of a name, `searchable(text)` is a text as the
    full text index takes it in, `words_in(size)` reads how many words it found there, and
    `digest_of(text)` is its sha256.
    """
    if not path.exists():
        path.touch(mode=0o600)  # its WAL and shared memory take the mode over
    if _usable(path):
        connection = _opened(str(path), connection_class)
        connection.execute("PRAGMA journal_mode=WAL")
    else:
        connection = _unchanging(path)
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("PRAGMA cache_size=-32768")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.create_function("folded", 1, comparable, deterministic=True)
    connection.create_function("searchable", 1, searchable, deterministic=True)
    connection.create_function("words_in", 1, _words_in, deterministic=True)
    connection.create_function("digest_of", 1, digest_of, deterministic=True)
    if read_only:
        connection.execute("PRAGMA query_only=ON")
    return connection


def attach(connection: sqlite3.Connection, path: Path, name: str) -> None:
    """Let a connection read another database too, under a name."""
    connection.execute(f"ATTACH ? AS {name}", (str(path) if _usable(path) else _immutable(path),))


def file_of(cursor: sqlite3.Cursor) -> Path:
    """The file that a cursor's database is in."""
    [(_, _, path), *_] = cursor.execute("PRAGMA database_list").fetchall()
    return Path(path)


def _usable(path: Path) -> bool:
    """Whether a database can be opened as it is, or is only to be looked at."""
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    # A WAL that is there cannot be left out; SQLite then needs its shared memory file as well.
    return writable or _has_wal(path)


def _immutable(path: Path) -> str:
    return f"{path.absolute().as_uri()}?immutable=1"


def _opened(name: str, kind: type[_Kind]) -> _Kind:
    return sqlite3.connect(
        name,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=kind,
        uri=True,
    )


def _unchanging(path: Path) -> sqlite3.Connection:
    opened = _opened(_immutable(path), Unchanging)
    opened.path = path
    opened.seen = opened.look()
    return opened


def _has_wal(path: Path) -> bool:
    wal = path.with_name(f"{path.name}-wal")
    return wal.is_file() and wal.stat().st_size > 0


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """Read from one snapshot: a transaction that only reads, and is always ended."""
    cursor = connection.cursor()
    cursor.execute("BEGIN")
    try:
        yield cursor
    finally:
        end(connection)


def end(connection: sqlite3.Connection) -> None:
    """Roll back what is open. A connection that fails to is closed, so that it cannot stay in an
    old transaction for ever.
    """
    try:
        if connection.in_transaction:
            connection.rollback()
    except sqlite3.Error:
        connection.close()


def is_open(connection: sqlite3.Connection) -> bool:
    """Whether a connection has not been closed (see `end`)."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def checkpoint(connection: sqlite3.Connection, how: str = "PASSIVE") -> None:
    """Move the WAL into the database. Only under the write lock (SQLite 3.7.0 to 3.51.2 need it).

    Waits for nobody: what a reader still needs stays in the WAL, for the next time.

    Args:
        how: PASSIVE while others work, TRUNCATE when leaving.
    """
    connection.execute("PRAGMA busy_timeout=0")
    try:
        connection.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")


def digest_of(text: str) -> bytes:
    """The sha256 of a text, by which its vectors are found."""
    return sha256(text.encode()).digest()


def _words_in(size: bytes) -> int:
    """What FTS5 notes as the size of a text: seven bits in a byte, the highest first."""
    number = 0
    for byte in size:
        number = number << 7 | byte & 0x7F
    return number
