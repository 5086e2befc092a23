"""Resolutions: that a person has looked at a conflict and says what holds.

Protects both sides of a conflict: to resolve it removes nothing, it takes the conflict off the list
of what is open. A later resolution, in canonical order, takes an earlier one's place. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, NamedTuple

from domain.belief import Event, Fold, Held
from domain.conflicts import SINGLE_VALUE, conflict_id
from domain.facts import Assertion


class Resolution(NamedTuple):
    """What was said of a conflict last.

    Attributes:
        id: of the conflict.
        resolution: "" where nothing was said.
        recorded_at: microseconds UTC.
    """

    id: str
    resolution: str
    recorded_at: int
    rank: bytes
    op_id: str


def resolved(held: Held, event: Event) -> Held:
    """resolve_conflict: the conflict is closed from now on, as the last resolution says."""
    stated = event.payload
    id = stated["conflict_id"]
    held.find(Resolution, "id", id)
    said = stated.get("resolution", "")
    held.put(Resolution(id, said, event.recorded_at, event.rank, event.op_id))
    return held


def single_value_ids(rows: Iterable[Assertion]) -> Iterator[str]:
    """The ids of the conflicts between assertions of one partition from one instant, where one
    value only may hold: of each two with different objects.
    """
    ordered = sorted(rows, key=lambda row: row.rank)
    for left, right in combinations(ordered, 2):
        if left.object_key != right.object_key:
            yield conflict_id(SINGLE_VALUE, left.partition, left.id, right.id)


_EVOLVE: Final = {"resolve_conflict": resolved}

RESOLUTIONS: Final = Fold(
    name="resolutions",
    kinds=(Resolution,),
    indexes={Resolution: ("id",)},
    members=lambda event: (event.payload["conflict_id"],),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
)
