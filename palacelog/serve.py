"""The palace over HTTP: `/mcp`, `/api` and `/healthz` in one process.

Protects the order of what stands before them: a request's id and log line, then the door (Host,
Origin, token, rate), then its body, then its deadline. A server that others can reach does not
start without tokens and the names that it answers for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

from domain.errors import Refused
from palacelog.bootstrap import House
from palacelog.http.asgi import App
from palacelog.http.bodies import Bodies
from palacelog.http.deadline import Deadline, Stopping
from palacelog.http.door import LOOPBACK_NAMES, Door, is_loopback
from palacelog.http.outermost import Outermost
from palacelog.http.server import Server, check_certificate, listening, quiet_libraries, url_of
from palacelog.http.tokens import Token, read_tokens
from palacelog.late import LatePalace
from palacelog.mcp.http import McpOverHttp
from palacelog.mcp.tools import Choice
from palacelog.owner.within import owning
from palacelog.rest.app import make_app
from palacelog.settings import Serving

MCP_PATH: Final = "/mcp"


class Guarded:
    """All ways in over HTTP, behind what guards them."""

    def __init__(
        self,
        house: House,
        tokens: tuple[Token, ...],
        choice: Choice = "core",
        prefix: str = "",
        *,
        owns: bool = False,
    ) -> None:
        """Put the parts together, as the settings of the palace say.

        Args:
            choice, prefix: of the tools at `/mcp`.
            owns: see `serve`.
        """
        settings = house.settings
        over_http = McpOverHttp(house, choice, prefix)

        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncIterator[None]:
            late = LatePalace(settings, lambda: house)
            owner = owning(house.folder.path, late) if owns else nullcontext()
            async with over_http.running(), owner:
                yield

        ways: Any = make_app(house, others={MCP_PATH: over_http}, lifespan=lifespan)
        self._stopping = Stopping(ways)
        in_time = Deadline(self._stopping, seconds=settings.serve.request_seconds)
        bodies = Bodies(in_time, seconds=settings.serve.body_seconds)
        door = Door(
            bodies,
            hosts=hosts_of(settings.serve),
            tokens=tokens,
            calls_per_minute=settings.serve.calls_per_minute,
        )
        self.app: App = Outermost(door, paths=frozenset({MCP_PATH}))

    def stop(self) -> None:
        """End the streams that would go on for ever."""
        self._stopping.stop()


def tokens_of(settings: Serving) -> tuple[Token, ...]:
    """The tokens that the settings name; none on loopback means that none is needed.

    Raises:
        Refused: others could reach the server, and nothing says who may.
        InvalidInput: the token file is none.
    """
    tokens = () if settings.token_file is None else read_tokens(settings.token_file)
    if settings.token_file is not None and not tokens:
        raise Refused(
            "serve::no_tokens", "The token file holds no token.", "Write one line for each token."
        )
    if is_loopback(settings.host):
        return tokens
    missing = [
        option
        for option, there in (("--token-file", tokens), ("--allow-host", settings.allow_hosts))
        if not there
    ]
    if missing:
        raise Refused(
            "serve::unguarded",
            f"At {settings.host} others can reach this palace, and {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing.",
            "Give --token-file FILE (lines `sha256-hex name`, mode 0600) and --allow-host NAME "
            "for each name that clients use, or stay with --host 127.0.0.1.",
        )
    return tokens


def hosts_of(settings: Serving) -> tuple[str, ...]:
    """The names that requests may be for."""
    own = {*LOOPBACK_NAMES, settings.host} if is_loopback(settings.host) else ()
    return (*own, *settings.allow_hosts)


def serve(
    house: House,
    *,
    choice: Choice = "core",
    prefix: str = "",
    owns: bool = False,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a palace until a signal says stop; calls in flight are finished.

    Args:
        owns: sessions of `palacelog mcp` are served too, as soon as no other process does.
        ready: told the address as soon as requests are taken.

    Raises:
        Refused: it would be open to others.
        InvalidInput, Unusable: it cannot listen there.
    """
    settings = house.settings.serve
    guarded = Guarded(house, tokens_of(settings), choice, prefix, owns=owns)
    check_certificate(settings.tls_cert, settings.tls_key)
    quiet_libraries()
    with listening(settings.host, settings.port) as made:
        url = url_of(made, tls=settings.tls_cert is not None)
        server = Server(
            guarded.app,
            cert=settings.tls_cert,
            key=settings.tls_key,
            on_start=lambda: ready(url),
            on_stop=guarded.stop,
        )
        asyncio.run(server.serve(sockets=[made]))
