"""What is asked about tunnels: which there are, where they lead, and how rooms hang together.

Protects what is hidden: a room shows with the drawers that are live and true at the moment, and a
drawer that is not is not named. Rooms of the same name in different wings count as connected; such
a connection is marked as implied.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, func, select

from domain.canonical import comparable
from domain.drawers import Support
from domain.errors import Refused
from domain.instants import show
from domain.operations.common import Paged
from domain.operations.tunnels import (
    FindTunnelsAsks,
    FollowTunnelsAsks,
    GraphStatsAsks,
    ListTunnelsAsks,
    TraverseAsks,
)
from domain.tunnels import Closed, Tunnel, end_of, standing
from projections import tables
from projections.queries.drawer_lists import PREVIEW_CHARACTERS
from projections.queries.live import Live
from projections.queries.paging import cursor_text, resume
from projections.queries.places import wings_there
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

PREVIEWS: Final = 3

_B: Any = bindparam
_texts, _supports = tables.texts, BELIEFS[Support]
_NEWEST = Prepared(
    select(
        _texts.c.drawer_id,
        func.substr(_texts.c.content, 1, PREVIEW_CHARACTERS),
        func.max(_supports.c.recorded_at).label("newest"),
    )
    .join(_supports, _supports.c.drawer_id == _texts.c.drawer_id)
    .where(
        _texts.c.wing_key == _B("wing_key"),
        _texts.c.room_key == _B("room_key"),
        believed(_supports),
        _supports.c.valid_from <= _B("as_of"),
        _supports.c.valid_to > _B("as_of"),
    )
    .group_by(_texts.c.drawer_id)
    .order_by(func.max(_supports.c.recorded_at).desc(), _texts.c.drawer_id)
    .limit(PREVIEWS)
)

End = tuple[str, str]


class _Room(NamedTuple):
    wing: str
    room: str
    drawers: int


class _Edge(NamedTuple):
    """A connection of two rooms; `tunnel` is None where it is implied by their name."""

    source: End
    target: End
    tunnel: Tunnel | None

    @property
    def mark(self) -> str:
        """Sorts tunnels before what is implied, and then by the ends."""
        return "\x1f".join(("1" if self.tunnel is None else "0", *self.source, *self.target))


class _Map:
    """The rooms that are there or that a tunnel leads to, and what connects them."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.live = Live(reading)
        self.rooms: dict[End, _Room] = {}
        self._named: dict[str, list[End]] = defaultdict(list)
        for _, rooms, _ in wings_there(reading):
            for room in rooms:
                end = end_of(room.wing, room.room)
                self.rooms[end] = _Room(room.wing, room.room, room.drawers)
                self._named[end[1]].append(end)
        self.tunnels: list[_Edge] = []
        self._dug: dict[End, list[_Edge]] = defaultdict(list)
        for tunnel in standing(reading.all(Tunnel), reading.all(Closed)):
            source = end_of(tunnel.source_wing, tunnel.source_room)
            target = end_of(tunnel.target_wing, tunnel.target_room)
            self.rooms.setdefault(source, _Room(tunnel.source_wing, tunnel.source_room, 0))
            self.rooms.setdefault(target, _Room(tunnel.target_wing, tunnel.target_room, 0))
            self.tunnels.append(_Edge(source, target, tunnel))
            self._dug[source].append(_Edge(source, target, tunnel))
            self._dug[target].append(_Edge(target, source, tunnel))
        self.tunnels.sort(key=lambda edge: edge.mark)

    def shared_names(self) -> list[list[End]]:
        """The rooms of each name that several wings have."""
        groups = (self._named[name] for name in sorted(self._named))
        return [ends for ends in groups if len(ends) > 1]

    def implied(self) -> list[_Edge]:
        """What names alone connect: each two rooms of one name, unless a tunnel does."""
        dug = {frozenset((edge.source, edge.target)) for edge in self.tunnels}
        return [
            _Edge(source, target, None)
            for ends in self.shared_names()
            for source, target in combinations(sorted(ends), 2)
            if frozenset((source, target)) not in dug
        ]

    def start(self, wing: str, room: str) -> End:
        """A room that is there.

        Raises:
            Refused: it is not, and no tunnel leads to it.
        """
        end = end_of(wing, room)
        if end not in self.rooms:
            raise Refused(
                "places::unknown",
                f"There is nothing in {wing}/{room}.",
                "Look it up with get_taxonomy.",
            )
        return end

    def beside(self, end: End) -> list[_Edge]:
        """The connections of a room, tunnels first."""
        dug = sorted(self._dug[end], key=lambda edge: edge.mark)
        there = {edge.target for edge in dug} | {end}
        named = (other for other in self._named.get(end[1], ()) if other not in there)
        return [*dug, *(_Edge(end, other, None) for other in named)]

    def shown(self, edge: _Edge) -> dict[str, Any]:
        """A connection as answers show it."""
        tunnel = edge.tunnel
        origin = None if tunnel is None else self.reading.origin(tunnel.op_id)
        return {
            "tunnel_id": None if tunnel is None else tunnel.id,
            "implied": tunnel is None,
            "label": None if tunnel is None else tunnel.label,
            "source": self._end(edge.source, tunnel and tunnel.source_drawer_id),
            "target": self._end(edge.target, tunnel and tunnel.target_drawer_id),
            "device": origin and origin.device,
            "agent": origin and origin.agent,
            "recorded_at": None if tunnel is None else show(tunnel.recorded_at),
        }

    def _end(self, end: End, drawer: str | None) -> dict[str, Any]:
        return self.rooms[end]._asdict() | {"drawer_id": self.live.now(drawer)}


def list_tunnels(reading: Reading, asked: ListTunnelsAsks) -> dict[str, Any]:
    """One page of the tunnels that somebody made."""
    last = resume("list_tunnels", reading, asked, asked.cursor, (str,))
    places, wing = _Map(reading), asked.wing and comparable(asked.wing)
    found = [edge for edge in places.tunnels if not wing or wing in _wings(edge)]
    return _page("list_tunnels", places, asked, last, found)


def find_tunnels(reading: Reading, asked: FindTunnelsAsks) -> dict[str, Any]:
    """One page of what connects wings with each other."""
    last = resume("find_tunnels", reading, asked, asked.cursor, (str,))
    places = _Map(reading)
    wanted = {comparable(wing) for wing in (asked.wing_a, asked.wing_b) if wing is not None}
    several = [edge for edge in places.tunnels if edge.source[0] != edge.target[0]]
    found = [edge for edge in (*several, *places.implied()) if wanted <= set(_wings(edge))]
    return _page("find_tunnels", places, asked, last, sorted(found, key=lambda edge: edge.mark))


def follow_tunnels(reading: Reading, asked: FollowTunnelsAsks) -> dict[str, Any]:
    """The rooms that a room is connected with, and the newest drawers of each."""
    places = _Map(reading)
    start = places.start(asked.wing, asked.room)
    edges = places.beside(start)
    return reading.shown() | {
        "wing": places.rooms[start].wing,
        "room": places.rooms[start].room,
        "connected": [
            places.rooms[edge.target]._asdict()
            | {
                "tunnel_id": edge.tunnel and edge.tunnel.id,
                "implied": edge.tunnel is None,
                "label": edge.tunnel and edge.tunnel.label,
                "previews": _previews(reading, edge.target),
            }
            for edge in edges[: asked.limit]
        ],
        "total": len(edges),
    }


def traverse(reading: Reading, asked: TraverseAsks) -> dict[str, Any]:
    """The rooms that a walk reaches, breadth first."""
    places = _Map(reading)
    start = places.start(asked.start_wing, asked.start_room)
    found: dict[End, dict[str, Any]] = {start: _reached(places, start, 0, None)}
    edge_of_walk = [start]
    for hops in range(1, asked.max_hops + 1):
        behind: list[End] = []
        for end in sorted(edge_of_walk):
            for edge in places.beside(end):
                if edge.target not in found:
                    found[edge.target] = _reached(places, edge.target, hops, edge)
                    behind.append(edge.target)
        edge_of_walk = behind
    order = sorted(found, key=lambda end: (found[end]["hops"], end))
    return reading.shown() | {
        "rooms": [found[end] for end in order[: asked.limit]],
        "total": len(found),
    }


def graph_stats(reading: Reading, asked: GraphStatsAsks) -> dict[str, Any]:
    """How rooms and wings are connected, in counts."""
    places = _Map(reading)
    shared = places.shared_names()
    across = [edge for edge in places.tunnels if edge.source[0] != edge.target[0]]
    joined = {end for edge in places.tunnels for end in (edge.source, edge.target)}
    named = {end for ends in shared for end in ends}
    wings = {wing for edge in across for wing in _wings(edge)} | {wing for wing, _ in named}
    return reading.shown() | {
        "wings": len({wing for wing, _ in places.rooms}),
        "rooms": len(places.rooms),
        "tunnels": len(places.tunnels),
        "shared_room_names": len(shared),
        "wings_connected": len(wings),
        "rooms_connected": len(joined | named),
    }


def _page(
    tool: str,
    places: _Map,
    asked: ListTunnelsAsks | FindTunnelsAsks,
    last: list[Any],
    found: list[_Edge],
) -> dict[str, Any]:
    behind = [edge for edge in found if not last or edge.mark > last[0]]
    page, more = behind[: asked.limit], len(behind) > asked.limit
    return places.reading.shown() | {
        "tunnels": [places.shown(edge) for edge in page],
        "total": len(found),
        "cursor": _cursor(tool, places.reading, asked, page[-1].mark) if more else None,
    }


def _cursor(tool: str, reading: Reading, asked: Paged, mark: str) -> str:
    return cursor_text(tool, reading, asked, [mark])


def _wings(edge: _Edge) -> tuple[str, str]:
    return edge.source[0], edge.target[0]


def _reached(places: _Map, end: End, hops: int, edge: _Edge | None) -> dict[str, Any]:
    before = None if edge is None else places.rooms[edge.source]
    tunnel = edge and edge.tunnel
    return places.rooms[end]._asdict() | {
        "hops": hops,
        "by": "start" if edge is None else "tunnel" if tunnel else "same_name",
        "tunnel_id": tunnel and tunnel.id,
        "from_wing": before and before.wing,
        "from_room": before and before.room,
    }


def _previews(reading: Reading, end: End) -> list[dict[str, Any]]:
    place = {"wing_key": end[0], "room_key": end[1], "as_of": reading.as_of}
    return [
        {"id": drawer, "preview": preview, "recorded_at": show(newest)}
        for drawer, preview, newest in reading.rows(_NEWEST, **place)
    ]
