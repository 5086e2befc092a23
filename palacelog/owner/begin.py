"""Beginning the owner of a palace out of the command that a host ran.

Protects a host's first session from waiting for a second interpreter: what the command has loaded
serves the owner, while the command itself becomes a pipe. Protects a palace from two owners: its
lock is taken before there is one. May only be used where a process has one thread.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from domain.errors import PalaceError
from palacelog.folder import existing
from palacelog.owner.frames import LOG_FILE
from palacelog.owner.lock import take_lock
from palacelog.owner.pipe import OF_ONE_SESSION


def begin_owner(folder: Path) -> None:
    """Begin the owner of a palace, where there is none; it outlives this process.

    What stands in its way is left to the pipe, which begins another and tells why that one ended.
    On other systems than Linux the pipe begins it: their libraries may not survive a division.
    """
    if sys.platform != "linux":
        return
    with suppress(PalaceError, OSError):
        path = existing(folder).path
        lock = take_lock(path)
        if lock is None:
            return
        child = os.fork()
        if not child:
            # Never back into the command: the host's lines are for one pipe alone.
            with suppress(PalaceError, OSError):
                _go_on_as_owner(path, lock)
            os._exit(1)
        os.close(lock)
        os.waitpid(child, 0)


def _go_on_as_owner(folder: Path, lock: int) -> NoReturn:
    """Be the owner: nobody's child, and with nothing that is a host's or a session's."""
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for given, standard in ((nothing, 0), (nothing, 1), (log, 2)):
        os.dup2(given, standard)
    os.closerange(3, lock)
    os.closerange(lock + 1, os.sysconf("SC_OPEN_MAX"))
    for name in OF_ONE_SESSION & os.environ.keys():
        del os.environ[name]
    from palacelog.owner.process import main

    sys.exit(main(folder, lock))
