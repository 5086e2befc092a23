"""Prepare: what a write takes from the machine before it is decided.

Protects the decisions from the machine: files are read here, outside the write lock, and what they
say goes on as arguments. May not decide anything.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import TypeAdapter, ValidationError

from domain.errors import invalid
from domain.nearness import Comparison, ToStore, millionths
from domain.operations.common import Asks, PlaceName
from domain.operations.filing import CheckpointAsks, ComparedCheckpoint, NoteAsks

PLACE_FILE: Final = "palacelog.toml"
NOTES: Final = "notes"
_NAME: Final = TypeAdapter(PlaceName)


class Compares(Protocol):
    """What says by meaning what a text is near to."""

    def compared(self, texts: Sequence[ToStore], least: int) -> Comparison:
        """What is near to each of some texts; `least` is a cosine in millionths."""
        ...


def prepare(asked: Asks, meaning: Compares | None, clock: Callable[[], int]) -> Asks:
    """The arguments with what the machine has to say.

    Args:
        meaning: None where the palace has no embedder.
        clock: tells the present, microseconds UTC.
    """
    if isinstance(asked, NoteAsks):
        return _note(asked)
    if isinstance(asked, CheckpointAsks):
        return _checkpoint(asked, meaning, clock)
    return asked


def _checkpoint(
    asked: CheckpointAsks, meaning: Compares | None, clock: Callable[[], int]
) -> CheckpointAsks:
    """With what its texts are near to, all compared at once."""
    if meaning is None or not asked.items:
        return asked
    now = clock()
    texts = [
        ToStore(one.wing, one.content, now if one.valid_from is None else one.valid_from)
        for one in asked.items
    ]
    comparison = meaning.compared(texts, millionths(asked.dedup_threshold))
    return ComparedCheckpoint.model_construct(**dict(asked), comparison=comparison)


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
