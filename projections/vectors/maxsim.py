"""Matching token by token (MaxSim), and the pooled cosine, of a question with many texts at once.

Protects speed: all candidates' tokens go through one product. The tokens of texts are signs, those
of the question whole vectors. Source: late interaction as ColBERT has it, with one bit a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projections.vectors.embedder import Passage, Question

Scores = NDArray[np.float64]


def cosines(question: Question, texts: Sequence[Sequence[Passage]]) -> Scores:
    """[texts]: the cosine of each text's nearest chunk; 0 of a text without vectors."""
    found = np.zeros(len(texts))
    have = [place for place, passages in enumerate(texts) if passages]
    if have:
        rows = np.stack([one.vector for place in have for one in texts[place]])
        starts = _starts([len(texts[place]) for place in have])
        found[have] = np.maximum.reduceat(rows @ question.vector, starts)
    return found


def matches(
    question: Question, rarities: Sequence[float], texts: Sequence[Sequence[Passage]]
) -> Scores:
    """[texts]: the sum over the question's tokens of how rare each is, times its best match among
    the text's tokens; 0 of a text without any.
    """
    found = np.zeros(len(texts))
    bits = [[one.bits for one in passages if len(one.bits)] for passages in texts]
    have = [place for place, own in enumerate(bits) if own]
    if not (have and question.tokens):
        return found
    asked = np.stack([one.vector for one in question.tokens])
    parts = [own for place in have for own in bits[place]]
    starts = _starts([sum(len(own) for own in bits[place]) for place in have])
    ones = np.unpackbits(np.concatenate(parts), axis=1, count=asked.shape[1]).astype(np.float32)
    # With signs of +-1 for bits: q . (2 b - 1) = 2 q . b - sum(q).
    products = 2 * (asked @ ones.T) - asked.sum(axis=1)[:, None]
    best = np.maximum.reduceat(products, starts, axis=1)
    found[have] = np.asarray(rarities) @ best
    return found


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.cumsum([0, *lengths[:-1]]).astype(np.intp)
