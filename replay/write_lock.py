"""The write lock: who holds it may write to a palace's log and views, or move their WALs. Nobody
else may.

Protects against lost updates between threads and processes, and against SQLite's WAL-reset fault
(3.7.0 to 3.51.2). A thread lock first (a flock does not exclude threads that share a descriptor),
then flock on a file in the palace's folder. Waiters of other processes take turns through a second
file, so that a busy process cannot starve them; neither lock is ever waited for without a deadline.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from domain.errors import Unusable

LOCK_FILE: Final = "write.lock"
TURN_FILE: Final = "write.turn"
_POLL_SECONDS: Final = 0.0005


@contextmanager
def only_one(
    path: Path, timeout_seconds: float, what: str, code: str = "palace::busy"
) -> Iterator[None]:
    """Let one process at a time do something long that is not writing, such as a rebuild.

    Args:
        path: the lock file.
        what: for the error, as in "Another process is busy with ...".

    Raises:
        Unusable: `palacelog::palace::busy`, or another code that was given.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeout_seconds
        while not taken(descriptor):
            if time.monotonic() > deadline:
                raise Unusable(
                    code,
                    f"Another process has been busy with {what} for {timeout_seconds:g} s.",
                    "Wait for it to finish, or stop it, and try again.",
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def taken(descriptor: int) -> bool:
    """Whether the lock of a file is this process's from now on; it does not wait."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class WriteLock:
    """The write lock of one palace folder, for all threads of this process."""

    def __init__(self, folder: Path, timeout_seconds: float) -> None:
        """Open the lock files; waits at most `timeout_seconds` when it is taken."""
        self._folder = folder
        self.timeout_seconds = timeout_seconds
        self._thread_lock = threading.Lock()
        self._lock = self._open(LOCK_FILE)
        self._turn = self._open(TURN_FILE)

    def close(self) -> None:
        """Give the descriptors back. Idempotent: a number may be another file's by now."""
        given, self._lock, self._turn = (self._lock, self._turn), -1, -1
        for descriptor in given:
            if descriptor >= 0:
                os.close(descriptor)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock.

        Raises:
            Unusable: `palacelog::palace::locked`, another process or thread kept it too long.
        """
        deadline = time.monotonic() + self.timeout_seconds
        if not self._thread_lock.acquire(timeout=self.timeout_seconds):
            raise self._locked()
        try:
            self._take(self._turn, deadline)
            try:
                self._take(self._lock, deadline)
            finally:
                fcntl.flock(self._turn, fcntl.LOCK_UN)
            try:
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
        finally:
            self._thread_lock.release()

    def _take(self, descriptor: int, deadline: float) -> None:
        while not taken(descriptor):
            if time.monotonic() > deadline:
                raise self._locked()
            time.sleep(_POLL_SECONDS)

    def _open(self, name: str) -> int:
        path = self._folder / name
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EROFS) or not path.is_file():
                raise
            # A palace that can only be read: whoever tries to write it is told by the database.
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def _locked(self) -> Unusable:
        return Unusable(
            "palace::locked",
            f"Another process has held the palace's write lock for {self.timeout_seconds:g} s.",
            "Wait for it to finish, or stop it; `palacelog doctor` looks at the lock.",
        )
