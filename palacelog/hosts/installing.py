"""An integration is put in, taken out and looked at, part by part.

Protects what was there: all files are read and all texts made before the first is written, a file
is kept beside before its first change, and removing puts back what that copy holds. Doing it twice
is doing it once, and doing half of it is doing nothing. May not know a host.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from domain.errors import PalaceError
from palacelog.hosts import files
from palacelog.hosts.jsonc import NotEditable
from palacelog.hosts.parts import Part

CURRENT: Final = "current"
OUTDATED: Final = "outdated"
ABSENT: Final = "absent"
FOREIGN: Final = "foreign"
LEAVE: Final = "leave"
NOT_OURS: Final = {
    "code": "palacelog::integration::not_ours",
    "help": "It does not run palacelog. Take it out by hand, if it shall not stay.",
}
"""What is said of an entry of our name that somebody else made."""


class Change(NamedTuple):
    """What becomes of one file.

    Attributes:
        action: `create`, `change`, `remove`, `restore` (byte for byte as it was), `keep`, or
            `leave` where what stands there is not ours.
        seen: what the file holds; None where there is none.
        made: what it shall hold; None where there shall be none.
        keep: write the copy beside it first.
    """

    part: Part
    action: str
    seen: str | None
    made: str | None
    keep: bool = False

    def told(self) -> dict[str, str]:
        """As a person is told of it."""
        told = {"part": self.part.name, "file": str(self.part.path), "action": self.action}
        return told | NOT_OURS if self.action == LEAVE else told


class Standing(NamedTuple):
    """How a part stands.

    Attributes:
        state: `current`, `outdated`, `absent`, or `foreign` where what stands there is not ours.
        found: what stands there and is ours.
    """

    part: Part
    state: str
    found: Any


def to_install(parts: Sequence[Part]) -> list[Change]:
    """What putting parts in changes; nothing is written.

    Raises:
        Unusable: `palacelog::integration::unreadable`; a file is foreign or cannot be edited.
    """
    return [_to_put(part) if part.value is not None else _to_drop(part) for part in parts]


def to_remove(parts: Sequence[Part]) -> list[Change]:
    """What taking parts out changes; nothing is written.

    Raises:
        Unusable: as `to_install`.
    """
    return [_to_drop(part) for part in parts]


def carry_out(changes: Sequence[Change]) -> None:
    """Write what was made; where a file cannot be written, those before it are put back.

    Raises:
        Refused: somebody changed a file meanwhile.
        Unusable: a file cannot be written.
    """
    done: list[Change] = []
    kept: list[tuple[Change, str | None]] = []
    try:
        for one in changes:
            if one.keep and one.seen is not None:
                kept.append((one, files.read(files.backup_of(one.part.path))))
                files.keep_beside(one.part.path, one.seen)
            _write(one.part.path, one.made, one.seen)
            done.append(one)
    except BaseException:
        _undo(done, kept)
        for one in changes:
            _tidy(one.part)
        raise
    for one in done:
        if one.action in ("restore", "remove", LEAVE):
            files.backup_of(one.part.path).unlink(missing_ok=True)
            _tidy(one.part)


def _undo(done: Sequence[Change], kept: Sequence[tuple[Change, str | None]]) -> None:
    """Put back what files and the copies beside them held."""
    for one in reversed(done):
        with suppress(PalaceError):
            _write(one.part.path, one.seen, one.made)
    for one, before in reversed(kept):
        backup = files.backup_of(one.part.path)
        with suppress(PalaceError):
            _write(backup, before, files.read(backup))


def _write(path: Path, text: str | None, seen: str | None) -> None:
    """Let a file hold a text, or be gone, where it held another."""
    if text is not None and text != seen:
        files.write(path, text, seen)
    elif text is None and seen is not None:
        files.remove(path, seen)


def standing(parts: Sequence[Part]) -> list[Standing]:
    """How parts stand.

    Raises:
        Unusable: as `to_install`.
    """
    found: list[Standing] = []
    for part in parts:
        _, there = _look(part)
        if there is not None and not part.ours(there):
            found.append(Standing(part, FOREIGN, None))
            continue
        state = ABSENT if there is None else CURRENT if there == part.value else OUTDATED
        found.append(Standing(part, state, there))
    return found


def _look(part: Part) -> tuple[str | None, Any]:
    """The text of a part's file, and what stands in it."""
    text = files.read(part.path)
    try:
        return text, None if text is None else part.find(text)
    except NotEditable as error:
        raise files.unreadable(part.path, str(error)) from None


def _to_put(part: Part) -> Change:
    text, found = _look(part)
    if found == part.value:
        return Change(part, "keep", text, text)
    try:
        made = part.put(text or "", part.value)
        # A file in which nothing but our entry stands was made by us.
        made_by_us = found is not None and part.ours(found) and part.drop(text or "", None) is None
    except NotEditable as error:
        raise files.unreadable(part.path, str(error)) from None
    keep = not made_by_us and (found is None or not files.backup_of(part.path).exists())
    return Change(part, "create" if text is None else "change", text, made, keep)


def _to_drop(part: Part) -> Change:
    text, found = _look(part)
    if text is None or found is None:
        return Change(part, "keep", text, text)
    if not part.ours(found):
        return Change(part, LEAVE, text, text)
    before = files.read(files.backup_of(part.path))
    try:
        stood = None if before is None else part.find(before)
        if stood is not None and part.ours(stood):
            return Change(part, "remove", text, part.drop(text, before))
        if before is not None and part.put(before, found) == text:
            return Change(part, "restore", text, before)
        made = part.drop(text, before) if stood is None else part.put(text, stood)
    except NotEditable as error:
        raise files.unreadable(part.path, str(error)) from None
    return Change(part, "remove", text, made)


def _tidy(part: Part) -> None:
    """Remove the folder of a skill once it is empty: it was made for that file alone."""
    folder: Path = part.path.parent
    if part.name == "skill":
        with suppress(OSError):
            folder.rmdir()
