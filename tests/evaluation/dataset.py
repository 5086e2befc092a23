"""The evaluation set of fixtures/evaluation/, and a palace that holds it.

    with filled_palace(folder) as evaluated:
        for question in questions():
            evaluated.house.palace.call("search", question.asked())

Protects what a score means: every note is written by a call, at its own time, so that both axes of
time answer as they would have. May not judge an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from domain.instants import Reach, parse
from fixtures.making.fleet import Clock, Told
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.caller import Caller

FOLDER: Final = Path(__file__).parents[2] / "fixtures/evaluation"
ASKED_AT: Final = "2026-07-01T09:00:00Z"
"""When the questions are asked; later than every note."""


@dataclass(frozen=True)
class Note:
    """One writing call.

    Attributes:
        key: names the note in the set.
        tool: add_drawer, supersede_drawer or delete_drawer.
        arguments: as the operation takes them; `{"key": ...}` stands for the drawer of a note.
        at: when the call is made, RFC 3339.
        language: of the text; None where the call brings none.
    """

    key: str
    tool: str
    arguments: dict[str, Any]
    at: str
    language: str | None = None

    @property
    def content(self) -> str | None:
        """The text, where the call brings one."""
        return self.arguments.get("content")

    def resolved(self, drawers: Mapping[str, str]) -> dict[str, Any]:
        """The arguments with drawer ids in place of keys.

        Raises:
            KeyError: it names a note that was not written before.
        """
        return {
            name: drawers[value["key"]] if isinstance(value, dict) and "key" in value else value
            for name, value in self.arguments.items()
        }


@dataclass(frozen=True)
class Question:
    """What is asked, and which notes answer it.

    Attributes:
        kind: what makes it hard; see fixtures/README.md.
        relevant: keys of the only right answers, one to three.
        wrong: keys of notes that look like an answer and are none.
        as_of, known_at: RFC 3339 or a date; None for the present.
        wing: asked in this wing alone.
    """

    query: str
    language: str
    kind: str
    relevant: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    as_of: str | None = None
    known_at: str | None = None
    wing: str | None = None

    def moment(self) -> dict[str, str]:
        """The arguments that say at which moment of both axes it is asked."""
        named = {"as_of": self.as_of, "known_at": self.known_at}
        return {name: value for name, value in named.items() if value is not None}

    def asked(self) -> dict[str, str]:
        """The arguments of `search`, but for the limit."""
        place = {} if self.wing is None else {"wing": self.wing}
        return {"query": self.query} | place | self.moment()


@dataclass(frozen=True)
class Evaluated:
    """A palace that holds the set.

    Attributes:
        drawers: key to drawer_id.
        clock: stands at ASKED_AT.
    """

    house: House
    drawers: dict[str, str]
    clock: Clock


def notes() -> list[Note]:
    """The calls in their order."""
    return [Note(**row) for row in _rows("notes.jsonl")]


def questions() -> list[Question]:
    """The questions in their order."""
    return [
        Question(**row | {name: tuple(row.get(name, ())) for name in ("relevant", "wrong")})
        for row in _rows("questions.jsonl")
    ]


def fill(palace: Caller, clock: Clock, calls: Sequence[Note]) -> dict[str, str]:
    """Make the calls, each at its time.

    Args:
        clock: the one that the palace reads; it is left at the time of the last call.

    Returns:
        key to drawer_id, of the calls that bring a text.

    Raises:
        PalaceError: the palace refuses a call.
    """
    drawers: dict[str, str] = {}
    for note in calls:
        clock.now = instant(note.at)
        answer = palace.call(note.tool, note.resolved(drawers))
        if note.content is not None:
            drawers[note.key] = answer["drawer_id"]
    return drawers


@contextmanager
def filled_palace(folder: Path, **settings: Any) -> Iterator[Evaluated]:
    """A new palace under `folder` that holds all notes; its clock stands at ASKED_AT.

    Args:
        settings: as `open_palace` takes them.
    """
    clock = Clock()
    calls = notes()
    clock.now = instant(calls[0].at)
    machine = Told(clock, "evaluation")
    create_palace(folder, "evaluation", system=machine)
    with open_palace(folder, system=machine, **settings) as house:
        drawers = fill(house.palace, clock, calls)
        clock.now = instant(ASKED_AT)
        yield Evaluated(house, drawers, clock)


def instant(text: str) -> int:
    """Microseconds UTC of an RFC 3339 text."""
    return parse(text, zone="UTC", now=0, reach=Reach.POINT)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (FOLDER / name).read_bytes().splitlines():
        yield orjson.loads(line)
