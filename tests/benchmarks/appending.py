"""Appending to the log: against SQLite alone, and against a log that has grown."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from domain.operation import Context, Draft
from projections.sqlite import connect
from replay.log import Log
from tests.benchmarks.measuring import Goal, Report, Sizes, in_turns, medians, ratio
from tests.benchmarks.mixture import STARTED, STEP, Author, new_log

BLOCK: Final = 50
_TABLE: Final = (
    "CREATE TABLE stored_events (rowid INTEGER PRIMARY KEY AUTOINCREMENT, "
    "originator_id TEXT NOT NULL, originator_version INTEGER NOT NULL, "
    "topic TEXT NOT NULL, state BLOB NOT NULL, UNIQUE (originator_id, originator_version))"
)
_INSERT: Final = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
)
_ROWS: Final = (
    "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid"
)


def append_against_sqlite(folder: Path, sizes: Sizes) -> Report:
    """Goal 1: `Log.append` of one operation per durable commit / an INSERT of the same row by
    sqlite3.

    Both write the same bytes into the same kind of table with the same pragmas, one BEGIN
    IMMEDIATE and COMMIT for each. The rows are known from a rehearsal: appending the same drafts at
    the same times gives the same bytes, which is checked afterwards.
    """
    rounds = sizes.of(30, 6)
    drafts = _drafts(rounds * BLOCK)
    rehearsal = new_log(folder / "rehearsal.db")
    with rehearsal.writing():
        for number, draft in enumerate(drafts):
            _append(rehearsal, draft, number)
        rehearsal.commit()
    rehearsal.close()
    rows = _rows(folder / "rehearsal.db")
    log, raw = new_log(folder / "log.db"), connect(folder / "raw.db", synchronous="FULL")
    raw.execute(_TABLE)
    sides = {"Log.append": _appends(log, drafts), "sqlite3": _inserts(raw, rows)}
    rates = in_turns(rounds, sides)
    log.close()
    raw.close()
    if not rows == _rows(folder / "log.db") == _rows(folder / "raw.db"):
        raise AssertionError("the two sides did not write the same bytes")
    return Report(
        [
            Goal(
                number=1,
                name="append",
                compares="Log.append, one durable commit each / sqlite3 writing the same rows",
                ratio=ratio(rates, "Log.append", "sqlite3"),
                bound=0.6,
                at_least=True,
                absolute=medians(rates, "commits per s")
                | {"bytes a row": round(sum(len(row[3]) for row in rows) / len(rows))},
                reasons=f"{rounds} rounds of {BLOCK} commits; equal bytes checked",
            )
        ]
    )


def append_to_a_big_log(folder: Path, sizes: Sizes, big: Path, seconds_to_make: int) -> Report:
    """Goal 7: `Log.append` of one operation per durable commit at the end of a big log / the same
    on an empty one.
    """
    rounds = sizes.of(30, 6)
    drafts = _drafts(rounds * BLOCK)
    grown, empty = Log(big), new_log(folder / "empty.db")
    before = grown.position()
    rates = in_turns(rounds, {"big": _appends(grown, drafts), "empty": _appends(empty, drafts)})
    grown.close()
    empty.close()
    return Report(
        [
            Goal(
                number=7,
                name="append to a big log",
                compares=f"Log.append at {before:,} events / Log.append to an empty log",
                ratio=ratio(rates, "big", "empty"),
                bound=0.8,
                at_least=True,
                absolute=medians(rates, "commits per s")
                | {
                    "MB of the big log": round(big.stat().st_size / 1e6),
                    "s to make it": seconds_to_make,
                },
                reasons=f"{rounds} rounds of {BLOCK} commits",
            )
        ]
    )


def _drafts(count: int) -> list[Draft]:
    author = Author(seed=7, subjects=200)
    context = Context("claude", "mcp", "session-1", "kiran")
    stated = [author.write(STARTED + number * STEP) for number in range(count)]
    return [Draft(tool, payload, payload, context, target="known") for tool, payload in stated]


def _append(log: Log, draft: Draft, number: int) -> None:
    at = STARTED + number * STEP
    nonce = number.to_bytes(16, "big")
    log.append(draft, host="bench.local", recorded_at=at, hlc=(at // 1_000) << 16, nonce=nonce)


def _appends(log: Log, drafts: list[Draft]) -> Callable[[int], int]:
    def block(round_number: int) -> int:
        first = round_number * BLOCK
        for number in range(first, first + BLOCK):
            with log.writing():
                _append(log, drafts[number], number)
                log.commit()
        return BLOCK

    return block


def _inserts(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> Callable[[int], int]:
    cursor = connection.cursor()

    def block(round_number: int) -> int:
        first = round_number * BLOCK
        for row in rows[first : first + BLOCK]:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute(_INSERT, row)
            cursor.execute("COMMIT")
        return BLOCK

    return block


def _rows(path: Path) -> list[tuple[Any, ...]]:
    connection = connect(path, synchronous="FULL")
    try:
        return connection.execute(_ROWS).fetchall()
    finally:
        connection.close()
