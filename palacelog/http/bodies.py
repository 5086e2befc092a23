"""The body of a request, whole or refused.

Protects memory and connections: a body is counted while it comes, and must be here by a deadline.
What was refused is read on for a while, so that the client sees the answer and not a reset.
"""

from __future__ import annotations

from typing import Final

import anyio

from domain.errors import InvalidInput
from palacelog.http.asgi import App, Message, Receive, Scope, Send, TurnedAway, header, tell

BODY_BYTES_MAX: Final = 16 * 1024 * 1024
_READ_ON_BYTES_MAX: Final = 2 * BODY_BYTES_MAX


class ClientGone(Exception):
    """The client closed before its body was whole."""


class Bodies:
    """Reads each request's body before the application sees the request."""

    def __init__(self, app: App, *, seconds: float) -> None:
        """Stand before an application.

        Args:
            seconds: how long a body may take.
        """
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            with anyio.fail_after(self._seconds):
                body = await _whole(scope, receive)
        except ClientGone:
            return
        except TimeoutError:
            late = TurnedAway(
                408,
                "body_late",
                f"The body was not here after {self._seconds:g} seconds.",
                "Send it again, faster or in parts.",
            )
            await tell(send, late, close=True)
            return
        except TurnedAway as error:
            await tell(send, error, close=True)
            return
        await self._app(scope, _again(body, receive), send)


def check_json(scope: Scope) -> None:
    """That a body is said to be JSON.

    Raises:
        InvalidInput: `palacelog::http::content_type`.
    """
    [kind, *_] = [*header(scope, b"content-type"), ""]
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise InvalidInput(
            "http::content_type",
            "The body is not said to be JSON.",
            "Send it with `Content-Type: application/json`.",
        )


async def _whole(scope: Scope, receive: Receive) -> bytes:
    """The body.

    Raises:
        TurnedAway: it is too large.
        ClientGone: it will never be whole.
    """
    parts, count, more = [], 0, True
    if _declared(scope) > _READ_ON_BYTES_MAX:
        raise _too_large()
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        part = message.get("body", b"")
        more = message.get("more_body", False)
        count += len(part)
        if count <= BODY_BYTES_MAX:
            parts.append(part)
        elif count > _READ_ON_BYTES_MAX:
            break
        else:
            parts.clear()
    if count > BODY_BYTES_MAX:
        raise _too_large()
    return b"".join(parts)


def _declared(scope: Scope) -> int:
    said = header(scope, b"content-length")
    return int(said[0]) if said and said[0].isdecimal() else 0


def _too_large() -> TurnedAway:
    return TurnedAway(
        413,
        "too_large",
        f"The body is larger than {BODY_BYTES_MAX} bytes.",
        "Split the call into several.",
    )


def _again(body: bytes, receive: Receive) -> Receive:
    """The body in one message; then what the client does."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read
