"""Facts over the whole graph: which partitions hold one value at a time, and how many facts show.

Protects short answers: indexes alone say where derivation can make a difference, and only there
rows are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, func, literal_column, select

from domain.facts import EVERY_WING, Assertion, Declared, Fact, derive, single_valued
from projections.reading import Rows, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions = BELIEFS[Assertion]
_REAL = believed(_assertions) & (_assertions.c.valid_from < _assertions.c.valid_to)

_WINGS_OF = Prepared(
    select(_assertions.c.wing_key)
    .where(_assertions.c.predicate_key == _B("predicate"), believed(_assertions))
    .distinct()
)
_STATEMENTS = Prepared(select(func.count()).select_from(_assertions).where(_REAL))


_after: Any = {"partition_by": _assertions.c.key, "order_by": _assertions.c.valid_from}
_beside: Any = (
    select(
        _assertions.c.key,
        _assertions.c.valid_to,
        func.lead(_assertions.c.valid_from).over(**_after).label("next_from"),
    )
    .where(
        _assertions.c.predicate_key == _B("predicate"),
        _assertions.c.wing_key == _B("wing"),
        _REAL,
    )
    .subquery()
)
_CUT = Prepared(select(_beside.c.key).where(_beside.c.next_from < _beside.c.valid_to).distinct())
_TWICE: Any = (func.count() == 2) & (
    func.max(_assertions.c.valid_from) <= func.min(_assertions.c.valid_to)
)
_JOINED = Prepared(
    select(_assertions.c.key, _assertions.c.object_key)
    .where(_REAL)
    .group_by(_assertions.c.key, _assertions.c.object_key)
    .having((func.count() > 2) | _TWICE)
)
_asked: Any = func.json_each(_B("places")).table_valued("value", name="asked")
_PLACE: Any = literal_column("asked.value ->> 0"), literal_column("asked.value ->> 1")
_ROWS = Prepared(
    select(_assertions.c.key, *fields_of(Assertion))
    .select_from(_asked.join(_assertions, _assertions.c.key == literal_column("asked.value")))
    .where(_REAL)
)
_ROWS_OF_OBJECTS = Prepared(
    select(_assertions.c.key, *fields_of(Assertion))
    .select_from(
        _asked.join(
            _assertions,
            (_assertions.c.key == _PLACE[0]) & (_assertions.c.object_key == _PLACE[1]),
        )
    )
    .where(_REAL)
)


class Derived(NamedTuple):
    """Where derivation makes a difference; every other assertion is a fact of its own.

    Attributes:
        rows: the assertions that are joined or cut, empty ones not among them.
        facts: what they show instead.
    """

    rows: list[Assertion]
    facts: list[Fact]


def single_places(reading: Rows) -> Iterator[tuple[str, str]]:
    """(predicate, wing) in comparable form wherever one value only may hold."""
    declared: dict[str, list[Declared]] = defaultdict(list)
    for row in reading.all(Declared):
        declared[row.predicate_key].append(row)
    for predicate, rows in declared.items():
        wings = [row.scope for row in rows if row.scope != EVERY_WING]
        if single_valued(rows, EVERY_WING, predicate):
            wings = [wing for (wing,) in reading.rows(_WINGS_OF, predicate=predicate)]
        for wing in wings:
            if single_valued(rows, wing, predicate):
                yield predicate, wing


def derived(reading: Rows) -> Derived:
    """The assertions that may be cut (their predicate has one value at a time, and they overlap) or
    joined (they state one object more than once), and the facts that they make.
    """
    cut = [
        key
        for predicate, wing in single_places(reading)
        for (key,) in reading.rows(_CUT, predicate=predicate, wing=wing)
    ]
    seen = set(cut)
    joined = [[key, object] for key, object in reading.rows(_JOINED) if key not in seen]
    rows: list[Assertion] = []
    facts: list[Fact] = []
    for statement, places, single in ((_ROWS, cut, True), (_ROWS_OF_OBJECTS, joined, False)):
        found: dict[int, list[Assertion]] = defaultdict(list)
        if places:
            for key, *fields in reading.rows(statement, places=orjson.dumps(places).decode()):
                found[key].append(Assertion(*fields))
        for of_key in found.values():
            rows += of_key
            facts += derive(of_key, single=single)
    return Derived(rows, facts)


def count_facts(reading: Rows) -> int:
    """How many facts show, whether true now or not: what `kg_query` with `include_historical` would
    show, were it asked for everything.
    """
    [(count,)] = reading.rows(_STATEMENTS)
    other = derived(reading)
    return int(count) - len(other.rows) + len(other.facts)
