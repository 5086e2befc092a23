"""An agent's diary, newest first.

Protects the order of a diary: entries come by when they were written, whatever their ids say, and
equal times by id.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import bindparam, func, select

from domain.canonical import comparable
from domain.drawers import Support, newest
from domain.identity import DIARY_ROOM
from domain.instants import show
from domain.operations.filing import DiaryReadAsks
from projections import tables
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports = tables.texts, BELIEFS[Support]

_written = func.min(_supports.c.valid_from)
_entries = (
    select(_texts.c.drawer_id, _texts.c.content, _written)
    .join(_supports, _supports.c.drawer_id == _texts.c.drawer_id)
    .where(
        _texts.c.room_key == DIARY_ROOM,
        _texts.c.drawer_id.startswith("diary_", autoescape=True),
        func.folded(_supports.c.added_by) == _B("agent"),
        _supports.c.valid_from <= _B("as_of"),
        _supports.c.valid_to > _B("as_of"),
        believed(_supports),
        (_B("wing_key", type_=_texts.c.wing_key.type).is_(None))
        | (_texts.c.wing_key == _B("wing_key")),
    )
    .group_by(_texts.c.drawer_id)
)
_NEWEST = Prepared(_entries.order_by(_written.desc(), _texts.c.drawer_id.desc()).limit(_B("limit")))
_TOTAL = Prepared(select(func.count()).select_from(_entries.subquery()))


def diary_read(reading: Reading, asked: DiaryReadAsks) -> dict[str, Any]:
    """The newest entries of an agent, and how many there are."""
    chosen = {
        "agent": comparable(asked.agent_name),
        "as_of": reading.as_of,
        "wing_key": asked.wing and comparable(asked.wing),
    }
    rows = reading.rows(_NEWEST, **chosen, limit=asked.last_n)
    [(total,)] = reading.rows(_TOTAL, **chosen)
    entries = [_entry(reading, *row) for row in rows]
    return reading.shown() | {"agent": asked.agent_name, "entries": entries, "total": total}


def _entry(reading: Reading, drawer: str, content: str, written: int) -> dict[str, Any]:
    shows = newest(reading.find(Support, "drawer_id", drawer))
    origin = reading.origin(shows.op_id)
    return {
        "drawer_id": drawer,
        "written_at": show(written),
        "topic": str(orjson.loads(shows.metadata).get("topic") or "general"),
        "content": content,
        "device": origin.device,
        "op_id": shows.op_id,
    }
