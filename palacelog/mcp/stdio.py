"""A server over standard input and output, in the process that a host started.

Protects the protocol: from the first line on standard output carries nothing else, whatever a
library prints.
"""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from palacelog.mcp.server import make_server
from palacelog.mcp.streams import serve
from palacelog.mcp.tools import Choice
from palacelog.sessions import Session


def serve_stdio(session: Session, choice: Choice, prefix: str) -> None:
    """Serve the host of this process until it closes standard input."""
    server = make_server(lambda _: session, choice, prefix)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await serve(server, read, write)

    anyio.run(run)
