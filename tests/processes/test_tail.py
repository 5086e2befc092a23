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


def test_what_is_followed_is_noted_as_it_is_shown(line: CommandLine) -> None:
    command = line.command("tail", "--lines", "1")
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped, env=line.env()) as process:
        assert process.stdout is not None
        first = orjson.loads(process.stdout.readline())
        line("note", "a third", "--wing", "home")
        second = orjson.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate()
    noted = line("log", "list", "--reads", "--tool", "tail")["operations"]
    shown = [line("log", "show", one["op_id"])["operation"] for one in noted]
    seen = [one["payload"]["seen"] for one in shown]
    assert [one["ids"] for one in seen] == [[second["op_id"]], [first["op_id"]]]
    assert [one["position"] for one in seen] == [4, 3]
