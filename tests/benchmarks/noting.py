"""What noting a read costs the reader: the same reads with the trail on and off."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from palacelog.bootstrap import House, open_palace
from tests.benchmarks.measuring import Goal, Report, Sizes, milliseconds
from tests.benchmarks.palaces import with_history

ROUNDS: Final = 3
MODES: Final = ("off", "digest", "full")
TOOLS: Final = ("get_drawer", "list_drawers")
BOUND_MS: Final = 0.1


def noting_a_read(folder: Path, sizes: Sizes) -> Report:
    """Goal 9: milliseconds that noting a read adds to it at the median, in full and as a digest.

    A drawer and a page of a wing; every call asks something else, so none is a repeat. Each read is
    made with the trail off, as a digest and in full, one after the other, and compared with itself.
    """
    count = sizes.of(20_000, 4_000)
    with with_history(folder / "palace", count) as house:
        asked = _asked(house, sizes.of(400, 200))
    houses = {mode: open_palace(folder / "palace", audit={"reads": mode}) for mode in MODES}
    waits: dict[str, list[float]] = {}
    try:
        for number in range(ROUNDS * len(MODES)):
            _ask(houses, number, asked, waits)
    finally:
        for house in houses.values():
            house.close()
    added = {
        f"{tool} {mode}": milliseconds(
            median(
                a - b for a, b in zip(waits[f"{tool} {mode}"], waits[f"{tool} off"], strict=True)
            )
        )
        for tool in TOOLS
        for mode in MODES[1:]
    }
    worst = max(added, key=lambda name: added[name])
    return Report(
        [
            Goal(
                number=9,
                name="noting a read",
                compares="ms that audit.reads = full or digest add to a read at p50, the most",
                ratio=added[worst],
                bound=BOUND_MS,
                at_least=False,
                absolute={f"{name} ms": milliseconds(median(waits[name])) for name in waits}
                | {f"{name} adds ms": value for name, value in added.items()},
                reasons=f"{ROUNDS} rounds at {count:,} operations; the most was {worst}",
            )
        ]
    )


def _asked(house: House, count: int) -> list[tuple[str, dict[str, Any]]]:
    """Reads that are all different, drawers and pages in turns."""
    found: list[tuple[str, dict[str, Any]]] = []
    cursor: dict[str, Any] = {}
    while len(found) < count:
        page = house.palace.call("list_drawers", {"limit": 20} | cursor)
        for drawer in page["drawers"]:
            number = len(found)
            found.append(("get_drawer", {"drawer_id": drawer["id"]}))
            place = {"wing": f"project {number % 12}", "limit": 10 + number // 12}
            found.append(("list_drawers", place))
        cursor = {"cursor": page["cursor"]}
    return found[:count]


def _ask(
    houses: dict[str, House],
    number: int,
    asked: list[tuple[str, dict[str, Any]]],
    waits: dict[str, list[float]],
) -> None:
    """One round: another mode begins each time."""
    first = number % len(MODES)
    for tool, arguments in asked:
        for mode in MODES[first:] + MODES[:first]:
            started = perf_counter()
            houses[mode].palace.call(tool, arguments)
            waits.setdefault(f"{tool} {mode}", []).append(perf_counter() - started)
