"""One session of the owner of a palace: a pipe's frames become messages of the protocol, and back.

Protects what may be asked twice: each line has its pipe's number, and a write that brings no
idempotency key takes one made of pipe and number, so that a line which is told to a second owner
is not done twice. May not do an operation itself. Format: `owner.frames`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import orjson
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from domain.errors import InvalidInput
from domain.gate import session_mode
from domain.operation import Context
from palacelog.late import LatePalace
from palacelog.mcp.asked import Numbered
from palacelog.mcp.server import make_server
from palacelog.mcp.streams import serve
from palacelog.mcp.tools import Choice
from palacelog.owner.frames import KEEP, MODE, PING, PONG
from palacelog.sessions import Session
from palacelog.settings import Settings, load, who

KEPT: Final = frozenset({"initialize", "notifications/initialized"})
"""What a new owner must be told before anything else: the handshake of the older era."""
_REPEATED: Final = 0
_NO_GREETING: Final = InvalidInput(
    "owner::greeting",
    "This is no greeting of a session.",
    "Start `palacelog mcp`, which greets the owner of a palace for a host.",
)


class _Anyone(BaseModel):
    """What pipes of all versions say."""

    version: str


class Greeting(BaseModel):
    """What a pipe says of its session; what it leaves open is as the palace's settings say.

    Attributes:
        pipe: of this pipe alone; several may serve one session, at once or one after another.
        folder: that the session works in.
        ceiling: the mode that a person gave.
        mode: the mode that the session chose since.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    pipe: str
    session: str
    folder: str | None = None
    tools: Choice = "core"
    prefix: str = ""
    ceiling: str | None = None
    mode: str | None = None
    agent: str | None = None
    client: str | None = None
    principal: str | None = None


async def serve_pipe(
    palace: LatePalace,
    folder: Path,
    version: str,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> bool:
    """Serve one session until its pipe closes.

    Args:
        folder: of the palace; its settings are read for each session, since they may have changed.
        version: of what serves.

    Returns:
        False where the pipe is of another version: it needs another owner.
    """
    try:
        said = await reader.readline()
        if _Anyone.model_validate_json(said).version != version:
            writer.write(b'{"retired":true}\n')
            return False
        greeting = Greeting.model_validate_json(said)
        context = _context(load(folder), greeting)
    except (ValueError, InvalidInput) as error:
        refusal = error if isinstance(error, InvalidInput) else _NO_GREETING
        writer.write(orjson.dumps(refusal.as_answer()) + b"\n")
        return True
    pipe = _Pipe(palace, context, greeting, reader, writer)
    writer.write(b'{"ready":true}\n')
    await pipe.run()
    return True


class _Pipe:
    """The frames of one session."""

    def __init__(
        self,
        palace: LatePalace,
        context: Context,
        greeting: Greeting,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._greeting = greeting
        self._numbers: dict[Any, deque[int]] = defaultdict(deque)
        self._keeps: set[int] = set()
        loop = asyncio.get_running_loop()

        def changed(mode: str) -> None:
            loop.call_soon_threadsafe(writer.write, MODE + mode.encode() + b"\n")

        self._session = Session(
            palace, context, remembers=True, chosen=greeting.mode, changed=changed
        )
        self._server = make_server(
            lambda _: self._session, greeting.tools, greeting.prefix, palace.open_soon
        )

    async def run(self) -> None:
        """Serve until the pipe closes; what runs then is done to its end, and told to nobody."""
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def answers() -> None:
            async for one in from_server:
                await self._send(one.message)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answers)
            tasks.start_soon(serve, self._server, read, write)
            async with to_server:
                while frame := await self._reader.readline():
                    await self._take(frame.rstrip(b"\n"), to_server.send)

    async def _take(self, frame: bytes, send: Any) -> None:
        if frame + b"\n" == PING:
            self._writer.write(PONG)
            return
        tag, _, line = frame.partition(b" ")
        number = _REPEATED if tag == KEEP else int(tag)
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._write(number)
            return
        if isinstance(message, JSONRPCRequest):
            self._numbers[message.id].append(number)
        if isinstance(message, JSONRPCRequest | JSONRPCNotification) and message.method in KEPT:
            self._keeps.add(number)
        await send(SessionMessage(message, self._about(message, number)))
        if not isinstance(message, JSONRPCRequest):
            self._write(number)

    def _about(self, message: Any, number: int) -> ServerMessageMetadata:
        async def unanswered() -> None:
            self._write(self._number(message.id))

        return ServerMessageMetadata(
            request_context=Numbered(f"{self._greeting.pipe}:{number}"),
            on_request_unanswered=unanswered,
        )

    async def _send(self, message: Any) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            self._writer.write(b"0 " + line + b"\n")
        else:
            self._write(self._number(message.id), line)
        await self._writer.drain()

    def _number(self, request: Any) -> int:
        """The number of the line that asked; of several with one id, the first."""
        asked = self._numbers[request]
        number = asked.popleft()
        if not asked:
            del self._numbers[request]
        return number

    def _write(self, number: int, line: bytes = b"") -> None:
        """Tell the pipe that a line is done; what was only told again is known there."""
        if number == _REPEATED:
            return
        if number in self._keeps:
            self._keeps.discard(number)
            self._writer.write(b"%s%d\n" % (KEEP, number))
        self._writer.write(b"%d %s\n" % (number, line))


def _context(settings: Settings, greeting: Greeting) -> Context:
    """Who the session is.

    Raises:
        InvalidInput: the ceiling is no session mode.
    """
    told = {name: getattr(greeting, name) for name in ("agent", "client", "principal", "folder")}
    given = {name: value for name, value in told.items() if value is not None}
    mode = settings.session_mode if greeting.ceiling is None else session_mode(greeting.ceiling)
    return replace(who(settings), **given, session=greeting.session, session_mode=mode)
