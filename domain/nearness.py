"""Nearness: what a machine's vectors say of texts that are to be stored, as the rules see it.

Protects the rules from models: a comparison is done outside and comes in as numbers, in whole
millionths, so that what is decided on it is the same wherever it is read again. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

COSINE_UNIT: Final = 1_000_000
DEDUP_THRESHOLD: Final = 0.9
NO_EMBEDDER: Final = "no_embedder"


class ToStore(NamedTuple):
    """A text that is to be stored.

    Attributes:
        valid_from: from when it is true, microseconds UTC.
    """

    wing: str
    content: str
    valid_from: int


class Neighbours(NamedTuple):
    """What is near to one text, nearest first, with cosines in millionths.

    Attributes:
        drawers: live drawers, equally near ones by id.
        items: earlier texts of the same call by their numbers, equally near ones by number.
    """

    drawers: Sequence[tuple[str, int]] = ()
    items: Sequence[tuple[int, int]] = ()


class Comparison(NamedTuple):
    """What came of comparing the texts of a call by meaning.

    Attributes:
        neighbours: of each text, in the order of the call; shorter where texts were not compared.
        degraded: why not everything was compared; None where it was.
    """

    neighbours: Sequence[Neighbours] = ()
    degraded: str | None = None

    def of(self, number: int) -> Neighbours:
        """What is near to a text of the call."""
        return self.neighbours[number] if number < len(self.neighbours) else Neighbours()


NOT_COMPARED: Final = Comparison(degraded=NO_EMBEDDER)


def millionths(threshold: float) -> int:
    """A cosine as it is compared."""
    return round(threshold * COSINE_UNIT)


def cosine_of(near: int) -> float:
    """A cosine as it is recorded and shown."""
    return near / COSINE_UNIT
