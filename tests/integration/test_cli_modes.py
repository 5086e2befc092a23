"""What a session mode lets through on the command line, for every command there is; after a refusal
nothing changed, and nothing was written anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.gate import CONTROL, READ, WRITE
from tests.command_line import COMMAND, CommandLine, new_line, what_is_there

CITY = "Kiran city Lyon"
STEERS = "steers a job"
"""A control operation that is recorded; or refused, where the job is not in the state for it."""
COMMANDS: dict[str, tuple[str, str]] = {
    "accept-loss": (WRITE, ""),
    "add": (WRITE, "milk --wing home --room notes"),
    "audit diff": (READ, "@0"),
    "audit export": (READ, "--csv {new}"),
    "audit show": (READ, "1"),
    "audit sql": (READ, "SELECT\t1"),
    "audit trail": (READ, ""),
    "audit why": (READ, "{drawer}"),
    "backup": (READ, "{new}"),
    "call": (WRITE, 'create_wing {{"wing":"lab"}}'),
    "checkpoint": (WRITE, "{items}"),
    "delete": (WRITE, "{drawer} --yes"),
    "diary read": (READ, "scribe"),
    "diary write": (WRITE, "scribe Rain."),
    "embed": (WRITE, ""),
    "get": (READ, "{drawer}"),
    "history": (READ, "{drawer}"),
    "jobs cancel": (STEERS, "{job}"),
    "jobs list": (READ, ""),
    "jobs pause": (STEERS, "{job}"),
    "jobs resume": (STEERS, "{job}"),
    "jobs retry": (STEERS, "{job}"),
    "jobs show": (READ, "{job}"),
    "kg add": (WRITE, CITY),
    "kg conflicts": (READ, ""),
    "kg declare": (WRITE, "city one"),
    "kg invalidate": (WRITE, CITY),
    "kg query": (READ, "Kiran"),
    "kg resolve": (WRITE, "conflict_1 settled"),
    "kg supersede": (WRITE, f"{CITY} Nice"),
    "kg timeline": (READ, ""),
    "list": (READ, ""),
    "log export": (READ, "{new}"),
    "log list": (READ, ""),
    "log show": (READ, "1"),
    "mine": (WRITE, "{items}"),
    "note": (WRITE, "milk --wing home --room notes"),
    "outbox acknowledge": (WRITE, "{items}"),
    "outbox export": (READ, "{new}"),
    "outbox fork": (WRITE, "--after 1"),
    "outbox list": (READ, ""),
    "recall": (READ, "tea"),
    "reindex": (WRITE, "--prune"),
    "replay": (WRITE, "{items}"),
    "restore": (WRITE, "{new} --replace"),
    "search": (READ, "tea"),
    "tail": (READ, "--once"),
    "undo": (WRITE, "1"),
    "wake-up": (READ, ""),
    "audit": (CONTROL, ""),
    "digest": (CONTROL, ""),
    "doctor": (CONTROL, ""),
    "log verify": (CONTROL, ""),
    "rebuild": (CONTROL, ""),
    "status": (CONTROL, ""),
    "tools": (CONTROL, ""),
}
ELSEWHERE = {
    "init",
    "demo",
    "audit plot",
    "mcp",
    "serve",
    "hook",
    "integrate install",
    "integrate print",
    "integrate remove",
    "integrate status",
}
"""They make a palace of their own, need what is not always installed, hold a mode for all that is
asked of them, are turned down by a label, or open no palace.
"""
MODES = {"read_only": {READ, CONTROL, STEERS}, "disabled": {CONTROL, STEERS}}


def commands(group: Any, *before: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield " ".join((*before, name))
        if hasattr(command, "commands"):
            yield from commands(command, *before, name)


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    made = new_line(tmp_path_factory.mktemp("modes") / "palace")
    made("add", "tea", "--wing", "home", "--room", "notes")
    made("kg", "add", *CITY.split())
    folder = tmp_path_factory.mktemp("papers")
    made("mine", folder, "--no-follow")
    return made


def words(line: CommandLine, command: str, folder: Path) -> list[str]:
    items = folder / "items.json"
    items.write_text('{"items": [{"wing": "home", "room": "notes", "content": "milk"}]}')
    [drawer] = line("list")["drawers"]
    [job] = line("jobs", "list")["jobs"]
    given = {"new": folder / "new", "items": items, "drawer": drawer["id"], "job": job["id"]}
    said = COMMANDS[command][1].format(**given)
    return [*command.split(), *(word.replace("\t", " ") for word in said.split(" ") if word)]


def test_every_command_is_tried_here() -> None:
    assert sorted(commands(COMMAND)) == sorted(COMMANDS.keys() | ELSEWHERE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_mode_lets_a_command_through_or_refuses_it_and_nothing_changed(
    line: CommandLine, tmp_path: Path, command: str, mode: str
) -> None:
    typed = words(line, command, tmp_path)
    before = what_is_there(line.palace)
    if COMMANDS[command][0] in MODES[mode]:
        ended = line.run(*typed, before=("--mode", mode))
        if COMMANDS[command][0] == STEERS:
            codes = [error["code"] for error in ended.errors]
            assert (ended.code, codes) in ((0, []), (1, ["palacelog::jobs::state"]))
            return
        assert ended.code == 0, ended.err
        assert what_is_there(line.palace) == before
    else:
        with line.stops(1, "mode::forbidden", names=mode):
            line(*typed, before=("--mode", mode))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["items.json"]
