"""Files that belong to a person or to a host: read whole, replaced whole, and kept beside.

Protects them: a file is never half written, its mode and a link that leads to it stay, and one that
somebody changed since it was read is not touched. May not know what is in them.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from domain.errors import Refused, Unusable

BACKUP: Final = ".palacelog-backup"
_NEW_FILE_MODE: Final = 0o644


def read(path: Path) -> str | None:
    """The text of a file, line ends as they are; None where there is none.

    Raises:
        Unusable: `palacelog::integration::unreadable`.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, str(error)) from None


def unreadable(path: Path, reason: str) -> Unusable:
    """The error for a file that cannot be edited."""
    return Unusable(
        "integration::unreadable",
        f"{path} cannot be edited: {reason}.",
        "Nothing was changed. Correct the file, or move it away, and run the command again.",
    )


def backup_of(path: Path) -> Path:
    """Where a file is kept as it was before its first change."""
    return path.with_name(path.name + BACKUP)


def keep_beside(path: Path, text: str) -> None:
    """Keep what a file held, for nobody who may not read the file itself.

    Raises:
        Refused, Unusable: as `write`.
    """
    backup = backup_of(path)
    write(backup, text, read(backup), like=path)


def write(path: Path, text: str, seen: str | None, *, like: Path | None = None) -> None:
    """Put a text in a file's place, at once or not at all.

    Args:
        seen: what the file held when it was read; None where there was none.
        like: the file whose mode it takes; None for its own, or that of a new file.

    Raises:
        Refused: `palacelog::integration::changed_meanwhile`.
        Unusable: `palacelog::integration::not_writable`.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, made = mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.chmod(made, _mode_of(like or target))
            _check_unchanged(path, seen)
            os.replace(made, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(made)
            raise
    except OSError as error:
        raise _not_writable(path, error) from None


def remove(path: Path, seen: str) -> None:
    """Remove a file.

    Raises:
        Refused, Unusable: as `write`.
    """
    _check_unchanged(path, seen)
    try:
        path.resolve().unlink()
    except OSError as error:
        raise _not_writable(path, error) from None


def _mode_of(path: Path) -> int:
    """The mode of a file; where there is none, that which the user wants new files to have."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    os.umask(masked := os.umask(0o077))
    return _NEW_FILE_MODE & ~masked


def _check_unchanged(path: Path, seen: str | None) -> None:
    if read(path) != seen:
        raise Refused(
            "integration::changed_meanwhile",
            f"{path} was changed by somebody else just now.",
            "It was left as it is. Run the command again.",
        )


def _not_writable(path: Path, error: OSError) -> Unusable:
    return Unusable(
        "integration::not_writable",
        f"{path} cannot be written: {error.strerror}.",
        "Make the file and its folder writable, and run the command again.",
    )
