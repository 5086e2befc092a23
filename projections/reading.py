"""A read: one snapshot of the views at one moment, with everything that queries ask it.

Protects `known_at`: every row comes through `believed`, which lets only those through that the log
believed at the moment's position. May not write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import bindparam, func, select

from domain.belief import Row
from domain.drawers import known, reached
from domain.errors import invalid
from domain.instants import AtInstant, AtPosition, KnownAt, Moment, show
from domain.operation import stamp_of
from domain.operations.common import default_as_of
from domain.ports import LogReader, TrailReader
from projections import tables
from projections.meaning import Meaning
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared
from projections.views import read_checkpoint

_B = bindparam
R = TypeVar("R", bound=Row)


def believed(table: Any) -> Any:
    """The condition that a belief row was held at `:position`."""
    position: Any = _B("position")
    return (table.c.believed_from <= position) & (table.c.believed_until > position)


def fields_of(kind: type[Any]) -> list[Any]:
    """The columns of a row class, in its order."""
    return [BELIEFS[kind].c[name] for name in kind._fields]


_FIND: Final = {
    (kind, column.name): Prepared(
        select(*fields_of(kind))
        .where(column == _B("value"), believed(table))
        .order_by(table.c.rank, table.c.id)
    )
    for kind, table in BELIEFS.items()
    for column in fields_of(kind)
}
_ALL: Final = {
    kind: Prepared(
        select(*fields_of(kind)).where(believed(table)).order_by(table.c.rank, table.c.id)
    )
    for kind, table in BELIEFS.items()
}
_POSITION_AT = Prepared(
    select(tables.operations.c.position)
    .where(tables.operations.c.logged_at <= _B("instant"))
    .order_by(tables.operations.c.logged_at.desc())
    .limit(1)
)
_LOGGED_AT = Prepared(
    select(tables.operations.c.logged_at).where(tables.operations.c.position == _B("position"))
)
_ORIGIN = Prepared(
    select(
        tables.operations.c.op_id,
        tables.operations.c.position,
        tables.operations.c.tool,
        tables.operations.c.device,
        tables.operations.c.host,
        tables.operations.c.agent,
        tables.operations.c.recorded_at,
    ).where(tables.operations.c.op_id == _B("op_id"))
)
_NEWEST_RANK = Prepared(select(func.max(tables.operations.c.rank)))


class Origin(NamedTuple):
    """Who recorded an operation, where and when."""

    op_id: str
    position: int
    tool: str
    device: str
    host: str | None
    agent: str | None
    recorded_at: int


class Rows:
    """The belief rows that were held at a position."""

    def __init__(self, cursor: sqlite3.Cursor, position: int = STILL_BELIEVED - 1) -> None:
        """Read through a cursor; without a position what is held now."""
        self.cursor = cursor
        self._position = position

    @property
    def position(self) -> int:
        """The position that beliefs are read at."""
        return self._position

    def find(self, kind: type[R], field: str, value: str) -> list[R]:
        """The rows of a kind with a value in a field, in canonical order."""
        rows = _FIND[kind, field](self.cursor, value=value, position=self.position)
        return [kind(*row) for row in rows.fetchall()]

    def all(self, kind: type[R]) -> list[R]:
        """All rows of a kind, in canonical order."""
        return [kind(*row) for row in _ALL[kind](self.cursor, position=self.position).fetchall()]

    def rows(self, statement: Prepared, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement that conditions on `believed`."""
        return statement(self.cursor, position=self.position, **parameters).fetchall()


class Reading(Rows):
    """One snapshot at one moment."""

    def __init__(
        self,
        cursor: sqlite3.Cursor,
        log: LogReader,
        trail: TrailReader,
        *,
        now: int,
        device: str,
        as_of: int | None = None,
        known_at: KnownAt | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        """Read through a cursor in a snapshot.

        Args:
            now: the present, microseconds UTC.
            device: this palace's identity.
            as_of, known_at: the moment asked for; None for the present.
            meaning: what ranks by meaning; None where the palace has no embedder.
        """
        super().__init__(cursor)
        self.log = log
        self.trail = trail
        self.now = now
        self.device = device
        self.meaning = meaning
        self.checkpoint = read_checkpoint(cursor)
        self.moment = self._moment(as_of, known_at)

    @property
    def position(self) -> int:
        """The position that beliefs are read at."""
        return self.moment.position

    @property
    def as_of(self) -> int:
        """The instant that facts must hold at, microseconds UTC."""
        return self.moment.as_of

    def origin(self, op_id: str) -> Origin:
        """Who recorded an operation that this log holds."""
        return Origin(*_ORIGIN(self.cursor, op_id=op_id).fetchone())

    def newest_stamp(self) -> int:
        """The highest stamp of any event that the views have folded, -1 where there is none."""
        newest = _NEWEST_RANK(self.cursor).fetchone()[0]
        return -1 if newest is None else stamp_of(newest)

    def pin(self, position: int, as_of: int, known_at: int | None) -> None:
        """Read at the moment of a list's first page."""
        self.moment = Moment(as_of, position, known_at)

    def at(self, known_at: KnownAt) -> Reading:
        """The same snapshot at another moment of log time, and of valid time with it."""
        return Reading(
            self.cursor,
            self.log,
            self.trail,
            now=self.now,
            device=self.device,
            known_at=known_at,
            meaning=self.meaning,
        )

    def hidden(self, drawer_id: str) -> bool:
        """Whether a drawer was known and no support of it is left, wherever updates took them."""
        return known(self, drawer_id) and not reached(self, drawer_id)

    def shown(self, *, all_of_time: bool = False) -> dict[str, Any]:
        """What every answer says of the log and the moment."""
        moment = self.moment
        return {
            "log_id": self.checkpoint.log_id,
            "position": moment.position,
            "as_of": None if all_of_time else show(moment.as_of),
            "known_at": None if moment.known_at is None else show(moment.known_at),
        }

    def _moment(self, as_of: int | None, known_at: KnownAt | None) -> Moment:
        head = self.checkpoint.position
        if known_at is None:
            position, then = head, None
        elif isinstance(known_at, AtInstant):
            found = _POSITION_AT(self.cursor, instant=known_at.instant).fetchone()
            position, then = found[0] if found else 0, known_at.instant
        elif isinstance(known_at, AtPosition):
            position = min(known_at.position, head)
            then = self._logged_at(position)
        else:
            raise invalid(
                "known_at",
                "names a position of a primary, and this palace follows none",
                "Give an instant, or `@position` of this log.",
            )
        if as_of is None:
            as_of = default_as_of(known_at, self.now, lambda _: self._logged_at(position))
        return Moment(as_of, position, then)

    def _logged_at(self, position: int) -> int:
        row = _LOGGED_AT(self.cursor, position=position).fetchone()
        return 0 if row is None else int(row[0])
