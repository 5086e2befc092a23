"""The injection paths: every way by which something of a palace comes into a host's session.

Protects a person's overview: `docs/integration-contract.md` says the same, a test compares them,
and another goes each path with memory on and off.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from palacelog.hosts.hook import BYTES_MAX


class InjectionPath(NamedTuple):
    """One way into a session.

    Attributes:
        host: whose session.
        event: when, in the host's word.
        told: what comes in.
        bytes_max: how long it is at most; None where the host asks for it by itself.
        off: what happens where memory is off.
    """

    host: str
    event: str
    told: str
    bytes_max: int | None
    off: str


TOOLS: Final = "tool list, server instructions, answers of called tools"
WAKE_UP: Final = "wake_up of the project's wing"
_REMINDED: Final = f"{WAKE_UP}, and a reminder of checkpoint"
_SUMMARY: Final = "what a summary keeps for checkpoint"
_SKILL: Final = "name and description of the skill, its page when it is used"
_SILENT: Final = "the hook ends without opening the palace and says nothing"
_NO_FILE: Final = "the file is not there"
_FORGETS: Final = "nothing is run, what was fetched is forgotten"
_NO_SERVER: Final = "the entry is not there"
_DISABLED: Final = "the entry is there and disabled"
_PASTED: Final = "the snippet names no server"


def _hooked(host: str, server: str) -> tuple[InjectionPath, ...]:
    """The paths of a host with hooks as Claude Code has them."""
    bytes_max = BYTES_MAX[host]
    return (
        InjectionPath(host, "MCP server", TOOLS, None, server),
        InjectionPath(host, "SessionStart", WAKE_UP, bytes_max, _SILENT),
        InjectionPath(host, "SessionStart, source compact", _REMINDED, bytes_max, _SILENT),
        InjectionPath(host, "skill", _SKILL, None, _NO_FILE),
    )


PATHS: Final[tuple[InjectionPath, ...]] = (
    *_hooked("claude-code", _NO_SERVER),
    *_hooked("codex", _DISABLED),
    InjectionPath("opencode", "MCP server", TOOLS, None, _DISABLED),
    InjectionPath(
        "opencode",
        "V1 experimental.chat.system.transform",
        WAKE_UP,
        BYTES_MAX["opencode"],
        _FORGETS,
    ),
    InjectionPath("opencode", "V1 experimental.session.compacting", _SUMMARY, 300, _FORGETS),
    InjectionPath("opencode", "V2 session context", WAKE_UP, BYTES_MAX["opencode"], _FORGETS),
    InjectionPath("opencode", "V2 session compaction", _SUMMARY, 300, _FORGETS),
    InjectionPath("opencode", "skill", _SKILL, None, _NO_FILE),
    InjectionPath(
        "pi", "registered tools", "answers of called tools", None, "no tool is registered"
    ),
    InjectionPath("pi", "before_agent_start", WAKE_UP, BYTES_MAX["pi"], _FORGETS),
    InjectionPath(
        "pi", "before_agent_start after session_compact", _REMINDED, BYTES_MAX["pi"], _FORGETS
    ),
    InjectionPath("pi", "skill", _SKILL, None, _NO_FILE),
    InjectionPath("claude-desktop", "MCP server", TOOLS, None, _PASTED),
    InjectionPath("cursor", "MCP server", TOOLS, None, _PASTED),
    InjectionPath(
        "cursor", "sessionStart, by Claude Code's settings", WAKE_UP, BYTES_MAX["cursor"], _SILENT
    ),
    InjectionPath("vscode", "MCP server", TOOLS, None, _PASTED),
    InjectionPath(
        "vscode", "SessionStart, by Claude Code's settings", WAKE_UP, BYTES_MAX["vscode"], _SILENT
    ),
)


def table() -> str:
    """The paths as a table of the document."""
    lines = [
        "| host | event | what comes in | bytes at most | with off |\n",
        "|---|---|---|---|---|\n",
    ]
    lines += [
        f"| {one.host} | {one.event} | {one.told} | "
        f"{'as asked' if one.bytes_max is None else one.bytes_max} | {one.off} |\n"
        for one in PATHS
    ]
    return "".join(lines)
