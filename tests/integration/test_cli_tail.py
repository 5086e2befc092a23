"""The log is followed: what another process writes is shown at once, one operation a line."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from tests.command_line import CommandLine, new_line


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    for number in range(3):
        made("add", f"text\n{number}", "--wing", "home", "--room", "notes")
    return made


@contextmanager
def following(line: CommandLine, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = line.command("tail", *words)
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped, env=line.env()) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_newest_operations_are_shown_one_json_object_a_line(line: CommandLine) -> None:
    shown = [orjson.loads(one) for one in line.run("tail", "--once", "--lines", "2").out.split()]
    assert [one["position"] for one in shown] == [2, 3]
    listed = line("log", "list", "--limit", "2")["operations"]
    assert shown == [
        {name: value for name, value in one.items() if name in shown[0]} for one in listed[::-1]
    ]
    assert line.run("tail", "--once", "--lines", "0").out == b""


def test_a_terminal_shows_who_did_what_in_one_line_each(line: CommandLine) -> None:
    line("kg", "add", "tea", "at", "four")
    line("kg", "supersede", "tea", "at", "four", "five", before=("--agent", "scribe"))
    line("note", "x" * 300 + "\x1b[31m", "--wing", "home")
    code, seen = line.seen("tail", "--once", "--lines", "4")
    assert code == 0
    lines = seen.splitlines()
    assert len(lines) == 4
    assert all(len(one) <= 100 for one in lines)
    assert "add_drawer  home/notes: text 2" in lines[0]
    assert "scribe@laptop  kg_supersede  tea at four > five" in lines[2]
    assert "\x1b[31m" not in seen


def test_what_another_process_writes_appears_and_nobody_waits(line: CommandLine) -> None:
    with following(line, "--lines", "1") as process:
        assert process.stdout is not None
        assert orjson.loads(process.stdout.readline())["position"] == 3
        for position in (4, 5):
            done = line.process("note", f"written {position}", "--wing", "home")
            assert done.code == 0
            followed = orjson.loads(process.stdout.readline())
            assert (followed["position"], followed["tool"]) == (position, "note")
            assert followed["op_id"] == done.answer["op_id"]
        process.send_signal(signal.SIGINT)
        rest, told = process.communicate()
        assert process.returncode == 130
        assert rest == b""
        assert orjson.loads(told)["code"] == "palacelog::cli::interrupted"


def test_following_ends_where_the_log_is_replaced(line: CommandLine, tmp_path: Path) -> None:
    line("backup", tmp_path / "backup")
    with following(line, "--lines", "1") as process:
        assert process.stdout is not None
        process.stdout.readline()
        line("restore", tmp_path / "backup", "--replace")
        _, told = process.communicate()
        assert process.returncode == 3
        assert orjson.loads(told)["code"] == "palacelog::log::replaced"


def test_following_is_a_read_of_the_present(line: CommandLine) -> None:
    assert line.run("tail", "--once", before=("--mode", "read_only")).code == 0
    with line.stops(1, "mode::forbidden"):
        line("tail", "--once", before=("--mode", "disabled"))
    with line.stops(2, "input::invalid", names="--at"):
        line("tail", "--once", before=("--at", "@1"))
    with line.stops(2, "input::usage", names="--lines"):
        line("tail", "--once", "--lines", "-1")
