"""Why a drawer or a fact is there: the operations that made and changed it, and what the session
behind each had read before it wrote.

Protects the difference between knowing and guessing: a read is marked where it showed what the
thing rests on; that it was the reason is left to the reader. Shows ids, and no text but what was
asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, func, select

from domain.drawers import DRAWERS
from domain.errors import Refused
from domain.facts import Assertion, Declared, Fact, Source, derive, single_valued
from domain.identity import base_device
from domain.instants import show
from domain.operation import Operation
from domain.operations.audit import WhyAsks
from domain.trail import Told, TrailFilter
from projections import tables
from projections.queries.drawers import lineage_of
from projections.queries.lines import event_line, place
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, Prepared

READS_SHOWN: Final = 10
"""How many of the newest reads before a write are shown, and how many of those that count."""

_B: Any = bindparam
_assertions, _sources, _declared = BELIEFS[Assertion], BELIEFS[Source], BELIEFS[Declared]
_ANY: Any = select(func.json_each(_B("ids")).table_valued("value").c.value)
_OPENED_BY = Prepared(
    select(_sources.c.key, _sources.c.assertion_id).where(
        _sources.c.id == _B("fact_id"), believed(_sources)
    )
)
_OF_KEY = Prepared(
    select(*fields_of(Assertion)).where(_assertions.c.key == _B("key"), believed(_assertions))
)
_SOURCES = Prepared(
    select(tables.operations.c.position, _sources.c.drawer_id)
    .select_from(_sources.join(tables.operations, tables.operations.c.op_id == _sources.c.op_id))
    .where(_sources.c.assertion_id.in_(_ANY), believed(_sources))
    .order_by(_sources.c.rank)
)
_CHANGES = Prepared(
    select(_assertions.c.believed_from, _assertions.c.believed_until).where(
        _assertions.c.key == _B("key"),
        _assertions.c.id.in_(_ANY),
        _assertions.c.believed_from <= _B("position"),
    )
)
_DECLARATIONS = Prepared(
    select(*fields_of(Declared), _declared.c.believed_from, _declared.c.believed_until)
    .where(
        _declared.c.predicate_key == _B("predicate"), _declared.c.believed_from <= _B("position")
    )
    .order_by(_declared.c.rank)
)
_POSITIONS = Prepared(
    select(tables.operations.c.position).where(
        tables.operations.c.op_id.in_(_ANY), tables.operations.c.position <= _B("position")
    )
)


class _Grounds(NamedTuple):
    """What an id stands for.

    Attributes:
        rests_on: the drawers that it rests on.
        sought: ids that a read must have shown to count: these and its own.
        operations: in canonical order.
    """

    kind: str
    id: str
    rests_on: list[str]
    sought: frozenset[str]
    operations: list[Operation]


def why(reading: Reading, asked: WhyAsks) -> dict[str, Any]:
    """The lineage of a drawer or a fact.

    Raises:
        Refused: `facts::unknown` or `drawers::unknown`.
    """
    grounds = _of_fact(reading, asked.id) or _of_drawer(reading, asked.id)
    if grounds is None:
        area = "facts" if asked.id.startswith("fact_") else "drawers"
        raise Refused(
            f"{area}::unknown",
            f"{asked.id} is not known here.",
            "Give the id of a drawer or of a fact, as list_drawers and kg_query show it.",
        )
    shown = grounds.operations[: asked.limit]
    return reading.shown() | {
        "id": grounds.id,
        "kind": grounds.kind,
        "rests_on": grounds.rests_on,
        "operations": [_operation(reading, one, grounds.sought) for one in shown],
        "total": len(grounds.operations),
    }


def _of_drawer(reading: Reading, drawer_id: str) -> _Grounds | None:
    touched = lineage_of(reading, drawer_id)
    if not touched:
        return None
    drawers = dict.fromkeys(id for one in touched for id in DRAWERS.touched(one.part))
    operations = {one.operation.position: one.operation for one in touched}
    others = [id for id in drawers if id != drawer_id]
    return _Grounds("drawer", drawer_id, others, frozenset(drawers), list(operations.values()))


def _of_fact(reading: Reading, fact_id: str) -> _Grounds | None:
    found = reading.rows(_OPENED_BY, fact_id=fact_id)
    if not found:
        return None
    [(key, assertion_id)] = found
    rows = [Assertion(*row) for row in reading.rows(_OF_KEY, key=key)]
    fact = _showing(reading, rows, assertion_id)
    ids = (assertion_id,) if fact is None else fact.ids
    listed = orjson.dumps(ids).decode()
    sources = reading.rows(_SOURCES, ids=listed)
    positions = {position for position, _ in sources}
    for opened, closed in reading.rows(_CHANGES, key=key, ids=listed):
        positions |= {at for at in (opened, closed) if at <= reading.position}
    stated = next(row for row in rows if row.id == assertion_id) if fact is None else fact.newest
    ended = stated.valid_from if fact is None else fact.valid_to
    positions |= _cut_by(reading, rows, stated, ended, min(positions))
    rests_on = list(dict.fromkeys(drawer for _, drawer in sources if drawer is not None))
    return _Grounds(
        "fact",
        assertion_id if fact is None else fact.id,
        rests_on,
        frozenset((*ids, *rests_on)),
        sorted(reading.log.at(sorted(positions)), key=place),
    )


def _showing(reading: Reading, rows: list[Assertion], assertion_id: str) -> Fact | None:
    """The fact that an assertion is a part of; None where it was never true."""
    first = next(row for row in rows if row.id == assertion_id)
    single = single_valued(reading.all(Declared), first.wing_key, first.predicate_key)
    facts = derive(rows, single=single)
    return next((fact for fact in facts if assertion_id in fact.ids), None)


def _cut_by(
    reading: Reading, rows: list[Assertion], stated: Assertion, ended: int, opened: int
) -> set[int]:
    """The positions of what ended a fact of a predicate with one value: assertions of other
    objects, and the declaration where that came after both.
    """
    cutting = [
        row.op_id
        for row in rows
        if row.object_key != stated.object_key
        and row.valid_from == ended
        and row.valid_from < min(row.valid_to, stated.valid_to)
    ]
    found = reading.rows(_POSITIONS, ids=orjson.dumps(cutting).decode())
    positions = {position for (position,) in found}
    single = _single_since(reading, stated) if positions else None
    if single is not None and single > max(min(positions), opened):
        positions.add(single)
    return positions


def _single_since(reading: Reading, row: Assertion) -> int | None:
    """The position since which a predicate has had one value at a time; None where it has many."""
    rows = reading.rows(_DECLARATIONS, predicate=row.predicate_key)
    changes = {at for *_, since, until in rows for at in (since, until) if at <= reading.position}
    found = None
    for at in sorted(changes):
        held = [Declared(*fields) for *fields, since, until in rows if since <= at < until]
        if not single_valued(held, row.wing_key, row.predicate_key):
            found = None
        elif found is None:
            found = at
    return found


def _operation(reading: Reading, operation: Operation, sought: frozenset[str]) -> dict[str, Any]:
    header = operation.header
    reads: list[Told] = []
    total = 0
    if header.session is not None:
        before = TrailFilter(
            reads=True,
            refusals=False,
            device=base_device(header.origin_device),
            session=header.session,
            until=header.recorded_at,
        )
        total = reading.trail.total(before)
        reads = _newest_and_telling(reading, before, sought) if total else []
    return event_line(operation) | {
        "client": header.client,
        "session": header.session,
        "principal": header.principal,
        "read_before": [_read(told, sought) for told in reads],
        "reads": total,
    }


def _newest_and_telling(reading: Reading, before: TrailFilter, sought: Iterable[str]) -> list[Told]:
    """The newest reads and the newest of those that showed what is sought, newest first."""
    telling = before._replace(ids=tuple(sought))
    found = reading.trail.told(before, READS_SHOWN) + reading.trail.told(telling, READS_SHOWN)
    each = {told.line.op_id: told for told in found}.values()
    return sorted(each, key=lambda told: (told.line.recorded_at, told.line.place), reverse=True)


def _read(told: Told, sought: frozenset[str]) -> dict[str, Any]:
    asked, seen = told.payload.get("asked"), told.payload.get("seen", {})
    named = [value for value in (asked or {}).values() if isinstance(value, str)]
    showed = dict.fromkeys(id for id in (*seen.get("ids", ()), *named) if id in sought)
    return {
        "op_id": told.line.op_id,
        "tool": told.line.tool,
        "agent": told.line.agent,
        "recorded_at": show(told.line.recorded_at),
        "times": told.line.times,
        "asked": asked,
        "position": seen.get("position"),
        "total": seen.get("total", 0),
        "showed": list(showed),
    }
