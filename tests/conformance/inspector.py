"""Runs the protocol's inspector with `npx`, as a new user does: it lists and calls tools of
`palacelog mcp` and of `palacelog serve`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

from palacelog.mcp.tools import CORE

INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
SECONDS_MAX: Final = 300
"""The first time it is fetched."""
TEXT: Final = "Tea at four."
_WRITTEN: Final = ("wing=home", "room=notes", f"content={TEXT}")


def faults(node: Path, target: list[str]) -> list[str]:
    """What the inspector does not get of a server that nobody has written to.

    Args:
        node: the Node.js that runs it.
        target: an address, or the words of a command.
    """

    def inspected(*words: str) -> Any:
        command = ["npx", "--yes", INSPECTOR, "--cli", *target, *words]
        env = os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, env=env
        )
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def called(tool: str, *given: str) -> Any:
        words = [word for one in given for word in ("--tool-arg", one)]
        return inspected("--method", "tools/call", "--tool-name", tool, *words)

    try:
        listed = [tool["name"] for tool in inspected("--method", "tools/list")["tools"]]
        assert listed == list(CORE), listed
        called("add_drawer", *_WRITTEN)
        [hit] = called("search", "query=tea")["structuredContent"]["hits"]
        assert TEXT in str(hit), hit
    except (AssertionError, KeyError, ValueError) as error:
        return [f"inspector: {type(error).__name__}: {error}"]
    return []
