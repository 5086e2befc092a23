"""Questions to the knowledge graph: what is shown of it, from which side and at which moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from projections.reading import Reading
from projections.tables import Prepared
from tests.palaces import Device, Fleet, deliver

CITY = {"subject": "Kiran", "predicate": "city"}


@pytest.fixture(scope="module")
def family(still_fleet: Fleet) -> Device:
    """Kiran lived in Lyon, then in Nice; Noor knows Kiran; Kiran knows himself."""
    return settled(still_fleet.device("ada"))


def settled(ada: Device) -> Device:
    ada.kg_add(**CITY, object="Lyon", valid_from="2020-01-01", valid_to="2023-12-31")
    ada.kg_add(**CITY, object="Nice", valid_from="2024-01-01", confidence=0.25)
    ada.kg_add(subject="Noor", predicate="knows", object="Kiran", valid_from="2021")
    ada.kg_add(subject="Kiran", predicate="knows", object="kiran", valid_from="2022")
    ada.kg_add(subject="Noor", predicate="city", object="Lyon", valid_from="2025")
    return ada


def lines(answer: dict[str, Any]) -> list[str]:
    return [f"{fact['subject']} {fact['predicate']} {fact['object']}" for fact in answer["facts"]]


def test_a_direction_says_from_which_side_an_entity_is_meant(family: Device) -> None:
    out = ["Kiran city Nice", "Kiran knows kiran"]
    into = ["Noor knows Kiran", "Kiran knows kiran"]
    assert lines(family.kg_query(entity="kiran", direction="out")) == out
    assert lines(family.kg_query(entity="KIRAN", direction="in")) == into
    both = ["Kiran city Nice", "Noor knows Kiran", "Kiran knows kiran"]
    assert lines(family.kg_query(entity="Kiran", direction="both")) == both
    assert lines(family.kg_query(entity="Kiran")) == both
    assert lines(family.kg_query(entity="Lyon")) == ["Noor city Lyon"]
    assert lines(family.kg_query(entity="nobody")) == []
    with family.refuses("input::invalid", "direction"):
        family.kg_query(entity="Kiran", direction="sideways")


def test_a_predicate_narrows_a_question(family: Device) -> None:
    assert lines(family.kg_query(entity="Kiran", predicate="CITY")) == ["Kiran city Nice"]
    assert lines(family.kg_query(entity="Lyon", predicate="city")) == ["Noor city Lyon"]
    assert lines(family.kg_query(entity="Kiran", predicate="likes")) == []


@pytest.mark.parametrize(
    ("moment", "cities"),
    [
        ({"as_of": "2019"}, []),
        ({"as_of": "2020-01-01"}, ["Lyon"]),
        ({"as_of": "2023-12-31"}, ["Lyon"]),
        ({"as_of": "2023-12-31T23:59:59.999999Z"}, ["Lyon"]),
        ({"as_of": "2024-01-01T00:00:00Z"}, ["Nice"]),
        ({}, ["Nice"]),
        ({"include_historical": True}, ["Lyon", "Nice"]),
        ({"from_": "2023", "until": "2023"}, ["Lyon"]),
        ({"from_": "2023", "until": "2024"}, ["Lyon", "Nice"]),
        ({"from_": "2024"}, ["Nice"]),
        ({"until": "2023"}, ["Lyon"]),
        ({"until": "2019"}, []),
        ({"from_": "2023-12-31T23:59:59Z", "until": "2024-01-01T00:00:00Z"}, ["Lyon"]),
        ({"known_at": "@1", "as_of": "now"}, []),
        ({"known_at": "@1", "as_of": "2021"}, ["Lyon"]),
        ({"known_at": "@1", "include_historical": True}, ["Lyon"]),
        ({"known_at": "@0", "include_historical": True}, []),
        ({"known_at": "@1", "from_": "2024"}, []),
    ],
)
def test_a_moment_or_a_window_chooses_facts(
    family: Device, moment: dict[str, Any], cities: list[str]
) -> None:
    assert family.objects(**moment) == cities
    open_ended = {"include_historical", "from_", "until"} & moment.keys()
    shown = family.kg_query(entity="Kiran", **moment)["as_of"]
    assert (shown is None) == bool(open_ended)


@pytest.mark.parametrize(
    "both",
    [
        {"as_of": "2020", "include_historical": True},
        {"as_of": "2020", "from_": "2019"},
        {"as_of": "2020", "until": "2019"},
        {"from_": "2020", "include_historical": True},
        {"until": "2020", "include_historical": True},
    ],
)
def test_ways_to_choose_by_time_exclude_each_other(ada: Device, both: dict[str, Any]) -> None:
    for tool in ("kg_query", "list_drawers"):
        given = {name.rstrip("_"): value for name, value in both.items()}
        with ada.refuses("input::invalid"):
            ada.call(tool, given | ({"entity": "Kiran"} if tool == "kg_query" else {}))


def test_a_fact_says_what_is_known_of_it(clock: FrozenDateTimeFactory, ada: Device) -> None:
    family = settled(ada)
    letter = family.add_drawer(wing="home", room="post", content="letter")["drawer_id"]
    family.by(agent="scribe").kg_add(
        **CITY,
        object="nice",
        valid_from="2024-06-01",
        confidence=0.75,
        source_drawer_id=letter,
        source_file="post.txt",
        wing="facts",
    )
    [fact] = family.kg_query(entity="Kiran", predicate="city")["facts"]
    assert (fact["object"], fact["confidence"]) == ("nice", 0.75)
    assert (fact["valid_from"], fact["valid_to"]) == ("2024-01-01T00:00:00.000000Z", None)
    assert (fact["current"], fact["conflict"], fact["wing"]) == (True, False, "facts")
    first, second = fact["sources"]
    assert (first["drawer_id"], first["file"], first["agent"]) == (None, None, None)
    assert (second["drawer_id"], second["file"], second["agent"]) == (letter, "post.txt", "scribe")
    assert {first["device"], second["device"]} == {"ada"}
    for op in (first["op_id"], second["op_id"]):
        assert family.show_operation(op_id=op)["operation"]["tool"] == "kg_add"


def test_the_same_fact_learnt_twice_is_one_fact_with_two_sources_over_a_gap_it_is_two(
    ada: Device,
) -> None:
    spans = [("2020", "2021"), ("2020", "2021"), ("2022", "2022"), ("2024", "2024")]
    for start, end in spans:
        ada.kg_add(**CITY, object="Lyon", valid_from=start, valid_to=end)
    facts = ada.kg_query(entity="Kiran", include_historical=True)["facts"]
    assert ada.intervals() == ["Lyon 2020-01-01..2023-01-01", "Lyon 2024-01-01..2025-01-01"]
    assert [len(fact["sources"]) for fact in facts] == [3, 1]
    assert [fact["current"] for fact in facts] == [False, False]


def test_the_confidence_of_the_newest_source_that_names_one_shows(ada: Device) -> None:
    for confidence in (0.2, 0.9, None):
        given = {} if confidence is None else {"confidence": confidence}
        ada.kg_add(**CITY, object="Lyon", valid_from="2020", **given)
    [fact] = ada.kg_query(entity="Kiran")["facts"]
    assert fact["confidence"] == 0.9
    with ada.refuses("input::invalid", "confidence"):
        ada.kg_add(**CITY, object="Lyon", confidence=1.01)


def test_the_history_of_a_fact_is_that_of_its_subject_and_predicate(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    first = ada.kg_add(**CITY, object="Lyon", valid_from="2020-01-01")
    clock.tick(60)
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice", at="2024-01-01")
    clock.tick(60)
    ada.kg_invalidate(**CITY, object="Nice", ended="2025")
    clock.tick(-90)
    bob.by(agent="clerk").kg_add(**CITY, object="Oslo", valid_from="2022-01-01")
    deliver(bob.house, ada.house)

    shown = ada.fact_history(fact_id=first["fact_id"])
    assert [(one["object"], one["valid_from"][:4]) for one in shown["assertions"]] == [
        ("Lyon", "2020"),
        ("Oslo", "2022"),
        ("Nice", "2024"),
    ]
    tools = [(one["tool"], one["device"], one["agent"]) for one in shown["events"]]
    assert tools == [
        ("kg_add", "ada", None),
        ("kg_add", "bob", "clerk"),
        ("kg_supersede", "ada", None),
        ("kg_invalidate", "ada", None),
    ]
    assert shown["conflict"] is False
    then = ada.fact_history(fact_id=first["fact_id"], known_at="@2")
    assert [one["tool"] for one in then["events"]] == ["kg_add", "kg_supersede"]
    with ada.refuses("facts::unknown"):
        ada.fact_history(fact_id=first["fact_id"], known_at="@0")


def test_conflicts_show_both_sides_and_who_stood_where(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**CITY, object="Lyon")
    deliver(ada.house, bob.house)
    for device, agent, city in ((ada, "scribe", "Nice"), (bob, "clerk", "Oslo")):
        clock.tick(60)
        device.by(agent=agent).kg_supersede(**CITY, old_object="Lyon", new_object=city)
    position = ada.position()
    deliver(bob.house, ada.house)

    found = ada.list_conflicts()
    [conflict] = found["conflicts"]
    assert (found["total"], found["cursor"]) == (1, None)
    assert (conflict["kind"], conflict["area"]) == ("superseded_twice", "facts")
    assert conflict["meaning"]
    left, right = conflict["left"], conflict["right"]
    assert (left["device"], left["agent"], left["tool"]) == ("ada", "scribe", "kg_supersede")
    assert (right["device"], right["agent"], right["position"]) == ("bob", "clerk", 3)
    for side in (left, right):
        assert ada.fact_history(fact_id=side["id"])["conflict"] is True
        assert ada.show_operation(op_id=side["op_id"])["operation"]["position"] == side["position"]
    assert ada.list_conflicts(known_at=f"@{position}")["total"] == 0
    assert ada.status()["totals"]["conflicts"] == 1


def test_a_conflict_over_a_missing_fact_names_no_id(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob, reader = fleet.devices("ada", "bob", "reader")
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    deliver(ada.house, bob.house)
    bob.kg_invalidate(**CITY, object="Lyon", ended="2026-02-01")
    deliver(bob.house, reader.house)
    [conflict] = reader.list_conflicts()["conflicts"]
    assert (conflict["kind"], conflict["left"]) == ("target_missing", None)
    assert (conflict["right"]["id"], conflict["right"]["tool"]) == (None, "kg_invalidate")
    op_id = conflict["right"]["op_id"]
    assert reader.show_operation(op_id=op_id)["operation"]["payload"]["object"] == "Lyon"


@pytest.mark.parametrize("cardinality", ["one", "many"])
def test_a_timeline_looks_through_a_partition_once(
    ada: Device, cardinality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.kg_declare_predicate(predicate="city", cardinality=cardinality)
    tea = ada.add_drawer(wing="home", room="notes", content="tea")["drawer_id"]
    for month in range(1, 10):
        start = f"2025-0{month}-01"
        ada.kg_add(**CITY, object=f"{month}", valid_from=start, source_drawer_id=tea)
    asked: list[str] = []
    rows = Reading.rows

    def noted(reading: Reading, statement: Prepared, **parameters: Any) -> Sequence[Any]:
        asked.append(f"{statement.sql} {parameters.get('object')}")
        return rows(reading, statement, **parameters)

    monkeypatch.setattr(Reading, "rows", noted)
    facts = ada.kg_timeline(limit=200)["facts"]
    assert [fact["sources"][0]["hidden"] for fact in facts] == [False] * 9
    assert max(asked.count(one) for one in asked) <= 2
