"""A palace that is served over HTTP, by the real server in a thread of the test.

with serving(ada.house) as served:
    served.get("/api/status")
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import orjson
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from palacelog.bootstrap import House
from palacelog.http.server import Server, listening, url_of
from palacelog.serve import Guarded, tokens_of

CLIENT = {"name": "by hand", "version": "1"}
TOKENS = {"ada": ("ada-secret", "full"), "bob": ("bob-secret", "read_only"),
          "eve": ("eve-secret", "disabled")}  # fmt: skip


def token_file(folder: Path) -> Path:
    """A token file with everyone of `TOKENS`."""
    file = folder / "tokens"
    file.write_text(
        "# who may call\n"
        + "".join(
            f"{sha256(token.encode()).hexdigest()} {name} {mode}\n"
            for name, (token, mode) in TOKENS.items()
        )
    )
    file.chmod(0o600)
    return file


def bearer(name: str) -> dict[str, str]:
    """The header of somebody with a token."""
    return {"authorization": f"Bearer {TOKENS[name][0]}"}


class Served(httpx2.Client):
    """A client of a server, and the server."""

    def __init__(self, url: str, server: Server, thread: threading.Thread) -> None:
        super().__init__(base_url=url, timeout=60)
        self.url, self.server, self.thread = url, server, thread
        self.port = int(url.rpartition(":")[2])

    def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> httpx2.Response:
        """Any operation."""
        return self.post(f"/api/call/{tool}", json=arguments, **more)

    def stop(self) -> None:
        """As a signal would."""
        self.server.should_exit = True
        self.thread.join()


@contextmanager
def serving(house: House, prefix: str = "", *, owns: bool = False) -> Iterator[Served]:
    """A server of a palace, as its settings say but at any free port."""
    guarded = Guarded(house, tokens_of(house.settings.serve), "all", prefix, owns=owns)
    made = listening("127.0.0.1", 0)
    server = Server(guarded.app, on_stop=guarded.stop)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[made])))
    thread.start()
    with Served(url_of(made, tls=False), server, thread) as served:
        try:
            yield served
        finally:
            served.stop()
            made.close()


def error_of(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The error that an answer tells of, after its shape was checked."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    told: dict[str, Any] = answer.json()
    assert told.keys() <= {"error", "code", "help", "position"}
    assert told["code"] == f"palacelog::{code}", told
    assert told["error"]
    assert told["help"]
    return told


MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def request(method: str, id: int = 1, **params: Any) -> dict[str, Any]:
    """A message of the protocol that is answered."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def begun(url: str, **headers: str) -> dict[str, str]:
    """The headers of a session that is begun by hand."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    asked = request("initialize", **about)
    answer = httpx2.post(f"{url}/mcp", json=asked, headers=MCP | headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return MCP | headers | {"mcp-session-id": answer.headers["mcp-session-id"]}


class Posted:
    """A request at `/mcp` on a connection of its own; its answer is read by hand."""

    def __init__(self, url: str, message: dict[str, Any], headers: Mapping[str, str]) -> None:
        host, _, port = url.rpartition("//")[2].rpartition(":")
        body = orjson.dumps(message)
        about = {**headers, "host": host, "connection": "close", "content-length": len(body)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in about.items())
        self._socket = socket.create_connection((host, int(port)), 60)
        self._socket.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        self._read = b""

    def quiet(self, seconds: float) -> bool:
        """Whether the connection stays open so long, and no result comes."""
        self._socket.settimeout(seconds)
        try:
            while part := self._socket.recv(65_536):
                self._read += part
        except TimeoutError:
            return b"result" not in self._read
        self.close()
        return False

    def whole(self) -> bytes:
        """All that comes, until the server has ended it."""
        self._socket.settimeout(60)
        while part := self._socket.recv(65_536):
            self._read += part
        self.close()
        return self._read

    def answer(self) -> dict[str, Any]:
        """The answer of the protocol, its error where it is one."""
        [found] = re.findall(rb'\{.*"jsonrpc".*\}', self.whole())
        return dict(orjson.loads(found))

    def close(self) -> None:
        """Go, whatever is still to come."""
        self._socket.close()


@asynccontextmanager
async def connected(served: Served, era: str, **headers: str) -> AsyncIterator[Client]:
    """The SDK's client at `/mcp`; an underscore in a header's name is a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(headers=named, timeout=60) as http:
        transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(transport, mode=era, read_timeout_seconds=60) as client:
            yield client
