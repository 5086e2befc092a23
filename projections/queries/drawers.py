"""What is asked about one drawer: itself, or its history.

Protects hidden texts: a drawer without support shows that it is hidden, and nothing of its content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, or_, select

from domain.belief import LOCAL, Event, event_of, standing
from domain.drawers import (
    DRAWERS,
    Superseding,
    Support,
    Tombstone,
    newest,
    reached,
    valid_time,
)
from domain.errors import Refused
from domain.instants import show, shown
from domain.operation import Operation, stamp_of
from domain.operations.drawers import GetDrawerAsks, HistoryAsks
from domain.operations.searching import GetDrawersAsks
from projections import tables
from projections.queries.lines import event_line, place, provenance
from projections.reading import Reading
from projections.tables import Prepared

_B: Any = bindparam
_texts = tables.texts

_TEXT = Prepared(
    select(_texts.c.wing, _texts.c.room, _texts.c.content).where(
        _texts.c.drawer_id == _B("drawer_id"), _texts.c.position <= _B("position")
    )
)
_TOUCHES = Prepared(
    select(tables.touches.c.position, tables.touches.c.rank)
    .select_from(tables.members.join(tables.touches, tables.touches.c.key == tables.members.c.key))
    .where(
        or_(
            tables.members.c.area == DRAWERS.name,
            tables.members.c.area == DRAWERS.name + LOCAL,
        ),
        tables.members.c.member == _B("drawer_id"),
        tables.touches.c.position <= _B("position"),
    )
    .order_by(tables.touches.c.position)
)


class Touch(NamedTuple):
    """A part of an operation that touched a lineage."""

    operation: Operation
    part: Event


def content_of(reading: Reading, drawer_id: str) -> str | None:
    """The text that a drawer id stands for, hidden or not; None where it is not known."""
    rows = reading.rows(_TEXT, drawer_id=drawer_id)
    return rows[0][2] if rows else None


def get_drawer(reading: Reading, asked: GetDrawerAsks) -> dict[str, Any]:
    """One drawer in full, at the reading's moment."""
    drawer = drawer_of(reading, asked.drawer_id)
    if drawer is None:
        raise Refused(
            "drawers::unknown",
            f"{asked.drawer_id} is not known here.",
            "Look it up with list_drawers; ids are complete, with wing, room and hash.",
        )
    return reading.shown() | {"drawer": drawer}


def get_drawers(reading: Reading, asked: GetDrawersAsks) -> dict[str, Any]:
    """Several drawers in full, in the order asked for, and the ids that nothing is known of."""
    found = {id: drawer_of(reading, id) for id in asked.drawer_ids}
    return reading.shown() | {
        "drawers": [drawer for drawer in found.values() if drawer is not None],
        "missing": [id for id, drawer in found.items() if drawer is None],
    }


def history(reading: Reading, asked: HistoryAsks) -> dict[str, Any]:
    """All versions that updates and supersedes joined, oldest first, and the events behind them."""
    touched = lineage_of(reading, asked.drawer_id)
    if not touched:
        raise Refused(
            "drawers::unknown",
            f"{asked.drawer_id} is not known here.",
            "Look it up with list_drawers; ids are complete, with wing, room and hash.",
        )
    # An event names the drawer that it fills before the one that it comes from.
    named = (reversed(DRAWERS.touched(one.part)) for one in touched)
    drawers = dict.fromkeys(drawer for drawers in named for drawer in drawers)
    lineage = _Lineage(reading, touched)
    versions = [_version(reading, drawer, lineage) for drawer in drawers]
    return reading.shown() | {
        "versions": [version for version in versions if version is not None],
        "events": [event_line(one) for one in dict.fromkeys(one.operation for one in touched)],
    }


def drawer_of(reading: Reading, asked: str) -> dict[str, Any] | None:
    """The drawer that an id leads to; None where nothing was known of it."""
    supports = reached(reading, asked)
    if not supports:
        return _hidden(reading, asked, None)
    holder = newest(supports).drawer_id
    return _live(reading, holder, reading.find(Support, "drawer_id", holder)) | {"asked": asked}


def _version(reading: Reading, drawer: str, lineage: _Lineage) -> dict[str, Any] | None:
    """A drawer as a version of its own: what updates moved on is superseded, not hidden."""
    supports = reading.find(Support, "drawer_id", drawer)
    if supports:
        return _live(reading, drawer, supports)
    moved = reached(reading, drawer)
    if not moved:
        return _hidden(reading, drawer, lineage)
    moved_to = newest(moved).drawer_id
    moved_on = {"state": "superseded", "current": False, "superseded_by": [moved_to]}
    return _live(reading, drawer, moved) | moved_on


def _live(reading: Reading, holder: str, supports: list[Support]) -> dict[str, Any]:
    shows = newest(supports)
    [(wing, room, content)] = reading.rows(_TEXT, drawer_id=holder)
    start, end = shown_interval(supports, reading.as_of)
    superseded_by = [row.successor for row in reading.find(Superseding, "drawer_id", holder)]
    return {
        "id": holder,
        "asked": holder,
        "wing": wing,
        "room": room,
        "content": content,
        "tags": orjson.loads(shows.tags),
        "source_file": shows.source_file,
        "added_by": shows.added_by,
        "metadata": orjson.loads(shows.metadata),
        "valid_from": show(start),
        "valid_to": shown(end),
        "supersedes": list(
            dict.fromkeys(row.drawer_id for row in reading.find(Superseding, "successor", holder))
        ),
        "superseded_by": list(dict.fromkeys(one for one in superseded_by if one)),
        "state": state(supports, bool(superseded_by), reading.as_of),
        "current": holds(supports, reading.as_of),
        "hidden_by": [],
        "provenance": provenance(reading.origin(shows.op_id)),
    }


def _hidden(reading: Reading, drawer: str, lineage: _Lineage | None) -> dict[str, Any] | None:
    """A drawer without support; its lineage is read where it was not yet."""
    rows = reading.rows(_TEXT, drawer_id=drawer)
    if not rows:
        return None
    [(wing, room, _)] = rows
    if lineage is None:
        lineage = _Lineage(reading, lineage_of(reading, drawer))
    hidden_by = lineage.hiding(drawer)
    op_id = hidden_by[-1] if hidden_by else lineage.newest
    return {
        "id": drawer,
        "asked": drawer,
        "wing": wing,
        "room": room,
        "content": None,
        "tags": [],
        "source_file": None,
        "added_by": None,
        "metadata": {},
        "valid_from": None,
        "valid_to": None,
        "supersedes": [],
        "superseded_by": [],
        "state": "hidden",
        "current": False,
        "hidden_by": hidden_by,
        "provenance": provenance(reading.origin(op_id)),
    }


class _Lineage:
    """What hides the drawers of a lineage: their tombstones, and those of what they became."""

    def __init__(self, reading: Reading, touched: Sequence[Touch]) -> None:
        """Take the parts of one lineage, oldest first; there is at least one."""
        self.newest = touched[-1].operation.header.op_id
        parts = standing([touch.part for touch in touched])
        drawers = dict.fromkeys(drawer for part in parts for drawer in DRAWERS.touched(part))
        self._met: dict[str, set[tuple[bytes, str]]] = defaultdict(set)
        for drawer in drawers:
            stones = reading.find(Tombstone, "drawer_id", drawer)
            self._met[drawer] = {(stone.rank, stone.op_id) for stone in stones}
        # From the last move to the first: what a drawer became by later moves is complete by then.
        for part in reversed(parts):
            if part.payload.get("previous"):
                self._met[part.payload["previous"]] |= self._met[part.payload["drawer_id"]]

    def hiding(self, drawer: str) -> list[str]:
        """The op_ids of the deletes that meet a drawer, or what updates made of it."""
        return list(dict.fromkeys(op_id for _, op_id in sorted(self._met.get(drawer, ()))))


def holds(supports: Iterable[Support], as_of: int) -> bool:
    """Whether some support is true at an instant (microseconds UTC)."""
    return any(support.valid_from <= as_of < support.valid_to for support in supports)


def state(supports: Iterable[Support], was_superseded: bool, as_of: int) -> str:
    """`superseded` once something took its place and it holds no more, else `current`, also where
    it is not yet or no longer true.
    """
    return "superseded" if was_superseded and not holds(supports, as_of) else "current"


def shown_interval(supports: list[Support], as_of: int) -> tuple[int, int]:
    """The interval that holds at `as_of`, else the one of the support that shows."""
    for low, high in valid_time(supports):
        if low <= as_of < high:
            return low, high
    shows = newest(supports)
    return shows.valid_from, shows.valid_to


def lineage_of(reading: Reading, drawer: str) -> list[Touch]:
    """The parts of operations up to the moment that joined to this drawer, oldest first.

    The key of a lineage can have grown since; what joined later is left out again.
    """
    found = reading.rows(_TOUCHES, drawer_id=drawer)
    operations = reading.log.at(position for position, _ in found)
    touched = [
        Touch(operation, part)
        for operation, (_, rank) in zip(operations, found, strict=True)
        for part in DRAWERS.split(event_of(operation, stamp_of(rank)))
        if part.rank == rank
    ]
    touched.sort(key=lambda one: (place(one.operation), one.part.part))
    joined = _joined(drawer, [DRAWERS.touched(one.part) for one in touched])
    return [one for one in touched if joined.intersection(DRAWERS.touched(one.part))]


def _joined(drawer: str, named: Iterable[Sequence[str]]) -> set[str]:
    """The drawers that chains of operations, each given by the drawers that it names, lead to."""
    beside: dict[str, list[Sequence[str]]] = defaultdict(list)
    for drawers in named:
        for one in drawers:
            beside[one].append(drawers)
    joined, waiting = {drawer}, [drawer]
    while waiting:
        for drawers in beside.pop(waiting.pop(), ()):
            waiting += [one for one in drawers if one not in joined]
            joined.update(drawers)
    return joined
