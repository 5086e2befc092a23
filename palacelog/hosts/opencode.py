"""opencode: servers in `opencode.json` or `.jsonc`, and a plugin that runs within it.

Protects files of both major versions: an entry takes the shape that the file has already, and where
it has none that of V1, which V2 reads too. The plugin is one file that both can load. Time limits
are milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from palacelog.hosts import files, jsonc
from palacelog.hosts.ownership import is_ours
from palacelog.hosts.parts import JsonEntry, OwnFile, Part
from palacelog.hosts.skill import skill
from palacelog.hosts.templates import filled
from palacelog.hosts.wanted import HOOK_MILLISECONDS, NAME, Wanted

HOST: Final = "opencode"
FOLDER_VARIABLE: Final = "XDG_CONFIG_HOME"
_START_MILLISECONDS: Final = 60_000


def parts(wanted: Wanted) -> Sequence[Part]:
    """What is put in."""
    if wanted.scope == "project":
        config, folder = wanted.project, wanted.project / ".opencode"
    else:
        moved = os.environ.get(FOLDER_VARIABLE)
        config = folder = (Path(moved) if moved else wanted.home / ".config") / "opencode"
    path = _file(config)
    second = _is_second(path)
    steps = ("mcp", "servers", NAME) if second else ("mcp", NAME)
    plugin = filled(
        "opencode_plugin.js",
        command=[str(wanted.command), "--palace", str(wanted.palace), "hook"],
        host=HOST,
        label=wanted.label,
        milliseconds=HOOK_MILLISECONDS,
    )
    return [
        JsonEntry("mcp", path, steps, _entry(wanted, second=second), is_ours=is_ours),
        OwnFile("session-start", folder / "plugins" / f"{NAME}.js", plugin),
        skill(folder / "skills", wanted),
    ]


def _file(folder: Path) -> Path:
    """The file with our entry, else the one that there is."""
    both = [folder / "opencode.jsonc", folder / "opencode.json"]
    there = [path for path in both if path.exists()]
    ours = [path for path in there if f'"{NAME}"' in (files.read(path) or "")]
    return (ours or there or both[1:])[0]


def _is_second(path: Path) -> bool:
    """Whether a file has the shape of V2."""
    try:
        said = jsonc.read(files.read(path) or "")
    except jsonc.NotEditable as error:
        raise files.unreadable(path, str(error)) from None
    if not isinstance(said, dict):
        return False
    servers = said.get("mcp")
    return "plugins" in said or (isinstance(servers, dict) and "servers" in servers)


def _entry(wanted: Wanted, *, second: bool) -> dict[str, Any]:
    if wanted.url is not None:
        headers = wanted.headers("{{env:{}}}")
        made: dict[str, Any] = {"type": "remote", "url": wanted.url, "headers": headers}
        made["oauth"] = False
    else:
        made = {"type": "local", "command": wanted.server}
    if second:
        return made | {"disabled": wanted.off}
    return made | {"enabled": not wanted.off, "timeout": _START_MILLISECONDS}
