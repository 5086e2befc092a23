"""How a write on wings and rooms is decided.

Protects what lies in a place: a delete names every drawer that it hides, so that one which arrives
later from elsewhere is not hidden by it. Pure.
"""

from __future__ import annotations

from typing import Any

from domain.drawers import DRAWERS
from domain.errors import Refused
from domain.operations.common import Decided
from domain.operations.places import (
    CreateRoomAsks,
    CreateWingAsks,
    DeleteRoomAsks,
    DeleteWingAsks,
)
from domain.places import GONE, Place, place_id
from domain.ports import Known


def decide_create_wing(asked: CreateWingAsks, known: Known, now: int) -> Decided:
    """Resolve a wing's spelling; one that was made already is a duplicate."""
    wing = known.spelling("wing", asked.wing)
    payload = _made({"wing": wing}, asked, known)
    rows = _places(known, wing)
    policy = asked.policy or (rows[0].policy if rows else None)
    if asked.policy not in (None, known.policy(wing)) and known.fixed(wing):
        raise Refused(
            "wings::fixed",
            f"{wing} is {known.policy(wing)}, as its first event fixed it.",
            "Use another wing; a local one can be published once with publish_wing.",
        )
    payload["duplicate"] = payload["duplicate"] and policy == rows[0].policy
    return Decided(payload if policy is None else payload | {"policy": policy})


def decide_create_room(asked: CreateRoomAsks, known: Known, now: int) -> Decided:
    """Resolve a room's spelling; one that was made already is a duplicate."""
    wing = known.spelling("wing", asked.wing)
    room = known.spelling("room", asked.room, wing)
    return Decided(_made({"wing": wing, "room": room}, asked, known))


def decide_delete_wing(asked: DeleteWingAsks, known: Known, now: int) -> Decided:
    """Resolve a wing to what lies in it now."""
    return _deleted(asked, known, known.spelling("wing", asked.wing), None)


def decide_delete_room(asked: DeleteRoomAsks, known: Known, now: int) -> Decided:
    """Resolve a room to what lies in it now."""
    wing = known.spelling("wing", asked.wing)
    return _deleted(asked, known, wing, known.spelling("room", asked.room, wing))


def _made(
    place: dict[str, Any], asked: CreateWingAsks | CreateRoomAsks, known: Known
) -> dict[str, Any]:
    rows = _places(known, place["wing"], place.get("room", ""))
    before = rows[0].description if rows else None
    description = before if asked.description is None else asked.description
    payload = place | {"duplicate": bool(rows) and description == before}
    return payload if description is None else payload | {"description": description}


def _deleted(asked: DeleteWingAsks, known: Known, wing: str, room: str | None) -> Decided:
    drawers = list(known.live(wing=wing, room=room))
    rooms = list(known.rooms(wing, room))
    whole_wing = room is None and bool(_places(known, wing))
    if not drawers and not rooms and not whole_wing and known.complete:
        raise Refused(
            "places::unknown",
            f"There is nothing in {wing if room is None else f'{wing}/{room}'}.",
            "Look it up with get_taxonomy.",
        )
    payload: dict[str, Any] = {
        "wing": wing,
        "drawer_ids": drawers,
        "rooms": rooms,
        "duplicate": not drawers and not rooms and not whole_wing,
    }
    if room is not None:
        payload["room"] = room
    return Decided(payload if asked.reason is None else payload | {"reason": asked.reason})


def _places(known: Known, wing: str, room: str = "") -> list[Place]:
    id = place_id(wing, room)
    rows = known.held(DRAWERS, id).find(Place, "id", id)
    return [row for row in rows if row.kind != GONE]


def answer_create_wing(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The wing."""
    return {"wing": payload["wing"], "policy": payload.get("policy")}


def answer_create_room(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The room."""
    return {"wing": payload["wing"], "room": payload["room"]}


def answer_delete_wing(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What is hidden now."""
    hidden = payload["drawer_ids"]
    return {"wing": payload["wing"], "hidden": hidden, "count": len(hidden)}


def answer_delete_room(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What is hidden now."""
    return answer_delete_wing(payload, op_id) | {"room": payload["room"]}
