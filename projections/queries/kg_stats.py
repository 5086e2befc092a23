"""How much the knowledge graph holds: counts, wing by wing. No subjects and no objects.

Protects one count: facts are those that show (`derived`), entities those of `list_entities`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import bindparam, func, select

from domain.entities import Alias
from domain.facts import Assertion, Fact, alone
from domain.operations.entities import KgStatsAsks
from projections.queries.census import Census
from projections.queries.graph import Graph
from projections.queries.partitions import Derived
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions = BELIEFS[Assertion]
_REAL: Any = believed(_assertions) & (_assertions.c.valid_from < _assertions.c.valid_to)
_BEGUN: Any = _assertions.c.valid_from <= _B("as_of")
_PLACE: Final = (_assertions.c.predicate_key, _assertions.c.wing_key)
_OF_PLACE: Any = (_PLACE[0] == _B("predicate")) & (_PLACE[1] == _B("wing")) & _REAL

_STATED = Prepared(
    select(
        *_PLACE,
        func.min(_assertions.c.opened),
        func.count(),
        func.count().filter(_BEGUN, _assertions.c.valid_to > _B("as_of")),
        func.count().filter(~_BEGUN),
    )
    .where(_REAL)
    .group_by(*_PLACE)
)
_OPENED = Prepared(select(_assertions.c.opened).where(_OF_PLACE).order_by(_assertions.c.opened))
_OPENED_AT = Prepared(
    select(*fields_of(Assertion)).where(_OF_PLACE, _assertions.c.opened == _B("opened"))
)


class Tally:
    """The facts of a predicate in a wing, counted.

    Attributes:
        first: the fact whose spelling shows, the first in canonical order.
        current, upcoming: how many are true at the moment, and how many later.
    """

    def __init__(self, first: Fact, total: int, current: int, upcoming: int) -> None:
        """Take what is counted already."""
        self.first = first
        self.total = total
        self.current = current
        self.upcoming = upcoming

    def add(self, stated: Assertion | Fact, as_of: int, times: int) -> None:
        """Count what holds from one instant until another (`times` is 1), or do not (-1)."""
        self.total += times
        self.current += times * (stated.valid_from <= as_of < stated.valid_to)
        self.upcoming += times * (stated.valid_from > as_of)


def kg_stats(reading: Reading, asked: KgStatsAsks) -> dict[str, Any]:
    """Totals, and the same wing by wing."""
    graph = Graph(reading)
    census = Census(graph)
    wings = _tallies(reading, census.derived)
    tallies = [tally for of_wing in wings.values() for tally in of_wing.values()]
    return reading.shown() | {
        "facts": _counts(tallies),
        "entities": len(census.keys),
        "aliases": len({alias.id for alias in reading.all(Alias)}),
        "links": len({link.id for _, _, link in census.links}),
        "predicates": len({predicate for of_wing in wings.values() for predicate in of_wing}),
        "wings": [
            {
                "wing": _first(wings[key].values()).wing,
                "facts": _counts(wings[key].values()),
                "entities": len(census.by_wing[key]),
                "predicates": [
                    {
                        "predicate": tally.first.newest.predicate,
                        "cardinality": "one" if graph.single(tally.first.newest) else "many",
                        "facts": _counts([tally]),
                    }
                    for _, tally in sorted(wings[key].items())
                ],
            }
            for key in sorted(wings)
        ],
    }


def _tallies(reading: Reading, derived: Derived) -> dict[str, dict[str, Tally]]:
    """By wing and predicate in comparable form: assertions counted, and then what derivation makes
    of some of them instead.
    """
    shown: dict[bytes, Fact | None] = {row.opened: None for row in derived.rows}
    opened_by = {row.id: row.opened for row in derived.rows}
    for fact in derived.facts:
        shown |= {opened_by[id]: fact for id in fact.ids}
    wings: dict[str, dict[str, Tally]] = defaultdict(dict)
    for predicate, wing, opened, *counts in reading.rows(_STATED, as_of=reading.as_of):
        first = _begun_by(reading, {"predicate": predicate, "wing": wing}, opened, shown)
        wings[wing][predicate] = Tally(first, *counts)
    for row in derived.rows:
        wings[row.wing_key][row.predicate_key].add(row, reading.as_of, -1)
    for fact in derived.facts:
        wings[fact.newest.wing_key][fact.newest.predicate_key].add(fact, reading.as_of, 1)
    return wings


def _begun_by(
    reading: Reading, place: dict[str, str], opened: bytes, shown: dict[bytes, Fact | None]
) -> Fact:
    """The first fact of a predicate in a wing, of which the first assertion is given; where that
    shows nowhere (it was cut as it began), of the next that does.
    """
    if shown.get(opened, ...) is None:
        later = reading.rows(_OPENED, **place)
        opened = next(one for (one,) in later if shown.get(one, ...) is not None)
    fact = shown.get(opened)
    if fact is None:
        [row] = reading.rows(_OPENED_AT, **place, opened=opened)
        fact = alone(Assertion(*row))
    return fact


def _first(tallies: Iterable[Tally]) -> Assertion:
    return min((tally.first for tally in tallies), key=lambda fact: fact.opened).newest


def _counts(tallies: Iterable[Tally]) -> dict[str, int]:
    tallies = list(tallies)
    total, current, upcoming = (
        sum(getattr(tally, name) for tally in tallies) for name in ("total", "current", "upcoming")
    )
    return {
        "total": total,
        "current": current,
        "past": total - current - upcoming,
        "upcoming": upcoming,
    }
