"""A process is killed at every named moment; what it leaves is whole, and work goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from domain.operation import Recorded
from palacelog.bootstrap import create_palace, open_palace, restore_palace
from palacelog.system import System
from replay import writer
from replay.backup import backup
from replay.crash_points import POINTS
from replay.loss import accept_loss
from replay.outbox import export_outbox
from replay.outbox_file import read_events
from replay.rebuild import rebuild
from tests.faults.damage import lose_tail
from tests.faults.failing import failing
from tests.faults.judging import refused, sound
from tests.faults.processes import Child, Report
from tests.faults.work import late_events, note, receive_all, share_a_commit, write
from tests.palaces import operations

BEFORE = 7
"""How many writes are acknowledged before the child is told where to die."""


class Scene(NamedTuple):
    """Where a child dies, and what of its last work is in the log then.

    Attributes:
        work: run by the child.
        passes: how often the point is passed until it dies.
        durable: how many operations more than those acknowledged are in the log.
    """

    point: str
    work: Callable[..., None]
    passes: int = 1
    durable: int = 0


def write_one(report: Report, folder: Path, point: str, passes: int, *_: Any) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "before", BEFORE):
            report("acknowledged", op_id)
        report.die_at(point, passes)
        report.acknowledge(note(house, "the last one"))


def write_many(report: Report, folder: Path, point: str, passes: int, *_: Any) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "before", BEFORE):
            report("acknowledged", op_id)
        report.die_at(point, passes)
        for future in share_a_commit(house, [f"text {number}" for number in range(20)]):
            report("acknowledged", future.result().header.op_id)


def receive_late(
    report: Report, folder: Path, point: str, passes: int, events: list[Recorded]
) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "late", BEFORE):
            report("acknowledged", op_id)
        report.die_at(point, passes)
        receive_all(house, events)


def write_until_wal_moves(report: Report, folder: Path, point: str, passes: int, *_: Any) -> None:
    writer.EVENTS_PER_WAL_MOVE = BEFORE + 1  # type: ignore[misc]
    write_one(report, folder, point, passes)


def close(report: Report, folder: Path, point: str, passes: int, *_: Any) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "before", BEFORE):
            report("acknowledged", op_id)
        report.die_at(point, passes)


def rebuild_views(report: Report, folder: Path, point: str, passes: int, *_: Any) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "before", BEFORE):
            report("acknowledged", op_id)
        report.die_at(point, passes)
        rebuild(house.log, house.generations, house.lock)


SCENES = [
    Scene("writer.locked", write_one),
    Scene("log.appended", write_one),
    Scene("views.folded", write_one),
    Scene("log.committed", write_one, durable=1),
    Scene("views.committed", write_one, durable=1),
    Scene("writer.before_answer", write_one, durable=1),
    Scene("writer.locked", write_many, passes=2),
    Scene("log.appended", write_many, passes=11),
    Scene("views.folded", write_many, passes=2),
    Scene("log.committed", write_many, durable=20),
    Scene("views.committed", write_many, durable=20),
    Scene("writer.before_answer", write_many, passes=2, durable=20),
    Scene("writer.locked", receive_late, passes=4, durable=3),
    Scene("views.folded", receive_late, passes=4, durable=3),
    Scene("log.committed", receive_late, passes=4, durable=4),
    Scene("views.committed", receive_late, passes=10, durable=10),
    Scene("checkpoint.log_moved", write_until_wal_moves, durable=1),
    Scene("checkpoint.log_moved", close),
    Scene("rebuild.folded", rebuild_views),
    Scene("rebuild.switched", rebuild_views),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_palace(tmp_path / "ada", "ada")
    return tmp_path / "ada"


def test_every_point_is_died_at() -> None:
    """A new point fails here until it has a scene."""
    assert {scene.point for scene in SCENES} | set(OTHER_POINTS) == set(POINTS)


@pytest.mark.parametrize("scene", SCENES, ids=lambda one: f"{one.point}-{one.work.__name__}")
def test_killed_there_nothing_acknowledged_is_lost(
    scene: Scene, folder: Path, tmp_path: Path
) -> None:
    """L22"""
    events = late_events(tmp_path) if scene.work is receive_late else []
    with Child(scene.work, folder, scene.point, scene.passes, events) as child:
        acknowledged, where = child.dies()
    assert where == scene.point
    assert len(acknowledged) == BEFORE
    held = sound(folder, acknowledged)
    assert len(held) == BEFORE + scene.durable


# points that are not passed while writing


def back_up(report: Report, folder: Path, target: Path) -> None:
    with open_palace(folder) as house:
        report.die_at("backup.copied")
        backup(house.log, target)


def restore_over(report: Report, folder: Path, source: Path, point: str) -> None:
    report.die_at(point)
    restore_palace(source, folder, replace=True)


def accept(report: Report, folder: Path) -> None:
    with open_palace(folder) as house:
        report.die_at("accept_loss.recorded")
        accept_loss(house.log, house.generations, house.lock, System().log_id(), lambda *_: None)


def export(report: Report, folder: Path, target: Path) -> None:
    with open_palace(folder) as house, house.palace.reading() as reading:
        report.die_at("outbox.written")
        export_outbox(house.log, reading, target)


# `fork.recorded` is died at in test_restored.py, what is of vectors in test_reindex_killed.py, what
# is of jobs in test_jobs_killed.py.
OTHER_POINTS = (
    "backup.copied",
    "restore.copied",
    "restore.set_aside",
    "accept_loss.recorded",
    "fork.recorded",
    "outbox.written",
    "reindex.set_aside",
    "texts.embedded",
    "reindex.caught_up",
    "reindex.switched",
    "prune.removed",
    "job.started",
    "job.worked",
    "job.noted",
    "job.ended",
)


@pytest.fixture
def written(folder: Path) -> list[str]:
    with open_palace(folder) as house:
        return write(house, "before", BEFORE)


def test_a_backup_killed_half_way_is_no_backup_and_another_one_is(
    folder: Path, tmp_path: Path, written: list[str]
) -> None:
    with Child(back_up, folder, tmp_path / "half") as child:
        assert child.dies() == ([], "backup.copied")
    with refused("backup::none"):
        restore_palace(tmp_path / "half", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    assert len(sound(folder, written)) == BEFORE
    with open_palace(folder) as house:
        assert backup(house.log, tmp_path / "whole").position == BEFORE + 1
    restore_palace(tmp_path / "whole", tmp_path / "restored")
    sound(tmp_path / "restored", written)


def test_a_restore_killed_while_it_copies_has_changed_nothing(
    folder: Path, tmp_path: Path, written: list[str]
) -> None:
    with open_palace(folder) as house:
        backup(house.log, tmp_path / "backup")
        later = write(house, "later", 3)
    with Child(restore_over, folder, tmp_path / "backup", "restore.copied") as child:
        assert child.dies() == ([], "restore.copied")
    assert len(sound(folder, [*written, *later])) == BEFORE + 3
    assert restore_palace(tmp_path / "backup", folder, replace=True).position == BEFORE
    assert len(sound(folder, written)) == BEFORE


def test_a_restore_killed_between_two_logs_can_be_done_again(
    folder: Path, tmp_path: Path, written: list[str]
) -> None:
    with open_palace(folder) as house:
        backup(house.log, tmp_path / "backup")
        later = write(house, "later", 3)
    with Child(restore_over, folder, tmp_path / "backup", "restore.set_aside") as child:
        assert child.dies() == ([], "restore.set_aside")
    with refused("log::missing"):
        open_palace(folder)
    assert restore_palace(tmp_path / "backup", folder, replace=True).position == BEFORE
    assert len(sound(folder, written)) == BEFORE

    # What came after the backup is set aside, whole.
    aside = folder / "set-aside" / "001"
    shutil.copy(folder / "palace.toml", aside)
    assert len(sound(aside, [*written, *later])) == BEFORE + 3


def restore_and_die(report: Report, source: Path, folder: Path, number: int) -> None:
    with failing() as fault:
        fault.happens = lambda calls: report.die("a call") if calls == number else None
        restore_palace(source, folder, replace=True)


def test_a_restore_killed_at_any_call_leaves_nothing_that_joins_the_next_one(
    folder: Path, tmp_path: Path, written: list[str]
) -> None:
    """The WAL of a copy that was being made must not become that of another copy."""
    create_palace(tmp_path / "bob", "bob")
    with open_palace(folder) as house, open_palace(tmp_path / "bob") as other:
        backup(house.log, tmp_path / "backup")
        write(other, "other", 30)
        backup(other.log, tmp_path / "other")
    left: list[str] = []
    for number in range(1, 100):
        with Child(restore_and_die, tmp_path / "other", folder, number) as child:
            child.dies()
        copies = [path.name for path in folder.glob(".log.db.restoring*")]
        if not copies:
            break
        left += copies
        restore_palace(tmp_path / "backup", folder, replace=True)
        with open_palace(folder) as house:
            assert house.log.about.device.startswith("ada~")
            assert [one.header.op_id for one in operations(house)] == written
    assert ".log.db.restoring-wal" in left
    assert number < 99


def test_a_loss_whose_acceptance_was_killed_is_accepted(folder: Path) -> None:
    with Child(write_and_die, folder) as child:
        acknowledged, _ = child.dies()
    lose_tail(folder, commits=2)
    with Child(accept, folder) as child:
        assert child.dies() == ([], "accept_loss.recorded")
    held = sound(folder, acknowledged[:-2], brings=["views::other_log"])
    assert len(held) == BEFORE - 2
    with open_palace(folder) as house:
        assert house.log.about.device == "ada~2"


def write_and_die(report: Report, folder: Path) -> None:
    with open_palace(folder) as house:
        for op_id in write(house, "before", BEFORE):
            report("acknowledged", op_id)
        report.die("the end")


def test_an_export_killed_half_way_leaves_no_file_and_the_next_one_does(
    folder: Path, tmp_path: Path, written: list[str]
) -> None:
    target = tmp_path / "outbox.ndjson"
    with Child(export, folder, target) as child:
        assert child.dies() == ([], "outbox.written")
    assert not target.exists()
    with open_palace(folder) as house, house.palace.reading() as reading:
        assert export_outbox(house.log, reading, target).events == BEFORE
    assert [one.recorded.header.op_id for one in read_events(target)] == written
    assert len(sound(folder, written)) == BEFORE
