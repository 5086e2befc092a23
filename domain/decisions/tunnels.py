"""How a write on tunnels is decided.

Protects a tunnel's ends: spelling and orientation of one that is there already stay. Pure.
"""

from __future__ import annotations

from typing import Any

from domain.decisions.drawers import live_target
from domain.errors import Refused
from domain.operations.common import Decided
from domain.operations.tunnels import CreateTunnelAsks, DeleteTunnelAsks
from domain.ports import Known
from domain.tunnels import ENDS, TUNNELS, Closed, Tunnel, end_of, standing, tunnel_id

_OPTIONAL = ("label", "source_drawer_id", "target_drawer_id")


def decide_create(asked: CreateTunnelAsks, known: Known, now: int) -> Decided:
    """Resolve a tunnel: what is not said stays as it was; one that is there already, and of which
    nothing new is said, is a duplicate.
    """
    source = _room(known, asked.source_wing, asked.source_room)
    target = _room(known, asked.target_wing, asked.target_room)
    if end_of(*source) == end_of(*target):
        raise Refused(
            "tunnels::same", "A tunnel leads to another room.", "Name two different rooms."
        )
    said, seen = _said(asked, known)
    id = tunnel_id(source, target)
    open_ones, _ = _standing(known, id)
    ends = dict(zip(ENDS, (*source, *target), strict=True))
    if open_ones:
        ends, said = _as_standing(open_ones[0], source, said)
    payload: dict[str, Any] = {"tunnel_id": id, **ends, **said, "duplicate": False}
    if open_ones:
        now_said = {name: getattr(open_ones[0], name) for name in _OPTIONAL}
        payload["duplicate"] = all(said.get(name) == now_said[name] for name in _OPTIONAL)
    return Decided(payload, seen)


def decide_delete(asked: DeleteTunnelAsks, known: Known, now: int) -> Decided:
    """Resolve a delete; a tunnel that is closed already is a duplicate."""
    id = asked.tunnel_id
    open_ones, ever = _standing(known, id)
    if not ever and known.complete:
        raise Refused(
            "tunnels::unknown", f"{id} is not known here.", "Look it up with list_tunnels."
        )
    payload: dict[str, Any] = {"tunnel_id": id, "duplicate": ever and not open_ones}
    if open_ones:
        wings = (open_ones[0].source_wing, open_ones[0].target_wing)
        payload["wings"] = list(dict.fromkeys(wings))
    if asked.reason is not None:
        payload["reason"] = asked.reason
    return Decided(payload, "known" if ever else "unverified")


def _standing(known: Known, id: str) -> tuple[list[Tunnel], bool]:
    """The tunnel while it is open, and whether it was ever known."""
    held = known.held(TUNNELS, id)
    made, closed = held.find(Tunnel, "id", id), held.find(Closed, "id", id)
    return standing(made, closed), bool(made or closed)


def _room(known: Known, wing: str, room: str) -> tuple[str, str]:
    wing = known.spelling("wing", wing)
    return wing, known.spelling("room", room, wing)


def _said(asked: CreateTunnelAsks, known: Known) -> tuple[dict[str, str], str | None]:
    """What is said beside the ends, drawers where they are now; and whether all of them were seen.

    Raises:
        Refused: a drawer is hidden, or unknown where all is known.
    """
    said = {} if asked.label is None else {"label": asked.label}
    seen: str | None = None
    for side in ("source_drawer_id", "target_drawer_id"):
        drawer = getattr(asked, side)
        if drawer is not None:
            said[side], target = live_target(known, drawer)
            seen = "unverified" if "unverified" in (target, seen) else "known"
    return said, seen


def _as_standing(
    tunnel: Tunnel, source: tuple[str, str], said: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The ends as they stand, and what is said seen from there; the rest stays as it was."""
    if end_of(*source) != end_of(tunnel.source_wing, tunnel.source_room):
        other = {"source_drawer_id": "target_drawer_id", "target_drawer_id": "source_drawer_id"}
        said = {other.get(name, name): value for name, value in said.items()}
    before = {name: getattr(tunnel, name) for name in _OPTIONAL}
    kept = {name: value for name, value in before.items() if value is not None}
    return {name: getattr(tunnel, name) for name in ENDS}, kept | said


def answer_create(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The tunnel's id."""
    return {"tunnel_id": payload["tunnel_id"]}


def answer_delete(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The tunnel that is closed now."""
    return {"tunnel_id": payload["tunnel_id"]}
