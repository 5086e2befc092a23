"""Answers that come in time, and streams that end when the server stops.

Protects clients from waiting for ever. A call that is late is told so, and runs on to its end: what
it writes is written once, or not at all, and a repeat with its idempotency key tells which.
"""

from __future__ import annotations

import anyio

from palacelog.http.asgi import App, Message, Receive, Scope, Send, TurnedAway, tell


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
        self._open: set[anyio.CancelScope] = set()
        self._stopped = False

    def stop(self) -> None:
        """End what is streamed to readers, now and from now on."""
        self._stopped = True
        for one in list(self._open):
            one.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        streams = False

        async def watched(message: Message) -> None:
            nonlocal streams
            await send(message)
            if message["type"] == "http.response.start" and _is_stream(message):
                streams = True
                self._open.add(serving)
                if self._stopped:
                    serving.cancel()

        with anyio.CancelScope() as serving:
            try:
                await self._app(scope, receive, watched)
            finally:
                self._open.discard(serving)
        if streams and serving.cancelled_caught:
            await send({"type": "http.response.body", "body": b""})


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
