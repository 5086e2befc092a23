"""What a wing is connected with when it is published: aliases, links and tunnels travel with it,
and nothing that names what lies in another local wing does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.acceptance import Duplicate
from tests.palaces import (
    Device,
    Fleet,
    deliver,
    every_order,
    exported,
    operations,
    rebuilt_equals_live,
)

PRIVATE = {"wing": "private", "room": "notes"}
DEN = {"wing": "den", "room": "zebra"}
WORK = {"wing": "work", "room": "desk"}


def tunnel(source: dict[str, str], target: dict[str, str], **said: Any) -> dict[str, Any]:
    ends = {"source": source, "target": target}
    return {f"{side}_{name}": end[name] for side, end in ends.items() for name in end} | said


def links(device: Device, entity: str) -> list[tuple[str, list[str]]]:
    found = device.entity_mentions(entity=entity)["drawers"]
    return [(one["preview"], one["relations"]) for one in found if "linked" in one["by"]]


def labels(device: Device) -> list[tuple[str, str, str | None]]:
    found = device.list_tunnels()["tunnels"]
    return [(one["source"]["wing"], one["target"]["wing"], one["label"]) for one in found]


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    """A palace with two local wings that are connected with each other and with a shared one."""
    ada = fleet.device("ada", local_wings=["private", "den"])
    old = ada.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    ada.link_drawer(drawer_id=old, entity="Kiran", relation="drinks")
    new = ada.update_drawer(drawer_id=old, content="green tea")["drawer_id"]
    ada.link_drawer(drawer_id=new, entity="Kiran", relation="drinks")
    ada.link_drawer(drawer_id=new, entity="Ana")
    gone = ada.add_drawer(**PRIVATE, content="secret")["drawer_id"]
    ada.link_drawer(drawer_id=gone, entity="Mole")
    ada.delete_drawer(drawer_id=gone)
    ada.add_drawer(**WORK, content="plan")
    hidden_away = ada.add_drawer(**DEN, content="stripes")["drawer_id"]
    ada.link_drawer(drawer_id=hidden_away, entity="Marty")
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", wing="private")
    ada.add_alias(entity="Kiran", alias="Kiki", wing="private")
    ada.add_alias(entity="Kiran", alias="Stripy", wing="den")
    ada.create_tunnel(**tunnel(PRIVATE, WORK, label="both", source_drawer_id=old))
    ada.create_tunnel(**tunnel(PRIVATE, PRIVATE | {"room": "attic"}, source_drawer_id=hidden_away))
    ada.create_tunnel(**tunnel(PRIVATE, DEN, label="Zebra way"))
    ada.create_tunnel(**tunnel(WORK, DEN, label="Zebra street"))
    closed = ada.create_tunnel(**tunnel(PRIVATE, WORK | {"room": "lab"}))
    ada.delete_tunnel(tunnel_id=closed["tunnel_id"])
    return ada


def test_aliases_links_and_tunnels_travel_with_the_wing(ada: Device, fleet: Fleet) -> None:
    bob = fleet.device("bob")
    before = ada.list_tunnels()["total"], links(ada, "Kiran"), ada.kg_query(entity="Kiki")["facts"]
    done = ada.publish_wing(wing="private")
    assert (done["aliases"], done["links"], done["tunnels"]) == (1, 2, 2)
    assert ada.list_tunnels()["total"] == before[0] == 4
    assert links(ada, "Kiran") == before[1] == [("green tea", ["drinks"])]
    assert len(ada.kg_query(entity="Kiki")["facts"]) == len(before[2]) == 1
    fleet.share()
    fleet.agrees()
    assert links(bob, "Kiran") == [("green tea", ["drinks"])]
    assert links(bob, "Ana") == [("green tea", ["mentions"])]
    assert bob.objects("Kiki") == ["Lyon"]
    assert labels(bob) == [("private", "private", None), ("private", "work", "both")]
    [led] = [one for one in bob.list_tunnels()["tunnels"] if one["label"]]
    assert led["source"]["drawer_id"] == bob.list_drawers(wing="private")["drawers"][0]["id"]


def test_nothing_of_another_local_wing_and_nothing_hidden_is_in_the_exported_bytes(
    ada: Device, tmp_path: Path
) -> None:
    ada.publish_wing(wing="private")
    sent = exported(ada, tmp_path)
    assert b"Kiki" in sent
    for told in (b"den", b"ebra", b"stripes", b"Stripy", b"Marty", b"Mole", b"secret", b'"lab"'):
        assert told not in sent
    assert len(labels(ada)) == 4
    ada.publish_wing(wing="den")
    sent = exported(ada, tmp_path)
    assert b"Zebra way" in sent
    assert b"Zebra street" in sent
    assert b"Stripy" in sent


def test_facts_travel_with_where_they_were_learnt_as_far_as_that_travels(
    fleet: Fleet, tmp_path: Path
) -> None:
    ada, bob = fleet.device("ada", local_wings=["private", "den"]), fleet.device("bob")
    tea = ada.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    stripes = ada.add_drawer(**DEN, content="stripes")["drawer_id"]
    fact = {"subject": "Kiran", "predicate": "city", "object": "Lyon", "valid_from": "2026"}
    for source in (
        {"source_drawer_id": tea, "source_file": "tea.md"},
        {"source_drawer_id": stripes, "source_file": "zebra.md"},
        {"source_file": "letter.md"},
        {},
    ):
        ada.kg_add(**fact, wing="private", **source)
    assert ada.publish_wing(wing="private")["facts"] == 1
    fleet.share()
    fleet.agrees()
    [shown] = bob.kg_query(entity="Kiran")["facts"]
    learnt = [(one["drawer_id"], one["file"]) for one in shown["sources"]]
    assert learnt == [(tea, "tea.md"), (None, "letter.md")]
    assert b"ebra" not in exported(ada, tmp_path)


def test_a_link_goes_with_the_wing_that_an_update_took_its_drawer_to(
    fleet: Fleet, tmp_path: Path
) -> None:
    ada, bob = fleet.device("ada", local_wings=["private", "den"]), fleet.device("bob")
    drawer = ada.add_drawer(**PRIVATE, content="tea")["drawer_id"]
    ada.link_drawer(drawer_id=drawer, entity="Kiran")
    ada.update_drawer(drawer_id=drawer, **DEN)
    assert ada.publish_wing(wing="private")["links"] == 0
    assert b"Kiran" not in exported(ada, tmp_path)
    assert ada.publish_wing(wing="den")["links"] == 1
    fleet.share()
    fleet.agrees()
    assert links(bob, "Kiran") == links(ada, "Kiran") == [("tea", ["mentions"])]


def test_a_tunnel_that_was_closed_here_stays_closed_here(fleet: Fleet) -> None:
    ada, bob = fleet.device("ada", local_wings=["private"]), fleet.device("bob")
    ada.add_drawer(**PRIVATE, content="tea")
    made = bob.create_tunnel(**tunnel(PRIVATE, WORK))
    fleet.share()
    ada.delete_tunnel(tunnel_id=made["tunnel_id"])
    assert ada.publish_wing(wing="private")["tunnels"] == 0
    fleet.share()
    assert ada.list_tunnels()["total"] == 0
    assert bob.list_tunnels()["total"] == 1
    fleet.agrees()


def test_whatever_the_order_of_delivery_a_published_wing_is_the_same(
    ada: Device, fleet: Fleet
) -> None:
    bob, eve = fleet.devices("bob", "eve")
    bob.add_alias(entity="Karin", alias="Kiki", wing="private")
    bob.create_tunnel(**tunnel(PRIVATE, WORK, label="mine"))
    [made] = bob.list_tunnels()["tunnels"]
    ada.publish_wing(wing="private")
    eve.create_tunnel(**tunnel(WORK, PRIVATE, label="late"))
    eve.delete_tunnel(tunnel_id=made["tunnel_id"])
    drawer = eve.add_drawer(**PRIVATE, content="green tea")["drawer_id"]
    eve.link_drawer(drawer_id=drawer, entity="Kiran", relation="drinks")
    for order in every_order([ada, bob, eve]):
        third = fleet.gathered(*order)
        rebuilt_equals_live(third.house)
        assert all(isinstance(one, Duplicate) for one in deliver(ada.house, third.house))
    fleet.share()
    fleet.agrees()


def test_a_publish_without_what_connects_the_wing_still_folds(ada: Device) -> None:
    """As it was recorded before aliases, links and tunnels travelled."""
    ada.create_wing(wing="attic", policy="local")
    ada.publish_wing(wing="attic")
    published, _ = [one for one in operations(ada.house) if one.header.tool == "publish_wing"]
    assert published.recorded.payload is not None
    assert not {"aliases", "links", "tunnels"} & orjson.loads(published.recorded.payload).keys()
    rebuilt_equals_live(ada.house)
