"""What went wrong in the database or the file system, as an error with a cure.

Protects the caller from a driver's sentence: nothing was acknowledged, so nothing is lost; the help
says what to free, fix or restore.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from domain.errors import Damaged, PalaceError, Unusable

_FULL: Final = ("database or disk is full", "no space left", "disk quota")
_READ_ONLY: Final = "readonly database"
_LOCKED: Final = ("locked", "busy")
_DAMAGED: Final = ("malformed", "not a database", "corrupt")


def storage_error(error: Exception) -> PalaceError:
    """The palace error for a database or system error; the original belongs into `__cause__`."""
    if isinstance(error, PalaceError):
        return error
    text = str(error).lower()
    if any(part in text for part in _FULL) or getattr(error, "errno", None) in _FULL_NUMBERS:
        return Unusable(
            "storage::full",
            "There is no room left to write; the operation was not recorded.",
            "Free some space and call again; reads go on meanwhile.",
        )
    if _READ_ONLY in text or _may_not_be_written(error):
        return Unusable(
            "storage::read_only",
            "The palace can only be read: this user may not write its folder.",
            "Nothing was recorded. Give the right to write back, then call again; reads go on.",
        )
    if any(part in text for part in _LOCKED):
        return Unusable(
            "palace::locked",
            "A database of the palace is locked by another program.",
            "Close other programs that have the palace's files open, and call again.",
        )
    if isinstance(error, sqlite3.DatabaseError) and any(part in text for part in _DAMAGED):
        return Damaged(
            "storage::damaged",
            "A database of the palace is damaged.",
            "Run `palacelog log verify`; it says whether to rebuild views or to restore the log.",
        )
    return Unusable(
        "storage::failed",
        f"The database could not be read or written ({type(error).__name__}: {error}).",
        "Nothing was recorded. Look at the disk, then call again; `palacelog doctor` helps.",
    )


def _may_not_be_written(error: Exception) -> bool:
    if not isinstance(error, OSError):
        return False
    denied = isinstance(error, PermissionError) and error.filename is not None
    return error.errno == errno.EROFS or (
        denied and not os.access(Path(str(error.filename)).parent, os.W_OK)
    )


@contextmanager
def in_words() -> Iterator[None]:
    """What goes wrong with a database or a file within is raised as a palace error.

    Also a decorator: `@in_words()`.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise storage_error(error) from error


_FULL_NUMBERS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
