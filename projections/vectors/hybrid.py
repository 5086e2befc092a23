"""Ranking by words and meaning together.

Protects what was measured: each step stands by itself and can be switched off, so that what it is
worth can be measured again. Nothing depends on texts that arrived later than the reading's moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projections.meaning import SCORE_UNIT, Found, Wish
from projections.reading import Reading
from projections.text import STOP_WORDS
from projections.tokens import stem, tokens
from projections.vectors.embedder import Passage, Question
from projections.vectors.flat import COSINE_UNIT
from projections.vectors.nearest import nearest
from projections.vectors.records import Record, records
from projections.vectors.vector_index import VectorIndex

CANDIDATES: Final = 100

Scores = NDArray[np.float64]


class Steps(NamedTuple):
    """Which steps there are beside the sum of words and meaning."""

    tokens: bool = True
    sources: bool = True


ALL: Final = Steps()


def ranked(
    reading: Reading, index: VectorIndex, wish: Wish, question: Question, steps: Steps = ALL
) -> list[Found]:
    """All candidates, best first, equal scores by id."""
    near = nearest(reading, index, question.vector, wish.shown, CANDIDATES)
    by_words = {one.drawer_id: one.signals["bm25"] for one in wish.by_words}
    found = records(reading, list(by_words | near))
    if not found:
        return []
    passages = index.cache.passages(list(dict.fromkeys(one.digest for one in found)))
    words = np.array([by_words.get(one.drawer_id, 0.0) for one in found])
    cosines = np.array([_cosine(question, passages.get(one.digest, ())) for one in found])
    score = z(words, list(by_words.values())) + z(cosines, [c / COSINE_UNIT for c in near.values()])
    signals = {"bm25": words, "cosine": cosines}
    if steps.tokens:
        matches = _matches(wish, question, found, passages)
        signals["maxsim"] = matches
        score = score + z(matches, sorted(matches, reverse=True)[:CANDIDATES])
    if steps.sources:
        score = score + _of_sources(found, score)
    return _found(found, score, signals, wish.max_distance)


def z(scores: Scores, best: Sequence[float]) -> Scores:
    """Scores as standard deviations from the mean of a list's best, padded with zeros."""
    padded = np.zeros(CANDIDATES)
    padded[: len(best)] = np.sort(np.asarray(best))[::-1][:CANDIDATES]
    spread = padded.std()
    if spread == 0:
        return np.zeros_like(scores)
    centred: Scores = (scores - padded.mean()) / spread
    return centred


def _cosine(question: Question, passages: Sequence[Passage]) -> float:
    return max((float(np.dot(one.vector, question.vector)) for one in passages), default=0.0)


def _matches(
    wish: Wish,
    question: Question,
    found: Sequence[Record],
    passages: Mapping[bytes, Sequence[Passage]],
) -> Scores:
    """For each candidate, the sum over the question's tokens of how rare its word is, times the
    best match among the candidate's tokens (MaxSim; their vectors as signs).
    """
    asked = [(_rarity(wish, one.start, one.end), one.vector) for one in question.tokens]
    if not asked:
        return np.zeros(len(found))
    weights = np.array([rarity for rarity, _ in asked])
    vectors = np.stack([vector for _, vector in asked])
    whole = vectors.sum(axis=1)
    scores = np.zeros(len(found))
    for place, one in enumerate(found):
        bits = [each.bits for each in passages.get(one.digest, ()) if len(each.bits)]
        if bits:
            signs = np.unpackbits(np.concatenate(bits), axis=1).astype(np.float32)
            products = 2 * (vectors @ signs.T) - whole[:, None]
            scores[place] = float(weights @ products.max(axis=1))
    return scores


def _rarity(wish: Wish, start: int, end: int) -> float:
    """How rare the word is that a token of the question stands in."""
    text = wish.query
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    found = [word for word in tokens(text[start:end]) if word not in STOP_WORDS]
    return max((wish.rarity.get(stem(word), 0.0) for word in found), default=0.0)


def _of_sources(found: Sequence[Record], score: Scores) -> Scores:
    best: dict[str, float] = {}
    for one, own in zip(found, score, strict=True):
        if one.source:
            best[one.source] = max(float(own), best.get(one.source, float(own)))
    return np.array([0.3 * best.get(one.source, 0.0) for one in found])


def _found(
    found: Sequence[Record],
    score: Scores,
    signals: Mapping[str, Scores],
    max_distance: float | None,
) -> list[Found]:
    lines = [
        Found(
            one.drawer_id,
            round(float(score[place]) * SCORE_UNIT),
            {name: float(value[place]) for name, value in signals.items()},
        )
        for place, one in enumerate(found)
    ]
    if max_distance is not None:
        lines = [one for one in lines if 1 - one.signals["cosine"] <= max_distance]
    return sorted(lines, key=lambda one: (-one.score, one.drawer_id))
