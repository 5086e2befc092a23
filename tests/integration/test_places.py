"""Wings and rooms: what lies where, and places that stand by themselves."""

from __future__ import annotations

from typing import Any

from tests.palaces import Device, Fleet, fingerprint

HOME = {"wing": "home", "room": "notes"}


def filled(ada: Device) -> list[str]:
    """Two drawers in home/notes, one in home/plans, one in work/notes; their ids."""
    places = [HOME, HOME, {"wing": "home", "room": "plans"}, {"wing": "work", "room": "notes"}]
    return [
        ada.add_drawer(**place, content=f"Text {number}", tags=["tea"])["drawer_id"]
        for number, place in enumerate(places)
    ]


def taxonomy(ada: Device, **moment: Any) -> dict[str, dict[str, int]]:
    found = ada.get_taxonomy(**moment)["taxonomy"]
    assert isinstance(found, dict)
    return found


def test_wings_rooms_and_counts_agree_in_every_answer(ada: Device) -> None:
    filled(ada)
    assert taxonomy(ada) == {"home": {"notes": 2, "plans": 1}, "work": {"notes": 1}}
    wings = ada.list_wings()
    assert [(one["wing"], one["rooms"], one["drawers"]) for one in wings["wings"]] == [
        ("home", 2, 3),
        ("work", 1, 1),
    ]
    assert wings["total"] == 2
    rooms = ada.list_rooms(wing="HOME")["rooms"]
    assert [(one["wing"], one["room"], one["drawers"]) for one in rooms] == [
        ("home", "notes", 2),
        ("home", "plans", 1),
    ]
    assert ada.list_rooms()["total"] == 3
    shown = ada.show_wing(wing="home")
    assert (shown["wing"]["drawers"], len(shown["rooms"])) == (3, 2)
    room = ada.show_room(**HOME)
    assert (room["room"]["drawers"], room["tags"]) == (2, {"tea": 2})
    assert room["newest"] is not None


def test_what_is_hidden_or_not_true_now_is_not_counted(ada: Device) -> None:
    first, *_ = filled(ada)
    ada.add_drawer(**HOME, content="old", valid_from="2001", valid_to="2002")
    ada.delete_drawer(drawer_id=first)
    assert taxonomy(ada)["home"] == {"notes": 1, "plans": 1}
    assert taxonomy(ada, as_of="2001-06") == {"home": {"notes": 1}}
    assert taxonomy(ada, known_at="@4")["home"] == {"notes": 2, "plans": 1}


def test_a_place_that_was_made_is_there_while_it_is_empty(ada: Device) -> None:
    made = ada.create_wing(wing="Lab", description="Experiments")
    assert (made["wing"], made["duplicate"]) == ("Lab", False)
    assert ada.create_wing(wing="lab")["duplicate"]
    assert ada.create_room(wing="lab", room="Bench")["wing"] == "Lab"
    assert taxonomy(ada) == {"Lab": {"Bench": 0}}
    [wing] = ada.list_wings()["wings"]
    assert (wing["made"], wing["description"], wing["drawers"]) == (True, "Experiments", 0)
    ada.add_drawer(wing="LAB", room="bench", content="Tea")
    assert taxonomy(ada) == {"Lab": {"Bench": 1}}


def test_a_place_that_nobody_knows_is_refused(ada: Device) -> None:
    filled(ada)
    for call in (
        lambda: ada.show_wing(wing="attic"),
        lambda: ada.show_room(wing="home", room="attic"),
        lambda: ada.delete_wing(wing="attic", dry_run=False),
        lambda: ada.delete_room(wing="home", room="attic", dry_run=False),
    ):
        with ada.refuses("places::unknown"):
            call()


def test_a_wing_is_deleted_with_all_that_lies_in_it_and_only_after_a_dry_run(ada: Device) -> None:
    ids = filled(ada)
    ada.create_room(wing="home", room="attic")
    ada.create_wing(wing="home")
    before = fingerprint(ada.house)
    tried = ada.delete_wing(wing="Home")
    assert (tried["dry_run"], tried["count"], sorted(tried["hidden"])) == (True, 3, sorted(ids[:3]))
    assert fingerprint(ada.house) == before

    done = ada.delete_wing(wing="Home", dry_run=False, reason="moved out")

    assert (done["dry_run"], done["count"]) == (False, 3)
    assert taxonomy(ada) == {"work": {"notes": 1}}
    assert ada.contents() == ["Text 3"]
    for id in ids[:3]:
        shown = ada.get_drawer(drawer_id=id)["drawer"]
        assert (shown["state"], shown["hidden_by"]) == ("hidden", [done["op_id"]])
        events = ada.history(drawer_id=id)["events"]
        assert [one["tool"] for one in events] == ["add_drawer", "delete_wing"]
    assert taxonomy(ada, known_at="@6")["home"] == {"attic": 0, "notes": 2, "plans": 1}


def test_a_room_is_deleted_and_the_rest_of_the_wing_stays(ada: Device) -> None:
    filled(ada)
    ada.delete_room(**HOME, dry_run=False)
    assert taxonomy(ada) == {"home": {"plans": 1}, "work": {"notes": 1}}


def test_a_text_that_arrives_later_is_not_hidden_by_the_delete_of_its_wing(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    filled(ada)
    bob.add_drawer(**HOME, content="Of another device")
    ada.delete_wing(wing="home", dry_run=False)
    fleet.share()
    for device in (ada, bob):
        assert taxonomy(device)["home"] == {"notes": 1}
    fleet.agrees()


def test_undoing_the_delete_of_a_wing_brings_all_of_it_back(ada: Device) -> None:
    filled(ada)
    ada.create_wing(wing="home")
    before = taxonomy(ada)
    done = ada.delete_wing(wing="home", dry_run=False)
    ada.undo(op_id=done["op_id"], dry_run=False)
    assert taxonomy(ada) == before
    assert len(ada.contents()) == 4
