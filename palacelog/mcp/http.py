"""The server over HTTP, in both eras: sessions that `initialize` began, and requests by themselves.

Protects a session's own choice: the mode that it chose is remembered as long as its connection
lives. What a person allowed (settings, token, `X-Palacelog-Mode`) is the most that it can choose; a
request without a session remembers nothing. A session can be used with the token that began it
alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from domain.errors import PalaceError
from domain.identity import NAME_CHARACTERS_MAX
from palacelog.bootstrap import House
from palacelog.http.asgi import Receive, Scope, Send, tell
from palacelog.http.bodies import BODY_BYTES_MAX
from palacelog.http.visitors import context_of, least, mode_asked, visitor_of
from palacelog.mcp.asked import Asked
from palacelog.mcp.server import make_server
from palacelog.mcp.tools import Choice
from palacelog.sessions import Session
from palacelog.settings import who

_CHOSEN: Final = "palacelog/mode"


class McpOverHttp:
    """The protocol at one path."""

    def __init__(self, house: House, choice: Choice, prefix: str = "") -> None:
        """Answer out of a palace that stays open meanwhile."""
        self._house = house
        self._context = who(house.settings)
        self._manager = StreamableHTTPSessionManager(
            make_server(self._session_of, choice, prefix), max_request_body_size=BODY_BYTES_MAX
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions can be begun within, and end at its end."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            mode_asked(scope)
        except PalaceError as error:
            await tell(send, error)
            return
        name = visitor_of(scope).name
        if name is not None:
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await self._manager.handle_request(scope, receive, send)

    def _session_of(self, asked: Asked) -> Session:
        """The session of one request, with what it chose before."""
        scope: Scope = asked.request.scope  # type: ignore[union-attr]
        context = context_of(scope, self._context)
        ceiling = least(context.session_mode, mode_asked(scope) or context.session_mode)
        context = replace(context, session_mode=ceiling)
        about = asked.session.client_params
        if context.client is None and about is not None:
            context = replace(context, client=about.client_info.name[:NAME_CHARACTERS_MAX])
        if asked.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return Session(self._house.palace, context, remembers=False)
        id: Any = asked.request.headers.get(MCP_SESSION_ID_HEADER)  # type: ignore[union-attr]
        # The SDK hands out no other name of what lives exactly as long as the session.
        state: dict[str, Any] = asked.session._connection.state

        def changed(mode: str) -> None:
            state[_CHOSEN] = mode

        context = replace(context, session=id or context.session)
        session = Session(self._house.palace, context, remembers=True, changed=changed)
        if _CHOSEN in state:
            session.go_on_with(least(state[_CHOSEN], ceiling))
        return session
