"""The audit copy: against DuckDB's bare appender, and how long a ready-made question takes."""

from __future__ import annotations

import gc
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple, cast

import duckdb

from projections.audit import questions
from projections.audit.copy import COPY_FILE, AuditCopy
from projections.audit.questions import Window
from projections.audit.schema import OPERATIONS
from projections.audit.sources import Operations
from projections.reading import Reading
from projections.views import Checkpoint
from replay.log import Log
from replay.stored import stored_events
from tests.benchmarks.measuring import (
    Goal,
    Rates,
    Report,
    Sizes,
    medians,
    milliseconds,
    ratio,
    timed,
)
from tests.benchmarks.mixture import arrivals, fill, new_log

ROUNDS: Final = 10
QUESTIONS: Final = 9


class _UpTo(NamedTuple):
    """What the copy of a log asks of a reading."""

    checkpoint: Checkpoint
    position: int


def copy_and_ask(folder: Path, sizes: Sizes) -> Report:
    """Goals 11 and 12: operations into DuckDB / its bare appender with the same rows; a question.

    The log is copied a tenth at a time; each round appends the same tenth to a file of its own.
    """
    count = sizes.of(1_000_000, 20_000)
    log = new_log(folder / "log.db")
    try:
        fill(log, arrivals(count))
        copy = AuditCopy(
            folder, [Operations(lambda after, upto: stored_events(log, after, upto))], "UTC"
        )
        rates = _fill_in_turns(copy, log, folder, count // ROUNDS)
        up_to = _up_to(log, count)
        waits = sorted(
            timed(lambda: copy.ask(up_to, lambda open: questions.activity(open, Window())))
            for _ in range(QUESTIONS)
        )
        bare_mb = (folder / "bare.duckdb").stat().st_size / 1e6
        copy_mb = (folder / COPY_FILE).stat().st_size / 1e6
    finally:
        log.close()
    about = {"copy MB": round(copy_mb, 1), "bare MB": round(bare_mb, 1)}
    return Report([_copied(rates, count, about), _answered(waits, count)])


def _copied(rates: Rates, count: int, about: dict[str, float]) -> Goal:
    return Goal(
        number=11,
        name="operations into the audit copy",
        compares="reading, checking and copying operations / DuckDB's appender with the same rows",
        ratio=ratio(rates, "copy", "bare"),
        bound=0.5,
        at_least=True,
        absolute=medians(rates) | about,
        reasons=f"{ROUNDS} rounds of {count // ROUNDS:,} operations, opening and commit included",
    )


def _answered(waits: list[float], count: int) -> Goal:
    return Goal(
        number=12,
        name="a ready-made audit question",
        compares="seconds from the question to the answer, the copy being caught up",
        ratio=median(waits),
        bound=1.0,
        at_least=False,
        absolute={"p50 ms": milliseconds(median(waits)), "slowest ms": milliseconds(waits[-1])},
        reasons=f"per day, device and tool over {count:,} operations; opening the file included",
    )


def _fill_in_turns(copy: AuditCopy, log: Log, folder: Path, each: int) -> Rates:
    bare = folder / "bare.duckdb"
    with duckdb.connect(str(bare)) as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in OPERATIONS.items())
        connection.execute(f"CREATE TABLE operations ({columns})")
    copy.ask(_up_to(log, 0), lambda open: None)
    rates: Rates = {"copy": [], "bare": []}
    for number in range(ROUNDS):
        up_to = _up_to(log, (number + 1) * each)
        rows = _rows(log, number * each, up_to.position)
        sides = {
            "copy": lambda up_to=up_to: copy.ask(up_to, lambda open: None),
            "bare": lambda rows=rows: _append(bare, rows),
        }
        for name in list(sides)[:: -1 if number % 2 else 1]:
            gc.collect()
            rates[name].append(each / timed(sides[name]))
    return rates


def _append(path: Path, rows: list[tuple[Any, ...]]) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.begin()
        with connection.appender("operations") as appender:
            appender.append_rows(rows)
        connection.commit()


def _rows(log: Log, after: int, upto: int) -> list[tuple[Any, ...]]:
    rows = []
    for one in stored_events(log, after, upto):
        header = {"device": one.header["origin_device"], "host": one.header.get("origin_host")}
        header |= one._asdict() | {"outcome": "accepted"} | one.header
        rows.append(tuple(header.get(name) for name in OPERATIONS))
    return rows


def _up_to(log: Log, position: int) -> Reading:
    checkpoint = Checkpoint(log.log_id, position, b"", 0)
    return cast(Reading, _UpTo(checkpoint, position))
