"""A command, a session and a pipe as processes; the rest is in tests/processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import CommandLine, new_line
from tests.hosting import WAYS, Host, end_owner, owner

PLACE = {"wing": "home", "room": "notes"}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[CommandLine]:
    made = new_line(tmp_path / "palace")
    yield made
    end_owner(made.palace)


def test_a_command_answers(line: CommandLine) -> None:
    ended = line.process("add", "tea", "--wing", "home", "--room", "notes")
    assert (ended.code, ended.err) == (0, b"")
    assert line("get", ended.answer["drawer_id"])["drawer"]["content"] == "tea"


@pytest.mark.parametrize("way", WAYS, ids=["pipe", "in process"])
def test_a_session_answers(line: CommandLine, way: tuple[str, ...]) -> None:
    with Host(line.palace, *way) as host:
        host.begin()
        made = host.call("add_drawer", PLACE | {"content": "tea"})
        assert (owner(line.palace) is None) == bool(way)
        assert host.close() == 0
    assert line("get", made["drawer_id"])["drawer"]["content"] == "tea"
