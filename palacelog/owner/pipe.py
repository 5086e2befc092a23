"""What stays of a session in its own process: a host's lines go to the owner and its lines back.

Protects a host from the owner's fate: one that ends or hangs is replaced within a deadline, and
what it had not answered is asked again under the same numbers, so that a write happens once.
Protects memory: this module imports the standard library alone (a test holds it to that) and reads
no line. What it says goes to standard error.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from palacelog.owner.frames import KEEP, LINE_BYTES_MAX, MODE, PING, PONG, connected

if TYPE_CHECKING:
    from collections.abc import Iterator

PONG_SECONDS: Final = 10.0
PING_SECONDS: Final = 2.0
START_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 0.02
_READ_BYTES: Final = 256 * 1024
_CREDENTIALS: Final = struct.Struct("3i")
OF_ONE_SESSION: Final = frozenset(
    f"PALACELOG_{name}" for name in ("MODE", "AGENT", "SESSION", "CLIENT", "PRINCIPAL")
)


class Ended(Exception):
    """The owner is gone, ends, or does not answer."""


class Refusal(Exception):
    """The owner cannot serve this session.

    Attributes:
        said: what it says, for standard error.
        status: the exit code.
    """

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.said, self.status = said, status


class Owner:
    """A connection to the owner of a palace."""

    def __init__(self, folder: Path, greeting: dict[str, Any]) -> None:
        """Connect and greet.

        Raises:
            OSError, Ended: nobody is there, or nobody who stays.
            Refusal: it does not take this session.
        """
        self._socket = connected(folder, PONG_SECONDS)
        self._read = b""
        try:
            self.send(json.dumps(greeting).encode() + b"\n")
            answer = json.loads(self._first_line())
        except TimeoutError as error:
            self.kill()
            raise Ended from error
        except (OSError, ValueError) as error:
            self.close()
            raise Ended from error
        if "error" in answer:
            self.close()
            raise Refusal(json.dumps(answer), answer.get("status", 2))
        if "ready" not in answer:
            self.close()
            raise Ended

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: nobody takes it within the deadline, or nobody is there.
        """
        self._socket.sendall(data)

    def lines(self) -> list[bytes]:
        """The whole lines that have come, without their ends.

        Raises:
            OSError: the owner is gone.
        """
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError
        *whole, self._read = (self._read + data).split(b"\n")
        return whole

    def close(self) -> None:
        """Let it go."""
        self._socket.close()

    def kill(self) -> None:
        """End a process that does not answer: it may hold the palace's locks. What it had written
        stays, and what it had not acknowledged is asked again.
        """
        try:
            told = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            process, user, _ = _CREDENTIALS.unpack(told)
            if process > 0 and user == os.getuid() and not self._gone():
                os.kill(process, signal.SIGKILL)
        except OSError:
            pass
        self._socket.close()

    def _gone(self) -> bool:
        """Whether the other side has closed: then its number may be another process's."""
        ready, _, _ = select.select([self._socket], [], [], 0)
        return bool(ready) and not self._socket.recv(1, socket.MSG_PEEK)

    def _first_line(self) -> bytes:
        while b"\n" not in self._read:
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line


class Pipe:
    """A host's standard input and output, joined to whoever owns the palace."""

    def __init__(self, folder: Path, greeting: dict[str, Any]) -> None:
        """Find the owner, or start one.

        Raises:
            Refusal: the palace cannot be served.
        """
        self._folder, self._greeting = folder, greeting
        self._number = 0
        self._waiting: dict[int, bytes] = {}
        self._kept: list[bytes] = []
        self._rest = b""
        self._silent = 0
        self._next_ping = 0.0
        self._open = True
        self._owner = _found(folder, greeting)

    def run(self) -> None:
        """Carry lines until the host closes its side and all that it asked is answered."""
        while self._open or self._waiting:
            try:
                self._turn()
            except Ended:
                self._replace()

    def _turn(self) -> None:
        """Carry what there is, from either side."""
        if not self._waiting:
            self._silent, self._next_ping = 0, time.monotonic() + PING_SECONDS
        sides: list[Any] = [self._owner, *([sys.stdin] if self._open else [])]
        ready, _, _ = select.select(sides, [], [], PING_SECONDS if self._waiting else None)
        if self._owner in ready:
            with _or_ended():
                lines = self._owner.lines()
            self._silent = 0
            for line in lines:
                self._from_owner(line)
        if sys.stdin in ready:
            self._from_host()
        if self._waiting and time.monotonic() >= self._next_ping:
            self._ping()

    def _from_host(self) -> None:
        data = os.read(sys.stdin.fileno(), _READ_BYTES)
        if not data:
            self._open = False
            data = b"\n" if self._rest else b""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if line.strip():
                self._number += 1
                self._waiting[self._number] = line
                with _or_ended():
                    self._owner.send(b"%d %s\n" % (self._number, line))
        if len(self._rest) > LINE_BYTES_MAX:
            raise Refusal("A line is longer than the protocol allows.", 2)

    def _from_owner(self, frame: bytes) -> None:
        tag, _, line = frame.partition(b" ")
        if frame.startswith(KEEP):
            self._kept.append(self._waiting[int(frame[1:])])
        elif frame.startswith(MODE):
            self._greeting["mode"] = line.decode()
        elif frame + b"\n" != PONG:
            self._waiting.pop(int(tag), None)
            if line:
                _write(line + b"\n")

    def _ping(self) -> None:
        """Ask for a sign. Turns are counted, not seconds: a machine that slept owes none."""
        self._silent += 1
        if self._silent * PING_SECONDS > PONG_SECONDS:
            raise Ended
        self._next_ping = time.monotonic() + PING_SECONDS
        with _or_ended():
            self._owner.send(PING)

    def _replace(self) -> None:
        """Go on with another owner, which is told all that the last one had not answered."""
        while True:
            self._owner.kill()
            self._owner = _found(self._folder, self._greeting)
            self._silent, self._next_ping = 0, time.monotonic() + PING_SECONDS
            with suppress(OSError):
                for line in self._kept:
                    self._owner.send(b"%s %s\n" % (KEEP, line))
                for number, line in self._waiting.items():
                    self._owner.send(b"%d %s\n" % (number, line))
                return


@contextmanager
def _or_ended() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Ended from error


def _found(folder: Path, greeting: dict[str, Any]) -> Owner:
    """A connection to the owner; started where there is none."""
    deadline = time.monotonic() + START_SECONDS
    child: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        try:
            found = Owner(folder, greeting)
        except (OSError, Ended):
            if child is None:
                child = _started(folder)
            elif child.poll() is not None:
                _, said = child.communicate()
                if child.returncode != 0:
                    raise Refusal(said.decode(errors="replace").strip(), child.returncode) from None
                # Another was first.
                child = None
            time.sleep(_RETRY_SECONDS)
            continue
        if child is not None and child.stderr is not None:
            child.stderr.close()
        return found
    raise Refusal(f"The palace {folder} was not opened within {START_SECONDS:g} s.", 3)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    """A process that will own the palace, where no other does. It outlives this one."""
    command = [sys.executable, "-P", "-m", "palacelog.owner.process", str(folder)]
    theirs = {name: text for name, text in os.environ.items() if name not in OF_ONE_SESSION}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=theirs,
        start_new_session=True,
    )


def _write(data: bytes) -> None:
    """Give the host a line; where it is gone, so is the session."""
    try:
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
    except BrokenPipeError:
        sys.exit(0)


def main(folder: str, greeting: str) -> NoReturn:
    """Be the pipe of a session.

    Args:
        greeting: JSON, as `owner.process` reads it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        Pipe(Path(folder), json.loads(greeting)).run()
    except Refusal as refusal:
        sys.stderr.write(f"{refusal.said}\n")
        sys.exit(refusal.status)
    sys.exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
