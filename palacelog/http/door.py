"""The door: which Host, which Origin, which token, and how often.

Protects a palace from web pages and strangers: a page of another origin, a name that was made to
point here, and a caller without a token get an error before anything is read. Every path passes
here; `/healthz` alone needs no token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from palacelog.http.asgi import App, Receive, Scope, Send, TurnedAway, header, tell
from palacelog.http.tokens import Token, known
from palacelog.http.visitors import Visitor, admit
from palacelog.system import System

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS: Final = frozenset({"/healthz"})
_ASK_FOR_TOKEN: Final = ((b"www-authenticate", b'Bearer realm="palacelog"'),)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name(host: str) -> str:
    """A host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


class Door:
    """Lets a request through or answers it."""

    def __init__(
        self, app: App, *, hosts: Sequence[str], tokens: tuple[Token, ...], calls_per_minute: int
    ) -> None:
        """Stand before an application.

        Args:
            hosts: names that a request may be for, with a port or for any.
            tokens: whose calls are taken; of none, everyone's.
            calls_per_minute: of one token, or of one address.
        """
        self._app = app
        self._hosts = frozenset(one.lower() for one in hosts)
        self._tokens = tokens
        self._rate = RateLimitItemPerMinute(calls_per_minute)
        self._storage: MemoryStorage | None = None
        self._system = System()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            try:
                self._check_host(scope)
                self._check_origin(scope)
                visitor = self._visitor(scope)
                await self._check_rate(visitor, scope)
                admit(scope, self._checked(visitor, scope))
            except TurnedAway as error:
                await tell(send, error)
                return
        await self._app(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        if [self._is_ours(one) for one in header(scope, b"host")] != [True]:
            raise TurnedAway(
                421,
                "host",
                "This server does not answer for the host that the request names.",
                "Ask for a name that it answers for, or start it with --allow-host NAME.",
            )

    def _check_origin(self, scope: Scope) -> None:
        [host] = header(scope, b"host")
        for origin in header(scope, b"origin"):
            scheme, _, of = origin.lower().partition("://")
            # Other programs of this machine have pages too, at other ports of the same names.
            same = of == host.lower() or (self._is_ours(of) and not is_loopback(_name(of)))
            if scheme not in ("http", "https") or not same:
                raise TurnedAway(
                    403,
                    "origin",
                    "A page of another origin may not ask this server.",
                    "Call it from a program, or from a page of its own.",
                )

    def _is_ours(self, host: str) -> bool:
        host = host.lower()
        return host in self._hosts or _name(host) in self._hosts

    def _visitor(self, scope: Scope) -> Visitor | None:
        """Who asks; None for somebody without a token."""
        if not self._tokens:
            return Visitor(None)
        said = header(scope, b"authorization")
        scheme, _, presented = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            return None
        token = known(self._tokens, presented.strip())
        return None if token is None else Visitor(token.name, token.mode)

    def _checked(self, visitor: Visitor | None, scope: Scope) -> Visitor:
        if visitor is not None:
            return visitor
        if scope["path"] in OPEN_PATHS:
            return Visitor(None)
        raise TurnedAway(
            401,
            "token",
            "The request carries no token that this server knows.",
            "Send `Authorization: Bearer TOKEN`.",
            _ASK_FOR_TOKEN,
        )

    async def _check_rate(self, visitor: Visitor | None, scope: Scope) -> None:
        address = (scope.get("client") or ("?",))[0]
        who = f"token {visitor.name}" if visitor and visitor.name else f"address {address}"
        if self._storage is None:  # it belongs to the loop that serves
            self._storage = MemoryStorage()
        limiter = SlidingWindowCounterRateLimiter(self._storage)
        if await limiter.hit(self._rate, who):
            return
        until = (await limiter.get_window_stats(self._rate, who)).reset_time
        seconds = max(1, math.ceil(until - self._system.now() / 1_000_000))
        raise TurnedAway(
            429,
            "rate",
            f"More than {self._rate.amount} requests in a minute.",
            f"Wait {seconds} seconds and go on.",
            [(b"retry-after", str(seconds).encode())],
        )
