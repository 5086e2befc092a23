"""Facts over the whole graph: which partitions hold one value at a time, and how many facts show.

Protects short answers: indexes alone say where derivation can make a difference, and only there
rows are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import bindparam, func, select

from domain.facts import EVERY_WING, Assertion, Declared, derive, single_valued
from projections.reading import Reading, Rows, believed, fields_of
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
_STATED_OFTEN = Prepared(
    select(_assertions.c.key, _assertions.c.object_key)
    .where(_REAL)
    .group_by(_assertions.c.key, _assertions.c.object_key)
    .having(func.count() > 1)
)
_STATED_OFTEN_OF = Prepared(
    select(_assertions.c.key)
    .where(
        _assertions.c.predicate_key == _B("predicate"),
        _assertions.c.wing_key == _B("wing"),
        _REAL,
    )
    .group_by(_assertions.c.key)
    .having(func.count() > 1)
)
_ROWS = Prepared(select(*fields_of(Assertion)).where(_assertions.c.key == _B("key"), _REAL))
_ROWS_OF_OBJECT = Prepared(
    select(*fields_of(Assertion)).where(
        _assertions.c.key == _B("key"), _assertions.c.object_key == _B("object"), _REAL
    )
)


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


def count_facts(reading: Reading) -> int:
    """How many facts show, whether true now or not: what `kg_query` with `include_historical` would
    show, were it asked for everything.

    An assertion makes one fact, unless its object is stated more than once in its partition, or the
    predicate is single-valued; these are derived from their rows.
    """
    [(count,)] = reading.rows(_STATEMENTS)
    cut: set[int] = set()
    for predicate, wing in single_places(reading):
        for (key,) in reading.rows(_STATED_OFTEN_OF, predicate=predicate, wing=wing):
            rows = [Assertion(*row) for row in reading.rows(_ROWS, key=key)]
            count += len(derive(rows, single=True)) - len(rows)
            cut.add(key)
    for key, object in reading.rows(_STATED_OFTEN):
        if key not in cut:
            found = reading.rows(_ROWS_OF_OBJECT, key=key, object=object)
            rows = [Assertion(*row) for row in found]
            count += len(derive(rows, single=False)) - len(rows)
    return int(count)
