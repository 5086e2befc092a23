"""The reading connections of an open palace, lent for one read each, and who is reading just now.

Protects readers from closing: a connection that is closed while another thread works on it takes
the whole process down. Protects the process from threads that come and go: connections belong to
nobody between two reads, and only a few are kept. May not write.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from domain.errors import Unusable
from projections.generations import Generations
from projections.sqlite import connect, is_open

CLOSE_SECONDS: Final = 30.0
"""How long closing waits for reads; then what is still being read is closed when it is done."""
KEPT_MAX: Final = 8
"""How many connections are kept for the next reads."""


class _Kept(NamedTuple):
    connection: sqlite3.Connection
    mark: tuple[int, int]


class Readers:
    """Connections to the views that count, reopened when another generation does."""

    def __init__(self, generations: Generations) -> None:
        """Open nothing yet."""
        self._generations = generations
        self._door = threading.Condition()
        self._closed = False
        self._inside: list[int] = []
        self._kept: list[_Kept] = []

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The palace is not closed within, unless by the same thread.

        Raises:
            Unusable: `palacelog::palace::closed`.
        """
        me = threading.get_ident()
        with self._door:
            if self._closed:
                raise Unusable("palace::closed", "The palace has been closed.", "Open it again.")
            self._inside.append(me)
        try:
            yield
        finally:
            with self._door:
                self._inside.remove(me)
                self._door.notify_all()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection to the views that count, lent to this caller alone; inside `reading`."""
        lent = self._lend()
        try:
            yield lent.connection
        finally:
            self._take_back(lent)

    def close(self) -> bool:
        """Let nobody in any more and close what is not lent; whether nobody is reading now."""
        me = threading.get_ident()
        with self._door:
            self._closed = True
            left = self._door.wait_for(
                lambda: all(one == me for one in self._inside), CLOSE_SECONDS
            )
            kept, self._kept = self._kept, []
        for one in kept:
            one.connection.close()
        return left

    def _lend(self) -> _Kept:
        mark = self._generations.mark()
        with self._door:
            stale = [one for one in self._kept if one.mark != mark]
            self._kept = [one for one in self._kept if one.mark == mark]
            found = self._kept.pop() if self._kept else None
        for one in stale:
            one.connection.close()
        if found is not None:
            return found
        opened = self._generations.opened(
            lambda path: connect(path, synchronous="NORMAL", read_only=True)
        )
        return _Kept(opened, mark)

    def _take_back(self, lent: _Kept) -> None:
        usable = is_open(lent.connection) and lent.mark == self._generations.mark()
        with self._door:
            keep = usable and not self._closed and len(self._kept) < KEPT_MAX
            if keep:
                self._kept.append(lent)
        if not keep:
            lent.connection.close()
