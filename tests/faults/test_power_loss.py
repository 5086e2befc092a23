"""The power goes, and the last pages written to a WAL are not on the disk: a log is a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palacelog.bootstrap import create_palace, open_palace
from tests.faults.damage import (
    FRAME_HEADER,
    WAL_HEADER,
    Frame,
    Stored,
    copied,
    cut,
    frames,
    stored_events,
    views_of,
    wal_of,
)
from tests.faults.judging import findings, sound
from tests.faults.processes import Child, Report
from tests.faults.work import share_a_commit, write

SINGLE, TOGETHER = 12, 6
EVENTS = SINGLE + TOGETHER + 2
COMMITS_CUT = 7


def fill(report: Report, folder: Path) -> None:
    """Single writes, one commit of several, and single writes again; all of it in the WAL."""
    house = open_palace(folder)
    write(house, "single", SINGLE)
    for future in share_a_commit(house, [f"text {number}" for number in range(TOGETHER)]):
        future.result()
    write(house, "at the end", 2)
    report.die("the end")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("power") / "ada"
    create_palace(folder, "ada")
    with Child(fill, folder) as child:
        child.dies()
    return folder


@pytest.fixture(scope="module")
def stored(template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Stored | None]:
    """The events as they lie in the log, and nothing else."""
    whole = copied(template, tmp_path_factory.mktemp("whole") / "ada")
    events = stored_events(whole / "log.db", EVENTS)
    assert None not in events
    return events


def cuts(wal: Path) -> Iterator[tuple[int, int]]:
    """Lengths to cut a WAL to, each with the number of commits that are whole then: every boundary
    of a frame in the last commits, and places in the midst of each frame.
    """
    commits, start = 0, WAL_HEADER
    every = frames(wal)
    total = sum(one.commits for one in every)
    for frame in every:
        if commits >= total - COMMITS_CUT:
            yield from ((length, commits) for length in _within(start, frame))
        commits += frame.commits
        start = frame.end


def _within(start: int, frame: Frame) -> tuple[int, ...]:
    return start, start + 7, start + FRAME_HEADER, (start + frame.end) // 2, frame.end - 1


def events_of(commits: int) -> int:
    """How many events the first commits hold."""
    return commits if commits <= SINGLE else commits + TOGETHER - 1


def test_a_log_whose_wal_was_cut_is_a_prefix_and_the_lost_range_is_named(
    template: Path, stored: list[Stored | None], tmp_path: Path
) -> None:
    lengths = list(cuts(wal_of(template / "log.db")))
    assert {commits for _, commits in lengths} == set(range(SINGLE + 3 - COMMITS_CUT, SINGLE + 3))
    for length, commits in lengths:
        left = events_of(commits)
        folder = copied(template, tmp_path / "ada")
        cut(wal_of(folder / "log.db"), length)
        looked_at = copied(folder, tmp_path / "looked at")
        found = stored_events(looked_at / "log.db", EVENTS)
        assert found == stored[:left] + [None] * (EVENTS - left), (length, commits)
        [finding] = findings(folder)
        assert (finding.code, finding.position, finding.upto) == (
            "log::truncated",
            left + 1,
            EVENTS,
        )


def test_a_palace_whose_log_and_views_lost_the_same_goes_on(template: Path, tmp_path: Path) -> None:
    boundaries = {WAL_HEADER, *(one.end for one in frames(wal_of(template / "log.db")))}
    for length, commits in cuts(wal_of(template / "log.db")):
        if length not in boundaries:
            continue
        folder = copied(template, tmp_path / "ada")
        cut(wal_of(folder / "log.db"), length)
        # The views were never fsynced since they were made.
        wal_of(views_of(folder)).unlink()
        assert len(sound(folder)) == events_of(commits)


def test_views_whose_wal_was_cut_catch_up(template: Path, tmp_path: Path) -> None:
    every = frames(wal_of(views_of(template)))
    for frame in every[-24::2]:
        folder = copied(template, tmp_path / "ada")
        cut(wal_of(views_of(folder)), frame.end - 1)
        assert len(sound(folder)) == EVENTS


def test_a_commit_of_the_log_waits_for_the_disk(tmp_path: Path) -> None:
    create_palace(tmp_path / "ada", "ada")
    with open_palace(tmp_path / "ada") as house:
        write(house, "some", 2)
        connection = house.log.app.datastore.writer()
        asked = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "wal_autocheckpoint")
        }
    assert asked == {"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 0}
