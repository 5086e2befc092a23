"""The drawers nearest to a question, out of those that may be shown.

Protects exactness: what may not be shown is left out before the limit. A few more than needed are
ranked and looked at; where too many of them may not be shown, all that may be are listed and ranked
alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from projections.meaning import Shown
from projections.reading import Reading
from projections.vectors.embedder import Vectors
from projections.vectors.records import numbers_of
from projections.vectors.vector_index import VectorIndex

FEW: Final = 4
AHEAD: Final = (5, 16)
"""How many fourths of what is needed are ranked at first, and where these are too few: texts of
several chunks, and texts that may not be shown.
"""


def nearest(
    reading: Reading, index: VectorIndex, vector: Vectors, shown: Shown, count: int
) -> dict[str, int]:
    """At most `count` drawers with their cosines in millionths (of the nearest chunk)."""
    for asked in (count * some // FEW for some in AHEAD):
        near = index.flat.nearest(vector, asked)
        found = _drawers(reading, index, near.numbers.tolist(), near.cosines.tolist(), shown)
        if len(found) >= count or len(near.numbers) < asked:
            break
    else:
        found = _among_the_shown(reading, index, vector, shown, count)
    best = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return dict(best[:count])


def _among_the_shown(
    reading: Reading, index: VectorIndex, vector: Vectors, shown: Shown, count: int
) -> dict[str, int]:
    """The nearest out of a list of all that may be shown."""
    digests = list(dict.fromkeys(shown.digests()))
    among = np.array([number for number, _ in index.cache.numbers(digests)], dtype=np.int64)
    asked = count
    while True:
        near = index.flat.nearest(vector, asked, among)
        found = _drawers(reading, index, near.numbers.tolist(), near.cosines.tolist(), shown)
        if len(found) >= count or asked >= len(among):
            return found
        asked *= 2


def _drawers(
    reading: Reading, index: VectorIndex, rows: list[int], cosines: list[int], shown: Shown
) -> dict[str, int]:
    """The drawers whose texts some rows are of, where they may be shown, each with its best."""
    digests = index.cache.digests(rows)
    best: dict[bytes, int] = {}
    for row, cosine in zip(rows, cosines, strict=True):
        digest = digests[row]
        best[digest] = max(cosine, best.get(digest, cosine))
    numbers = numbers_of(reading, list(best))
    found = shown.of(list(numbers))
    return {drawer_id: best[numbers[number]] for number, drawer_id in found.items()}
