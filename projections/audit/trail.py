"""How reads and refusals get into the audit copy: out of the trail's segments, each a month.

Protects retention: a segment that is dropped from the trail leaves the copy too. Reads segments and
never writes one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, column, select, table

from domain.trail import damaged
from projections import trail
from projections.audit.schema import TRAIL
from projections.audit.sources import Connection, append
from projections.reading import Reading
from projections.sqlite import connect, snapshot
from projections.tables import Prepared

_stored = table("stored_events", column("rowid"), column("state"))
_COLUMNS: Final = tuple(name for name in TRAIL if name not in ("segment", "payload"))
_SINCE: Final = Prepared(
    select(*(trail.noted.c[name] for name in _COLUMNS), _stored.c.state)
    .select_from(trail.noted.join(_stored, _stored.c.rowid == trail.noted.c.place))
    .where(trail.noted.c.place > bindparam("after"))
    .order_by(trail.noted.c.place)
)
_COPIED: Final = "SELECT segment, max(place) FROM stored.trail GROUP BY segment"


class Trail:
    """The audit trail of a palace."""

    def __init__(self, folder: Path) -> None:
        """Copy the segments in a folder; it need not exist."""
        self._folder = folder

    def catch_up(self, connection: Connection, reading: Reading, after: int) -> None:
        """Append what was noted since, and forget what the trail has dropped."""
        copied = dict(connection.execute(_COPIED).fetchall())
        there = {path.stem: path for path in trail.segments(self._folder)}
        for gone in copied.keys() - there.keys():
            connection.execute("DELETE FROM stored.trail WHERE segment = ?", [gone])
        for segment, path in sorted(there.items()):
            rows = _rows(segment, path, copied.get(segment, 0))
            try:
                append(connection, "stored.trail", rows, lambda row: len(row[-1] or ""))
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                raise damaged(path.name, error) from error


def _rows(segment: str, path: Path, after: int) -> Iterator[tuple[Any, ...]]:
    with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
        if not trail.is_made(connection.cursor()):
            return
        with snapshot(connection) as cursor:
            for *fields, state in _SINCE(cursor, after=after):
                yield (segment, *fields, orjson.loads(state)["payload"])
