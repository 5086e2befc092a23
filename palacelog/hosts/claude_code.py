"""Claude Code: servers in `~/.claude.json` or `.mcp.json`, hooks in its settings.

Protects the context of a session from being filled twice: one hook serves start, clearing and
compaction alike, since nothing can be injected before a compaction. The hook's command is one line
for a shell, because other hosts that run these hooks too know no list of arguments.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from palacelog.hosts.ownership import is_ours
from palacelog.hosts.parts import JsonEntry, Part
from palacelog.hosts.skill import skill
from palacelog.hosts.wanted import HOOK_SECONDS, NAME, Wanted

HOST: Final = "claude-code"
FOLDER_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
_MATCHER: Final = "startup|resume|clear|compact"


def parts(wanted: Wanted) -> Sequence[Part]:
    """What is put in."""
    moved = os.environ.get(FOLDER_VARIABLE)
    if wanted.scope == "project":
        servers, folder = wanted.project / ".mcp.json", wanted.project / ".claude"
        # The hook has this machine's paths: they stand in the file that is not shared.
        settings = folder / "settings.local.json"
    else:
        folder = Path(moved) if moved else wanted.home / ".claude"
        servers = (folder if moved else wanted.home) / ".claude.json"
        settings = folder / "settings.json"
    server = None if wanted.off else entry(wanted)
    return [
        JsonEntry("mcp", servers, ("mcpServers", NAME), server, is_ours=is_ours),
        session_start(wanted, HOST, settings),
        skill(folder / "skills", wanted),
    ]


def entry(wanted: Wanted) -> dict[str, Any]:
    """The server as this host is told of it."""
    if wanted.url is not None:
        return {"type": "http", "url": wanted.url, "headers": wanted.headers("${{{}}}")}
    # A file that a team shares holds nothing of this machine.
    command, *arguments = wanted.shared_server if wanted.scope == "project" else wanted.server
    return {"type": "stdio", "command": command, "args": arguments}


def session_start(wanted: Wanted, host: str, path: Path) -> JsonEntry:
    """The hook of a session's start, in the three-level shape that Codex has taken over."""
    line = wanted.hook_line("session-start", host)
    handler = {"type": "command", "command": line, "timeout": HOOK_SECONDS}
    group = {"matcher": _MATCHER, "hooks": [handler]}
    ours = f"hook session-start --host {host} "

    def of_ours(handler: Any) -> bool:
        return isinstance(handler, dict) and ours in str(handler.get("command", ""))

    def handlers(group: Any) -> list[Any]:
        found = group.get("hooks") if isinstance(group, dict) else None
        return found if isinstance(found, list) else []

    return JsonEntry(
        "session-start",
        path,
        ("hooks", "SessionStart", lambda group: any(map(of_ours, handlers(group)))),
        group,
        alone=lambda group: all(map(of_ours, handlers(group))),
    )
