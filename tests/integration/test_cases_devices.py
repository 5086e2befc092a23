"""Devices that write apart and meet later: cases L10, L27 and L29."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.acceptance import Appended, Duplicate, Forked, Gap, Later, Rejected
from domain.operation import Operation
from replay.store import LogApplication
from tests.palaces import (
    HOUR,
    Device,
    Fleet,
    acknowledge,
    deliver,
    digest_of,
    every_order,
    operations,
    receive,
    state_of,
)

YEAR = 365 * 24 * HOUR
CITY = {"subject": "Kiran", "predicate": "city"}
LYON = CITY | {"object": "Lyon"}
PLACE = {"wing": "home", "room": "notes"}


def test_two_supersedes_of_one_value_show_one_winner_in_any_order_of_arrival(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L10"""
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**LYON)
    deliver(ada.house, bob.house)
    clock.tick(60)
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    clock.tick(60)
    bob.kg_supersede(**CITY, old_object="Lyon", new_object="Oslo")

    readers = [fleet.gathered(*order) for order in every_order((ada, bob))]
    fleet.share()
    for reader in (ada, bob, *readers):
        assert reader.objects() == ["Oslo"]
        assert reader.conflicts() == ["superseded_twice"]
        [conflict] = reader.list_conflicts()["conflicts"]
        assert [conflict[side]["device"] for side in ("left", "right")] == ["ada", "bob"]
        shown = reader.fact_history(fact_id=conflict["right"]["id"])
        assert {one["object"] for one in shown["assertions"]} == {"Lyon", "Nice", "Oslo"}
        [oslo] = reader.kg_query(entity="Kiran")["facts"]
        assert oslo["conflict"] is True
    fleet.agrees()


def test_two_devices_that_supersede_a_value_alike_do_not_disagree(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L10"""
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(**LYON)
    deliver(ada.house, bob.house)
    for device in (ada, bob):
        clock.tick(60)
        device.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")

    fleet.share()
    for device in (ada, bob):
        assert device.objects() == ["Nice"]
        assert device.conflicts() == []
    fleet.agrees()


def test_two_supersedes_of_one_drawer_both_stand_and_are_listed(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L10"""
    ada, bob = fleet.devices("ada", "bob")
    old = ada.add_drawer(**PLACE, content="plan A")["drawer_id"]
    deliver(ada.house, bob.house)
    for device, text in ((ada, "plan B"), (bob, "plan C")):
        clock.tick(60)
        device.supersede_drawer(drawer_id=old, content=text)

    readers = [fleet.gathered(*order) for order in every_order((ada, bob))]
    fleet.share()
    for reader in (ada, bob, *readers):
        assert sorted(reader.contents()) == ["plan B", "plan C"]
        assert reader.conflicts() == ["superseded_twice"]
        assert len(reader.get_drawer(drawer_id=old)["drawer"]["superseded_by"]) == 2
        states = [one["state"] for one in reader.history(drawer_id=old)["versions"]]
        assert states == ["superseded", "current", "current"]
    fleet.agrees()


def test_a_device_that_did_not_know_of_a_delete_does_not_undo_it(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    deliver(ada.house, bob.house)
    clock.tick(60)
    ada.delete_drawer(drawer_id=tea)
    clock.tick(60)
    bob.add_drawer(**PLACE, content="tea")

    fleet.share()
    for device in (ada, bob):
        assert device.contents() == []
        assert device.conflicts() == ["tombstone_unknown"]
        assert device.get_drawer(drawer_id=tea)["drawer"]["state"] == "hidden"
    fleet.agrees()
    ada.add_drawer(**PLACE, content="tea")
    fleet.share()
    assert ada.contents() == bob.contents() == ["tea"]


def test_one_text_of_two_devices_is_one_drawer_that_outlives_neither_delete(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    drawers = set()
    for device in (ada, bob):
        drawers.add(device.add_drawer(**PLACE, content="tea")["drawer_id"])
        clock.tick(60)
    fleet.share()
    [tea] = drawers
    assert ada.list_drawers()["total"] == bob.list_drawers()["total"] == 1
    ada.delete_drawer(drawer_id=tea)
    fleet.share()
    assert bob.contents() == ada.contents() == []


def test_a_late_event_reads_the_events_of_its_key_together(
    clock: FrozenDateTimeFactory, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    bob.kg_add(**CITY, object="late", valid_from="2026-01-01")
    clock.tick(60)
    for number in range(12):
        ada.kg_add(**CITY, object=f"city {number}", valid_from="2026-01-01")
    read: list[list[int]] = []
    read_at = LogApplication.read_at

    def noted(app: LogApplication, positions: Sequence[int]) -> dict[int, Operation]:
        read.append(list(positions))
        return read_at(app, positions)

    monkeypatch.setattr(LogApplication, "read_at", noted)
    deliver(bob.house, ada.house)
    assert read == [[13, *range(1, 13)]]


def test_a_clock_a_year_ahead_does_not_win_over_what_others_do_later(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L27"""
    primary, bob = fleet.devices("primary", "bob")
    ada = fleet.device("ada", ahead=YEAR)
    start = {"valid_from": "2026-01-01"}
    for device in (primary, bob, ada):
        device.kg_declare_predicate(predicate="city", cardinality="one")
    ada.kg_add(**CITY, object="Wrong", **start)
    deliver(ada.house, primary.house)
    acknowledge(ada.house, primary.house)
    assert primary.objects() == ["Wrong"]

    clock.tick(600)
    bob.kg_add(**CITY, object="Right", **start)
    deliver(bob.house, primary.house)

    assert primary.objects() == ["Right"]
    deliver(primary.house, ada.house, device="bob", claims=True)
    assert ada.objects() == ["Right"]

    ada.machine.ahead = 0
    ada.kg_add(**CITY, object="Corrected", **start)
    deliver(ada.house, primary.house)
    assert ada.objects() == primary.objects() == ["Corrected"]
    late = [one for one in operations(primary.house) if one.header.origin_device == "ada"][:2]
    assert all(one.order_hlc < one.header.hlc for one in late)


def test_who_has_seen_a_clock_ahead_still_writes_after_it(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L27"""
    primary, bob = fleet.devices("primary", "bob")
    ada = fleet.device("ada", ahead=YEAR)
    ada.kg_add(**LYON)
    deliver(ada.house, primary.house)
    for target in (primary, bob):
        deliver(ada.house, target.house)
        target.kg_invalidate(**LYON, ended="2026-02-01")
        assert target.objects(as_of="2028") == []


@pytest.mark.parametrize("in_order", [True, False])
def test_what_arrives_before_its_target_waits_for_it(
    clock: FrozenDateTimeFactory, fleet: Fleet, *, in_order: bool
) -> None:
    """L29"""
    ada = fleet.device("ada")
    bob = fleet.device("bob", role="edge")
    ada.kg_add(**LYON)
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    milk = ada.add_drawer(**PLACE, content="milk")["drawer_id"]
    deliver(ada.house, bob.house)
    clock.tick(60)
    bob.kg_invalidate(**LYON)
    bob.delete_drawer(drawer_id=tea)
    bob.update_drawer(drawer_id=milk, content="oat milk")

    primary = fleet.device("primary")
    first, second = (ada, bob) if in_order else (bob, ada)
    deliver(first.house, primary.house)
    if not in_order:
        assert primary.conflicts() == ["target_missing"] * 3
        assert primary.contents() == primary.objects() == []
        assert primary.position() == 3
    deliver(second.house, primary.house)
    fleet.share()

    clock.tick(60)
    for device in (primary, ada, bob):
        assert device.conflicts() == []
        assert device.objects() == []
        assert device.contents() == ["oat milk"]
        assert device.get_drawer(drawer_id=tea)["drawer"]["state"] == "hidden"
        contents = [one["content"] for one in device.history(drawer_id=milk)["versions"]]
        assert contents == ["milk", "oat milk"]
    fleet.agrees()


def test_what_names_a_target_that_comes_later_in_time_stays_without_effect(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L29"""
    bob = fleet.device("bob", role="edge")
    ada = fleet.device("ada")
    bob.kg_invalidate(**LYON)
    bob.kg_supersede(subject="Noor", predicate="city", old_object="Rome", new_object="Bonn")
    clock.tick(60)
    ada.kg_add(**LYON)
    fleet.share()

    for device in (ada, bob):
        assert device.objects() == ["Lyon"]
        assert device.objects("Noor") == ["Bonn"]
        assert device.conflicts() == ["target_missing", "target_missing"]
    fleet.agrees()


def events_of(device: Device) -> list:
    return device.house.log.stream(device.name, 0, 100)


def judged(
    fleet: Fleet, change: Callable[[list], list], count: int = 3
) -> tuple[Device, Device, list]:
    ada, bob = fleet.devices("ada", "bob")
    for number in range(count):
        ada.add_drawer(**PLACE, content=f"text {number}")
    return ada, bob, [receive(bob.house, one) for one in change(events_of(ada))]


def test_any_number_of_deliveries_gives_one_event_and_one_position(fleet: Fleet) -> None:
    _, bob, outcomes = judged(fleet, lambda events: events * 3)
    assert outcomes == [Appended(1), Appended(2), Appended(3)] + 2 * [
        Duplicate(1),
        Duplicate(2),
        Duplicate(3),
    ]
    assert bob.position() == 3


def test_nothing_is_taken_behind_a_gap(fleet: Fleet) -> None:
    _, bob, outcomes = judged(fleet, lambda events: [events[2], events[0], events[2], events[1]])
    assert outcomes == [Gap(1), Appended(1), Gap(2), Appended(2)]
    assert bob.contents() == ["text 1", "text 0"]


def test_a_copied_palace_is_noticed_and_nothing_of_it_is_mixed_in(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada, bob, _ = judged(fleet, lambda events: events[:2])
    twin = fleet.device("twin")
    before = digest_of(bob.house)
    with_other_third = fleet.gathered()
    deliver(ada.house, with_other_third.house, limit=2)
    [*_, third] = events_of(ada)
    changed = third._replace(chain=bytes(32))
    assert receive(bob.house, changed) == Forked(2)
    other = third._replace(header=third.header._replace(local_seq=2))
    assert receive(bob.house, other) == Forked(1)
    assert digest_of(bob.house) == before
    assert receive(bob.house, third) == Appended(3)
    assert state_of(bob.house) == state_of(ada.house) != state_of(twin.house)


def test_a_newer_schema_waits_and_a_huge_event_is_rejected(fleet: Fleet) -> None:
    ada, bob, _ = judged(fleet, lambda events: [], count=1)
    [one] = events_of(ada)
    newer = one._replace(header=one.header._replace(schema=2))
    assert receive(bob.house, newer) == Later("replay::newer_schema")
    huge = one._replace(payload=b" " * (16 * 1024 * 1024))
    outcome = receive(bob.house, huge)
    assert isinstance(outcome, Rejected)
    assert outcome.code == "replay::too_large"
    assert bob.position() == 0


def test_who_may_not_write_is_rejected_and_leaves_nothing(fleet: Fleet) -> None:
    ada, bob, _ = judged(fleet, lambda events: [], count=1)
    [one] = events_of(ada)
    refusal = Rejected("access::forbidden", "it may not")
    outcome = bob.house.palace.writer.do(lambda turn: turn.receive(one, None, lambda _: refusal))
    assert outcome == refusal
    assert bob.position() == 0
    assert receive(bob.house, one) == Appended(1)
