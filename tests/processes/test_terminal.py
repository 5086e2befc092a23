"""At a real terminal: answers are in colour, and what hides much is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine, at_terminal, new_line, plain


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    for number in range(4):
        source = ("--source-file", "old.md") if number < 2 else ()
        made("add", f"text {number}", "--wing", "home", "--room", "notes", *source)
    return made


def texts(line: CommandLine) -> list[str]:
    return sorted(one["preview"] for one in line("list")["drawers"])


def test_status_is_a_panel_in_colour(line: CommandLine) -> None:
    code, seen = at_terminal(line, "status")
    assert code == 0
    assert "\x1b[1m" in seen
    assert "laptop" in plain(seen)
    assert "4 live, 0 hidden" in plain(seen)
    assert "4 not acknowledged" in plain(seen)
    assert "{" not in seen


def test_errors_are_text_with_help_and_code(line: CommandLine) -> None:
    code, seen = at_terminal(line, "call", "nothing")
    assert code == 2
    assert plain(seen).startswith("error  There is no tool 'nothing'.\nhelp ")
    assert "code   palacelog::input::unknown_tool" in plain(seen)


def test_a_real_terminal_is_asked_and_yes_skips_the_question(line: CommandLine) -> None:
    code, seen = at_terminal(line, "delete", "--source", "old.md", typed="y\n")
    assert code == 0
    assert "Hide 2 drawers?" in plain(seen)
    assert texts(line) == ["text 2", "text 3"]
    code, seen = at_terminal(line, "delete", "--wing", "home", "--yes")
    assert code == 0
    assert "?" not in plain(seen)
    assert texts(line) == []
