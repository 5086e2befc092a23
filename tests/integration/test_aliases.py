"""Aliases where memory is written: whoever sees a fact under a name can end it under that name, and
what is recorded are the names that the fact stands under.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.palaces import Device, Fleet, exported, operations

CITY = {"predicate": "city"}
LYON = CITY | {"object": "Lyon"}


def last(device: Device) -> dict[str, Any]:
    payload = operations(device.house)[-1].recorded.payload
    assert payload is not None
    found: dict[str, Any] = orjson.loads(payload)
    return found


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    return fleet.device("ada", role="primary", local_wings=["private"])


def test_a_fact_that_is_seen_under_an_alias_can_be_ended_under_it(ada: Device) -> None:
    fact = ada.kg_add(subject="Kiran", **LYON)["fact_id"]
    ada.add_alias(entity="Kiran", alias="Kiki")
    assert ada.objects("Kiki") == ["Lyon"]
    done = ada.kg_invalidate(subject="kiki", **LYON)
    assert (done["fact_ids"], done["duplicate"]) == ([fact], False)
    assert last(ada)["subject"] == "Kiran"
    assert ada.objects("Kiki") == ada.objects("Kiran") == []
    again = ada.kg_invalidate(subject="kiki", **LYON)
    assert (again["fact_ids"], again["duplicate"], again["ended"]) == ([fact], True, done["ended"])


def test_a_fact_that_is_seen_under_an_alias_can_be_superseded_under_it(ada: Device) -> None:
    ada.kg_add(subject="Kiran", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    asked = {"subject": "Kiki", "old_object": "Lyon", "new_object": "Nice", **CITY}
    done = ada.kg_supersede(**asked)
    assert len(done["superseded"]) == 1
    assert ada.objects("Kiki") == ada.objects("Kiran") == ["Nice"]
    again = ada.kg_supersede(**asked)
    assert (again["duplicate"], again["fact_id"]) == (True, done["fact_id"])


def test_a_fact_that_was_stated_under_the_alias_before_can_be_ended_under_the_entity(
    ada: Device,
) -> None:
    ada.kg_add(subject="Kiki", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    assert ada.objects("Kiran") == ["Lyon"]
    assert ada.kg_add(subject="Kiki", **LYON)["duplicate"]
    ada.kg_invalidate(subject="Kiran", **LYON)
    assert ada.objects("Kiran") == []


def test_of_one_fact_under_two_names_each_call_ends_what_still_holds(ada: Device) -> None:
    ada.kg_add(subject="Kiki", **LYON)
    ada.kg_add(subject="Kiran", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    ada.kg_invalidate(subject="Kiki", **LYON)
    assert last(ada)["subject"] == "Kiki"
    ada.kg_invalidate(subject="Kiki", **LYON)
    assert last(ada)["subject"] == "Kiran"
    assert ada.objects("Kiki") == []
    assert ada.kg_invalidate(subject="Kiki", **LYON)["duplicate"]


def test_an_alias_of_the_object_is_followed_where_a_fact_is_ended(ada: Device) -> None:
    ada.kg_add(subject="Ana", predicate="knows", object="Kiran")
    ada.add_alias(entity="Kiran", alias="Kiki")
    [seen] = ada.kg_query(entity="Kiki", direction="in")["facts"]
    done = ada.kg_invalidate(subject="Ana", predicate="knows", object="Kiki")
    assert done["fact_ids"] == [seen["fact_id"]]
    with ada.refuses("facts::same"):
        ada.kg_supersede(subject="Ana", predicate="knows", old_object="Kiki", new_object="Kiran")


def test_what_is_added_under_an_alias_is_of_the_entity(ada: Device) -> None:
    ada.kg_declare_predicate(cardinality="one", **CITY)
    ada.kg_add(subject="Kiran", valid_from="2025", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    assert ada.kg_add(subject="Kiki", valid_from="2025", **LYON)["duplicate"]
    ada.kg_add(subject="KIKI", object="Nice", valid_from="2026", **CITY)
    assert last(ada)["subject"] == "Kiran"
    assert ada.objects("Kiran") == ["Nice"]


def test_an_alias_of_one_wing_is_followed_in_that_wing_alone(ada: Device, tmp_path: Path) -> None:
    for wing in ("private", "work"):
        ada.kg_add(subject="Kiran", wing=wing, **LYON)
    ada.add_alias(entity="Kiran", alias="Zebra", wing="private")
    assert ada.add_alias(entity="Zebra", alias="Stripy", wing="private")["stream"] == "local"
    with ada.refuses("facts::unknown"):
        ada.kg_invalidate(subject="Stripy", wing="work", **LYON)
    done = ada.kg_invalidate(subject="Stripy", **LYON)
    assert done["stream"] == "local"
    open_in = [fact["wing"] for fact in ada.kg_query(entity="Kiran")["facts"]]
    assert open_in == ["work"]
    sent = exported(ada, tmp_path)
    for told in (b"private", b"Zebra", b"Stripy"):
        assert told not in sent


def test_what_stands_in_two_wings_under_different_names_is_ambiguous(ada: Device) -> None:
    ada.kg_add(subject="Kiran", wing="home", **LYON)
    ada.kg_add(subject="Kiki", wing="work", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    with ada.refuses("facts::ambiguous"):
        ada.kg_invalidate(subject="Kiki", **LYON)
    assert ada.kg_invalidate(subject="Kiki", wing="home", **LYON)["fact_ids"]


def test_names_that_lead_in_a_circle_are_one_entity_to_a_write_too(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(subject="Kiran", **LYON)
    ada.add_alias(entity="Kiran", alias="Kiki")
    bob.add_alias(entity="Kiki", alias="Kiran")
    fleet.share()
    for device, name in ((ada, "Kiki"), (bob, "Kiran")):
        assert device.objects(name) == ["Lyon"]
    bob.kg_invalidate(subject="Kiki", **LYON)
    fleet.share()
    assert ada.objects("Kiki") == bob.objects("Kiran") == []
    fleet.agrees()
