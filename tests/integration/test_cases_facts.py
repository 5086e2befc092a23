"""Facts on one palace: cases L6 to L9, L11, L19 and L30."""

from __future__ import annotations

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, deliver, operations

CITY = {"subject": "Kiran", "predicate": "city"}
LYON = CITY | {"object": "Lyon"}
PROJECT = {"subject": "Kiran", "predicate": "project"}


def test_a_new_predicate_closes_nothing(clock: FrozenDateTimeFactory, ada: Device) -> None:
    """L6"""
    for number in range(20):
        ada.kg_add(subject="Kiran", predicate=f"trait {number}", object=f"value {number}")
    clock.tick(1)
    ada.kg_add(subject="Kiran", predicate="trait 20", object="value 20")

    facts = ada.kg_query(entity="Kiran")["facts"]
    assert len(facts) == 21
    assert all(fact["current"] and fact["valid_to"] is None for fact in facts)


def test_a_supersede_ends_the_old_value_and_opens_the_new_one(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L7"""
    apollo = ada.kg_add(**PROJECT, object="Apollo")
    clock.move_to("2026-04-10T00:00:00Z")
    zeus = ada.kg_supersede(**PROJECT, old_object="Apollo", new_object="Zeus")

    assert zeus["superseded"] == [apollo["fact_id"]]
    assert ada.objects(predicate="project") == ["Zeus"]
    assert ada.objects(predicate="project", as_of="2026-04-09") == ["Apollo"]
    assert ada.intervals(predicate="project") == [
        "Apollo 2026-03-31..2026-04-10",
        "Zeus 2026-04-10..",
    ]
    shown = ada.fact_history(fact_id=apollo["fact_id"])
    assert [one["superseded_by"] for one in shown["assertions"]] == [zeus["fact_id"], None]
    assert [one["tool"] for one in shown["events"]] == ["kg_add", "kg_supersede"]


def test_superseding_what_nobody_said_is_refused_where_all_is_known(ada: Device) -> None:
    """L7"""
    ada.kg_add(**PROJECT, object="Apollo")
    before = ada.status()["totals"]
    with ada.refuses("facts::unknown"):
        ada.kg_supersede(**PROJECT, old_object="Hermes", new_object="Zeus")
    with ada.refuses("facts::unknown"):
        ada.kg_invalidate(**PROJECT, object="Hermes")
    with ada.refuses("facts::same"):
        ada.kg_supersede(**PROJECT, old_object="Apollo", new_object=" APOLLO ")
    with ada.refuses("input::invalid", "at"):
        ada.kg_supersede(**PROJECT, old_object="Apollo", new_object="Zeus", at="2020")
    assert ada.status()["totals"] == before
    assert ada.list_operations()["total"] == 1
    assert ada.objects(predicate="project") == ["Apollo"]


def test_a_closed_interval_stands_beside_the_open_one(ada: Device) -> None:
    """L8"""
    ada.kg_add(**LYON, valid_from="2024")
    closed = ada.kg_add(**LYON, valid_from="2010", valid_to="2012")

    assert closed["duplicate"] is False
    assert ada.intervals() == ["Lyon 2010-01-01..2013-01-01", "Lyon 2024-01-01.."]
    assert ada.objects(as_of="2011") == ["Lyon"]
    assert ada.objects(as_of="2015") == []


def test_a_closed_fact_delivered_twice_is_one_row(fleet: Fleet) -> None:
    """L9"""
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**LYON, valid_from="2010", valid_to="2012")
    for _ in range(2):
        deliver(ada.house, bob.house)
    assert bob.intervals() == ["Lyon 2010-01-01..2013-01-01"]
    assert bob.position() == 1


def test_what_was_ended_stays_ended_when_the_add_is_delivered_again(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L9"""
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**LYON, idempotency_key="once")
    clock.move_to("2026-04-10T00:00:00Z")
    ada.kg_invalidate(**LYON)
    first, second = [one.recorded for one in operations(ada.house)]
    clock.move_to("2026-04-20T00:00:00Z")

    for recorded in (first, second, first):
        bob.house.palace.writer.do(
            lambda turn, one=recorded: turn.receive(one, None, lambda _: None)
        )
    again = ada.kg_add(**LYON, idempotency_key="once")

    assert again["position"] == 1
    for device in (ada, bob):
        assert device.objects() == []
        assert device.intervals() == ["Lyon 2026-03-31..2026-04-10"]
        assert device.position() == 2


def test_ending_what_has_ended_is_a_duplicate_with_the_end_that_stands(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    fact = ada.kg_add(**LYON, valid_from="2026-03-01")
    ended = ada.kg_invalidate(**LYON, ended="2026-03-10")
    again = ada.kg_invalidate(**LYON, ended="2026-03-20")

    assert (ended["duplicate"], again["duplicate"]) == (False, True)
    assert again["ended"] == ended["ended"] == "2026-03-11T00:00:00.000000Z"
    assert again["fact_ids"] == ended["fact_ids"] == [fact["fact_id"]]
    assert ada.intervals() == ["Lyon 2026-03-01..2026-03-11"]


def test_superseding_twice_alike_is_a_duplicate(clock: FrozenDateTimeFactory, ada: Device) -> None:
    ada.kg_add(**LYON)
    clock.tick(60)
    first = ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    clock.tick(60)
    again = ada.kg_supersede(**CITY, old_object="LYON", new_object="nice")

    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert again["fact_id"] == first["fact_id"]
    assert again["superseded"] == first["superseded"]
    assert ada.objects() == ["Nice"]
    assert ada.conflicts() == []


def test_one_fact_from_two_sources_outlives_one_of_them(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L11"""
    letter = ada.add_drawer(wing="home", room="post", content="letter")["drawer_id"]
    diary = ada.add_drawer(wing="home", room="post", content="diary")["drawer_id"]
    start = {"valid_from": "2026-03-01"}
    first = ada.kg_add(**LYON, **start, source_drawer_id=letter)
    second = ada.kg_add(**LYON, **start, source_drawer_id=diary)

    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert second["fact_id"] == first["fact_id"]
    assert ada.kg_query(entity="Kiran")["facts"][0]["wing"] == "home"
    ada.delete_drawer(drawer_id=letter)
    [fact] = ada.kg_query(entity="Kiran")["facts"]
    assert [(one["drawer_id"], one["hidden"]) for one in fact["sources"]] == [
        (letter, True),
        (diary, False),
    ]


def test_a_source_that_was_only_rewritten_is_not_hidden(ada: Device) -> None:
    letter = ada.add_drawer(wing="home", room="post", content="letter")["drawer_id"]
    ada.kg_add(**LYON, source_drawer_id=letter)
    longer = ada.update_drawer(drawer_id=letter, content="longer letter")["drawer_id"]
    [source] = ada.kg_query(entity="Kiran")["facts"][0]["sources"]
    assert source["hidden"] is False

    ada.delete_drawer(drawer_id=longer)
    [source] = ada.kg_query(entity="Kiran")["facts"][0]["sources"]
    assert source["hidden"] is True


@pytest.mark.parametrize(
    ("first", "second", "entities"),
    [
        ("O'Brien", "OBrien", 2),
        ("cafe\u0301", "caf\u00e9", 1),
        ("Kiran", "  KIRAN ", 1),
        ("Stra\u00dfe", "STRASSE", 1),
        ("Kiran  Rao", "Kiran Rao", 1),
        ("Kiran-Rao", "Kiran Rao", 2),
        ("\u0391\u03a3", "\u03b1\u03c2", 1),
    ],
)
def test_names_are_one_entity_where_only_case_and_composition_differ(
    ada: Device, first: str, second: str, entities: int
) -> None:
    """L19"""
    ada.kg_add(subject=first, predicate="knows", object="one")
    ada.kg_add(subject=second, predicate="knows", object="two")

    subjects = {fact["subject"] for fact in ada.kg_timeline(predicate="knows")["facts"]}
    assert len(subjects) == entities
    for name in (first, second):
        facts = ada.kg_query(entity=name)["facts"]
        assert len(facts) == (2 if entities == 1 else 1)
        assert ada.list_operations(entity=name)["total"] == len(facts)


def test_a_predicate_declared_single_valued_late_refolds_every_subject(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L30"""
    people = ["Kiran", "Noor", "Sam"]
    for person in people:
        about = {"subject": person, "predicate": "city"}
        ada.kg_add(**about, object="Lyon", valid_from="2026-01-01")
        ada.kg_add(**about, object="Nice", valid_from="2026-02-01")
    before = ada.position()
    ada.kg_declare_predicate(predicate="City", cardinality="one")

    for person in people:
        assert ada.objects(person) == ["Nice"]
        assert ada.intervals(person) == ["Lyon 2026-01-01..2026-02-01", "Nice 2026-02-01.."]
        assert ada.objects(person, known_at=f"@{before}") == ["Lyon", "Nice"]
        assert ada.objects(person, known_at=f"@{before}", as_of="2026-03-01") == ["Lyon", "Nice"]
    clock.tick(60)
    ada.kg_declare_predicate(predicate="city", cardinality="many")
    assert ada.objects() == ["Lyon", "Nice"]


def test_a_wings_own_declaration_wins_over_the_one_for_all(ada: Device) -> None:
    """L30"""
    for wing in ("home", "work"):
        ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01", wing=wing)
        ada.kg_add(**CITY, object="Nice", valid_from="2026-02-01", wing=wing)
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    ada.kg_declare_predicate(predicate="city", cardinality="many", wing="WORK")

    found = ada.kg_query(entity="Kiran")["facts"]
    assert [(one["wing"], one["object"]) for one in found] == [
        ("work", "Lyon"),
        ("home", "Nice"),
        ("work", "Nice"),
    ]


def test_a_value_that_comes_back_after_another_one_is_no_duplicate(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    first = ada.kg_add(**LYON, valid_from="2026-01-01")
    ada.kg_add(**CITY, object="Nice", valid_from="2026-02-01")
    back = ada.kg_add(**LYON, valid_from="2026-03-01")

    assert ada.intervals() == [
        "Lyon 2026-01-01..2026-02-01",
        "Nice 2026-02-01..2026-03-01",
        "Lyon 2026-03-01..",
    ]
    [shown] = ada.kg_query(entity="Kiran")["facts"]
    assert back["fact_id"] == shown["fact_id"] != first["fact_id"]
    assert back["duplicate"] is False


def test_two_single_values_from_one_instant_are_a_conflict(ada: Device) -> None:
    ada.kg_add(**LYON, valid_from="2026-01-01")
    ada.kg_add(**CITY, object="Nice", valid_from="2026-01-01")
    assert ada.conflicts() == []
    ada.kg_declare_predicate(predicate="city", cardinality="one")

    assert ada.conflicts() == ["single_value"]
    [shown] = ada.kg_query(entity="Kiran")["facts"]
    assert (shown["object"], shown["conflict"]) == ("Nice", True)
    [conflict] = ada.list_conflicts()["conflicts"]
    assert [conflict[side]["tool"] for side in ("left", "right")] == ["kg_add", "kg_add"]


def test_a_fact_in_two_wings_is_ended_only_where_the_wing_is_named(ada: Device) -> None:
    for wing in ("home", "work"):
        ada.kg_add(**LYON, wing=wing)
    with ada.refuses("facts::ambiguous"):
        ada.kg_invalidate(**LYON)
    with ada.refuses("facts::ambiguous"):
        ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    ada.kg_invalidate(**LYON, wing="Home")
    assert [one["wing"] for one in ada.kg_query(entity="Kiran")["facts"]] == ["work"]


def test_the_end_of_a_fact_may_not_come_before_its_start(ada: Device) -> None:
    with ada.refuses("input::invalid", "valid_to"):
        ada.kg_add(**LYON, valid_from="2026-03-02", valid_to="2026-02-28")
    with ada.refuses("input::invalid", "valid_to"):
        ada.add_drawer(wing="w", room="r", content="c", valid_from="2026-03", valid_to="2026-01")
    with ada.refuses("input::invalid", "valid_to"):
        ada.kg_add(**LYON, valid_from="2026-03-02", valid_to="2026-03-01")


def test_every_id_that_was_ever_answered_leads_to_its_fact(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    first = ada.kg_add(**LYON, valid_from="2026-02-01")
    second = ada.kg_add(**LYON, valid_from="2026-02-15")
    third = ada.kg_add(**LYON, valid_from="2026-01-01")
    oslo = LYON | {"object": "Oslo"}
    never = ada.kg_add(**oslo, valid_from="2030-01-01")
    ada.kg_invalidate(**oslo)

    [shown] = ada.kg_query(entity="Kiran")["facts"]
    assert (second["duplicate"], second["fact_id"]) == (True, first["fact_id"])
    for answer in (first, second, third):
        found = ada.fact_history(fact_id=answer["fact_id"])
        assert found["fact_id"] == shown["fact_id"] == first["fact_id"]
    found = ada.fact_history(fact_id=never["fact_id"])
    assert [one["never_true"] for one in found["assertions"]] == [False, False, False, True]
    with ada.refuses("facts::unknown"):
        ada.fact_history(fact_id="fact_of_nobody")
