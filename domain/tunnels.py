"""Tunnels: links between rooms, that somebody dug because the two belong together.

Protects one tunnel from being two: its id follows from its ends, in either order, so that the same
tunnel made twice or on two devices is one. The last word in canonical order counts: a tunnel that
is created after it was deleted is there again, also where its maker did not know of the delete; it
brings back no text. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from domain.belief import Event, Fold, Held, Name
from domain.canonical import comparable, digest
from domain.parts import published_tunnels

ENDS: Final = ("source_wing", "source_room", "target_wing", "target_room")
_ID_DIGITS: Final = 24


class Tunnel(NamedTuple):
    """A tunnel that is open.

    Attributes:
        id: see `tunnel_id`.
        source_drawer_id, target_drawer_id: the drawers that it joins in particular.
        recorded_at: microseconds UTC, of the event that last said something of it.
    """

    id: str
    source_wing: str
    source_room: str
    target_wing: str
    target_room: str
    label: str | None
    source_drawer_id: str | None
    target_drawer_id: str | None
    recorded_at: int
    rank: bytes
    op_id: str


class Closed(NamedTuple):
    """That a tunnel was deleted, and nobody made it again."""

    id: str
    reason: str | None
    rank: bytes
    op_id: str


def end_of(wing: str, room: str) -> tuple[str, str]:
    """A room in comparable form."""
    return comparable(wing), comparable(room)


def tunnel_id(source: tuple[str, str], target: tuple[str, str]) -> str:
    """`tunnel_` and 24 hex digits over the two ends (wing, room), whichever comes first."""
    first, second = sorted((end_of(*source), end_of(*target)))
    return f"tunnel_{digest(*first, *second).hex()[:_ID_DIGITS]}"


def standing(tunnels: Iterable[Tunnel], closed: Iterable[Closed]) -> list[Tunnel]:
    """The tunnels that are open, each once; what was said of one later counts, be it local or not.

    Args:
        tunnels, closed: in canonical order.
    """
    gone = {row.id: row.rank for row in closed}
    newest = {row.id: row for row in tunnels}
    return [row for row in newest.values() if gone.get(row.id, b"") < row.rank]


def created(held: Held, event: Event) -> Held:
    """create_tunnel: it is open from now on, as the last one says."""
    stated = event.payload
    id = stated["tunnel_id"]
    for closed in held.find(Closed, "id", id):
        held.drop(closed)
    held.find(Tunnel, "id", id)
    held.put(
        Tunnel(
            id=id,
            source_wing=stated["source_wing"],
            source_room=stated["source_room"],
            target_wing=stated["target_wing"],
            target_room=stated["target_room"],
            label=stated.get("label"),
            source_drawer_id=stated.get("source_drawer_id"),
            target_drawer_id=stated.get("target_drawer_id"),
            recorded_at=event.recorded_at,
            rank=event.rank,
            op_id=event.op_id,
        )
    )
    return held


def deleted(held: Held, event: Event) -> Held:
    """delete_tunnel: it is closed until somebody makes it again."""
    stated = event.payload
    id = stated["tunnel_id"]
    for tunnel in held.find(Tunnel, "id", id):
        held.drop(tunnel)
    held.find(Closed, "id", id)
    held.put(Closed(id, stated.get("reason"), event.rank, event.op_id))
    return held


def _wings(stated: dict[str, Any]) -> list[str]:
    named = (stated.get("source_wing"), stated.get("target_wing"), *stated.get("wings", ()))
    return [wing for wing in dict.fromkeys(named) if wing]


def _mentions(event: Event) -> tuple[tuple[str, str], ...]:
    stated = event.payload
    wings = dict.fromkeys(comparable(wing) for wing in _wings(stated))
    drawers = dict.fromkeys(
        stated[name] for name in ("source_drawer_id", "target_drawer_id") if name in stated
    )
    return (
        *(("wing", wing) for wing in wings),
        *(("drawer", drawer) for drawer in drawers),
    )


def _names(event: Event) -> tuple[Name, ...]:
    stated = event.payload
    if "source_wing" not in stated:
        return ()
    return tuple(
        name
        for side in ("source", "target")
        for name in (
            Name("wing", "", stated[f"{side}_wing"]),
            Name("room", stated[f"{side}_wing"], stated[f"{side}_room"]),
        )
    )


_EVOLVE: Final = {"create_tunnel": created, "delete_tunnel": deleted}

TUNNELS: Final = Fold(
    name="tunnels",
    kinds=(Tunnel, Closed),
    indexes={Tunnel: ("id",), Closed: ("id",)},
    members=lambda event: (event.payload["tunnel_id"],),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    parts=published_tunnels,
    mentions=_mentions,
    names=_names,
)
