"""The vector indexes of a palace: one folder for each embedder that was ever used.

Protects vectors from meeting others: each embedder's are in a folder of their own, and which of
them answers is what the log says (`domain.embedders`). May not decide when to embed.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from domain.embedders import Embedding, counting, identity_told
from projections.reading import Reading
from projections.vectors.cache import CACHE_FILE, read_about
from projections.vectors.embedder import Identity
from projections.vectors.models import identity_of, load, source_of
from projections.vectors.vector_index import Missing, VectorIndex

POLL_SECONDS: Final = 0.05


class VectorIndexes:
    """The vector indexes of an open palace. Safe to use from any number of threads."""

    def __init__(self, folder: Path, configured: str, wait_seconds: float) -> None:
        """Look at a folder; nothing is opened or loaded.

        Args:
            configured: the embedder that a new palace begins with.
            wait_seconds: how long a search waits for texts that are being embedded.
        """
        self.folder = folder
        self.configured = configured
        self.wait_seconds = wait_seconds
        self._guard = threading.RLock()
        self._open: dict[str, VectorIndex] = {}
        self._changed = threading.Condition()
        self.wake: Callable[[], None] = lambda: None
        """Called when there is something to embed."""

    def close(self) -> None:
        """Close every index."""
        with self._guard:
            for one in self._open.values():
                one.close()
            self._open.clear()

    def of(self, identity: Identity, source: str) -> VectorIndex:
        """The index of an embedder, opened once."""
        with self._guard:
            found = self._open.get(identity.short)
            if found is None:
                folder = self.folder / identity.short
                found = VectorIndex(folder, identity, source, lambda: load(source))
                self._open[identity.short] = found
            return found

    def counting(self, reading: Reading) -> VectorIndex | None:
        """The index that answers; None before the first text was embedded."""
        said = counting(reading)
        return None if said is None else self.recorded(said)

    def recorded(self, said: Embedding) -> VectorIndex:
        """The index of an embedder that an event named."""
        with self._guard:
            if said.short in self._open:
                return self._open[said.short]
        identity = Identity(**identity_told(said))
        return self.of(identity, self.source_of(said.short) or identity.name)

    def chosen(self, name: str | None = None) -> VectorIndex:
        """The index of an embedder by its name or folder; default the configured one's."""
        source = source_of(name or self.configured)
        return self.of(identity_of(source), source)

    def source_of(self, short: str) -> str | None:
        """What an embedder that has a folder here was named by; None where it has none."""
        path = self.folder / short / CACHE_FILE
        return read_about(path).get("source") if path.is_file() else None

    def wait(self, index: VectorIndex, cursor: sqlite3.Cursor, log_id: str) -> Missing:
        """What an index lacks of a snapshot after waiting for it, up to the deadline."""
        missing = index.missing(cursor, log_id)
        if not missing.digests:
            return missing
        self.wake()
        with self._changed:
            self._changed.wait_for(
                lambda: not index.missing(cursor, log_id).digests, self.wait_seconds
            )
        return index.missing(cursor, log_id)

    def told(self) -> None:
        """Something was embedded, or cannot be: whoever waits looks again."""
        with self._changed:
            self._changed.notify_all()
