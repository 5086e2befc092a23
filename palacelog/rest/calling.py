"""How a request is answered by the palace, and how an error is.

Protects the event loop: every call runs in a thread of its own, to its end, whether or not somebody
still waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio
import orjson
from fastapi import Request, Response
from starlette.exceptions import HTTPException

from domain.catalog import Entry
from domain.errors import PalaceError
from domain.operation import Context
from palacelog.bootstrap import House
from palacelog.http.asgi import TurnedAway, status_of
from palacelog.http.outermost import fault_of
from palacelog.http.visitors import context_of, mode_asked
from palacelog.rest.arguments import from_address, from_body, key_of
from palacelog.sessions import Session
from palacelog.settings import who

CLIENT: Final = "rest"
_JSON: Final = "application/json"


class Calling:
    """Answers requests out of one palace."""

    def __init__(self, house: House) -> None:
        """Answer out of a palace that stays open meanwhile."""
        self.house = house
        settings = house.settings
        self._context = replace(who(settings), client=settings.client or CLIENT)

    def session(self, request: Request) -> Session:
        """Who makes a request, which is a session of its own."""
        context = context_of(request.scope, self._context)
        return Session(self.house.palace, context, remembers=False)

    def context(self, request: Request) -> Context:
        """Who makes a request, with the mode that its headers ask for.

        Raises:
            InvalidInput, Refused: they ask for none, or for more than was allowed.
        """
        return self.session(request).asked(mode_asked(request.scope))

    async def operation(
        self, request: Request, entry: Entry | None, tool: str, *, in_address: bool, **placed: str
    ) -> Response:
        """Do one operation.

        Args:
            entry: of the route; None where any tool can be named.
            placed: arguments in the path.
        """
        given = from_address(entry if in_address else None, request.scope)
        if not in_address:
            given |= from_body(request.scope, await request.body())
        for name, value in placed.items():
            if given.setdefault(name, value) != value:
                raise TurnedAway(
                    400, "path", f"`{name}` differs from the path's.", "Give it in the path alone."
                )
        mode, key = mode_asked(request.scope), key_of(request.scope, given)
        call = partial(self.session(request).call, tool, given, mode, key)
        return told(await in_thread(call))


async def in_thread(call: Callable[[], Any]) -> Any:
    """What a call gives that may wait for files."""
    return await anyio.to_thread.run_sync(call)


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
