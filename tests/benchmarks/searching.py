"""Searching many drawers: against the bare full text query of the same rows; and listing them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any, Final

from domain.identity import drawer_id
from domain.operation import Recorded
from palacelog.bootstrap import House, create_palace, open_palace
from projections.sqlite import connect
from projections.text import STOP_WORDS, asked, chosen, expression
from projections.tokens import tokens
from replay.log import Log
from replay.rebuild import rebuild
from tests.benchmarks.measuring import (
    Figure,
    Goal,
    Report,
    Sizes,
    milliseconds,
    percentile,
    timed,
)
from tests.benchmarks.mixture import DEVICES, STARTED, STEP, Fleet, fill
from tests.benchmarks.palaces import At

WORDS: Final = 20_000
LIMIT: Final = 10
ALLOWED_SECONDS: Final = 0.001
_BARE: Final = (
    "SELECT texts.drawer_id, texts.content FROM words JOIN texts ON texts.rowid = words.rowid"
    " WHERE words MATCH ? ORDER BY rank LIMIT ?"
)


class Texts:
    """Texts and questions in words that are as unevenly common as those of a language."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        rare = (self._word() for _ in range(WORDS))
        self._words = [*sorted(STOP_WORDS), *rare]
        self._weights = list(accumulate(1 / (place + 3) for place in range(len(self._words))))

    def text(self, low: int, high: int) -> str:
        """A text of that many words."""
        count = self.random.randint(low, high)
        return " ".join(self.random.choices(self._words, cum_weights=self._weights, k=count))

    def _word(self) -> str:
        return "".join(self.random.choices(ascii_lowercase, k=self.random.randint(4, 9)))


def search_against_bare(folder: Path, sizes: Sizes) -> Report:
    """Goal 10: a `search` of many drawers / the bare FTS5 query for the same words, with the texts
    of its rows; 1 ms is taken off the search first. The worse of p50 and p99 counts.
    """
    count = sizes.of(100_000, 5_000)
    writer = Texts(9)
    with _shelf(folder / "palace", count, writer) as house:
        questions = [writer.text(2, 8) for _ in range(sizes.of(300, 60))]
        bare, own = _measured(house, questions)
        figures = _figures(house, count, questions, sizes)
    ratios = {
        name: (percentile(own, share) - ALLOWED_SECONDS) / percentile(bare, share)
        for name, share in (("p50", 0.5), ("p99", 0.99))
    }
    absolute = {
        f"{side} {name} ms": milliseconds(percentile(found, share))
        for side, found in (("search", own), ("bare", bare))
        for name, share in (("p50", 0.5), ("p99", 0.99))
    }
    worst = max(ratios, key=lambda name: ratios[name])
    goal = Goal(
        number=10,
        name="search",
        compares=f"(search of {count:,} drawers - 1 ms) / the bare FTS5 query, p50 and p99",
        ratio=ratios[worst],
        bound=1.5,
        at_least=False,
        absolute=absolute | {f"ratio {name}": round(one, 3) for name, one in ratios.items()},
        reasons=f"{len(questions)} questions of 2 to 8 words; the worse was {worst}",
    )
    return Report([goal], figures)


def _measured(house: House, questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """Sorted seconds of the bare query and of the search, in turns."""
    connection = connect(house.generations.current(), synchronous="NORMAL", read_only=True)
    bare, own = [], []
    for warm in (True, False):
        for question in questions[:20] if warm else questions:
            stated = expression(chosen(tokens(asked(question))))
            seconds = [
                timed(lambda stated=stated: _bare(connection, stated)),  # type: ignore[misc]
                timed(_called(house, "search", {"query": question, "limit": LIMIT})),
            ]
            if not warm:
                bare.append(seconds[0])
                own.append(seconds[1])
    connection.close()
    return sorted(bare), sorted(own)


def _bare(connection: sqlite3.Connection, stated: str) -> list[Any]:
    return connection.execute(_BARE, (stated, LIMIT)).fetchall()


def _called(house: House, tool: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    return lambda: house.palace.call(tool, arguments)


def _figures(house: House, count: int, questions: Sequence[str], sizes: Sizes) -> list[Figure]:
    """What else is asked of as many drawers."""
    asked_for: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "list and count": ("list_drawers", [{}]),
        "list and count of a wing": ("list_drawers", [{"wing": "project 3"}]),
        "search in a wing": ("search", [{"query": q, "wing": "project 3"} for q in questions]),
        "search known_at half": (
            "search",
            [{"query": q, "known_at": f"@{count // 2}"} for q in questions],
        ),
        "recall": ("recall", [{"query": q} for q in questions]),
        "wake_up": ("wake_up", [{}]),
        "duplicates": ("duplicates", [{}]),
    }
    figures = []
    for name, (tool, arguments) in asked_for.items():
        rounds = sizes.of(50, 10)
        given = [arguments[number % len(arguments)] for number in range(rounds)]
        seconds = sorted(timed(_called(house, tool, one)) for one in given)
        worst = f"p99 {milliseconds(percentile(seconds, 0.99))} ms at {count:,} drawers"
        figures.append(Figure(f"{name}, p50", milliseconds(percentile(seconds, 0.5)), "ms", worst))
    return figures


def _shelf(path: Path, count: int, writer: Texts) -> House:
    """A palace of that many drawers, read just after the last."""
    system = At(STARTED + (count + 1) * STEP)
    folder = create_palace(path, "primary", system=system, force=True)
    log = Log(folder.log)
    fill(log, added(writer.text(8, 90) for _ in range(count)))
    log.close()
    house = open_palace(path, system=system, vectors={"embedder": "none"})
    rebuild(house.log, house.generations, house.lock)
    return house


def added(texts: Iterable[str]) -> Iterator[tuple[int, Recorded]]:
    """The operations that add some texts, over a dozen wings."""
    fleet = Fleet(9)
    for number, content in enumerate(texts):
        at = STARTED + number * STEP
        wing, room = f"project {number % 12}", f"room {number % 8}"
        payload = {
            "drawer_id": drawer_id(wing, room, content),
            "wing": wing,
            "room": room,
            "content": content,
            "valid_from": at,
            "duplicate": False,
        }
        yield at, fleet.record(DEVICES[0], at, "add_drawer", payload)
