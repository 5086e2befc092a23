"""The write lock is held too long, by a process that works, was stopped, or was killed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from palacelog.bootstrap import House, create_palace, open_palace
from replay.rebuild import rebuild
from replay.write_lock import WriteLock
from tests.faults.judging import error_of, goes_on, refused, sound
from tests.faults.processes import Child, Report
from tests.faults.work import note, write
from tests.palaces import digest_of, fingerprint

DEADLINE = 0.2


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    create_palace(tmp_path / "ada", "ada")
    with open_palace(tmp_path / "ada", lock_timeout_seconds=DEADLINE) as opened:
        write(opened, "before", 10)
        yield opened


def hold(report: Report, folder: Path) -> None:
    """Hold the lock until killed."""
    lock = WriteLock(folder, 10)
    with lock.held():
        report("holds")
        threading.Event().wait()


def hold_in_a_write(report: Report, folder: Path) -> None:
    """Hold the lock in the midst of a write, with both transactions open, until killed."""
    with open_palace(folder) as other:

        def wait(_: object) -> None:
            report("holds")
            threading.Event().wait()

        other.palace.writer.do(wait)


@pytest.mark.parametrize("stopped", [False, True], ids=["working", "stopped"])
@pytest.mark.parametrize("work", [hold, hold_in_a_write])
def test_a_lock_held_past_the_deadline_refuses_writes_until_its_holder_is_killed(
    work: object, stopped: bool, house: House
) -> None:
    before = fingerprint(house)
    assert callable(work)
    with Child(work, house.folder.path) as child:
        child.wait_for("holds")
        if stopped:
            child.signal(signal.SIGSTOP)
        for _ in range(2):
            with refused("palace::locked"):
                note(house, "too late")
        with refused("palace::locked"):
            rebuild(house.log, house.generations, house.lock)
        assert house.palace.call("list_operations", {})["total"] == 10
        assert fingerprint(house) == before
        child.kill()
    goes_on(house)
    house.close()
    assert len(sound(house.folder.path)) == 11


def test_a_holder_killed_in_the_midst_of_a_write_leaves_nothing_of_it(house: House) -> None:
    before = digest_of(house)
    with Child(hold_in_a_write, house.folder.path) as child:
        child.wait_for("holds")
        child.kill()
    assert digest_of(house) == before
    goes_on(house)


def test_opening_and_closing_do_not_wait_for_the_lock_for_ever(house: House) -> None:
    with Child(hold, house.folder.path) as child:
        child.wait_for("holds")
        with open_palace(house.folder.path, lock_timeout_seconds=DEADLINE) as other:
            assert other.palace.call("list_operations", {})["total"] == 10
        child.kill()
    goes_on(house)


def die_before_the_views_commit(report: Report, folder: Path) -> None:
    with open_palace(folder) as other:
        report.die_at("log.committed")
        note(other, "the last one")


def test_reads_answer_from_views_that_lag_while_the_lock_is_held(house: House) -> None:
    with Child(die_before_the_views_commit, house.folder.path) as child:
        child.dies()
    with Child(hold, house.folder.path) as child:
        child.wait_for("holds")
        listed = house.palace.call("list_operations", {})
        assert (listed["total"], listed["position"], house.log.position()) == (10, 10, 11)
        child.kill()
    assert house.palace.call("list_operations", {})["total"] == 11


def test_everyone_who_waits_for_a_held_lock_is_refused_at_one_deadline(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits together is refused together, not one deadline after the other."""
    deadlines: list[float] = []
    take = house.lock.held

    def counted() -> AbstractContextManager[None]:
        deadlines.append(DEADLINE)
        return take()

    monkeypatch.setattr(house.lock, "held", counted)

    def code(number: int) -> str:
        error = error_of(lambda: note(house, f"too late {number}"))
        return "done" if error is None else error.code

    with Child(hold, house.folder.path) as child:
        child.wait_for("holds")
        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(code, range(8)))
        child.kill()
    assert codes == ["palacelog::palace::locked"] * 8
    # The first one waits alone, the others queue up behind it.
    assert len(deadlines) <= 4
    goes_on(house)


def read_for_ever(report: Report, folder: Path) -> None:
    """Hold a snapshot of log and views until killed."""
    with (
        open_palace(folder) as other,
        other.palace.reading() as reading,
        other.log.app.datastore.transaction(commit=False) as cursor,
    ):
        cursor.execute("SELECT max(rowid) FROM stored_events")
        report("reads", reading.position)
        threading.Event().wait()


def test_a_reader_that_was_stopped_stops_no_writer_and_no_closing(house: House) -> None:
    with Child(read_for_ever, house.folder.path) as child:
        assert child.wait_for("reads") == (10,)
        child.signal(signal.SIGSTOP)
        for number in range(3):
            note(house, f"meanwhile {number}")
        rebuild(house.log, house.generations, house.lock)
        closing = threading.Thread(target=house.close)
        closing.start()
        closing.join(5)
        assert not closing.is_alive()
        with open_palace(house.folder.path, lock_timeout_seconds=DEADLINE) as other:
            assert note(other, "afterwards")["position"] == 14
    assert len(sound(house.folder.path)) == 14
