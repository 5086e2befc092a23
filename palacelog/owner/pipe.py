"""What stays of a session in its own process: a host's lines go to the owner and its lines back.

Protects a host from the owner's fate: one that ends or hangs is replaced within a deadline, and
what it had not answered is asked again under the same numbers, so that a write happens once.
Protects memory: this module imports the standard library alone (a test holds it to that), reads no
line but one that nobody else can answer, and takes no more from a host while much is unanswered.
What it says goes to standard error.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from palacelog.owner.frames import (
    KEEP,
    LINE_BYTES_MAX,
    LOCK_FILE,
    MODE,
    PING,
    PONG,
    connected,
    peer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PONG_SECONDS: Final = 10.0
PING_SECONDS: Final = 2.0
START_SECONDS: Final = 60.0
OWNERS_MAX: Final = 3
"""So many owners may end over one line, or turn one pipe away."""
WAITING_BYTES_MAX: Final = 4 * 1024 * 1024
_RETRY_SECONDS: Final = 0.02
_READ_BYTES: Final = 256 * 1024
_INTERNAL_ERROR: Final = -32603
OF_ONE_SESSION: Final = frozenset(
    f"PALACELOG_{name}" for name in ("MODE", "AGENT", "SESSION", "CLIENT", "PRINCIPAL")
)
_GIVEN_UP: Final = {
    "error": f"The process that has the palace open ended {OWNERS_MAX} times over this request.",
    "code": "palacelog::owner::ended",
    "help": "Try again with the same idempotency key; if it ends again, run `palacelog doctor`.",
}


class Ended(Exception):
    """The owner is gone, ends, or does not answer."""


class Retired(Ended):
    """The owner is of another version."""


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
            raise Retired

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
        stays, and what it had not acknowledged is asked again. One that has let this session go is
        left alone: it ends by itself, and its number may be another process's by then.
        """
        with suppress(OSError):
            process = peer(self._socket)
            if process is not None and not self._gone():
                os.kill(process, signal.SIGKILL)
        self._socket.close()

    def _gone(self) -> bool:
        """Whether the other side has closed, whatever of it is still to be read."""
        told = select.poll()
        told.register(self._socket, 0)
        return bool(told.poll(0))

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
        self._waiting_bytes = 0
        self._lost: Counter[int] = Counter()
        self._kept: list[bytes] = []
        self._rest = b""
        self._silent = 0
        self._next_ping = 0.0
        self._open = True
        self._owner: Owner | None = _found(folder, greeting)

    def run(self) -> None:
        """Carry lines until the host closes its side and all that it asked is answered."""
        while self._open or self._waiting:
            try:
                self._turn()
            except Ended:
                self._lose()

    def _turn(self) -> None:
        """Carry what there is, from either side. Where nothing waits, no owner is needed."""
        if self._owner is None and self._waiting:
            self._begin_again()
        if not self._waiting:
            self._silent, self._next_ping = 0, time.monotonic() + PING_SECONDS
        takes = self._open and self._waiting_bytes <= WAITING_BYTES_MAX
        sides: list[Any] = [
            *([self._owner] if self._owner else []),
            *([sys.stdin] if takes else []),
        ]
        ready, _, _ = select.select(sides, [], [], PING_SECONDS if self._waiting else None)
        if self._owner is not None and self._owner in ready:
            with _or_ended():
                lines = self._owner.lines()
            self._silent = 0
            for line in lines:
                self._from_owner(line)
        if sys.stdin in ready:
            self._from_host()
        if self._owner is not None and self._waiting and time.monotonic() >= self._next_ping:
            self._ping(self._owner)

    def _from_host(self) -> None:
        data = os.read(sys.stdin.fileno(), _READ_BYTES)
        if not data:
            self._open = False
            data = b"\n" if self._rest else b""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if max(map(len, (*whole, self._rest))) > LINE_BYTES_MAX:
            raise Refusal("A line is longer than the protocol allows.", 2)
        # All are noted before any is sent: the owner may be gone at each of them.
        numbers = [self._note(line) for line in whole if line.strip()]
        if self._owner is not None:
            for number in numbers:
                self._ask(self._owner, number)

    def _note(self, line: bytes) -> int:
        """A line that waits for its answer from now on; returns its number."""
        self._number += 1
        self._waiting[self._number] = line
        self._waiting_bytes += len(line)
        return self._number

    def _ask(self, owner: Owner, number: int) -> None:
        with _or_ended():
            owner.send(b"%d %s\n" % (number, self._waiting[number]))

    def _done(self, number: int) -> bytes:
        """Forget a line; returns it, where it waited."""
        line = self._waiting.pop(number, b"")
        self._waiting_bytes -= len(line)
        del self._lost[number]
        return line

    def _from_owner(self, frame: bytes) -> None:
        tag, _, line = frame.partition(b" ")
        if frame.startswith(KEEP):
            self._kept.append(self._waiting[int(frame[1:])])
        elif frame.startswith(MODE):
            self._greeting["mode"] = line.decode()
        elif frame + b"\n" != PONG:
            self._done(int(tag))
            if line:
                _write(line + b"\n")

    def _ping(self, owner: Owner) -> None:
        """Ask for a sign. Turns are counted, not seconds: a machine that slept owes none."""
        self._silent += 1
        if self._silent * PING_SECONDS > PONG_SECONDS:
            raise Ended
        self._next_ping = time.monotonic() + PING_SECONDS
        with _or_ended():
            owner.send(PING)

    def _lose(self) -> None:
        """Let an owner go that ended or hangs, and what has cost too many of them."""
        if self._owner is not None:
            self._owner.kill()
            self._owner = None
        self._lost.update(self._waiting.keys())
        for number in [one for one in self._waiting if self._lost[one] >= OWNERS_MAX]:
            given_up = _given_up(self._done(number))
            if given_up:
                _write(given_up + b"\n")

    def _begin_again(self) -> None:
        """Go on with another owner, which is told all that the last one had not answered."""
        self._owner = owner = _found(self._folder, self._greeting)
        self._silent, self._next_ping = 0, time.monotonic() + PING_SECONDS
        with _or_ended():
            for line in self._kept:
                owner.send(b"%s %s\n" % (KEEP, line))
        for number in self._waiting:
            self._ask(owner, number)


def _given_up(line: bytes) -> bytes:
    """What answers a request that costs each owner its life; nothing where it is no request."""
    try:
        asked = json.loads(line)
        number = asked["id"] if "method" in asked else None
    except (ValueError, LookupError, TypeError):
        return b""
    if number is None:
        return b""
    error = {"code": _INTERNAL_ERROR, "message": _GIVEN_UP["error"], "data": _GIVEN_UP}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()


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
    turned_away = 0
    while time.monotonic() < deadline and turned_away < OWNERS_MAX:
        try:
            found = Owner(folder, greeting)
        except (OSError, Ended) as error:
            turned_away += isinstance(error, Retired)
            # None of a child that has ended: another was first.
            if child is not None:
                child = _running(child)
            elif not _held(folder):
                child = _started(folder)
            time.sleep(_RETRY_SECONDS)
            continue
        if child is not None and child.stderr is not None:
            child.stderr.close()
        return found
    if turned_away:
        raise Refusal("palacelog was changed while this session ran; begin it again.", 3)
    raise Refusal(f"The palace {folder} was not opened within {START_SECONDS:g} s.", 3)


def _held(folder: Path) -> bool:
    """Whether a process has the palace's lock: it takes sessions, or will."""
    with suppress(OSError), open(folder / LOCK_FILE, "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _running(child: subprocess.Popen[bytes]) -> subprocess.Popen[bytes] | None:
    """A process that may still become the owner; None where another has.

    Raises:
        Refusal: it could not.
    """
    if child.poll() is None:
        return child
    _, said = child.communicate()
    if child.returncode == 0:
        return None
    told = said.decode(errors="replace").strip() or "The process that opens the palace was ended."
    raise Refusal(told, child.returncode if child.returncode > 0 else 3)


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
