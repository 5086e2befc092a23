"""Workers that are killed, and jobs that several processes speak to: case W14."""

from __future__ import annotations

import fcntl
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Refused
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.working import follow
from replay import crash_points
from tests.faults.processes import Child, Report
from tests.hosting import Host, end_owner, owner
from tests.palaces import operations, rebuilt_equals_live

FILES = 12
MANY = 1_500
"""Files that no owner has filed by the time that its next request is answered."""
POINTS = [
    ("job.started", 1),
    ("job.worked", 1),
    ("job.worked", 7),
    ("job.worked", FILES),
    ("job.noted", 1),
    ("job.ended", 1),
    # The request of the job is not passed by the child; its start is the first turn of its writer.
    *((point, passes) for point in ("log.appended", "log.committed") for passes in (1, 2, 8)),
    *(
        (point, passes)
        for point in ("views.committed", "writer.before_answer")
        for passes in (2, 9)
    ),
    ("log.committed", FILES + 2),
]


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(tmp_path / "papers", FILES)


@pytest.fixture
def palace(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "palace"
    create_palace(path, "desk", force=True)
    yield path
    end_owner(path)


def written(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04d}.md").write_text(f"Paper {number}")
    return folder


def asked_for(palace: Path, papers: Path) -> str:
    """Ask for a job that nobody works on; its id."""
    with open_palace(palace) as house:
        return str(house.palace.call("mine", {"path": str(papers)})["job_id"])


def followed(house: House, job: str) -> dict[str, Any]:
    return follow(house.palace, house.worker, job, lambda done, total: None)


def filed(house: House) -> Counter[str]:
    """How often each text was filed, by the log."""
    return Counter(
        one.payload()["content"]
        for one in operations(house)
        if one.header.tool in ("add_drawer", "update_drawer")
    )


def all_once(house: House, job: str, files: int = FILES) -> None:
    """Every file is filed once, its drawer is there once, and the job knows of it."""
    call = house.palace.call
    assert filed(house) == Counter({f"Paper {number}": 1 for number in range(files)})
    assert call("list_drawers", {})["total"] == files
    shown = call("show_job", {"job_id": job, "outcome": "filed"})
    assert (shown["job"]["state"], shown["total"]) == ("done", files)
    assert shown["job"]["failed"] == shown["job"]["unchanged"] == 0
    rebuilt_equals_live(house)


def work_until(report: Report, palace: Path, job: str, point: str, passes: int) -> None:
    with open_palace(palace) as house:
        report.die_at(point, passes)
        followed(house, job)
    report("done")


@pytest.mark.parametrize(("point", "passes"), POINTS)
def test_a_job_whose_worker_was_killed_is_taken_up_and_files_nothing_twice(
    palace: Path, papers: Path, point: str, passes: int
) -> None:
    job = asked_for(palace, papers)
    with Child(work_until, palace, job, point, passes) as child:
        assert child.dies()[1] == point
    with open_palace(palace) as house:
        followed(house, job)
        all_once(house, job)


def test_a_worker_that_dies_again_and_again_gets_done(palace: Path, papers: Path) -> None:
    job = asked_for(palace, papers)
    for _ in range(FILES // 3):
        with Child(work_until, palace, job, "job.worked", 3) as child:
            assert child.dies()[1] == "job.worked"
    with open_palace(palace) as house:
        assert filed(house).total() == FILES
        assert followed(house, job)["attempts"] == FILES // 3 + 1
        all_once(house, job)


def test_a_file_that_changed_and_was_filed_by_a_worker_that_died_is_updated_once(
    palace: Path, papers: Path
) -> None:
    with open_palace(palace) as house:
        followed(house, asked_for(palace, papers))
    (papers / "0003.md").write_text("Another paper")
    job = asked_for(palace, papers)
    with Child(work_until, palace, job, "job.worked", 1) as child:
        child.dies()
    with open_palace(palace) as house:
        told = followed(house, job)
        assert (told["updated"], told["unchanged"]) == (1, FILES - 1)
        assert filed(house)["Another paper"] == 1


def rest_at(report: Report, palace: Path, job: str) -> None:
    """Work, and stand still after the first file until somebody kills this process."""
    with open_palace(palace) as house:

        def stands() -> None:
            report("working")
            signal.pause()

        crash_points.armed["job.worked"] = stands
        followed(house, job)


def test_a_job_is_left_alone_while_its_worker_lives_and_taken_up_when_it_does_not(
    palace: Path, papers: Path
) -> None:
    job = asked_for(palace, papers)
    with Child(rest_at, palace, job) as child, open_palace(palace) as house:
        child.wait_for("working")
        assert not house.worker.work()
        assert filed(house).total() == 1
        child.kill()
        assert house.worker.work()
        all_once(house, job)


def test_a_job_paused_by_another_process_files_no_more_and_stays_so(
    palace: Path, papers: Path
) -> None:
    job = asked_for(palace, papers)
    with Child(rest_at, palace, job) as child, open_palace(palace) as house:
        child.wait_for("working")
        house.palace.call("job_pause", {"job_id": job})
        child.kill()
        assert house.worker.work()
        assert filed(house).total() == 1
        assert house.palace.call("list_jobs", {"state": "paused"})["total"] == 1
        house.palace.call("job_resume", {"job_id": job})
        followed(house, job)
        all_once(house, job)


def steer(report: Report, palace: Path, job: str, tool: str, gate: Path) -> None:
    with open_palace(palace) as house:
        report("ready")
        with gate.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
        try:
            house.palace.call(tool, {"job_id": job})
        except Refused as refusal:
            report("steered", refusal.code)
        else:
            report("steered", None)


@pytest.mark.parametrize("running", [False, True])
def test_a_cancel_and_a_pause_at_once_from_two_processes_end_the_job(
    palace: Path, papers: Path, tmp_path: Path, running: bool
) -> None:
    gate = tmp_path / "gate"
    for _ in range(4):
        job = asked_for(palace, papers)
        with gate.open("w") as closed:
            fcntl.flock(closed, fcntl.LOCK_EX)
            with (
                Child(steer, palace, job, "job_pause", gate) as pausing,
                Child(steer, palace, job, "job_cancel", gate) as cancelling,
                open_palace(palace) as house,
            ):
                pausing.wait_for("ready")
                cancelling.wait_for("ready")
                open_gate = lambda: fcntl.flock(closed, fcntl.LOCK_UN)  # noqa: E731
                if running:
                    crash_points.armed["job.started"] = open_gate
                    try:
                        house.worker.work()
                    finally:
                        del crash_points.armed["job.started"]
                else:
                    open_gate()
                assert pausing.wait_for("steered")[0] in (None, "palacelog::jobs::state")
                assert cancelling.wait_for("steered") == (None,)
                assert house.worker.work()
                shown = house.palace.call("show_job", {"job_id": job})
                assert shown["job"]["state"] == "cancelled"
                assert max(filed(house).values(), default=1) == 1


def shown(host: Host, job: str) -> dict[str, Any]:
    told = host.call("show_job", {"job_id": job})
    assert "job" in told, told
    return dict(told["job"])


def test_a_paused_job_stays_paused_over_a_restart_of_the_owner(
    palace: Path, tmp_path: Path
) -> None:
    papers = written(tmp_path / "many", MANY)
    with Host(palace) as host:
        host.begin()
        job = host.call("mine", {"path": str(papers)})["job_id"]
        assert host.call("job_pause", {"job_id": job})["state"] == "paused"
        first = owner(palace)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert shown(host, job)["state"] == "paused"
        assert owner(palace) not in (None, first)
        before = host.call("status")["head"]
        end_owner(palace)
        assert (shown(host, job)["state"], host.call("status")["head"]) == ("paused", before)
    with open_palace(palace) as house:
        assert max(filed(house).values(), default=1) == 1


def test_a_job_whose_owner_was_killed_is_gone_on_with_by_the_next(
    palace: Path, tmp_path: Path
) -> None:
    files = 120
    papers = written(tmp_path / "more", files)
    with Host(palace) as host:
        host.begin()
        job = host.call("mine", {"path": str(papers)})["job_id"]
        while not host.call("list_drawers", {"limit": 1})["total"]:
            pass
        first = owner(palace)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        while shown(host, job)["state"] != "done":
            pass
        assert owner(palace) not in (None, first)
    end_owner(palace)
    with open_palace(palace) as house:
        all_once(house, job, files)
