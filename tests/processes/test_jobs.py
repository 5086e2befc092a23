"""A person mines a folder at a terminal, and stops it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import orjson
import pytest

from palacelog.bootstrap import open_palace
from tests.command_line import CommandLine, at_terminal, new_line, plain

MANY = 2_000


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return new_line(tmp_path / "palace")


def written(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04d}.md").write_text(f"Paper {number}")
    return folder


def test_ctrl_c_pauses_the_job_and_the_same_command_goes_on(
    line: CommandLine, tmp_path: Path
) -> None:
    papers = written(tmp_path / "many", MANY)
    command = line.command("mine", papers)
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=line.env()
        ) as process,
        open_palace(line.palace) as house,
    ):
        while not house.palace.call("list_drawers", {"limit": 1})["total"]:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (process.returncode, out) == (130, b"")
        error = orjson.loads(err)
        assert error["code"] == "palacelog::cli::interrupted"
        [job] = house.palace.call("list_jobs", {})["jobs"]
        assert job["state"] == "paused"
        held = house.palace.call("list_drawers", {"limit": 1})["total"]
        assert held < MANY
    for path in sorted(papers.iterdir())[held + 5 :]:
        path.unlink()
    told = line("mine", papers)
    assert (told["job_id"], told["state"]) == (job["id"], "done")
    assert line("list", "--limit", "1")["total"] == held + 5


def test_a_person_sees_a_bar_and_what_was_filed(line: CommandLine, tmp_path: Path) -> None:
    code, seen = at_terminal(line, "mine", written(tmp_path / "papers", 3))
    assert code == 0
    assert "filed" in plain(seen)
