"""The first to see a request and the last to see its answer: its id, its log line, its fault.

Protects secrets: the line says what was called and how it ended, never a path as it was asked for,
a query, a token or a text; and what went wrong inside is told to nobody in its own words.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from domain.catalog import CATALOG
from palacelog.faults import where
from palacelog.http.asgi import App, Message, Pairs, Receive, Scope, Send, TurnedAway, header, tell
from palacelog.http.visitors import visitor_of
from palacelog.system import System

LOG: Final = logging.getLogger("palacelog.access")
_SANE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_KEY: Final = "palacelog.request_id"
_METHODS: Final = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})


class Outermost:
    """Gives each request an id, and notes how it ended."""

    def __init__(self, app: App, *, paths: frozenset[str]) -> None:
        """Stand before everything.

        Args:
            paths: those of applications that have no routes to be named by.
        """
        self._app, self._paths, self._system = app, paths, System()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id, status, begun = self._id(scope), 0, self._system.now()
        scope[_KEY] = id

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _completed(message["headers"], id)
            await send(message)

        try:
            await self._app(scope, receive, named)
        except Exception as fault:  # noqa: BLE001 - nobody else would answer
            LOG.error("%s fault %s", id, where(fault))
            if status == 0:
                await tell(named, fault_of(scope), close=True)
        finally:
            milliseconds = (self._system.now() - begun) // 1_000
            LOG.info(
                "%s %s %s %s %s %dms",
                id,
                visitor_of(scope).name or "-",
                scope["method"] if scope["method"] in _METHODS else "-",
                scope["path"] if scope["path"] in self._paths else _called(scope),
                status or "-",
                milliseconds,
            )

    def _id(self, scope: Scope) -> str:
        said = header(scope, b"x-request-id")
        sane = len(said) == 1 and _SANE.fullmatch(said[0])
        return said[0] if sane else self._system.nonce().hex()


def _completed(headers: Pairs, id: str) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with what belongs into each: it is memory, for nobody to keep."""
    told = [*headers, (b"x-request-id", id.encode()), (b"x-content-type-options", b"nosniff")]
    cached = any(name.lower() == b"cache-control" for name, _ in told)
    return told if cached else [*told, (b"cache-control", b"no-store")]


def _called(scope: Scope) -> str:
    """What was called, in the house's own words; a path may hold names out of the palace."""
    path: str = getattr(scope.get("route"), "path", "-")
    tool = scope.get("path_params", {}).get("tool")
    return path.replace("{tool}", tool) if tool in CATALOG else path


def fault_of(scope: Scope) -> TurnedAway:
    """What is told where something went wrong inside."""
    id = scope.get(_KEY, "the request")
    return TurnedAway(
        500,
        "fault",
        "The server failed.",
        f"Look for {id} in its log, and report it. A write may have been made: repeat it with its "
        "idempotency key.",
    )
