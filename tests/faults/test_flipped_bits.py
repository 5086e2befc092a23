"""One bit of a log is flipped, in its file or in its WAL: every event reads the same, or `verify`
names the first that does not (promise 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from domain.errors import PalaceError
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.folder import PalaceFolder
from replay.verify import Report, verify
from tests.faults.damage import Stored, copied, flip, frames, stored_events, wal_of
from tests.faults.judging import explained, sound
from tests.faults.processes import Child
from tests.faults.processes import Report as Tell
from tests.faults.work import late_events, receive_all, write

IN_FILE, IN_WAL = 70, 40
EVENTS = IN_FILE + IN_WAL + 10
FLIPS = 150


def fill(tell: Tell, folder: Path, events: list[Any]) -> None:
    """Leave a log of which a part lies in the file, another in the WAL; likewise its views."""
    house = open_palace(folder)
    write(house, "old", IN_FILE)
    with house.lock.held():
        house.log.move_wal("TRUNCATE")
    house.palace.writer.do(lambda turn: None)
    write(house, "late", IN_WAL)
    receive_all(house, events)
    tell.die("the end")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    create_palace(folder / "ada", "ada")
    with Child(fill, folder / "ada", late_events(folder)) as child:
        child.dies()
    assert len(frames(wal_of(PalaceFolder(folder / "ada").log))) > IN_WAL
    copied(folder / "ada", folder / "kept")
    assert len(sound(folder / "ada")) == EVENTS
    return folder / "kept"


class Truth(NamedTuple):
    """What the template holds: each event as it lies in the file, and as it is answered."""

    stored: list[Stored | None]
    listed: list[dict[str, Any]]
    shown: list[dict[str, Any]]


@pytest.fixture(scope="module")
def truth(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    folder = copied(template, tmp_path_factory.mktemp("read") / "ada")
    stored = stored_events(folder / "log.db", EVENTS)
    assert None not in stored
    with open_palace(folder) as house:
        shown = [show(house, position) for position in range(1, EVENTS + 1)]
        return Truth(stored, list_all(house), shown)


def show(house: House, position: int) -> dict[str, Any]:
    operation: dict[str, Any] = house.palace.call("show_operation", {"position": position})
    return operation["operation"]


def list_all(house: House) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = house.palace.call("list_operations", {"limit": 200})[
        "operations"
    ]
    return listed


def first_difference(original: list[Stored | None], found: list[Stored | None]) -> int | None:
    """The lowest position that does not read as it was written."""
    pairs = enumerate(zip(original, found, strict=True), 1)
    return next((position for position, (old, new) in pairs if old != new), None)


@pytest.mark.parametrize("name", ["log.db", "log.db-wal"])
def test_a_flipped_bit_changes_nothing_or_its_position_is_named(
    name: str, template: Path, truth: Truth, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """L23"""
    random, kinds, answers = Random(23), Counter[str](), Counter[str]()
    for number in range(FLIPS):
        folder = copied(template, tmp_path / "ada")
        where = f"flip {number} in {name}: byte and bit {flip(folder / name, random)}"
        stored = stored_events(copied(folder, tmp_path / "looked at") / "log.db", EVENTS)
        bad = first_difference(truth.stored, stored)
        opened = copied(folder, tmp_path / "opened")

        report = verify(folder / "log.db", folder / "views")
        assert report.first_bad == bad, (where, report.findings)
        kinds[kind_of(report)] += 1
        if number % 3 == 0:
            asked = {bad or 1, random.randint(1, EVENTS), EVENTS}
            answers.update(answers_are_right_or_refused(opened, asked, truth, where))
    assert sum(kinds.values()) == FLIPS
    assert answers["right"] > 0
    tell(f"{FLIPS} bits flipped in {name}: {dict(kinds)}; answers: {dict(answers)}")


def kind_of(report: Report) -> str:
    """How a flip was found."""
    named = [one for one in report.findings if one.position is not None]
    if named:
        return min(named, key=lambda one: one.position or 0).code
    return "no event, the file named" if report.findings else "harmless"


def answers_are_right_or_refused(
    folder: Path, positions: set[int], truth: Truth, where: str
) -> Iterator[str]:
    """That no answer of a palace differs from the truth; how it answered."""
    try:
        house = open_palace(folder)
    except PalaceError as error:
        explained(error)
        yield error.code
        return
    with house:
        asked: list[tuple[Callable[[], Any], Any]] = [(lambda: list_all(house), truth.listed)]
        asked += ((lambda at=at: show(house, at), truth.shown[at - 1]) for at in positions)
        for ask, right in asked:
            try:
                answer = ask()
            except PalaceError as error:
                explained(error)
                yield error.code
            else:
                assert answer == right, where
                yield "right"
