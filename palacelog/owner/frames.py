"""What goes over the socket between a session's pipe and the owner of a palace.

Protects the pipe's size: the standard library alone, and no line of the protocol within is read
here. Each side sends lines of UTF-8. First a greeting from the pipe and its answer, both JSON.
Then, from the pipe:

    N LINE      the host's line number N (from 1 on, in order; sent again to another owner as N)
    = LINE      a line that the owner asked to keep, told to a new owner; it is not answered
    ?           are you there

and from the owner:

    N LINE      the answer to line N
    N           line N is done, and nothing answers it
    0 LINE      something that answers no line
    =N          keep line N for a new owner
    mode MODE   the session goes on with that mode
    !           I am here

Source: a format of our own; pipe and owner of one version alone speak it with each other.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET_FILE: Final = "owner.sock"
LOCK_FILE: Final = "owner.lock"
LOG_FILE: Final = "owner.log"
PING: Final = b"?\n"
PONG: Final = b"!\n"
KEEP: Final = b"="
MODE: Final = b"mode "
LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""JSON may tell a body of 16 MiB in four times as many bytes."""
FRAME_BYTES_MAX: Final = LINE_BYTES_MAX + 64
"""A line with what stands before it."""
_ADDRESS_BYTES_MAX: Final = 100
"""Linux takes 107, macOS 103."""
_PLACE_BYTES_MAX: Final = 70
"""Behind it come the folder that is made, the link and the socket."""
_DESCRIPTORS: Final = Path("/proc/self/fd")
_CREDENTIALS: Final = struct.Struct("3i")
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_LOCAL_CREDENTIALS: Final = struct.Struct("=2I68x")
"""What macOS tells: the structure's version, the user, and groups."""


@contextmanager
def address(folder: Path) -> Iterator[str]:
    """Where the socket of a palace is, short enough for the system to take.

    Raises:
        OSError: there is no such folder, or no way to name it shortly.
    """
    whole = str(folder / SOCKET_FILE)
    if len(os.fsencode(whole)) <= _ADDRESS_BYTES_MAX:
        yield whole
    elif _DESCRIPTORS.is_dir():
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"{_DESCRIPTORS}/{descriptor}/{SOCKET_FILE}"
        finally:
            os.close(descriptor)
    else:
        with _linked(folder) as link:
            yield f"{link}/{SOCKET_FILE}"


@contextmanager
def _linked(folder: Path) -> Iterator[str]:
    """A short name for a folder, in one that nobody else can write to."""
    from tempfile import TemporaryDirectory, gettempdir

    # What macOS gives each user is short enough; what else TMPDIR names need not be.
    place = gettempdir()
    short = len(os.fsencode(place)) <= _PLACE_BYTES_MAX
    with TemporaryDirectory(prefix="pl", dir=place if short else "/tmp") as made:
        link = f"{made}/p"
        os.symlink(folder.absolute(), link)
        yield link


def connected(folder: Path, timeout_seconds: float) -> socket.socket:
    """A connection to the owner of a palace.

    Raises:
        OSError: there is none, or it does not answer.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_seconds)
        with address(folder) as path:
            made.connect(path)
    except BaseException:
        made.close()
        raise
    return made


def peer(joined: socket.socket) -> int | None:
    """The process at the other end, of this user; None where there is none that could be named."""
    process, user = _peer_of_macos(joined) if sys.platform == "darwin" else _peer_of_linux(joined)
    return process if process > 0 and user == os.getuid() else None


def _peer_of_linux(joined: socket.socket) -> tuple[int, int]:
    told = joined.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(told)
    return process, user


def _peer_of_macos(joined: socket.socket) -> tuple[int, int]:
    told = joined.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_CREDENTIALS.size)
    _, user = _LOCAL_CREDENTIALS.unpack(told)
    return joined.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), user
