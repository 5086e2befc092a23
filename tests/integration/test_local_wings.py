"""Wings that stay on their machine: what lies in them is recorded there and never sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.palaces import Device, Fleet, exported, operations, state_of

PRIVATE = {"wing": "private", "room": "notes"}
WORK = {"wing": "work", "room": "notes"}
MARK = "Zebra crossing at dawn"


def streams(device: Device) -> list[tuple[str, str]]:
    return [(one.header.tool, one.header.stream) for one in operations(device.house)]


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    """A palace that keeps wings whose names begin with `private` to itself."""
    return fleet.device("ada", local_wings=["Private*"])


def test_what_lies_in_a_local_wing_is_found_here_and_is_not_in_the_exported_bytes(
    ada: Device, tmp_path: Path
) -> None:
    ada.add_drawer(**WORK, content="Shared text")
    stored = ada.add_drawer(**PRIVATE, content=MARK)
    ada.kg_add(subject="Kiran", predicate="diet", object="Zebra grass", wing="private")
    ada.diary_write(agent_name="scribe", entry="Zebra day", wing="private")
    assert stored["stream"] == "local"
    assert streams(ada) == [
        ("add_drawer", "shared"),
        ("create_wing", "local"),
        ("add_drawer", "local"),
        ("kg_add", "local"),
        ("diary_write", "local"),
    ]
    assert ada.contents(wing="private") == ["Zebra day", MARK]
    assert ada.objects(predicate="diet") == ["Zebra grass"]
    assert ada.status()["outbox"]["pending"] == 1
    sent = exported(ada, tmp_path)
    assert b"Shared text" in sent
    assert b"ebra" not in sent
    assert b"private" not in sent


def test_a_checkpoint_over_both_kinds_of_wings_is_two_events_of_one_call(
    ada: Device, tmp_path: Path
) -> None:
    """E22, at the origin."""
    items = [
        (PRIVATE if number % 2 else WORK)
        | {"content": f"{MARK if number % 2 else 'Shared'} {number}"}
        for number in range(500)
    ]
    asked: dict[str, Any] = {
        "items": items,
        "diary": {"agent_name": "scribe", "entry": f"{MARK} too", "wing": "private diary"},
        "idempotency_key": "k-1",
    }
    done = ada.checkpoint(**asked)
    assert (done["stored"], done["stream"], len(done["items"])) == (500, "shared", 500)
    recorded = operations(ada.house)
    assert [(one.header.tool, one.header.stream) for one in recorded] == [
        ("create_wing", "local"),
        ("create_wing", "local"),
        ("checkpoint", "shared"),
        ("checkpoint", "local"),
    ]
    [call_id] = {one.header.call_id for one in recorded}
    assert call_id is not None
    assert ada.checkpoint(**asked) == done
    assert len(operations(ada.house)) == 4
    for number in (0, 1, 499):
        shown = ada.get_drawer(drawer_id=done["items"][number]["drawer_id"])["drawer"]
        assert shown["content"] == items[number]["content"]
    assert ada.diary_read(agent_name="scribe")["total"] == 1
    sent = exported(ada, tmp_path)
    assert sent.count(b"Shared") == 250
    assert MARK.encode() not in sent


def test_what_is_local_changes_nothing_that_replicas_must_agree_on(fleet: Fleet) -> None:
    ada, bob = fleet.device("ada", local_wings=["private"]), fleet.device("bob")
    drawer = ada.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", wing="private")
    ada.update_drawer(drawer_id=drawer, content="green tea")
    assert state_of(ada.house) == state_of(bob.house)
    ada.add_drawer(**WORK, content="plan")
    fleet.share()
    fleet.agrees()
    assert bob.contents() == ["plan"]
    assert ada.contents() == ["plan", "green tea"]


def test_the_same_text_of_a_wing_that_others_replicate_stands_beside_the_local_one(
    fleet: Fleet,
) -> None:
    ada, bob = fleet.device("ada", local_wings=["private"]), fleet.device("bob")
    mine = ada.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    theirs = bob.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    assert mine == theirs
    fleet.share()
    fleet.agrees()
    bob.delete_drawer(drawer_id=theirs)
    fleet.share()
    assert bob.contents() == []
    assert ada.contents() == ["tea"]
    ada.delete_drawer(drawer_id=mine)
    assert ada.contents() == []
    fleet.agrees()


def test_a_wing_is_fixed_by_its_first_event_whatever_the_settings_become(
    ada: Device, fleet: Fleet
) -> None:
    ada.add_drawer(**PRIVATE, content="a")
    ada.add_drawer(**WORK, content="b")
    ada.reopen(local_wings=["work"])
    assert ada.add_drawer(**PRIVATE, content="c")["stream"] == "local"
    assert ada.add_drawer(**WORK, content="d")["stream"] == "shared"
    with ada.refuses("wings::fixed"):
        ada.create_wing(wing="private", policy="replicated")
    with ada.refuses("wings::fixed"):
        ada.create_wing(wing="work", policy="local")
    assert ada.create_wing(wing="den", policy="local")["stream"] == "local"
    assert ada.add_drawer(wing="den", room="desk", content="e")["stream"] == "local"
    policies = {one["wing"]: one["policy"] for one in ada.list_wings()["wings"]}
    assert policies == {"den": "local", "private": "local", "work": "replicated"}


def test_nothing_crosses_from_a_local_wing_into_a_replicated_one(ada: Device) -> None:
    mine = ada.add_drawer(**PRIVATE, content="mine")["drawer_id"]
    ours = ada.add_drawer(**WORK, content="ours")["drawer_id"]
    for call in (
        lambda: ada.update_drawer(drawer_id=mine, wing="work"),
        lambda: ada.update_drawer(drawer_id=ours, wing="private"),
        lambda: ada.add_drawer(**WORK, content="new", supersedes=mine),
        lambda: ada.checkpoint(items=[WORK | {"content": "new", "supersedes": mine}]),
        lambda: ada.kg_add(
            subject="a", predicate="b", object="c", wing="work", source_drawer_id=mine
        ),
    ):
        with ada.refuses("wings::crosses"):
            call()
    fact = {"subject": "a", "predicate": "b", "object": "c", "source_drawer_id": mine}
    assert ada.kg_add(**fact)["stream"] == "local"


def test_deletes_and_undos_over_both_kinds_of_wings_are_divided_too(
    ada: Device, tmp_path: Path
) -> None:
    mine = ada.add_drawer(**PRIVATE, content="mine", source_file="a.md")["drawer_id"]
    ours = ada.add_drawer(**WORK, content="ours", source_file="a.md")["drawer_id"]
    gone = ada.delete_by_source(source_file="a.md", dry_run=False)
    assert sorted(gone["hidden"]) == sorted([mine, ours])
    assert streams(ada)[-2:] == [("delete_by_source", "shared"), ("delete_by_source", "local")]
    assert ada.contents() == []

    before = streams(ada)
    undone = ada.undo(device="ada", dry_run=False)
    assert len(undone["undone"]) == len(before) - 1
    assert [one["reason"] for one in undone["kept"]] == ["fixes_the_wing"]
    assert streams(ada)[-2:] == [("undo", "shared"), ("undo", "local")]
    assert ada.contents() == []
    assert mine.encode() not in exported(ada, tmp_path)


def test_a_local_wing_is_rebuilt_and_opened_as_it_was(ada: Device) -> None:
    ada.add_drawer(**PRIVATE, content="tea")
    ada.delete_wing(wing="private", dry_run=False)
    ada.reopen()
    assert ada.contents() == []
    assert ada.contents(known_at="@2") == ["tea"]


def test_a_published_wing_travels_with_all_that_stands_in_it_and_is_shown_once(
    fleet: Fleet, tmp_path: Path
) -> None:
    ada, bob = fleet.device("ada", local_wings=["private"]), fleet.device("bob")
    old = ada.add_drawer(**PRIVATE, content="tea", tags=["drink"])["drawer_id"]
    ada.update_drawer(drawer_id=old, content="green tea")
    gone = ada.add_drawer(**PRIVATE, content="secret")["drawer_id"]
    ada.delete_drawer(drawer_id=gone)
    ada.diary_write(agent_name="scribe", entry="Quiet.", wing="private")
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", wing="private")
    ada.kg_add(subject="Kiran", predicate="city", object="Nice", wing="private", valid_from="2020")
    ada.kg_declare_predicate(predicate="city", cardinality="one", wing="private")
    ada.create_room(wing="private", room="attic")
    before = ada.get_taxonomy()["taxonomy"], ada.intervals(), sorted(ada.contents())
    known = ada.position()

    done = ada.publish_wing(wing="Private")

    assert (done["drawers"], done["facts"], done["stream"]) == (2, 2, "shared")
    after = ada.get_taxonomy()["taxonomy"], ada.intervals(), sorted(ada.contents())
    assert after == before
    fleet.share()
    fleet.agrees()
    assert sorted(bob.contents()) == ["Quiet.", "green tea"]
    assert bob.get_taxonomy()["taxonomy"] == before[0]
    assert bob.intervals() == before[1]
    assert b"secret" not in exported(ada, tmp_path)
    assert ada.contents(wing="private", known_at=f"@{known}") == ["Quiet.", "green tea"]
    assert ada.add_drawer(**PRIVATE, content="later")["stream"] == "shared"
    [wing] = [one for one in ada.list_wings()["wings"] if one["wing"] == "private"]
    assert wing["policy"] == "replicated"
    with ada.refuses("wings::not_local"):
        ada.publish_wing(wing="private")
    with ada.refuses("wings::not_local"):
        ada.publish_wing(wing="nowhere")


def test_a_publish_is_never_taken_back(ada: Device) -> None:
    ada.add_drawer(**PRIVATE, content="tea")
    done = ada.publish_wing(wing="private")
    kept = ada.undo(op_id=done["op_id"], dry_run=False)["kept"]
    assert {one["reason"] for one in kept} == {"fixes_the_wing"}
    assert ada.contents() == ["tea"]
    assert ada.add_drawer(**PRIVATE, content="cup")["stream"] == "shared"


def test_a_local_wing_stays_local_when_it_is_deleted_or_its_making_undone(ada: Device) -> None:
    session = ada.by(session="s-1")
    session.add_drawer(**PRIVATE, content="one")
    ada.delete_wing(wing="private", dry_run=False)
    assert ada.get_taxonomy()["taxonomy"] == {}
    assert ada.add_drawer(**PRIVATE, content="two")["stream"] == "local"
    ada.undo(device="ada", dry_run=False)
    assert ada.add_drawer(**PRIVATE, content="three")["stream"] == "local"
    made = ada.create_wing(wing="den", policy="local")
    ada.undo(op_id=made["op_id"], dry_run=False)
    assert ada.add_drawer(wing="den", room="desk", content="four")["stream"] == "local"


def test_no_other_device_makes_a_local_wing_travel(fleet: Fleet, tmp_path: Path) -> None:
    ada = fleet.device("ada", local_wings=["private"])
    bob = fleet.device("bob")
    mine = ada.add_drawer(**PRIVATE, content="one")["drawer_id"]
    bob.create_wing(wing="private", policy="replicated")
    fleet.share()
    assert ada.add_drawer(**PRIVATE, content=MARK)["stream"] == "local"
    assert ada.delete_drawer(drawer_id=mine)["stream"] == "local"
    assert ada.contents() == [MARK]
    assert MARK.encode() not in exported(ada, tmp_path)
    assert ada.publish_wing(wing="private")["drawers"] == 1


def test_twins_in_a_local_wing_and_deletes_that_find_nothing_leak_no_name(
    ada: Device, tmp_path: Path
) -> None:
    items = [PRIVATE | {"content": MARK}, PRIVATE | {"content": MARK}]
    assert ada.checkpoint(items=items, drop_duplicates=True)["dropped"] == 1
    ada.add_drawer(**PRIVATE, content="x", source_file="/secret/zebra.md")
    for _ in range(2):
        ada.delete_by_source(source_file="/secret/zebra.md", wing="private", dry_run=False)
    ada.add_drawer(**WORK, content="shared")
    sent = exported(ada, tmp_path)
    assert b"private" not in sent
    assert b"zebra" not in sent


def test_a_published_text_is_revived_where_another_device_had_deleted_the_same(
    fleet: Fleet,
) -> None:
    ada, bob = fleet.device("ada", local_wings=["private"]), fleet.device("bob")
    ada.add_drawer(**PRIVATE, content="tea")
    theirs = bob.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    bob.delete_drawer(drawer_id=theirs)
    fleet.share()
    ada.publish_wing(wing="private")
    fleet.share()
    assert ada.contents() == bob.contents() == ["tea"]
    fleet.agrees()
