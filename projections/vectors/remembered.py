"""What was read from a cache of vectors, kept in memory as far as there is room.

Protects searches from reading and checking the same rows again: the texts that answer many
questions are few. Holds nothing that gave way to something else meanwhile.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from projections.vectors.embedder import Passage

BYTES_MAX: Final = 64 * 1024 * 1024

Passages = Sequence[Passage]


class Remembered:
    """Passages by the digest of their text, those last asked for. Safe to use from any number of
    threads.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        """Hold nothing yet."""
        self._bytes_max = bytes_max
        self._bytes = 0
        self._version = 0
        self._held: OrderedDict[bytes, Passages] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, digests: Sequence[bytes], version: int) -> dict[bytes, Passages]:
        """Those of some texts that are held.

        Args:
            version: how often anything in the cache gave way; what was held before that is dropped.
        """
        with self._guard:
            if version != self._version:
                self._held.clear()
                self._bytes, self._version = 0, version
            found = {}
            for digest in digests:
                held = self._held.get(digest)
                if held is not None:
                    self._held.move_to_end(digest)
                    found[digest] = held
            return found

    def add(self, read: Mapping[bytes, Passages], version: int) -> None:
        """Hold what was read when the cache was at a version."""
        with self._guard:
            if version != self._version:
                return
            for digest, passages in read.items():
                if digest not in self._held:
                    self._held[digest] = passages
                    self._bytes += _size(passages)
            while self._bytes > self._bytes_max:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(passages: Passages) -> int:
    return sum(one.vector.nbytes + one.bits.nbytes for one in passages)
