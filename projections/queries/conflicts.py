"""What devices did that cannot both have its way, as a list.

Protects both sides: each shows who did it, where and when. Two single values from one instant are
found when the list is read, as the predicate's declaration may come at any time.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from sqlalchemy import bindparam, func, select

from domain.conflicts import MEANING, SINGLE_VALUE, TARGET_MISSING, Conflict, conflict_id
from domain.facts import AREA, Assertion
from domain.instants import show
from domain.operations.conflicts import ListConflictsAsks
from domain.resolutions import Resolution
from projections.queries.paging import cursor_text, resume
from projections.queries.partitions import single_places
from projections.reading import Reading, Rows, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions = BELIEFS[Assertion]
_left, _right = _assertions.alias("l"), _assertions.alias("r")

_noted = BELIEFS[Conflict]

_NOTED = Prepared(select(*fields_of(Conflict)).where(_noted.c.id == _B("id"), believed(_noted)))
_FROM_ONE_INSTANT = Prepared(
    select(
        _left.c.partition,
        _left.c.op_id,
        _left.c.id,
        _right.c.op_id,
        _right.c.id,
        _right.c.rank,
    ).where(
        _left.c.key == _B("key"),
        _right.c.key == _left.c.key,
        _left.c.valid_from == _B("instant"),
        _right.c.valid_from == _left.c.valid_from,
        _right.c.object_key != _left.c.object_key,
        _right.c.rank > _left.c.rank,
        _left.c.valid_from < _left.c.valid_to,
        _right.c.valid_from < _right.c.valid_to,
        believed(_left),
        believed(_right),
    )
)
_CLASHING = Prepared(
    select(_assertions.c.key, _assertions.c.valid_from)
    .where(
        _assertions.c.predicate_key == _B("predicate"),
        _assertions.c.wing_key == _B("wing"),
        _assertions.c.valid_from < _assertions.c.valid_to,
        believed(_assertions),
    )
    .group_by(_assertions.c.key, _assertions.c.valid_from)
    .having(func.min(_assertions.c.object_key) != func.max(_assertions.c.object_key))
)


def list_conflicts(reading: Reading, asked: ListConflictsAsks) -> dict[str, Any]:
    """One page of conflicts, newest first in canonical order."""
    last = resume("list_conflicts", reading, asked, asked.cursor, (bytes, str))
    resolved = {one.id: one for one in reading.all(Resolution)}
    wanted = [one for one in conflicts(reading) if not (asked.open and one.id in resolved)]
    found = sorted(wanted, key=lambda one: (one.rank, one.id), reverse=True)
    place = (last[0], last[1]) if last else None
    behind = [one for one in found if place is None or (one.rank, one.id) < place]
    page = behind[: asked.limit]
    more = len(behind) > asked.limit
    marks = [page[-1].rank, page[-1].id] if more else []
    return reading.shown() | {
        "conflicts": [_shown(reading, one, resolved.get(one.id)) for one in page],
        "total": len(found),
        "cursor": cursor_text("list_conflicts", reading, asked, marks) if more else None,
    }


def conflicts(reading: Rows) -> list[Conflict]:
    """All that folds noted, and all single values from one instant; resolved or not."""
    return reading.all(Conflict) + _from_one_instant(reading)


def open_conflicts(reading: Rows) -> list[Conflict]:
    """The conflicts that nobody has resolved."""
    resolved = {one.id for one in reading.all(Resolution)}
    return [one for one in conflicts(reading) if one.id not in resolved]


def conflict_of(reading: Rows, id: str) -> Conflict | None:
    """The conflict of an id, resolved or not; None where there is none."""
    noted = (Conflict(*row) for row in reading.rows(_NOTED, id=id))
    single = (one for one in _from_one_instant(reading) if one.id == id)
    return next(chain(noted, single), None)


def _from_one_instant(reading: Rows) -> list[Conflict]:
    clashes = [
        clash
        for predicate, wing in single_places(reading)
        for clash in reading.rows(_CLASHING, predicate=predicate, wing=wing)
    ]
    return [
        _single_value(*pair)
        for key, instant in clashes
        for pair in reading.rows(_FROM_ONE_INSTANT, key=key, instant=instant)
    ]


def _single_value(
    about: str, left_op: str, left: str, right_op: str, right: str, rank: bytes
) -> Conflict:
    id = conflict_id(SINGLE_VALUE, about, left, right)
    return Conflict(id, AREA, SINGLE_VALUE, about, left_op, left, right_op, right, rank)


def _shown(reading: Reading, conflict: Conflict, resolved: Resolution | None) -> dict[str, Any]:
    left = _side(reading, conflict.left_op, conflict.left) if conflict.left_op else None
    named = (conflict.area, conflict.kind) == (AREA, TARGET_MISSING)  # an object that is no fact
    return {
        "id": conflict.id,
        "area": conflict.area,
        "kind": conflict.kind,
        "meaning": MEANING[conflict.kind],
        "about": conflict.about.replace("\x1f", " | "),
        "left": left,
        "right": _side(reading, conflict.right_op, "" if named else conflict.right),
        "resolved": None if resolved is None else _resolved(reading, resolved),
    }


def _resolved(reading: Reading, resolution: Resolution) -> dict[str, Any]:
    return {
        "op_id": resolution.op_id,
        "resolution": resolution.resolution or None,
        "device": reading.origin(resolution.op_id).device,
        "recorded_at": show(resolution.recorded_at),
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
