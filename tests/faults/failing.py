"""Database calls that fail: the n-th of all that a palace makes, through every connection.

A call is an open, an execute, a commit or a rollback. The seam is `projections.sqlite`, through
which log and views alike are opened.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from projections import sqlite

IO_ERROR = "disk I/O error"
FULL = "database or disk is full"


class Fault:
    """Counts calls, and lets one, or all from one on, fail.

    Attributes:
        calls: how many there were since it was armed.
        fired: the statement that failed first, None as long as none did.
        happens: called before each call with how many there were.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.fired: str | None = None
        self.happens: Callable[[int], None] | None = None
        self._at, self._upto, self._text = 0, 0, IO_ERROR
        self._lock = threading.Lock()

    def arm(self, at: int, text: str = IO_ERROR, *, lasting: bool = False) -> None:
        """Let the `at`-th call from now on fail; where it lasts, all that follow too."""
        self.calls, self.fired = 0, None
        self._at, self._upto, self._text = at, 2**31 if lasting else at, text

    def mend(self) -> str | None:
        """Let every call from now on succeed; returns the statement that failed first."""
        self._at, self._upto = 0, 0
        return self.fired

    def pass_by(self, statement: str) -> None:
        with self._lock:
            self.calls += 1
            if self.happens is not None:
                self.happens(self.calls)
            fails = self._at <= self.calls <= self._upto
            if fails and self.fired is None:
                self.fired = statement
        if fails:
            raise sqlite3.OperationalError(self._text)


_current = [Fault()]


class FailingCursor(sqlite3.Cursor):
    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        _current[-1].pass_by(sql)
        return super().execute(sql, *given)

    def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
        _current[-1].pass_by(sql)
        return super().executemany(sql, *given)


class FailingConnection(sqlite3.Connection):
    def __init__(self, *given: Any, **named: Any) -> None:
        _current[-1].pass_by("open")
        super().__init__(*given, **named)

    def cursor(self, factory: Any = FailingCursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        _current[-1].pass_by(sql)
        return super().execute(sql, *given)

    def commit(self) -> None:
        _current[-1].pass_by("commit")
        super().commit()

    def rollback(self) -> None:
        _current[-1].pass_by("rollback")
        super().rollback()


@contextmanager
def failing() -> Iterator[Fault]:
    """A fault that all connections opened within go by."""
    before, sqlite.connection_class = sqlite.connection_class, FailingConnection
    _current.append(Fault())
    try:
        yield _current[-1]
    finally:
        sqlite.connection_class = before
        _current.pop()
