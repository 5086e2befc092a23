"""The owner of a palace: the process that has it open for all sessions of this machine.

Protects the machine: one model and one index, however many sessions there are. Who holds the lock
is the owner; it ends some minutes after its last session. Nothing depends on there being one: other
processes may open the palace beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palacelog.loading import loading
from palacelog.owner.frames import FRAME_BYTES_MAX, LOG_FILE, SOCKET_FILE, address
from palacelog.owner.lock import sign, take_lock

if TYPE_CHECKING:
    from palacelog.late import LatePalace

IDLE_SECONDS: Final = 600.0
BACKLOG: Final = 128


def main(folder: Path, lock: int | None = None) -> int:
    """Own a palace until nobody needs it; at once 0 where another does.

    Args:
        lock: of the palace's owner, where this process has it already.

    Returns:
        The exit code.
    """
    with loading():
        from domain.errors import PalaceError
        from palacelog.cli.failing import exit_code, report
        from palacelog.folder import existing
        from palacelog.late import late_palace
        from replay.storage_errors import in_words

    try:
        with in_words():
            path = existing(folder).path
            if lock is None:
                lock = take_lock(path)
            if lock is not None:
                with contextlib.closing(late_palace(path, embeds=True, works=True)) as palace:
                    asyncio.run(_own(Owner(path, palace, lock), path))
    except PalaceError as error:
        report(error, as_json=True)
        return exit_code(error)
    return 0


async def _own(owner: Owner, folder: Path) -> None:
    """Serve until there was neither session nor job for a while, or a signal says so."""
    await owner.begin()
    with loading():  # whoever has come by now waits for it
        import palacelog.mcp.pipes  # noqa: F401
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, owner.end)
    _log_to(folder / LOG_FILE)
    await owner.ended(IDLE_SECONDS)


class Owner:
    """The sessions that are served, and the way in."""

    def __init__(self, path: Path, palace: LatePalace, lock: int) -> None:
        """Own a palace.

        Args:
            path: its folder.
            lock: from `take_lock`; closed at its end.
        """
        self._path, self._palace, self._lock = path, palace, lock
        # What is installed may be another version by the time that a session comes.
        self._version = version("palacelog")
        self._sessions: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._retired = False

    async def begin(self) -> None:
        """Take sessions from now on.

        Raises:
            OSError: the folder takes no socket.
        """
        try:
            listening = _listening(self._path)
            sign(self._lock, self._version)
        except OSError:
            self._retire()
            raise
        self._server = await asyncio.start_unix_server(
            self._serve, sock=listening, limit=FRAME_BYTES_MAX
        )

    async def ended(self, idle_seconds: float | None = None) -> None:
        """Wait until it was told to end and no session is left.

        Args:
            idle_seconds: it also ends where there was no session for so long; None for never.
        """
        while not await self._over(idle_seconds):
            pass
        self._retire()
        self._server.close()

    async def _over(self, idle_seconds: float | None) -> bool:
        """Wait for a change; whether it is time to end."""
        self._changed.clear()
        if self._retired and not self._sessions:
            return True
        try:
            seconds = None if self._sessions else idle_seconds
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return not self._sessions and not self._palace.busy
        return False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from palacelog.mcp.pipes import serve_pipe

        task = asyncio.current_task()
        assert task is not None
        self._sessions.add(task)
        self._changed.set()
        try:
            # asyncio of Python 3.11 takes a session that was cancelled for a fault, and logs it.
            with contextlib.suppress(asyncio.CancelledError):
                if not await serve_pipe(self._palace, self._path, self._version, reader, writer):
                    self._retire()
        except* OSError:
            # The pipe is gone, and took no leave.
            pass
        finally:
            writer.close()
            self._sessions.discard(task)
            self._changed.set()

    def end(self) -> None:
        """End now: what runs is done to its end, and whoever waits for it asks the next owner."""
        self._retire()
        for one in self._sessions:
            one.cancel()

    def _retire(self) -> None:
        """Take no new sessions; whoever comes next owns the palace."""
        if not self._retired:
            self._retired = True
            with contextlib.suppress(OSError):
                (self._path / SOCKET_FILE).unlink()
            os.close(self._lock)
        self._changed.set()


def _listening(folder: Path) -> socket.socket:
    """The socket, for this user alone; what a killed owner left is removed."""
    with contextlib.suppress(FileNotFoundError):
        (folder / SOCKET_FILE).unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with address(folder) as path:
            made.bind(path)
    finally:
        os.umask(before)
    made.listen(BACKLOG)
    return made


def _log_to(path: Path) -> None:
    """From now on standard error is a file in the palace's folder: nobody else reads it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.dup2(descriptor, sys.stderr.fileno())
    os.close(descriptor)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
