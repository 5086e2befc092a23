"""How a request is answered by the palace, and how an error is.

Protects the event loop: every call runs in a thread of its own, to its end, whether or not somebody
still waits for it. Protects what is no call: calls that wait take none of its threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
import orjson
from fastapi import Request, Response
from starlette.exceptions import HTTPException

from domain.catalog import CATALOG, Entry
from domain.errors import InvalidInput, PalaceError
from domain.trail import UNKNOWN_TOOL
from palacelog.bootstrap import House
from palacelog.http.asgi import TurnedAway, status_of
from palacelog.http.outermost import fault_of
from palacelog.http.visitors import context_of, mode_asked, named
from palacelog.rest.arguments import from_address, from_body, key_of
from palacelog.sessions import Session
from palacelog.settings import who

CLIENT: Final = "rest"
CALLS_AT_ONCE_MAX: Final = 40
_JSON: Final = "application/json"


class Calling:
    """Answers requests out of one palace."""

    def __init__(self, house: House) -> None:
        """Answer out of a palace that stays open meanwhile."""
        self.house = house
        settings = house.settings
        self._context = replace(who(settings), client=settings.client or CLIENT)
        self._limiter = anyio.CapacityLimiter(CALLS_AT_ONCE_MAX)

    @contextmanager
    def session(self, tool: str, request: Request) -> Iterator[Session]:
        """Who makes a request, which is a session of its own. What is refused within has not come
        as far as the palace, and is noted as the palace notes its own refusals.

        Args:
            tool: what is asked for, by its name in the trail.
        """
        who = context_of(request.scope, self._context)
        try:
            who = named(request.scope, who)
            yield Session(self.house.palace, who, remembers=False)
        except PalaceError as refusal:
            self.house.palace.trail.refused(tool, {}, who, refusal)
            raise

    async def operation(
        self, request: Request, entry: Entry | None, tool: str, *, in_address: bool, **placed: str
    ) -> Response:
        """Do one operation.

        Args:
            entry: of the route; None where any tool can be named.
            placed: arguments in the path.
        """
        body = b"" if in_address else await request.body()
        with self.session(tool if tool in CATALOG else UNKNOWN_TOOL, request) as session:
            given = from_address(entry if in_address else None, request.scope)
            given |= from_body(request.scope, body)
            for name, value in placed.items():
                if given.setdefault(name, value) != value:
                    raise InvalidInput(
                        "http::path",
                        f"`{name}` differs from the path's.",
                        "Give it in the path alone.",
                    )
            who, key = session.asked(mode_asked(request.scope)), key_of(request.scope, given)
        return told(await self.done(partial(session.call, tool, given, who, key)))

    async def done(self, call: Callable[[], Any]) -> Any:
        """What a call gives, once it is its turn."""
        return await in_thread(call, self._limiter)


async def in_thread(call: Callable[[], Any], limiter: anyio.CapacityLimiter) -> Any:
    """What is given by something that may wait for files.

    Args:
        limiter: of all that is done at once of its kind.
    """
    return await anyio.to_thread.run_sync(call, limiter=limiter)


def told(document: Mapping[str, Any], status: int = 200, headers: Any = None) -> Response:
    """A document as an answer."""
    return Response(orjson.dumps(document), status, headers, media_type=_JSON)


async def on_error(_: Request, error: Exception) -> Response:
    """The answer to a call that an error stopped."""
    assert isinstance(error, PalaceError)
    headers = dict(error.headers) if isinstance(error, TurnedAway) else {}
    shown = {name.decode(): value.decode() for name, value in headers.items()}
    return told(error.as_answer(), status_of(error), shown)


async def on_no_route(_: Request, error: Exception) -> Response:
    """The answer where there is no such path, or not by that method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        said = "This path is not asked that way."
        help = "See the header `Allow`, and the OpenAPI document at /api/openapi.json."
        reason = "method"
    else:
        said, help, reason = "There is nothing here.", "See /api/openapi.json.", "no_route"
    stopped = TurnedAway(error.status_code, reason, said, help)
    return told(stopped.as_answer(), error.status_code, error.headers)


async def on_fault(request: Request, _: Exception) -> Response:
    """The answer where something went wrong inside; what stands before everything logs it."""
    return told(fault_of(request.scope).as_answer(), 500)
