"""Settling conflicts: off the list of what is open, on every device, and on again when undone."""

from __future__ import annotations

from typing import Any

from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, every_order

CITY = {"subject": "Kiran", "predicate": "city"}


def listed(device: Device, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = device.list_conflicts(**asked)["conflicts"]
    return found


def two_homes(device: Device) -> str:
    """Two single values from one instant; returns the conflict's id."""
    device.kg_declare_predicate(predicate="city", cardinality="one")
    for place in ("Lyon", "Nice"):
        device.kg_add(**CITY, object=place, valid_from="2026-01-01")
    [conflict] = listed(device)
    return str(conflict["id"])


def superseded_twice(fleet: Fleet) -> tuple[Device, Device, str]:
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    fleet.share()
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    bob.kg_supersede(**CITY, old_object="Lyon", new_object="Oslo")
    fleet.share()
    [conflict] = listed(ada)
    return ada, bob, str(conflict["id"])


def test_a_resolved_conflict_is_open_no_longer_and_says_who_settled_it(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    conflict = two_homes(ada)
    assert listed(ada)[0]["resolved"] is None
    clock.tick(60)
    told = ada.resolve_conflict(conflict_id=conflict, resolution="Both: he commutes.")
    assert (told["conflict_id"], told["resolution"]) == (conflict, "Both: he commutes.")
    assert told["duplicate"] is False

    assert listed(ada) == []
    assert ada.list_conflicts()["total"] == 0
    assert ada.status()["totals"]["conflicts"] == 0
    [settled] = listed(ada, open=False)
    assert (settled["id"], settled["kind"]) == (conflict, "single_value")
    assert settled["resolved"] == {
        "op_id": told["op_id"],
        "resolution": "Both: he commutes.",
        "device": "ada",
        "recorded_at": "2026-03-31T15:01:00.000000Z",
    }


def test_a_fact_is_in_conflict_only_until_it_is_resolved(ada: Device) -> None:
    conflict = two_homes(ada)
    [fact] = ada.kg_query(entity="Kiran")["facts"]
    assert fact["conflict"] is True
    ada.resolve_conflict(conflict_id=conflict)
    [fact] = ada.kg_query(entity="Kiran")["facts"]
    assert (fact["object"], fact["conflict"]) == ("Nice", False)
    assert ada.fact_history(fact_id=fact["fact_id"])["conflict"] is False


def test_another_value_from_the_same_instant_is_another_conflict(ada: Device) -> None:
    ada.resolve_conflict(conflict_id=two_homes(ada))
    ada.kg_add(**CITY, object="Oslo", valid_from="2026-01-01")
    assert ada.conflicts() == ["single_value", "single_value"]
    assert ada.kg_query(entity="Kiran")["facts"][0]["conflict"] is True
    assert len(listed(ada, open=False)) == 3


def test_the_same_words_again_are_a_duplicate_and_other_words_take_their_place(
    ada: Device,
) -> None:
    conflict = two_homes(ada)
    assert ada.resolve_conflict(conflict_id=conflict)["duplicate"] is False
    assert ada.resolve_conflict(conflict_id=conflict)["duplicate"] is True
    last = ada.resolve_conflict(conflict_id=conflict, resolution="Nice")
    assert last["duplicate"] is False
    assert ada.resolve_conflict(conflict_id=conflict, resolution="Nice")["duplicate"] is True
    [settled] = listed(ada, open=False)
    assert settled["resolved"]["resolution"] == "Nice"


def test_what_is_no_conflict_is_refused_where_all_is_known(ada: Device, fleet: Fleet) -> None:
    two_homes(ada)
    with ada.refuses("conflicts::unknown"):
        ada.resolve_conflict(conflict_id="conflict_none")
    for resolution in ("", "  "):
        with ada.refuses("input::invalid", "resolution"):
            ada.resolve_conflict(conflict_id="conflict_none", resolution=resolution)
    edge = fleet.device("edge", role="edge")
    told = edge.resolve_conflict(conflict_id="conflict_elsewhere")
    assert edge.show_operation(op_id=told["op_id"])["operation"]["target"] == "unverified"
    assert listed(edge, open=False) == []


def test_a_resolution_travels_and_the_last_one_in_canonical_order_counts(fleet: Fleet) -> None:
    ada, bob, conflict = superseded_twice(fleet)
    assert [one["id"] for one in listed(bob)] == [conflict]
    bob.resolve_conflict(conflict_id=conflict, resolution="Oslo")
    ada.resolve_conflict(conflict_id=conflict, resolution="Nice")
    fleet.share()
    for device in (ada, bob):
        assert listed(device) == []
        [settled] = listed(device, open=False)
        assert settled["resolved"]["resolution"] == "Nice"
        assert settled["resolved"]["device"] == "ada"
    fleet.agrees()


def test_a_resolution_that_arrives_before_its_conflict_waits_for_it(fleet: Fleet) -> None:
    ada, bob, conflict = superseded_twice(fleet)
    bob.resolve_conflict(conflict_id=conflict)
    for order in every_order((ada, bob)):
        primary = fleet.gathered(*order)
        assert listed(primary) == []
        assert [one["id"] for one in listed(primary, open=False)] == [conflict]
    early = fleet.gathered(bob)
    assert conflict not in [one["id"] for one in listed(early, open=False)]


def test_before_it_was_resolved_it_is_known_as_open(ada: Device) -> None:
    conflict = two_homes(ada)
    position = ada.position()
    ada.resolve_conflict(conflict_id=conflict)
    then = {"known_at": f"@{position}"}
    assert [one["id"] for one in listed(ada, **then)] == [conflict]
    assert listed(ada, open=False, **then)[0]["resolved"] is None
    assert ada.kg_query(entity="Kiran", **then)["facts"][0]["conflict"] is True


def test_an_undo_opens_the_conflict_again(ada: Device) -> None:
    conflict = two_homes(ada)
    told = ada.resolve_conflict(conflict_id=conflict, resolution="Nice")
    assert ada.undo(op_id=told["op_id"], dry_run=False)["undone"] == [told["op_id"]]
    assert [one["id"] for one in listed(ada)] == [conflict]
    assert listed(ada)[0]["resolved"] is None


def test_an_undo_of_the_last_words_leaves_the_earlier_ones(ada: Device) -> None:
    conflict = two_homes(ada)
    first = ada.resolve_conflict(conflict_id=conflict, resolution="Nice")
    last = ada.resolve_conflict(conflict_id=conflict, resolution="Lyon")
    kept = ada.undo(op_id=first["op_id"], dry_run=False)["kept"]
    assert [one["by"] for one in kept] == [last["op_id"]]
    ada.undo(op_id=last["op_id"], dry_run=False)
    assert listed(ada, open=False)[0]["resolved"]["resolution"] == "Nice"


def test_what_is_said_of_a_conflict_in_a_local_wing_stays_on_its_machine(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.create_wing(wing="home", policy="local")
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    for place in ("Lyon", "Nice"):
        ada.kg_add(**CITY, object=place, valid_from="2026-01-01", wing="home")
    [conflict] = listed(ada)
    told = ada.resolve_conflict(conflict_id=conflict["id"], resolution="A secret.")
    assert told["stream"] == "local"
    assert listed(ada) == []
    fleet.share()
    assert listed(bob, open=False) == []
    assert listed(ada, open=False)[0]["resolved"]["resolution"] == "A secret."
