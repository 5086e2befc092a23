"""How it is decided what a text of a checkpoint is nearly the same as.

Protects what is stored from being taken for less than it is: only a drawer that is live under the
write lock, that is true for as long as the text would be, and that the text may name where it
travels, stands for it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from domain.drawers import DRAWERS, Support
from domain.instants import ENDLESS
from domain.nearness import Comparison, cosine_of
from domain.ports import Known
from domain.travel import LOCAL


class Near(NamedTuple):
    """What stands for a text already.

    Attributes:
        cosine: how near it is; None where it is the same text.
    """

    drawer_id: str
    cosine: float | None = None

    def as_recorded(self) -> dict[str, Any]:
        """The fields of an item."""
        same = {"near": self.drawer_id}
        return same if self.cosine is None else same | {"cosine": self.cosine}


def nearest(
    number: int,
    payload: dict[str, Any],
    comparison: Comparison,
    known: Known,
    stored: Mapping[int, dict[str, Any]],
) -> Near | None:
    """The nearest drawer, or earlier item that is stored, that stands for an item.

    Args:
        stored: the payloads of the earlier items that are stored, by their numbers.
    """
    near = comparison.of(number)
    found = [
        (-cosine, 0, drawer)
        for drawer, cosine in near.drawers
        if _names(payload, known, drawer) and _holds(payload, known, drawer)
    ]
    found += [
        (-cosine, 1 + earlier, stored[earlier]["drawer_id"])
        for earlier, cosine in near.items
        if earlier in stored and _covers(payload, stored[earlier], known)
    ]
    if not found:
        return None
    further, _, drawer = min(found)
    return Near(drawer, cosine_of(-further))


def _names(payload: dict[str, Any], known: Known, drawer: str) -> bool:
    """Whether an item may name a drawer: not the one that it ends, and none that stays here where
    the item travels.
    """
    text = known.text(drawer)
    if text is None or drawer == payload.get("supersedes"):
        return False
    return _may_name(payload, text.wing, known)


def _may_name(payload: dict[str, Any], wing: str, known: Known) -> bool:
    return known.policy(wing) != LOCAL or known.policy(payload["wing"]) == LOCAL


def _holds(payload: dict[str, Any], known: Known, drawer: str) -> bool:
    begin, end = _interval(payload)
    supports = known.held(DRAWERS, drawer).find(Support, "drawer_id", drawer)
    return any(one.valid_from <= begin and end <= one.valid_to for one in supports)


def _covers(payload: dict[str, Any], earlier: dict[str, Any], known: Known) -> bool:
    (begin, end), (from_, to) = _interval(payload), _interval(earlier)
    return from_ <= begin and end <= to and _may_name(payload, earlier["wing"], known)


def _interval(payload: dict[str, Any]) -> tuple[int, int]:
    return payload["valid_from"], payload.get("valid_to", ENDLESS)
