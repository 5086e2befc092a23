"""One client of the protocol over a pair of streams: standard input and output, or a socket.

Protects hosts of both eras on one connection: a request that carries the envelope of 2026-07-28 is
served by itself, any other in the session that `initialize` began. The SDK's own loop settles the
era by the first request, so that a host which asks `server/discover` before it initializes would be
refused. Protects a session's choice: what is asked behind `set_mode` runs under the mode that it
chose.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded, modern_on_request
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)

from domain.gate import SET_MODE

Params = Mapping[str, Any] | None


async def serve(
    server: Server[Any],
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Serve until the client closes its side; what it asked for by then is answered."""
    unanswered, order = _Unanswered(), _Order()
    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
        _Asks(read, unanswered),
        _Answers(write, unanswered),
        inline_methods=frozenset({"initialize"}),
    )
    connection = Connection.for_loop(dispatcher)
    in_session, by_itself = ServerRunner(server, connection, {}), modern_on_request(server, {})

    async def on_request(
        asked: DispatchContext[TransportContext], method: str, params: Params
    ) -> dict[str, Any]:
        try:
            async with order.kept(method, params):
                return await answer(asked, method, params)
        finally:
            # Nobody answers a request that its client took back.
            if asked.cancel_requested.is_set():
                unanswered.take(-1)

    async def answer(
        asked: DispatchContext[TransportContext], method: str, params: Params
    ) -> dict[str, Any]:
        if method == "initialize" or not _has_envelope(params):
            return await in_session.on_request(asked, method, params)
        route = classify_inbound_request({"method": method, "params": params})
        if isinstance(route, InboundLadderRejection):
            raise MCPError(code=route.code, message=route.message, data=route.data)
        return await by_itself(asked, method, params)

    try:
        await dispatcher.run(on_request, in_session.on_notify)
    finally:
        await aclose_shielded(connection)
        await write.aclose()


def _has_envelope(params: Params) -> bool:
    """Whether a request says its protocol version itself, as only those of 2026-07-28 do."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


class _Order:
    """What comes behind a choice of the session's mode waits until it is made.

    The SDK begins a task for each request in the order in which they came, and each task comes here
    before it waits for anything.
    """

    def __init__(self) -> None:
        self._open: list[anyio.Event] = []

    @asynccontextmanager
    async def kept(self, method: str, params: Params) -> AsyncIterator[None]:
        """Answer a request within, in its turn."""
        before, made = tuple(self._open), anyio.Event()
        if _chooses(method, params):
            self._open.append(made)
        try:
            for one in before:
                await one.wait()
            yield
        finally:
            if made in self._open:
                self._open.remove(made)
                made.set()


def _chooses(method: str, params: Params) -> bool:
    """Whether a request chooses the session's mode, whatever stands before the tool's name."""
    return method == "tools/call" and str((params or {}).get("name")).endswith(SET_MODE)


class _Unanswered:
    """How many requests have come and are not answered."""

    def __init__(self) -> None:
        self._count = 0
        self._none = anyio.Event()

    def take(self, more: int) -> None:
        """Count more of them, or fewer."""
        self._count += more
        if not self._count:
            self._none.set()

    async def none(self) -> None:
        """Wait until there is none."""
        while self._count:
            self._none = anyio.Event()
            await self._none.wait()


class _Asks:
    """What a client sends. It does not end before all is answered: the SDK's loop drops what runs
    at its end.
    """

    def __init__(
        self, read: ReadStream[SessionMessage | Exception], unanswered: _Unanswered
    ) -> None:
        self._read, self._unanswered = read, unanswered

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            came = await self._read.receive()
        except anyio.EndOfStream:
            await self._unanswered.none()
            raise
        if isinstance(came, SessionMessage) and isinstance(came.message, JSONRPCRequest):
            self._unanswered.take(1)
        return came

    async def aclose(self) -> None:
        """Take no more."""
        await self._read.aclose()

    def __aiter__(self) -> _Asks:
        """The messages in their order."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Asks:
        """Close it at the end."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


class _Answers:
    """What a client is sent."""

    def __init__(self, write: WriteStream[SessionMessage], unanswered: _Unanswered) -> None:
        self._write, self._unanswered = write, unanswered

    async def send(self, one: SessionMessage, /) -> None:
        """Send a message; a request is answered once its answer has been taken."""
        try:
            await self._write.send(one)
        finally:
            if isinstance(one.message, JSONRPCResponse | JSONRPCError):
                self._unanswered.take(-1)

    async def aclose(self) -> None:
        """Send no more."""
        await self._write.aclose()

    async def __aenter__(self) -> _Answers:
        """Close it at the end."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()
