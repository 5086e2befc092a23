"""What a check of `doctor` says: one line about one thing that was looked at.

Protects the reader: what is wrong comes with what to do. May not look at anything itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from domain.errors import PalaceError
from replay.storage_errors import storage_error


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        state: ok, warn or fail.
        help: what to do; empty where nothing is to be done.
        failure: the error that a command would stop with; only where it fails.
    """

    name: str
    state: str
    message: str
    help: str = ""
    failure: PalaceError | None = None

    def as_answer(self) -> dict[str, Any]:
        """As JSON shows it."""
        shown: dict[str, Any] = {"name": self.name, "state": self.state, "message": self.message}
        if self.help:
            shown["help"] = self.help
        if self.failure is not None:
            shown["code"] = self.failure.code
        return shown


def checked(name: str, look: Callable[[], str]) -> Check:
    """A check that fails where `look` raises an error, and else says what that returns."""
    try:
        return Check(name, "ok", look())
    except PalaceError as error:
        return failed(name, error)
    except (sqlite3.Error, OSError) as error:
        return failed(name, storage_error(error))


def failed(name: str, error: PalaceError) -> Check:
    """A check that failed."""
    return Check(name, "fail", error.message, error.help, error)
