"""The configurations that the README shows start the server."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.command_line import new_line
from tests.hosts import COMMAND
from tests.readme import README

pytestmark = pytest.mark.anyio
SHOWN: dict[str, Any] = {
    host: json.loads(block)
    for host, block in re.findall(
        r"^<!-- host ([\w-]+) -->\n```json\n(.*?)^```$", README.read_text(), re.M | re.S
    )
}


def words_of(host: str) -> list[str]:
    """The command that a host starts, as it reads its file."""
    if host == "claude-code":
        entry = SHOWN[host]["mcpServers"]["palacelog"]
        return [entry["command"], *entry["args"]]
    entry = SHOWN[host]["mcp"]["palacelog"]
    assert (entry["type"], entry["enabled"]) == ("local", True)
    return list(entry["command"])


def test_both_hosts_are_shown() -> None:
    assert SHOWN.keys() == {"claude-code", "opencode"}


@pytest.mark.parametrize("host", SHOWN)
async def test_the_configuration_starts_the_server(host: str, tmp_path: Path) -> None:
    line = new_line(tmp_path / "palace")
    # In this process, so that none outlives the test; the pipe has tests of its own.
    command, *words = [*words_of(host), "--in-process"]
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    env = line.env() | {"PATH": path, "PALACELOG_PALACE": str(line.palace)}
    server = StdioServerParameters(command=command, args=words, env=env)
    async with Client(server, read_timeout_seconds=60) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search", "wake_up", "checkpoint"} <= tools
        given = {"wing": "home", "room": "notes", "content": "Tea at four."}
        added = await client.call_tool("add_drawer", given)
        assert not added.is_error
    [found] = line("list")["drawers"]
    assert line("get", found["id"])["drawer"]["content"] == "Tea at four."
