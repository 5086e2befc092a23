"""What is asked about drawers: one, a list, a history.

Protects hidden texts: a drawer without support shows that it is hidden, and nothing of its content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, exists, func, literal_column, or_, select

from domain.belief import event_of
from domain.canonical import comparable
from domain.drawers import (
    DRAWERS,
    Superseding,
    Support,
    members,
    newest,
    reached,
    valid_time,
)
from domain.errors import Refused
from domain.instants import ENDLESS, show, shown
from domain.operation import Operation, stamp_of
from domain.operations.drawers import GetDrawerAsks, HistoryAsks, ListDrawersAsks
from projections import tables
from projections.queries.lines import event_line, place, provenance
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

PREVIEW_CHARACTERS: Final = 200

_B: Any = bindparam
_texts, _supports, _supersedings = tables.texts, BELIEFS[Support], BELIEFS[Superseding]

_TEXT = Prepared(
    select(_texts.c.wing, _texts.c.room, _texts.c.content).where(
        _texts.c.drawer_id == _B("drawer_id"), _texts.c.position <= _B("position")
    )
)
_TOUCHES = Prepared(
    select(tables.touches.c.position, tables.touches.c.rank)
    .select_from(tables.members.join(tables.touches, tables.touches.c.key == tables.members.c.key))
    .where(
        tables.members.c.area == DRAWERS.name,
        tables.members.c.member == _B("drawer_id"),
        tables.touches.c.position <= _B("position"),
    )
    .order_by(tables.touches.c.position)
)


def _optional(name: str, condition: Any) -> Any:
    """A condition that counts only where its parameter is given."""
    return or_(_B(name, type_=_texts.c.wing.type).is_(None), condition)


def _overlapping() -> Any:
    """Supports whose interval meets [:begin, :end)."""
    return (
        (_supports.c.valid_from < _B("end"))
        & (_supports.c.valid_to > _B("begin"))
        & (_supports.c.valid_from < _supports.c.valid_to)
    )


_LISTED = (
    select(
        _supports.c.drawer_id,
        _texts.c.wing,
        _texts.c.room,
        func.substr(_texts.c.content, 1, PREVIEW_CHARACTERS).label("preview"),
        func.max(_supports.c.rank),
        _supports.c.tags.label("tags"),
        _supports.c.recorded_at.label("recorded_at"),
    )
    .select_from(_supports.join(_texts, _texts.c.drawer_id == _supports.c.drawer_id))
    .where(
        believed(_supports),
        _optional("wing", _texts.c.wing_key == _B("wing")),
        _optional("room", _texts.c.room_key == _B("room")),
    )
    .group_by(_supports.c.drawer_id)
    .having(or_(_B("all_of_time") == 1, func.total(_overlapping()) > 0))
    .subquery()
)
_TAGGED = exists(
    select(literal_column("1"))
    .select_from(func.json_each(_LISTED.c.tags).table_valued("value", name="tag"))
    .where(func.folded(literal_column("tag.value")) == _B("tag"))
)
_WITHIN = (
    (_LISTED.c.recorded_at >= _B("since"))
    & (_LISTED.c.recorded_at < _B("before"))
    & _optional("tag", _TAGGED)
)
_PAGE = Prepared(
    select(_LISTED)
    .where(
        _WITHIN,
        or_(
            _LISTED.c.recorded_at < _B("last_recorded_at"),
            (_LISTED.c.recorded_at == _B("last_recorded_at"))
            & (_LISTED.c.drawer_id > _B("last_id")),
        ),
    )
    .order_by(_LISTED.c.recorded_at.desc(), _LISTED.c.drawer_id)
    .limit(_B("limit"))
)
_TOTAL = Prepared(select(func.count()).select_from(_LISTED).where(_WITHIN))
_SUPERSEDED = Prepared(
    select(func.count()).where(
        _supersedings.c.drawer_id == _B("drawer_id"), believed(_supersedings)
    )
)


def get_drawer(reading: Reading, asked: GetDrawerAsks) -> dict[str, Any]:
    """One drawer in full, at the reading's moment."""
    drawer = _drawer(reading, asked.drawer_id)
    if drawer is None:
        raise Refused(
            "drawers::unknown",
            f"{asked.drawer_id} is not known here.",
            "Look it up with list_drawers; ids are complete, with wing, room and hash.",
        )
    return reading.shown() | {"drawer": drawer}


def list_drawers(reading: Reading, asked: ListDrawersAsks) -> dict[str, Any]:
    """One page of drawers, newest first."""
    last = resume("list_drawers", reading, asked.cursor, (int, str))
    windowed = asked.from_ is not None or asked.until is not None
    begin, end = reading.as_of, reading.as_of + 1
    if windowed:
        begin = -ENDLESS if asked.from_ is None else asked.from_
        end = ENDLESS if asked.until is None else asked.until
    chosen = {
        "begin": begin,
        "end": end,
        "all_of_time": int(asked.include_historical),
        "wing": asked.wing and comparable(asked.wing),
        "room": asked.room and comparable(asked.room),
        "tag": asked.tag and comparable(asked.tag),
        "since": -ENDLESS if asked.since is None else asked.since,
        "before": ENDLESS if asked.before is None else asked.before,
    }
    behind = {"last_recorded_at": last[0] if last else ENDLESS, "last_id": last[1] if last else ""}
    rows = reading.rows(_PAGE, **chosen, **behind, limit=asked.limit + 1)
    [(total,)] = reading.rows(_TOTAL, **chosen)
    page = rows[: asked.limit]
    more = len(rows) > asked.limit
    return reading.shown(all_of_time=windowed or asked.include_historical) | {
        "drawers": [_line(reading, row) for row in page],
        "total": total,
        "cursor": cursor_text("list_drawers", reading, [page[-1][6], page[-1][0]])
        if more
        else None,
    }


def history(reading: Reading, asked: HistoryAsks) -> dict[str, Any]:
    """All versions that updates and supersedes joined, oldest first, and the events behind them."""
    touched = _lineage(reading, asked.drawer_id)
    if not touched:
        raise Refused(
            "drawers::unknown",
            f"{asked.drawer_id} is not known here.",
            "Look it up with list_drawers; ids are complete, with wing, room and hash.",
        )
    # An event names the drawer that it fills before the one that it comes from.
    drawers = dict.fromkeys(drawer for _, named in touched for drawer in reversed(named))
    versions = [_version(reading, drawer) for drawer in drawers]
    return reading.shown() | {
        "versions": [version for version in versions if version is not None],
        "events": [event_line(operation) for operation, _ in touched],
    }


def _drawer(reading: Reading, asked: str) -> dict[str, Any] | None:
    """The drawer that an id leads to; None where nothing was known of it."""
    supports = reached(reading, asked)
    if not supports:
        return _hidden(reading, asked)
    holder = newest(supports).drawer_id
    return _live(reading, holder, reading.find(Support, "drawer_id", holder)) | {"asked": asked}


def _version(reading: Reading, drawer: str) -> dict[str, Any] | None:
    """A drawer as a version of its own: what updates moved on is superseded, not hidden."""
    supports = reading.find(Support, "drawer_id", drawer)
    if supports:
        return _live(reading, drawer, supports)
    moved = reached(reading, drawer)
    if not moved:
        return _hidden(reading, drawer)
    moved_to = newest(moved).drawer_id
    return _live(reading, drawer, moved) | {"state": "superseded", "superseded_by": [moved_to]}


def _live(reading: Reading, holder: str, supports: list[Support]) -> dict[str, Any]:
    shows = newest(supports)
    [(wing, room, content)] = reading.rows(_TEXT, drawer_id=holder)
    start, end = _shown_interval(supports, reading.as_of)
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
        "state": _state(supports, bool(superseded_by), reading.as_of),
        "hidden_by": [],
        "provenance": provenance(reading.origin(shows.op_id)),
    }


def _hidden(reading: Reading, drawer: str) -> dict[str, Any] | None:
    rows = reading.rows(_TEXT, drawer_id=drawer)
    if not rows:
        return None
    [(wing, room, _)] = rows
    touched = _lineage(reading, drawer)
    hidden_by = _hiding((operation for operation, _ in touched), drawer)
    op_id = hidden_by[-1] if hidden_by else touched[-1][0].header.op_id
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
        "hidden_by": hidden_by,
        "provenance": provenance(reading.origin(op_id)),
    }


def _hiding(operations: Iterable[Operation], drawer: str) -> list[str]:
    """The op_ids of the deletes that meet a drawer, or what updates made of it."""
    ids, found = {drawer}, []
    for operation in operations:
        stated = operation.payload()
        if stated.get("previous") in ids:
            ids.add(stated["drawer_id"])
        if operation.header.tool == "delete_drawer":
            met = {stated.get("drawer_id"), *stated.get("hidden", ())}
            found += [(operation.header.op_id, met)]
    return [op_id for op_id, met in found if not ids.isdisjoint(met)]


def _state(supports: list[Support], was_superseded: bool, as_of: int) -> str:
    holds = any(low <= as_of < high for low, high in valid_time(supports))
    return "superseded" if was_superseded and not holds else "current"


def _shown_interval(supports: list[Support], as_of: int) -> tuple[int, int]:
    """The interval that holds at `as_of`, else the one of the support that shows."""
    for low, high in valid_time(supports):
        if low <= as_of < high:
            return low, high
    shows = newest(supports)
    return shows.valid_from, shows.valid_to


def _line(reading: Reading, row: tuple[Any, ...]) -> dict[str, Any]:
    drawer_id, wing, room, preview, _, tags, recorded_at = row
    supports = reading.find(Support, "drawer_id", drawer_id)
    start, end = _shown_interval(supports, reading.as_of)
    [(supersedings,)] = reading.rows(_SUPERSEDED, drawer_id=drawer_id)
    return {
        "id": drawer_id,
        "wing": wing,
        "room": room,
        "preview": preview,
        "tags": orjson.loads(tags),
        "valid_from": show(start),
        "valid_to": shown(end),
        "state": _state(supports, supersedings > 0, reading.as_of),
        "recorded_at": show(recorded_at),
    }


def _lineage(reading: Reading, drawer: str) -> list[tuple[Operation, tuple[str, ...]]]:
    """The operations up to the moment that joined to this drawer, with the drawers that each names,
    oldest first.

    The key of a lineage can have grown since; what joined later is left out again.
    """
    found = reading.rows(_TOUCHES, drawer_id=drawer)
    operations = reading.log.at(position for position, _ in found)
    named = [
        (operation, part_members(operation, rank))
        for operation, (_, rank) in zip(operations, found, strict=True)
    ]
    named.sort(key=lambda one: place(one[0]))
    joined, grew = {drawer}, True
    while grew:
        size = len(joined)
        for _, drawers in named:
            if joined.intersection(drawers):
                joined.update(drawers)
        grew = len(joined) > size
    return [(operation, drawers) for operation, drawers in named if joined.intersection(drawers)]


def part_members(operation: Operation, rank: bytes) -> tuple[str, ...]:
    """The drawers that the part of an operation with that rank touches."""
    for part in DRAWERS.parts(event_of(operation, stamp_of(rank))):
        if part.rank == rank:
            return members(part)
    return ()
