"""The trail when its disk is full, when two processes write it, and when one of them is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palacelog.bootstrap import House, open_palace
from tests.faults.limits import allow, limit_files, limited_pages
from tests.faults.processes import Child, Report
from tests.palaces import new_palace

PLACE = {"wing": "home", "room": "notes"}
READS = 150


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    new_palace(tmp_path).close()
    with limited_pages(), open_palace(tmp_path / "ada") as opened:
        for number in range(READS):
            opened.palace.call("add_drawer", PLACE | {"content": f"text {number}"})
        yield opened


def reads(house: House) -> list[str]:
    """The op_ids of the reads of drawers in the trail, each shown and so proven."""
    asked: dict[str, Any] = {"tool": "get_drawer", "include_reads": True, "limit": 200}
    found: list[str] = []
    while True:
        answer = house.palace.call("list_operations", asked)
        found += [line["op_id"] for line in answer["operations"]]
        if answer["cursor"] is None:
            break
        asked["cursor"] = answer["cursor"]
    for op_id in found:
        house.palace.call("show_operation", {"op_id": op_id})
    assert len(set(found)) == len(found) == answer["total"]
    return found


def drawers(house: House) -> list[str]:
    listed = house.palace.call("list_drawers", {"limit": 200})["drawers"]
    return [drawer["id"] for drawer in listed]


def test_a_full_trail_costs_notes_and_neither_reads_nor_writes(house: House) -> None:
    ids = drawers(house)
    house.palace.trail.flush()
    [segment] = (house.folder.path / "trail").glob("*.db")
    allow({segment.stem: 1})
    for id in ids:
        assert house.palace.call("get_drawer", {"drawer_id": id})["drawer"]["id"] == id
    house.palace.call("add_drawer", PLACE | {"content": "one more"})
    house.palace.trail.flush()
    lost = house.palace.call("status", {})["trail"]["lost"]
    assert 0 < lost <= READS
    allow({})
    house.palace.call("get_drawer", {"drawer_id": ids[0]})
    assert 1 <= len(reads(house)) <= 1 + READS - lost
    assert house.palace.call("status", {})["trail"]["lost"] == lost


def on_a_full_disk(report: Report, folder: Path, ids: list[str]) -> None:
    with open_palace(folder) as house:
        house.palace.call("list_drawers", {})
        limit_files(0)
        for id in ids:
            house.palace.call("get_drawer", {"drawer_id": id})
        house.palace.trail.flush()
        report("trail", house.palace.call("status", {})["trail"])
        limit_files(None)
    report("done")


def test_reads_go_on_where_no_file_may_grow(house: House) -> None:
    ids = drawers(house)
    house.close()
    child = Child(on_a_full_disk, house.folder.path, ids)
    (trail,) = child.wait_for("trail")
    assert trail["lost"] >= READS
    child.wait_for("done")


def read_all(report: Report, folder: Path, ids: list[str], session: str) -> None:
    with open_palace(folder, session=session) as house:
        report("ready")
        for id in ids:
            house.palace.call("get_drawer", {"drawer_id": id})
    report("done")


def test_two_processes_note_into_one_segment(house: House) -> None:
    ids = drawers(house)
    children = [Child(read_all, house.folder.path, ids, name) for name in ("left", "right")]
    for id in ids:
        house.palace.call("get_drawer", {"drawer_id": id})
    for child in children:
        child.wait_for("done")
    assert len(reads(house)) == 3 * READS
    trail = house.palace.call("status", {})["trail"]
    assert trail["lost"] == 0


def read_and_wait(report: Report, folder: Path, ids: list[str]) -> None:
    with open_palace(folder) as house:
        for id in ids[: READS // 2]:
            house.palace.call("get_drawer", {"drawer_id": id})
        house.palace.trail.flush()
        for id in ids[READS // 2 :]:
            house.palace.call("get_drawer", {"drawer_id": id})
        report.die("reading")


def test_a_killed_process_loses_what_it_had_not_yet_written(house: House) -> None:
    child = Child(read_and_wait, house.folder.path, drawers(house))
    child.wait_for("died at")
    assert list(child.reports()) == []
    assert READS // 2 <= len(reads(house)) <= READS
    house.palace.call("get_drawer", {"drawer_id": drawers(house)[0]})
    assert len(reads(house)) > READS // 2
