"""A person mines a folder and steers the job; Ctrl-C pauses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from palacelog.cli import jobs
from tests.command_line import CommandLine, new_line
from tests.integration.test_jobs import written

FILES = 3


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return new_line(tmp_path / "palace")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(tmp_path / "papers", FILES)


def test_mining_a_folder_tells_how_it_ended(line: CommandLine, papers: Path) -> None:
    told = line("mine", papers)
    assert (told["state"], told["found"], told["filed"]) == ("done", FILES, FILES)
    assert told["wing"] == "papers"
    shown = line("jobs", "show", told["job_id"])
    assert shown["total"] == FILES
    assert line("jobs", "list", "--state", "done")["total"] == 1


def test_a_path_is_that_of_the_folder_where_the_command_runs(
    line: CommandLine, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(papers)
    told = line("mine", ".", "--room", "shelf")
    assert (told["path"], told["room"]) == (str(papers), "shelf")


def test_a_file_that_could_not_be_filed_is_told_by_the_exit_code(
    line: CommandLine, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("palacelog.mining.filing.read_text", unreadable)
    ended = line.run("mine", papers)
    assert ended.code == 5
    assert ended.answer["failed"] == FILES
    assert ended.errors[0]["code"] == "palacelog::mine::not_filed"


def test_a_job_that_is_only_asked_for_is_worked_on_when_somebody_follows(
    line: CommandLine, papers: Path
) -> None:
    told = line("mine", papers, "--no-follow")
    assert (told["state"], line("jobs", "list", "--state", "queued")["total"]) == ("queued", 1)
    again = line("mine", papers)
    assert (again["job_id"], again["duplicate"], again["state"]) == (told["job_id"], True, "done")


def test_a_paused_job_goes_on_by_the_same_command(line: CommandLine, papers: Path) -> None:
    job = line("mine", papers, "--no-follow")["job_id"]
    assert line("jobs", "pause", job)["state"] == "paused"
    assert line("jobs", "resume", job, "--no-follow")["state"] == "queued"
    assert line("jobs", "pause", job)["state"] == "paused"
    assert line("mine", papers)["state"] == "done"


def test_a_job_is_cancelled_and_taken_up_again(line: CommandLine, papers: Path) -> None:
    job = line("mine", papers, "--no-follow")["job_id"]
    assert line("jobs", "cancel", job)["state"] == "cancelled"
    with line.stops(1, "jobs::state", names="cancelled"):
        line("jobs", "pause", job)
    told = line("jobs", "retry", job)
    assert (told["state"], told["filed"]) == ("done", FILES)
    with line.stops(1, "jobs::unknown"):
        line("jobs", "show", "job_of_nobody")


def test_in_a_mode_that_reads_nothing_a_job_is_steered_and_not_followed(
    line: CommandLine, papers: Path
) -> None:
    job = line("mine", papers, "--no-follow")["job_id"]
    line("jobs", "pause", job)
    told = line("jobs", "resume", job, before=("--mode", "disabled"))
    assert (told["state"], told.get("path")) == ("queued", None)
    with line.stops(1, "mode::forbidden"):
        line("jobs", "list", before=("--mode", "disabled"))


@pytest.mark.parametrize(
    ("words", "code", "number"),
    [
        (("mine", "nowhere"), "input::invalid", 2),
        (("mine", ""), "input::invalid", 2),
        (("mine", "{palace}"), "mine::palace", 1),
        (("mine", "{papers}", "--wing", "shared"), "mine::shared_wing", 1),
    ],
)
def test_what_cannot_be_mined_says_so_and_changes_nothing(
    line: CommandLine, papers: Path, words: tuple[str, ...], code: str, number: int
) -> None:
    line.call("create_wing", wing="shared")
    with line.stops(number, code):
        line(*(word.format(palace=line.palace, papers=papers) for word in words))


def test_the_help_of_a_shared_wing_names_both_ways_out(line: CommandLine, papers: Path) -> None:
    line.call("create_wing", wing="shared")
    told = line.run("mine", papers, "--wing", "shared").errors[0]["help"]
    assert "--wing" in told
    assert "publish_wing" in told


def test_a_list_of_jobs_is_a_table_at_a_terminal(line: CommandLine, papers: Path) -> None:
    line("mine", papers)
    code, seen = line.seen("jobs", "list")
    assert (code, "done" in seen) == (0, True)


def test_every_steering_operation_has_a_command() -> None:
    tools = {tool for _, form in jobs.JOB_FORMS.values() for tool in form.tools}
    assert tools >= {"job_pause", "job_resume", "job_cancel", "job_retry", "list_jobs", "show_job"}
