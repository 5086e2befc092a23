"""pi: an extension that registers the tools itself, since not every version speaks the protocol.

Protects one list of tools: names, texts and schemas come from the same place as those of the
protocol, as they are when the extension is written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from palacelog.hosts.parts import OwnFile, Part
from palacelog.hosts.skill import skill
from palacelog.hosts.templates import filled
from palacelog.hosts.wanted import HOOK_MILLISECONDS, NAME, Wanted

HOST: Final = "pi"
FOLDER_VARIABLE: Final = "PI_CODING_AGENT_DIR"


def parts(wanted: Wanted) -> Sequence[Part]:
    """What is put in."""
    if wanted.scope == "project":
        folder = wanted.project / ".pi"
    else:
        moved = os.environ.get(FOLDER_VARIABLE)
        folder = Path(moved) if moved else wanted.home / ".pi" / "agent"
    extension = filled(
        "pi_extension.ts",
        command=[str(wanted.command), "--palace", str(wanted.palace)],
        host=HOST,
        label=wanted.label,
        url=None if wanted.url is None else wanted.url.removesuffix("/mcp"),
        token_variable=wanted.token_variable,
        milliseconds=HOOK_MILLISECONDS,
        tools=_tools(),
    )
    return [
        OwnFile("extension", folder / "extensions" / f"{NAME}.ts", extension),
        skill(folder / "skills", wanted),
    ]


def _tools() -> list[dict[str, Any]]:
    from palacelog.mcp.tools import tools

    return [
        {
            "name": one.name,
            "description": one.description,
            "parameters": one.input_schema,
            "reads": one.annotations is not None and one.annotations.read_only_hint is True,
        }
        for one in tools("core")
    ]
