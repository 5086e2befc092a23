"""The tables of the audit copy, and the views and macros over them that people ask.

Protects questions from the stored form: times are stored as microseconds and shown as TIMESTAMPTZ,
an open end as NULL; what only sorts or joins inside the folds is not shown. Tables of beliefs are
made from the views' own tables, so the two cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Boolean, Float, Integer, LargeBinary, Table, Text
from sqlalchemy.schema import Column

from domain.instants import ENDLESS
from projections.tables import BELIEFS, STILL_BELIEVED, VIEWS_SCHEMA

COPY_SCHEMA: Final = f"1/{VIEWS_SCHEMA}"
"""Of this module, and of the views that are copied; another one is made anew."""

_TYPES: Final = {
    Text: "VARCHAR",
    Integer: "BIGINT",
    Boolean: "BOOLEAN",
    LargeBinary: "BLOB",
    Float: "DOUBLE",
}
_TIMES: Final = frozenset({"valid_from", "valid_to", "at", "recorded_at", "logged_at"})
_INSIDE: Final = frozenset({"rank", "opened", "partition", "joins"})
_RENAMED: Final = {"left": "left_id", "right": "right_id", "at": "ended_at"}
"""Names that SQL keeps for itself."""

OPERATIONS: Final = {
    "position": "BIGINT",
    "op_id": "VARCHAR",
    "tool": "VARCHAR",
    "device": "VARCHAR",
    "host": "VARCHAR",
    "stream": "VARCHAR",
    "local_seq": "BIGINT",
    "recorded_at": "BIGINT",
    "logged_at": "BIGINT",
    "order_hlc": "BIGINT",
    "agent": "VARCHAR",
    "client": "VARCHAR",
    "session": "VARCHAR",
    "principal": "VARCHAR",
    "session_mode": "VARCHAR",
    "memory_mode": "VARCHAR",
    "call_id": "VARCHAR",
    "outcome": "VARCHAR",
    "payload": "VARCHAR",
}
TRAIL: Final = {
    "segment": "VARCHAR",
    "place": "BIGINT",
    "op_id": "VARCHAR",
    "tool": "VARCHAR",
    "device": "VARCHAR",
    "host": "VARCHAR",
    "local_seq": "BIGINT",
    "recorded_at": "BIGINT",
    "logged_at": "BIGINT",
    "agent": "VARCHAR",
    "client": "VARCHAR",
    "session": "VARCHAR",
    "principal": "VARCHAR",
    "session_mode": "VARCHAR",
    "memory_mode": "VARCHAR",
    "outcome": "VARCHAR",
    "code": "VARCHAR",
    "times": "BIGINT",
    "payload": "VARCHAR",
}
TEXTS: Final = {
    "drawer_id": "VARCHAR",
    "wing": "VARCHAR",
    "room": "VARCHAR",
    "position": "BIGINT",
    "content": "VARCHAR",
}
FACTS: Final = {
    "fact_id": "VARCHAR",
    "wing": "VARCHAR",
    "subject": "VARCHAR",
    "predicate": "VARCHAR",
    "object": "VARCHAR",
    "valid_from": "BIGINT",
    "valid_to": "BIGINT",
    "confidence": "DOUBLE",
    "partition": "VARCHAR",
}

_INSTANT: Final = f"""
CREATE MACRO instant(us) AS
    CASE WHEN us >= {ENDLESS} THEN NULL ELSE make_timestamptz(us) END
"""
_DRAWERS_AS_OF: Final = f"""
CREATE MACRO drawers_as_of(ts) AS TABLE
WITH held AS (
    SELECT * FROM stored.supports WHERE believed_until = {STILL_BELIEVED}
), reaching AS (
    SELECT drawer_id, valid_from, valid_to, max(valid_to) OVER (
        PARTITION BY drawer_id ORDER BY valid_from, valid_to
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reach
    FROM held WHERE valid_from < valid_to
), numbered AS (
    SELECT *, sum(CASE WHEN reach >= valid_from THEN 0 ELSE 1 END) OVER (
        PARTITION BY drawer_id ORDER BY valid_from, valid_to ROWS UNBOUNDED PRECEDING
    ) AS run
    FROM reaching
), intervals AS (
    SELECT drawer_id, min(valid_from) AS valid_from, max(valid_to) AS valid_to
    FROM numbered GROUP BY drawer_id, run
), shows AS (
    SELECT * FROM held QUALIFY row_number() OVER (
        PARTITION BY drawer_id ORDER BY "rank" DESC, id DESC
    ) = 1
)
SELECT intervals.drawer_id, texts.wing, texts.room, texts.content, shows.tags,
    shows.source_file, shows.added_by, shows.metadata,
    instant(intervals.valid_from) AS valid_from, instant(intervals.valid_to) AS valid_to,
    instant(shows.recorded_at) AS recorded_at, shows.op_id
FROM intervals
JOIN shows ON shows.drawer_id = intervals.drawer_id
JOIN stored.texts AS texts ON texts.drawer_id = intervals.drawer_id
WHERE intervals.valid_from <= epoch_us(ts::TIMESTAMPTZ)
    AND intervals.valid_to > epoch_us(ts::TIMESTAMPTZ)
ORDER BY shows.recorded_at DESC, intervals.drawer_id
"""
_FACTS_AS_OF: Final = """
CREATE MACRO facts_as_of(ts) AS TABLE
SELECT fact_id, wing, subject, predicate, object,
    instant(valid_from) AS valid_from, instant(valid_to) AS valid_to, confidence
FROM stored.facts AS facts
WHERE facts.valid_from <= epoch_us(ts::TIMESTAMPTZ)
    AND facts.valid_to > epoch_us(ts::TIMESTAMPTZ)
ORDER BY facts.valid_from, facts.fact_id
"""
_OPERATIONS_BETWEEN: Final = """
CREATE MACRO operations_between(a, b) AS TABLE
SELECT * FROM operations
WHERE recorded_at >= a::TIMESTAMPTZ AND recorded_at < b::TIMESTAMPTZ
ORDER BY position
"""


def creation() -> Iterator[str]:
    """What an empty copy is made with, statement by statement."""
    yield "CREATE SCHEMA stored"
    yield "CREATE TABLE stored.about (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)"
    yield _INSTANT
    for name, columns in tables().items():
        said = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        yield f"CREATE TABLE stored.{name} ({said})"
        yield f"CREATE VIEW {name} AS SELECT {_shown(columns)} FROM stored.{name}"
    yield from (_DRAWERS_AS_OF, _FACTS_AS_OF, _OPERATIONS_BETWEEN)


def tables() -> dict[str, dict[str, str]]:
    """Every table that is copied or derived, with its columns and their types."""
    own = {"operations": OPERATIONS, "trail": TRAIL, "texts": TEXTS, "facts": FACTS}
    return own | {table.name: belief_columns(table) for table in BELIEFS.values()}


def belief_columns(table: Table) -> dict[str, str]:
    """The columns of a table of beliefs, without `key`, which numbers what may be numbered
    otherwise in a rebuild.
    """
    return {column.name: _type(column) for column in table.c if column.name != "key"}


def _type(column: Column[Any]) -> str:
    return next(name for kind, name in _TYPES.items() if isinstance(column.type, kind))


def _shown(columns: dict[str, str]) -> str:
    shown = (name for name in columns if name not in _INSIDE and not name.endswith("_key"))
    return ", ".join(_column(name) for name in shown)


def _column(name: str) -> str:
    alias = _RENAMED.get(name, name)
    if name in _TIMES:
        return f'instant("{name}") AS {alias}'
    if name == "believed_until":
        return f"nullif(believed_until, {STILL_BELIEVED}) AS believed_until"
    return f'"{name}" AS {alias}'
