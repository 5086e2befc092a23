"""The commands that serve a palace to programs: over a host's pipes, and over HTTP.

Protects a session's ceiling: the mode given before the command is the most that a session of it can
choose.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Literal, NoReturn

import typer

from palacelog.cli.invocation import Invocation, asked

Tools = Annotated[
    Literal["core", "all"],
    typer.Option("--tools", help="Which tools are listed; any can be called."),
]
ToolPrefix = Annotated[
    str, typer.Option(help="Put before each tool's name, for a host that knows it by that.")
]


def mcp(
    context: typer.Context,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Open the palace in this process.")
    ] = False,
    tools: Tools = "core",
    tool_prefix: ToolPrefix = "",
) -> None:
    """Serve an agent host over standard input and output, in the Model Context Protocol.

    Examples:
      palacelog mcp
      palacelog --mode read_only mcp --tools all
    """
    invocation = asked(context)
    if not in_process:
        _become_a_pipe(invocation, tools, tool_prefix)
    from palacelog.mcp.stdio import serve_stdio
    from palacelog.sessions import Session

    who = replace(invocation.context(), client=invocation.settings().client)
    with invocation.house() as house:
        serve_stdio(Session(house.palace, who, remembers=True), tools, tool_prefix)


def _become_a_pipe(invocation: Invocation, tools: str, prefix: str) -> NoReturn:
    """Go on as the pipe of a session, in this process but without what was loaded for options."""
    from palacelog.system import System

    given = {
        name: invocation.who.get(name) or os.environ.get(f"PALACELOG_{name.upper()}")
        for name in ("agent", "client", "principal", "session")
    }
    ceiling = invocation.who["session_mode"] or os.environ.get("PALACELOG_MODE")
    greeting = given | {
        "version": version("palacelog"),
        "session": given["session"] or System().nonce().hex(),
        "ceiling": ceiling,
        "tools": tools,
        "prefix": prefix,
    }
    module = ["-P", "-m", "palacelog.owner.pipe", str(invocation.folder), json.dumps(greeting)]
    os.execv(sys.executable, [sys.executable, *module])
