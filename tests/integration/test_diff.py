"""What memory gained, lost and changed between two moments."""

from __future__ import annotations

from typing import Any

from freezegun.api import FrozenDateTimeFactory

from replay.rebuild import rebuild
from tests.palaces import Device, Fleet, deliver

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


def add(device: Device, content: str, **more: Any) -> str:
    return str(device.add_drawer(**PLACE, content=content, **more)["drawer_id"])


def drawers(device: Device, a: str, b: str | None = None) -> dict[str, list[Any]]:
    """By list: the previews, with what changed; hidden drawers by their id."""
    found = device.diff(a=a, **({} if b is None else {"b": b}))["drawers"]
    assert all(part["total"] == len(part["lines"]) for part in found.values())
    return {
        name: [(line["preview"] or line["id"], *line["changed"]) for line in part["lines"]]
        for name, part in found.items()
        if part["lines"]
    }


def facts(device: Device, a: str, b: str | None = None) -> dict[str, list[Any]]:
    found = device.diff(a=a, **({} if b is None else {"b": b}))["facts"]
    return {
        name: [(line["object"], *line["changed"]) for line in part["lines"]]
        for name, part in found.items()
        if part["lines"]
    }


def test_drawers_are_added_hidden_and_changed(ada: Device) -> None:
    tea, milk = add(ada, "tea"), add(ada, "milk")
    old, water = add(ada, "old plan"), add(ada, "water")
    coffee = add(ada, "coffee")
    add(ada, "twice")
    ada.add_drawer(**PLACE, content="new")
    green = ada.update_drawer(drawer_id=tea, content="green tea")["drawer_id"]
    ada.delete_drawer(drawer_id=milk)
    ada.supersede_drawer(drawer_id=old, content="new plan")
    ada.update_drawer(drawer_id=water, tags=["drink"])
    add(ada, "twice")
    gone = add(ada, "came and went")
    ada.delete_drawer(drawer_id=gone)
    assert drawers(ada, "@6") == {
        "added": [("new plan",), ("new",)],
        "hidden": [(milk,)],
        "changed": [
            ("water", "tags"),
            ("green tea", "content"),
            ("old plan", "valid_time"),
        ],
    }
    [changed] = [
        line for line in ada.diff(a="@6")["drawers"]["changed"]["lines"] if line["id"] == green
    ]
    assert changed["previous"] == tea
    assert drawers(ada, "@0", "@5")["added"] == [
        (text,) for text in ("coffee", "water", "old plan", "milk", "tea")
    ]
    assert coffee not in str(ada.diff(a="@6"))


def test_facts_are_gained_lost_and_changed(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    ada.kg_add(subject="Kiran", predicate="plays", object="chess", valid_from="2026-02-01")
    ada.kg_add(subject="Kiran", predicate="sings", object="alto", valid_from="2026-02-01")
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice", at="2026-03-01")
    ada.kg_add(subject="Kiran", predicate="plays", object="chess", valid_from="2025-12-01")
    ada.kg_add(subject="Kiran", predicate="plays", object="go")
    ada.kg_invalidate(subject="Kiran", predicate="sings", object="alto", ended="2026-02-01")
    assert facts(ada, "@3") == {
        "gained": [("go",), ("Nice",)],
        "lost": [("alto", "valid_to"), ("Lyon", "valid_to")],
        "changed": [("chess", "valid_from")],
    }
    assert facts(ada, "@3", "@3") == {}
    assert facts(ada, "@6") == {"lost": [("alto", "valid_to")]}


def test_a_predicate_that_gets_one_value_ends_the_others(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    ada.kg_add(**CITY, object="Nice", valid_from="2026-02-01")
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    assert facts(ada, "@2") == {"lost": [("Lyon", "valid_to")]}


def test_moments_are_instants_or_positions(clock: FrozenDateTimeFactory, ada: Device) -> None:
    add(ada, "monday")
    clock.move_to("2026-04-01T12:00:00Z")
    add(ada, "tuesday")
    clock.move_to("2026-04-03T12:00:00Z")
    add(ada, "today")
    assert drawers(ada, "2026-03-31", "2026-04-01") == {"added": [("tuesday",)]}
    assert drawers(ada, "2026-04-01") == {"added": [("today",)]}
    assert drawers(ada, "2020") == {"added": [("today",), ("tuesday",), ("monday",)]}
    found = ada.diff(a="2026-03-31", b="@2")
    assert (found["a"]["position"], found["b"]["position"]) == (1, 2)
    assert found["a"]["known_at"].startswith("2026-03-31T23:59:59.999999")
    with ada.refuses("input::invalid", "b"):
        ada.diff(a="@2", b="@1")
    with ada.refuses("input::invalid", "a"):
        ada.diff(a="someday")


def test_what_is_hidden_by_now_is_shown_as_it_was_then(ada: Device) -> None:
    tea = add(ada, "tea")
    ada.delete_drawer(drawer_id=tea)
    assert drawers(ada, "@0", "@1") == {"added": [("tea",)]}
    assert drawers(ada, "@0") == {}


def test_lists_are_bounded_and_count_all(ada: Device) -> None:
    for number in range(7):
        add(ada, f"text {number}")
    added = ada.diff(a="@0", limit=3)["drawers"]["added"]
    assert added["total"] == 7
    assert [line["preview"] for line in added["lines"]] == ["text 6", "text 5", "text 4"]


def test_the_answer_is_the_same_after_a_rebuild_and_after_later_writes(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = add(ada, "tea")
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    deliver(ada.house, bob.house)
    clock.tick(60)
    bob.kg_supersede(**CITY, old_object="Lyon", new_object="Nice", at="2026-02-01")
    bob.update_drawer(drawer_id=tea, content="green tea")
    clock.tick(60)
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Oslo", at="2026-02-15")
    ada.delete_drawer(drawer_id=tea)
    deliver(bob.house, ada.house, device="bob")
    asked = [("@2", "@4"), ("@3", "@5"), ("@1", "@6"), ("@0", "@6")]
    before = [ada.diff(a=a, b=b) for a, b in asked]
    ada.kg_add(**CITY, object="Rome")
    rebuild(ada.house.log, ada.house.generations, ada.house.lock)
    assert [ada.diff(a=a, b=b) for a, b in asked] == before
