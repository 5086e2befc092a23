"""The shape of an application that is served over HTTP, and how one answers by hand.

Protects the shape of errors: whatever turns a request away answers `{error, code, help}` with a
status. Knows no web framework.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final

import orjson

from domain.errors import Damaged, InvalidInput, PalaceError, Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Pairs = Iterable[tuple[bytes, bytes]]

CLOSE: Final = (b"connection", b"close")
"""Of an answer to a request whose body nobody reads to its end."""
_STATUS: Final[dict[str, int]] = {
    "palacelog::input::unknown_tool": 404,
    "palacelog::input::too_large": 413,
    "palacelog::http::content_type": 415,
    "palacelog::vectors::unknown_embedder": 404,
}


class TurnedAway(PalaceError):
    """A request that HTTP itself does not let through. Nothing changed.

    Attributes:
        status: of the answer.
        headers: of the answer, beside those of every answer.
    """

    def __init__(
        self, status: int, reason: str, message: str, help: str, headers: Pairs = ()
    ) -> None:
        """The code is `palacelog::http::<reason>`."""
        super().__init__(f"http::{reason}", message, help)
        self.status = status
        self.headers = tuple(headers)


def status_of(error: PalaceError) -> int:
    """The status of an answer that tells of an error."""
    if isinstance(error, TurnedAway):
        return error.status
    if error.code in _STATUS:
        return _STATUS[error.code]
    if error.code.endswith("::unknown"):
        return 404
    if isinstance(error, Refused):
        return 403 if error.code.startswith("palacelog::mode::") else 409
    if isinstance(error, InvalidInput):
        return 400
    if isinstance(error, Damaged):
        return 500
    return 503


def header(scope: Scope, name: bytes) -> list[str]:
    """The values of a header, each as often as it was sent."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def tell(send: Send, error: PalaceError, *, close: bool = False) -> None:
    """Answer with an error.

    Args:
        close: the connection ends with it.
    """
    more = list(error.headers) if isinstance(error, TurnedAway) else []
    await answer(send, status_of(error), error.as_answer(), more + [CLOSE] * close)


async def answer(send: Send, status: int, document: Mapping[str, Any], headers: Pairs = ()) -> None:
    """Answer with a JSON document."""
    body = orjson.dumps(document)
    about = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": about})
    await send({"type": "http.response.body", "body": body})
