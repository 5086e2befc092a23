"""Answers that come in time, and streams that end when the server stops.

Protects clients from waiting for ever. A call that is late is told so, and runs on to its end: what
it writes is written once, or not at all, and a repeat with its idempotency key tells which.
Protects calls in flight from the end of the server: a stream that waits for one is left to it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from palacelog.http.asgi import App, Message, Receive, Scope, Send, TurnedAway, tell

ANSWER_SECONDS: Final = 5.0
"""So long may an answer take to go out behind what it waited for, when the server stops."""
_KEY: Final = "palacelog.answer"


class Deadline:
    """Answers in the application's place where it has not begun to by then."""

    def __init__(self, app: App, *, seconds: float) -> None:
        """Stand before an application."""
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = late = False

        async def in_time(message: Message) -> None:
            nonlocal begun
            if not late:
                begun = True
                await send(message)

        async def watch() -> None:
            nonlocal late
            await anyio.sleep(self._seconds)
            if not begun:
                late = True
                await tell(send, _late(self._seconds))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await self._app(scope, receive, in_time)
            tasks.cancel_scope.cancel()


class Stopping:
    """Ends answers that go on for ever when the server stops."""

    def __init__(self, app: App) -> None:
        """Stand before an application."""
        self._app = app
        self._open: set[_Answer] = set()
        self._stopped = False

    def stop(self) -> None:
        """End what is streamed and waits for nothing, now and from now on."""
        self._stopped = True
        for one in list(self._open):
            one.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with anyio.CancelScope() as serving:
            scope[_KEY] = answer = _Answer(serving, asks=scope["method"] == "POST")

            async def watched(message: Message) -> None:
                await send(message)
                if message["type"] == "http.response.start" and _is_stream(message):
                    self._open.add(answer)
                    if self._stopped:
                        answer.stop()

            try:
                await self._app(scope, receive, watched)
            finally:
                self._open.discard(answer)
                answer.over = True
        if serving.cancelled_caught:
            await send({"type": "http.response.body", "body": b""})


class _Answer:
    """An answer on its way, and what is done for it."""

    def __init__(self, serving: anyio.CancelScope, *, asks: bool) -> None:
        """Nothing is done yet.

        Args:
            asks: whether something will be.
        """
        self._serving, self._waits = serving, asks
        self._working, self._idle_since = 0, -math.inf
        self._stopped = self.over = False

    def begin(self) -> None:
        """Something is done from now on."""
        self._waits = False
        self._working += 1

    def end(self) -> None:
        """It is done."""
        self._working -= 1
        self._idle_since = asyncio.get_running_loop().time()
        if self._stopped:
            self.stop()

    def stop(self) -> None:
        """End the stream, once nothing is done for it and what was done has gone out."""
        self._stopped = True
        if self.over or self._waits or self._working:
            return
        loop = asyncio.get_running_loop()
        left = self._idle_since + ANSWER_SECONDS - loop.time()
        if left > 0:
            loop.call_later(left, self.stop)
        else:
            self._serving.cancel()


@contextmanager
def working(scope: Scope) -> Iterator[None]:
    """What an answer waits for is done within: it is not cut off before."""
    answer: _Answer = scope[_KEY]
    answer.begin()
    try:
        yield
    finally:
        answer.end()


def _is_stream(message: Message) -> bool:
    return any(
        key == b"content-type" and value.startswith(b"text/event-stream")
        for key, value in message["headers"]
    )


def _late(seconds: float) -> TurnedAway:
    return TurnedAway(
        504,
        "late",
        f"The call was not answered within {seconds:g} seconds.",
        "Repeat it with its idempotency key: it is then done once, whatever became of it.",
    )
