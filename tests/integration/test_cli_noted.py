"""What a command reads that is no operation of the catalog is noted in the trail all the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import ROOT, CommandLine, new_line

QUERY = "SELECT content FROM texts WHERE content = 'secret'"
Asked = Callable[[Path], tuple[tuple[Any, ...], dict[str, Any], int]]
"""A command's words, its arguments as they are noted, and how many things it shows."""

READS: dict[str, Asked] = {
    "audit sql": lambda folder: ((QUERY, "--limit", "5"), {"query": QUERY, "limit": 5}, 1),
    "audit export": lambda folder: (
        ("--csv", folder / "tables"), {"csv": str(folder / "tables")}, -1,
    ),
    "log export": lambda folder: ((folder / "log",), {"file": str(folder / "log")}, 2),
    "outbox export": lambda folder: (
        (folder / "out", "--from", "2"), {"file": str(folder / "out"), "from": 2}, 1,
    ),
    "outbox list": lambda folder: ((), {"limit": 20}, 2),
    "backup": lambda folder: ((folder / "copy",), {"folder": str(folder / "copy")}, 2),
    "tail": lambda folder: (("--once", "--lines", "1"), {"lines": 1}, 1),
}  # fmt: skip


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A palace with two operations."""
    made = new_line(tmp_path / "palace")
    for text in ("secret", "plain"):
        made("add", text, "--wing", "home", "--room", "notes")
    return made


def noted(line: CommandLine, command: str, *more: str) -> list[dict[str, Any]]:
    """The events of a command in the trail, newest first, in full."""
    tool = command.replace(" ", "_")
    listed = line("log", "list", "--reads", "--tool", tool, *more)["operations"]
    return [line("log", "show", one["op_id"])["operation"] for one in listed]


def test_every_command_that_is_a_read_of_its_own_is_tried_here() -> None:
    sources = (ROOT / "palacelog" / "cli").glob("*.py")
    named = re.findall(r'\.gate\("([a-z ]+)", READ\)', "".join(map(Path.read_text, sources)))
    assert sorted(named) == sorted([*READS, "completion"])


@pytest.mark.parametrize("command", READS)
def test_a_command_that_reads_is_noted_with_who_asked_what_and_how_much_it_saw(
    line: CommandLine, tmp_path: Path, command: str
) -> None:
    words, asked, total = READS[command](tmp_path)
    before = line("digest")
    ended = line.run(*command.split(), *words, before=("--agent", "scribe", "--session", "s-1"))
    assert ended.code == 0, ended.err
    [event] = noted(line, command)
    assert (event["agent"], event["session"], event["client"]) == ("scribe", "s-1", "cli")
    assert (event["outcome"], event["stream"]) == ("accepted", "trail")
    assert event["payload"]["asked"] == asked
    seen = event["payload"]["seen"]
    assert (seen["log_id"], seen["position"]) == (before["log_id"], 2)
    assert seen["total"] == total if total >= 0 else seen["total"] > 2
    assert line("digest") == before


@pytest.mark.parametrize("command", READS)
def test_where_reads_are_kept_as_digests_a_command_leaves_its_digest_alone(
    line: CommandLine, tmp_path: Path, command: str
) -> None:
    line.environment["PALACELOG_AUDIT__READS"] = "digest"
    words, *_ = READS[command](tmp_path)
    assert line.run(*command.split(), *words).code == 0
    [event] = noted(line, command)
    assert "asked" not in event["payload"]
    assert "ids" not in event["payload"]["seen"]
    assert len(event["asked_digest"]) == 64
    assert "secret" not in str(event)
    assert str(tmp_path) not in str(event)


def test_where_reads_are_not_kept_a_command_leaves_nothing(
    line: CommandLine, tmp_path: Path
) -> None:
    line.environment["PALACELOG_AUDIT__READS"] = "off"
    for command, asked in READS.items():
        assert line.run(*command.split(), *asked(tmp_path)[0]).code == 0
    assert not list((line.palace / "trail").glob("*.db"))


@pytest.mark.parametrize("command", [*READS, "replay", "outbox acknowledge", "accept-loss"])
def test_a_command_that_the_session_mode_refuses_is_noted_without_what_was_asked(
    line: CommandLine, tmp_path: Path, command: str
) -> None:
    words = READS[command](tmp_path)[0] if command in READS else (tmp_path / "file",)
    words = () if command == "accept-loss" else words
    with line.stops(1, "mode::forbidden", names=command):
        line(*command.split(), *words, before=("--mode", "disabled"))
    tool = command.replace(" ", "_").replace("-", "_")
    [refusal] = line("log", "list", "--outcome", "refused")["operations"]
    assert (refusal["tool"], refusal["session_mode"]) == (tool, "disabled")
    assert line("log", "show", refusal["op_id"])["operation"]["payload"] is None


def test_a_question_that_is_refused_is_noted_as_a_refusal(line: CommandLine) -> None:
    with line.stops(2, "audit::sql"):
        line("audit", "sql", "DROP VIEW operations")
    assert noted(line, "audit sql") == []
    [refusal] = line("log", "list", "--outcome", "refused")["operations"]
    assert (refusal["tool"], refusal["code"]) == ("audit_sql", "palacelog::audit::sql")


def test_who_saw_an_operation_go_by_is_found_in_what_led_to_a_drawer(line: CommandLine) -> None:
    line.run("tail", "--once", before=("--session", "s-1"))
    made = line("note", "after all", "--wing", "home", before=("--session", "s-1"))
    [operation] = line("audit", "why", made["drawer_id"])["operations"]
    assert [one["tool"] for one in operation["read_before"]] == ["tail"]


def test_names_that_a_shell_completes_are_noted(line: CommandLine) -> None:
    words = f"palacelog --palace {line.palace} list --wing h"
    asked = {"_PALACELOG_COMPLETE": "complete_bash", "COMP_WORDS": words,
             "COMP_CWORD": str(len(words.split()) - 1)}  # fmt: skip
    assert CommandLine(line.palace, **asked).run().out.split() == [b"home"]
    [event] = noted(line, "completion")
    assert event["payload"]["asked"] == {"tool": "list_wings"}
