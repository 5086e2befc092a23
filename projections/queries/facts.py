"""What is asked about facts: an entity's, a timeline, a fact's history.

Protects the rule that facts are shown as `domain.facts.derive` derives them, whatever the question
was.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import bindparam, or_, select, tuple_

from domain.canonical import comparable
from domain.errors import Refused
from domain.facts import Assertion, Fact, Source
from domain.instants import ENDLESS, show, shown
from domain.operations.facts import FactHistoryAsks, KgQueryAsks, KgTimelineAsks
from projections import tables
from projections.queries.graph import NAMES, ROW, Graph, optional
from projections.queries.lines import event_line, place
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions, _sources = BELIEFS[Assertion], BELIEFS[Source]

_KEY_OF_FACT = Prepared(
    select(_sources.c.key, _sources.c.assertion_id).where(
        _sources.c.id == _B("fact_id"), believed(_sources)
    )
)
_IN_TIME = Prepared(
    select(*ROW)
    .where(
        believed(_assertions),
        _assertions.c.valid_from < _assertions.c.valid_to,
        optional("predicate", _assertions.c.predicate_key == _B("predicate")),
        optional(
            "names",
            or_(_assertions.c.subject_key.in_(NAMES), _assertions.c.object_key.in_(NAMES)),
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


def kg_query(reading: Reading, asked: KgQueryAsks) -> dict[str, Any]:
    """The facts of an entity, by predicate, valid_from and canonical order."""
    graph = Graph(reading)
    entity, predicate = comparable(asked.entity), asked.predicate and comparable(asked.predicate)
    chosen = graph.about(entity, asked.direction, predicate)
    within = [(key, fact) for key, fact in chosen if _wanted(fact, asked, reading)]
    within.sort(key=lambda one: (one[1].newest.predicate_key, one[1].valid_from, one[1].opened))
    all_of_time = asked.include_historical or asked.from_ is not None or asked.until is not None
    return reading.shown(all_of_time=all_of_time) | {"facts": graph.lines(within)}


def kg_timeline(reading: Reading, asked: KgTimelineAsks) -> dict[str, Any]:
    """One page of facts in the order in which they became true."""
    last = resume("kg_timeline", reading, asked, asked.cursor, (int, bytes))
    graph = Graph(reading)
    after = (last[0], last[1]) if last else (-ENDLESS, b"")
    entity = asked.entity and comparable(asked.entity)
    chosen = {
        "names": entity and orjson.dumps(graph.aliases.names_anywhere(entity)).decode(),
        "predicate": asked.predicate and comparable(asked.predicate),
    }
    found = _begun_after(graph, entity, chosen, after, asked.limit + 1)
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
    graph = Graph(reading)
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
    graph: Graph,
    entity: str | None,
    chosen: dict[str, Any],
    after: tuple[int, bytes],
    wanted: int,
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
            if entity and not graph.is_about(row, entity):
                continue
            place = key, "" if graph.single(row) else row.object_key
            if place not in begins:
                begins[place] = _beginnings(graph, graph.partition(key, place[1] or None))
            if row.id in begins[place]:
                found.append((key, row, begins[place][row.id]))
        if len(found) >= wanted or len(rows) < wanted:
            return found


def _beginnings(graph: Graph, rows: list[Assertion]) -> dict[str, Fact]:
    """Facts by the id of the assertion that each begins with."""
    by_id = {row.id: row for row in rows}
    first = {}
    for fact in graph.facts(rows):
        begin = min((by_id[id] for id in fact.ids), key=lambda row: (row.valid_from, row.rank))
        first[begin.id] = fact
    return first


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
