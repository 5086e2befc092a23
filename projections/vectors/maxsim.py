"""Matching token by token (MaxSim), and the pooled cosine, of a question with many texts at once.

Protects speed: all candidates' tokens go through few products, each on one thread, as several wait
for each other where other processes want the cores too. The tokens of texts are signs, those of the
question whole vectors. Source: late interaction as ColBERT has it, with one bit a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from projections.vectors.embedder import Bits, Passage, Question, Vectors

ThreadpoolController().limit(limits=1, user_api="blas")

Scores = NDArray[np.float64]
TOKENS_AT_ONCE: Final = 2_048
"""As whole numbers these take 3 MB: they are worked on where they were made, in a core's cache."""


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
    for block in _blocks(have, bits):
        parts = [own for place in block for own in bits[place]]
        starts = _starts([sum(len(own) for own in bits[place]) for place in block])
        best = np.maximum.reduceat(_products(asked, np.concatenate(parts)), starts, axis=1)
        found[block] = np.asarray(rarities) @ best
    return found


def _products(asked: Vectors, bits: Bits) -> Vectors:
    """[asked, tokens]: with signs of +-1 for bits, q . (2 b - 1) = 2 q . b - sum(q)."""
    whole = asked.sum(axis=1)[:, None]
    products: Vectors = np.empty((len(asked), len(bits)), dtype=np.float32)
    for at in range(0, len(bits), TOKENS_AT_ONCE):
        ones = np.unpackbits(bits[at : at + TOKENS_AT_ONCE], axis=1).astype(np.float32)
        products[:, at : at + TOKENS_AT_ONCE] = 2 * (asked @ ones.T) - whole
    return products


def _blocks(have: Sequence[int], bits: Sequence[Sequence[Bits]]) -> Iterator[list[int]]:
    """The texts in turns of about `TOKENS_AT_ONCE` tokens: memory does not grow with their length
    beyond that of the longest.
    """
    block: list[int] = []
    tokens = 0
    for place in have:
        own = sum(len(one) for one in bits[place])
        if block and tokens + own > TOKENS_AT_ONCE:
            yield block
            block, tokens = [], 0
        block.append(place)
        tokens += own
    yield block


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.cumsum([0, *lengths[:-1]]).astype(np.intp)
