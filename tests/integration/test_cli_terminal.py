"""At a terminal answers are tables in colour; what comes out of a memory commands nothing."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.command_line import CommandLine, at_terminal, new_line, plain

HOSTILE = "red \x1b[31m bell \x07 title \x1b]0;x\x07 c1 \x9b2J turned \u202eabc [bold]markup[/bold]"


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    made.call("add_drawer", wing="home", room="notes", content="Tea at four.")
    return made


def test_lists_are_tables_with_the_moment_below(line: CommandLine) -> None:
    code, seen = line.seen("log", "list")
    assert code == 0
    assert "recorded at" in seen
    assert "add_drawer" in seen
    assert "1 in all, position 1, as of" in seen
    assert "operations: none\n0 in all" in line.seen("log", "list", "--tool", "kg_add")[1]


@pytest.mark.parametrize("words", ["tools", "tools add_drawer", "doctor", "log verify", "rebuild",
                                   "outbox list", "log show 1", "call list_conflicts"])  # fmt: skip
def test_every_answer_has_a_form_for_a_person(line: CommandLine, words: str) -> None:
    code, seen = line.seen(*words.split())
    assert code == 0
    assert not seen.lstrip().startswith("{")


def test_json_is_json_at_a_terminal_too(line: CommandLine) -> None:
    _, seen = line.seen("status", before=("--json",))
    assert orjson.loads(seen)["device"] == "laptop"
    code, seen = line.seen("call", "nothing", before=("--json",))
    assert code == 2
    assert orjson.loads(seen)["code"] == "palacelog::input::unknown_tool"


def test_a_memory_commands_no_terminal(line: CommandLine) -> None:
    line.call("add_drawer", wing="home", room="notes", content=HOSTILE)
    drawer = line("list")["drawers"][0]["id"]
    line("diary", "write", "scribe", "--", HOSTILE)
    for words in (
        ("call", "list_drawers"), ("log", "show", "2"), ("list",), ("get", drawer),
        ("search", "markup"), ("recall", "markup"), ("diary", "read", "scribe"),
    ):  # fmt: skip
        code, seen = line.seen(*words)
        assert code == 0
        for command in ("\x1b[31m bell", "\x07", "\x1b]0;", "\x9b", "\u202e"):
            assert command not in seen
        assert "\\x9b2J" in seen
        assert "[bold]markup[/bold]" in seen.replace("\n", "")


def test_replay_shows_what_became_of_each_file(line: CommandLine, tmp_path: Path) -> None:
    line("outbox", "export", tmp_path / "laptop.ndjson")
    (tmp_path / "other.ndjson").write_text("hello")
    primary = new_line(tmp_path / "primary", "primary")
    files = tmp_path / "laptop.ndjson", tmp_path / "other.ndjson"
    code, seen = primary.seen("replay", *files)
    assert code == 2
    assert "laptop.ndjson" in seen
    assert "palacelog::replay::malformed" in seen
    assert "error  other.ndjson, line 1" in seen


@pytest.mark.parametrize("typed", ["n\n", "", "y\n"], ids=["no", "end of input", "yes"])
def test_a_loss_is_named_before_it_is_accepted(
    line: CommandLine, tmp_path: Path, typed: str
) -> None:
    line("backup", tmp_path / "backup")
    for content in ("two", "three"):
        line.call("add_drawer", wing="home", room="notes", content=content)
    copy = (tmp_path / "backup" / "log.db").read_bytes()
    (line.palace / "log.db").write_bytes(copy)

    if typed == "y\n":
        code, seen = at_terminal(line, "accept-loss", typed=typed)
        assert code == 0
        assert "laptop~2" in plain(seen)
        line.call("add_drawer", wing="home", room="notes", content="four")
    else:
        code, seen = line.seen("accept-loss", typed=typed)
        assert code == (1 if typed else 130)
        assert line("status")["projections"][0]["state"] == "truncated"
    assert "positions 2 to 3 of it is lost" in plain(seen)
    assert "Go on without it? [y/N]" in plain(seen)
