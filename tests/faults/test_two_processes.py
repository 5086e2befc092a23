"""Two processes with four threads each write to one palace, while two more read and verify it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from domain.operation import Operation
from palacelog.bootstrap import House, create_palace, open_palace
from replay.rebuild import rebuild
from tests.faults.judging import findings, sound
from tests.faults.processes import Child, Report
from tests.faults.work import varied

THREADS = 4
WRITES = 500
"""Of each process."""
SHARED = 40
"""How many keyed writes both processes make, each twice."""


def write_a_lot(report: Report, folder: Path, name: str) -> None:
    """Own writes of all kinds, and writes under keys that the other process uses as well."""
    with open_palace(folder, session=name) as house:

        def timed(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            started = time.monotonic()
            answer = house.palace.call(tool, arguments)
            slowest[0] = max(slowest[0], time.monotonic() - started)
            return answer

        def run(thread: int) -> None:
            for answer in varied(timed, f"{name}-{thread}", (WRITES - 2 * SHARED) // THREADS):
                report.acknowledge(answer)
            for number in range(thread, 2 * SHARED, THREADS):
                report("keyed", number % SHARED, timed("add_drawer", keyed(number % SHARED)))

        slowest = [0.0]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(run, range(THREADS)))
        report("slowest", slowest[0])


def keyed(number: int) -> dict[str, Any]:
    place = {"wing": "shared", "room": "keys"}
    return place | {"content": f"shared {number}", "idempotency_key": f"shared {number}"}


def read_a_lot(report: Report, folder: Path) -> None:
    """Read with two threads until told to stop by a file; totals never go back."""
    with open_palace(folder) as house, ThreadPoolExecutor(2) as pool:
        for reads in pool.map(lambda _: read_until(house, folder / "stop"), range(2)):
            report("reads", reads)


def read_until(house: House, stop: Path) -> int:
    seen, reads = 0, 0
    while not stop.exists() or not reads:
        listed = house.palace.call("list_operations", {"limit": 50})
        positions = [one["position"] for one in listed["operations"]]
        assert positions == list(range(listed["total"], listed["total"] - len(positions), -1))
        assert listed["total"] >= seen
        seen, reads = listed["total"], reads + 1
        house.palace.call("list_drawers", {"limit": 20})
        house.palace.call("kg_query", {"entity": "Kiran p-0-0", "include_historical": True})
    return reads


def test_nothing_is_lost_or_doubled_and_nobody_sees_a_lock(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """L14, heavier"""
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    with (
        Child(read_a_lot, folder) as reader,
        Child(write_a_lot, folder, "p") as first,
        Child(write_a_lot, folder, "q") as second,
    ):
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(Child.finishes, [first, second]))
        (folder / "stop").touch()
        reads = [one[1] for one in reader.finishes()]
    (folder / "stop").unlink()

    own = [op_id for one in told for kind, op_id, *_ in one if kind == "acknowledged"]
    answers: dict[int, list[dict[str, Any]]] = {}
    for kind, *what in (one for reported in told for one in reported):
        if kind == "keyed":
            answers.setdefault(what[0], []).append(what[1])
    assert sorted(answers) == list(range(SHARED))
    for given in answers.values():
        assert len(given) == 4
        assert all(one == given[0] for one in given)
    under_keys = [given[0]["op_id"] for given in answers.values()]
    held = sound(folder, own + under_keys)
    assert len(held) == len(own) + SHARED == 2 * (WRITES - 2 * SHARED) + SHARED

    slowest = max(one[1] for reported in told for one in reported if one[0] == "slowest")
    tell(
        f"two processes: {2 * WRITES} writes, slowest {slowest * 1000:.0f} ms; {sum(reads)} reads; "
        f"at most {longest_run(held)} writes of one process in a row while both wrote"
    )


def longest_run(held: Sequence[Operation]) -> int:
    """How often a process wrote in a row at most, until one of the two was done."""
    sessions = [one.header.session for one in held if one.header.session is not None]
    upto = min(max(at for at, one in enumerate(sessions) if one == name) for name in set(sessions))
    return max(len(list(run)) for _, run in groupby(sessions[: upto + 1]))


def write_some(report: Report, folder: Path, name: str, count: int) -> None:
    with open_palace(folder) as house:
        report("opened")
        for answer in varied(house.palace.call, name, count):
            report.acknowledge(answer)


def test_verify_finds_nothing_wrong_with_what_is_being_written(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    runs = 0
    with Child(write_some, folder, "p", 400) as writer:
        writer.wait_for("opened")
        for kind, *_ in writer.reports():
            if kind == "acknowledged" and runs < 12:
                assert findings(folder) == []
                runs += 1
        writer.ended(0)
    assert runs == 12
    assert len(sound(folder)) == 400


def test_readers_and_writers_go_on_while_views_are_rebuilt_again_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    with (
        open_palace(folder) as house,
        Child(read_a_lot, folder) as reader,
        Child(write_some, folder, "p", 200) as writer,
    ):
        written = 0
        for kind, *_ in writer.reports():
            written += kind == "acknowledged"
            if written % 10 == 0:
                rebuild(house.log, house.generations, house.lock)
        writer.ended(0)
        (folder / "stop").touch()
        assert all(reads > 0 for _, reads in reader.finishes())
    (folder / "stop").unlink()
    assert len(sound(folder)) == written == 200


@pytest.mark.parametrize("missing", ["current", "log_id"])
def test_two_processes_may_open_at_once_a_palace_whose_views_must_be_made(
    missing: str, tmp_path: Path
) -> None:
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    with open_palace(folder) as house:
        written = [answer["op_id"] for answer in varied(house.palace.call, "before", 30)]
        if missing == "log_id":
            with house.lock.held(), house.log.writing():
                house.log.save_about(house.log.about._replace(log_id="another"))
                house.log.commit()
    if missing == "current":
        (folder / "views" / "current").unlink()
    with Child(write_some, folder, "p", 10) as first, Child(write_some, folder, "q", 10) as second:
        told = [*first.finishes(), *second.finishes()]
    assert len(told) == 22
    assert len(sound(folder, written)) == 50
