"""What may refer to something that is not known here: nothing on a primary, anything on an edge."""

from __future__ import annotations

from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, deliver, operations

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}
NOBODY = "drawer_home_notes_0123456789abcdef01234567"

UNKNOWN_TARGETS: list[tuple[str, dict[str, Any], str]] = [
    ("delete_drawer", {"drawer_id": NOBODY}, "drawers::unknown"),
    ("supersede_drawer", {"drawer_id": NOBODY}, "drawers::unknown"),
    ("add_drawer", PLACE | {"content": "tea", "supersedes": NOBODY}, "drawers::unknown"),
    ("kg_invalidate", CITY | {"object": "Lyon"}, "facts::unknown"),
    ("kg_supersede", CITY | {"old_object": "Lyon", "new_object": "Nice"}, "facts::unknown"),
    ("kg_add", CITY | {"object": "Lyon", "source_drawer_id": NOBODY}, "drawers::unknown"),
]
each = pytest.mark.parametrize(
    ("tool", "given", "code"), UNKNOWN_TARGETS, ids=[one[0] for one in UNKNOWN_TARGETS]
)


@each
def test_a_primary_refuses_what_refers_to_nothing(
    ada: Device, tool: str, given: dict[str, Any], code: str
) -> None:
    """L7"""
    ada.add_drawer(**PLACE, content="something")
    with ada.refuses(code):
        ada.call(tool, given)


@each
def test_an_edge_records_it_as_unverified_and_a_primary_takes_it(
    fleet: Fleet, tool: str, given: dict[str, Any], code: str
) -> None:
    """L29"""
    edge, primary = fleet.device("edge", role="edge"), fleet.device("primary")
    told = edge.call(tool, given)
    assert told["duplicate"] is False
    shown = edge.show_operation(op_id=told["op_id"])["operation"]
    assert shown["target"] == "unverified"
    assert operations(edge.house)[0].header.target == "unverified"

    deliver(edge.house, primary.house)
    assert primary.show_operation(op_id=told["op_id"])["operation"]["target"] == "unverified"
    listed = [] if tool == "kg_add" else ["target_missing"]
    assert edge.conflicts() == primary.conflicts() == listed
    fleet.agrees()


def test_an_edge_marks_what_it_has_seen_as_known(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    edge = fleet.device("edge", role="edge")
    tea = edge.add_drawer(**PLACE, content="tea")
    edge.kg_add(**CITY, object="Lyon", source_drawer_id=tea["drawer_id"])
    clock.tick(60)
    edge.kg_invalidate(**CITY, object="Lyon")
    edge.update_drawer(drawer_id=tea["drawer_id"], content="green tea")
    edge.delete_drawer(drawer_id=tea["drawer_id"])
    targets = [one.header.target for one in operations(edge.house)]
    assert targets[0] is None
    assert targets[2:] == ["known"] * 3


@pytest.mark.parametrize(
    ("tool", "more"),
    [("update_drawer", {"content": "tea"}), ("supersede_drawer", {"content": "tea"})],
)
def test_an_edge_cannot_write_on_a_text_that_it_has_not_seen(
    fleet: Fleet, tool: str, more: dict[str, str]
) -> None:
    edge = fleet.device("edge", role="edge")
    with edge.refuses("drawers::unknown"):
        edge.call(tool, {"drawer_id": NOBODY} | more)


def test_a_hidden_target_is_refused_on_an_edge_too(fleet: Fleet) -> None:
    edge = fleet.device("edge", role="edge")
    tea = edge.add_drawer(**PLACE, content="tea")["drawer_id"]
    edge.delete_drawer(drawer_id=tea)
    for tool in ("update_drawer", "supersede_drawer"):
        with edge.refuses("drawers::hidden"):
            edge.call(tool, {"drawer_id": tea, "content": "x"})


def test_an_unverified_delete_keeps_a_text_hidden_that_arrives_later(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L29"""
    ada, edge = fleet.device("ada"), fleet.device("edge", role="edge")
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    clock.tick(60)
    edge.delete_drawer(drawer_id=tea)
    deliver(ada.house, edge.house)
    assert edge.contents() == []
    assert edge.conflicts() == []
    assert edge.get_drawer(drawer_id=tea)["drawer"]["state"] == "hidden"
