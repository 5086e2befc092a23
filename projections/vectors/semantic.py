"""Ranking by meaning alone: the pooled cosine of the nearest chunk.

Protects the word: nothing but meaning stands in this order.
"""

from __future__ import annotations

from typing import Final

from projections.meaning import SCORE_UNIT, Found, Wish
from projections.reading import Reading
from projections.vectors.embedder import Question
from projections.vectors.flat import COSINE_UNIT
from projections.vectors.nearest import nearest
from projections.vectors.vector_index import VectorIndex

RANKED_MAX: Final = 200


def ranked(reading: Reading, index: VectorIndex, wish: Wish, question: Question) -> list[Found]:
    """The nearest drawers, nearest first, equal ones by id."""
    found = nearest(reading, index, question.vector, wish.shown, RANKED_MAX)
    return [
        Found(drawer_id, cosine * (SCORE_UNIT // COSINE_UNIT), {"cosine": cosine / COSINE_UNIT})
        for drawer_id, cosine in found.items()
        if wish.max_distance is None or 1 - cosine / COSINE_UNIT <= wish.max_distance
    ]
