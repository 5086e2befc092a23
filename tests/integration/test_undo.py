"""Taking operations out again, on real palaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.palaces import Device, Fleet, fingerprint, state_of

PLACE = {"wing": "home", "room": "notes"}


def views_of(device: Device) -> dict[str, str]:
    """What the views show; the list of operations is a history and only grows."""
    return {area: sum for area, sum in state_of(device.house).items() if area != "operations"}


def some_history(device: Device) -> str:
    tea = device.add_drawer(**PLACE, content="Tea at four", tags=["tea"])["drawer_id"]
    device.kg_add(subject="Kiran", predicate="city", object="Lyon", valid_from="2026-01")
    device.kg_add(subject="Ana", predicate="city", object="Oslo", valid_from="2026-01")
    device.kg_declare_predicate(predicate="city", cardinality="one")
    return str(tea)


def a_busy_session(session: Device, tea: str) -> int:
    """50 operations of every kind that change memory; returns how many."""
    notes = [session.add_drawer(**PLACE, content=f"Note {n}")["drawer_id"] for n in range(20)]
    calls: list[Callable[[], Any]] = []
    for number, note in enumerate(notes[:8]):
        calls.append(lambda n=number, id=note: session.update_drawer(drawer_id=id, content=f"N{n}"))
    calls += [lambda id=note: session.delete_drawer(drawer_id=id) for note in notes[8:12]]
    for number, note in enumerate(notes[12:16]):
        text = f"Instead of {number}"
        calls.append(lambda id=note, t=text: session.supersede_drawer(drawer_id=id, content=t))
    calls.append(lambda: session.update_drawer(drawer_id=tea, content="Tea at five", room="plan"))
    calls.append(lambda: session.delete_drawer(drawer_id=tea))
    calls.append(lambda: session.add_drawer(**PLACE, content="Tea at four"))
    about = {"subject": "Kiran", "predicate": "city"}
    visited = {"subject": "Kiran", "predicate": "visited"}
    for place in ("Nice", "Rome", "Bern", "Graz"):
        calls += [lambda p=place: session.kg_add(**visited, object=p)]
    calls.append(lambda: session.kg_supersede(**about, old_object="Lyon", new_object="Nice"))
    calls.append(lambda: session.kg_invalidate(**about, object="Nice", ended="2030"))
    calls.append(lambda: session.kg_declare_predicate(predicate="city", cardinality="many"))
    calls.append(lambda: session.kg_declare_predicate(predicate="visited", cardinality="one"))
    for place in ("Lyon", "Rome", "Bern"):
        calls += [lambda p=place: session.kg_add(**visited, object=p, valid_from="2020")]
    for call in calls:
        call()
    return len(notes) + len(calls)


def test_undoing_a_session_on_which_nobody_built_restores_every_view(ada: Device) -> None:
    tea = some_history(ada)
    before, facts = views_of(ada), ada.intervals()
    count = a_busy_session(ada.by(session="s1", agent="scribe"), tea)
    assert count == 50
    assert views_of(ada) != before

    shown = ada.undo(session="s1")
    assert (shown["dry_run"], shown["op_id"], len(shown["undone"])) == (True, None, count)
    done = ada.undo(session="s1", dry_run=False)

    assert done["undone"] == shown["undone"]
    assert done["kept"] == []
    assert views_of(ada) == before
    assert ada.intervals() == facts
    assert ada.contents() == ["Tea at four"]


def test_a_dry_run_changes_nothing_and_an_undo_must_mean_something(ada: Device) -> None:
    some_history(ada)
    before = fingerprint(ada.house)
    ada.undo(device="ada")
    assert fingerprint(ada.house) == before
    with ada.refuses("input::invalid"):
        ada.undo(dry_run=False)
    with ada.refuses("undo::nothing"):
        ada.undo(session="nobody", dry_run=False)


def test_a_span_of_time_of_a_device_is_undone(ada: Device, clock: Any) -> None:
    ada.add_drawer(**PLACE, content="early")
    clock.tick(3600)
    ada.add_drawer(**PLACE, content="late")
    ada.undo(device="ada", from_="-30m", dry_run=False)
    assert ada.contents() == ["early"]


def test_before_the_undo_everything_is_known_as_it_was(ada: Device) -> None:
    some_history(ada)
    position = ada.position()
    ada.undo(device="ada", dry_run=False)
    assert ada.contents() == []
    assert ada.contents(known_at=f"@{position}") == ["Tea at four"]
    assert ada.objects(known_at=f"@{position}") == ["Lyon"]


def test_an_undo_of_the_undo_brings_everything_back(ada: Device) -> None:
    some_history(ada)
    before = views_of(ada)
    undo = ada.undo(device="ada", dry_run=False)
    ada.undo(op_id=undo["op_id"], dry_run=False)
    assert views_of(ada) == before


def test_an_undo_travels_and_leads_to_one_state_in_any_order(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = some_history(ada)
    fleet.share()
    changed = bob.update_drawer(drawer_id=tea, content="Tea at six")
    done = ada.undo(device="ada", dry_run=False)
    assert len(done["undone"]) == 4
    fleet.share()
    for device in (ada, bob):
        assert device.objects() == []
        assert device.objects("Ana") == []
        assert device.contents() == []
        assert device.conflicts() == ["target_missing"]
    fleet.agrees()
    assert changed["drawer_id"] != tea


def test_what_another_device_built_on_stays_and_is_named(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = some_history(ada)
    fleet.share()
    changed = bob.update_drawer(drawer_id=tea, content="Tea at six")
    fleet.share()
    done = ada.undo(device="ada", dry_run=False)
    assert [one["by"] for one in done["kept"]] == [changed["op_id"]]
    assert len(done["undone"]) == 3
    assert ada.contents() == ["Tea at six"]
