"""The commands that serve a palace to programs: over a host's pipes, and over HTTP.

Protects a session's ceiling: the mode given before the command is the most that a session of it can
choose, and the environment may make it less.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from palacelog.cli import output
from palacelog.cli.invocation import Invocation, asked
from palacelog.loading import loading
from palacelog.wire import take

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
    invocation = _below_the_environment(asked(context))
    if not in_process:
        _become_a_pipe(invocation, tools, tool_prefix)
    wire = take()
    with loading():
        from palacelog.late import late_palace
        from palacelog.mcp.stdio import serve_stdio
        from palacelog.system import System

    with closing(late_palace(invocation.folder, works=True, **invocation.who)) as palace:
        session = palace.settings.session or System().nonce().hex()
        who = replace(invocation.context(), client=palace.settings.client, session=session)
        serve_stdio(palace, who, tools, tool_prefix, wire)


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Listen at this address.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Listen at this port; 0: any free one.")
    ] = None,
    tools: Tools = "core",
    tool_prefix: ToolPrefix = "",
    token_file: Annotated[
        Path | None, typer.Option(help="Who may call: lines `sha256-hex name [mode]`.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that requests may be for; repeatable.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, PEM.")] = None,
) -> None:
    """Serve programs and agents over HTTP: /mcp, /api and /healthz.

    At the loopback address anyone on this machine may call. At any other it does not start without
    tokens and the names that it answers for. What is not given is as the settings say.

    Examples:
      palacelog serve
      palacelog --mode read_only serve --port 0
      palacelog serve --host 0.0.0.0 --token-file tokens --allow-host palace.example
    """
    chosen = {
        "host": host, "port": port, "token_file": token_file, "allow_hosts": allow_host,
        "tls_cert": tls_cert, "tls_key": tls_key,
    }  # fmt: skip
    given = {name: value for name, value in chosen.items() if value is not None}
    invocation = asked(context)
    invocation.timeless("serve")
    import logging

    from palacelog.bootstrap import open_palace
    from palacelog.owner.pipe import OF_ONE_SESSION
    from palacelog.serve import serve as serve_palace
    from palacelog.serve import tokens_of
    from palacelog.settings import load

    tokens_of(load(invocation.folder, serve=given or None).serve)
    house = open_palace(
        invocation.folder, embeds=True, works=True, serve=given or None, **invocation.who
    )

    def ready(url: str) -> None:
        output.show(invocation.as_json, {"url": url})
        sys.stdout.flush()

    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    # A session of `palacelog mcp` must not take over what was given for this server's calls.
    owns = not any(invocation.who.values()) and not OF_ONE_SESSION & os.environ.keys()
    with house:
        serve_palace(house, choice=tools, prefix=tool_prefix, owns=owns, ready=ready)


def _below_the_environment(invocation: Invocation) -> Invocation:
    """The same with no more memory than the environment allows: a host that is configured with one
    mode may be started with less.
    """
    from palacelog.hosts.labels import LABEL_VARIABLE, ceiling

    given = invocation.who["session_mode"]
    if given is None and LABEL_VARIABLE in os.environ:
        given = invocation.settings().session_mode
    mode = ceiling(given, os.environ)
    return replace(invocation, who={**invocation.who, "session_mode": mode})


def _working_folder() -> str:
    """Where the host has its session work, as text."""
    try:
        return os.fsencode(os.getcwd()).decode(errors="replace")
    except OSError:  # it was removed
        return os.sep


def _become_a_pipe(invocation: Invocation, tools: str, prefix: str) -> NoReturn:
    """Go on as the pipe of a session, in this process but without what was loaded for options."""
    from palacelog.owner.begin import begin_owner
    from palacelog.system import System

    begin_owner(invocation.folder)
    from importlib.metadata import version

    given = {
        name: invocation.who.get(name) or os.environ.get(f"PALACELOG_{name.upper()}")
        for name in ("agent", "client", "principal", "session")
    }
    pipe = System().nonce().hex()
    greeting = given | {
        "version": version("palacelog"),
        "pipe": pipe,
        "session": given["session"] or pipe,
        "folder": _working_folder(),
        "ceiling": invocation.who["session_mode"],
        "tools": tools,
        "prefix": prefix,
    }
    module = ["-P", "-m", "palacelog.owner.pipe", str(invocation.folder), json.dumps(greeting)]
    os.execv(sys.executable, [sys.executable, *module])
