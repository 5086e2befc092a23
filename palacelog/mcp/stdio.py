"""A server over what was standard input and output, in the process that a host started.

Protects a host from the process's own end: what it asked for until it closed its side is answered.
"""

from __future__ import annotations

import os
from io import TextIOWrapper

import anyio
from mcp.server.stdio import stdio_server

from domain.operation import Context
from palacelog.late import LatePalace
from palacelog.mcp.server import make_server
from palacelog.mcp.streams import serve
from palacelog.mcp.tools import Choice
from palacelog.sessions import Session
from palacelog.wire import Wire


def serve_stdio(
    palace: LatePalace, context: Context, choice: Choice, prefix: str, wire: Wire
) -> None:
    """Serve the host of this process until it closes its side.

    Args:
        context: who calls; its mode is the most that the session can choose.
    """
    session = Session(palace, context, remembers=True)
    server = make_server(lambda _: session, choice, prefix, palace.open_soon)

    async def run() -> None:
        # A thread may still read there when the server ends: neither is ever closed.
        read = TextIOWrapper(os.fdopen(wire.read, "rb", closefd=False), "utf-8", "replace")
        write = TextIOWrapper(os.fdopen(wire.write, "wb", closefd=False), "utf-8")
        streams = anyio.wrap_file(read), anyio.wrap_file(write)
        async with stdio_server(*streams) as (asked, answers):
            await serve(server, asked, answers)

    anyio.run(run)
