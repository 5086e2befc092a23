"""The same text twice: whether one is held already, and which live drawers hold one text, or nearly
one.

Protects what met by replication: two drawers of one text both stay, and are named here, so that a
person can say which one is to go.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, select

from domain.canonical import comparable, twin_digest
from domain.operations.searching import CheckDuplicateAsks, DuplicatesAsks
from projections import tables
from projections.meaning import Degraded
from projections.queries.drawer_lists import PREVIEW_CHARACTERS, held
from projections.queries.near import NEAR_MAX, how, near_groups, near_line, near_to, twin_line
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading
from projections.tables import Prepared

_B: Any = bindparam
_NEWEST_MAX = 2**63 - 1
_texts = tables.texts
_same = tables.texts.alias("same")


def _in_wing(table: Any) -> Any:
    return _B("wing", type_=_texts.c.wing.type).is_(None) | (table.c.wing_key == _B("wing"))


def _in_room(table: Any) -> Any:
    return _B("room", type_=_texts.c.room.type).is_(None) | (table.c.room_key == _B("room"))


def _live(table: Any) -> Any:
    return (table.c.position <= _B("position")) & held(table.c.drawer_id, timed=False)


_TWINS = Prepared(
    select(_texts.c.drawer_id, _texts.c.wing, _texts.c.room, _texts.c.content)
    .where(_texts.c.twin == _B("twin"), _in_wing(_texts), _in_room(_texts), _live(_texts))
    .order_by(_texts.c.position, _texts.c.drawer_id)
)
_OFTEN = select(_same.c.twin).group_by(_same.c.twin).having(func.count() > 1).scalar_subquery()
_GROUPS = (
    select(_texts.c.twin.label("twin"), func.max(_texts.c.position).label("newest"))
    .where(_texts.c.twin.in_(_OFTEN), _in_wing(_texts), _live(_texts))
    .group_by(_texts.c.twin)
    .having(func.count() > 1)
    .subquery()
)
_TOTAL = Prepared(select(func.count()).select_from(_GROUPS))
_PAGE = Prepared(
    select(_GROUPS.c.twin, _GROUPS.c.newest)
    .where(
        (_GROUPS.c.newest < _B("last_newest"))
        | ((_GROUPS.c.newest == _B("last_newest")) & (_GROUPS.c.twin > _B("last_twin")))
    )
    .order_by(_GROUPS.c.newest.desc(), _GROUPS.c.twin)
    .limit(_B("limit"))
)


def check_duplicate(reading: Reading, asked: CheckDuplicateAsks) -> dict[str, Any]:
    """The live drawers that hold a text, exact ones first, then those that nearly do."""
    wing, room = asked.wing and comparable(asked.wing), asked.room and comparable(asked.room)
    rows = reading.rows(_TWINS, twin=twin_digest(asked.content), wing=wing, room=room)
    same = [_twin(reading, row, asked.content) for row in rows]
    same.sort(key=lambda one: not one["exact"])
    found = near_to(reading, asked)
    held = {one["drawer_id"] for one in same}
    alike = () if isinstance(found, Degraded) else found.found
    others = [one for one in alike if one.drawer_id not in held][:NEAR_MAX]
    nearly = [near_line(reading, one, asked.content) for one in others]
    return reading.shown() | {
        "is_duplicate": bool(same or nearly),
        "matches": [*same, *nearly],
        **how(found),
    }


def duplicates(reading: Reading, asked: DuplicatesAsks) -> dict[str, Any]:
    """One page of texts that several live drawers hold, exactly or nearly."""
    if asked.near:
        return near_groups(reading, asked)
    last = resume("duplicates", reading, asked, asked.cursor, (int, bytes))
    wing = asked.wing and comparable(asked.wing)
    behind = {
        "last_newest": last[0] if last else _NEWEST_MAX,
        "last_twin": last[1] if last else b"",
    }
    [(total,)] = reading.rows(_TOTAL, wing=wing)
    rows = reading.rows(_PAGE, **behind, wing=wing, limit=asked.limit + 1)
    page, more = rows[: asked.limit], len(rows) > asked.limit
    marks = [page[-1][1], page[-1][0]] if more else []
    return reading.shown() | {
        "groups": [_group(reading, twin, wing) for twin, _ in page],
        "total": total,
        "cursor": cursor_text("duplicates", reading, asked, marks) if more else None,
        "embedder": None,
        "degraded": None,
    }


def _group(reading: Reading, twin: bytes, wing: str | None) -> dict[str, Any]:
    rows = reading.rows(_TWINS, twin=twin, wing=wing, room=None)
    first = rows[0][3]
    return {
        "preview": first[:PREVIEW_CHARACTERS],
        "drawers": [_twin(reading, row, first) for row in rows],
        "complete": True,
    }


def _twin(reading: Reading, row: tuple[Any, ...], content: str) -> dict[str, Any]:
    drawer_id, wing, room, text = row
    place = {"drawer_id": drawer_id, "wing": wing, "room": room}
    return twin_line(reading, place, exact=text == content, cosine=None)
