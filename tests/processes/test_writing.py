"""Several processes at one palace: case L14."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.command_line import ROOT
from tests.palaces import Fleet, operations

PLACE = {"wing": "home", "room": "notes"}

WORKER = """
import sys
from pathlib import Path
from palacelog.bootstrap import open_palace

who, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
seen = 0
with open_palace(folder) as house:
    for number in range(count):
        if who.startswith("writer"):
            place = {"wing": who, "room": "notes"}
            house.palace.call("add_drawer", place | {"content": f"{who} {number}"})
        else:
            answer = house.palace.call("list_drawers", {"limit": 200})
            assert answer["total"] >= seen, (answer["total"], seen)
            seen = answer["total"]
            house.palace.call("status", {})
print("done", seen)
"""


@pytest.mark.slow
def test_two_processes_write_while_others_read_and_nobody_sees_a_lock(fleet: Fleet) -> None:
    """L14 (a heavier one is among the faults)"""
    ada = fleet.device("ada")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, who, str(ada.folder), count],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for who, count in (
            ("writer-1", "150"),
            ("writer-2", "150"),
            ("reader-1", "100"),
            ("reader-2", "100"),
        )
    ]
    for number in range(30):
        ada.add_drawer(**PLACE, content=f"own {number}")
        assert ada.list_drawers(wing="home")["total"] == number + 1
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.startswith("done"), out

    assert ada.position() == 330
    for wing, count in (("writer-1", 150), ("writer-2", 150), ("home", 30)):
        assert ada.list_drawers(wing=wing)["total"] == count
    assert [one.header.local_seq for one in operations(ada.house)] == list(range(1, 331))
