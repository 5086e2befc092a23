"""What a segment of the audit trail is found by: tables beside its events, in the same file.

Protects quick answers over months of reads; everything here follows from the segment's events. May
not write but where `replay.segment` has begun a transaction.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from sqlalchemy import (
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    table,
    tuple_,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.schema import CreateIndex, CreateTable

from domain.identity import base_device
from domain.operation import Operation
from domain.trail import READ, REFUSED, Activity, Note, Noted, Told, TrailFilter
from projections.tables import Prepared

_SEGMENT: Final = re.compile(r"\d{4}-\d{2}\.db")
_B: Any = bindparam
_DIALECT: Final = sqlite.dialect(paramstyle="qmark")
DAY: Final = 86_400_000_000

metadata = MetaData()

noted = Table(
    "noted",
    metadata,
    Column("place", Integer, primary_key=True),
    Column("op_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("base_device", Text, nullable=False),
    Column("host", Text),
    Column("local_seq", Integer, nullable=False),
    Column("agent", Text),
    Column("client", Text),
    Column("session", Text),
    Column("principal", Text),
    Column("session_mode", Text, nullable=False),
    Column("memory_mode", Text, nullable=False),
    Column("recorded_at", Integer, nullable=False),
    Column("logged_at", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("code", Text),
    Column("times", Integer, nullable=False),
    Index("noted_by_op", "op_id", unique=True),
    Index("noted_by_recorded_at", "recorded_at"),
    Index("noted_by_session", "session", "recorded_at"),
)

named = Table(
    "named",
    metadata,
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("place", Integer, nullable=False),
    PrimaryKeyConstraint("kind", "name", "place"),
    sqlite_with_rowid=False,
)

losses = Table("losses", metadata, Column("calls", Integer, nullable=False))


def _optional(name: str, condition: Any) -> Any:
    return or_(_B(name, type_=noted.c.op_id.type).is_(None), condition)


def _naming(kind: str, wanted: Any) -> Any:
    return exists(
        select(literal_column("1"))
        .select_from(named)
        .where(named.c.kind == kind, wanted, named.c.place == noted.c.place)
    )


_ANY_ID: Any = select(func.json_each(_B("ids")).table_valued("value").c.value)
_CHOSEN: Final = (
    or_(
        (noted.c.outcome == READ) & (_B("reads") == 1),
        (noted.c.outcome == REFUSED) & (_B("refusals") == 1),
    ),
    or_(
        _B("device", type_=noted.c.op_id.type).is_(None),
        noted.c.device == _B("device"),
        noted.c.base_device == _B("device"),
    ),
    _optional("tool", noted.c.tool == _B("tool")),
    _optional("agent", noted.c.agent == _B("agent")),
    _optional("session", noted.c.session == _B("session")),
    _optional("wing", _naming("wing", named.c.name == _B("wing"))),
    _optional("entity", _naming("entity", named.c.name == _B("entity"))),
    _optional("ids", _naming("id", named.c.name.in_(_ANY_ID))),
    noted.c.recorded_at >= _B("since"),
    noted.c.recorded_at < _B("before"),
    noted.c.recorded_at <= _B("until"),
    noted.c.logged_at <= _B("logged_until"),
)
_LINE: Final = tuple(noted.c[name] for name in Noted._fields)
_PAGE: Final = Prepared(
    select(*_LINE)
    .where(*_CHOSEN, tuple_(noted.c.recorded_at, noted.c.place) < tuple_(_B("at"), _B("place")))
    .order_by(noted.c.recorded_at.desc(), noted.c.place.desc())
    .limit(_B("limit"))
)
_TOTAL: Final = Prepared(select(func.count()).where(*_CHOSEN))
_BY_OP: Final = Prepared(select(*_LINE).where(noted.c.op_id == _B("op_id")))
_stored = table(
    "stored_events",
    *(column(name) for name in ("rowid", "originator_id", "originator_version", "state")),
)
_STATE: Final = Prepared(select(_stored.c.state).where(_stored.c.rowid == _B("place")))
_EVENTS_AND_LINES: Final = Prepared(
    select(*_stored.c, *noted.c)
    .select_from(_stored.outerjoin(noted, noted.c.place == _stored.c.rowid))
    .order_by(_stored.c.rowid)
)
_DAY: Any = literal_column(f"noted.recorded_at / {DAY}")
_ACTIVITY: Final = Prepared(
    select(
        _DAY, noted.c.device, noted.c.tool, noted.c.outcome, noted.c.code, func.sum(noted.c.times)
    )
    .where(noted.c.recorded_at >= _B("since"), noted.c.recorded_at < _B("before"))
    .group_by(_DAY, noted.c.device, noted.c.tool, noted.c.outcome, noted.c.code)
)
_COUNTS: Final = Prepared(
    select(
        select(func.count()).select_from(noted).scalar_subquery(),
        select(func.coalesce(func.sum(losses.c.calls), 0)).scalar_subquery(),
        select(func.coalesce(func.max(noted.c.logged_at), 0)).scalar_subquery(),
    )
)
_NOTE: Final = Prepared(insert(noted))
_NAME: Final = Prepared(insert(named).on_conflict_do_nothing())
_LOSE: Final = Prepared(insert(losses))


def segments(folder: Path) -> list[Path]:
    """The segments of a trail, the oldest month first; none where there is no folder."""
    try:
        return sorted(one for one in folder.iterdir() if _SEGMENT.fullmatch(one.name))
    except OSError:
        return []


def create(cursor: sqlite3.Cursor) -> None:
    """Create the tables of a segment where it does not have them."""
    for statement in _creation():
        cursor.execute(statement)


@cache
def _creation() -> tuple[str, ...]:
    tables: list[CreateTable | CreateIndex] = [
        CreateTable(one, if_not_exists=True) for one in metadata.sorted_tables
    ]
    tables += [CreateIndex(one, if_not_exists=True) for one in noted.indexes]
    return tuple(str(one.compile(dialect=_DIALECT)) for one in tables)


def is_made(cursor: sqlite3.Cursor) -> bool:
    """Whether a file has these tables; one that was just created may not have them yet."""
    found = cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'losses'")
    return bool(found.fetchone()[0])


def write(cursor: sqlite3.Cursor, notes: Iterable[tuple[Note, Operation]], lost: int) -> None:
    """Make events findable, and keep how many calls were lost before them."""
    notes = list(notes)
    _NOTE.many(cursor, (line_of(operation, note.code, note.times) for note, operation in notes))
    _NAME.many(
        cursor,
        (
            {"kind": kind, "name": name, "place": operation.position}
            for note, operation in notes
            for kind, name in note.mentions()
        ),
    )
    if lost:
        _LOSE(cursor, calls=lost)


def line_of(operation: Operation, code: str | None, times: int) -> dict[str, Any]:
    """The line that an event is found by.

    Args:
        code: of the refusal; None of a read.
        times: how many calls it stands for.
    """
    header = operation.header
    return {
        "place": operation.position,
        "op_id": header.op_id,
        "tool": header.tool,
        "device": header.origin_device,
        "base_device": base_device(header.origin_device),
        "host": header.origin_host,
        "local_seq": header.local_seq,
        "agent": header.agent,
        "client": header.client,
        "session": header.session,
        "principal": header.principal,
        "session_mode": header.session_mode,
        "memory_mode": header.memory_mode,
        "recorded_at": header.recorded_at,
        "logged_at": operation.logged_at,
        "outcome": READ if code is None else REFUSED,
        "code": code,
        "times": times,
    }


def events_and_lines(
    cursor: sqlite3.Cursor,
) -> Iterator[tuple[int, str, int, bytes, dict[str, Any]]]:
    """Every event as it is stored (place, stream, number, state), with the line beside it."""
    for place, stream, local_seq, state, *line in _EVENTS_AND_LINES(cursor):
        yield place, stream, local_seq, state, dict(zip(noted.c.keys(), line, strict=True))


def page(cursor: sqlite3.Cursor, chosen: TrailFilter, limit: int) -> list[Noted]:
    """At most `limit` events, newest first."""
    at, place = chosen.behind
    found = _PAGE(cursor, **_asked(chosen), at=at, place=place, limit=limit)
    return [Noted(*row) for row in found.fetchall()]


def told(cursor: sqlite3.Cursor, chosen: TrailFilter, limit: int) -> list[Told]:
    """As `page`, with what was asked and seen."""
    found = []
    for line in page(cursor, chosen, limit):
        [state] = _STATE(cursor, place=line.place).fetchone()
        found.append(Told(line, orjson.loads(orjson.loads(state)["payload"])))
    return found


def total(cursor: sqlite3.Cursor, chosen: TrailFilter) -> int:
    """How many events there are on all pages."""
    return int(_TOTAL(cursor, **_asked(chosen)).fetchone()[0])


def by_op(cursor: sqlite3.Cursor, op_id: str) -> Noted | None:
    """The event of an op_id."""
    row = _BY_OP(cursor, op_id=op_id).fetchone()
    return None if row is None else Noted(*row)


def activity(cursor: sqlite3.Cursor, since: int, before: int) -> list[Activity]:
    """Calls by day, device, tool and outcome, recorded within [since, before)."""
    return [Activity(*row) for row in _ACTIVITY(cursor, since=since, before=before).fetchall()]


def counts(cursor: sqlite3.Cursor) -> tuple[int, int, int]:
    """Events held, calls lost, and the newest logged_at (0 where there is none)."""
    events, lost, newest = _COUNTS(cursor).fetchone()
    return events, lost, newest


def _asked(chosen: TrailFilter) -> dict[str, Any]:
    return chosen._asdict() | {
        "reads": int(chosen.reads),
        "refusals": int(chosen.refusals),
        "ids": None if chosen.ids is None else orjson.dumps(chosen.ids).decode(),
    }
