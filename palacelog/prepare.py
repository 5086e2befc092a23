"""Prepare: what a write takes from the machine before it is decided.

Protects the decisions from the machine: files are read and texts are embedded here, outside the
write lock, and what came of it goes on as arguments. May not decide anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import TypeAdapter, ValidationError

from domain.decisions.embedding import no_embedder
from domain.errors import Refused, invalid
from domain.nearness import Comparison, ToStore, millionths
from domain.operation import Context
from domain.operations.common import Asks, Line, PlaceName
from domain.operations.embedding import (
    FAILED_MAX,
    AttachEmbeddingAsks,
    CutText,
    EmbedAsks,
    EmbedRecords,
    EmbedRun,
    NotEmbedded,
)
from domain.operations.filing import CheckpointAsks, ComparedCheckpoint, NoteAsks
from domain.operations.jobs import FoundSource, MineAsks
from palacelog.caller import Report
from palacelog.folder import PALACE_FILE
from palacelog.places import NOTES, nearest, wing_of

if TYPE_CHECKING:
    from palacelog.embedding_work import Work

_NAME: Final = TypeAdapter(PlaceName)
_LINE: Final = TypeAdapter(Line)


class Embeds(Protocol):
    """What embeds texts, and says by meaning what they are near to."""

    @property
    def work(self) -> Work:
        """What embeds what is missing."""
        ...

    def chunks(self, drawer_id: str, short: str) -> int | None:
        """How many chunks an embedder cuts a text into; None where either is not there."""
        ...

    def compared(self, texts: Sequence[ToStore], least: int, report: Report) -> Comparison:
        """What is near to each of some texts; `least` is a cosine in millionths."""
        ...


def prepare(
    asked: Asks,
    context: Context,
    meaning: Embeds | None,
    clock: Callable[[], int],
    report: Report,
) -> Asks:
    """The arguments with what the machine has to say.

    Args:
        context: who asks.
        meaning: None where the palace has no embedder.
        clock: tells the present, microseconds UTC.
        report: told how far texts are embedded.

    Raises:
        PalaceError: the machine cannot do its part. Nothing is recorded then.
    """
    if isinstance(asked, NoteAsks):
        return _note(asked, context)
    if isinstance(asked, EmbedAsks):
        return _embed(asked, meaning, report)
    if isinstance(asked, AttachEmbeddingAsks):
        return _attach(asked, meaning)
    if isinstance(asked, MineAsks):
        return _mine(asked)
    if isinstance(asked, CheckpointAsks):
        return _checkpoint(asked, meaning, clock, report)
    return asked


def _checkpoint(
    asked: CheckpointAsks, meaning: Embeds | None, clock: Callable[[], int], report: Report
) -> CheckpointAsks:
    """With what its texts are near to, all compared at once."""
    if meaning is None or not asked.items:
        return asked
    now = clock()
    texts = [
        ToStore(one.wing, one.content, now if one.valid_from is None else one.valid_from)
        for one in asked.items
    ]
    comparison = meaning.compared(texts, millionths(asked.dedup_threshold), report)
    return ComparedCheckpoint.model_construct(**dict(asked), comparison=comparison)


def _embed(asked: EmbedAsks, meaning: Embeds | None, report: Report) -> EmbedRun:
    """Embed, slice by slice; what was embedded stays, whatever comes after."""
    if meaning is None:
        raise no_embedder()
    done = meaning.work.run(asked.limit, retry_failed=asked.retry_failed, report=report)
    records = EmbedRecords(
        embedder=done.embedder,
        embedded=done.embedded,
        failed=[
            NotEmbedded(drawer_id=drawer_id, reason=reason)
            for drawer_id, reason in done.failed[:FAILED_MAX]
        ],
        remaining=done.remaining,
        duplicate=not done.embedded and not done.failed,
    )
    return EmbedRun(**asked.model_dump(), run=records)


def _attach(asked: AttachEmbeddingAsks, meaning: Embeds | None) -> CutText:
    """Into how many chunks the embedder cuts the text."""
    if meaning is None:
        raise no_embedder()
    return CutText(**asked.model_dump(), chunks=meaning.chunks(asked.drawer_id, asked.embedder))


def _mine(asked: MineAsks) -> FoundSource:
    """What is mined, made absolute, and where it goes: as a note of that folder would."""
    try:
        named = Path(asked.path).expanduser()
        if not named.is_absolute():
            # The folder of this process is not that of who asks, which may be any client.
            raise invalid("path", "is relative, and to what is not known", "Name it from the root.")
        source = named.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise invalid("path", f"cannot be found: {reason}", "Name a folder or a file.") from None
    if not source.is_dir() and not source.is_file():
        raise invalid("path", "is neither a folder nor a file", "Name one of the two.")
    for folder in (source, *source.parents):
        if os.path.isfile(folder / PALACE_FILE):
            raise Refused(
                "mine::palace",
                f"{source} is a palace, or lies in one.",
                "Name a folder outside: what a palace holds is in memory already.",
            )
    folder = source if source.is_dir() else source.parent
    said = nearest(folder)
    room = asked.room if asked.room is not None else said.get("room")
    return FoundSource(
        path=_path(source),
        wing=asked.wing or _place("wing", wing_of(folder, said)),
        room=None if room is None else _place("room", room),
        idempotency_key=asked.idempotency_key,
    )


def _path(source: Path) -> str:
    try:
        return _LINE.validate_python(str(source).encode().decode())
    except (UnicodeEncodeError, ValidationError):
        raise invalid("path", "is no path in UTF-8 on one line", "Rename the folder.") from None


def fits_a_place(name: str) -> bool:
    """Whether a wing or room can be called so."""
    try:
        return _NAME.validate_python(name, strict=True) == name
    except ValidationError:
        return False


def _note(asked: NoteAsks, context: Context) -> NoteAsks:
    """Where notes of the working folder go: the nearest palacelog.toml, else the folder's name."""
    if asked.wing is not None and asked.room is not None:
        return asked
    folder = _worked_in(context)
    said = nearest(folder) if folder else {}
    wing = asked.wing or (wing_of(folder, said) if folder else None)
    if wing is None:
        raise invalid(
            "wing", "is missing, and in which folder you work is not known", "Give `wing`."
        )
    return asked.model_copy(
        update={
            "wing": _place("wing", wing),
            "room": asked.room or _place("room", said.get("room", NOTES)),
        }
    )


def _worked_in(context: Context) -> Path | None:
    """The folder that who asks works in, where that is known."""
    if context.folder is not None:
        return Path(context.folder)
    return Path.cwd() if context.here else None


def _place(field: str, name: Any) -> str:
    try:
        return _NAME.validate_python(name, strict=True)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise invalid(field, f"{name!r} {reason}", f"Give `{field}`.") from None
