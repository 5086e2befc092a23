"""The server: sockets, connections and signals.

Protects the server from what is no request: a head that is too large, malformed or never whole is
answered in the house's shape and closed. Protects calls in flight: after a signal they are finished
before the palace is closed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import h11
import orjson
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from domain.errors import InvalidInput, Unusable
from palacelog.http.asgi import App, TurnedAway

HEAD_BYTES_MAX: Final = 64 * 1024
HEAD_SECONDS: Final = 15.0
KEEP_ALIVE_SECONDS: Final = 30
STOP_SECONDS: Final = 30
BACKLOG: Final = 128


class Protocol(H11Protocol):
    """One connection."""

    _late: asyncio.TimerHandle | None = None
    _asked = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, not for ever."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the clock go."""
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        if len(self.conn.trailing_data[0]) > HEAD_BYTES_MAX:
            self._refuse(
                TurnedAway(
                    431,
                    "head_too_large",
                    f"The head of the request is larger than {HEAD_BYTES_MAX} bytes.",
                    "Send long arguments in a body.",
                )
            )
        else:
            self._refuse(
                TurnedAway(400, "malformed", "This is no HTTP request.", "Correct it and send it.")
            )

    def _refuse(self, error: TurnedAway) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = orjson.dumps(error.as_answer())
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            head = h11.Response(status_code=error.status, headers=headers)
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
        self.transport.close()

    def _watch_head(self) -> None:
        """Let the clock run while a head is not whole, or a body goes on that nobody reads."""
        between = self.conn.their_state is h11.IDLE
        self._asked = self._asked or not between
        head = between and (not self._asked or bool(self.conn.trailing_data[0]))
        unread = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if not (head or unread):
            self._unwatch()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._refuse(
            TurnedAway(
                408,
                "head_late",
                f"The head of the request was not here after {HEAD_SECONDS:g} seconds.",
                "Send it again.",
            )
        )


class Server(uvicorn.Server):
    """Serves until it is told to stop, and says when it begins and when it stops."""

    def __init__(
        self,
        app: App,
        *,
        cert: Path | None = None,
        key: Path | None = None,
        on_start: Callable[[], None] = lambda: None,
        on_stop: Callable[[], None],
    ) -> None:
        """Serve an application.

        Args:
            cert, key: PEM files; with them the server speaks TLS.
            on_start: called when it answers requests.
            on_stop: called when it stops taking requests; ends what would go on for ever.
        """
        self._on_start, self._on_stop = on_start, on_stop
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
            ssl_certfile=cert,
            ssl_keyfile=key,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal stops the server; the process goes on, to close what it opened."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.handle_exit(number, frame)

        try:
            before = {one: signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # no main thread: somebody else takes the signals
            before = {}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at a second Ctrl-C without waiting for anything.

        The library that streams answers of the protocol patches uvicorn's method and looks for the
        server behind a signal's handler, to cut streams off: it finds neither here.
        """
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is in flight."""
        self._on_stop()
        await super().shutdown(sockets)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; with port 0 at any free one.

    Raises:
        InvalidInput: there is no such address.
        Unusable: `palacelog::serve::address`, it is taken.
    """
    try:
        [found, *_] = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError:
        raise InvalidInput(
            "serve::host", f"{host!r} is no address of this machine.", "Give another --host."
        ) from None
    family, kind, protocol, _, address = found
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise Unusable(
            "serve::address",
            f"{host} port {port} cannot be listened at: {error.strerror}.",
            "Give another --host or --port, or stop who listens there.",
        ) from None
    return made


def check_certificate(cert: Path | None, key: Path | None) -> None:
    """That a server can speak TLS with these files, or needs none.

    Raises:
        InvalidInput: `palacelog::serve::tls`.
    """
    if cert is None and key is None:
        return
    try:
        if cert is None:
            raise ValueError("there is a key and no certificate")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (OSError, ValueError) as error:
        said = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InvalidInput(
            "serve::tls",
            f"The certificate cannot be used: {said}.",
            "Give --tls-cert and --tls-key in PEM, the key without a password.",
        ) from error


def quiet_libraries() -> None:
    """Let no library log what a request held."""
    for name in ("mcp", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def url_of(made: socket.socket, *, tls: bool) -> str:
    """The address of a listening socket."""
    about: Any = made.getsockname()
    host = f"[{about[0]}]" if made.family == socket.AF_INET6 else about[0]
    return f"{'https' if tls else 'http'}://{host}:{about[1]}"
