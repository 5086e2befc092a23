"""Every single call to a database fails, in turn: a clear error, nothing changed, and on it goes.

Each attempt is made on a copy of one palace. Its n-th call fails, for n = 1, 2, ... until nothing
is left to fail; either that call alone, or the rest of the attempt as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.catalog import CATALOG
from domain.operation import Recorded
from palacelog.bootstrap import House, create_palace, open_palace
from replay.outbox import acknowledge, export_outbox, write_receipt
from replay.rebuild import rebuild
from replay.receive import replay_file
from tests.faults.damage import copied
from tests.faults.failing import FULL, IO_ERROR, Fault, failing
from tests.faults.judging import error_of, goes_on, unbroken
from tests.faults.work import DAY, history, late_events, note, receive_all
from tests.palaces import Fleet, Machine, operations, rebuilt_equals_live, receive
from tests.samples import SAMPLES, furnished, settings_for

CODES = {IO_ERROR: "palacelog::storage::failed", FULL: "palacelog::storage::full"}
CALLS_MAX = 500

IN_HISTORY: list[str] = []
"""The tools that `history` calls; it is run dry."""
for _ in history(lambda tool, _: IN_HISTORY.append(tool) or {"drawer_id": ""}, "dry"):
    pass
NOT_IN_HISTORY = [
    name for name, entry in CATALOG.items() if entry.writes and name not in IN_HISTORY
]

Attempt = Callable[[House], object]
ALONE, LASTING = False, True


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    """A folder in memory where there is one: these tests do not wait for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads are not noted: a thread of its own would make calls that nobody counts on."""
    monkeypatch.setenv("PALACELOG_AUDIT__READS", "off")


@pytest.fixture(scope="module")
def late(room: Path) -> list[Recorded]:
    """What another device wrote yesterday."""
    return late_events(room)


def each_call_fails(folder: Path, attempt: Attempt, *, lasting: bool, **settings: Any) -> int:
    """Make the attempt while its n-th call fails, for each n, and judge what is left every time;
    returns how many calls there are.

    Args:
        settings: that the palace is opened with.
    """
    for number in islice(count(1), CALLS_MAX):
        text = (IO_ERROR, FULL)[number % 2]
        palace = copied(folder, folder.with_name("attempt"))
        with failing() as fault:
            _attempt(palace, fault, attempt, number, text, lasting, settings)
        with open_palace(palace) as house:
            rebuilt_equals_live(house)
        if fault.fired is None:
            return number - 1
    raise AssertionError(f"more than {CALLS_MAX} calls")


def _attempt(
    palace: Path,
    fault: Fault,
    attempt: Attempt,
    number: int,
    text: str,
    lasting: bool,
    settings: dict[str, Any],
) -> None:
    with open_palace(palace, **settings) as house:
        before = operations(house)
        fault.arm(number, text, lasting=lasting)
        error = error_of(lambda: attempt(house))
        fired = fault.mend()
        held = operations(house)
        unbroken(held, [])
        assert held[: len(before)] == before
        if error is not None:
            assert held == before, f"{fired}: refused, and recorded all the same"
            assert error.code == CODES[text], (fired, error)
        goes_on(house)
        assert len(operations(house)) == len(held) + 1
    with open_palace(palace) as house:
        assert operations(house)[: len(held)] == held


def prepared(folder: Path, nth: int) -> tuple[str, dict[str, Any]]:
    """Make a palace in which all writes of a history before the `nth` are done; that one."""
    asked: list[tuple[str, dict[str, Any]]] = []
    create_palace(folder, "ada")
    with open_palace(folder) as house:

        def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            asked.append((tool, arguments))
            return house.palace.call(tool, arguments) if len(asked) <= nth else {"drawer_id": ""}

        for _ in islice(history(call, "late"), nth + 1):
            pass
    return asked[nth]


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
@pytest.mark.parametrize("nth", range(10))
def test_a_write_whose_nth_call_fails_is_recorded_whole_or_not_at_all(
    nth: int, lasting: bool, room: Path
) -> None:
    folder = room / f"write-{nth}-{lasting}"
    tool, arguments = prepared(folder, nth)
    calls = each_call_fails(
        folder, lambda house: house.palace.call(tool, arguments), lasting=lasting
    )
    assert calls > 30


@pytest.mark.parametrize("tool", NOT_IN_HISTORY)
def test_each_other_write_whose_nth_call_fails_is_recorded_whole_or_not_at_all(
    tool: str, room: Path
) -> None:
    fleet = Fleet(room / tool)
    ada = fleet.device("ada")
    arguments = SAMPLES[tool](furnished(ada))
    fleet.close()
    calls = each_call_fails(
        ada.folder,
        lambda house: house.palace.call(tool, arguments),
        lasting=LASTING,
        **settings_for(tool),
    )
    assert calls > 30


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
def test_a_late_arrival_whose_nth_call_fails_is_taken_whole_or_not_at_all(
    lasting: bool, room: Path, late: list[Recorded]
) -> None:
    folder = room / f"late-{lasting}"
    prepared(folder, 9)
    with open_palace(folder) as house:
        receive_all(house, late[:3])
    assert each_call_fails(folder, lambda house: receive(house, late[3]), lasting=lasting) > 30


def test_a_receipt_whose_nth_call_fails_is_recorded_whole_or_not_at_all(room: Path) -> None:
    """The primary gives other orders, so that the acknowledged events are refolded."""
    folder, outbox, receipt = room / "edge", room / "outbox.ndjson", room / "receipt.ndjson"
    prepared(folder, 5)
    create_palace(room / "primary", "primary", system=Machine(-DAY))
    with open_palace(folder) as house, house.palace.reading() as reading:
        export_outbox(house.log, reading, outbox)
    with open_palace(room / "primary", system=Machine(-DAY)) as primary:
        replayed = replay_file(outbox, primary.palace.writer)
        with primary.palace.reading() as reading:
            write_receipt(primary.log, reading, [replayed], receipt)
    assert orjson.loads(receipt.read_bytes())["orders"]

    def take(house: House) -> None:
        acknowledge(house.log, house.palace.writer, receipt)

    assert each_call_fails(folder, take, lasting=ALONE) > 30


READS = [
    ("list_drawers", {"include_historical": True}),
    ("kg_query", {"entity": "Kiran late", "include_historical": True}),
    ("list_conflicts", {}),
    ("show_operation", {"position": 3}),
    ("status", {}),
]


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
@pytest.mark.parametrize(("tool", "arguments"), READS, ids=[tool for tool, _ in READS])
def test_a_read_whose_nth_call_fails_says_so_and_the_next_one_answers(
    tool: str, arguments: dict[str, Any], lasting: bool, room: Path
) -> None:
    folder = room / f"read-{tool}-{lasting}"
    prepared(folder, 9)
    with open_palace(folder) as house:
        right = without_now(house.palace.call(tool, arguments))
    given: list[dict[str, Any]] = []

    def read(house: House) -> None:
        given.append(house.palace.call(tool, arguments))

    assert each_call_fails(folder, read, lasting=lasting) >= 4
    assert given
    assert all(without_now(answer) == right for answer in given)


def without_now(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what differs from one moment to the next."""
    return {name: value for name, value in answer.items() if name not in ("as_of", "outbox")}


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
def test_a_rebuild_whose_nth_call_fails_leaves_the_views_that_were_there(
    lasting: bool, room: Path
) -> None:
    folder = room / f"rebuild-{lasting}"
    prepared(folder, 2)

    def run(house: House) -> None:
        rebuild(house.log, house.generations, house.lock)

    assert each_call_fails(folder, run, lasting=lasting) > 100


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
def test_opening_says_what_failed_and_the_next_opening_works(lasting: bool, room: Path) -> None:
    folder = room / f"open-{lasting}"
    prepared(folder, 3)
    fired = True
    for number in islice(count(1), CALLS_MAX):
        palace = copied(folder, folder.with_name("attempt"))
        with failing() as fault:
            text = (IO_ERROR, FULL)[number % 2]
            fault.arm(number, text, lasting=lasting)
            error = error_of(lambda at=palace: open_palace(at).close())
            fired = fault.mend() is not None
        assert error is None or error.code == CODES[text]
        with open_palace(palace) as house:
            assert len(operations(house)) == 3
            goes_on(house)
            rebuilt_equals_live(house)
        if not fired:
            assert error is None
            break
    assert not fired
    assert number > 15


@pytest.mark.parametrize("lasting", [ALONE, LASTING])
def test_closing_never_fails_and_loses_nothing(lasting: bool, room: Path) -> None:
    folder = room / f"close-{lasting}"
    prepared(folder, 3)
    for number in islice(count(1), CALLS_MAX):
        palace = copied(folder, folder.with_name("attempt"))
        with failing() as fault:
            house = open_palace(palace)
            note(house, "the last one")
            fault.arm(number, lasting=lasting)
            house.close()
            fired = fault.mend()
        with open_palace(palace) as house:
            assert len(operations(house)) == 4
            rebuilt_equals_live(house)
        if fired is None:
            break
    assert number > 2
