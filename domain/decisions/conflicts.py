"""How the resolution of a conflict is decided.

Protects the list of conflicts: what is not on it cannot be resolved where all is known. Pure.
"""

from __future__ import annotations

from typing import Any

from domain.errors import Refused
from domain.operations.common import Decided
from domain.operations.conflicts import ResolveConflictAsks
from domain.ports import Known
from domain.resolutions import RESOLUTIONS, Resolution


def decide_resolve(asked: ResolveConflictAsks, known: Known, now: int) -> Decided:
    """Resolve a conflict; one that was resolved in the same words already is a duplicate."""
    id = asked.conflict_id
    there = known.conflict(id) is not None
    if not there and known.complete:
        raise Refused(
            "conflicts::unknown",
            f"{id} is no conflict that stands here.",
            "Look it up with list_conflicts.",
        )
    said = asked.resolution or ""
    before = known.held(RESOLUTIONS, id).find(Resolution, "id", id)
    payload: dict[str, Any] = {
        "conflict_id": id,
        "duplicate": any(one.resolution == said for one in before),
    }
    if said:
        payload["resolution"] = said
    return Decided(payload, "known" if there else "unverified")


def answer_resolve(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The conflict, and what was said of it."""
    return {"conflict_id": payload["conflict_id"], "resolution": payload.get("resolution")}
