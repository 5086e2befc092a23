"""Calls as callers see them: many at once, one after the other, and on a subject that has grown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from threading import Barrier, Thread
from typing import Any, Final

from palacelog.bootstrap import House
from palacelog.palace import Palace
from tests.benchmarks.measuring import (
    Figure,
    Goal,
    Report,
    Sizes,
    in_turns,
    milliseconds,
    percentile,
    ratio,
    timed,
)
from tests.benchmarks.mixture import Author
from tests.benchmarks.palaces import make

CALLERS: Final = (1, 8, 32)
OBJECTS_A_ROUND: Final = 50


def commits_are_shared(folder: Path, sizes: Sizes) -> Report:
    """Goal 2: commits of the log / operations, while 32 threads call at once.

    Beside it the operations per second of 1, 8 and 32 callers, each call waiting for its answer.
    """
    calls = sizes.of(640, 128)
    shared: list[float] = []
    with make(folder / "palace") as house:

        def many(callers: int) -> Callable[[int], int]:
            def work(_: int) -> int:
                before = house.palace.writer.commits
                done = _call_from_threads(house.palace, callers, calls // callers)
                if callers == max(CALLERS):
                    shared.append((house.palace.writer.commits - before) / done)
                return done

            return work

        rates = in_turns(7, {f"{callers} callers": many(callers) for callers in CALLERS})
    return Report(
        [
            Goal(
                number=2,
                name="shared commits",
                compares="commits / operations with 32 threads in Palace.call",
                ratio=median(shared),
                bound=0.1,
                at_least=False,
                absolute={
                    f"{name} operations per s": round(median(found), 1)
                    for name, found in rates.items()
                },
                reasons=f"7 rounds of {calls} calls, add_drawer and kg_add in turns",
            )
        ]
    )


def one_caller(folder: Path, sizes: Sizes) -> Report:
    """How long a caller who is alone waits for a write: `add_drawer` and `kg_add` in turns."""
    calls = sizes.of(1_500, 200)
    author = Author(seed=11, subjects=200)
    waits: dict[str, list[float]] = {"add_drawer": [], "kg_add": []}
    with make(folder / "palace") as house:
        for number in range(calls):
            for tool, arguments in _pair(author, number):
                waits[tool].append(timed(lambda: house.palace.call(tool, arguments)))  # noqa: B023
    figures = []
    for tool, found in waits.items():
        found.sort()
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            value = milliseconds(percentile(found, share))
            figures.append(Figure(f"{tool}, {name}", value, "ms", f"{calls} calls of one caller"))
    return Report(figures=figures)


def many_objects(folder: Path, sizes: Sizes) -> Report:
    """Goal 5: the wait for `kg_add` of another object under a subject and predicate that have
    10,000 / the same where they have ten to sixty.

    The rounds take turns: fifty more objects for the full one, and objects 10 to 60 of a new one.
    """
    held = sizes.of(10_000, 1_000)
    with make(folder / "palace") as house:
        _fill_subject(house, "full", held - OBJECTS_A_ROUND)
        count = held - OBJECTS_A_ROUND

        def to_full(number: int) -> int:
            first = count + number * OBJECTS_A_ROUND
            return _add_objects(house.palace, "full", first, OBJECTS_A_ROUND)

        def to_new(number: int) -> int:
            return _add_objects(house.palace, f"new {number}", 10, OBJECTS_A_ROUND)

        for number in range(7):
            _fill_subject(house, f"new {number}", 10)
        rates = in_turns(7, {"full": to_full, "new": to_new})
    return Report(
        [
            Goal(
                number=5,
                name="many objects",
                compares=f"wait for object {held:,} of a (subject, predicate) / for objects 10-60",
                ratio=ratio(rates, "new", "full"),
                bound=2.0,
                at_least=False,
                absolute={
                    "ms full": milliseconds(1 / median(rates["full"])),
                    "ms new": milliseconds(1 / median(rates["new"])),
                },
                reasons="7 rounds of 50 calls, from the 50 before that size on",
            )
        ]
    )


def starting(folder: Path, sizes: Sizes) -> Report:
    """How long Python needs to load what every process of ours loads."""
    rounds = sizes.of(9, 5)
    bare = [timed(lambda: _python("pass")) for _ in range(rounds)]
    ours = [timed(lambda: _python("import palacelog.bootstrap")) for _ in range(rounds)]
    return Report(
        figures=[
            Figure("start-up: import palacelog.bootstrap", milliseconds(median(ours)), "ms"),
            Figure("start-up: python alone", milliseconds(median(bare)), "ms"),
        ]
    )


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _call_from_threads(palace: Palace, callers: int, calls: int) -> int:
    """`callers` threads that make `calls` calls each; returns how many there were."""
    barrier = Barrier(callers)
    done: list[int] = []

    def work(caller: int) -> None:
        author = Author(seed=1_000 + caller, subjects=200)
        arguments = [pair for number in range((calls + 1) // 2) for pair in _pair(author, number)]
        barrier.wait()
        for tool, given in arguments[:calls]:
            palace.call(tool, given)
        done.append(calls)

    threads = [Thread(target=work, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if sum(done) != callers * calls:
        raise AssertionError("a caller failed")
    return callers * calls


def _pair(author: Author, number: int) -> list[tuple[str, dict[str, Any]]]:
    drawer = {"wing": f"project {number % 12}", "room": "notes", "content": author.text()}
    fact = {
        "subject": f"Entity {author.random.randrange(200)}",
        "predicate": f"relates to {number % 12}",
        "object": f"Thing {author.random.getrandbits(32)}",
    }
    return [("add_drawer", drawer), ("kg_add", fact)]


def _fill_subject(house: House, subject: str, objects: int) -> None:
    """Add objects from many threads, as fast as commits can be shared."""
    threads = [
        Thread(target=_add_objects, args=(house.palace, subject, first, 1, 16, objects))
        for first in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _add_objects(
    palace: Palace, subject: str, first: int, count: int, step: int = 1, below: int | None = None
) -> int:
    numbers = range(first, first + count) if below is None else range(first, below, step)
    for number in numbers:
        fact = {"subject": subject, "predicate": "knows", "object": f"Person {number}"}
        palace.call("kg_add", fact)
    return len(numbers)
