"""How a write on facts is decided: resolved, refused or found in effect already."""

from __future__ import annotations

from typing import Any

import pytest

from domain.belief import Event
from domain.decisions.facts import answer_invalidate
from domain.errors import InvalidInput, Refused
from domain.facts import FACTS, PREDICATES
from domain.identity import fact_id
from domain.instants import ENDLESS
from tests.folds import assertions, declare, invalidate, kg_add, many_values, one_value
from tests.known import NOW, MemoryKnown

HOUR = 3_600_000_000
ABOUT = {"subject": "Kiran", "predicate": "project"}
LATER = "2099-01-01T00:00:00Z"
EARLIER = "2001-01-01T00:00:00Z"


def knowing(*events: Event, complete: bool = True) -> MemoryKnown:
    known = MemoryKnown(complete=complete)
    known.receive(*events)
    return known


def project(
    stamp: int, object: str, since: int = 1, until: int | None = None, **more: Any
) -> Event:
    return kg_add(stamp, object, since, until, device="bob", predicate="project", **more)


def refusal(known: MemoryKnown, tool: str, **arguments: Any) -> str:
    before = known.engines["facts"].state()
    with pytest.raises(Refused) as refused:
        known.decide(tool, **arguments)
    assert known.engines["facts"].state() == before
    return refused.value.code


def supersede_call(old: str = "Apollo", new: str = "Zeus", **more: Any) -> dict[str, Any]:
    return ABOUT | {"old_object": old, "new_object": new} | more


def test_times_that_are_not_given_are_the_time_of_recording() -> None:
    known = knowing(project(1, "Apollo"))
    assert known.decide("kg_add", **ABOUT, object="Ares").payload["valid_from"] == NOW
    assert known.decide("kg_invalidate", **ABOUT, object="Apollo").payload["ended"] == NOW
    assert known.decide("kg_supersede", **supersede_call()).payload["at"] == NOW


def test_an_add_is_recorded_with_what_it_resolved_to_and_no_more() -> None:
    decided = knowing().decide("kg_add", **ABOUT, object="Apollo", idempotency_key="k")
    assert decided.target is None
    assert decided.payload == ABOUT | {
        "wing": "facts",
        "object": "Apollo",
        "valid_from": NOW,
        "duplicate": False,
    }


@pytest.mark.parametrize(
    ("valid_from", "valid_to"),
    [(None, EARLIER), (EARLIER, EARLIER), ("2026-03-02", "2026-03-01")],
    ids=["before now", "one instant", "days the wrong way round"],
)
def test_an_interval_that_holds_no_instant_is_refused_by_name(
    valid_from: str | None, valid_to: str
) -> None:
    start = {} if valid_from is None else {"valid_from": valid_from}
    with pytest.raises(InvalidInput, match="valid_to"):
        knowing().decide("kg_add", **ABOUT, object="Apollo", **start, valid_to=valid_to)


def test_a_fact_held_over_the_whole_interval_is_a_duplicate_and_a_source_all_the_same() -> None:
    known = knowing(project(1, "Apollo"))
    answer = known.call("kg_add", **ABOUT, object="APOLLO")
    assert (answer["duplicate"], answer["fact_id"]) == (True, fact_id("bob-1"))
    assert many_values(known.rows(FACTS)) == ["APOLLO 1.."]
    assert len(known.rows(FACTS)) == 4


def test_a_single_value_that_another_took_the_place_of_is_no_duplicate_when_it_comes_back() -> None:
    lived = kg_add(2, "Lyon", 1, device="bob"), kg_add(3, "Nice", 5, device="bob")
    known = knowing(declare(1, "one", device="bob"), *lived)
    city = {"subject": "Kiran", "predicate": "City"}
    again = known.call("kg_add", **city, object="Nice", valid_from="2026-01-01")
    assert (again["duplicate"], again["fact_id"]) == (True, fact_id("bob-3"))
    back = known.call("kg_add", **city, object="Lyon")
    assert (back["duplicate"], back["fact_id"]) == (False, fact_id(back["op_id"]))
    assert one_value(known.rows(FACTS))[0] == "Lyon 1..5"
    assert one_value(known.rows(FACTS))[-1] == f"Lyon {NOW}.."


def test_a_fact_that_reaches_beyond_what_is_held_is_no_duplicate() -> None:
    """L8: a closed interval beside an open one."""
    known = knowing(project(1, "Apollo", 10, NOW))
    assert not known.call("kg_add", **ABOUT, object="Apollo")["duplicate"]
    assert not known.call("kg_add", **ABOUT, object="Apollo", valid_from=EARLIER)["duplicate"]


def test_names_are_resolved_to_the_spelling_in_use() -> None:
    """L19."""
    known = knowing(project(1, "Apollo", subject="Caf\u00e9", wing="Work"))
    named = {"subject": "CAFE\u0301", "predicate": "PROJECT", "wing": "work"}
    payload = known.decide("kg_add", **named, object="apollo").payload
    assert (payload["subject"], payload["predicate"], payload["wing"]) == (
        "Caf\u00e9",
        "project",
        "Work",
    )
    assert payload["object"] == "apollo"
    assert payload["held"] == fact_id("bob-1")
    other = knowing(project(1, "x", subject="O'Brien"))
    assert other.decide("kg_add", **ABOUT | {"subject": "OBrien"}, object="x").payload[
        "subject"
    ] == ("OBrien")


def test_a_fact_s_wing_is_the_one_named_else_its_source_s_else_facts() -> None:
    known = knowing()
    drawer = known.call("add_drawer", wing="Work", room="r", content="c")["drawer_id"]
    add = ABOUT | {"object": "Apollo"}
    assert known.decide("kg_add", **add, wing="Home").payload["wing"] == "Home"
    assert known.decide("kg_add", **add, source_drawer_id=drawer).payload["wing"] == "Work"
    assert known.decide("kg_add", **add).payload["wing"] == "facts"


def test_a_source_that_does_not_exist_is_refused_where_all_is_known() -> None:
    add = ABOUT | {"object": "Apollo", "source_drawer_id": "drawer_x"}
    assert refusal(knowing(), "kg_add", **add) == "palacelog::drawers::unknown"
    assert knowing(complete=False).decide("kg_add", **add).payload["wing"] == "facts"
    assert knowing().decide("kg_add", **add, wing="w").payload["source_drawer_id"] == "drawer_x"


def test_a_source_that_was_not_seen_is_recorded_as_unverified() -> None:
    known = knowing(complete=False)
    drawer = known.call("add_drawer", wing="Work", room="r", content="c")["drawer_id"]
    add = ABOUT | {"object": "Apollo"}
    targets = [
        known.decide("kg_add", **add, **source).target
        for source in ({}, {"source_drawer_id": drawer}, {"source_drawer_id": "drawer_x"})
    ]
    assert targets == [None, "known", "unverified"]


def test_an_invalidate_ends_what_reaches_beyond_it_and_says_so() -> None:
    known = knowing(project(1, "Apollo"), project(2, "Apollo", 5, 10))
    answer = known.call("kg_invalidate", **ABOUT, object="apollo", ended="2026-07-01")
    assert answer["fact_ids"] == [fact_id("bob-1")]
    assert answer["ended"] == "2026-07-02T00:00:00.000000Z"
    assert (answer["duplicate"], answer["target"]) == (False, "known")


def test_an_invalidate_sent_twice_is_answered_with_the_end_that_stands() -> None:
    known = knowing(project(1, "Apollo"))
    first = known.call("kg_invalidate", **ABOUT, object="Apollo")
    known.now += HOUR
    again = known.call("kg_invalidate", **ABOUT, object="Apollo")
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert (again["ended"], again["fact_ids"]) == (first["ended"], first["fact_ids"])
    assert many_values(known.rows(FACTS)) == [f"Apollo 1..{NOW}"]


def test_an_end_that_is_earlier_than_the_one_that_stands_is_no_duplicate() -> None:
    known = knowing(project(1, "Apollo"))
    known.call("kg_invalidate", **ABOUT, object="Apollo")
    answer = known.call("kg_invalidate", **ABOUT, object="Apollo", ended=EARLIER)
    assert not answer["duplicate"]
    assert answer["ended"] == "2001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("kg_invalidate", ABOUT | {"object": "Zeus"}),
        ("kg_supersede", supersede_call("Zeus", "Ares")),
    ],
)
def test_what_never_existed_is_refused_where_all_is_known_and_unverified_elsewhere(
    tool: str, arguments: dict[str, Any]
) -> None:
    """L7: refused, and nothing among the accepted events."""
    assert refusal(knowing(project(1, "Apollo")), tool, **arguments) == "palacelog::facts::unknown"
    edge = knowing(project(1, "Apollo"), complete=False)
    decided = edge.decide(tool, **arguments)
    assert (decided.target, decided.payload["duplicate"]) == ("unverified", False)


def test_what_exists_in_another_wing_only_is_found_there_or_refused_where_it_is_named() -> None:
    known = knowing(project(1, "Apollo", wing="Work"))
    assert known.decide("kg_invalidate", **ABOUT, object="Apollo").payload["wing"] == "Work"
    elsewhere = ABOUT | {"object": "Apollo", "wing": "home"}
    assert refusal(known, "kg_invalidate", **elsewhere) == "palacelog::facts::unknown"


def test_a_fact_that_stands_in_two_wings_has_to_be_named_with_its_wing() -> None:
    known = knowing(project(1, "Apollo", wing="Work"), project(2, "Apollo", wing="Home"))
    assert refusal(known, "kg_supersede", **supersede_call()) == "palacelog::facts::ambiguous"
    assert known.decide("kg_supersede", **supersede_call(wing="home")).payload["wing"] == "Home"


def test_a_fact_that_is_open_in_one_wing_only_is_meant_there() -> None:
    known = knowing(project(1, "Apollo", wing="Work"), project(2, "Apollo", 1, 5, wing="Home"))
    assert known.decide("kg_invalidate", **ABOUT, object="Apollo").payload["wing"] == "Work"


def test_a_supersede_names_what_it_closes_and_what_it_opens() -> None:
    """L7: Apollo to Zeus."""
    known = knowing(project(1, "Apollo"))
    answer = known.call("kg_supersede", **supersede_call())
    assert answer["superseded"] == [fact_id("bob-1")]
    assert answer["fact_id"] == fact_id(answer["op_id"])
    assert many_values(known.rows(FACTS)) == [f"Apollo 1..{NOW}", f"Zeus {NOW}.."]


def test_a_supersede_in_effect_already_is_a_duplicate_of_it() -> None:
    known = knowing(project(1, "Apollo"))
    first = known.call("kg_supersede", **supersede_call())
    known.now += HOUR
    again = known.call("kg_supersede", **supersede_call("APOLLO", " zeus "))
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert (again["fact_id"], again["superseded"]) == (first["fact_id"], first["superseded"])
    assert many_values(known.rows(FACTS)) == [f"Apollo 1..{NOW}", f"Zeus {NOW}.."]


def test_a_supersede_is_in_effect_no_longer_once_its_new_object_ended_or_the_old_came_back() -> (
    None
):
    known = knowing(project(1, "Apollo"))
    known.call("kg_supersede", **supersede_call())
    known.now += HOUR
    known.call("kg_supersede", **supersede_call("Zeus", "Hera"))
    assert not known.decide("kg_supersede", **supersede_call()).payload["duplicate"]
    known.call("kg_add", **ABOUT, object="Apollo")
    assert not known.decide("kg_supersede", **supersede_call()).payload["duplicate"]


def test_a_supersede_by_another_object_closes_the_successor() -> None:
    known = knowing(project(1, "Apollo"))
    first = known.call("kg_supersede", **supersede_call())
    known.now += HOUR
    answer = known.call("kg_supersede", **supersede_call("Apollo", "Hera"))
    assert set(answer["superseded"]) == {fact_id("bob-1"), first["fact_id"]}
    assert many_values(known.rows(FACTS))[-1] == f"Hera {NOW + HOUR}.."


def test_an_object_cannot_supersede_itself_however_it_is_spelled() -> None:
    known = knowing(project(1, "Apollo"))
    code = refusal(known, "kg_supersede", **supersede_call("Apollo", " APOLLO"))
    assert code == "palacelog::facts::same"


def test_a_supersede_before_the_old_object_began_is_refused_by_name() -> None:
    known = knowing(project(1, "Apollo", NOW), project(2, "Apollo", NOW + HOUR))
    with pytest.raises(InvalidInput, match="`at`"):
        known.decide("kg_supersede", **supersede_call(at=EARLIER))
    assert known.decide("kg_supersede", **supersede_call(at=LATER)).payload["superseded"]
    early = knowing(project(1, "Apollo", NOW), project(2, "Apollo", 1))
    assert early.decide("kg_supersede", **supersede_call(at=EARLIER)).payload["superseded"]


def test_a_supersede_of_what_ended_before_closes_nothing_and_opens() -> None:
    known = knowing(project(1, "Apollo", 1, 5))
    answer = known.call("kg_supersede", **supersede_call())
    assert answer["superseded"] == []
    assert assertions(known.rows(FACTS)) == ["Apollo 1..5", f"Zeus {NOW}.."]


def test_a_declaration_in_force_already_is_a_duplicate() -> None:
    known = knowing(declare(1, "one", predicate="City", device="bob"))
    again = {"predicate": "CITY", "cardinality": "one"}
    payload = known.decide("kg_declare_predicate", **again).payload
    assert payload == {"predicate": "City", "cardinality": "one", "duplicate": True}
    in_wing = known.decide("kg_declare_predicate", **again, wing="w").payload
    assert (in_wing["wing"], in_wing["duplicate"]) == ("w", False)
    answer = known.call("kg_declare_predicate", **again | {"cardinality": "many"})
    assert (answer["predicate"], answer["duplicate"]) == ("City", False)
    assert [row.cardinality for row in known.rows(PREDICATES)] == ["many"]


def test_a_decision_does_not_depend_on_what_other_partitions_hold() -> None:
    known = knowing(project(1, "Apollo"), invalidate(2, "Lyon", device="bob"))
    alone = knowing(project(1, "Apollo"))
    call = ABOUT | {"object": "Apollo"}
    assert known.decide("kg_invalidate", **call) == alone.decide("kg_invalidate", **call)


def test_an_invalidate_of_what_is_not_seen_yet_shows_the_end_that_it_asked_for() -> None:
    edge = knowing(complete=False)
    payload = edge.decide("kg_invalidate", **ABOUT, object="Apollo", ended=EARLIER).payload
    answer = answer_invalidate(payload, "op")
    assert answer == {"fact_ids": [], "ended": "2001-01-01T00:00:00.000000Z"}
    assert payload["ended"] < ENDLESS
