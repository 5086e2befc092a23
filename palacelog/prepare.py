"""Prepare: what a write takes from the machine before it is decided.

Protects the decisions from the machine: files are read here, outside the write lock, and what they
say goes on as arguments. May not decide anything.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from domain.errors import invalid
from domain.operations.common import Asks, PlaceName
from domain.operations.filing import NoteAsks

PLACE_FILE: Final = "palacelog.toml"
NOTES: Final = "notes"
_NAME: Final = TypeAdapter(PlaceName)


def prepare(asked: Asks) -> Asks:
    """The arguments with what the machine has to say."""
    known = _PREPARE.get(type(asked))
    return asked if known is None else known(asked)


def _note(asked: NoteAsks) -> NoteAsks:
    """Where notes of the working folder go: the nearest palacelog.toml, else the folder's name."""
    if asked.wing is not None and asked.room is not None:
        return asked
    said = _nearest(Path.cwd())
    wing = asked.wing or said.get("wing") or Path.cwd().name or NOTES
    return asked.model_copy(
        update={
            "wing": _place("wing", wing),
            "room": asked.room or _place("room", said.get("room", NOTES)),
        }
    )


def _nearest(folder: Path) -> dict[str, Any]:
    for one in (folder, *folder.parents):
        try:
            return tomllib.loads((one / PLACE_FILE).read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (ValueError, OSError) as error:
            raise invalid(
                PLACE_FILE, f"in {one} cannot be read: {error}", "Correct it, or name the wing."
            ) from None
    return {}


def _place(field: str, name: Any) -> str:
    try:
        return _NAME.validate_python(name, strict=True)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise invalid(field, f"{name!r} {reason}", f"Give `{field}`.") from None


_PREPARE: Final[dict[type[Asks], Callable[[Any], Asks]]] = {NoteAsks: _note}
