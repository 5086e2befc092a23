"""The server of the Model Context Protocol: what is asked for becomes calls of the palace.

Protects the call line: everything that shows or changes memory goes through `Session.call`, with
the mode that the request carries or the session chose. Answers stand whole in the text and in the
structured part, since hosts read either. May not know a transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import anyio
import mcp_types as types
import orjson
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel.server import Server

from domain.catalog import CATALOG
from domain.errors import PalaceError
from domain.gate import SET_MODE
from palacelog.mcp import foreign, prompts, resources
from palacelog.mcp.asked import Asked, SessionOf, called
from palacelog.mcp.failing import foreseen, unforeseen
from palacelog.mcp.instructions import INSTRUCTIONS
from palacelog.mcp.tools import Choice, tools

NEVER_STALE_MS: Final = 3_600_000
_LISTS: Final[tuple[CacheableMethod, ...]] = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "server/discover",
)
_FIXED: Final = {method: CacheHint(NEVER_STALE_MS, "public") for method in _LISTS}

_ON_ITS_WAY_SECONDS: Final = 0.05
CALLS_AT_ONCE_MAX: Final = 40
"""Of one server: in a process with many sessions none has to wait for the calls of another."""

Page = types.PaginatedRequestParams | None


def make_server(
    session_of: SessionOf,
    choice: Choice,
    prefix: str = "",
    listed: Callable[[], None] = lambda: None,
) -> Server[Any]:
    """A server that speaks for sessions.

    Args:
        session_of: the session that a request belongs to.
        choice: which tools are listed; all can be called.
        prefix: put before the name of each tool.
        listed: called once a client has been told which tools there are: it will call them.
    """
    surface = _Surface(session_of, choice, prefix, listed)
    server: Server[Any] = Server(
        "palacelog",
        version=version("palacelog"),
        title="palacelog",
        description="Memory of agents, as an event log.",
        instructions=INSTRUCTIONS,
        cache_hints=_FIXED,
        on_list_tools=surface.list_tools,
        on_call_tool=surface.call_tool,
        on_list_resources=surface.list_resources,
        on_list_resource_templates=surface.list_templates,
        on_read_resource=surface.read_resource,
        on_list_prompts=surface.list_prompts,
        on_get_prompt=surface.get_prompt,
        on_completion=surface.complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    server.middleware.append(foreseen)
    return server


async def _set_level(asked: Asked, _: types.SetLevelRequestParams) -> types.EmptyResult:
    """Whatever the level: logs go to standard error, and none of them to a client."""
    return types.EmptyResult()


class _Surface:
    """What the server does for each kind of request."""

    def __init__(
        self, session_of: SessionOf, choice: Choice, prefix: str, listed: Callable[[], None]
    ) -> None:
        self._session_of, self._listed = session_of, listed
        self._choice, self._prefix = choice, prefix
        self._calls = anyio.CapacityLimiter(CALLS_AT_ONCE_MAX)
        self._choices = anyio.CapacityLimiter(CALLS_AT_ONCE_MAX)

    async def list_tools(self, asked: Asked, _: Page) -> types.ListToolsResult:
        """All tools on one page."""
        asyncio.get_running_loop().call_later(_ON_ITS_WAY_SECONDS, self._listed)
        return types.ListToolsResult(tools=list(tools(self._choice, self._prefix)))

    async def list_resources(self, asked: Asked, _: Page) -> types.ListResourcesResult:
        """What has a fixed address."""
        return types.ListResourcesResult(resources=list(resources.RESOURCES))

    async def list_templates(self, asked: Asked, _: Page) -> types.ListResourceTemplatesResult:
        """What has an address with an id in it."""
        return types.ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def list_prompts(self, asked: Asked, _: Page) -> types.ListPromptsResult:
        """All prompts on one page."""
        return types.ListPromptsResult(prompts=prompts.prompts())

    async def get_prompt(
        self, asked: Asked, given: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """One prompt; it shows nothing of memory."""
        return prompts.prompt(given.name, given.arguments or {}, self._prefix)

    async def call_tool(
        self, asked: Asked, given: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Do one operation."""
        name, arguments = given.name.removeprefix(self._prefix), given.arguments or {}
        try:
            as_ours = foreign.ours(self._prefix, name, arguments)
            # What waits behind a choice does not wait for the calls before it.
            limiter = self._choices if name == SET_MODE else self._calls
            return answered(await self._call_of(asked, limiter)(name, as_ours))
        except PalaceError as error:
            return refused(foreign.told(self._prefix, name, error))
        except Exception as error:  # noqa: BLE001
            return refused(unforeseen(name if name in CATALOG else asked.method, error))

    async def read_resource(
        self, asked: Asked, given: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one resource, by the operation that shows it."""
        try:
            return await resources.read(given.uri, self._call_of(asked))
        except PalaceError as error:
            missing = resources.not_found(given.uri, error, asked.protocol_version)
            raise (missing or error) from None

    async def complete(
        self, asked: Asked, given: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete an argument, by an operation that lists its values."""
        return await resources.complete(given, self._call_of(asked))

    def _call_of(
        self, asked: Asked, limiter: anyio.CapacityLimiter | None = None
    ) -> resources.Call:
        return partial(called, asked, self._session_of(asked), limiter=limiter or self._calls)


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
