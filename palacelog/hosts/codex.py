"""Codex: servers as tables in `config.toml`, hooks in `hooks.json`.

Protects a person's say: the hook runs only after they trusted it in `/hooks`, once after each
change, and nothing here answers for them. Time limits are seconds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from palacelog.hosts.claude_code import session_start
from palacelog.hosts.ownership import is_ours
from palacelog.hosts.parts import Part, TomlEntry
from palacelog.hosts.skill import skill
from palacelog.hosts.wanted import MODE_HEADER, NAME, Wanted

HOST: Final = "codex"
FOLDER_VARIABLE: Final = "CODEX_HOME"
_START_SECONDS: Final = 60
"""A first start may make views."""


def parts(wanted: Wanted) -> Sequence[Part]:
    """What is put in."""
    if wanted.scope == "project":
        folder, skills = wanted.project / ".codex", wanted.project / ".agents" / "skills"
    else:
        moved = os.environ.get(FOLDER_VARIABLE)
        folder = Path(moved) if moved else wanted.home / ".codex"
        skills = wanted.home / ".agents" / "skills"
    return [
        TomlEntry("mcp", folder / "config.toml", ("mcp_servers", NAME), _entry(wanted), is_ours),
        session_start(wanted, HOST, folder / "hooks.json"),
        skill(skills, wanted),
    ]


def _entry(wanted: Wanted) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if wanted.url is not None:
        made["url"] = wanted.url
        if wanted.token_variable is not None:
            made["bearer_token_env_var"] = wanted.token_variable
        made["http_headers"] = {MODE_HEADER: wanted.mode}
    else:
        made["command"], *made["args"] = wanted.server
    made["startup_timeout_sec"] = _START_SECONDS
    if wanted.off:
        made["enabled"] = False
    return made
