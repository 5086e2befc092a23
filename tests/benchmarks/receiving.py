"""Receiving what other devices recorded: against the library's own saving, and a whole million."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from domain.acceptance import Appended
from domain.operation import Operation, Recorded
from replay.log import Log
from replay.store import logged_event
from tests.benchmarks.measuring import Figure, Goal, Report, Sizes, in_turns, medians, ratio
from tests.benchmarks.mixture import STARTED, STEP, Fleet, arrivals, fill, new_log
from tests.benchmarks.palaces import make

BATCH: Final = 500
BATCHES_A_ROUND: Final = 4
MEGABYTES_MAX: Final = 500


def receive_against_save(folder: Path, sizes: Sizes) -> Report:
    """Goal 3: `Log.receive` of events in order, 500 to a transaction, nothing projected / the
    library's `Application.save` of the same events, 500 to a transaction on the same store.

    What the library saves is what a log that received them first has stored, so that both sides
    end with the same rows.
    """
    rounds = sizes.of(10, 5)
    arriving = list(arrivals(rounds * BATCHES_A_ROUND * BATCH, seed=3))
    rehearsal = new_log(folder / "rehearsal.db")
    fill(rehearsal, arriving)
    placed = [one for batch in _pages(rehearsal) for one in batch]
    rehearsal.close()
    received, saved = new_log(folder / "received.db"), new_log(folder / "saved.db")
    rates = in_turns(
        rounds,
        {
            "Log.receive": _receives(received, arriving),
            "Application.save": _saves(saved, placed),
        },
    )
    equal = received.head() == saved.head()
    received.close()
    saved.close()
    if not equal:
        raise AssertionError("the two sides did not store the same events")
    return Report(
        [
            Goal(
                number=3,
                name="receive",
                compares="Log.receive without projecting / Application.save of the same events",
                ratio=ratio(rates, "Log.receive", "Application.save"),
                bound=0.5,
                at_least=True,
                absolute=medians(rates, "events per s"),
                reasons=f"{rounds} rounds of {BATCHES_A_ROUND} transactions of {BATCH} events",
            )
        ]
    )


def replay_in_bounded_memory(folder: Path, sizes: Sizes, big: Path, count: int) -> Report:
    """Goal 8: peak memory of a process that receives and projects a whole big log / 500 MB.

    The child reads the events from the big log a batch at a time, as from an outbox file, and hands
    them to the writer of an empty palace, 500 to a turn.
    """
    command = [sys.executable, "-m", "tests.benchmarks.replaying", str(big), str(count)]
    finished = subprocess.run(
        [*command, str(folder / "palace")], capture_output=True, text=True, check=True
    )
    told = json.loads(finished.stdout)
    goal = Goal(
        number=8,
        name="memory of a replay",
        compares=f"peak RSS of replaying {count:,} events / {MEGABYTES_MAX} MB",
        ratio=told["rss_mb"] / MEGABYTES_MAX,
        bound=1.0,
        at_least=False,
        absolute={
            "RSS MB": told["rss_mb"],
            "RSS MB before": told["rss_mb_before"],
            "events per s": told["rate"],
            "events per s, first tenth": told["rate_first_tenth"],
            "events per s, last tenth": told["rate_last_tenth"],
            "views MB": told["views_mb"],
        },
        reasons="one run in a child process; receive and project, in turns of 500",
    )
    return Report([goal])


def late_arrivals(folder: Path, sizes: Sizes) -> Report:
    """How fast events are folded that belong before what their key already holds.

    Two devices assert facts under the same subjects; all of the second one's come after all of the
    first one's, with older stamps, so each refolds its key. Beside it: one key with 1,000 events.
    """
    shared = [_late_rate(folder / f"shared-{number}", sizes.of(250, 50), 4) for number in range(5)]
    hot = [_late_rate(folder / f"hot-{number}", 1, sizes.of(1_000, 200)) for number in range(5)]
    return Report(
        figures=[
            Figure("late arrivals, keys of 4 to 8 events", sorted(shared)[2], "events per s"),
            Figure("late arrivals, one key of 1,000 events", sorted(hot)[2], "events per s"),
        ]
    )


def _late_rate(folder: Path, keys: int, each: int) -> float:
    """Events per second of the second device, receiving and projecting."""
    fleet = Fleet(seed=5)
    late = each if keys > 1 else min(each, 50)

    def facts(device: str, offset: int, count: int) -> list[Recorded]:
        return [
            fleet.record(
                device,
                STARTED + (number * keys + key) * STEP + offset,
                "kg_add",
                {
                    "wing": "facts",
                    "subject": f"Entity {key}",
                    "predicate": "knows",
                    "object": f"{device} {number}",
                    "valid_from": STARTED,
                    "duplicate": False,
                },
            )
            for number in range(count)
            for key in range(keys)
        ]

    first, second = facts("laptop", STEP // 2, each), facts("phone", 0, late)
    with make(folder) as house:
        house.palace.writer.do(lambda turn: _take(turn, first))
        started = perf_counter()
        house.palace.writer.do(lambda turn: _take(turn, second))
        return round(len(second) / (perf_counter() - started), 1)


def _take(turn: Any, events: list[Recorded]) -> None:
    for event in events:
        if not isinstance(turn.receive(event, None, lambda _: None), Appended):
            raise AssertionError("an event was not taken")


def _receives(log: Log, arriving: list[tuple[int, Recorded]]) -> Callable[[int], int]:
    def block(round_number: int) -> int:
        for batch in _batches(arriving, round_number):
            with log.writing():
                for now, event in batch:
                    log.receive(event, claim=None, now=now)
                log.commit()
        return BATCHES_A_ROUND * BATCH

    return block


def _saves(log: Log, placed: list[Operation]) -> Callable[[int], int]:
    app = log.app

    def block(round_number: int) -> int:
        for batch in _batches(placed, round_number):
            with app.datastore.writing():
                app.save(*[logged_event(one) for one in batch])
                app.datastore.commit()
        return BATCHES_A_ROUND * BATCH

    return block


def _batches(every: list[Any], round_number: int) -> Iterator[list[Any]]:
    first = round_number * BATCHES_A_ROUND * BATCH
    for start in range(first, first + BATCHES_A_ROUND * BATCH, BATCH):
        yield every[start : start + BATCH]


def _pages(log: Log) -> Iterator[list[Operation]]:
    position = 0
    while page := list(log.after(position, BATCH)):
        position = page[-1].position
        yield page
