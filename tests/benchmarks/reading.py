"""Reads of the past: against the same reads of the present."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

from domain.drawers import Support
from domain.facts import Assertion
from domain.instants import show
from palacelog.bootstrap import House
from tests.benchmarks.measuring import (
    Figure,
    Goal,
    Rates,
    Report,
    Sizes,
    in_turns,
    milliseconds,
    percentile,
    ratio,
    timed,
)
from tests.benchmarks.mixture import STARTED, STEP
from tests.benchmarks.palaces import with_history

ROUNDS: Final = 9
MOMENTS: Final = {"at half": 0.5, "just before": 0.98}
"""How much of the history a moment leaves: much less to read, and almost all of it."""


def past_against_present(folder: Path, sizes: Sizes) -> Report:
    """Goal 6: the time of a read with `as_of` and `known_at` / of the same read without.

    Three reads, each at two moments; the goal is kept by the slowest of the six.
    """
    count = sizes.of(20_000, 4_000)
    with with_history(folder / "palace", count) as house:
        rates = {name: _rates(house, name, count, sizes) for name in ("drawer", "list", "facts")}
        waits = [timed(lambda: house.palace.call("status", {})) for _ in range(sizes.of(50, 10))]
    ratios = {
        f"{name} {moment}": ratio(found, "now", moment)
        for name, found in rates.items()
        for moment in MOMENTS
    }
    worst = max(ratios, key=lambda name: ratios[name])
    absolute = {
        f"{name} {side} ms": milliseconds(1 / median(found[side]))
        for name, found in rates.items()
        for side in found
    }
    goal = Goal(
        number=6,
        name="reads of the past",
        compares="a read with as_of and known_at / the same read without, the slowest of three",
        ratio=ratios[worst],
        bound=1.5,
        at_least=False,
        absolute=absolute | {f"ratio {name}": round(found, 3) for name, found in ratios.items()},
        reasons=f"{count:,} operations, {ROUNDS} rounds; the slowest was {worst}",
    )
    figure = Figure("status, p50", milliseconds(median(waits)), "ms", f"at {count:,} operations")
    return Report([goal], [figure])


GRAPH_READS: Final[dict[str, dict[str, Any]]] = {
    "list_entities": {},
    "kg_stats": {},
    "kg_timeline": {},
    "list_conflicts": {},
    "graph_stats": {},
    "list_wings": {},
}


def graph_reads(folder: Path, sizes: Sizes) -> Report:
    """What reads over the whole graph cost in a large palace."""
    count = sizes.of(100_000, 4_000)
    figures = []
    with with_history(folder / "palace", count) as house:
        [some, *_] = house.palace.call("list_entities", {"limit": 1})["entities"]
        asked = GRAPH_READS | {"entity_relationships": {"entity": some["entity"]}}
        for tool, arguments in asked.items():
            seconds = sorted(
                timed(partial(house.palace.call, tool, arguments)) for _ in range(sizes.of(15, 5))
            )
            note = f"p99 {milliseconds(percentile(seconds, 0.99))} ms at {count:,} operations"
            middle = milliseconds(percentile(seconds, 0.5))
            figures.append(Figure(f"{tool}, p50", middle, "ms", note))
    return Report([], figures)


def _rates(house: House, name: str, count: int, sizes: Sizes) -> Rates:
    """Calls per second of one read: now, and at each moment."""
    tool, asked = _asked(house, name, count, sizes)
    then = {moment: show(STARTED + int(share * count) * STEP) for moment, share in MOMENTS.items()}
    sides = {"now": _reads(house, tool, asked, {})} | {
        moment: _reads(house, tool, asked, {"as_of": at, "known_at": at})
        for moment, at in then.items()
    }
    return in_turns(ROUNDS, sides)


def _asked(house: House, name: str, count: int, sizes: Sizes) -> tuple[str, list[dict[str, Any]]]:
    """The tool and the arguments of a round; everything asked for exists at every moment."""
    chance = Random(6)
    with house.palace.reading() as reading:
        half = int(min(MOMENTS.values()) * count * 0.9)
        reading.pin(half, reading.as_of, None)
        drawers = [row.drawer_id for row in reading.all(Support)]
        subjects = [row.subject for row in reading.all(Assertion)]
    if name == "drawer":
        some = chance.sample(drawers, sizes.of(150, 30))
        return "get_drawer", [{"drawer_id": drawer} for drawer in some]
    if name == "facts":
        some = chance.sample(subjects, sizes.of(100, 20))
        return "kg_query", [{"entity": subject} for subject in some]
    wings = [{"wing": f"project {number}"} for number in range(sizes.of(6, 2))]
    return "list_drawers", [{}, *wings]


def _reads(
    house: House, tool: str, asked: list[dict[str, Any]], moment: dict[str, str]
) -> Callable[[int], int]:
    def block(_: int) -> int:
        for arguments in asked:
            house.palace.call(tool, arguments | moment)
        return len(asked)

    return block
