"""The lock of the owner of a palace: who has it serves the palace's sessions.

Protects against two owners. Says who it is to whoever asks; what is written there is believed only
while the lock is held, so that nothing need be cleared away behind a process that died.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import NamedTuple

from palacelog.owner.frames import LOCK_FILE

_BYTES_MAX = 200


class Holder(NamedTuple):
    """Who owns a palace.

    Attributes:
        process: its number.
        version: of palacelog.
    """

    process: int
    version: str


def take_lock(folder: Path) -> int | None:
    """The owner's lock; None where another process has it.

    Raises:
        OSError: the folder takes none.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def sign(lock: int, version: str) -> None:
    """Say that this process has the lock, and of which version it is."""
    os.pwrite(lock, f"{os.getpid()} {version}\n".encode(), 0)


def holder(folder: Path) -> Holder | None:
    """Who owns a palace; None where nobody does, or is only about to.

    Raises:
        OSError: the lock cannot be read.
    """
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        process, _, told = os.read(descriptor, _BYTES_MAX).decode().strip().partition(" ")
        return Holder(int(process), told) if process else None
    finally:
        os.close(descriptor)
    return None
