"""The newest operations are shown, one a line."""

from __future__ import annotations

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


def test_following_is_a_read_of_the_present(line: CommandLine) -> None:
    assert line.run("tail", "--once", before=("--mode", "read_only")).code == 0
    with line.stops(1, "mode::forbidden"):
        line("tail", "--once", before=("--mode", "disabled"))
    with line.stops(2, "input::invalid", names="--at"):
        line("tail", "--once", before=("--at", "@1"))
    with line.stops(2, "input::usage", names="--lines"):
        line("tail", "--once", "--lines", "-1")
