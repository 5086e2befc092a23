"""Palaces to measure on: made quickly, out of histories, at times of our own."""

from __future__ import annotations

from pathlib import Path

from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.system import System
from replay.log import Log
from replay.rebuild import rebuild
from tests.benchmarks.mixture import STARTED, STEP, arrivals, fill


class At(System):
    """A clock that stands where it is put."""

    def __init__(self, instant: int) -> None:
        self.instant = instant

    def now(self) -> int:
        """Microseconds UTC."""
        return self.instant


def make(path: Path, system: System | None = None) -> House:
    """An empty palace, open."""
    create_palace(path, "primary", system=system, force=True)
    return open_palace(path, system=system)


def with_history(path: Path, count: int) -> House:
    """A palace that received `count` operations of several devices, read just after the last."""
    system = At(STARTED + (count + 1) * STEP)
    folder = create_palace(path, "primary", system=system, force=True)
    log = Log(folder.log)
    fill(log, arrivals(count))
    log.close()
    house = open_palace(path, system=system)
    rebuild(house.log, house.generations, house.lock)
    return house
