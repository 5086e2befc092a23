"""How an undo is decided: which operations can be taken out again, and what stands in the way.

Protects what others built: an operation that a later one states something about stays, and is
named with the one that rests on it. An undo is one event that names what it takes out; the folds
then go on as if that had not been. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from domain.belief import PUBLISH, Event, Fold, standing
from domain.embedders import EMBEDDER_CHANGED
from domain.errors import Refused
from domain.jobs import OF_JOBS
from domain.operations.common import Decided
from domain.operations.undo import UndoAsks
from domain.ports import Chosen, Done, Known

AT_ONCE_MAX: Final = 1_000
NO_VIEW: Final = "no_view"
BUILT_ON: Final = "built_on"
UNDONE: Final = "undone_already"
FIXES: Final = "fixes_the_wing"
BY_REINDEX: Final = "by_reindex"
BY_JOB_CONTROL: Final = "by_job_control"

FoldsOf = Callable[[str], tuple[Fold, ...]]


class _Part(NamedTuple):
    fold: Fold
    event: Event


def decide_undo(asked: UndoAsks, known: Known, folds_of: FoldsOf) -> Decided:
    """Resolve an undo: the operations meant, less those that must stay.

    Args:
        folds_of: the folds that take a tool's events.
    """
    chosen = Chosen(asked.op_id, asked.session, asked.device, asked.from_, asked.until)
    done = known.done(chosen, AT_ONCE_MAX + 1)
    if not done:
        raise Refused(
            "undo::nothing",
            "No operation of this log meets what was asked.",
            "Look it up with list_operations.",
        )
    if len(done) > AT_ONCE_MAX:
        raise Refused(
            "undo::too_many",
            f"More than {AT_ONCE_MAX} operations meet what was asked.",
            "Narrow it with from and until, and undo it piece by piece.",
        )
    kept = _standing_in_the_way(done, known, folds_of)
    undone = [one for one in reversed(done) if one.event.op_id not in kept]
    payload: dict[str, Any] = {
        "undone": [entry for one in undone for entry in _entries(one, folds_of)],
        "operations": [one.event.op_id for one in undone],
        "kept": [
            {"op_id": op_id, "reason": reason} | ({"by": by} if by else {})
            for op_id, (reason, by) in kept.items()
        ],
        "duplicate": not undone,
    }
    return Decided(payload, "known")


def answer_undo(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What was undone, newest first, and what stays and why."""
    kept = [one | {"by": one.get("by")} for one in payload["kept"]]
    return {"undone": payload["operations"], "kept": kept}


def _standing_in_the_way(
    done: Sequence[Done], known: Known, folds_of: FoldsOf
) -> dict[str, tuple[str, str]]:
    """op_id of what stays, with the reason and the op_id of what rests on it.

    Again and again, as what stays may rest on others that were to go.
    """
    kept: dict[str, tuple[str, str]] = {}
    going = {one.event.op_id: list(_parts(one, folds_of)) for one in done}
    for one in done:
        reason = _for_good(one.event) or (NO_VIEW if not going[one.event.op_id] else None)
        if reason is not None:
            kept[one.event.op_id] = reason, ""
            del going[one.event.op_id]
    while True:
        found = {}
        for op_id, parts in going.items():
            why = _why_not(parts, known, going.keys())
            if why is not None:
                found[op_id] = why
        if not found:
            return kept
        kept |= found
        going = {op_id: parts for op_id, parts in going.items() if op_id not in found}


def _for_good(event: Event) -> str | None:
    """Why an event is not undone, whatever rests on it: it fixes for good whether a wing travels;
    the other embedder may lack texts, which is looked after where that is changed; or a worker may
    be at it, which listens to what steers jobs alone.
    """
    if event.tool == EMBEDDER_CHANGED:
        return BY_REINDEX
    if event.tool in OF_JOBS:
        return BY_JOB_CONTROL
    return FIXES if event.tool == PUBLISH or bool(event.payload.get("policy")) else None


def _why_not(
    parts: Sequence[_Part], known: Known, going: Collection[str]
) -> tuple[str, str] | None:
    for fold, part in parts:
        counting = standing(known.parts(fold, fold.touched(part)[0]), undos=True)
        if all(one.rank != part.rank for one in counting):
            return UNDONE, ""
        for later in counting:
            if later.rank > part.rank and later.op_id not in going and fold.built_on(part, later):
                return BUILT_ON, later.op_id
    return None


def _parts(one: Done, folds_of: FoldsOf) -> Iterator[_Part]:
    if one.event.payload:
        for fold in folds_of(one.event.tool):
            for part in fold.split(one.event):
                if fold.touched(part):
                    yield _Part(fold, part)


def _entries(one: Done, folds_of: FoldsOf) -> list[dict[str, Any]]:
    """What the event says of one operation: for each key that it touched, one entry."""
    return [
        {"op_id": one.event.op_id, "area": fold.name, "members": list(fold.touched(part))}
        for fold, part in _parts(one, folds_of)
    ]
