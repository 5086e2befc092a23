"""What holds for every history of three devices, in every order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.belief import Event, Fold, fold_all
from domain.drawers import DRAWERS, Support
from domain.facts import FACTS, PREDICATES, Assertion, Declared, Fact, Source, derive
from domain.identity import fact_id
from domain.instants import ENDLESS
from tests import oracles
from tests.folds import from_zero
from tests.histories import (
    DECLARATION_HISTORIES,
    DRAWER_HISTORIES,
    FACT_HISTORIES,
    ORDERS,
    Written,
    arriving,
    examples,
)
from tests.memory_engine import MemoryEngine, comparable_row

AREAS = pytest.mark.parametrize(
    ("fold", "histories"),
    [(FACTS, FACT_HISTORIES), (DRAWERS, DRAWER_HISTORIES), (PREDICATES, DECLARATION_HISTORIES)],
    ids=["facts", "drawers", "predicates"],
)


def events_of(history: Sequence[Written]) -> list[Event]:
    return [written.event for written in history]


def assertions_of(events: Sequence[Event], subject: str = "Kiran") -> list[Assertion]:
    rows = (row for row in from_zero(FACTS, events) if isinstance(row, Assertion))
    return [row for row in rows if row.subject == subject]


def instants_of(rows: Sequence[Assertion]) -> list[int]:
    """Every instant at which something could begin or end, and those beside it."""
    ends = {end for row in rows for end in (row.valid_from, row.valid_to)}
    return sorted({end + beside for end in ends for beside in (-1, 0, 1)} - {ENDLESS, ENDLESS + 1})


@AREAS
@examples(150)
@given(data=st.data())
def test_every_arrival_leads_to_one_state(fold: Fold, histories: Any, data: st.DataObject) -> None:
    """(a) whatever the interleaving, the repeats and the lateness."""
    events = events_of(data.draw(histories))
    orders = [(), data.draw(ORDERS), data.draw(ORDERS)]
    replicas = [MemoryEngine(fold).receive(*arriving(events, order)) for order in orders]
    assert replicas[0].state() == replicas[1].state() == replicas[2].state()
    assert [replica.position for replica in replicas] == [len(events)] * 3


@AREAS
@examples(150)
@given(data=st.data())
def test_folding_as_events_arrive_is_folding_from_zero(
    fold: Fold, histories: Any, data: st.DataObject
) -> None:
    """(b) stamps included, and at every step of the way."""
    events = events_of(data.draw(histories))
    engine, taken = MemoryEngine(fold), []
    for event in arriving(events, data.draw(ORDERS)):
        engine.receive(event)
        taken += [event] if event not in taken else []
        assert set(engine.rows()) == set(from_zero(fold, taken))


@AREAS
@examples(80)
@given(data=st.data())
def test_what_was_believed_at_a_position_never_changes(
    fold: Fold, histories: Any, data: st.DataObject
) -> None:
    """(c) L28: whatever arrives later, however late it is."""
    events, engine = events_of(data.draw(histories)), MemoryEngine(fold)
    believed = [engine.rows_at(0)]
    for event in arriving(events, data.draw(ORDERS)):
        engine.receive(event)
        if engine.position == len(believed):
            believed.append(frozenset(engine.rows()))
        assert [engine.rows_at(position) for position in range(len(believed))] == believed


@examples(150)
@given(DRAWER_HISTORIES)
def test_a_lineage_folds_alone_as_it_does_among_all_others(history: list[Written]) -> None:
    events = oracles.in_canonical_order(events_of(history))
    together = {comparable_row(row) for row in fold_all(DRAWERS, events).rows()}
    assert together == {comparable_row(row) for row in from_zero(DRAWERS, events)}


@examples(300)
@given(FACT_HISTORIES)
def test_assertions_are_what_the_rules_say(history: list[Written]) -> None:
    events = [event for event in events_of(history) if event.payload["subject"] == "Kiran"]
    rows = from_zero(FACTS, events)
    sources: dict[str, set[str]] = {}
    for row in rows:
        if isinstance(row, Source):
            sources.setdefault(row.assertion_id, set()).add(row.op_id)
    found = [
        (row.id, row.object_key, row.valid_from, row.valid_to, row.rank, row.successor)
        for row in rows
        if isinstance(row, Assertion)
    ]
    expected = [
        (fact_id(one["op"]), one["object"], one["from"], one["to"], one["order"],
         fact_id(one["next"]) if one["next"] else "")
        for one in oracles.fold_facts(events)
    ]  # fmt: skip
    assert sorted(found) == sorted(expected)
    assert sources == {fact_id(one["op"]): one["sources"] for one in oracles.fold_facts(events)}


@examples(200)
@given(FACT_HISTORIES)
def test_derived_facts_are_whole_and_apart(history: list[Written]) -> None:
    """(d) no interval is negative or empty, nothing overlaps, every id is in one fact or untrue."""
    rows = assertions_of(events_of(history))
    for single in (True, False):
        facts = derive(rows, single=single)
        assert all(fact.valid_from < fact.valid_to for fact in facts)
        groups: dict[str, list[Fact]] = {}
        for fact in sorted(facts, key=lambda fact: fact.valid_from):
            groups.setdefault("" if single else fact.newest.object_key, []).append(fact)
        for group in groups.values():
            for left, right in pairwise(group):
                assert left.valid_to <= right.valid_from
                same = left.newest.object_key == right.newest.object_key
                assert not same or left.valid_to < right.valid_from
        shown = [id for fact in facts for id in fact.ids]
        assert len(shown) == len(set(shown))
        untrue = [row for row in rows if row.id not in shown]
        assert all(row.valid_from == row.valid_to or single for row in untrue)
        assert all(_is_cut_at_once(row, rows) for row in untrue if row.valid_from < row.valid_to)


def _is_cut_at_once(row: Assertion, rows: Sequence[Assertion]) -> bool:
    return any(
        other.valid_from == row.valid_from < other.valid_to
        and other.rank > row.rank
        and other.object_key != row.object_key
        for other in rows
    )


@examples(150)
@given(FACT_HISTORIES, st.randoms(use_true_random=False))
def test_a_fact_shows_its_first_id_and_does_not_depend_on_the_order_of_rows(
    history: list[Written], chance: Any
) -> None:
    rows = assertions_of(events_of(history))
    by_id = {row.id: row for row in rows}
    shuffled = chance.sample(rows, len(rows))
    for single in (True, False):
        facts = derive(rows, single=single)
        assert derive(shuffled, single=single) == facts
        for fact in facts:
            parts = [by_id[id] for id in fact.ids]
            assert fact.id == min(parts, key=lambda row: row.opened).id
            assert fact.newest == max(parts, key=lambda row: row.rank)
            assert {row.object_key for row in parts} == {fact.newest.object_key}


@pytest.mark.parametrize(
    ("single", "oracle"), [(True, oracles.value_at), (False, oracles.values_at)]
)
@examples(250)
@given(history=FACT_HISTORIES)
def test_what_is_true_at_an_instant_is_what_the_rules_say(
    single: bool, oracle: Callable[..., set[str]], history: list[Written]
) -> None:
    """(e) and of a single-valued predicate at most one object at a time."""
    rows = assertions_of(events_of(history))
    facts = derive(rows, single=single)
    for instant in instants_of(rows):
        shown = [fact.newest.object_key for fact in facts if fact.holds_at(instant)]
        assert len(shown) == len(set(shown))
        assert set(shown) == oracle(rows, instant)
        assert len(shown) <= 1 or not single


@examples(100)
@given(DECLARATION_HISTORIES)
def test_the_last_declaration_of_a_register_counts(history: list[Written]) -> None:
    last: dict[tuple[str, str], str] = {}
    for event in oracles.in_canonical_order(events_of(history)):
        stated = event.payload
        last[stated.get("wing", "").lower(), stated["predicate"].lower()] = stated["cardinality"]
    rows = [row for row in from_zero(PREDICATES, events_of(history)) if type(row) is Declared]
    assert {(row.scope, row.predicate_key): row.cardinality for row in rows} == last


@examples(300)
@given(DRAWER_HISTORIES)
def test_supports_are_what_the_rules_say(history: list[Written]) -> None:
    """(g) an independent reading of the rules on drawers."""
    events = events_of(history)
    found = [
        (row.id, row.drawer_id, row.valid_from, row.valid_to)
        for row in from_zero(DRAWERS, events)
        if isinstance(row, Support)
    ]
    expected = [
        (f"{one['op']}/0", one["at"], one["from"], one["to"])
        for one in oracles.fold_drawers(events)
    ]
    assert sorted(found) == sorted(expected)


def live_after_each(history: Sequence[Written]) -> list[tuple[Written, set[str], set[str]]]:
    """In canonical order: what was written, and which drawers were live before and after it."""
    ordered = sorted(history, key=lambda written: written.event.rank)
    steps, before = [], set[str]()
    for end in range(1, len(ordered) + 1):
        rows = fold_all(DRAWERS, events_of(ordered[:end])).rows()
        after = {row.drawer_id for row in rows if isinstance(row, Support)}
        steps.append((ordered[end - 1], before, after))
        before = after
    return steps


@examples(200)
@given(DRAWER_HISTORIES)
def test_only_one_who_knew_of_the_delete_brings_a_drawer_back(history: list[Written]) -> None:
    """(g)"""
    deleted: dict[str, set[str]] = {}
    for written, before, after in live_after_each(history):
        for drawer in after - before:
            assert deleted.get(drawer, set()) <= written.known
        if written.event.tool == "delete_drawer":
            drawer = written.event.payload["drawer_id"]
            deleted.setdefault(drawer, set()).add(written.event.op_id)
            assert drawer not in after


@examples(200)
@given(DRAWER_HISTORIES)
def test_a_text_that_was_added_knowingly_and_touched_by_nobody_later_is_live(
    history: list[Written],
) -> None:
    """(g)"""
    ordered = sorted(history, key=lambda written: written.event.rank)
    rows = fold_all(DRAWERS, events_of(ordered)).rows()
    live = {row.drawer_id for row in rows if isinstance(row, Support)}
    touched: set[str | None] = set()
    for end in range(len(ordered), 0, -1):
        event, known = ordered[end - 1]
        drawer = event.payload.get("drawer_id")
        deletes = [one for one, _ in ordered[: end - 1] if one.tool == "delete_drawer"]
        tombstones = {one.op_id for one in deletes if one.payload["drawer_id"] == drawer}
        if event.tool == "add_drawer" and tombstones <= known:
            assert drawer in live | touched
        touched.add(drawer if event.tool == "delete_drawer" else event.payload.get("previous"))
