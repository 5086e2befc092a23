"""Reads and refusals: noted beside the log, found with it, and never in the way of an answer."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.catalog import CATALOG
from domain.errors import PalaceError
from domain.operation import Context
from palacelog.bootstrap import open_palace
from tests.palaces import Device, Fleet, digest_of, new_palace, operations
from tests.samples import SAMPLES, furnished

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


@pytest.fixture
def tea(clock: FrozenDateTimeFactory, ada: Device) -> str:
    """A drawer that one session wrote; the clock stands still."""
    return str(ada.by(session="writer").add_drawer(**PLACE, content="tea")["drawer_id"])


def listed(device: Device, /, **chosen: Any) -> list[tuple[str, str]]:
    """(tool, outcome) of what the log and the trail hold, oldest first, but for what this asks."""
    found = device.list_operations(
        **{"outcome": "all", "include_reads": True, "limit": 200} | chosen
    )
    assert found["total"] == len(found["operations"])
    lines = [(one["tool"], one["outcome"]) for one in reversed(found["operations"])]
    return [line for line in lines if line != ("list_operations", "accepted")]


def shown(device: Device, tool: str, /, **chosen: Any) -> dict[str, Any]:
    """The newest event of a tool, in full."""
    found = device.list_operations(tool=tool, outcome="all", include_reads=True, **chosen)
    op_id = found["operations"][0]["op_id"]
    return dict(device.show_operation(op_id=op_id)["operation"])


def refused(device: Device, tool: str, code: str, **given: Any) -> None:
    with device.refuses(code):
        device.call(tool, given)


def segments(device: Device) -> list[str]:
    return sorted(path.name for path in (device.folder / "trail").glob("*.db"))


def test_a_read_is_an_event_with_what_was_asked_and_what_was_seen(ada: Device, tea: str) -> None:
    who = {"agent": "scribe", "client": "cli 1.0", "session": "s-1", "principal": "kiran"}
    ada.by(**who).list_drawers(wing="HOME", limit=5)
    read = shown(ada, "list_drawers")
    assert {name: read[name] for name in who} == who
    assert (read["device"], read["stream"], read["position"]) == ("ada", "trail", None)
    assert (read["outcome"], read["code"], read["times"]) == ("accepted", None, 1)
    assert read["payload"]["asked"] == {"wing": "HOME", "limit": 5}
    seen = {"log_id": ada.house.log.log_id, "position": 1, "total": 1, "ids": [tea]}
    assert read["payload"]["seen"] == seen
    assert "tea" not in str(read["payload"]).replace(tea, "")


def test_at_most_200_ids_are_kept_of_what_was_seen(ada: Device) -> None:
    for number in range(3):
        ada.add_drawer(**PLACE, content=f"text {number}")
    ada.list_drawers(limit=1)
    ada.list_drawers(limit=2)
    read = shown(ada, "list_drawers")
    assert (len(read["payload"]["seen"]["ids"]), read["payload"]["seen"]["total"]) == (2, 3)


def test_reads_and_refusals_are_listed_only_when_asked_for(ada: Device, tea: str) -> None:
    ada.get_drawer(drawer_id=tea)
    refused(ada, "get_drawer", "drawers::unknown", drawer_id="drawer_x")
    assert listed(ada, outcome="accepted", include_reads=False) == [("add_drawer", "accepted")]
    assert listed(ada, outcome="refused") == [("get_drawer", "refused")]
    assert listed(ada, outcome="all", include_reads=False, tool="get_drawer") == [
        ("get_drawer", "refused")
    ]
    assert listed(ada, outcome="accepted", tool="get_drawer") == [("get_drawer", "accepted")]


@pytest.mark.parametrize(
    ("mode", "tool", "given", "code"),
    [
        ("disabled", "get_drawer", {"drawer_id": "secret"}, "mode::forbidden"),
        ("read_only", "add_drawer", PLACE | {"content": "secret"}, "mode::forbidden"),
        ("full", "get_drawer", {"drawer_id": "secret"}, "drawers::unknown"),
        ("full", "delete_drawer", {"drawer_id": "secret"}, "drawers::unknown"),
        ("full", "get_drawer", {"secret": "secret"}, "input::invalid"),
        ("full", "add_drawer", PLACE | {"content": "secret\x00"}, "input::invalid"),
        ("full", "secret_tool", {}, "input::unknown_tool"),
    ],
)
def test_a_refusal_is_an_event_with_its_code_and_nothing_of_what_was_asked(
    ada: Device, mode: str, tool: str, given: dict[str, Any], code: str
) -> None:
    caller = ada.by(session_mode=mode, session="s-1", agent="scribe")
    with ada.refuses(code):
        caller.house.palace.call(tool, given, caller.context)
    [line] = ada.list_operations(outcome="refused")["operations"]
    assert line["tool"] == (tool if tool in CATALOG else "unknown_tool")
    assert (line["code"], line["session_mode"]) == (f"palacelog::{code}", mode)
    assert (line["agent"], line["session"]) == ("scribe", "s-1")
    event = ada.show_operation(op_id=line["op_id"])["operation"]
    assert event["payload"] is None
    assert "secret" not in str(event)


def test_a_refusal_of_a_caller_that_no_event_can_hold_is_noted_without_it(ada: Device) -> None:
    who = Context(agent="scribe\ud800", session="s", session_mode="nonsense")
    with ada.refuses("input::invalid", "session_mode"):
        ada.house.palace.call("status", {"x": object()}, who)
    [line] = ada.list_operations(outcome="refused")["operations"]
    assert (line["agent"], line["session"], line["session_mode"]) == (None, "s", "unknown")


def test_a_disabled_session_cannot_read_the_trail(ada: Device, tea: str) -> None:
    off = ada.by(session_mode="disabled")
    for tool in ("list_operations", "show_operation"):
        refused(off, tool, "mode::forbidden", outcome="all")
    assert [outcome for _, outcome in listed(ada, outcome="refused")] == ["refused"] * 2


def test_the_trail_changes_no_position_no_digest_and_no_backup(ada: Device) -> None:
    known = furnished(ada)
    before, head = digest_of(ada.house), ada.house.log.head()
    for tool in SAMPLES:
        if not CATALOG[tool].writes:
            ada.call(tool, SAMPLES[tool](known))
    ada.house.palace.trail.flush()
    assert (digest_of(ada.house), ada.house.log.head()) == (before, head)
    assert {tool for tool, _ in listed(ada)} >= {
        name for name, entry in CATALOG.items() if not entry.writes
    } - {"list_operations", "set_mode"}


def test_a_segment_belongs_to_its_owner_alone(ada: Device, tea: str) -> None:
    ada.status()
    ada.close()
    folder = ada.folder / "trail"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert segments(ada) == ["2026-03.db"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_events_of_the_trail_are_found_by_who_read_what(ada: Device, tea: str) -> None:
    ada.by(agent="scribe", session="s-1").get_drawer(drawer_id=tea)
    ada.by(agent="clerk", session="s-2").kg_query(entity="KIRAN  ")
    ada.by(agent="clerk", session="s-3").list_drawers(room="notes")
    reads = {"outcome": "accepted", "include_reads": True}

    def tools(**chosen: Any) -> list[str]:
        return [tool for tool, _ in listed(ada, **reads | chosen)]

    assert tools(agent="clerk") == ["kg_query", "list_drawers"]
    assert tools(session="s-1") == ["get_drawer"]
    assert tools(entity="kiran") == ["kg_query"]
    assert tools(drawer_id=tea) == ["add_drawer", "get_drawer", "list_drawers"]
    assert tools(wing="Home") == ["add_drawer", "get_drawer", "list_drawers"]
    assert tools(device="bob") == tools(wing="nowhere") == tools(drawer_id="x") == []
    assert tools(tool="kg_query", device="ada") == ["kg_query"]


def test_reads_lie_among_the_writes_at_the_time_they_were_asked(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    for number in range(3):
        clock.tick(60)
        told = ada.add_drawer(**PLACE, content=f"text {number}")
        clock.tick(60)
        ada.get_drawer(drawer_id=told["drawer_id"])
    expected = [("add_drawer", "accepted"), ("get_drawer", "accepted")] * 3
    assert listed(ada) == expected
    assert listed(ada, known_at="@2", tool="get_drawer") == expected[1:2]
    assert listed(ada, since="2026-03-31T15:05:30Z", before="2026-03-31T15:06:30Z") == expected[5:]


def test_pages_of_log_and_trail_neither_repeat_nor_skip(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    for number in range(7):
        clock.tick(1)
        told = ada.add_drawer(**PLACE, content=f"text {number}")
        ada.get_drawer(drawer_id=told["drawer_id"])
    asked = {"outcome": "all", "include_reads": True, "limit": 3}
    whole = [one["op_id"] for one in ada.list_operations(**asked | {"limit": 200})["operations"]]
    clock.tick(1)
    first = ada.list_operations(**asked, before="2026-04-01")
    found, cursor = [one["op_id"] for one in first["operations"]], first["cursor"]
    while cursor:
        clock.tick(1)
        ada.add_drawer(**PLACE, content=f"meanwhile {len(found)}")
        ada.get_drawer(drawer_id=told["drawer_id"])
        page = ada.list_operations(**asked, before="2026-04-01", cursor=cursor)
        found += [one["op_id"] for one in page["operations"]]
        cursor = page["cursor"]
        assert page["total"] == first["total"]
    assert found[1:] == whole
    with ada.refuses("input::invalid", "cursor"):
        ada.list_operations(outcome="all", limit=3, cursor=first["cursor"])


def test_a_poll_is_one_event_that_counts(clock: FrozenDateTimeFactory, ada: Device) -> None:
    watch = ada.by(session="watch")
    for _ in range(5):
        watch.status()
    ada.by(session="other").status()
    ada.house.palace.trail.flush()
    for _ in range(30):
        clock.tick(1)
        watch.status()
    lines = ada.list_operations(tool="status", session="watch", include_reads=True)["operations"]
    assert [line["times"] for line in lines] == [30, 5]
    clock.tick(11)
    watch.status()
    lines = ada.list_operations(tool="status", session="watch", include_reads=True)["operations"]
    assert [line["times"] for line in lines] == [1, 30, 5]
    assert shown(ada, "status", session="other")["times"] == 1


def test_a_read_that_saw_something_else_is_no_repeat(ada: Device) -> None:
    ada.list_drawers()
    ada.add_drawer(**PLACE, content="tea")
    ada.list_drawers()
    assert [tool for tool, _ in listed(ada)] == ["list_drawers", "add_drawer", "list_drawers"]


def test_digest_keeps_neither_arguments_nor_ids(fleet: Fleet) -> None:
    ada = fleet.device("ada", audit={"reads": "digest"})
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    ada.get_drawer(drawer_id=tea)
    read = shown(ada, "get_drawer")
    assert "asked" not in read["payload"]
    assert "ids" not in read["payload"]["seen"]
    assert len(read["asked_digest"]) == 64
    assert tea not in str(read)
    assert listed(ada, drawer_id=tea) == [("add_drawer", "accepted")]


def test_off_notes_refusals_alone(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALACELOG_AUDIT__READS", "off")
    ada = fleet.device("ada")
    ada.status()
    refused(ada, "get_drawer", "drawers::unknown", drawer_id="x")
    assert listed(ada) == [("get_drawer", "refused")]


def test_settings_of_the_trail_are_read_from_the_file(ada: Device, tea: str) -> None:
    (ada.folder / "settings.toml").write_text("[audit]\nreads = 'off'\nretention_days = 30\n")
    ada.reopen()
    assert ada.house.settings.audit.retention_days == 30
    ada.get_drawer(drawer_id=tea)
    assert listed(ada, tool="get_drawer") == []


def test_status_counts_what_was_noted(ada: Device, tea: str) -> None:
    ada.get_drawer(drawer_id=tea)
    assert ada.status()["trail"] == {"noted": 1, "lost": 0}
    ada.reopen()
    assert ada.status()["trail"] == {"noted": 2, "lost": 0}


def test_whole_months_are_dropped_when_they_are_past_what_is_kept(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    ada.status()
    ada.house.palace.trail.flush()
    clock.move_to("2026-05-01T00:00:00Z")
    ada.list_drawers()
    ada.house.palace.trail.flush()
    assert segments(ada) == ["2026-03.db", "2026-05.db"]
    clock.move_to("2026-06-29T23:59:59Z")
    ada.reopen()
    assert segments(ada) == ["2026-03.db", "2026-05.db"]
    clock.move_to("2026-06-30T00:00:00Z")
    ada.reopen()
    assert segments(ada) == ["2026-05.db"]
    assert listed(ada, tool="status") == []
    clock.move_to("2026-09-01T00:00:00Z")
    ada.list_drawers()
    ada.house.palace.trail.flush()
    assert segments(ada) == ["2026-06.db", "2026-09.db"], "a new month drops the old ones too"
    assert listed(ada, tool="list_drawers") == [("list_drawers", "accepted")]


def test_what_was_lost_in_a_month_is_forgotten_with_it(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    (ada.folder / "trail").mkdir()
    (ada.folder / "trail" / "2026-03.lost").write_bytes(b"...")
    assert ada.status()["trail"]["lost"] == 3
    clock.move_to("2026-06-29T23:59:59Z")
    ada.reopen()
    assert ada.status()["trail"]["lost"] == 3
    clock.move_to("2026-06-30T00:00:00Z")
    ada.reopen()
    assert ada.status()["trail"]["lost"] == 0


def test_a_trail_that_cannot_be_written_breaks_no_read_and_is_counted(
    ada: Device, tea: str
) -> None:
    (ada.folder / "trail").write_text("not a folder")
    for _ in range(3):
        ada.get_drawer(drawer_id=tea)
    refused(ada, "get_drawer", "drawers::unknown", drawer_id="x")
    ada.house.palace.trail.flush()
    assert ada.status()["trail"] == {"noted": 0, "lost": 2}
    (ada.folder / "trail").unlink()
    ada.status()
    ada.reopen()
    assert ada.status()["trail"]["lost"] == 2, "losses are kept once something can be written"


def test_a_trail_that_another_program_holds_costs_notes_and_no_read(
    ada: Device, tea: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replay.segment.BUSY_MILLISECONDS", 10)
    ada.status()
    ada.close()
    ada.reopen()
    with sqlite3.connect(ada.folder / "trail" / "2026-03.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        ada.get_drawer(drawer_id=tea)
        ada.house.palace.trail.flush()
        assert ada.status()["trail"]["lost"] == 1
        other.execute("ROLLBACK")
    other.close()
    ada.get_drawer(drawer_id=tea)


def test_an_event_that_was_changed_is_not_shown_as_true(ada: Device, tea: str) -> None:
    ada.get_drawer(drawer_id=tea)
    op_id = ada.list_operations(tool="get_drawer", include_reads=True)["operations"][0]["op_id"]
    ada.close()
    with sqlite3.connect(ada.folder / "trail" / "2026-03.db") as segment:
        segment.execute(
            "UPDATE stored_events SET state = replace(state, 'get_drawer', 'got_drawer')"
        )
    segment.close()
    ada.reopen()
    with ada.refuses("log::op_id"):
        ada.show_operation(op_id=op_id)


def test_many_threads_note_what_they_read(tmp_path: Path) -> None:
    with new_palace(tmp_path) as house:
        ids = [
            house.palace.call("add_drawer", PLACE | {"content": f"text {number}"})["drawer_id"]
            for number in range(40)
        ]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda id: house.palace.call("get_drawer", {"drawer_id": id}), ids))
        assert house.palace.call("status", {})["trail"] == {"noted": 40, "lost": 0}
        assert len(operations(house)) == 40
    with open_palace(tmp_path / "ada") as house:
        asked = {"tool": "get_drawer", "include_reads": True, "limit": 200}
        found = house.palace.call("list_operations", asked)
        assert found["total"] == 40
        for line in found["operations"]:
            house.palace.call("show_operation", {"op_id": line["op_id"]})


def test_a_dry_run_is_noted_as_the_read_that_it_is(ada: Device, tea: str) -> None:
    told = ada.undo(session="writer")
    assert told["dry_run"] is True
    assert ada.position() == 1
    assert shown(ada, "undo")["stream"] == "trail"


def test_what_a_closed_palace_is_asked_is_no_refusal(ada: Device) -> None:
    palace = ada.house.palace
    ada.close()
    with pytest.raises(PalaceError, match="palace::closed"):
        palace.call("list_drawers", {})
    ada.reopen()
    assert listed(ada) == []
