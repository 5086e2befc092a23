"""The log as pages and as a live stream: identifiers alone, never content.

Protects readers from each other and writers from readers: what is new is looked for a few times a
second, in a few threads that no call takes, for a number of streams at once. Each portion is noted
in the audit trail as a read. A read for the gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import anyio
import orjson
from fastapi import Request, Response
from starlette.responses import StreamingResponse

from domain import gate
from domain.errors import InvalidInput, PalaceError, invalid
from domain.instants import show
from domain.operation import Context, Operation
from palacelog.http.asgi import Receive, Scope, Send, TurnedAway, header
from palacelog.http.visitors import mode_asked
from palacelog.rest.calling import Calling, in_thread, told
from palacelog.sessions import Session
from replay.storage_errors import in_words

LOOK_SECONDS: Final = 0.2
HEARTBEAT_SECONDS: Final = 15.0
AT_ONCE: Final = 200
LOOKS_AT_ONCE_MAX: Final = 4
RETRY_SECONDS: Final = 10
_TOOL: Final = "log_entries"


class OpenStreams:
    """How many streams may be open, and are."""

    def __init__(self, most: int) -> None:
        """All are free."""
        self._most, self._taken = most, 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """A place for as long as a stream is open.

        Raises:
            TurnedAway: `palacelog::http::streams`, none is free.
        """
        if self._taken >= self._most:
            raise TurnedAway(
                503,
                "streams",
                f"{self._most} streams of the log are open, and this server serves no more.",
                "Close one, read /api/log in pages, or raise `serve.log_streams_max`.",
                [(b"retry-after", b"%d" % RETRY_SECONDS)],
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class LogStream(StreamingResponse):
    """The answer that is a stream. It has its place exactly as long as it is being sent."""

    def __init__(self, open_streams: OpenStreams, events: AsyncIterator[bytes]) -> None:
        """Send events where a place is free."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._open_streams = open_streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it.

        Raises:
            TurnedAway: as `OpenStreams.one`, before anything was sent.
        """
        with self._open_streams.one():
            await super().__call__(scope, receive, send)


class Entries:
    """The log of one palace, for those who may read it."""

    def __init__(self, calling: Calling) -> None:
        """Read the palace that requests are answered out of."""
        self._calling = calling
        self._log = calling.house.log
        self._trail = calling.house.palace.trail
        self._limiter = anyio.CapacityLimiter(LOOKS_AT_ONCE_MAX)
        self._open_streams = OpenStreams(calling.house.settings.serve.log_streams_max)

    async def page(self, request: Request) -> Response:
        """One page of the log."""
        with self._calling.session(_TOOL, request) as session:
            asked = _asked(request, {"after": 0, "limit": AT_ONCE})
            if not 1 <= asked["limit"] <= AT_ONCE:
                raise invalid("limit", f"is not 1 to {AT_ONCE}")
            who = _reader(session, request)

        def read() -> dict[str, Any]:
            entries = self._portion(asked["after"], asked["limit"], who)
            return {
                "log_id": self._log.log_id,
                "position": self._log.position(),
                "entries": entries,
                "after": entries[-1]["position"] if entries else asked["after"],
            }

        return told(await self._calling.done(read))

    async def stream(self, request: Request) -> Response:
        """The log from a position on, as server-sent events; an event's id is its position."""
        with self._calling.session(_TOOL, request) as session:
            asked = _asked(request, {"after": -1})
            after = _resumed(request)
            if after is None:
                after = asked["after"]
            who = _reader(session, request)
            newest = await in_thread(self._newest, self._limiter)
            if after > newest:
                raise InvalidInput(
                    "input::invalid",
                    f"`after` is {after}, and this log ends at {newest}.",
                    "Begin again: the log is another one, or was restored.",
                )
        position = newest if after < 0 else after
        return LogStream(self._open_streams, self._events(position, who))

    async def _events(self, position: int, who: Context) -> AsyncIterator[bytes]:
        about = {"log_id": self._log.log_id, "after": position}
        yield b"event: log\ndata: " + orjson.dumps(about) + b"\n\n"
        quiet = 0.0
        while True:
            try:
                look = partial(self._portion, position, AT_ONCE, who)
                portion = await in_thread(look, self._limiter)
            except PalaceError as error:
                yield b"event: error\ndata: " + orjson.dumps(error.as_answer()) + b"\n\n"
                return
            for entry in portion:
                position = entry["position"]
                yield b"id: %d\nevent: entry\ndata: %s\n\n" % (position, orjson.dumps(entry))
            if portion:
                quiet = 0.0
                continue
            if quiet >= HEARTBEAT_SECONDS:
                yield b": here\n\n"
                quiet = 0.0
            await asyncio.sleep(LOOK_SECONDS)
            quiet += LOOK_SECONDS

    @in_words()
    def _newest(self) -> int:
        self._log.check_file()
        return self._log.position()

    @in_words()
    def _portion(self, after: int, limit: int, who: Context) -> list[dict[str, Any]]:
        """What is behind a position; noted, if it is anything."""
        self._log.check_file()
        found = self._log.after(after, limit)
        if not found:
            return []
        entries = [_entry(one) for one in found]
        with self._trail.noting(_TOOL, {"after": after}, who) as seen:
            about = {"log_id": self._log.log_id, "position": found[-1].position}
            seen.update(about, operations=[{"op_id": one["op_id"]} for one in entries])
        return entries


def _reader(session: Session, request: Request) -> Context:
    """Who reads.

    Raises:
        InvalidInput, Refused: the mode that the headers ask for is none, or does not allow it.
    """
    who = session.asked(mode_asked(request.scope))
    gate.check(_TOOL, gate.READ, who.session_mode, who.ceiling)
    return who


def _entry(operation: Operation) -> dict[str, Any]:
    header = operation.header
    return {
        "position": operation.position,
        "op_id": header.op_id,
        "tool": header.tool,
        "device": header.origin_device,
        "stream": header.stream,
        "local_seq": header.local_seq,
        "recorded_at": show(header.recorded_at),
    }


def _asked(request: Request, known: dict[str, int]) -> dict[str, int]:
    """The numbers in the query."""
    found = dict(known)
    for name, text in request.query_params.multi_items():
        if name not in known:
            raise invalid(name, "is not an argument here", "See the OpenAPI document.")
        found[name] = _position(name, text)
    return found


def _resumed(request: Request) -> int | None:
    """The position that a client saw last."""
    said = header(request.scope, b"last-event-id")
    return _position("Last-Event-ID", said[0]) if said else None


def _position(name: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise invalid(name, "is no position", "Give a whole number from 0 on.")
    return int(text)
