"""Ranking by words and meaning together.

Protects what was measured: each step stands by itself and can be switched off, so that what it is
worth can be measured again. Nothing depends on texts that arrived later than the reading's moment.
Source of steps and weights: README, "How search works", where the figures stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projections.dates import dated
from projections.meaning import SCORE_UNIT, Found, Steps, Wish
from projections.reading import Reading
from projections.text import STOP_WORDS
from projections.tokens import stem, tokens
from projections.vectors.embedder import Question
from projections.vectors.flat import COSINE_UNIT
from projections.vectors.maxsim import Scores, cosines, matches
from projections.vectors.messages import are_messages, around, numbers_beside, only_asks
from projections.vectors.nearest import nearest
from projections.vectors.records import Record, numbers_of_drawers, records
from projections.vectors.vector_index import VectorIndex

CANDIDATES: Final = 100
SOURCE_WEIGHT: Final = 0.3
EARLIER_WEIGHTS: Final = (0.3, 0.15, 0.075)
LATER_WEIGHTS: Final = (0.2, 0.1, 0.05)
NEIGHBOUR_CANDIDATES: Final = 2
OTHER_AUTHOR: Final = 6.0
ONLY_ASKS: Final = 1.5
TEXTS_AT_ONCE: Final = 256
_SPREAD_MIN: Final = 1e-9


def ranked(
    reading: Reading,
    index: VectorIndex,
    wish: Wish,
    by_words: Sequence[Found],
    question: Question,
    steps: Steps,
) -> list[Found]:
    """All candidates, best first, equal scores by id."""
    near = nearest(reading, index, question.vector, wish.shown, CANDIDATES)
    holding = {one.drawer_id: one.signals["bm25"] for one in by_words}
    numbers = numbers_of_drawers(reading, list(holding | near))
    known = records(reading, numbers)
    beside = numbers_beside(known.values()) - known.keys() if steps.beside else ()
    if beside:
        known |= records(reading, beside)
    stands = _Standing(known, numbers)
    found = _candidates(wish, stands, steps)
    if not found:
        return []
    judged = _judged(index, wish, question, found)
    words = np.array([holding.get(one.drawer_id, 0.0) for one in found])
    signals = {"bm25": words, "cosine": judged.angles}
    # What holds none of the words belongs to the list too, as far as there are other texts.
    score = z(words, [*holding.values(), *[0.0] * (len(near) - len(holding))])
    angles = z(judged.angles, [cosine / COSINE_UNIT for cosine in near.values()])
    score += angles
    if steps.tokens:
        signals["maxsim"] = judged.matches
        best = np.sort(judged.matches)[::-1][:CANDIDATES]
        # A text whose vectors came without tokens is judged by its cosine twice.
        score += np.where(judged.bare, angles, z(judged.matches, best))
    for name, gain in _gains(wish, found, stands, score, steps):
        signals[name] = gain
        score = score + gain
    return _found(found, score, signals, wish.max_distance)


def z(scores: Scores, best: Sequence[float] | Scores) -> Scores:
    """Scores as standard deviations from the mean of a list's best."""
    known = np.asarray(best, dtype=np.float64)
    spread = float(known.std()) if len(known) else 0.0
    if spread < _SPREAD_MIN:
        return np.zeros(len(scores))
    centred: Scores = (scores - known.mean()) / spread
    return centred


class _Judged(NamedTuple):
    """What vectors say of the candidates: [candidates] each.

    Attributes:
        bare: whether a text's vectors came without tokens.
    """

    angles: Scores
    matches: Scores
    bare: NDArray[np.bool_]


def _judged(index: VectorIndex, wish: Wish, question: Question, found: Sequence[Record]) -> _Judged:
    """A few texts at a time, as a text may be long."""
    rarities = _rarities(wish, question)
    angles, matched, bare = np.zeros(len(found)), np.zeros(len(found)), np.ones(len(found), bool)
    for at in range(0, len(found), TEXTS_AT_ONCE):
        some = found[at : at + TEXTS_AT_ONCE]
        made = index.cache.passages(list(dict.fromkeys(one.digest for one in some)))
        texts = [made.get(one.digest, []) for one in some]
        here = slice(at, at + len(some))
        angles[here] = cosines(question, texts)
        matched[here] = matches(question, rarities, texts)
        bare[here] = [not any(len(one.bits) for one in own) for own in texts]
    return _Judged(angles, matched, bare)


class _Standing:
    """The candidates with those that stand beside them."""

    def __init__(self, known: Mapping[int, Record], numbers: Sequence[int]) -> None:
        self.known = known
        self.numbers = [number for number in numbers if number in known]
        self._around: dict[int, Sequence[Record]] = {}

    def conversation(self, record: Record) -> Sequence[Record]:
        """The messages around a message, itself included; none around what is no message."""
        if record.number not in self._around:
            beside = around(record, self.known)
            self._around[record.number] = beside if are_messages(beside) else ()
        return self._around[record.number]


def _candidates(wish: Wish, stands: _Standing, steps: Steps) -> list[Record]:
    """The records to rank, in the order of arrival: those found, and messages right beside them."""
    found = {number: stands.known[number] for number in stands.numbers}
    if steps.neighbours:
        beside = {
            other.number: other
            for one in list(found.values())
            for other in stands.conversation(one)
            if abs(other.number - one.number) <= NEIGHBOUR_CANDIDATES
        }
        new = [number for number in beside if number not in found]
        found |= {number: beside[number] for number in wish.shown.of(new)}
    return [found[number] for number in sorted(found)]


def _rarities(wish: Wish, question: Question) -> list[float]:
    """How rare the word is in which each token of the question stands."""
    return [_rarity(wish, one.start, one.end) for one in question.tokens]


def _rarity(wish: Wish, start: int, end: int) -> float:
    text = wish.query
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return max((wish.rarity.get(word, 0.0) for word in _stems(text[start:end])), default=0.0)


@lru_cache(maxsize=4_096)
def _stems(word: str) -> tuple[str, ...]:
    """What the index of words holds for a word of a question."""
    return tuple(stem(one) for one in tokens(word) if one not in STOP_WORDS)


def _gains(
    wish: Wish, found: Sequence[Record], stands: _Standing, score: Scores, steps: Steps
) -> list[tuple[str, Scores]]:
    """What each step adds, in the order in which they build on each other."""
    gains: list[tuple[str, Scores]] = []
    asked = dated(wish.query)
    if steps.dates and asked:
        gains.append(("date", np.array([asked.match(one.valid_from) for one in found])))
        score = score + gains[-1][1]
    if steps.sources:
        gains.append(("source", _of_source(found, score)))
        score = score + gains[-1][1]
    if steps.neighbours:
        gains.append(("neighbours", _of_neighbours(found, stands, score)))
    if steps.authors and len(wish.authors) == 1:
        others = [
            bool(stands.conversation(one)) and one.author not in ("", *wish.authors)
            for one in found
        ]
        gains.append(("author", np.where(others, -OTHER_AUTHOR, 0.0)))
    if steps.asking:
        gains.append(("asking", np.where([only_asks(one) for one in found], -ONLY_ASKS, 0.0)))
    return gains


def _of_source(found: Sequence[Record], score: Scores) -> Scores:
    """A part of the best score among the candidates of the same source; what has no source is a
    source of its own, so that it does not fall behind what has one.
    """
    sources = [one.source or one.drawer_id for one in found]
    best: dict[str, float] = {}
    for source, own in zip(sources, score.tolist(), strict=True):
        best[source] = max(own, best.get(source, own))
    return np.array([SOURCE_WEIGHT * best[source] for source in sources])


def _of_neighbours(found: Sequence[Record], stands: _Standing, score: Scores) -> Scores:
    """Parts of the scores of the messages right before and behind, where they are candidates."""
    own = {one.number: value for one, value in zip(found, score.tolist(), strict=True)}
    gained = np.zeros(len(found))
    for place, one in enumerate(found):
        conversation = stands.conversation(one)
        if not conversation:
            continue
        here = next(at for at, each in enumerate(conversation) if each.number == one.number)
        for by, weight in enumerate(EARLIER_WEIGHTS, 1):
            if here - by >= 0:
                gained[place] += weight * own.get(conversation[here - by].number, 0.0)
        for by, weight in enumerate(LATER_WEIGHTS, 1):
            if here + by < len(conversation):
                gained[place] += weight * own.get(conversation[here + by].number, 0.0)
    return gained


def _found(
    found: Sequence[Record],
    score: Scores,
    signals: Mapping[str, Scores],
    max_distance: float | None,
) -> list[Found]:
    told = {name: values.tolist() for name, values in signals.items()}
    lines = [
        Found(one.drawer_id, round(value * SCORE_UNIT), _Signals(told, place))
        for place, (one, value) in enumerate(zip(found, score.tolist(), strict=True))
    ]
    if max_distance is not None:
        lines = [one for one in lines if 1 - one.signals["cosine"] <= max_distance]
    return sorted(lines, key=lambda one: (-one.score, one.drawer_id))


class _Signals(Mapping[str, float]):
    """One candidate's signals; of most candidates nobody looks at them."""

    __slots__ = ("_columns", "_place")

    def __init__(self, columns: Mapping[str, Sequence[float]], place: int) -> None:
        self._columns, self._place = columns, place

    def __getitem__(self, name: str) -> float:
        return self._columns[name][self._place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
