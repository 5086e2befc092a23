"""Filing: checkpoints, diaries, notes, and deletes of many drawers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, fingerprint

HOME = {"wing": "home", "room": "notes"}


def item(content: str, **more: Any) -> dict[str, Any]:
    return HOME | {"content": content} | more


# checkpoint


def test_a_checkpoint_is_one_event_and_every_item_is_a_drawer(ada: Device) -> None:
    """V14, the lexical half: 200 short notes, none vanishes."""
    items = [item(f"Note {number}", tags=["bulk"]) for number in range(200)]
    done = ada.checkpoint(items=items, diary={"agent_name": "scribe", "entry": "A long day."})

    assert ada.position() == 1
    assert (done["stored"], done["dropped"], len(done["items"])) == (200, 0, 200)
    assert len({one["drawer_id"] for one in done["items"]}) == 200
    assert ada.list_drawers(wing="home")["total"] == 200
    for number in (0, 57, 199):
        shown = ada.get_drawer(drawer_id=done["items"][number]["drawer_id"])["drawer"]
        assert (shown["content"], shown["tags"]) == (f"Note {number}", ["bulk"])
        assert shown["provenance"]["op_id"] == done["op_id"]
    [entry] = ada.diary_read(agent_name="scribe")["entries"]
    assert (entry["content"], entry["drawer_id"]) == ("A long day.", done["diary_id"])


def test_duplicates_in_a_checkpoint_are_kept_and_named_or_dropped_and_named(ada: Device) -> None:
    held = ada.add_drawer(**item("Tea at four"))["drawer_id"]
    items = [item("Tea at four\r\n"), item("Cup"), item("Cup  "), item("Jar")]

    kept = ada.checkpoint(items=items)
    assert [(one["duplicate"], one["dropped"]) for one in kept["items"]] == [
        (True, False),
        (False, False),
        (True, False),
        (False, False),
    ]
    assert kept["items"][0]["near"] == kept["items"][0]["drawer_id"] == held
    assert kept["items"][2]["near"] == kept["items"][1]["drawer_id"]
    assert (kept["stored"], kept["dropped"], kept["duplicate"]) == (4, 0, False)

    dropped = ada.checkpoint(items=[*items, item("Pot")], drop_duplicates=True)
    assert [one["dropped"] for one in dropped["items"]] == [True] * 4 + [False]
    assert dropped["items"][0]["near"] == held
    assert (dropped["stored"], dropped["dropped"]) == (1, 4)
    assert sorted(ada.contents()) == ["Cup", "Jar", "Pot", "Tea at four"]


def test_a_wing_that_a_checkpoint_spells_in_two_ways_is_one_wing(ada: Device) -> None:
    items = [item("a", wing="Work", room="Plans"), item("b", wing="WORK", room="plans")]
    ada.checkpoint(items=items)
    assert ada.get_taxonomy()["taxonomy"] == {"Work": {"Plans": 2}}


def test_an_item_that_is_not_valid_refuses_the_whole_checkpoint(ada: Device) -> None:
    with ada.refuses("input::invalid", "items.1.content"):
        ada.checkpoint(items=[item("fine"), item("  ")])
    with ada.refuses("input::invalid", "items.0.valid_from"):
        ada.checkpoint(items=[item("fine", valid_from="Jan 2026")])
    with ada.refuses("input::invalid"):
        ada.checkpoint()
    with ada.refuses("input::invalid", "items.0.owner"):
        ada.checkpoint(items=[item("fine", owner="ann")])


def test_a_checkpoint_with_its_key_sent_again_is_one_checkpoint(ada: Device) -> None:
    items = [item("a"), item("b")]
    first = ada.checkpoint(items=items, idempotency_key="k")
    assert ada.checkpoint(items=items, idempotency_key="k") == first
    assert ada.position() == 1


def test_a_checkpoint_travels_and_each_item_lives_its_own_life(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    done = ada.checkpoint(items=[item("a"), item("b"), item("c")])
    ids = [one["drawer_id"] for one in done["items"]]
    fleet.share()
    bob.delete_drawer(drawer_id=ids[0])
    ada.update_drawer(drawer_id=ids[1], content="B")
    fleet.share()
    for device in (ada, bob):
        assert sorted(device.contents()) == ["B", "c"]
        events = device.history(drawer_id=ids[1])["events"]
        assert [one["tool"] for one in events] == ["checkpoint", "update_drawer"]
    fleet.agrees()


def test_an_item_can_supersede_a_drawer(ada: Device, clock: FrozenDateTimeFactory) -> None:
    old = ada.add_drawer(**item("old"))["drawer_id"]
    clock.tick(60)
    ada.checkpoint(items=[item("new", supersedes=old)])
    assert ada.contents() == ["new"]
    assert ada.get_drawer(drawer_id=old)["drawer"]["state"] == "superseded"


# diary


def test_a_diary_is_read_by_when_it_was_written_whatever_its_ids_say(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    """L12"""
    ada = fleet.device("ada")
    wings = ["zoo", "yard", "xi", "wall", "view", "urn", "tea", "sun", "red", "quad"]
    for number, wing in enumerate(wings):
        ada.diary_write(agent_name="scribe", entry=f"Day {number}", wing=wing)
        clock.tick(86_400 if number < 8 else 0)
    newest = ada.diary_read(agent_name="Scribe", last_n=3)
    assert [one["content"] for one in newest["entries"]] == ["Day 8", "Day 9", "Day 7"]
    assert newest["total"] == 10
    assert ada.diary_read(agent_name="Scribe", last_n=3) == newest
    assert [
        one["content"] for one in ada.diary_read(agent_name="scribe", wing="sun")["entries"]
    ] == ["Day 7"]


def test_an_entry_has_the_id_of_its_wing_moment_and_text(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    written = fleet.device("ada").diary_write(agent_name="Ann Lee", entry="Rain.", topic="weather")
    assert written["drawer_id"] == "diary_wing_Ann_Lee_20260331_150000000000_389be6297686"
    assert written["topic"] == "weather"


def test_an_entry_equal_to_the_newest_of_its_agent_is_a_duplicate(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada = fleet.device("ada")
    first = ada.diary_write(agent_name="scribe", entry="Quiet.")
    clock.tick(60)
    again = ada.diary_write(agent_name="scribe", entry="Quiet.")
    assert (again["drawer_id"], again["duplicate"]) == (first["drawer_id"], True)
    ada.diary_write(agent_name="scribe", entry="Loud.")
    clock.tick(60)
    assert not ada.diary_write(agent_name="scribe", entry="Quiet.")["duplicate"]
    entries = ada.diary_read(agent_name="scribe")["entries"]
    assert [one["content"] for one in entries] == ["Quiet.", "Loud.", "Quiet."]
    assert ada.diary_read(agent_name="mason")["entries"] == []


def test_an_entry_is_a_drawer_that_can_be_hidden(ada: Device) -> None:
    written = ada.diary_write(agent_name="scribe", entry="Quiet.")
    assert ada.get_drawer(drawer_id=written["drawer_id"])["drawer"]["room"] == "diary"
    ada.delete_drawer(drawer_id=written["drawer_id"])
    assert ada.diary_read(agent_name="scribe")["total"] == 0


# note


def test_a_note_goes_where_the_nearest_file_says_else_to_the_folder_s_wing(
    ada: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "atlas" / "src"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    assert [ada.note(content="a")[name] for name in ("wing", "room")] == ["atlas", "notes"]
    (folder.parent / "palacelog.toml").write_text('wing = "projects"\n')
    monkeypatch.chdir(folder)
    assert [ada.note(content="b")[name] for name in ("wing", "room")] == ["projects", "notes"]
    named = ada.note(content="c", wing="home", room="kitchen")
    assert (named["wing"], named["room"]) == ("home", "kitchen")
    assert ada.get_drawer(drawer_id=named["drawer_id"])["drawer"]["content"] == "c"
    (folder / "palacelog.toml").write_text("wing = ")
    with ada.refuses("input::invalid", "palacelog.toml"):
        ada.note(content="d")
    (folder / "palacelog.toml").write_text('wing = "a/b"')
    with ada.refuses("input::invalid", "wing"):
        ada.note(content="d")


# many at once


def test_many_drawers_are_hidden_by_one_operation(ada: Device) -> None:
    done = ada.checkpoint(items=[item("a"), item("b"), item("c")])
    ids = [one["drawer_id"] for one in done["items"]]
    hidden = ada.delete_drawers(drawer_ids=[ids[0], ids[1], ids[0]], reason="stale")
    assert (hidden["hidden"], hidden["count"]) == (ids[:2], 2)
    assert ada.contents() == ["c"]
    assert ada.position() == 2
    again = ada.delete_drawers(drawer_ids=ids[:2])
    assert (again["duplicate"], again["hidden"]) == (True, [])
    with ada.refuses("drawers::unknown"):
        ada.delete_drawers(drawer_ids=[ids[2], "drawer_home_notes_none"])
    with ada.refuses("input::invalid", "drawer_ids"):
        ada.delete_drawers(drawer_ids=[])


def test_all_1250_drawers_of_a_source_are_hidden(ada: Device) -> None:
    """L26"""
    for start in (0, 1000):
        numbers = range(start, min(start + 1000, 1250))
        ada.checkpoint(items=[item(f"Line {n}", source_file="log.md") for n in numbers])
    ada.add_drawer(**item("Of another file", source_file="other.md"))
    before = fingerprint(ada.house)
    tried = ada.delete_by_source(source_file="log.md")
    assert (tried["dry_run"], tried["count"]) == (True, 1250)
    assert fingerprint(ada.house) == before

    done = ada.delete_by_source(source_file="log.md", dry_run=False)

    assert done["count"] == len(set(done["hidden"])) == 1250
    assert ada.contents() == ["Of another file"]
    assert ada.status()["totals"]["drawers_hidden"] == 1250
    nothing = ada.delete_by_source(source_file="log.md", dry_run=False)
    assert (nothing["count"], nothing["duplicate"]) == (0, True)


def test_a_repeated_entry_under_another_spelling_of_the_wing_travels(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.diary_write(agent_name="scribe", entry="a", wing="Home")
    bob.diary_write(agent_name="scribe", entry="x", wing="home")
    fleet.share()
    again = ada.diary_write(agent_name="scribe", entry="x", wing="home")
    assert again["duplicate"]
    fleet.share()
    fleet.agrees()


@pytest.mark.parametrize("agent", ["a/../b", "x" * 128, "Ann  Lee", "..."])
def test_an_agent_of_any_name_has_a_diary_in_a_wing_that_can_be_shown(
    ada: Device, agent: str
) -> None:
    ada.diary_write(agent_name=agent, entry="Quiet.")
    [wing] = ada.list_wings()["wings"]
    assert ada.show_wing(wing=wing["wing"])["wing"]["drawers"] == 1
    assert ada.diary_read(agent_name=agent)["total"] == 1
