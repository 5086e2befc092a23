"""The server over HTTP, in both eras: sessions that `initialize` began, and requests by themselves.

Protects a session's own choice: the mode that it chose is remembered as long as its connection
lives. What a person allowed (settings, token, `X-Palacelog-Mode` with `initialize` and with the
request) is the most that it can choose; a request without a session remembers nothing. A session
can be used with the token that began it alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from domain.errors import InvalidInput, PalaceError
from domain.gate import FULL, least
from domain.operation import Context
from domain.trail import UNKNOWN_TOOL
from palacelog.bootstrap import House
from palacelog.http.asgi import Message, Receive, Scope, Send, header, tell
from palacelog.http.bodies import BODY_BYTES_MAX, check_json
from palacelog.http.deadline import working
from palacelog.http.visitors import context_of, mode_asked, named, visitor_of
from palacelog.mcp.asked import Asked
from palacelog.mcp.server import make_server
from palacelog.mcp.tools import Choice
from palacelog.sessions import Session
from palacelog.settings import who

_CHOSEN: Final = "palacelog/mode"
_CEILING: Final = "palacelog/ceiling"
_TAKEN: Final = "palacelog.taken"
_UNREADABLE: Final = {
    status: InvalidInput(f"http::{reason}", said, "See the protocol's revision that is spoken.")
    for status, reason, said in (
        (400, "malformed", "The request is none of the protocol."),
        (406, "accept", "The client takes no answer that the protocol has."),
    )
}
"""What the SDK turns away before there is a request: as it stands in the audit trail."""


class McpOverHttp:
    """The protocol at one path."""

    def __init__(self, house: House, choice: Choice, prefix: str = "") -> None:
        """Answer out of a palace that stays open meanwhile."""
        self._house = house
        self._context = who(house.settings)
        server = make_server(self._session_of, choice, prefix)
        server.middleware.append(self._beginning)
        self._manager = StreamableHTTPSessionManager(server, max_request_body_size=BODY_BYTES_MAX)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions can be begun within, and end at its end."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        who = context_of(scope, self._context)
        try:
            mode_asked(scope)
            who = named(scope, who)
            if scope["method"] == "POST":
                check_json(scope)
        except PalaceError as error:
            self._note(who, error)
            await tell(send, error)
            return
        name = visitor_of(scope).name
        if name is not None:
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and _TAKEN not in scope:
                self._note(who, _UNREADABLE.get(message["status"]))
            await send(message)

        await self._manager.handle_request(scope, receive, noted)

    def _note(self, who: Context, refusal: PalaceError | None) -> None:
        """Note a request that was refused before it was any call."""
        if refusal is not None:
            self._house.palace.trail.refused(UNKNOWN_TOOL, {}, who, refusal)

    async def _beginning(self, ctx: Asked, call_next: CallNext) -> HandlerResult:
        """What a session may use is decided when it begins; a later request can only lower it."""
        if ctx.method == "initialize":
            before = _state(ctx).get(_CEILING, FULL)
            _state(ctx)[_CEILING] = least(before, self._context_of(ctx).session_mode)
        _scope(ctx)[_TAKEN] = True
        with working(_scope(ctx)):
            return await call_next(ctx)

    def _context_of(self, asked: Asked) -> Context:
        """Who makes one request, and the most memory that it may use."""
        scope = _scope(asked)
        context = context_of(scope, self._context)
        ceiling = least(context.session_mode, mode_asked(scope) or FULL)
        return replace(context, session_mode=ceiling)

    def _session_of(self, asked: Asked) -> Session:
        """The session of one request, with what it chose before."""
        context, scope = self._context_of(asked), _scope(asked)
        if asked.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return Session(self._house.palace, named(scope, context), remembers=False)
        [id, *_] = [*header(scope, MCP_SESSION_ID_HEADER.encode()), context.session]
        state = _state(asked)
        ceiling = least(context.session_mode, state.get(_CEILING, FULL))

        def changed(mode: str) -> None:
            state[_CHOSEN] = mode

        context = named(scope, replace(context, session=id, session_mode=ceiling))
        chosen = state.get(_CHOSEN)
        return Session(self._house.palace, context, remembers=True, chosen=chosen, changed=changed)


def _scope(asked: Asked) -> Scope:
    scope: Scope = asked.request.scope  # type: ignore[union-attr]
    return scope


def _state(asked: Asked) -> dict[str, Any]:
    """What is kept exactly as long as the session: the SDK hands out no other name of it."""
    state: dict[str, Any] = asked.session._connection.state
    return state
