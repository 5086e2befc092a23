"""Run the benchmarks: `python -m tests.benchmarks [--quick] [--only 1,4] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tests.benchmarks import (
    appending,
    auditing,
    calling,
    meaning,
    noting,
    reading,
    rebuilding,
    receiving,
    searching,
    serving,
)
from tests.benchmarks.measuring import Goal, Report, Sizes, machine
from tests.benchmarks.mixture import arrivals, fill, new_log, size_of

Theme = Callable[[Path, Sizes], Report]

BUILD: Final = Path("build")


def big_log(folder: Path, sizes: Sizes) -> Report:
    """Goals 8 and 7, on one big log that is made for them and removed."""
    count = sizes.of(1_000_000, 40_000)
    big = folder / "big.db"
    log = new_log(big)
    started = perf_counter()
    fill(log, arrivals(count))
    seconds = perf_counter() - started
    log.close()
    report = receiving.replay_in_bounded_memory(folder, sizes, big, count)
    report.add(appending.append_to_a_big_log(folder, sizes, big, round(seconds)))
    return report


THEMES: Final[dict[str, Theme]] = {
    "1": appending.append_against_sqlite,
    "2": calling.commits_are_shared,
    "3": receiving.receive_against_save,
    "4": rebuilding.rebuild_against_scan,
    "5": calling.many_objects,
    "6": reading.past_against_present,
    "graph": reading.graph_reads,
    "9": noting.noting_a_read,
    "13": meaning.embedding_against_the_session,
    "14": meaning.search_against_the_parts,
    "15": meaning.writes_beside_the_worker,
    "vectors": meaning.many_vectors,
    "11,12": auditing.copy_and_ask,
    "waits": calling.one_caller,
    "late": receiving.late_arrivals,
    "start": calling.starting,
    "10,search": searching.search_against_bare,
    "16": serving.start_against_the_empty_server,
    "ways": serving.one_call_by_each_way,
    "six": serving.memory_of_six_sessions,
    "stdio": serving.over_standard_input,
    "7,8": big_log,
}


def main() -> None:
    """Measure, print a table, write the JSON."""
    options = _options()
    # What measures vectors names its embedder; the rest is measured without.
    os.environ["PALACELOG_VECTORS__EMBEDDER"] = "none"
    console = Console(stderr=False, width=None if Console().is_terminal else 160)
    sizes = Sizes(options.quick)
    report = Report()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as made:
        about = machine(Path(made), _payload_bytes(Path(made)))
        for name, theme in THEMES.items():
            if options.only is None or options.only & set(name.split(",")):
                console.print(f"[dim]{(theme.__doc__ or name).partition(chr(10))[0]}[/dim]")
                report.add(_run(theme, Path(made), sizes))
    _show(console, report, about)
    result = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "quick": options.quick}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result | {"machine": about} | report.as_json(), indent=2))
    console.print(f"Written to {options.json}.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try a change")
    parser.add_argument(
        "--only", type=lambda text: set(text.split(",")), help=f"some of {', '.join(THEMES)}"
    )
    parser.add_argument("--json", type=Path, default=BUILD / "bench.json")
    parser.add_argument("--folder", type=Path, default=BUILD, help="on the disk to be measured")
    return parser.parse_args()


def _run(theme: Theme, folder: Path, sizes: Sizes) -> Report:
    """Run a theme in a folder of its own, which is removed with all it wrote."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        return theme(Path(own), sizes)


def _payload_bytes(folder: Path) -> dict[str, float]:
    log = new_log(folder / "sample.db")
    try:
        fill(log, arrivals(2_000))
        return size_of(log)
    finally:
        log.close()


def _show(console: Console, report: Report, about: dict[str, Any]) -> None:
    told = Table(show_header=False, box=None)
    for name, value in about.items():
        told.add_row(name, ", ".join(f"{k} {v}" for k, v in value.items())
                     if isinstance(value, dict) else str(value))  # fmt: skip
    console.print(told)
    goals = Table("", "goal", "ratio", "bound", "", "measured here")
    for goal in sorted(report.goals, key=lambda one: one.number):
        goals.add_row(*_goal_row(goal))
    console.print(goals)
    figures = Table("figure", "value", "unit", "")
    for figure in report.figures:
        figures.add_row(figure.name, f"{figure.value:,g}", figure.unit, figure.note)
    console.print(figures)


def _goal_row(goal: Goal) -> tuple[str, ...]:
    bound = f"{'>=' if goal.at_least else '<='} {goal.bound:g}"
    verdict = "[green]met[/green]" if goal.met else "[red]missed[/red]"
    lines = [f"{value:,g} {name}" for name, value in goal.absolute.items()]
    about = f"[bold]{goal.name}[/bold]\n{goal.compares}\n[dim]{goal.reasons}[/dim]"
    return str(goal.number), about, f"{goal.ratio:.3f}", bound, verdict, "\n".join(lines)


if __name__ == "__main__":
    main()
