"""What the hook tells a host: the shape and length that it takes, whatever it sent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from domain.operations.searching import WakeUpAsks
from palacelog.hosts import hook
from palacelog.hosts.hook import BYTES_MAX, answer, project, received

HOSTS = list(BYTES_MAX)
PLANTED = "the marker that was planted"


class Palace:
    """Stands where the palace is asked, and notes what for."""

    def __init__(self) -> None:
        self.block = PLANTED
        self.asked: list[dict[str, Any]] = []

    def __call__(
        self, folder: Path, tool: str, arguments: dict[str, Any], **who: Any
    ) -> dict[str, Any]:
        WakeUpAsks(**arguments)
        assert tool == "wake_up"
        self.asked.append({"folder": folder, **arguments, **who})
        return {"block": self.block}


@pytest.fixture
def palace(monkeypatch: pytest.MonkeyPatch) -> Palace:
    made = Palace()
    monkeypatch.setattr(hook, "ask", made)
    return made


def told(event: str, host: str, label: str = "full", **given: Any) -> str:
    return answer(event, host, label, Path("palace"), given, {})


def text_of(host: str, said: str) -> str:
    """The text in an answer, once its shape is exactly the one that the host takes."""
    if host in ("opencode", "pi"):
        return said
    if host == "cursor":
        [(key, text)] = json.loads(said).items()
        assert key == "additional_context"
        return str(text)
    document = json.loads(said)
    assert document.keys() == {"hookSpecificOutput"}
    inner = document["hookSpecificOutput"]
    assert inner.keys() == {"hookEventName", "additionalContext"}
    assert inner["hookEventName"] == "SessionStart"
    return str(inner["additionalContext"])


@pytest.mark.parametrize("host", HOSTS)
def test_each_host_is_told_in_its_own_shape(host: str, palace: Palace) -> None:
    assert PLANTED in text_of(host, told("session-start", host))


@pytest.mark.parametrize("host", HOSTS)
def test_an_answer_is_no_longer_than_the_host_takes(host: str, palace: Palace) -> None:
    told("session-start", host, source="compact", cwd="/a/wing")
    palace.block = "ü" * (palace.asked[-1]["max_bytes"] // 2)
    text = text_of(host, told("session-start", host, source="compact", cwd="/a/wing"))
    assert BYTES_MAX[host] - 8 <= len(text.encode()) <= BYTES_MAX[host]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("event", ["session-start", "pre-compact", "session-end", ""])
def test_off_asks_nothing_and_tells_nothing(host: str, event: str, palace: Palace) -> None:
    for label in ("off", "OFF", "read_only", ""):
        assert told(event, host, label, source="compact") == ""
    for environment in ({"PALACELOG_LABEL": "off"}, {"PALACELOG_MODE": "disabled"}):
        assert answer(event, host, "full", Path("palace"), {}, environment) == ""
    assert palace.asked == []


def test_what_nobody_knows_is_told_nothing(palace: Palace) -> None:
    assert told("session-start", "another-host") == ""
    assert told("session-middle", "codex") == ""
    assert palace.asked == []


@pytest.mark.parametrize("host", HOSTS)
def test_after_a_compaction_a_session_that_may_write_is_reminded(host: str, palace: Palace) -> None:
    assert hook.REMINDER in told("session-start", host, source="compact")
    assert hook.REMINDER not in told("session-start", host, source="startup")
    read_only = told("session-start", host, "read-only", source="compact")
    assert PLANTED in read_only
    assert hook.REMINDER not in read_only


@pytest.mark.parametrize("host", HOSTS)
def test_before_a_compaction_only_those_are_told_who_can_be(host: str, palace: Palace) -> None:
    said = told("pre-compact", host)
    assert said == (hook.BEFORE_COMPACTION if host in ("opencode", "pi") else "")
    assert told("pre-compact", host, "read-only") == ""
    assert palace.asked == []


def test_a_palace_with_nothing_to_tell_says_nothing(palace: Palace) -> None:
    palace.block = ""
    assert told("session-start", "codex") == ""


def test_cursor_running_the_hook_of_claude_code_is_told_in_its_shape(palace: Palace) -> None:
    said = told("session-start", "claude-code", cursor_version="3.1", workspace_roots=["/a/b"])
    assert PLANTED in text_of("cursor", said)
    assert palace.asked[0]["wing"] == "b"
    assert palace.asked[0]["client"] == "cursor"


def test_the_wing_is_that_of_the_nearest_palacelog_toml_else_the_folder(
    palace: Palace, tmp_path: Path
) -> None:
    inner = tmp_path / "atlas" / "src"
    inner.mkdir(parents=True)
    told("session-start", "codex", cwd=str(inner))
    (tmp_path / "atlas" / "palacelog.toml").write_text('wing = "projects"\n')
    told("session-start", "codex", cwd=str(inner))
    assert [one["wing"] for one in palace.asked] == ["src", "projects"]


def test_the_palace_is_told_who_asks(palace: Palace) -> None:
    told("session-start", "codex", session_id="s\n1é")
    told("session-start", "vscode", sessionId="x" * 500)
    told("session-start", "vscode", session_id=7)
    assert [one["session"] for one in palace.asked] == ["s?1?", "x" * 128, None]
    assert palace.asked[0]["client"] == "codex"


def test_the_folder_of_a_session_is_what_the_host_says_first() -> None:
    variable = {"CLAUDE_PROJECT_DIR": "/c"}
    assert project({"cwd": "/a", "workspace_roots": ["/b"]}, variable) == Path("/a")
    assert project({"workspace_roots": ["/b"]}, variable) == Path("/b")
    assert project({"cwd": 5, "workspace_roots": []}, variable) == Path("/c")
    assert project({"cwd": "relative", "workspace_roots": "no"}, {}) == Path.cwd()


@pytest.mark.parametrize(
    "sent",
    [b"", b"garbage", b"[1]", b"null", b'{"cwd":', b"\xff\xfe", b"[" * 200_000, b'"' + b"a" * 100],
    ids=range(8),
)
def test_input_that_is_no_object_is_nothing(sent: bytes, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(sent)
    with (tmp_path / "sent").open("rb") as file:
        assert received(file.fileno()) == {}


def test_input_that_does_not_end_is_what_came_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "_INPUT_SECONDS", 0.01)
    read, write = os.pipe()
    assert received(read) == {}
    os.write(write, b'{"source": "compact"}')
    assert received(read) == {"source": "compact"}
    os.close(write)
    os.close(read)
    assert received(read) == {}
