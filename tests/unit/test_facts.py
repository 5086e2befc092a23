"""The rules on facts of DESIGN section 7, one behaviour a test, in every order of arrival."""

from __future__ import annotations

import pytest

from domain.belief import Event
from domain.catalog import folds_of
from domain.conflicts import Conflict
from domain.drawers import DRAWERS
from domain.facts import FACTS, Assertion, Fact, Source, derive, partition
from domain.identity import fact_id
from domain.instants import ENDLESS
from tests.folds import (
    assertions,
    from_zero,
    given,
    invalidate,
    kg_add,
    kinds_of_conflict,
    many_values,
    one_value,
    supersede,
)
from tests.memory_engine import MemoryEngine


def rows_of(*events: Event) -> list[Assertion]:
    rows = (row for row in from_zero(FACTS, events) if isinstance(row, Assertion))
    return sorted(rows, key=lambda row: row.opened)


def sources_of(*events: Event) -> dict[str, str]:
    rows = (row for row in from_zero(FACTS, events) if isinstance(row, Source))
    return {row.op_id: row.assertion_id for row in rows}


def derived(*events: Event, single: bool = False) -> list[Fact]:
    return derive(rows_of(*events), single=single)


def test_an_add_opens_an_assertion_that_is_endless_unless_its_end_is_known() -> None:
    given(FACTS, kg_add(1, "Lyon", 3), kg_add(2, "Nice", 4, 6)).then(
        many_values, ["Lyon 3..", "Nice 4..6"]
    )


def test_an_add_of_the_same_object_and_interval_is_one_more_source() -> None:
    """L11: the same fact from two sources is one fact with two sources."""
    first = kg_add(1, "Lyon", 3, source_drawer_id="drawer_a")
    again = kg_add(2, "LYON", 3, source_file="notes.md", device="bob")
    given(FACTS, first, again).then(assertions, ["Lyon 3.."])
    assert sources_of(first, again) == dict.fromkeys(["ada-1", "bob-2"], fact_id("ada-1"))
    rows = {row.op_id: row for row in from_zero(FACTS, [first, again]) if type(row) is Source}
    assert (rows["ada-1"].drawer_id, rows["ada-1"].file) == ("drawer_a", None)
    assert (rows["bob-2"].drawer_id, rows["bob-2"].file) == (None, "notes.md")


def test_facts_never_depend_on_drawers() -> None:
    """L11: tombstoning one source leaves the fact."""
    assert [folds_of(tool) for tool in ("delete_drawer", "update_drawer")] == 2 * [(DRAWERS,)]
    assert FACTS.members(kg_add(1, "Lyon", source_drawer_id="drawer_a")) == (
        partition("facts", "Kiran", "city"),
    )


def test_an_add_of_another_interval_is_an_assertion_of_its_own() -> None:
    """L8: a closed interval beside an open one, both are kept."""
    given(FACTS, kg_add(1, "Acme", 2024), kg_add(2, "Acme", 2010, 2012)).then(
        many_values, ["Acme 2010..2012", "Acme 2024.."]
    )


def test_an_add_joins_by_the_end_that_stands_now_and_not_by_the_first_one() -> None:
    opened, ended = kg_add(1, "Lyon", 3), invalidate(2, "Lyon", 5)
    given(FACTS, opened, ended, kg_add(3, "Lyon", 3)).then(assertions, ["Lyon 3..5", "Lyon 3.."])
    given(FACTS, opened, ended, kg_add(3, "Lyon", 3, 5)).then(assertions, ["Lyon 3..5"])


def test_an_assertion_sorts_by_the_newest_add_of_it() -> None:
    lyon, nice = kg_add(1, "Lyon", 3), kg_add(2, "Nice", 3)
    given(FACTS, lyon, nice).then(one_value, ["Nice 3.."])
    given(FACTS, lyon, nice, kg_add(3, "Lyon", 3)).then(one_value, ["Lyon 3.."])


def test_the_newest_confidence_shows_and_an_add_without_one_keeps_it() -> None:
    sure, unsure = kg_add(1, "Lyon", 3, confidence=0.9), kg_add(2, "Lyon", 3, confidence=0.2)
    assert [row.confidence for row in rows_of(sure, unsure)] == [0.2]
    assert [row.confidence for row in rows_of(sure, unsure, kg_add(4, "Lyon", 3))] == [0.2]


def test_an_add_delivered_again_adds_nothing() -> None:
    """L9: a closed kg_add replayed is one row; after an invalidate it stays closed."""
    given(FACTS, kg_add(1, "Lyon", 3, 5), times=3).then(assertions, ["Lyon 3..5"])
    given(FACTS, kg_add(1, "Lyon", 3), invalidate(2, "Lyon", 5), times=3).then(
        assertions, ["Lyon 3..5"]
    )


def test_an_invalidate_ends_each_assertion_that_reaches_beyond_it() -> None:
    given(
        FACTS,
        kg_add(1, "Lyon", 1, 3),
        kg_add(2, "Lyon", 2, 9),
        kg_add(3, "Lyon", 4),
        kg_add(4, "Lyon", 7),
        kg_add(5, "Nice", 1),
        invalidate(6, "lyon", 5),
    ).then(assertions, ["Lyon 1..3", "Lyon 2..5", "Lyon 4..5", "Lyon 7..7", "Nice 1.."])


def test_an_invalidate_that_was_a_duplicate_at_its_origin_has_no_effect() -> None:
    given(FACTS, kg_add(1, "Lyon", 1), invalidate(2, "Lyon", 5, duplicate=True)).then(
        assertions, ["Lyon 1.."]
    )


@pytest.mark.parametrize("late", [invalidate(2, "Lyon", 5), supersede(2, "Lyon", "Nice", 5)])
def test_what_arrives_before_its_target_is_kept_and_listed_until_the_target_is_there(
    late: Event,
) -> None:
    """L29: without effect, listed as target_missing, and in effect once the target arrives."""
    engine = MemoryEngine(FACTS).receive(late)
    [conflict] = [row for row in engine.rows() if isinstance(row, Conflict)]
    about = partition("facts", "Kiran", "city")
    assert (conflict.kind, conflict.about, conflict.right_op) == ("target_missing", about, "ada-2")
    assert (conflict.left_op, conflict.left, conflict.right) == ("", "", "Lyon")
    engine.receive(kg_add(1, "Lyon", 1))
    assert kinds_of_conflict(engine.rows()) == []
    assert many_values(engine.rows())[0] == "Lyon 1..5"


@pytest.mark.parametrize("early", [invalidate(1, "Lyon", 5), supersede(1, "Lyon", "Nice", 5)])
def test_a_target_that_is_later_in_canonical_order_is_not_touched(early: Event) -> None:
    scenario = given(FACTS, early, kg_add(2, "Lyon", 1))
    scenario.then(kinds_of_conflict, ["target_missing"])
    scenario.then(lambda rows: many_values(rows)[0], "Lyon 1..")


def test_a_target_is_missing_only_where_no_assertion_of_the_object_stands() -> None:
    closed = kg_add(1, "Lyon", 1, 3)
    given(FACTS, closed, invalidate(2, "Lyon", 5)).then(kinds_of_conflict, [])
    given(FACTS, closed, supersede(2, "Lyon", "Nice", 5)).then(kinds_of_conflict, [])
    given(FACTS, closed, invalidate(2, "Nice", 5)).then(kinds_of_conflict, ["target_missing"])


def test_a_supersede_ends_the_old_object_and_opens_the_new_one_where_it_ends() -> None:
    """L7: now Zeus only; Apollo readable with its end."""
    given(FACTS, kg_add(1, "Apollo", 1), supersede(2, "Apollo", "Zeus", 5)).then(
        many_values, ["Apollo 1..5", "Zeus 5.."]
    )


def test_a_supersede_without_its_target_opens_the_new_value_all_the_same() -> None:
    given(FACTS, supersede(2, "Apollo", "Zeus", 5)).then(many_values, ["Zeus 5.."])


def test_a_supersede_names_the_successor_of_what_it_closed() -> None:
    first, _ = rows_of(kg_add(1, "Apollo", 1), supersede(2, "Apollo", "Zeus", 5))
    expected = (fact_id("ada-2"), "zeus", "ada-2")
    assert (first.successor, first.successor_key, first.successor_op) == expected


def test_an_add_never_joins_what_a_supersede_opened() -> None:
    given(
        FACTS, kg_add(1, "Apollo", 1), supersede(2, "Apollo", "Zeus", 5), kg_add(3, "Zeus", 5)
    ).then(assertions, ["Apollo 1..5", "Zeus 5..", "Zeus 5.."])


def test_a_supersede_opens_an_assertion_of_its_own_beside_one_of_the_same_interval() -> None:
    given(
        FACTS, kg_add(1, "Apollo", 1), kg_add(2, "Zeus", 5), supersede(3, "Apollo", "Zeus", 5)
    ).then(assertions, ["Apollo 1..5", "Zeus 5..", "Zeus 5.."])


def test_a_supersede_closes_what_reaches_beyond_it_and_leaves_what_ended_before() -> None:
    given(
        FACTS,
        kg_add(1, "Apollo", 1, 3),
        kg_add(2, "Apollo", 2, 8),
        kg_add(3, "Apollo", 4),
        kg_add(4, "Apollo", 7),
        supersede(5, "Apollo", "Zeus", 5),
    ).then(assertions, ["Apollo 1..3", "Apollo 2..5", "Apollo 4..5", "Apollo 7..7", "Zeus 5.."])


def test_what_ended_where_a_supersede_begins_was_not_superseded_by_it() -> None:
    first, _ = rows_of(kg_add(1, "Apollo", 1, 5), supersede(2, "Apollo", "Zeus", 5))
    assert (first.valid_to, first.successor) == (5, "")


def test_an_endless_old_object_keeps_what_superseded_its_earlier_assertions() -> None:
    given(
        FACTS,
        kg_add(1, "Apollo", 1),
        supersede(2, "Apollo", "Zeus", 3),
        kg_add(3, "Apollo", 5),
        supersede(4, "Apollo", "Hera", 7),
    ).then(assertions, ["Apollo 1..3", "Zeus 3..", "Apollo 5..7", "Hera 7.."]).then(
        kinds_of_conflict, []
    )


TWICE = (
    kg_add(1, "Apollo", 1),
    supersede(2, "Apollo", "Zeus", 5),
    supersede(3, "Apollo", "Hera", 6, device="bob"),
)


def test_one_value_superseded_by_two_devices_has_one_successor_that_is_current() -> None:
    """L10: one current value in either order, both assertions readable, one conflict listed."""
    scenario = given(FACTS, *TWICE)
    scenario.then(assertions, ["Apollo 1..5", "Zeus 5..6", "Hera 6.."])
    scenario.then(kinds_of_conflict, ["superseded_twice"])
    [conflict] = [row for row in from_zero(FACTS, TWICE) if isinstance(row, Conflict)]
    assert (conflict.left_op, conflict.left) == ("ada-2", fact_id("ada-2"))
    assert (conflict.right_op, conflict.right) == ("bob-3", fact_id("bob-3"))


def test_the_later_supersede_counts_also_where_its_instant_is_the_earlier_one() -> None:
    given(FACTS, TWICE[0], TWICE[1], supersede(3, "Apollo", "Hera", 4, device="bob")).then(
        assertions, ["Apollo 1..4", "Zeus 5..5", "Hera 4.."]
    )


def test_a_later_supersede_closes_successors_of_successors() -> None:
    scenario = given(
        FACTS,
        kg_add(1, "Apollo", 1),
        supersede(2, "Apollo", "Zeus", 3),
        supersede(3, "Zeus", "Ares", 5),
        supersede(4, "Apollo", "Hera", 7, device="bob"),
    )
    scenario.then(assertions, ["Apollo 1..3", "Zeus 3..5", "Ares 5..7", "Hera 7.."])
    scenario.then(kinds_of_conflict, ["superseded_twice", "superseded_twice"])


def test_two_supersedes_that_lead_to_the_same_object_are_no_conflict() -> None:
    scenario = given(FACTS, *TWICE[:2], supersede(3, "Apollo", "ZEUS", 7, device="bob"))
    scenario.then(kinds_of_conflict, [])
    scenario.then(many_values, ["Apollo 1..5", "ZEUS 5.."])


def test_the_first_successor_of_an_assertion_stays_its_successor() -> None:
    assert rows_of(*TWICE)[0].successor == fact_id("ada-2")
    assert rows_of(*TWICE)[1].successor == fact_id("bob-3")


def test_a_circle_of_supersedes_comes_to_an_end() -> None:
    given(
        FACTS,
        kg_add(1, "Apollo", 1),
        supersede(2, "Apollo", "Zeus", 3),
        supersede(3, "Zeus", "Apollo", 5),
        invalidate(4, "Apollo", 6),
        supersede(5, "Apollo", "Hera", 4),
    ).then(assertions, ["Apollo 1..3", "Zeus 3..4", "Apollo 5..5", "Hera 4.."])


def test_a_supersede_that_was_a_duplicate_at_its_origin_has_no_effect() -> None:
    again = supersede(3, "Apollo", "Zeus", 4, duplicate=True)
    given(FACTS, *TWICE[:2], again).then(assertions, ["Apollo 1..5", "Zeus 5.."])


@pytest.mark.parametrize(
    "elsewhere", [{"wing": "work"}, {"subject": "Ana"}, {"predicate": "office"}]
)
def test_events_of_another_partition_touch_nothing(elsewhere: dict[str, str]) -> None:
    given(
        FACTS,
        kg_add(1, "Lyon", 1),
        invalidate(2, "Lyon", 5, **elsewhere),
        supersede(3, "Lyon", "Oslo", 5, **elsewhere),
    ).then(lambda rows: assertions(rows)[0], "Lyon 1..")


def test_names_meet_by_their_comparable_form() -> None:
    """L19: two spellings of one name meet, "O'Brien" and "OBrien" do not."""
    same = {"subject": "KIRAN", "predicate": "City", "wing": "Facts"}
    given(FACTS, kg_add(1, "caf\u00e9", 1), invalidate(2, "CAF\u00c9", 5, **same)).then(
        many_values, ["caf\u00e9 1..5"]
    )
    assert partition("w", "O'Brien", "p") != partition("w", "OBrien", "p")
    assert partition("w", "s", "p", owner="ada") != partition("w", "s", "p")


def test_a_new_predicate_closes_none_of_the_others() -> None:
    """L6: twenty predicates about one subject and a twenty-first."""
    events = [kg_add(n, "yes", n, predicate=f"predicate {n}") for n in range(1, 22)]
    assert [row.valid_to for row in rows_of(*events)] == [ENDLESS] * 21


def test_a_single_value_is_cut_by_the_next_one_whichever_was_recorded_first() -> None:
    """L5: Lyon from March, then (recorded later) Nice from January."""
    for first, second in [(1, 2), (2, 1)]:
        scenario = given(FACTS, kg_add(first, "Lyon", 3), kg_add(second, "Nice", 1))
        scenario.then(one_value, ["Nice 1..3", "Lyon 3.."])
        scenario.then(many_values, ["Nice 1..", "Lyon 3.."])


def test_what_was_cut_does_not_resume() -> None:
    given(FACTS, kg_add(1, "Lyon", 1), kg_add(2, "Nice", 3, 5)).then(
        one_value, ["Lyon 1..3", "Nice 3..5"]
    )


def test_a_value_that_comes_back_is_a_fact_of_its_own() -> None:
    given(FACTS, kg_add(1, "Lyon", 1), kg_add(2, "Nice", 3), kg_add(3, "Lyon", 5)).then(
        one_value, ["Lyon 1..3", "Nice 3..5", "Lyon 5.."]
    )


def test_of_two_single_values_from_one_instant_the_later_in_canonical_order_shows() -> None:
    nice, lyon = kg_add(1, "Nice", 3), kg_add(2, "Lyon", 3)
    given(FACTS, nice, lyon).then(one_value, ["Lyon 3.."])
    assert [fact.ids for fact in derived(nice, lyon, single=True)] == [(fact_id("ada-2"),)]


def test_one_object_stated_twice_is_cut_as_one() -> None:
    given(FACTS, kg_add(1, "Lyon", 1), kg_add(2, "Lyon", 3, 5)).then(one_value, ["Lyon 1.."])
    given(FACTS, kg_add(1, "Lyon", 1, 9), kg_add(2, "Lyon", 5, 7), kg_add(3, "Nice", 5, 6)).then(
        one_value, ["Lyon 1..5", "Nice 5..6"]
    )


def test_an_early_end_leaves_a_gap_that_nothing_fills() -> None:
    given(FACTS, kg_add(1, "Lyon", 1), kg_add(2, "Nice", 3, 4), kg_add(3, "Oslo", 6)).then(
        one_value, ["Lyon 1..3", "Nice 3..4", "Oslo 6.."]
    )


@pytest.mark.parametrize("single", [True, False])
def test_intervals_of_one_object_that_overlap_or_touch_are_one_fact_but_never_over_a_gap(
    single: bool,
) -> None:
    events = kg_add(1, "Lyon", 1, 3), kg_add(2, "LYON", 3, 5), kg_add(3, "Lyon", 2, 4)
    [fact] = derived(*events, single=single)
    assert (fact.valid_from, fact.valid_to) == (1, 5)
    assert set(fact.ids) == {fact_id("ada-1"), fact_id("ada-2"), fact_id("ada-3")}
    apart = kg_add(4, "Lyon", 6, 7)
    assert len(derived(*events, apart, single=single)) == 2


def test_a_fact_is_shown_by_its_first_id_and_its_newest_spelling() -> None:
    late, early = kg_add(2, "Lyon", 1, 3), kg_add(1, "LYON", 2)
    [fact] = derived(late, early)
    assert fact.id == fact.ids[0] == fact_id("ada-1")
    assert fact.newest.object == "Lyon"
    assert fact.holds_at(1)
    assert not fact.holds_at(0)


def test_a_fact_is_true_from_its_start_up_to_its_end_and_no_longer() -> None:
    [fact] = derived(kg_add(1, "Lyon", 3, 5))
    assert [fact.holds_at(instant) for instant in (2, 3, 4, 5)] == [False, True, True, False]


def test_a_fact_names_every_assertion_that_superseded_a_part_of_it() -> None:
    facts = derived(kg_add(1, "Apollo", 1), *TWICE[1:])
    shown = {fact.newest.object: fact.successors for fact in facts}
    assert shown == {
        "Apollo": (fact_id("ada-2"),),
        "Zeus": (fact_id("bob-3"),),
        "Hera": (),
    }


def test_an_assertion_that_was_never_true_keeps_its_id_and_shows_no_fact() -> None:
    events = kg_add(1, "Lyon", 5), invalidate(2, "Lyon", 3)
    assert [row.id for row in rows_of(*events)] == [fact_id("ada-1")]
    assert derived(*events) == derived(*events, single=True) == []


def test_every_add_resolves_by_its_own_id_for_ever() -> None:
    events = kg_add(1, "Lyon", 1), kg_add(2, "Lyon", 1), kg_add(3, "Lyon", 2), *TWICE[1:]
    rows = from_zero(FACTS, events)
    ids = {row.id for row in rows if isinstance(row, Source)}
    assert ids == {fact_id(event.op_id) for event in events}
    held = {row.id for row in rows if isinstance(row, Assertion)}
    assert {row.assertion_id for row in rows if isinstance(row, Source)} <= held
