"""What hides much is shown first and asked about; in a pipe it is done only with --yes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, new_line


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    for number in range(4):
        place = ("--wing", "home", "--room", "notes" if number else "plans")
        source = ("--source-file", "old.md") if number < 2 else ()
        made("add", f"text {number}", *place, *source, before=("--session", "s1"))
    return made


def texts(line: CommandLine) -> list[str]:
    return sorted(one["preview"] for one in line("list")["drawers"])


def ids(line: CommandLine) -> dict[str, str]:
    return {one["preview"]: one["id"] for one in line("list")["drawers"]}


def test_drawers_are_deleted_by_their_ids(line: CommandLine) -> None:
    held = ids(line)
    one = line("delete", held["text 0"], "--reason", "outdated")
    assert one["hidden"] == [held["text 0"]]
    assert texts(line) == ["text 1", "text 2", "text 3"]
    assert line("log", "show", one["position"])["operation"]["payload"]["reason"] == "outdated"
    assert line("delete", held["text 1"], held["text 2"])["count"] == 2
    assert texts(line) == ["text 3"]
    assert line("get", held["text 0"])["drawer"]["state"] == "hidden"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("delete --source old.md", ["text 2", "text 3"]),
        ("delete --source-file old.md --wing home", ["text 2", "text 3"]),
        ("delete --wing home --room notes", ["text 0"]),
        ("delete --wing home", []),
        ("undo --session s1", []),
        ("undo 2", ["text 0", "text 2", "text 3"]),
    ],
)
def test_in_a_pipe_it_is_only_shown_unless_yes_is_said(
    line: CommandLine, words: str, left: list[str]
) -> None:
    before = texts(line)
    tried = line(*words.split())
    assert (tried["dry_run"], tried["position"]) == (True, None)
    assert texts(line) == before
    done = line(*words.split(), "--yes")
    assert (done["dry_run"], done["position"]) == (False, 5)
    assert done.get("hidden", done.get("undone")) == tried.get("hidden", tried.get("undone"))
    assert texts(line) == left


@pytest.mark.parametrize(
    ("words", "left", "shown", "question"),
    [
        ("delete --wing home --room notes", ["text 0"], "Would hide 3 drawers:", "Hide 3 drawers?"),
        ("undo --session s1", [], "Would undo 4 operations:", "Undo 4 operations?"),
    ],
)
def test_at_a_terminal_it_is_shown_and_asked_about(
    line: CommandLine, words: str, left: list[str], shown: str, question: str
) -> None:
    before = texts(line)
    for answer, code in (("n\n", 1), ("\n", 1), ("", 130)):
        ended, seen = line.seen(*words.split(), typed=answer)
        assert ended == code, seen
        assert shown in seen
        assert question in seen
        assert texts(line) == before
    ended, seen = line.seen(*words.split(), typed="y\n")
    assert ended == 0, seen
    assert texts(line) == left


def test_where_there_is_nothing_to_hide_nobody_is_asked(line: CommandLine) -> None:
    code, seen = line.seen("delete", "--source", "nowhere.md")
    assert code == 0
    assert "Would hide no drawers." in seen
    assert "?" not in seen


def test_many_drawers_are_named_in_part(line: CommandLine) -> None:
    items = [{"wing": "big", "room": "r", "content": f"text {n}"} for n in range(30)]
    line.call("checkpoint", items=items)
    _, seen = line.seen("delete", "--wing", "big", typed="n\n")
    assert "Would hide 30 drawers:" in seen
    assert "and 10 more" in seen


def test_what_others_built_on_stays_and_is_named(line: CommandLine) -> None:
    drawer = ids(line)["text 0"]
    line.call("update_drawer", "--session", "s2", drawer_id=drawer, content="newer")
    code, seen = line.seen("undo", "--session", "s1", typed="y\n")
    assert code == 0
    assert "built_on" in seen
    assert texts(line) == ["newer"]


def test_what_is_undone_can_be_undone_by_id(line: CommandLine) -> None:
    deleted = line("delete", ids(line)["text 3"])
    line("undo", deleted["op_id"], "--yes")
    assert "text 3" in texts(line)


def test_what_cannot_be_deleted_as_asked_changes_nothing(line: CommandLine) -> None:
    cases: list[tuple[int, str, tuple[Any, ...]]] = [
        (2, "input::usage", ("delete",)),
        (2, "input::usage", ("delete", "--reason", "none")),
        (2, "input::usage", ("delete", "drawer_x", "--wing", "home")),
        (2, "input::invalid", ("delete", "--room", "notes", "--yes")),
        (2, "input::invalid", ("delete", "--source", "old.md", "--room", "notes", "--yes")),
        (2, "input::invalid", ("undo", "--yes")),
        (1, "drawers::unknown", ("delete", "drawer_x")),
    ]
    for code, name, words in cases:
        with line.stops(code, name):
            line(*words)
    for words in (("delete", "--wing", "home"), ("undo", "1")):
        with line.stops(1, "mode::forbidden"):
            line(*words, "--yes", before=("--mode", "read_only"))
        with line.stops(2, "input::invalid", names="--at"):
            line(*words, "--yes", before=("--at", "@1"))
