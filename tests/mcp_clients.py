"""Clients of the Model Context Protocol for tests: the SDK's own, in memory and over processes.

async with in_memory(session, era) as client:
    answer = (await client.call_tool("status")).structured_content
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import CallToolResult

from domain.operation import Context
from palacelog.mcp.server import make_server
from palacelog.mcp.streams import serve
from palacelog.mcp.tools import Choice
from palacelog.sessions import Session
from tests.command_line import CommandLine
from tests.palaces import Device

LEGACY, MODERN = "legacy", "2026-07-28"
ERAS = (LEGACY, MODERN)
SECONDS_MAX = 60


def session_of(device: Device, mode: str = "full", **who: Any) -> Session:
    """A session that remembers its mode."""
    context = Context(session="s-1", client="test", session_mode=mode, **who)
    return Session(device.house.palace, context, remembers=True)


def in_memory(
    session: Session, era: str, choice: Choice = "core", prefix: str = "", **client: Any
) -> Client:
    """The SDK's client and our server, joined without a wire."""
    server = make_server(lambda _: session, choice, prefix)
    return Client(server, mode=era, read_timeout_seconds=SECONDS_MAX, **client)


@asynccontextmanager
async def over_streams(session: Session, era: str, **client: Any) -> AsyncIterator[Client]:
    """The SDK's client and our server, joined by the streams that standard input and output are."""
    server = make_server(lambda _: session, "core")
    async with (
        create_client_server_memory_streams() as (theirs, ours),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(serve, server, *ours)
        async with Client(_Joined(theirs), mode=era, **client) as connected:
            yield connected


class _Joined:
    """A pair of streams, as a client takes a transport."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        for stream in self._streams:
            await stream.aclose()


def over_stdio(
    line: CommandLine, era: str, *arguments: str, before: tuple[str, ...] = (), **client: Any
) -> Client:
    """The SDK's client and `palacelog mcp` as a process."""
    command, *words = line.command("mcp", *arguments, before=before)
    server = StdioServerParameters(command=command, args=words, env=line.env())
    return Client(server, mode=era, read_timeout_seconds=SECONDS_MAX, **client)


def answered(result: CallToolResult) -> dict[str, Any]:
    """The answer of a tool; it stands whole in the text too."""
    [content] = result.content
    assert content.type == "text"
    assert not result.is_error, content.text
    assert result.structured_content == orjson.loads(content.text)
    return dict(result.structured_content or {})


def refused(result: CallToolResult) -> dict[str, Any]:
    """The error of a tool: `{error, code, help}`."""
    [content] = result.content
    assert content.type == "text"
    assert result.is_error, content.text
    told = dict(orjson.loads(content.text))
    assert told["error"], "the error says nothing"
    assert told["help"], "the error offers no help"
    return told


@asynccontextmanager
async def fails(code: str | int) -> AsyncIterator[dict[str, Any]]:
    """What is asked within is answered by an error of the protocol; its data is filled in.

    Args:
        code: of palacelog, without its first part; or of the protocol.
    """
    told: dict[str, Any] = {}
    with pytest.raises(MCPError) as caught:
        yield told
    error = caught.value
    told |= dict(error.data or {})
    told["protocol_code"] = error.code
    if isinstance(code, int):
        assert error.code == code, error
    else:
        assert told["code"] == f"palacelog::{code}", error
        assert told["code"] in error.message
