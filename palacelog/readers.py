"""The reading connections of an open palace, one a thread, and who is reading just now.

Protects readers from closing: a connection that is closed while another thread works on it takes
the whole process down. May not write.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from domain.errors import Unusable
from projections.generations import Generations
from projections.sqlite import connect, is_open

CLOSE_SECONDS: Final = 30.0
"""How long closing waits for reads; then what is still being read stays open."""


class Readers:
    """Connections to the views that count, reopened when another generation does."""

    def __init__(self, generations: Generations) -> None:
        """Open nothing yet."""
        self._generations = generations
        self._local = threading.local()
        self._door = threading.Condition()
        self._closed = False
        self._inside: list[int] = []
        self._opened: list[sqlite3.Connection] = []

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Nothing is closed within, unless by the same thread.

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

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, inside `reading`."""
        mark = self._generations.mark()
        held: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if held is not None and self._local.mark == mark and is_open(held):
            return held
        if held is not None:
            self._forget(held)
        opened = self._generations.opened(
            lambda path: connect(path, synchronous="NORMAL", read_only=True)
        )
        with self._door:
            self._opened.append(opened)
        self._local.connection, self._local.mark = opened, mark
        return opened

    def close(self) -> bool:
        """Let nobody in any more and close all connections; whether nobody is reading now."""
        me = threading.get_ident()
        with self._door:
            self._closed = True
            left = self._door.wait_for(
                lambda: all(one == me for one in self._inside), CLOSE_SECONDS
            )
            opened, self._opened = (self._opened, []) if left else ([], self._opened)
        for connection in opened:
            connection.close()
        return left

    def _forget(self, connection: sqlite3.Connection) -> None:
        self._local.connection = None
        with self._door:
            self._opened.remove(connection)
        connection.close()
