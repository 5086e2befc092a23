"""What lies where: wings, rooms and their counts at one moment.

Protects one count: a drawer counts where it is live and true at the moment asked, here as in lists.
A place is listed while something lies in it, or while it stands by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, func, select

from domain.canonical import comparable
from domain.drawers import Support, newest
from domain.errors import Refused
from domain.instants import show
from domain.operation import is_local
from domain.operations.places import (
    GetTaxonomyAsks,
    ListRoomsAsks,
    ListWingsAsks,
    ShowRoomAsks,
    ShowWingAsks,
)
from domain.places import GONE, Place
from domain.travel import LOCAL, REPLICATED
from projections import tables
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports = tables.texts, BELIEFS[Support]

_true_now = (
    believed(_supports)
    & (_supports.c.valid_from <= _B("as_of"))
    & (_supports.c.valid_to > _B("as_of"))
)
_COUNTS = Prepared(
    select(
        func.min(_texts.c.wing),
        func.min(_texts.c.room),
        _texts.c.wing_key,
        _texts.c.room_key,
        func.count(_supports.c.drawer_id.distinct()),
    )
    .join(_texts, _texts.c.drawer_id == _supports.c.drawer_id)
    .where(_true_now)
    .group_by(_texts.c.wing_key, _texts.c.room_key)
)
_IN_ROOM = Prepared(
    select(_supports.c.drawer_id)
    .distinct()
    .join(_texts, _texts.c.drawer_id == _supports.c.drawer_id)
    .where(_true_now, _texts.c.wing_key == _B("wing_key"), _texts.c.room_key == _B("room_key"))
)
_SPELLING = Prepared(
    select(tables.names.c.spelling).where(
        tables.names.c.kind == _B("kind"),
        tables.names.c.scope == _B("scope"),
        tables.names.c.folded == _B("folded"),
    )
)


class _Room(NamedTuple):
    wing: str
    room: str
    place: Place | None
    drawers: int


def list_wings(reading: Reading, asked: ListWingsAsks) -> dict[str, Any]:
    """The wings, by name."""
    local = _local_wings(reading)
    wings = [_wing_line(key, rooms, made, local) for key, rooms, made in wings_there(reading)]
    return reading.shown() | {"wings": wings, "total": len(wings)}


def list_rooms(reading: Reading, asked: ListRoomsAsks) -> dict[str, Any]:
    """The rooms of a wing, or of all, by wing and name."""
    found = [room for _, rooms, _ in wings_there(reading, asked.wing) for room in rooms]
    lines = [_room_line(room) for room in found]
    return reading.shown() | {"rooms": lines, "total": len(lines)}


def show_wing(reading: Reading, asked: ShowWingAsks) -> dict[str, Any]:
    """One wing with its rooms."""
    for key, rooms, made in wings_there(reading, asked.wing):
        lines = [_room_line(room) for room in rooms]
        return reading.shown() | {
            "wing": _wing_line(key, rooms, made, _local_wings(reading)),
            "rooms": lines,
        }
    raise _unknown(asked.wing)


def show_room(reading: Reading, asked: ShowRoomAsks) -> dict[str, Any]:
    """One room: how many drawers, how they are tagged, when the newest was recorded."""
    wanted = comparable(asked.room)
    rooms = [room for _, rooms, _ in wings_there(reading, asked.wing) for room in rooms]
    room = next((one for one in rooms if comparable(one.room) == wanted), None)
    if room is None:
        raise _unknown(f"{asked.wing}/{asked.room}")
    place = {"wing_key": comparable(asked.wing), "room_key": wanted, "as_of": reading.as_of}
    shown = [
        newest(reading.find(Support, "drawer_id", drawer))
        for (drawer,) in reading.rows(_IN_ROOM, **place)
    ]
    tags: dict[str, int] = {}
    for support in shown:
        for tag in orjson.loads(support.tags):
            tags[tag] = tags.get(tag, 0) + 1
    last = max((support.recorded_at for support in shown), default=None)
    return reading.shown() | {
        "room": _room_line(room),
        "tags": dict(sorted(tags.items())),
        "newest": None if last is None else show(last),
    }


def get_taxonomy(reading: Reading, asked: GetTaxonomyAsks) -> dict[str, Any]:
    """`{wing: {room: drawers}}`, by name."""
    taxonomy = {
        _wing_name(key, rooms, made): {room.room: room.drawers for room in rooms}
        for key, rooms, made in wings_there(reading)
    }
    return reading.shown() | {"taxonomy": taxonomy}


def wings_there(
    reading: Reading, only: str | None = None
) -> Iterable[tuple[str, list[_Room], Place | None]]:
    """(key, rooms, the wing made by itself) of every wing there is, by name."""
    wanted = None if only is None else comparable(only)
    made = [
        place
        for place in reading.all(Place)
        if wanted in (None, place.wing_key) and place.kind != GONE
    ]
    rooms: dict[str, dict[str, _Room]] = {}
    for wing, room, wing_key, room_key, drawers in reading.rows(_COUNTS, as_of=reading.as_of):
        if wanted in (None, wing_key):
            line = _Room(
                _spelled(reading, "wing", "", wing_key, wing),
                _spelled(reading, "room", wing_key, room_key, room),
                None,
                drawers,
            )
            rooms.setdefault(wing_key, {})[room_key] = line
    wings = {place.wing_key: place for place in made if not place.room}
    for place in made:
        of_wing = rooms.setdefault(place.wing_key, {})
        if place.room:
            key = comparable(place.room)
            before = of_wing.get(key, _Room(place.wing, place.room, None, 0))
            of_wing[key] = before._replace(place=place)
    for key in sorted(rooms):
        yield key, [rooms[key][room] for room in sorted(rooms[key])], wings.get(key)


def _spelled(reading: Reading, kind: str, scope: str, folded: str, else_: str) -> str:
    row = _SPELLING(reading.cursor, kind=kind, scope=scope, folded=folded).fetchone()
    return else_ if row is None else str(row[0])


def _local_wings(reading: Reading) -> set[str]:
    """The keys of the wings that this machine keeps to itself."""
    places = reading.all(Place)
    return {one.wing_key for one in places if one.policy == LOCAL and is_local(one.rank)}


def _wing_line(key: str, rooms: list[_Room], made: Place | None, local: set[str]) -> dict[str, Any]:
    return {
        "wing": _wing_name(key, rooms, made),
        "description": None if made is None else made.description,
        "policy": LOCAL if key in local else REPLICATED,
        "made": made is not None,
        "rooms": len(rooms),
        "drawers": sum(room.drawers for room in rooms),
    }


def _wing_name(key: str, rooms: list[_Room], made: Place | None) -> str:
    names = [made.wing] if made else [room.wing for room in rooms]
    return names[0] if names else key


def _room_line(room: _Room) -> dict[str, Any]:
    return {
        "wing": room.wing,
        "room": room.room,
        "description": None if room.place is None else room.place.description,
        "made": room.place is not None,
        "drawers": room.drawers,
    }


def _unknown(name: str) -> Refused:
    return Refused(
        "places::unknown", f"There is nothing in {name}.", "Look it up with get_taxonomy."
    )
