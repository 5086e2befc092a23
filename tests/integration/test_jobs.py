"""Jobs: asked for, worked on by one worker, paused, cancelled, taken up again: case W14."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.jobs import BY_WORKERS, OF_JOBS, STEERING
from domain.operation import Context
from palacelog.bootstrap import open_palace, restore_palace
from palacelog.mining.walking import Candidate
from palacelog.owner.lock import take_lock
from palacelog.owner.process import Owner
from palacelog.working import follow
from replay import crash_points
from replay.backup import backup
from tests.palaces import Device, Fleet, fingerprint, operations
from tests.served import bearer, error_of, serving, token_file

FILES = 6


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(tmp_path / "papers", FILES)


def written(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"{number:04d}.md").write_text(f"Paper {number}")
    return folder


def mined(device: Device, folder: Path, **more: Any) -> str:
    """Ask for a job; its id."""
    return str(device.mine(path=str(folder), **more)["job_id"])


def worked(device: Device, job_id: str) -> dict[str, Any]:
    """Follow a job to where it ends or rests."""
    return follow(device.house.palace, device.house.worker, job_id, lambda done, total: None)


def line(device: Device, job_id: str) -> dict[str, Any]:
    return dict(device.show_job(job_id=job_id)["job"])


def outcomes(device: Device, job_id: str, **chosen: Any) -> dict[str, str]:
    files = device.show_job(job_id=job_id, limit=200, **chosen)["files"]
    return {Path(one["path"]).name: one["outcome"] for one in files}


def filed(device: Device) -> list[str]:
    """The texts of all events that file a text; one filed twice stands there twice."""
    return sorted(
        one.payload()["content"]
        for one in operations(device.house)
        if one.header.tool in ("add_drawer", "update_drawer")
    )


def at_point(monkeypatch: pytest.MonkeyPatch, point: str, does: Callable[[], None]) -> None:
    """Have something done once, when a worker passes a point."""
    left = [does]

    def happens() -> None:
        if left:
            left.pop()()

    monkeypatch.setitem(crash_points.armed, point, happens)


def test_a_request_is_answered_at_once_with_its_job_and_nothing_is_filed_yet(
    ada: Device, papers: Path
) -> None:
    told = ada.mine(path=str(papers))
    assert (told["state"], told["stream"], told["duplicate"]) == ("queued", "local", False)
    assert ada.tools() == ["create_wing", "mine"]
    assert ada.list_wings()["wings"][0]["policy"] == "local"
    assert line(ada, told["job_id"])["path"] == str(papers)


def test_a_job_that_is_worked_on_files_every_file_and_is_done(ada: Device, papers: Path) -> None:
    told = worked(ada, mined(ada, papers))
    assert (told["state"], told["found"], told["filed"]) == ("done", FILES, FILES)
    assert filed(ada) == [f"Paper {number}" for number in range(FILES)]
    assert {one.header.stream for one in operations(ada.house)} == {"local"}


def test_the_same_request_means_the_same_job_until_that_is_over(ada: Device, papers: Path) -> None:
    first = ada.mine(path=str(papers))
    again = ada.mine(path=f"{papers}/../papers")
    assert (again["job_id"], again["duplicate"]) == (first["job_id"], True)
    assert mined(ada, papers, room="other") != first["job_id"]
    worked(ada, first["job_id"])
    assert mined(ada, papers) != first["job_id"]


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_paused_job_stays_paused_over_a_restart(
    ada: Device, papers: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W14"""
    job = mined(ada, papers)
    if state == "running":
        at_point(monkeypatch, "job.worked", lambda: paused(ada, job))
        assert worked(ada, job)["state"] == "paused"
        assert len(filed(ada)) == 1
    else:
        ada.job_pause(job_id=job)
    before = ada.position()
    ada.reopen()
    assert ada.house.worker.work()
    ada.reopen(works=True)
    ada.reopen()
    assert (line(ada, job)["state"], ada.position()) == ("paused", before)
    ada.job_resume(job_id=job)
    assert worked(ada, job)["state"] == "done"
    assert filed(ada) == [f"Paper {number}" for number in range(FILES)]
    assert set(outcomes(ada, job).values()) == {"filed"}


def paused(device: Device, job: str) -> None:
    assert device.job_pause(job_id=job)["state"] == "paused"


@pytest.mark.parametrize("cancel", ["job_cancel", "job_force_cancel"])
@pytest.mark.parametrize("running", [False, True])
def test_cancel_beats_pause_in_either_order(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch, cancel: str, running: bool
) -> None:
    """W14"""
    for order in (("job_pause", cancel), (cancel, "job_pause")):
        job = mined(ada, papers)

        def steered(job: str = job, order: tuple[str, ...] = order) -> None:
            for tool in order:
                if (tool, order[0]) == ("job_pause", cancel):
                    with ada.refuses("jobs::state"):
                        ada.call(tool, {"job_id": job})
                else:
                    ada.call(tool, {"job_id": job})

        if running:
            at_point(monkeypatch, "job.started", steered)
        else:
            steered()
        assert worked(ada, job)["state"] == "cancelled"
    assert filed(ada) == []


def test_what_was_filed_before_a_cancel_stays_and_nothing_is_filed_after_it(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)
    answers: list[dict[str, Any]] = []
    at_point(monkeypatch, "job.worked", lambda: answers.append(ada.job_cancel(job_id=job)))
    assert worked(ada, job)["state"] == "cancelled"
    assert answers[0]["state"] == "cancelling"
    tools = ada.tools()[answers[0]["position"] :]
    assert tools == ["job_progressed", "job_stopped"]
    assert outcomes(ada, job) == {"0000.md": "filed"}
    assert worked(ada, str(ada.job_retry(job_id=job)["job_id"]))["state"] == "done"
    assert filed(ada) == [f"Paper {number}" for number in range(FILES)]


def test_a_cancel_that_comes_between_a_look_and_a_write_lets_nothing_through(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)
    palace = ada.house.palace
    call, left = palace.call, [True]

    def cancelled_first(tool: str, *given: Any, **more: Any) -> dict[str, Any]:
        if tool == "add_drawer" and left:
            left.pop()
            call("job_force_cancel", {"job_id": job})
        return call(tool, *given, **more)

    monkeypatch.setattr(palace, "call", cancelled_first)
    assert worked(ada, job)["state"] == "cancelled"
    assert filed(ada) == []


def test_a_look_at_a_large_folder_can_be_stopped(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)

    def endless(top: Path) -> Iterator[Candidate]:
        while True:
            yield Candidate("/x", "/x", None)
            if ada.show_job(job_id=job)["job"]["state"] == "running":
                ada.job_pause(job_id=job)

    monkeypatch.setattr("palacelog.mining.filing.walk", endless)
    assert worked(ada, job)["state"] == "paused"


def test_a_job_whose_worker_was_lost_over_a_cancel_ends_without_work(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)

    def lost() -> None:
        ada.job_cancel(job_id=job)
        raise OSError

    at_point(monkeypatch, "job.started", lost)
    with pytest.raises(OSError, match=r"^$"):
        worked(ada, job)
    assert line(ada, job)["state"] == "cancelling"
    ada.reopen()
    assert worked(ada, job)["state"] == "cancelled"
    assert filed(ada) == []


def test_a_second_worker_leaves_the_work_to_the_first(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)
    with open_palace(ada.folder) as other:
        seen: list[bool] = []
        at_point(monkeypatch, "job.started", lambda: seen.append(other.worker.work()))
        assert worked(ada, job)["state"] == "done"
        assert seen == [False]
        assert other.worker.work()
    assert filed(ada) == [f"Paper {number}" for number in range(FILES)]


def test_jobs_are_worked_on_as_they_were_asked_for_those_begun_first(
    clock: FrozenDateTimeFactory, ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = []
    for room in ("b", "a", "c"):
        jobs.append(mined(ada, papers, room=room))
        clock.tick(1)

    def lost() -> None:
        raise OSError

    at_point(monkeypatch, "job.started", lost)
    ada.job_pause(job_id=jobs[0])
    with pytest.raises(OSError, match=r"^$"):
        ada.house.worker.work()
    ada.job_resume(job_id=jobs[0])
    assert line(ada, jobs[1])["state"] == "running"
    assert ada.house.worker.work()
    started = [one for one in operations(ada.house) if one.header.tool == "job_started"]
    assert [one.payload()["job_id"] for one in started] == [jobs[1], jobs[1], jobs[0], jobs[2]]
    assert line(ada, jobs[1])["attempts"] == 2


def test_a_thread_takes_up_what_is_asked_for_here_and_by_other_processes(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Semaphore(0)
    monkeypatch.setitem(crash_points.armed, "job.ended", ended.release)
    ada.reopen(works=True)
    job = mined(ada, papers)
    assert ended.acquire(timeout=60)
    with open_palace(ada.folder) as other:
        asked = {"path": str(papers), "room": "other"}
        told = other.palace.call("mine", asked)
        assert ended.acquire(timeout=60)
    ada.reopen()
    assert [line(ada, one)["state"] for one in (job, told["job_id"])] == ["done", "done"]


def test_a_fault_of_the_program_ends_its_job_and_neither_the_thread_nor_other_jobs(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault() -> None:
        raise RuntimeError("what only the file holds")

    jobs = [mined(ada, papers, room=room) for room in ("a", "b")]
    ended = threading.Semaphore(0)
    monkeypatch.setitem(crash_points.armed, "job.ended", ended.release)
    at_point(monkeypatch, "job.worked", fault)
    ada.reopen(works=True)
    assert all(ended.acquire(timeout=60) for _ in jobs)
    ada.reopen()
    broken, whole = (line(ada, one) for one in jobs)
    assert (broken["state"], broken["code"]) == ("failed", "palacelog::jobs::fault")
    assert "job_retry" in broken["help"]
    assert (whole["state"], whole["code"], whole["help"]) == ("done", None, None)
    assert f"{jobs[0]} fault RuntimeError in fault" in caplog.text
    assert "what only" not in caplog.text
    ada.job_retry(job_id=jobs[0])
    assert worked(ada, jobs[0])["state"] == "done"
    assert filed(ada) == [f"Paper {number}" for number in range(FILES)]


@pytest.mark.parametrize("mode", ["read_only", "disabled"])
def test_a_palace_that_may_not_write_takes_up_nothing(ada: Device, papers: Path, mode: str) -> None:
    job = mined(ada, papers)
    ada.reopen(works=True, session_mode=mode)
    assert ada.house.worker._thread is None
    ada.reopen()
    assert line(ada, job)["state"] == "queued"


def test_whoever_asked_for_a_job_is_who_filed_and_its_id_is_the_session(
    ada: Device, papers: Path
) -> None:
    job = mined(ada.by(agent="scribe", principal="kiran", session="s-1"), papers)
    worked(ada, job)
    headers = [one.header for one in operations(ada.house) if one.header.tool == "add_drawer"]
    assert {(one.agent, one.principal, one.session) for one in headers} == {
        ("scribe", "kiran", job)
    }
    told = ada.undo(session=job, dry_run=False)
    assert len(told["undone"]) == FILES
    assert ada.list_drawers()["total"] == 0


def test_a_job_is_not_undone_and_the_answer_says_what_steers_it(ada: Device, papers: Path) -> None:
    asked = ada.mine(path=str(papers))
    stopped = ada.job_pause(job_id=asked["job_id"])
    for one in (asked, stopped):
        told = ada.undo(op_id=one["op_id"], dry_run=False)
        kept = {each["op_id"]: each["reason"] for each in told["kept"]}
        assert kept[one["op_id"]] == "by_job_control"
        assert told["undone"] == []
    assert line(ada, asked["job_id"])["state"] == "paused"


def test_steering_answers_with_id_and_state_alone(ada: Device, papers: Path) -> None:
    job = mined(ada, papers)
    disabled = ada.by(session_mode="disabled")
    envelope = {"op_id", "origin_device", "stream", "local_seq", "position", "duplicate"}
    for tool in ("job_pause", "job_resume", "job_cancel", "job_retry", "job_force_cancel"):
        told = disabled.call(tool, {"job_id": job})
        assert told.keys() == envelope | {"job_id", "state"}
        assert "papers" not in str(told)
    for read in (disabled.list_jobs, lambda: disabled.show_job(job_id=job)):
        with ada.refuses("mode::forbidden"):
            read()
    with ada.refuses("mode::forbidden"):
        ada.by(session_mode="read_only").mine(path=str(papers))


def test_what_does_not_fit_is_refused_with_what_does(ada: Device, papers: Path) -> None:
    job = mined(ada, papers)
    for tool in STEERING:
        with ada.refuses("jobs::unknown"):
            ada.call(tool, {"job_id": "job_of_nobody"})
    assert ada.job_resume(job_id=job)["duplicate"]
    worked(ada, job)
    for tool in STEERING:
        with ada.refuses("jobs::state"):
            ada.call(tool, {"job_id": job})
    with ada.refuses("jobs::unknown"):
        ada.show_job(job_id="job_of_nobody")


def test_maintenance_is_for_who_is_at_the_machine(ada: Device, papers: Path) -> None:
    elsewhere = Context(principal="somebody", here=False)
    before = fingerprint(ada.house)
    for tool, given in (("mine", {"path": str(papers)}), ("embed", {})):
        with ada.refuses("mode::elsewhere"):
            ada.house.palace.call(tool, given, elsewhere)
    ada.house.palace.call("list_jobs", {}, elsewhere)
    assert fingerprint(ada.house) == before


def test_lists_are_paged_and_look_back(
    clock: FrozenDateTimeFactory, ada: Device, papers: Path
) -> None:
    jobs = []
    for room in "abc":
        clock.tick(1)
        jobs.append(mined(ada, papers, room=room))
    first = ada.list_jobs(limit=2)
    rest = ada.list_jobs(limit=2, cursor=first["cursor"])
    assert [one["id"] for one in first["jobs"] + rest["jobs"]] == jobs[::-1]
    assert (first["total"], rest["cursor"]) == (3, None)
    before = ada.position()
    worked(ada, jobs[0])
    assert ada.list_jobs(state="done")["total"] == 1
    assert ada.list_jobs(state="done", known_at=f"@{before}")["total"] == 0
    files = ada.show_job(job_id=jobs[0], limit=4)
    more = ada.show_job(job_id=jobs[0], limit=4, cursor=files["cursor"])
    shown = files["files"] + more["files"]
    assert [Path(one["path"]).name for one in shown] == sorted(one.name for one in papers.iterdir())
    assert ada.show_job(job_id=jobs[0], outcome="skipped")["total"] == 0
    for asked in ({"job_id": jobs[0], "outcome": "filed"}, {"job_id": jobs[1]}):
        with ada.refuses("input::invalid", "cursor"):
            ada.show_job(**asked, cursor=files["cursor"])


def test_jobs_never_travel(fleet: Fleet, papers: Path) -> None:
    ada, bob = fleet.devices("ada", "bob")
    job = mined(ada, papers)
    worked(ada, job)
    ada.add_drawer(wing="home", room="notes", content="tea")
    fleet.share()
    assert bob.list_jobs()["total"] == 0
    assert bob.contents() == ["tea"]
    assert not OF_JOBS & set(bob.tools())
    assert ada.status()["outbox"]["pending"] == 1


def test_a_restored_palace_goes_on_with_no_job_of_the_one_before_until_it_is_told_to(
    fleet: Fleet, papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = fleet.device("ada")
    job, other = mined(ada, papers), mined(ada, papers, room="other")

    def copied() -> None:
        backup(ada.house.log, tmp_path / "backup")

    at_point(monkeypatch, "job.worked", copied)
    worked(ada, job)
    restored = restore_palace(tmp_path / "backup", tmp_path / "again")
    with open_palace(restored.path) as house:
        call = house.palace.call
        head = house.log.position()
        states = {one["id"]: one["state"] for one in call("list_jobs", {})["jobs"]}
        assert states == {job: "paused", other: "paused"}
        assert house.worker.work()
        assert house.log.position() == head
        assert call("job_resume", {"job_id": job})["state"] == "queued"
        told = follow(house.palace, house.worker, job, lambda done, total: None)
        assert (told["state"], told["filed"], told["device"]) == ("done", FILES, "ada~2")
        assert call("list_drawers", {})["total"] == FILES
        assert call("job_cancel", {"job_id": other})["state"] == "cancelled"
    assert line(ada, other)["state"] == "queued"


def test_what_a_worker_records_cannot_be_called(ada: Device, papers: Path) -> None:
    job = mined(ada, papers)
    for tool in BY_WORKERS:
        with ada.refuses("input::unknown_tool"):
            ada.house.palace.call(tool, {"job_id": job})


def test_who_comes_with_a_token_mines_nothing_and_may_steer(
    ada: Device, papers: Path, tmp_path: Path
) -> None:
    job = mined(ada, papers)
    ada.reopen(serve={"token_file": token_file(tmp_path)})
    with serving(ada.house) as served:
        answer = served.call("mine", {"path": str(papers)}, headers=bearer("ada"))
        error_of(answer, 403, "mode::elsewhere")
        told = served.call("job_pause", {"job_id": job}, headers=bearer("eve"))
        assert told.json()["state"] == "paused"
        error_of(served.call("list_jobs", {}, headers=bearer("eve")), 403, "mode::forbidden")


class Working:
    """A palace in which a job is worked on for the next looks."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    @property
    def busy(self) -> bool:
        self.left -= 1
        return self.left >= 0


def test_an_owner_without_sessions_does_not_end_while_a_job_is_worked_on(ada: Device) -> None:
    palace = Working(3)

    async def owned() -> None:
        lock = take_lock(ada.folder)
        assert lock is not None
        one = Owner(ada.folder, palace, lock)  # type: ignore[arg-type]
        await one.begin()
        await asyncio.wait_for(one.ended(0.001), 60)

    asyncio.run(owned())
    assert palace.left == -1
