"""The knowledge graph at one moment: facts as `domain.facts.derive` derives them, under every name
of an entity, with where they were learnt and whether somebody disputes them.

Protects one reading of the graph: every question about facts goes through here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, func, or_, select

from domain.conflicts import Conflict
from domain.entities import Alias, Aliases
from domain.facts import Assertion, Declared, Fact, Source, derive, single_valued
from domain.instants import show, shown
from domain.resolutions import Resolution, single_value_ids
from projections import tables
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions, _sources, _conflicts = BELIEFS[Assertion], BELIEFS[Source], BELIEFS[Conflict]
_operations = tables.operations
ROW: Final = (_assertions.c.key, *fields_of(Assertion))
NAMES: Final = select(func.json_each(_B("names")).table_valued("value").c.value)


def optional(name: str, condition: Any) -> Any:
    """A condition that holds for everything where its parameter is None."""
    return or_(_B(name, type_=_assertions.c.subject_key.type).is_(None), condition)


_OF_SUBJECT = Prepared(
    select(*ROW).where(
        _assertions.c.subject_key.in_(NAMES),
        optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        believed(_assertions),
    )
)
_KEYS_OF_OBJECT = Prepared(
    select(_assertions.c.key)
    .where(
        _assertions.c.object_key.in_(NAMES),
        optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        believed(_assertions),
    )
    .distinct()
)
_OF_KEY = Prepared(
    select(*ROW).where(
        _assertions.c.key == _B("key"),
        optional("object", _assertions.c.object_key == _B("object")),
        believed(_assertions),
    )
)
_SOURCES_OF_KEY = Prepared(
    select(
        _sources.c.assertion_id,
        _sources.c.op_id,
        _operations.c.device,
        _operations.c.agent,
        _sources.c.drawer_id,
        _sources.c.file,
    )
    .select_from(_sources.join(_operations, _operations.c.op_id == _sources.c.op_id))
    .where(
        _sources.c.key == _B("key"),
        optional("assertion", _sources.c.assertion_id == _B("assertion")),
        believed(_sources),
    )
    .order_by(_sources.c.rank)
)
_CONFLICTS_OF_KEY = Prepared(
    select(_conflicts.c.id, _conflicts.c.left, _conflicts.c.right).where(
        _conflicts.c.key == _B("key"), believed(_conflicts)
    )
)


class Graph:
    """The knowledge graph at a reading's moment, one partition at a time."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._declared = reading.all(Declared)
        self.aliases = Aliases(reading.all(Alias))
        self._resolved = {one.id for one in reading.all(Resolution)}
        self._sources: dict[int, dict[str, list[dict[str, Any]]]] = {}
        self._disputes: dict[int, tuple[set[str], set[int]]] = {}
        self._hidden_drawers: dict[str, bool] = {}

    def facts(self, rows: Iterable[Assertion]) -> list[Fact]:
        """What a partition's assertions show."""
        rows = list(rows)
        return derive(rows, single=bool(rows) and self.single(rows[0]))

    def single(self, row: Assertion) -> bool:
        """Whether the partition of an assertion holds one value at a time."""
        return single_valued(self._declared, row.wing_key, row.predicate_key)

    def partition(self, key: int, object_key: str | None = None) -> list[Assertion]:
        """The assertions of a key, or those of one object of it."""
        return [
            Assertion(*row[1:]) for row in self.reading.rows(_OF_KEY, key=key, object=object_key)
        ]

    def shown(self, key: int, facts: list[Fact]) -> list[dict[str, Any]]:
        """Facts of one partition as answers show them."""
        if not facts:
            return []
        sources = self.sources(key)
        disputed = self.disputed(key, facts)
        return [self._fact(fact, sources, disputed) for fact in facts]

    def lines(self, facts: list[tuple[int, Fact]]) -> list[dict[str, Any]]:
        """Facts of many partitions as answers show them, in the order given."""
        by_key: dict[int, list[Fact]] = defaultdict(list)
        for key, fact in facts:
            by_key[key].append(fact)
        lines = {key: iter(self.shown(key, of_key)) for key, of_key in by_key.items()}
        return [next(lines[key]) for key, _ in facts]

    def sources(self, key: int) -> dict[str, list[dict[str, Any]]]:
        """Where a partition's assertions were learnt, by assertion id; read once."""
        if key not in self._sources:
            self._sources[key] = self._read_sources(key)
        return self._sources[key]

    def _read_sources(self, key: int) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for id, op_id, device, agent, drawer, file in self.reading.rows(
            _SOURCES_OF_KEY, key=key, assertion=None
        ):
            hidden = drawer is not None and self._hidden(drawer)
            found[id].append(
                {
                    "op_id": op_id,
                    "device": device,
                    "agent": agent,
                    "drawer_id": drawer,
                    "file": file,
                    "hidden": hidden,
                }
            )
        return found

    def disputed(self, key: int, facts: list[Fact]) -> set[str]:
        """The assertion ids that are a side of an open conflict; a partition is looked through
        once.
        """
        if key not in self._disputes:
            found = self.reading.rows(_CONFLICTS_OF_KEY, key=key)
            pairs = [pair for conflict, *pair in found if conflict not in self._resolved]
            noted = {id for pair in pairs for id in pair if id}
            self._disputes[key] = noted, self._clashes(key, facts)
        noted, clashing = self._disputes[key]
        return noted | {id for fact in facts if fact.valid_from in clashing for id in fact.ids}

    def _clashes(self, key: int, facts: list[Fact]) -> set[int]:
        """The instants from which a single-valued partition states several values, and nobody said
        which.
        """
        starts: dict[int, list[Assertion]] = defaultdict(list)
        if facts and self.single(facts[0].newest):
            for row in self.partition(key):
                if row.valid_from < row.valid_to:
                    starts[row.valid_from].append(row)
        return {
            start
            for start, rows in starts.items()
            if any(id not in self._resolved for id in single_value_ids(rows))
        }

    def _hidden(self, drawer: str) -> bool:
        if drawer not in self._hidden_drawers:
            self._hidden_drawers[drawer] = self.reading.hidden(drawer)
        return self._hidden_drawers[drawer]

    def _fact(
        self, fact: Fact, sources: dict[str, list[dict[str, Any]]], disputed: set[str]
    ) -> dict[str, Any]:
        newest = fact.newest
        return {
            "fact_id": fact.id,
            "wing": newest.wing,
            "subject": newest.subject,
            "predicate": newest.predicate,
            "object": newest.object,
            "valid_from": show(fact.valid_from),
            "valid_to": shown(fact.valid_to),
            "confidence": newest.confidence,
            "sources": [source for id in fact.ids for source in sources.get(id, ())],
            "current": fact.holds_at(self.reading.as_of),
            "conflict": not disputed.isdisjoint(fact.ids),
        }

    def about(self, entity: str, direction: str, predicate: str | None) -> list[tuple[int, Fact]]:
        """The facts with an entity as subject (`out`), object (`in`) or either (`both`), whether
        true or not, each with the key of its partition; all names in comparable form.
        """
        asked = {
            "names": orjson.dumps(self.aliases.names_anywhere(entity)).decode(),
            "predicate": predicate,
        }
        chosen: list[tuple[int, Fact]] = []
        if direction != "in":
            for key, rows in _grouped(self.reading.rows(_OF_SUBJECT, **asked)):
                if rows[0].subject_key in self.aliases.names(entity, rows[0].wing_key):
                    chosen += [(key, fact) for fact in self.facts(rows)]
        if direction != "out":
            for (key,) in self.reading.rows(_KEYS_OF_OBJECT, **asked):
                chosen += self._pointing_at(key, entity)
        return list(dict.fromkeys(chosen))

    def is_about(self, row: Assertion, entity: str) -> bool:
        """Whether an assertion has an entity as subject or object, under any of its names."""
        return not self.aliases.names(entity, row.wing_key).isdisjoint(
            (row.subject_key, row.object_key)
        )

    def _pointing_at(self, key: int, entity: str) -> list[tuple[int, Fact]]:
        rows = [
            row
            for name in self.aliases.names_anywhere(entity)
            for row in self.partition(key, name)
            if name in self.aliases.names(entity, row.wing_key)
        ]
        if rows and self.single(rows[0]):
            names = {row.object_key for row in rows}
            facts = self.facts(self.partition(key))
            return [(key, fact) for fact in facts if fact.newest.object_key in names]
        return [(key, fact) for fact in self.facts(rows)]


def _grouped(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[int, list[Assertion]]]:
    by_key: dict[int, list[Assertion]] = defaultdict(list)
    for key, *fields in rows:
        by_key[key].append(Assertion(*fields))
    return by_key.items()
