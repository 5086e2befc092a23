"""The index of one embedder's vectors: which are nearest to a question, exactly.

Protects exactness: nothing is approximated, and what may not be found is left out before ranking.
Holds what the cache holds, numbered alike; saved with the number up to which it goes as one file,
so that a start need not read the cache. May not know texts.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from projections.generations import sync_folder
from projections.vectors.cache import Cache
from projections.vectors.embedder import Vectors
from projections.vectors.folders import INDEX_FILE, index_file, saved_index

_AT_ONCE: Final = 4_096
_TIES: Final = 32
COSINE_UNIT: Final = 1_000_000
"""Cosines are compared as whole millionths: processors differ in the seventh digit."""
_SLACK: Final = 10
"""How far, in millionths, a cosine may be off that was worked out in single precision."""
_BLOCK: Final = 65_536
_SELECTING: Any = faiss.SearchParameters

Numbers = NDArray[np.int64]


class Near(NamedTuple):
    """Rows of the cache, nearest first, equal ones by number.

    Attributes:
        cosines: whole millionths, so that machines agree on what is equal.
    """

    numbers: Numbers
    cosines: Numbers


class FlatIndex:
    """The vectors of a cache in memory. Safe to use from any number of threads."""

    def __init__(self, cache: Cache) -> None:
        """Take the saved index, where there is a whole one; the rest comes from the cache."""
        self._cache = cache
        self._guard = threading.RLock()
        faiss.omp_set_num_threads(1)
        self._vectors, self.upto = self._saved() or (_empty(cache.identity.dimension), 0)
        self._saved_upto = self.upto

    def __len__(self) -> int:
        """How many vectors it holds."""
        return int(self._vectors.ntotal)

    def catch_up(self) -> int:
        """Take in what the cache has beyond it; returns how many."""
        taken = 0
        with self._guard:
            while len((stored := self._cache.after(self.upto, _AT_ONCE)).numbers):
                self._vectors.add_with_ids(stored.vectors, stored.numbers)
                self.upto = int(stored.numbers[-1])
                taken += len(stored.numbers)
        return taken

    def nearest(self, vector: Vectors, count: int, among: Numbers | None = None) -> Near:
        """The rows nearest to a vector.

        Args:
            vector: [dimension], of length 1.
            count: at most so many.
            among: the only rows that may be found; None for all.
        """
        given = {} if among is None else {"params": _SELECTING(sel=faiss.IDSelectorBatch(among))}
        with self._guard:
            total = len(self) if among is None else len(among)
            most = min(count + _TIES, total)
            if count <= 0 or most <= 0:
                return Near(np.empty(0, np.int64), np.empty(0, np.int64))
            numbers, whole = self._search(vector, most, given)
            # Ties at the edge are settled by number, not by where faiss happened to look first.
            while len(whole) == most < total and whole[count - 1] == whole[-1]:
                most = min(2 * most, total)
                numbers, whole = self._search(vector, most, given)
        order = np.lexsort((numbers, -whole))[:count]
        return Near(numbers[order], whole[order])

    def _search(self, vector: Vectors, most: int, given: dict[str, Any]) -> tuple[Numbers, Numbers]:
        cosines, numbers = self._vectors.search(vector[None, :], most, **given)
        found = numbers[0] >= 0
        whole = np.rint(cosines[0][found].astype(np.float64) * COSINE_UNIT).astype(np.int64)
        return numbers[0][found], whole

    def within(self, vectors: Vectors, cosine: int) -> list[Near]:
        """For each of some vectors, all rows at least as near as a cosine in millionths, and
        perhaps some just below it; none are left out, however many there are.

        Works on what faiss holds by products of whole blocks; its own search by range takes five
        times as long for many vectors.

        Args:
            vectors: [n, dimension], each of length 1.
        """
        least = (cosine - _SLACK) / COSINE_UNIT
        found: list[tuple[Numbers, Numbers, Numbers]] = []
        with self._guard:
            numbers: Numbers = faiss.vector_to_array(self._vectors.id_map)
            flat: Any = faiss.downcast_index(self._vectors.index)
            count = len(self)
            rows = faiss.rev_swig_ptr(flat.get_xb(), count * flat.d) if count else np.empty(0)
            rows = rows.reshape(count, flat.d)
            for at in range(0, count, _BLOCK):
                products = vectors @ rows[at : at + _BLOCK].T
                which, where = np.nonzero(products >= least)
                whole = np.rint(products[which, where].astype(np.float64) * COSINE_UNIT)
                found.append((which, numbers[at + where], whole.astype(np.int64)))
        return [_of(one, found) for one in range(len(vectors))]

    def unsaved(self) -> int:
        """How many rows a saved index would gain."""
        return self.upto - self._saved_upto

    def save(self) -> None:
        """Write the index and its number as one file, atomically; under the embedding lock."""
        with self._guard:
            body = faiss.serialize_index(self._vectors).tobytes()
            upto = self.upto
        content = index_file(self._cache.identity.as_json(), upto, body)
        path = self._cache.folder / INDEX_FILE
        staged = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
        sync_folder(self._cache.folder)
        self._saved_upto = upto

    def _saved(self) -> tuple[Any, int] | None:
        """What was saved, where it is of this cache."""
        saved = saved_index(self._cache.folder / INDEX_FILE)
        if saved is None or saved.identity != self._cache.identity.as_json():
            return None
        if saved.upto > self._cache.last():
            return None
        try:
            return faiss.deserialize_index(np.frombuffer(saved.body, dtype=np.uint8)), saved.upto
        except RuntimeError:  # another version of the library wrote it
            return None


def _of(place: int, found: list[tuple[Numbers, Numbers, Numbers]]) -> Near:
    """What was found for one of several vectors, nearest first, equal ones by number."""
    own = [(numbers[which == place], whole[which == place]) for which, numbers, whole in found]
    numbers = np.concatenate([one for one, _ in own]) if own else np.empty(0, np.int64)
    whole = np.concatenate([one for _, one in own]) if own else np.empty(0, np.int64)
    order = np.lexsort((numbers, -whole))
    return Near(numbers[order], whole[order])


def _empty(dimension: int) -> Any:
    return faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
