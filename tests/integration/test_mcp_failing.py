"""What a client is told where something fails that nobody foresaw, and what a log says of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from palacelog.palace import Palace
from tests.mcp_clients import ERAS, fails, in_memory, over_streams, refused, session_of
from tests.palaces import Device

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

SECRET = "the cellar door"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: Any) -> None:
        raise RuntimeError(f"cannot read {SECRET}")

    monkeypatch.setattr(Palace, "call", call)


@pytest.mark.usefixtures("broken")
async def test_a_tool_that_breaks_is_an_error_with_code_and_help(
    ada: Device, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_streams(session_of(ada), era) as client:
        told = refused(await client.call_tool("search", {"query": SECRET}))
    assert told["code"] == "palacelog::internal::unforeseen"
    assert SECRET not in str(told)
    assert SECRET not in caplog.text
    assert "search failed: RuntimeError in call" in caplog.text


@pytest.mark.usefixtures("broken")
async def test_a_resource_that_breaks_is_an_error_with_code_and_help(
    ada: Device, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_streams(session_of(ada), era) as client:
        async with fails("internal::unforeseen") as told:
            await client.read_resource("palacelog://log/1")
        assert SECRET not in str(told)
    assert SECRET not in caplog.text
    assert "resources/read failed: RuntimeError in call" in caplog.text


async def test_nothing_of_a_call_is_logged(
    ada: Device, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with in_memory(session_of(ada), era) as client:
        place = {"wing": "home", "room": "notes"}
        await client.call_tool("add_drawer", {**place, "content": SECRET})
        refused(await client.call_tool("add_drawer", {**place, "content": [SECRET]}))
        refused(await client.call_tool("get_drawer", {"drawer_id": SECRET}))
        await client.call_tool("search", {"query": SECRET})
    assert SECRET not in caplog.text
