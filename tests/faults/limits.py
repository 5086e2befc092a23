"""Disks without room: databases that may not grow, and files that may not."""

from __future__ import annotations

import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from projections import sqlite

_allowed: dict[str, int] = {}
_PAGES_MAX = 1_000_000


class LimitedCursor(sqlite3.Cursor):
    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            connection = self.connection
            assert isinstance(connection, LimitedConnection)
            pages = _allowed.get(connection.stem, _PAGES_MAX)
            super().execute(f"PRAGMA max_page_count={pages}")
        return super().execute(sql, *given)


class LimitedConnection(sqlite3.Connection):
    def __init__(self, path: Path, *given: Any, **named: Any) -> None:
        self.stem = Path(path).stem
        super().__init__(path, *given, **named)

    def cursor(self, factory: Any = LimitedCursor) -> Any:
        return super().cursor(factory)


@contextmanager
def limited_pages() -> Iterator[None]:
    """Open databases within such that `allow` decides how many pages they may have."""
    before, sqlite.connection_class = sqlite.connection_class, LimitedConnection
    try:
        yield
    finally:
        sqlite.connection_class = before
        _allowed.clear()


def allow(pages: dict[str, int]) -> None:
    """Limit databases, by their name without `.db`, to so many pages, or to what they have if that
    is more; others may grow as they like.
    """
    _allowed.clear()
    _allowed.update(pages)


def limit_files(size: int | None) -> None:
    """No file of this process may become larger, as if the disk were full; None: as large as they
    like.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))
