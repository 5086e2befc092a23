"""What is asked about facts: an entity's, a timeline, a fact's history.

Protects the rule that facts are shown as `domain.facts.derive` derives them, whatever the question
was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import bindparam, or_, select, tuple_

from domain.canonical import comparable
from domain.conflicts import Conflict
from domain.errors import Refused
from domain.facts import (
    Assertion,
    Declared,
    Fact,
    Source,
    derive,
    single_valued,
)
from domain.instants import ENDLESS, show, shown
from domain.operations.facts import FactHistoryAsks, KgQueryAsks, KgTimelineAsks
from domain.resolutions import Resolution, single_value_ids
from projections import tables
from projections.queries.lines import event_line, place
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions, _sources, _conflicts = BELIEFS[Assertion], BELIEFS[Source], BELIEFS[Conflict]
_operations = tables.operations
_ROW = (_assertions.c.key, *fields_of(Assertion))
_WIDTH: Final = len(Assertion._fields)


def _optional(name: str, condition: Any) -> Any:
    return or_(_B(name, type_=_assertions.c.subject_key.type).is_(None), condition)


_OF_SUBJECT = Prepared(
    select(*_ROW).where(
        _assertions.c.subject_key == _B("entity"),
        _optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        believed(_assertions),
    )
)
_KEYS_OF_OBJECT = Prepared(
    select(_assertions.c.key)
    .where(
        _assertions.c.object_key == _B("entity"),
        _optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        believed(_assertions),
    )
    .distinct()
)
_OF_KEY = Prepared(
    select(*_ROW).where(
        _assertions.c.key == _B("key"),
        _optional("object", _assertions.c.object_key == _B("object")),
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
        _optional("assertion", _sources.c.assertion_id == _B("assertion")),
        believed(_sources),
    )
    .order_by(_sources.c.rank)
)
_CONFLICTS_OF_KEY = Prepared(
    select(_conflicts.c.id, _conflicts.c.left, _conflicts.c.right).where(
        _conflicts.c.key == _B("key"), believed(_conflicts)
    )
)
_KEY_OF_FACT = Prepared(
    select(_sources.c.key, _sources.c.assertion_id).where(
        _sources.c.id == _B("fact_id"), believed(_sources)
    )
)
_IN_TIME = Prepared(
    select(*_ROW)
    .where(
        believed(_assertions),
        _assertions.c.valid_from < _assertions.c.valid_to,
        _optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        _optional(
            "entity",
            or_(
                _assertions.c.subject_key == _B("entity"), _assertions.c.object_key == _B("entity")
            ),
        ),
        tuple_(_assertions.c.valid_from, _assertions.c.rank) > tuple_(_B("start"), _B("rank")),
    )
    .order_by(_assertions.c.valid_from, _assertions.c.rank)
    .limit(_B("limit"))
)
_TOUCHES_OF_KEY = Prepared(
    select(tables.touches.c.position)
    .where(tables.touches.c.key == _B("key"), tables.touches.c.position <= _B("position"))
    .order_by(tables.touches.c.position)
)


class _Graph:
    """The knowledge graph at a reading's moment, one partition at a time."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._declared = reading.all(Declared)
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


def kg_query(reading: Reading, asked: KgQueryAsks) -> dict[str, Any]:
    """The facts of an entity, by predicate, valid_from and canonical order."""
    graph = _Graph(reading)
    entity, predicate = comparable(asked.entity), asked.predicate and comparable(asked.predicate)
    chosen: list[tuple[int, Fact]] = []
    if asked.direction != "in":
        for key, rows in _grouped(reading.rows(_OF_SUBJECT, entity=entity, predicate=predicate)):
            chosen += [(key, fact) for fact in graph.facts(rows)]
    if asked.direction != "out":
        chosen += _pointing_at(graph, entity, predicate)
    within = [(key, fact) for key, fact in dict.fromkeys(chosen) if _wanted(fact, asked, reading)]
    within.sort(key=lambda one: (one[1].newest.predicate_key, one[1].valid_from, one[1].opened))
    by_key: dict[int, list[Fact]] = defaultdict(list)
    for key, fact in within:
        by_key[key].append(fact)
    lines = {key: iter(graph.shown(key, facts)) for key, facts in by_key.items()}
    all_of_time = asked.include_historical or asked.from_ is not None or asked.until is not None
    return reading.shown(all_of_time=all_of_time) | {
        "facts": [next(lines[key]) for key, _ in within]
    }


def kg_timeline(reading: Reading, asked: KgTimelineAsks) -> dict[str, Any]:
    """One page of facts in the order in which they became true."""
    last = resume("kg_timeline", reading, asked, asked.cursor, (int, bytes))
    graph = _Graph(reading)
    after = (last[0], last[1]) if last else (-ENDLESS, b"")
    chosen = {
        "entity": asked.entity and comparable(asked.entity),
        "predicate": asked.predicate and comparable(asked.predicate),
    }
    found = _begun_after(graph, chosen, after, asked.limit + 1)
    page = found[: asked.limit]
    cursor = None
    if len(found) > asked.limit:
        _, first, _ = page[-1]
        cursor = cursor_text("kg_timeline", reading, asked, [first.valid_from, first.rank])
    return reading.shown() | {
        "facts": [line for key, _, fact in page for line in graph.shown(key, [fact])],
        "cursor": cursor,
    }


def fact_history(reading: Reading, asked: FactHistoryAsks) -> dict[str, Any]:
    """The fact that an id resolves to, and everything asserted under its subject and predicate."""
    found = reading.rows(_KEY_OF_FACT, fact_id=asked.fact_id)
    if not found:
        raise Refused(
            "facts::unknown",
            f"{asked.fact_id} is not known here.",
            "Look facts up with kg_query or kg_timeline.",
        )
    [(key, assertion_id)] = found
    graph = _Graph(reading)
    rows = sorted(graph.partition(key), key=lambda row: (row.valid_from, row.rank))
    facts = graph.facts(rows)
    shown_id = next((fact.id for fact in facts if assertion_id in fact.ids), assertion_id)
    sources = graph.sources(key)
    positions = [position for (position,) in reading.rows(_TOUCHES_OF_KEY, key=key)]
    return reading.shown() | {
        "fact_id": shown_id,
        "assertions": [_assertion(row, sources) for row in rows],
        "events": [event_line(one) for one in sorted(reading.log.at(positions), key=place)],
        "conflict": bool(graph.disputed(key, facts)),
    }


def _begun_after(
    graph: _Graph, chosen: dict[str, Any], after: tuple[int, bytes], wanted: int
) -> list[tuple[int, Assertion, Fact]]:
    """Facts with the assertion that begins each, in order of (valid_from, K), behind a place."""
    found: list[tuple[int, Assertion, Fact]] = []
    begins: dict[tuple[int, str], dict[str, Fact]] = {}
    start, rank = after
    while True:
        rows = graph.reading.rows(_IN_TIME, **chosen, start=start, rank=rank, limit=wanted)
        for key, *fields in rows:
            row = Assertion(*fields)
            start, rank = row.valid_from, row.rank
            place = key, "" if graph.single(row) else row.object_key
            if place not in begins:
                begins[place] = _beginnings(graph, graph.partition(key, place[1] or None))
            if row.id in begins[place]:
                found.append((key, row, begins[place][row.id]))
        if len(found) >= wanted or len(rows) < wanted:
            return found


def _beginnings(graph: _Graph, rows: list[Assertion]) -> dict[str, Fact]:
    """Facts by the id of the assertion that each begins with."""
    by_id = {row.id: row for row in rows}
    first = {}
    for fact in graph.facts(rows):
        begin = min((by_id[id] for id in fact.ids), key=lambda row: (row.valid_from, row.rank))
        first[begin.id] = fact
    return first


def _pointing_at(graph: _Graph, entity: str, predicate: str | None) -> list[tuple[int, Fact]]:
    found = []
    for (key,) in graph.reading.rows(_KEYS_OF_OBJECT, entity=entity, predicate=predicate):
        rows = graph.partition(key, entity)
        if rows and graph.single(rows[0]):
            rows = graph.partition(key)
        found += [(key, one) for one in graph.facts(rows) if one.newest.object_key == entity]
    return found


def _grouped(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[int, list[Assertion]]]:
    by_key: dict[int, list[Assertion]] = defaultdict(list)
    for key, *fields in rows:
        by_key[key].append(Assertion(*fields))
    return by_key.items()


def _wanted(fact: Fact, asked: KgQueryAsks, reading: Reading) -> bool:
    if asked.include_historical:
        return True
    if asked.from_ is None and asked.until is None:
        return fact.holds_at(reading.as_of)
    begin = -ENDLESS if asked.from_ is None else asked.from_
    end = ENDLESS if asked.until is None else asked.until
    return fact.valid_from < end and fact.valid_to > begin


def _assertion(row: Assertion, sources: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "fact_id": row.id,
        "object": row.object,
        "valid_from": show(row.valid_from),
        "valid_to": shown(row.valid_to),
        "never_true": row.valid_from >= row.valid_to,
        "superseded_by": row.successor or None,
        "sources": sources.get(row.id, []),
    }
