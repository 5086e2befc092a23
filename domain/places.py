"""Places: wings and rooms that exist by themselves, not only because a text lies in them.

Protects a room that somebody made and has not filled yet. A wing or room whose texts were all
hidden is listed only while it was made by itself; a wing or room that is deleted goes with the
texts that lay in it then. Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from domain.belief import Event, Held
from domain.canonical import comparable

WING: Final = "wing"
ROOM: Final = "room"
GONE: Final = "gone"
"""The kind of a wing that was deleted, and of which only whether it travels is still known."""


class Place(NamedTuple):
    """A wing or room that an operation made.

    Attributes:
        id: see `place_id`.
        kind: `wing`, `room` or `gone`.
        room: "" of a wing.
        wing_key: the wing's name in comparable form.
        policy: of a wing `local` or `replicated`, where the operation fixed it.
    """

    id: str
    kind: str
    wing: str
    room: str
    wing_key: str
    description: str | None
    policy: str | None
    rank: bytes
    op_id: str


def place_id(wing: str, room: str = "") -> str:
    """The id of a wing, or of a room in it; names are compared without case and spacing."""
    return f"place:{comparable(wing)}/{comparable(room)}" if room else f"place:{comparable(wing)}"


def made(held: Held, event: Event) -> Held:
    """create_wing, create_room: the place is there from now on, as the last one says."""
    stated = event.payload
    wing, room = stated["wing"], stated.get("room", "")
    before = held.find(Place, "id", stated["place"])
    fixed = before[-1].policy if before else None
    held.put(
        Place(
            id=stated["place"],
            kind=ROOM if room else WING,
            wing=wing,
            room=room,
            wing_key=comparable(wing),
            description=stated.get("description"),
            policy=stated.get("policy", fixed),
            rank=event.rank,
            op_id=event.op_id,
        )
    )
    return held


def removed(held: Held, event: Event) -> Held:
    """delete_wing, delete_room: the place goes, if it is there; whether it travels stays fixed."""
    for place in held.find(Place, "id", event.payload["place"]):
        if place.policy is None:
            held.drop(place)
        else:
            held.put(place._replace(kind=GONE, description=None))
    return held
