"""What a client sends behind a choice of the session's mode, without waiting for its answer."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult

from palacelog.mcp import server as mcp_server
from tests.mcp_clients import ERAS, answered, over_streams, refused, session_of
from tests.palaces import Device

PLACE = {"wing": "home", "room": "notes"}
AT_MOST_SECONDS = 0.3
Asked = tuple[str, dict[str, Any]]


async def sent_at_once(client: Any, *asked: Asked) -> list[CallToolResult]:
    """What answers each of several calls that are sent one behind the other."""
    answers: dict[int, CallToolResult] = {}

    async def call(number: int, tool: str, given: dict[str, Any]) -> None:
        answers[number] = await client.call_tool(tool, given)

    async with anyio.create_task_group() as tasks:
        for number, (tool, given) in enumerate(asked):
            tasks.start_soon(call, number, tool, given)
    return [answers[number] for number in range(len(asked))]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_what_is_sent_behind_a_choice_waits_for_it(
    ada: Device, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    overtaken, call = threading.Event(), ada.house.palace.call
    waited = []

    def slow(tool: str, *given: Any) -> dict[str, Any]:
        if tool == "set_mode":
            waited.append(overtaken.wait(AT_MOST_SECONDS))
        else:
            overtaken.set()
        return call(tool, *given)

    monkeypatch.setattr(ada.house.palace, "call", slow)
    async with over_streams(session_of(ada), era) as client:
        answers = await sent_at_once(
            client,
            ("set_mode", {"mode": "disabled"}),
            ("set_mode", {"mode": "read_only"}),
            ("list_wings", {}),
            ("add_drawer", PLACE | {"content": "tea"}),
        )
    assert waited == [False, False]
    for answer in answers[:3]:
        answered(answer)
    assert refused(answers[3])["code"] == "palacelog::mode::forbidden"
    assert ada.tools() == []


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_what_was_sent_before_a_choice_runs_under_the_mode_that_held_then(
    ada: Device, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setattr(mcp_server, "CALLS_AT_ONCE_MAX", 1)
    chosen, call = threading.Event(), ada.house.palace.call

    def slow(tool: str, *given: Any) -> dict[str, Any]:
        if tool == "create_wing":
            assert chosen.wait(60)
        answer = call(tool, *given)
        if tool == "set_mode":
            chosen.set()
        return answer

    monkeypatch.setattr(ada.house.palace, "call", slow)
    async with over_streams(session_of(ada), era) as client:
        answers = await sent_at_once(
            client,
            ("create_wing", {"wing": "attic"}),
            ("add_drawer", PLACE | {"content": "tea"}),
            ("set_mode", {"mode": "disabled"}),
            ("list_wings", {}),
        )
    for answer in answers[:3]:
        answered(answer)
    assert refused(answers[3])["code"] == "palacelog::mode::forbidden"
    assert ada.tools() == ["create_wing", "add_drawer"]
