"""Tunnels between rooms, the walks through them, and the tags of what lies there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.palaces import Device, Fleet, every_order

PLAN = {"source_wing": "home", "source_room": "plan"}
LAB = {"target_wing": "work", "target_room": "lab"}
BACK = {"source_wing": "WORK", "source_room": "Lab", "target_wing": "home", "target_room": "plan"}


def ends(line: dict[str, Any]) -> str:
    source, target = line["source"], line["target"]
    return f"{source['wing']}/{source['room']}-{target['wing']}/{target['room']}"


def dug(device: Device, **asked: Any) -> list[str]:
    return [ends(one) for one in device.list_tunnels(**asked)["tunnels"]]


def found(device: Device, **asked: Any) -> list[tuple[str, bool]]:
    return [(ends(one), one["implied"]) for one in device.find_tunnels(**asked)["tunnels"]]


def walked(device: Device, wing: str, room: str, **asked: Any) -> list[tuple[str, int, str]]:
    rooms = device.traverse(start_wing=wing, start_room=room, **asked)["rooms"]
    return [(f"{one['wing']}/{one['room']}", one["hops"], one["by"]) for one in rooms]


def store(device: Device, wing: str, room: str, content: str, **more: Any) -> str:
    told = device.add_drawer(wing=wing, room=room, content=content, **more)
    return str(told["drawer_id"])


def test_a_tunnel_is_listed_with_its_ends_and_who_made_it(ada: Device) -> None:
    tea = store(ada, "home", "plan", "Tea at four")
    told = ada.by(agent="scribe").create_tunnel(
        **PLAN, **LAB, label="same talk", source_drawer_id=tea
    )
    assert told["duplicate"] is False
    listed = ada.list_tunnels()
    [line] = listed["tunnels"]
    assert (line["tunnel_id"], line["implied"], line["label"]) == (
        *(told["tunnel_id"], False),
        "same talk",
    )
    assert line["source"] == {"wing": "home", "room": "plan", "drawers": 1, "drawer_id": tea}
    assert line["target"] == {"wing": "work", "room": "lab", "drawers": 0, "drawer_id": None}
    assert (line["device"], line["agent"], listed["total"]) == ("ada", "scribe", 1)
    assert dug(ada, wing="HOME") == dug(ada, wing="work") == ["home/plan-work/lab"]
    assert dug(ada, wing="den") == []
    shown = ada.list_operations(wing="work", tool="create_tunnel")["operations"]
    assert [one["op_id"] for one in shown] == [told["op_id"]]


def test_the_same_tunnel_from_its_other_end_is_the_same(ada: Device) -> None:
    tea = store(ada, "home", "plan", "Tea at four")
    first = ada.create_tunnel(**PLAN, **LAB, label="same talk")
    again = ada.create_tunnel(**BACK)
    assert (again["tunnel_id"], again["duplicate"]) == (first["tunnel_id"], True)
    more = ada.create_tunnel(**BACK, target_drawer_id=tea)
    assert more["duplicate"] is False
    [line] = ada.list_tunnels()["tunnels"]
    assert ends(line) == "home/plan-work/lab"
    assert (line["label"], line["source"]["drawer_id"]) == ("same talk", tea)


def test_a_tunnel_needs_two_rooms_and_drawers_that_are_there(fleet: Fleet) -> None:
    ada, edge = fleet.device("ada"), fleet.device("edge", role="edge")
    with ada.refuses("tunnels::same"):
        ada.create_tunnel(**PLAN, target_wing="Home", target_room=" PLAN ")
    with ada.refuses("drawers::unknown"):
        ada.create_tunnel(**PLAN, **LAB, source_drawer_id="drawer_none")
    with ada.refuses("tunnels::unknown"):
        ada.delete_tunnel(tunnel_id="tunnel_none")
    for told in (
        edge.create_tunnel(**PLAN, **LAB, source_drawer_id="drawer_none"),
        edge.delete_tunnel(tunnel_id="tunnel_none"),
    ):
        shown = edge.show_operation(op_id=told["op_id"])["operation"]
        assert shown["target"] == "unverified"
    assert edge.list_tunnels()["tunnels"][0]["source"]["drawer_id"] is None


def test_a_deleted_tunnel_is_gone_until_it_is_made_again(ada: Device) -> None:
    tunnel = ada.create_tunnel(**PLAN, **LAB, label="old")["tunnel_id"]
    before = ada.position()
    told = ada.delete_tunnel(tunnel_id=tunnel, reason="moved")
    assert (told["tunnel_id"], told["duplicate"]) == (tunnel, False)
    assert ada.delete_tunnel(tunnel_id=tunnel)["duplicate"] is True
    assert dug(ada) == []
    assert dug(ada, known_at=f"@{before}") == ["home/plan-work/lab"]
    assert ada.create_tunnel(**PLAN, **LAB)["duplicate"] is False
    assert ada.list_tunnels()["tunnels"][0]["label"] is None


def test_writes_on_tunnels_are_undone(ada: Device) -> None:
    made = ada.create_tunnel(**PLAN, **LAB)
    gone = ada.delete_tunnel(tunnel_id=made["tunnel_id"])
    kept = ada.undo(op_id=made["op_id"], dry_run=False)["kept"]
    assert [one["by"] for one in kept] == [gone["op_id"]]
    ada.undo(op_id=gone["op_id"], dry_run=False)
    assert dug(ada) == ["home/plan-work/lab"]
    ada.undo(op_id=made["op_id"], dry_run=False)
    assert dug(ada) == []


def test_one_tunnel_of_two_devices_is_one_and_the_last_word_counts(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    one = ada.create_tunnel(**PLAN, **LAB, label="ada's")
    other = bob.create_tunnel(**BACK, label="bob's")
    assert one["tunnel_id"] == other["tunnel_id"]
    for order in every_order((ada, bob)):
        [line] = fleet.gathered(*order).list_tunnels()["tunnels"]
        assert line["label"] == "bob's"
    fleet.share()
    ada.delete_tunnel(tunnel_id=one["tunnel_id"])
    fleet.share()
    fleet.agrees()
    for device in (ada, bob):
        assert dug(device) == []
    bob.create_tunnel(**PLAN, **LAB)
    fleet.share()
    fleet.agrees()
    assert dug(ada) == dug(bob) == ["home/plan-WORK/Lab"]


def test_what_connects_wings_are_tunnels_and_rooms_of_one_name(ada: Device) -> None:
    for wing in ("home", "work", "den"):
        store(ada, wing, "notes", f"notes of {wing}")
    store(ada, "home", "plan", "the plan")
    ada.create_tunnel(**PLAN, **LAB)
    ada.create_tunnel(**PLAN, target_wing="home", target_room="notes")
    ada.create_tunnel(
        source_wing="den", source_room="notes", target_wing="work", target_room="notes"
    )
    home = [("home/plan-work/lab", False), ("home/notes-work/notes", True)]
    assert found(ada, wing_a="work", wing_b="HOME") == home
    assert found(ada, wing_a="den") == [
        ("den/notes-work/notes", False),
        ("den/notes-home/notes", True),
    ]
    everything = found(ada)
    assert len(everything) == 4
    first = ada.find_tunnels(limit=3)
    rest = ada.find_tunnels(limit=3, cursor=first["cursor"])
    assert [ends(one) for one in (*first["tunnels"], *rest["tunnels"])] == [
        name for name, _ in everything
    ]
    with ada.refuses("input::invalid"):
        ada.find_tunnels(wing_b="home")


def test_a_hidden_drawer_connects_nothing_and_is_not_named(ada: Device) -> None:
    note = store(ada, "home", "notes", "secret")
    store(ada, "work", "notes", "open")
    ada.create_tunnel(**LAB, source_wing="home", source_room="notes", source_drawer_id=note)
    assert found(ada) == [("home/notes-work/lab", False), ("home/notes-work/notes", True)]
    ada.delete_drawer(drawer_id=note)
    assert found(ada) == [("home/notes-work/lab", False)]
    assert ada.list_tunnels()["tunnels"][0]["source"]["drawer_id"] is None
    followed = ada.follow_tunnels(wing="work", room="lab")
    assert followed["connected"][0]["previews"] == []
    assert ada.graph_stats()["shared_room_names"] == 0


def test_following_a_room_shows_the_newest_of_each_room_beside_it(ada: Device, clock: Any) -> None:
    for number in range(4):
        clock.tick(1)
        store(ada, "work", "lab", f"result {number}")
    store(ada, "den", "plan", "other plan")
    store(ada, "home", "plan", "the plan")
    tunnel = ada.create_tunnel(**PLAN, **LAB, label="why")["tunnel_id"]
    told = ada.follow_tunnels(wing="HOME", room="Plan")
    assert (told["wing"], told["room"], told["total"]) == ("home", "plan", 2)
    lab, plan = told["connected"]
    assert (lab["wing"], lab["tunnel_id"], lab["implied"], lab["label"], lab["drawers"]) == (
        *("work", tunnel, False),
        *("why", 4),
    )
    assert [one["preview"] for one in lab["previews"]] == ["result 3", "result 2", "result 1"]
    assert (plan["wing"], plan["tunnel_id"], plan["implied"]) == ("den", None, True)
    assert len(ada.follow_tunnels(wing="home", room="plan", limit=1)["connected"]) == 1
    with ada.refuses("places::unknown"):
        ada.follow_tunnels(wing="home", room="cellar")


def test_a_walk_goes_from_the_nearest_to_the_farthest(ada: Device) -> None:
    store(ada, "home", "plan", "the plan")
    for wing in ("work", "den"):
        store(ada, wing, "lab", f"lab of {wing}")
    ada.create_tunnel(**PLAN, **LAB)
    ada.create_tunnel(source_wing="den", source_room="lab", target_wing="sea", target_room="ship")
    near = [("home/plan", 0, "start"), ("work/lab", 1, "tunnel"), ("den/lab", 2, "same_name")]
    assert walked(ada, "home", "plan", max_hops=1) == near[:2]
    assert walked(ada, "home", "plan") == near
    assert walked(ada, "HOME", "PLAN", max_hops=5) == [*near, ("sea/ship", 3, "tunnel")]
    last = ada.traverse(start_wing="home", start_room="plan", max_hops=5)["rooms"][-1]
    assert (last["from_wing"], last["from_room"]) == ("den", "lab")
    short = ada.traverse(start_wing="home", start_room="plan", max_hops=5, limit=2)
    assert (len(short["rooms"]), short["total"]) == (2, 4)
    for hops in (0, 6):
        with ada.refuses("input::invalid", "max_hops"):
            ada.traverse(start_wing="home", start_room="plan", max_hops=hops)
    with ada.refuses("places::unknown"):
        ada.traverse(start_wing="nowhere", start_room="plan")


def test_the_house_is_counted_without_names(ada: Device) -> None:
    empty = ada.graph_stats()
    assert {empty[name] for name in ("wings", "rooms", "tunnels", "wings_connected")} == {0}
    for wing in ("home", "work", "den"):
        store(ada, wing, "notes", f"notes of {wing}")
    store(ada, "attic", "box", "a box")
    position = ada.position()
    ada.create_tunnel(**PLAN, **LAB)
    stats = ada.graph_stats()
    counts = ("wings", "rooms", "tunnels", "shared_room_names", "wings_connected")
    assert [stats[name] for name in counts] == [4, 6, 1, 1, 3]
    assert stats["rooms_connected"] == 5
    assert ada.graph_stats(known_at=f"@{position}")["tunnels"] == 0


@pytest.mark.parametrize("wing", [None, "home"])
def test_tags_count_the_drawers_that_are_live_and_true(ada: Device, wing: str | None) -> None:
    asked = {} if wing is None else {"wing": wing}
    store(ada, "home", "notes", "one", tags=["tea", "Cup"])
    store(ada, "Home", "notes", "two", tags=["TEA"])
    store(ada, "home", "notes", "ended", tags=["tea"], valid_to="2026-01-01", valid_from="2025")
    gone = store(ada, "home", "notes", "gone", tags=["tea"])
    old = store(ada, "home", "notes", "old", tags=["old"])
    ada.update_drawer(drawer_id=old, tags=["new"])
    position = ada.position()
    ada.delete_drawer(drawer_id=gone)
    if wing:
        store(ada, "work", "notes", "elsewhere", tags=["tea"])

    def tags(**moment: Any) -> list[tuple[str, int]]:
        return [(one["tag"], one["drawers"]) for one in ada.list_tags(**asked, **moment)["tags"]]

    assert tags() == [("TEA", 2), ("Cup", 1), ("new", 1)]
    assert tags(known_at=f"@{position}") == [("TEA", 3), ("Cup", 1), ("new", 1)]
    assert ada.list_tags(wing="nowhere")["total"] == 0


def test_a_tunnel_that_ends_in_a_local_wing_stays_on_its_machine(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.create_wing(wing="work", policy="local")
    secret = store(ada, "work", "lab", "secret")
    open_note = store(ada, "home", "plan", "open")
    told = ada.create_tunnel(**PLAN, **LAB, source_drawer_id=open_note, target_drawer_id=secret)
    assert told["stream"] == "local"
    with ada.refuses("wings::crosses"):
        ada.create_tunnel(**PLAN, target_wing="den", target_room="desk", target_drawer_id=secret)
    fleet.share()
    assert (dug(ada), dug(bob)) == (["home/plan-work/lab"], [])
    assert ada.delete_tunnel(tunnel_id=told["tunnel_id"])["stream"] == "local"
    assert dug(ada) == []
    assert ada.create_tunnel(**PLAN, target_wing="den", target_room="desk")["stream"] == "shared"
