"""A bit of the trail flips: it says the same, or it is named, and memory answers all the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from palacelog.bootstrap import House, open_palace
from palacelog.doctor import examine
from tests.faults.damage import flip
from tests.faults.judging import error_of, goes_on
from tests.palaces import digest_of, new_palace

PLACE = {"wing": "home", "room": "notes"}
READS = 40
FLIPS = 60
ASKED = {"outcome": "all", "include_reads": True, "limit": 200, "session": "before"}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A palace that was closed after many reads."""
    with new_palace(tmp_path_factory.mktemp("read"), session="before") as house:
        for number in range(READS):
            house.palace.call("add_drawer", PLACE | {"content": f"text {number}"})
            house.palace.call("search", {"query": f"text {number}"})
        return house.folder.path


def told(house: House) -> list[Any]:
    """Everything that the trail says of what was noted before."""
    found = house.palace.call("list_operations", ASKED)["operations"]
    return [
        house.palace.call("show_operation", {"op_id": one["op_id"]})["operation"] for one in found
    ]


def test_a_flipped_bit_of_the_trail_is_named_or_changes_nothing(
    read: Path, tmp_path: Path, tell: Any
) -> None:
    with open_palace(read) as house:
        whole, memory = told(house), digest_of(house)
    named = 0
    for seed in range(FLIPS):
        folder = tmp_path / str(seed)
        shutil.copytree(read, folder)
        [segment] = (folder / "trail").glob("*.db")
        byte, bit = flip(segment, Random(seed))
        failures = [one.failure for one in examine(folder) if one.failure is not None]
        named += bool(failures)
        with open_palace(folder) as house:
            assert digest_of(house) == memory
            goes_on(house)
            if not failures:
                assert told(house) == whole, (byte, bit)
            else:
                error_of(lambda house=house: told(house))
        assert {one.code for one in failures} <= {"palacelog::trail::damaged"}
        shutil.rmtree(folder)
    assert named > FLIPS / 3
    tell(f"trail: {named} of {FLIPS} flipped bits are named, the others change nothing")
