"""The audit report: what was done where and when, and whether all is whole; never what it was."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

import orjson
from freezegun.api import FrozenDateTimeFactory

from domain.errors import PalaceError
from tests.palaces import Device, Fleet, deliver

PLACE = {"wing": "zebrawing", "room": "zebraroom"}
CITY = {"subject": "zebrasubject", "predicate": "zebrapredicate"}


def activity(device: Device, **chosen: Any) -> list[tuple[Any, ...]]:
    lines = device.audit(**chosen)["activity"]
    return [(one["day"], one["device"], one["tool"], one["outcome"], one["calls"]) for one in lines]


def attempt(device: Device, tool: str, **given: Any) -> None:
    with suppress(PalaceError):
        device.house.palace.call(tool, given, device.context)


def test_activity_is_counted_by_day_device_tool_and_outcome(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    ada.add_drawer(**PLACE, content="milk")
    for _ in range(3):
        ada.get_drawer(drawer_id=tea)
    clock.move_to("2026-04-01T00:00:00Z")
    bob.add_drawer(**PLACE, content="of bob")
    deliver(bob.house, ada.house)
    attempt(ada, "get_drawer", drawer_id="x")
    attempt(ada, "get_drawer", drawer_id="x")
    attempt(ada.by(session_mode="disabled"), "get_drawer", drawer_id="x")
    expected = [
        ("2026-04-01", "ada", "get_drawer", "refused", 2),
        ("2026-04-01", "ada", "get_drawer", "refused", 1),
        ("2026-04-01", "bob", "add_drawer", "accepted", 1),
        ("2026-03-31", "ada", "add_drawer", "accepted", 2),
        ("2026-03-31", "ada", "get_drawer", "read", 3),
    ]
    assert activity(ada) == expected
    found = ada.audit(before="2026-03-31")
    assert (len(found["activity"]), found["activity_total"], found["refusals"]) == (2, 2, [])
    assert [line for line in activity(ada, since="2026-04-01") if line[2] != "audit"] == expected[
        :3
    ]
    assert ada.audit()["refusals"] == [
        {"code": "palacelog::drawers::unknown", "calls": 2},
        {"code": "palacelog::mode::forbidden", "calls": 1},
    ]


def test_the_report_names_nothing_that_was_stored_or_asked(fleet: Fleet) -> None:
    ada, bob = fleet.device("ada", role="edge"), fleet.device("bob")
    who = {"agent": "zebraagent", "client": "zebraclient", "principal": "zebraperson"}
    for device in (ada, bob):
        caller = device.by(**who, session="zebrasession")
        tea = caller.add_drawer(**PLACE, content="zebratext", tags=["zebratag"])["drawer_id"]
        caller.kg_add(**CITY, object="zebraobject", source_file="zebrafile")
        caller.get_drawer(drawer_id=tea)
        caller.list_drawers(wing="zebrawing")
        caller.kg_query(entity="zebrasubject")
        attempt(caller, "add_drawer", zebra="zebra")
        attempt(caller, "zebra_tool")
    ada.kg_add(**CITY, object="zebra", source_drawer_id="drawer_zebra_zebra_0")
    deliver(bob.house, ada.house)
    report = orjson.dumps(ada.audit()).decode()
    assert "zebra" not in report
    assert "unknown_tool" in report


def test_the_report_is_never_gated(ada: Device) -> None:
    for mode in ("read_only", "disabled"):
        assert ada.by(session_mode=mode).audit()["log"]["state"] == "empty"


def test_log_chains_and_views_are_reported_whole(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.add_drawer(**PLACE, content="tea")
    bob.add_drawer(**PLACE, content="milk")
    bob.add_drawer(**PLACE, content="water")
    deliver(bob.house, ada.house)
    found = ada.audit()
    assert found["log"] == {
        "head": 3, "link": ada.house.log.head().link.hex(), "state": "whole"
    }  # fmt: skip
    assert found["chains"] == [
        {"device": "ada", "stream": "shared", "events": 1, "head": 1, "whole": True},
        {"device": "bob", "stream": "shared", "events": 2, "head": 2, "whole": True},
    ]
    assert found["projections"] == [
        {"name": "views", "checkpoint": 3, "lag": 0, "state": "current"}
    ]
    assert found["orphans"] == {"facts": 0, "fact_ids": []}


def test_an_event_that_was_altered_is_reported(ada: Device) -> None:
    ada.add_drawer(**PLACE, content="tea")
    ada.close()
    with sqlite3.connect(ada.folder / "log.db") as log:
        log.execute("UPDATE stored_events SET state = replace(state, 'tea', 'tee')")
    log.close()
    ada.reopen()
    assert ada.audit()["log"] == {"head": 1, "link": None, "state": "altered"}
    ada.close()


def test_facts_whose_source_was_never_here_are_orphans(fleet: Fleet) -> None:
    edge = fleet.device("edge", role="edge")
    tea = edge.add_drawer(**PLACE, content="tea")["drawer_id"]
    edge.kg_add(**CITY, object="of tea", source_drawer_id=tea)
    told = edge.kg_add(**CITY, object="of nothing", source_drawer_id="drawer_elsewhere_0")
    edge.delete_drawer(drawer_id=tea)
    assert edge.audit()["orphans"] == {"facts": 1, "fact_ids": [told["fact_id"]]}


def test_the_trail_s_losses_are_reported(ada: Device) -> None:
    (ada.folder / "trail").write_text("not a folder")
    ada.list_drawers()
    assert ada.audit()["trail"] == {"noted": 0, "lost": 1}
