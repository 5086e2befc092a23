"""How near whole texts are to each other, and which live drawers are near to a text.

Protects texts from being taken for one another: two texts are near where every chunk of each has a
near chunk in the other. What the embedder does not know looks all the same to it, so a text that
it can hardly read is near to nothing, and what it does not know of two texts must be equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import bindparam, func, select

from domain.nearness import COSINE_UNIT
from projections import tables
from projections.meaning import Alike, Showing
from projections.reading import Reading
from projections.tables import Prepared
from projections.vectors.embedder import Embedder, Passage
from projections.vectors.failing import failures_told
from projections.vectors.flat import Near as NearRows
from projections.vectors.records import numbers_of
from projections.vectors.vector_index import VectorIndex

BEGINNING_CHARACTERS: Final = 4_096
"""So much of a text is looked at to see whether the embedder can read it."""
_ROWS_AT_ONCE: Final = 256
_TEXTS_AT_ONCE: Final = 32
_READ_KEPT: Final = 4_096

_B: Any = bindparam
_texts = tables.texts
_BEGINNINGS = Prepared(
    select(_texts.c.drawer_id, func.substr(_texts.c.content, 1, BEGINNING_CHARACTERS)).where(
        _texts.c.drawer_id.in_(
            select(func.json_each(_B("drawer_ids")).table_valued("value").c.value)
        )
    )
)


class Read(NamedTuple):
    """What an embedder can say of a text.

    Attributes:
        chunks: [n, dimension] in double precision, so that no order of adding shows.
        unknown: what it does not know of the text; None where it can hardly read it.
    """

    chunks: NDArray[np.float64]
    unknown: str | None


class Neighbour(NamedTuple):
    """A drawer near to a text; `number` is of its text, by arrival, `cosine` in millionths."""

    number: int
    drawer_id: str
    cosine: int


class Nearness:
    """Compares texts by the vectors of one index, in one snapshot."""

    def __init__(self, reading: Reading, index: VectorIndex, shown: Showing, least: int) -> None:
        """Look only at drawers that may be shown.

        Args:
            least: the cosine in millionths from which texts are near.
        """
        self._reading, self._index, self._shown = reading, index, shown
        self.least = least
        self._unknown = lru_cache(_READ_KEPT)(self._unknown_of)

    def read(self, text: str, passages: Sequence[Passage]) -> Read:
        """A text and what the embedder made of it."""
        chunks = np.array([one.vector for one in passages], dtype=np.float64)
        return Read(chunks, self._unknown(text[:BEGINNING_CHARACTERS]))

    def read_drawers(self, digests: dict[str, bytes]) -> dict[str, Read]:
        """Drawers by their ids, those of them that have vectors.

        Args:
            digests: of each drawer's text.
        """
        asked = orjson.dumps(list(digests)).decode()
        rows = _BEGINNINGS(self._reading.cursor, drawer_ids=asked).fetchall()
        passages = self._index.cache.passages(list(dict.fromkeys(digests.values())))
        return {
            drawer: self.read(text, passages[digests[drawer]])
            for drawer, text in rows
            if digests[drawer] in passages
        }

    def neighbours(self, texts: Sequence[Read], count: int) -> list[list[Neighbour]]:
        """The drawers near to each text, nearest first, equal ones by id; `count` or a few more.

        A text's own drawer is among them.
        """
        found: list[list[Neighbour]] = [[] for _ in texts]
        readable = [place for place, one in enumerate(texts) if one.unknown is not None]
        for at in range(0, len(readable), _TEXTS_AT_ONCE):
            places = readable[at : at + _TEXTS_AT_ONCE]
            first = np.array([texts[place].chunks[0] for place in places], dtype=np.float32)
            rows = self._index.flat.within(first, self.least)
            for place, near in zip(places, rows, strict=True):
                found[place] = self._nearest(texts[place], near, count)
        return found

    def _unknown_of(self, text: str) -> str | None:
        with failures_told(self._index.identity.short):
            return unknown_of(self._index.embedder(), text)

    def _nearest(self, text: Read, rows: NearRows, count: int) -> list[Neighbour]:
        """All near drawers as far as they are asked for: no drawer is nearer than its first match
        with the text, so that those behind need not be looked at once enough are found.
        """
        found: dict[str, Neighbour] = {}
        for at in range(0, len(rows.numbers), _ROWS_AT_ONCE):
            some = slice(at, at + _ROWS_AT_ONCE)
            bound = int(rows.cosines[at]) + 1
            if sum(one.cosine > bound for one in found.values()) >= count:
                break
            for one in self._compared(text, rows.numbers[some].tolist()):
                found[one.drawer_id] = one
        return sorted(found.values(), key=lambda one: (-one.cosine, one.drawer_id))

    def _compared(self, text: Read, rows: list[int]) -> Iterable[Neighbour]:
        digests = list(dict.fromkeys(self._index.cache.digests(rows).values()))
        numbers = numbers_of(self._reading, digests)
        shown = self._shown.of(list(numbers))
        others = self.read_drawers({drawer: numbers[one] for one, drawer in shown.items()})
        for number, drawer in shown.items():
            other = others.get(drawer)
            if other is not None and (cosine := alike(text, other)) >= self.least:
                yield Neighbour(number, drawer, cosine)


def near(
    reading: Reading, index: VectorIndex, text: str, shown: Showing, least: int, count: int
) -> list[Alike]:
    """At most `count` drawers near to a text, nearest first, equal ones by id."""
    nearness = Nearness(reading, index, shown, least)
    [found] = nearness.neighbours([nearness.read(text, index.passages(text))], count)
    return [Alike(one.drawer_id, one.cosine) for one in found[:count]]


def alike(one: Read, other: Read) -> int:
    """How near two texts are, in millionths: the least, over the chunks of both, of how well the
    other matches it; -1,000,000 where the embedder cannot say.
    """
    if one.unknown is None or one.unknown != other.unknown:
        return -COSINE_UNIT
    cosines = one.chunks @ other.chunks.T
    least = min(cosines.max(axis=0).min(), cosines.max(axis=1).min())
    return min(round(float(least) * COSINE_UNIT), COSINE_UNIT)


def unknown_of(embedder: Embedder, text: str) -> str | None:
    """What an embedder does not know of a text; None where it can hardly read it."""
    return embedder.unknown(text) if embedder.readable(text) else None
