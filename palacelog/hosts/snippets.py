"""What a person pastes into a host that is not set up by a command.

Protects them from a file that a host ignores without a word: each snippet has that host's root key
and its way to name a variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from domain.errors import invalid
from palacelog.hosts.wanted import NAME, Wanted


class Target(NamedTuple):
    """A host that takes a snippet.

    Attributes:
        file: where it goes.
        root: the member of the file that holds the servers.
        reference: how a variable of the environment is named there; None where the file takes
            commands alone.
    """

    file: str
    root: str
    reference: str | None


TARGETS: Final[Mapping[str, Target]] = {
    "claude-desktop": Target(
        "claude_desktop_config.json (in the app: Settings, Developer, Edit Config)",
        "mcpServers",
        None,
    ),
    "cursor": Target("~/.cursor/mcp.json or .cursor/mcp.json", "mcpServers", "${{env:{}}}"),
    "vscode": Target(
        ".vscode/mcp.json, or the command MCP: Open User Configuration", "servers", "${{env:{}}}"
    ),
}


def snippet(host: str, wanted: Wanted) -> dict[str, Any]:
    """The JSON for a host; with `off` it names no server.

    Raises:
        InvalidInput: the host takes commands alone, and an address was given.
    """
    target = TARGETS[host]
    if wanted.off:
        return {target.root: {}}
    if wanted.url is None:
        command, *arguments = wanted.server
        entry: dict[str, Any] = {"type": "stdio", "command": command, "args": arguments}
        if target.reference is None:
            del entry["type"]
    elif target.reference is None:
        raise invalid("--transport", f"http is nothing that {host} takes in its file", "Use stdio.")
    else:
        entry = {
            "type": "http",
            "url": wanted.url,
            "headers": wanted.headers(target.reference),
        }
    return {target.root: {NAME: entry}}
