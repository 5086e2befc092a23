"""What all benchmarks share: taking turns, medians, and the form of a result."""

from __future__ import annotations

import gc
import math
import platform
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

ROUNDS_MIN: Final = 5

Rates = dict[str, list[float]]


@dataclass(frozen=True)
class Sizes:
    """How much is measured; `quick` is for trying a change, never for a comparison."""

    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """The size of this run."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Goal:
    """A ratio that is to be kept.

    Attributes:
        compares: what is divided by what.
        ratio: the median over the rounds.
        absolute: what was measured on this machine, by name with unit.
        reasons: what a reader needs to know to believe it.
    """

    number: int
    name: str
    compares: str
    ratio: float
    bound: float
    at_least: bool
    absolute: dict[str, float] = field(default_factory=dict)
    reasons: str = ""

    @property
    def met(self) -> bool:
        """Whether the ratio is on the right side of its bound."""
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound


@dataclass(frozen=True)
class Figure:
    """Something worth knowing that has no goal."""

    name: str
    value: float
    unit: str
    note: str = ""


@dataclass
class Report:
    """The results of a theme, or of all."""

    goals: list[Goal] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Take another report's results in."""
        self.goals += other.goals
        self.figures += other.figures

    def as_json(self) -> dict[str, Any]:
        """Both lists, each goal with whether it was met."""
        goals = sorted(self.goals, key=lambda goal: goal.number)
        return {
            "goals": [asdict(goal) | {"met": goal.met} for goal in goals],
            "figures": [asdict(figure) for figure in self.figures],
        }


def in_turns(rounds: int, sides: Mapping[str, Callable[[int], int]]) -> Rates:
    """Rates of each side, by round: the sides take turns, and another one begins each round.

    Args:
        sides: each is called with the number of the round, and answers how many it did.
    """
    if rounds < ROUNDS_MIN:
        raise ValueError(f"{rounds} rounds are too few for a median")
    rates: Rates = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            started = perf_counter()
            done = sides[name](number)
            rates[name].append(done / (perf_counter() - started))
    return rates


def ratio(rates: Rates, over: str, under: str) -> float:
    """The median of the rounds' ratios: what slows a whole round slows both sides of it."""
    return median(a / b for a, b in zip(rates[over], rates[under], strict=True))


def medians(rates: Rates, unit: str = "per s") -> dict[str, float]:
    """The median rate of each side, with its unit in the name."""
    return {f"{name} {unit}": round(median(found), 1) for name, found in rates.items()}


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    return sorted_values[max(0, math.ceil(share * len(sorted_values)) - 1)]


def timed(work: Callable[[], Any]) -> float:
    """Seconds that one call takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def milliseconds(seconds: float) -> float:
    """For figures."""
    return round(seconds * 1_000, 3)


def machine(folder: Path, payload_bytes: dict[str, float]) -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cores": len(_lines("/proc/cpuinfo", "processor")),
        "processor": next(iter(_lines("/proc/cpuinfo", "model name")), platform.processor()),
        "memory": next(iter(_lines("/proc/meminfo", "MemTotal")), "unknown"),
        "system": f"{platform.system()} {platform.release()}",
        "file_system": _file_system(folder),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "journal": "WAL",
        "synchronous": {"log": "FULL", "views": "NORMAL", "views while rebuilt": "OFF"},
        "payload_bytes": payload_bytes,
    }


def _lines(path: str, name: str) -> list[str]:
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)]


def _file_system(folder: Path) -> str:
    """The type of the file system that the folder is on: the longest mount point above it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    except OSError:
        return "unknown"
    above = [(mount[1], mount[2]) for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(above, key=lambda one: len(one[0]), default=("", "unknown"))[1]
