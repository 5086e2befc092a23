"""The vector indexes of a palace: one folder for each embedder that was ever used.

Protects vectors from meeting others: each embedder's are in a folder of their own, and which of
them answers is what the log says (`domain.embedders`). May not decide when to embed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import select

from domain.embedders import Embedding, counting, identity_told
from domain.errors import PalaceError, Unusable
from projections.generations import sync_folder
from projections.reading import Reading, Rows, fields_of
from projections.tables import BELIEFS, Prepared
from projections.vectors.embedder import Identity
from projections.vectors.folders import CACHE_FILE, REMOVED, read_about
from projections.vectors.models import PACKAGED, identity_of, load, source_of
from projections.vectors.vector_index import Missing, VectorIndex

POLL_SECONDS: Final = 0.05

_table = BELIEFS[Embedding]
_EVER = Prepared(select(*fields_of(Embedding)).order_by(_table.c.believed_from, _table.c.rank))

_LOOKS: Final = 10
"""How often somebody who waits looks whether it is worth while."""


class VectorIndexes:
    """The vector indexes of an open palace. Safe to use from any number of threads."""

    def __init__(self, folder: Path, configured: str) -> None:
        """Look at a folder; nothing is opened or loaded.

        Args:
            configured: the embedder that a new palace begins with.
        """
        self.folder = folder
        self.configured = configured
        self._guard = threading.RLock()
        self._open: dict[str, VectorIndex] = {}
        self._left: list[VectorIndex] = []
        self._users = 0
        self._changed = threading.Condition()
        self._pace_seconds: float | None = None
        self.wake: Callable[[VectorIndex, int], None] = lambda index, position: None
        """Called when an index lacks texts up to a position."""

    def close(self) -> None:
        """Close every index."""
        with self._guard:
            for one in (*self._open.values(), *self._left):
                one.close()
            self._open.clear()
            self._left.clear()

    @contextmanager
    def using(self) -> Iterator[None]:
        """No index is let go within."""
        with self._guard:
            self._users += 1
        try:
            yield
        finally:
            with self._guard:
                self._users -= 1

    def let_go(self, keep: str) -> None:
        """Close every index but one, by its short form, unless somebody may be using them: what no
        longer answers can then be removed. It is opened again where it is asked for.
        """
        with self._guard:
            if self._users:
                return
            others = [short for short in self._open if short != keep]
            for one in (*map(self._open.pop, others), *self._left):
                one.close()
            self._left.clear()

    def of(self, identity: Identity, source: str | None = None) -> VectorIndex:
        """The index of an embedder, opened once; again where it was made anew meanwhile.

        Args:
            source: what it was chosen by; default what it was named by before.
        """
        with self._guard:
            found = self._open.get(identity.short)
            if found is not None and not found.cache.stands():
                self._left.append(self._open.pop(identity.short))  # somebody may be reading it
                found = None
            if found is None:
                folder, named = self.folder / identity.short, source or self.source_of(identity)
                found = VectorIndex(folder, identity, named, lambda: load(named))
                self._open[identity.short] = found
            return found

    def counting(self, reading: Reading) -> VectorIndex | None:
        """The index that answers now; None before the first text was embedded."""
        said = counting(Rows(reading.cursor))
        return None if said is None else self.recorded(said)

    def answering(self, reading: Reading) -> VectorIndex:
        """The index that answers at a reading's moment: so that what was found then is found again.
        Before the first one it is the first; where that one's was removed, the one of now.
        """
        now = counting(Rows(reading.cursor))
        if now is None:
            return self.chosen()
        then = counting(reading) or ever(reading.cursor)[0]
        there = (self.folder / then.short / CACHE_FILE).is_file()
        return self.recorded(then if there else now)

    def recorded(self, said: Embedding) -> VectorIndex:
        """The index of an embedder that an event named."""
        return self.of(Identity(**identity_told(said)))

    def chosen(self, name: str | None = None) -> VectorIndex:
        """The index of an embedder by its name or folder; default the configured one's."""
        source = source_of(name or self.configured)
        return self.of(identity_of(source), source)

    def source_of(self, identity: Identity) -> str:
        """What an embedder was named by when it was chosen; where its vectors are lost, what is
        configured, if it is the same one.

        Raises:
            Unusable: `palacelog::vectors::place_unknown`.
        """
        path = self.folder / identity.short / CACHE_FILE
        said = read_about(path).get("source") if path.is_file() else None
        if said is not None:
            return said
        packaged = PACKAGED.get(identity.name)
        if packaged is not None and packaged.identity == identity:
            return identity.name
        if self._is_configured(identity):
            return source_of(self.configured)
        raise Unusable(
            "vectors::place_unknown",
            f"Nothing says any more where the embedder {identity.short} lies.",
            "Name it: `palacelog reindex --embedder FOLDER`.",
        )

    def _is_configured(self, identity: Identity) -> bool:
        try:
            return identity_of(self.configured) == identity
        except PalaceError:
            return False

    def remove(self, short: str) -> None:
        """Remove what an embedder made. Who has it open goes on with what it has; it is looked
        for anew where it is asked for next.
        """
        place = self.folder / f"{REMOVED}{short.removeprefix(REMOVED)}"
        if place.name != short:
            shutil.rmtree(place, ignore_errors=True)
            # First out of the way, as one: no file of it ever lies beside one of its successor.
            os.replace(self.folder / short, place)
        sync_folder(self.folder)
        shutil.rmtree(place, ignore_errors=True)

    def wait(self, index: VectorIndex, reading: Reading, seconds: float) -> Missing:
        """What an index lacks of what was known at a reading's moment, after waiting for it for
        some seconds at most; no longer than the work shows that it can be done by then.
        """
        asked = reading.cursor, reading.checkpoint.log_id, reading.position
        missing = index.missing(*asked)
        if not missing.digests:
            return missing
        self.wake(index, reading.position)
        first = len(missing.digests)
        if first * (self._pace_seconds or 0.0) > seconds:
            return missing
        for look in range(1, _LOOKS + 1):
            with self._changed:
                self._changed.wait_for(lambda: not index.missing(*asked).digests, seconds / _LOOKS)
            missing = index.missing(*asked)
            done = first - len(missing.digests)
            if not missing.digests or (done and look * first > done * _LOOKS):
                break
        return missing

    def told(self, texts: int = 0, seconds: float = 0.0) -> None:
        """Something was embedded, or cannot be: whoever waits looks again.

        Args:
            texts: how many were embedded.
            seconds: how long that took, waiting and loading left out.
        """
        with self._changed:
            if texts:
                pace, before = seconds / texts, self._pace_seconds
                self._pace_seconds = pace if before is None else (before + pace) / 2
            self._changed.notify_all()


def ever(cursor: sqlite3.Cursor) -> list[Embedding]:
    """Every embedder that ever counted, in the order in which they did."""
    return [Embedding(*row) for row in _EVER(cursor).fetchall()]
