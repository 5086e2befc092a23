"""No room to write: a clear refusal, nothing changed, reads go on, and writes once there is room.

A database that may not have more pages fails as a full disk does (`storage::full`); a file that may
not grow fails as a broken disk does (`storage::failed`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from palacelog.bootstrap import House, create_palace, open_palace, restore_palace
from replay import writer
from replay.backup import backup
from replay.rebuild import rebuild
from tests.faults.damage import views_of, wal_of
from tests.faults.judging import error_of, findings, refused, sound
from tests.faults.limits import allow, limit_files, limited_pages
from tests.faults.processes import Child, Report
from tests.faults.work import late_events, note, receive_all, share_a_commit, varied, write
from tests.palaces import digest_of, fingerprint, operations

BIG = "a long text " * 5_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_palace(tmp_path / "ada", "ada")
    return tmp_path / "ada"


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    with limited_pages(), open_palace(folder) as opened:
        write(opened, "late", 25)
        yield opened


@pytest.mark.parametrize("file", ["log", "views-000001"])
def test_a_database_without_room_refuses_a_write_and_takes_it_once_there_is_room(
    file: str, house: House
) -> None:
    """L24, by page limit: at append (the log), and while projecting (the views)."""
    before = fingerprint(house)
    allow({file: 1})
    for _ in range(3):
        with refused("storage::full"):
            note(house, BIG)
        assert fingerprint(house) == before
    assert house.palace.call("list_operations", {})["total"] == 25

    allow({})
    assert note(house, BIG)["position"] == 26
    house.close()
    sound(house.folder.path)


@pytest.mark.parametrize("file", ["log", "views-000001"])
def test_a_write_that_fits_is_not_refused_for_one_of_its_commit_that_does_not(
    file: str, house: House
) -> None:
    path = house.log.path if file == "log" else house.generations.current()
    with closing(sqlite3.connect(path)) as connection:
        [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
    allow({file: pages + 10})
    texts = ["one", BIG, "two", BIG + "!", "three"]
    codes = [code_of(future.result) for future in share_a_commit(house, texts)]
    assert codes == ["done", "storage::full", "done", "storage::full", "done"]
    assert [one.position for one in operations(house)] == list(range(1, 29))
    allow({})
    house.close()
    sound(house.folder.path)


def test_events_from_elsewhere_wait_for_room_and_are_taken_then(
    house: House, tmp_path: Path
) -> None:
    events = late_events(tmp_path)
    before = operations(house)
    allow({"log": 1, "views-000001": 1})
    with refused("storage::full"):
        receive_all(house, events)
    taken = operations(house)[len(before) :]
    assert [one.recorded for one in taken] == events[: len(taken)]
    assert len(taken) < len(events)

    allow({})
    receive_all(house, events)
    assert [one.recorded for one in operations(house)[len(before) :]] == events
    house.close()
    sound(house.folder.path)


def test_a_rebuild_without_room_fails_and_the_old_views_go_on_answering(house: House) -> None:
    before, current = fingerprint(house), house.generations.current()
    allow({"views-000002": 20})
    with refused("storage::full"):
        rebuild(house.log, house.generations, house.lock)
    assert house.generations.current() == current
    assert fingerprint(house) == before
    assert note(house, "meanwhile")["position"] == 26

    allow({})
    rebuild(house.log, house.generations, house.lock)
    assert house.generations.current() != current
    house.close()
    assert [path.name for path in (house.folder.views).glob("views-*")] == [
        views_of(house.folder.path).name
    ]
    sound(house.folder.path)


# files that may not grow, in a process of its own


def in_a_child(work: Callable[..., None], *arguments: Any) -> list[tuple[Any, ...]]:
    with Child(work, *arguments) as child:
        return child.finishes()


def code_of(attempt: Callable[[], Any]) -> str:
    """The code of the error that it raises, which must say what to do; else `done`."""
    error = error_of(attempt)
    return "done" if error is None else error.code.removeprefix("palacelog::")


def fill_the_log(report: Report, folder: Path) -> None:
    """The log's WAL is the largest file, so that it is the first that may not grow."""
    with open_palace(folder) as house:
        for number in range(20):
            report.acknowledge(note(house, f"{number} {BIG}"))
        rebuild(house.log, house.generations, house.lock)
        limit_files(max(wal_of(house.log.path).stat().st_size, 2_000_000))
        before = fingerprint(house)
        for number in range(2):
            report(code_of(partial(note, house, f"more {number} {BIG * 30}")))
            report(fingerprint(house) == before)
            report(house.palace.call("list_operations", {})["total"])
        limit_files(None)
        report.acknowledge(note(house, f"room {BIG * 30}"))


def test_a_log_that_may_not_grow_refuses_and_goes_on_once_it_may(folder: Path) -> None:
    """L24, by file size"""
    reported = in_a_child(fill_the_log, folder)
    assert reported[20:-1] == [("storage::failed",), (True,), (20,)] * 2
    acknowledged = [one[1] for one in reported if one[0] == "acknowledged"]
    assert len(sound(folder, acknowledged)) == 21


def fill_the_views(report: Report, folder: Path) -> None:
    """The views' WAL is the largest file; what the log has is acknowledged all the same."""
    with open_palace(folder) as house:
        with house.lock.held():
            house.log.move_wal("TRUNCATE")
        for number in range(6):
            report.acknowledge(note(house, f"{number} {BIG}"))
        with house.lock.held():
            house.log.move_wal("TRUNCATE")
        report(house.log.position(), house.palace.call("list_operations", {})["total"])
        limit_files(wal_of(views_of(folder)).stat().st_size + 10_000)
        report.acknowledge(note(house, f"last {BIG}"))
        report(house.log.position(), house.palace.call("list_operations", {})["total"])
        report(code_of(lambda: note(house, f"refused {BIG}")))
        report(house.log.position(), house.palace.call("list_operations", {})["total"])
        limit_files(None)
        report(house.log.position(), house.palace.call("list_operations", {})["total"])
        report.acknowledge(note(house, f"room {BIG}"))


def test_views_that_may_not_grow_lag_and_catch_up_once_they_may(folder: Path) -> None:
    reported = in_a_child(fill_the_views, folder)
    assert reported[6] == (6, 6)
    assert reported[8:-1] == [(7, 6), ("storage::failed",), (7, 6), (7, 7)]
    acknowledged = [one[1] for one in reported if one[0] == "acknowledged"]
    assert len(sound(folder, acknowledged)) == 8


def move_the_wal(report: Report, folder: Path) -> None:
    """Every third write moves the WALs, into files that may not grow."""
    with open_palace(folder) as house:
        report.acknowledge(note(house, BIG * 60))
    writer.EVENTS_PER_WAL_MOVE = 3  # type: ignore[misc]
    with open_palace(folder) as house:
        limit_files(os.stat(house.log.path).st_size)
        for answer in varied(house.palace.call, "while full", 20):
            report.acknowledge(answer)
        report(os.stat(house.log.path).st_size)
        limit_files(None)
        for answer in varied(house.palace.call, "with room", 10):
            report.acknowledge(answer)
        report(os.stat(house.log.path).st_size)


def test_a_wal_that_cannot_be_moved_loses_nothing_and_is_moved_later(folder: Path) -> None:
    *_, (full,), (room,) = (one for one in in_a_child(move_the_wal, folder) if len(one) == 1)
    assert room > full
    assert len(sound(folder)) == 31


def close_when_full(report: Report, folder: Path) -> None:
    house = open_palace(folder)
    report.acknowledge(note(house, BIG))
    limit_files(1)
    house.close()


def test_closing_on_a_full_disk_loses_nothing(folder: Path) -> None:
    [(_, op_id)] = in_a_child(close_when_full, folder)
    assert len(sound(folder, [op_id])) == 1


def rebuild_when_full(report: Report, folder: Path) -> None:
    with open_palace(folder) as house:
        write(house, "before", 25)
        note(house, BIG)
        before = digest_of(house)
        limit_files(100_000)
        report(code_of(lambda: rebuild(house.log, house.generations, house.lock)))
        report(digest_of(house) == before)
        limit_files(None)
        report(code_of(lambda: rebuild(house.log, house.generations, house.lock)))
        report(digest_of(house) == before)


def test_a_rebuild_whose_file_may_not_grow_fails_and_the_old_views_stay(folder: Path) -> None:
    reported = in_a_child(rebuild_when_full, folder)
    assert reported == [("storage::failed",), (True,), ("done",), (True,)]
    assert len(sound(folder)) == 26


def copy_when_full(report: Report, folder: Path, target: Path) -> None:
    """Back up, and restore over what is there: both without room first."""
    with open_palace(folder) as house:
        write(house, "before", 25)
        note(house, BIG * 10)
        limit_files(100_000)
        report(code_of(lambda: backup(house.log, target / "backup")))
        report(sorted(path.name for path in (target / "backup").iterdir()))
        limit_files(None)
        report(code_of(lambda: backup(house.log, target / "backup")))
    report(code_of(lambda: restore_palace(target / "backup", folder)))
    limit_files(100_000)
    report(code_of(lambda: restore_palace(target / "backup", folder, replace=True)))
    limit_files(None)
    report(len(sound(folder)), sorted(path.name for path in folder.glob("*set-aside*")))
    report(code_of(lambda: restore_palace(target / "backup", folder, replace=True)))


def test_copies_that_may_not_grow_fail_whole_and_change_nothing(
    folder: Path, tmp_path: Path
) -> None:
    assert in_a_child(copy_when_full, folder, tmp_path) == [
        ("storage::failed",),
        ([],),
        ("done",),
        ("palace::exists",),
        ("storage::full",),
        (26, []),
        ("done",),
    ]
    assert findings(folder) == []
    assert len(sound(folder)) == 26
