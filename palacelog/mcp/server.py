"""The server of the Model Context Protocol: what is asked for becomes calls of the palace.

Protects the call line: everything that shows or changes memory goes through `Session.call`, with
the mode that the request carries or the session chose. Answers stand whole in the text and in the
structured part, since hosts read either. May not know a transport.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import anyio
import mcp_types as types
import orjson
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from domain.errors import PalaceError
from palacelog.mcp.instructions import INSTRUCTIONS
from palacelog.mcp.tools import Choice, tools
from palacelog.sessions import Session

Asked = ServerRequestContext[Any, Any]
SessionOf = Callable[[Asked], Session]

MODE_META: Final = "palacelog/mode"
"""In `_meta` of a request: the session mode of this request alone."""
NEVER_STALE_MS: Final = 3_600_000
_LISTS: Final[tuple[CacheableMethod, ...]] = ("tools/list", "server/discover")
_FIXED: Final = {method: CacheHint(NEVER_STALE_MS, "public") for method in _LISTS}


def make_server(session_of: SessionOf, choice: Choice, prefix: str = "") -> Server[Any]:
    """A server that speaks for sessions.

    Args:
        session_of: the session that a request belongs to.
        choice: which tools are listed; all can be called.
        prefix: put before the name of each tool.
    """
    surface = _Surface(session_of, choice, prefix)
    return Server(
        "palacelog",
        version=version("palacelog"),
        title="palacelog",
        description="Memory of agents, as an event log.",
        instructions=INSTRUCTIONS,
        cache_hints=_FIXED,
        on_list_tools=surface.list_tools,
        on_call_tool=surface.call_tool,
    )


class Numbered(NamedTuple):
    """What a transport says of a line that it may bring again.

    Attributes:
        key: the same each time; the idempotency key of a write that brings none.
    """

    key: str


class _Surface:
    """What the server does for each kind of request."""

    def __init__(self, session_of: SessionOf, choice: Choice, prefix: str) -> None:
        self._session_of = session_of
        self._choice, self._prefix = choice, prefix

    async def list_tools(
        self, asked: Asked, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """All tools on one page."""
        return types.ListToolsResult(tools=list(tools(self._choice, self._prefix)))

    async def call_tool(
        self, asked: Asked, given: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Do one operation. It runs on where the client gives up: it happens once or not at all."""
        session = self._session_of(asked)
        mode = (asked.meta or {}).get(MODE_META)
        name = given.name.removeprefix(self._prefix)
        key = asked.request.key if isinstance(asked.request, Numbered) else None
        call = partial(session.call, name, given.arguments or {}, mode, key)
        try:
            return answered(await anyio.to_thread.run_sync(call))
        except PalaceError as error:
            return refused(error)


def answered(answer: dict[str, Any]) -> types.CallToolResult:
    """An answer, whole in both parts."""
    text = orjson.dumps(answer).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=answer
    )


def refused(error: PalaceError) -> types.CallToolResult:
    """An error with its code and help, where a model reads it."""
    text = orjson.dumps(error.as_answer()).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
