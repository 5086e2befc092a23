"""A newcomer learns the command line from its help alone, and help comes at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from palacelog.cli.failing import EXIT_CODES
from palacelog.cli.group import BEFORE
from palacelog.cli.main import app
from tests.command_line import COMMAND, CommandLine, new_line

WIDE = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
GROUPS = ("log", "outbox", "kg", "diary", "jobs", "integrate")
ENGINE = ("sqlalchemy", "eventsourcing", "pydantic_settings", "domain.catalog", "palacelog.palace")


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command there is, groups included."""
    command = command or COMMAND
    yield path
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    shown = CliRunner(env=WIDE).invoke(app, [*path, "--help"])
    assert shown.exit_code == 0
    return shown.stdout


def test_there_are_the_commands_that_are_promised() -> None:
    promised = {
        "init", "status", "doctor", "demo", "call", "tools", "log list", "log show", "log verify",
        "log export", "outbox list", "outbox export", "outbox acknowledge", "outbox fork", "replay",
        "rebuild", "reindex", "digest", "backup", "restore", "accept-loss",
        "add", "get", "list", "search", "history", "note", "recall", "wake-up", "checkpoint",
        "diary write", "diary read", "delete", "undo", "embed", "tail",
        "kg add", "kg query", "kg timeline", "kg invalidate", "kg supersede", "kg declare",
        "kg conflicts", "kg resolve",
        "mine", "jobs list", "jobs show", "jobs pause", "jobs resume", "jobs cancel", "jobs retry",
        "audit", "audit trail", "audit show", "audit why", "audit diff", "audit sql",
        "audit export", "audit plot", "mcp", "serve",
        "integrate install", "integrate remove", "integrate status", "integrate print", "hook",
    }  # fmt: skip
    found = {" ".join(path) for path in commands()} - {"", *GROUPS}
    assert found == promised


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    shown = help_of(path)
    if path and path not in {(name,) for name in GROUPS}:
        assert "Example" in shown
        assert f"palacelog {' '.join(path)}" in shown.split("Example")[1] or "--" in shown
    assert "No such" not in shown


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_option_and_argument_is_explained(path: tuple[str, ...]) -> None:
    command: Any = COMMAND
    for name in path:
        command = command.commands[name]
    for parameter in command.params:
        if parameter.name not in ("help", "install_completion", "show_completion"):
            assert parameter.help, f"{' '.join(path)}: {parameter.name}"


def test_the_exit_codes_are_documented() -> None:
    told = help_of(()).split("Exit codes")[1]
    for code in (0, *EXIT_CODES.values()):
        assert f"  {code}  " in told


def test_the_options_before_the_command_are_known_to_the_advice() -> None:
    command: Any = COMMAND
    names = {option for one in command.params for option in one.opts}
    assert names - {"--version", "--install-completion", "--show-completion"} == set(BEFORE)


def test_a_group_without_a_command_shows_its_help() -> None:
    for path in ((), *((name,) for name in GROUPS)):
        shown = CliRunner().invoke(app, list(path))
        assert shown.exit_code == 2
        assert "Usage:" in shown.stdout
        assert shown.stderr == ""


def test_the_palace_can_be_named_by_the_environment(tmp_path: Path) -> None:
    new_line(tmp_path / "palace")
    named = {"PALACELOG_PALACE": str(tmp_path / "palace")}
    shown = CliRunner(env=named).invoke(app, ["status"])
    assert shown.exit_code == 0
    other = CommandLine(tmp_path / "other", **named)
    assert other.run("status").code == 3
