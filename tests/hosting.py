"""An agent host for tests: it starts `palacelog mcp`, sends lines and takes lines.

with Host(palace) as host:
    host.begin()                                   # the handshake of the older era
    answer = host.call("add_drawer", {...})        # waits for the answer
    waiting = host.send("tools/call", {...})       # does not; host.answer(waiting) does

What `palacelog mcp` starts for a palace (its owner) is found and ended by `owner` and `end_owner`.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from palacelog.owner.frames import connected, peer

SECONDS_MAX = 120.0
COMMAND = [sys.executable, "-m", "palacelog"]
WAYS = ((), ("--in-process",))
"""The arguments of `palacelog mcp`: through the pipe, and in the process of the session."""
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test-host", "version": "1"},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": HANDSHAKE["clientInfo"],
}
"""What each request of the newer era carries in `_meta`."""


class Host:
    """A host and the session that it started. Safe to use from several threads."""

    def __init__(
        self,
        palace: Path,
        *options: str,
        before: tuple[str, ...] = (),
        fds: tuple[int, ...] = (),
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        command = [*COMMAND, "--palace", str(palace), *before, "mcp", *options]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            pass_fds=fds,
            cwd=folder,
        )
        self._sending = threading.Lock()
        self._number = 0
        self._waiting: dict[int, queue.Queue[Any]] = {}
        self.others: queue.Queue[Any] = queue.Queue()
        self._taking = threading.Thread(target=self._take, daemon=True)
        self._taking.start()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, method: str, given: Mapping[str, Any] | None = None) -> int:
        """Ask for something; returns the number of the request."""
        with self._sending:
            self._number += 1
            number = self._number
            self._waiting[number] = queue.Queue()
            self._line({"id": number, "method": method, "params": dict(given or {})})
        return number

    def notify(self, method: str, given: Mapping[str, Any] | None = None) -> None:
        with self._sending:
            self._line({"method": method, "params": dict(given or {})})

    def answer(self, number: int, seconds: float = SECONDS_MAX) -> Any:
        """What answers a request, as JSON-RPC has it."""
        found = self._waiting[number].get(timeout=seconds)
        assert found is not None, f"the session ended: {self.said()}"
        return found

    def begin(self) -> Any:
        """Shake hands, as hosts of the older era do."""
        answer = self.answer(self.send("initialize", HANDSHAKE))
        self.notify("notifications/initialized")
        return answer["result"]

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and take what it answers, an error as such."""
        return told(self.answer(self.calling(tool, arguments)))

    def calling(self, tool: str, arguments: Mapping[str, Any] | None = None) -> int:
        return self.send("tools/call", {"name": tool, "arguments": dict(arguments or {})})

    def close(self) -> int:
        """Close standard input and wait for the session to end; returns the exit code."""
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        code = self.process.wait(SECONDS_MAX)
        self._taking.join()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()  # type: ignore[union-attr]
        return code

    def said(self) -> str:
        """What stands on standard error, once the session has ended."""
        self.process.wait(SECONDS_MAX)
        return self.process.stderr.read().decode()  # type: ignore[union-attr]

    def _line(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n"
        self.process.stdin.write(line)  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]

    def _take(self) -> None:
        for line in self.process.stdout:  # type: ignore[union-attr]
            message = json.loads(line)
            if "method" in message:
                self.others.put(message)
            else:
                self._waiting[message["id"]].put(message)
        for one in self._waiting.values():
            one.put(None)


def told(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool answered: the structured part, or the error in the text."""
    result = answer["result"]
    text: dict[str, Any] = json.loads(result["content"][0]["text"])
    assert result.get("isError") or result["structuredContent"] == text
    return text


def owner(palace: Path) -> int | None:
    """The process that owns a palace; None where none listens."""
    try:
        with connected(palace, SECONDS_MAX) as made:
            return peer(made)
    except OSError:
        return None


def end_owner(palace: Path, how: signal.Signals = signal.SIGKILL) -> None:
    """End the owner and wait until it has."""
    process = owner(palace)
    if process is not None:
        watched = os.pidfd_open(process)
        os.kill(process, how)
        select.select([watched], [], [], SECONDS_MAX)
        os.close(watched)
