"""One client of the protocol over a pair of streams: standard input and output, or a socket.

Protects hosts of both eras on one connection: a request that carries the envelope of 2026-07-28 is
served by itself, any other in the session that `initialize` began. The SDK's own loop settles the
era by the first request, so that a host which asks `server/discover` before it initializes would be
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from mcp_types import PROTOCOL_VERSION_META_KEY

Params = Mapping[str, Any] | None


async def serve(
    server: Server[Any],
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Serve until the client closes its side; what it asked for by then is answered."""
    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
        read, write, inline_methods=frozenset({"initialize"})
    )
    connection = Connection.for_loop(dispatcher)
    in_session, by_itself = ServerRunner(server, connection, {}), modern_on_request(server, {})

    async def on_request(
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
