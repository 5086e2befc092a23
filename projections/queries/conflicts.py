"""What devices did that cannot both have its way, as a list.

Protects both sides: each shows who did it, where and when. Two single values from one instant are
found when the list is read, as the predicate's declaration may come at any time.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from domain.canonical import digest
from domain.conflicts import MEANING, SINGLE_VALUE, Conflict
from domain.facts import AREA, EVERY_WING, Assertion, Declared, single_valued
from domain.instants import show
from domain.operations.facts import ListConflictsAsks
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_left, _right = BELIEFS[Assertion].alias("l"), BELIEFS[Assertion].alias("r")

_FROM_ONE_INSTANT = Prepared(
    select(
        _left.c.partition,
        _left.c.wing_key,
        _left.c.predicate_key,
        _left.c.op_id,
        _left.c.id,
        _right.c.op_id,
        _right.c.id,
        _right.c.rank,
    ).where(
        _left.c.predicate_key == _B("predicate"),
        _right.c.key == _left.c.key,
        _right.c.valid_from == _left.c.valid_from,
        _right.c.object_key != _left.c.object_key,
        _right.c.rank > _left.c.rank,
        _left.c.valid_from < _left.c.valid_to,
        _right.c.valid_from < _right.c.valid_to,
        believed(_left),
        believed(_right),
    )
)


def list_conflicts(reading: Reading, asked: ListConflictsAsks) -> dict[str, Any]:
    """One page of conflicts, newest first in canonical order."""
    last = resume("list_conflicts", reading, asked.cursor, (bytes, str))
    found = sorted(conflicts(reading), key=lambda one: (one.rank, one.id), reverse=True)
    place = (last[0], last[1]) if last else None
    behind = [one for one in found if place is None or (one.rank, one.id) < place]
    page = behind[: asked.limit]
    more = len(behind) > asked.limit
    marks = [page[-1].rank, page[-1].id] if more else []
    return reading.shown() | {
        "conflicts": [_shown(reading, one) for one in page],
        "total": len(found),
        "cursor": cursor_text("list_conflicts", reading, marks) if more else None,
    }


def conflicts(reading: Reading) -> list[Conflict]:
    """All that folds noted, and all single values from one instant."""
    return reading.all(Conflict) + _from_one_instant(reading)


def _from_one_instant(reading: Reading) -> list[Conflict]:
    declared = reading.all(Declared)
    found = []
    for predicate in dict.fromkeys(row.predicate_key for row in declared):
        if not _ever_single(declared, predicate):
            continue
        for row in reading.rows(_FROM_ONE_INSTANT, predicate=predicate):
            about, wing, _, left_op, left, right_op, right, rank = row
            if single_valued(declared, wing, predicate):
                id = f"conflict_{digest(SINGLE_VALUE, about, left, right).hex()[:24]}"
                side = (left_op, left, right_op, right, rank)
                found.append(Conflict(id, AREA, SINGLE_VALUE, about, *side))
    return found


def _ever_single(declared: list[Declared], predicate: str) -> bool:
    scopes = {row.scope for row in declared} | {EVERY_WING}
    return any(single_valued(declared, scope, predicate) for scope in scopes)


def _shown(reading: Reading, conflict: Conflict) -> dict[str, Any]:
    left = _side(reading, conflict.left_op, conflict.left) if conflict.left_op else None
    return {
        "id": conflict.id,
        "area": conflict.area,
        "kind": conflict.kind,
        "meaning": MEANING[conflict.kind],
        "about": conflict.about.replace("\x1f", " | "),
        "left": left,
        "right": _side(reading, conflict.right_op, conflict.right),
    }


def _side(reading: Reading, op_id: str, id: str) -> dict[str, Any]:
    origin = reading.origin(op_id)
    return {
        "op_id": op_id,
        "id": id or None,
        "tool": origin.tool,
        "device": origin.device,
        "agent": origin.agent,
        "position": origin.position,
        "recorded_at": show(origin.recorded_at),
    }
