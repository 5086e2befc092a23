"""Generations of the views: which file counts, and the atomic switch to another one.

Protects readers during a rebuild: the old generation answers until the new one is whole, and the
switch is one rename of a small file. May not fold anything.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

from domain.errors import Unusable

CURRENT_FILE: Final = "current"
_NAME: Final = re.compile(r"views-([0-9]{6})\.db")


class Closable(Protocol):
    """What can be given back."""

    def close(self) -> None:
        """Give it back."""
        ...


Opened = TypeVar("Opened", bound=Closable)


class Generations:
    """The views folder of a palace."""

    def __init__(self, folder: Path) -> None:
        """Look at a folder; nothing is opened."""
        self.folder = folder
        self._pointer = folder / CURRENT_FILE

    def current(self) -> Path:
        """The file that counts.

        Raises:
            Unusable: `palacelog::views::missing`, there is none.
        """
        try:
            name = self._pointer.read_text().strip()
        except (FileNotFoundError, UnicodeDecodeError):
            name = ""
        path = self.folder / name
        if not _NAME.fullmatch(name) or not path.is_file():
            raise Unusable(
                "views::missing",
                "The palace has no views.",
                "Run `palacelog rebuild`; views are made from the log.",
            )
        return path

    def opened(self, opener: Callable[[Path], Opened]) -> Opened:
        """The file that counts, opened; again where a rebuild put another in its place meanwhile.

        Raises:
            Unusable: `palacelog::views::missing`, there is none.
        """
        while True:
            mark = self.mark()
            try:
                found = opener(self.current())
            except (Unusable, sqlite3.OperationalError):
                if self.mark() == mark:
                    raise
                continue
            if self.mark() == mark:
                return found
            found.close()

    def mark(self) -> tuple[int, int]:
        """Changes whenever another generation was switched to; cheap enough for every call."""
        try:
            found = self._pointer.stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_mtime_ns

    def next(self) -> Path:
        """The path of a generation to build: newer than every file in the folder."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        newest = max((int(match[1]) for match in found if match), default=0)
        return self.folder / f"views-{newest + 1:06d}.db"

    def switch(self, path: Path) -> None:
        """Let `path` count from now on; atomic, and durable when it returns."""
        staged = self.folder / f".{CURRENT_FILE}.{os.getpid()}"
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, f"{path.name}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(staged, self._pointer)
        sync_folder(self.folder)

    def prune(self) -> None:
        """Remove every generation but the current one; who still reads one keeps it."""
        keep = self.current().name
        for path in self.folder.iterdir():
            if path.name.startswith("views-") and not path.name.startswith(keep):
                path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames and new files in a folder survive power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
