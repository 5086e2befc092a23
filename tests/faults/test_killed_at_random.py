"""A process with four writers is killed again and again, at moments that nobody chose."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

from palacelog.bootstrap import create_palace, open_palace
from tests.faults.failing import failing
from tests.faults.judging import sound
from tests.faults.processes import Child, Report
from tests.faults.work import varied

ROUNDS = 25
WRITERS = 4
WRITES = 400
"""More than a child lives to do."""


def write_with_threads(report: Report, folder: Path, name: str, dies_at: int) -> None:
    """Write until killed: by the parent, or by itself at its n-th call of a database."""
    with failing() as fault:
        fault.happens = lambda calls: report.die("a call") if calls == dies_at else None
        house = open_palace(folder)

        def write(writer: int) -> None:
            for answer in varied(house.palace.call, f"{name}-{writer}", WRITES):
                report.acknowledge(answer)

        threads = [threading.Thread(target=write, args=(one,)) for one in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_nothing_acknowledged_is_lost_in_25_rounds(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """Every other round the child dies in the midst of its work on the databases."""
    folder = tmp_path / "ada"
    create_palace(folder, "ada")
    random, everything, unanswered = Random(25), list[str](), 0
    for number in range(ROUNDS):
        by_itself = number % 2 == 1
        dies_at = random.randint(20, 1_500) if by_itself else 0
        with Child(write_with_threads, folder, f"round-{number}", dies_at) as child:
            everything += _acknowledged(child, None if by_itself else random.randint(0, 30))
        # Each look at the palace has written once.
        unanswered = len(sound(folder, everything)) - len(everything) - number
    assert len(everything) > ROUNDS * 10
    tell(
        f"{ROUNDS} kills: {len(everything)} operations acknowledged, 0 lost; "
        f"{unanswered} in the log were not answered any more"
    )


def _acknowledged(child: Child, enough: int | None) -> list[str]:
    """What the child saw acknowledged, read until it dies; kill it after `enough`."""
    seen: list[str] = []
    killed = False
    for kind, *what in child.reports():
        if kind == "acknowledged":
            seen += what
        if enough is not None and len(seen) >= enough and not killed:
            child.signal(9)
            killed = True
    child.ended(-9)
    return seen
