"""Conflicts: what two devices did that cannot both have its way, kept until a person decides.

Protects both sides: a conflict never removes anything, it names two operations and why they
collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from domain.belief import Event, Held
from domain.canonical import digest
from domain.operation import part_index

TARGET_MISSING: Final = "target_missing"
TARGET_HIDDEN: Final = "target_hidden"
TOMBSTONE_UNKNOWN: Final = "tombstone_unknown"
UPDATED_TWICE: Final = "updated_twice"
SUPERSEDED_TWICE: Final = "superseded_twice"
SINGLE_VALUE: Final = "single_value"

MEANING: Final = {
    TARGET_MISSING: "its target does not stand at its place; without effect until it does",
    TARGET_HIDDEN: "an edit of a drawer that had been deleted; the delete stands",
    TOMBSTONE_UNKNOWN: "stored by a device that did not know of the delete; stays hidden",
    UPDATED_TWICE: "two devices changed one text; the later one in canonical order shows",
    SUPERSEDED_TWICE: "two operations superseded one value; the later one in canonical order shows",
    SINGLE_VALUE: "two values of a single-valued predicate from one instant; the later one shows",
}


class Conflict(NamedTuple):
    """Two operations that collide (one, where the other side is missing).

    Attributes:
        about: the drawer id or the partition that it is about.
        left_op, left: op_id and drawer or fact id of the side that stood first in canonical order.
        right_op, right: the same of the side that came later. `right_op` is never empty; `right` is
            "" where the operation fills nothing, and the object named where a fact is missing.
    """

    id: str
    area: str
    kind: str
    about: str
    left_op: str
    left: str
    right_op: str
    right: str
    rank: bytes


def conflict_id(*parts: str) -> str:
    """The id of a conflict: the same on every device that holds both sides."""
    return f"conflict_{digest(*parts).hex()[:24]}"


def note(
    held: Held,
    event: Event,
    area: str,
    kind: str,
    about: str,
    *,
    left: tuple[str, str] = ("", ""),
    right: str = "",
) -> None:
    """Keep a conflict that `event` brought about; `left` is (op_id, id) of the side that stood
    first.
    """
    part = (str(event.part),) if event.part else ()
    id = conflict_id(kind, about, left[0], left[1], event.op_id, right, *part)
    held.put(Conflict(id, area, kind, about, left[0], left[1], event.op_id, right, event.rank))


def named_anew(conflict: Conflict, names: Mapping[str, str]) -> str:
    """The id that a conflict has where its operations and facts have other names."""
    single = conflict.kind == SINGLE_VALUE
    left = () if single else (conflict.left_op,)
    right = () if single else (conflict.right_op,)
    sides = (*left, conflict.left, *right, conflict.right)
    part = 0 if single else part_index(conflict.rank)
    renamed = (names.get(one, one) for one in sides)
    return conflict_id(conflict.kind, conflict.about, *renamed, *([str(part)] if part else []))
