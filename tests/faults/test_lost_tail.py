"""The end of a log is lost: it is named, nothing is written over it, and a person decides."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from palacelog.bootstrap import House, create_palace, open_palace, restore_palace
from palacelog.system import System
from replay.backup import backup
from replay.loss import AcceptedLoss, accept_loss
from replay.outbox import export_outbox
from replay.rebuild import rebuild
from replay.receive import Replayed, replay_file
from replay.verify import Finding
from tests.faults.damage import copied, lose_tail
from tests.faults.failing import failing
from tests.faults.judging import error_of, findings, goes_on, refused, sound
from tests.faults.processes import Child, Report
from tests.faults.work import late_events, note, receive_all, write
from tests.palaces import digest_of, operations, rebuilt_equals_live, state_of

EVENTS, LOST = 20, 3
LEFT = EVENTS - LOST
NAMED = Finding(
    LEFT + 1, EVENTS, "log::truncated", f"lost at the end of the log: positions {LEFT + 1} to 20"
)


def fill(report: Report, folder: Path) -> None:
    house = open_palace(folder)
    for op_id in write(house, "lost", EVENTS):
        report("acknowledged", op_id)
    report.die("the end")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A palace all of whose log lies in its WAL."""
    create_palace(tmp_path / "ada", "ada")
    with Child(fill, tmp_path / "ada") as child:
        acknowledged, _ = child.dies()
    assert len(acknowledged) == EVENTS
    return tmp_path / "ada"


@pytest.fixture
def primary(tmp_path: Path, folder: Path) -> Iterator[House]:
    """A palace that holds everything of ada's, from before the loss."""
    create_palace(tmp_path / "primary", "primary")
    with open_palace(copied(folder, tmp_path / "before")) as ada:
        outbox = exported(ada, tmp_path / "before.ndjson")
    with open_palace(tmp_path / "primary") as primary:
        assert replay_file(outbox, primary.palace.writer).appended == EVENTS
        yield primary


def exported(house: House, path: Path, device: str | None = None) -> Path:
    with house.palace.reading() as reading:
        return export_outbox(house.log, reading, path, device, None if device is None else 1).path


def accepted(house: House) -> AcceptedLoss:
    return accept_loss(house.log, house.generations, house.lock, System().log_id(), lambda *_: None)


def test_a_lost_tail_is_named_and_nothing_is_written_or_rebuilt(
    folder: Path, tmp_path: Path
) -> None:
    """L25"""
    events = late_events(tmp_path)
    lose_tail(folder, LOST)
    assert findings(folder) == [NAMED]
    for _ in range(2):
        with open_palace(folder) as house:
            views, before = house.generations.current(), digest_of(house)
            with refused("log::truncated") as caught:
                note(house, "over what is lost")
            assert caught.value.position == LEFT + 1
            assert f"positions {LEFT + 1} to {EVENTS}" in caught.value.message
            with refused("log::truncated"):
                receive_all(house, events)
            with refused("log::truncated"):
                rebuild(house.log, house.generations, house.lock)
            assert len(operations(house)) == LEFT
            assert (house.generations.current(), digest_of(house)) == (views, before)
        assert findings(folder) == [NAMED]


def test_reads_answer_over_a_lost_tail(folder: Path) -> None:
    lose_tail(folder, LOST)
    with open_palace(folder) as house:
        call = house.palace.call
        assert call("list_operations", {})["total"] == EVENTS
        assert call("list_drawers", {})["total"] > 0
        [views] = call("status", {})["projections"]
        assert (views["state"], views["checkpoint"]) == ("truncated", EVENTS)
        assert call("show_operation", {"position": LEFT})["operation"]["position"] == LEFT
        with refused("log::truncated"):
            call("show_operation", {"position": EVENTS})


def test_an_accepted_loss_goes_on_as_the_next_incarnation(folder: Path) -> None:
    lose_tail(folder, LOST)
    with open_palace(folder) as house:
        old, last = house.log.log_id, operations(house)[-1]
        done = accepted(house)
        assert (done.first, done.last, done.device) == (LEFT + 1, EVENTS, "ada~2")
        assert done.log_id == house.log.log_id != old
        assert house.log.about.parent == f"{old}@{LEFT}"
        rebuilt_equals_live(house)
        with refused("log::whole"):
            accepted(house)
        for text in ("first", "second"):
            note(house, text)
        first, second = operations(house)[LEFT:]
    parent = {"device": "ada", "local_seq": LEFT, "chain": last.recorded.chain.hex()}
    assert (first.header.origin_device, first.header.local_seq) == ("ada~2", 1)
    assert (first.header.parent, second.header.parent) == (parent, None)
    assert len(sound(folder)) == LEFT + 2


def test_who_had_the_palace_open_does_not_go_on_as_who_it_was(folder: Path) -> None:
    """Else two incarnations would write to one log, one of them under numbers that are used."""
    lose_tail(folder, LOST)
    with open_palace(folder) as early:
        with open_palace(folder) as house:
            accepted(house)
            note(house, "first")
        with refused("log::replaced"):
            note(early, "as who it was")
        with refused("log::replaced"):
            rebuild(early.log, early.generations, early.lock)
    assert [one.header.origin_device for one in sound(folder)[LEFT:]] == ["ada~2"]


def test_a_second_loss_and_one_of_everything_can_be_accepted(folder: Path) -> None:
    lose_tail(folder, EVENTS)
    with open_palace(folder) as house:
        done = accepted(house)
        assert (done.first, done.last, done.device) == (1, EVENTS, "ada~2")
    with Child(fill, folder) as child:
        child.dies()
    lose_tail(folder, 1)
    with open_palace(folder) as house:
        done = accepted(house)
        assert (done.first, done.last, done.device) == (EVENTS, EVENTS, "ada~3")
    assert len(sound(folder)) == EVENTS - 1


def test_after_a_loss_a_primary_takes_the_new_incarnation_and_gives_back_what_was_lost(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    lose_tail(folder, LOST)
    with open_palace(folder) as ada:
        accepted(ada)
        write(ada, "new", 5)
        replayed = replay_file(exported(ada, tmp_path / "new.ndjson"), primary.palace.writer)
        assert (replayed.device, replayed.appended, replayed.stopped) == ("ada~2", 5, None)

        back = exported(primary, tmp_path / "back.ndjson", "ada")
        recovered: Replayed = replay_file(back, ada.palace.writer)
        assert (recovered.duplicates, recovered.appended) == (LEFT, LOST)
        assert state_of(ada) == state_of(primary)
    assert len(sound(folder)) == EVENTS + 5


def test_a_loss_is_undone_by_a_backup_and_the_damaged_log_is_kept(
    folder: Path, tmp_path: Path
) -> None:
    with open_palace(copied(folder, tmp_path / "before")) as house:
        backup(house.log, tmp_path / "backup")
        before, whole = house.log.log_id, digest_of(house)
    lose_tail(folder, LOST)
    restored = restore_palace(tmp_path / "backup", folder, replace=True)
    assert restored.aside is not None
    assert (restored.aside / "log.db-wal").is_file()
    assert (restored.parent, restored.position) == (f"{before}@{EVENTS}", EVENTS)
    with open_palace(folder) as house:
        assert house.log.log_id != before
        assert digest_of(house) == whole | {"log_id": house.log.log_id}
    assert len(sound(folder)) == EVENTS


def test_views_of_another_log_are_made_again(folder: Path, tmp_path: Path) -> None:
    """L25"""
    create_palace(tmp_path / "bob", "bob")
    with open_palace(tmp_path / "bob") as bob:
        write(bob, "other", 7)
        right = digest_of(bob)
    (folder / "log.db-wal").unlink()
    shutil.copy(tmp_path / "bob" / "log.db", folder / "log.db")
    assert [one.code for one in findings(folder)] == ["views::other_log"]
    with open_palace(folder) as house:
        assert digest_of(house) == right
    assert len(sound(folder)) == 7


def operations_of(folder: Path) -> int:
    """How many operations a palace holds that goes on, its views as if made again."""
    with open_palace(folder) as house:
        held = len(operations(house))
        goes_on(house)
        rebuilt_equals_live(house)
        return held


def test_a_loss_whose_acceptance_fails_at_any_call_is_accepted_or_is_not(
    folder: Path, tmp_path: Path
) -> None:
    lose_tail(folder, LOST)
    kinds = []
    for number in range(1, 50):
        palace = copied(folder, tmp_path / "attempt")
        with failing() as fault, open_palace(palace) as house:
            fault.arm(number)
            error = error_of(lambda at=house: accepted(at))
            fault.mend()
            device = house.log.about.device
            if device == "ada":
                assert error is not None
                with refused("log::truncated"):
                    note(house, "over what is lost")
            kinds.append(device)
        with open_palace(palace) as house:
            assert house.log.about.device == device
        if device == "ada":
            assert findings(palace) == [NAMED]
            continue
        assert operations_of(palace) == LEFT
    assert kinds.count("ada") > 20
    assert kinds.count("ada~2") > 10
