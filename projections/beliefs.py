"""The belief engine: folds events into belief rows that remember from and until which position they
held.

Protects `known_at`: a row that changes is closed at the position of the event that changed it and
opened anew; nothing is ever overwritten. An event in canonical order evolves the rows that it asks
for; a late one refolds its own key from all of the key's events. May not know what the rows mean:
that is the folds' business.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, insert, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from domain.belief import LOCAL, UNDO, Event, Fold, Held, fold_parts
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared, keys, members, touches

Load = Callable[[Fold, Sequence[tuple[int, bytes]]], Iterable[Event]]
"""The parts of stored events that a fold takes, given (position, rank) pairs in canonical order."""

_B = bindparam

_KEY_OF = Prepared(
    select(members.c.key).where(members.c.area == _B("area"), members.c.member == _B("member"))
)
_KEY_AND_NEWEST = Prepared(
    select(
        members.c.key,
        select(func.max(touches.c.rank)).where(touches.c.key == members.c.key).scalar_subquery(),
    ).where(members.c.area == _B("area"), members.c.member == _B("member"))
)
_ADD_MEMBER = Prepared(insert(members))
_ADD_KEY = Prepared(insert(keys).values(area=_B("area")))
_TOUCH = Prepared(upsert(touches))
_TOUCHES = Prepared(
    select(touches.c.position, touches.c.rank)
    .where(touches.c.key == _B("key"))
    .order_by(touches.c.rank)
)
_TOUCHED_AT = Prepared(
    select(touches.c.key, touches.c.rank, keys.c.area)
    .join(keys, keys.c.key == touches.c.key)
    .where(touches.c.position == _B("position"))
)
_UNTOUCH = Prepared(delete(touches).where(touches.c.key == _B("key"), touches.c.rank == _B("rank")))
_TOUCHES_COUNT = Prepared(select(func.count()).where(touches.c.key == _B("key")))
_DROP_KEY = Prepared(delete(keys).where(keys.c.key == _B("key")))
_MOVE: Final = [
    Prepared(update(table).where(table.c.key == _B("old")).values(key=_B("new")))
    for table in (members, touches, *BELIEFS.values())
]


class _Kind:
    """The statements of one row class."""

    def __init__(self, kind: type[Any]) -> None:
        table = BELIEFS[kind]
        fields = [table.c[name] for name in kind._fields]
        live = table.c.believed_until == STILL_BELIEVED
        row = [*fields, table.c.believed_from, literal_column(f"{table.name}.rowid")]
        self.make = kind._make
        self.width = len(fields)
        self.all = Prepared(select(*row).where(table.c.key == _B("key"), live))
        self.find = {
            column.name: Prepared(
                select(*row).where(table.c.key == _B("key"), column == _B("value"), live)
            )
            for column in fields
        }
        names = [column.name for column in table.c]
        marks = ", ".join("?" * len(names))
        quoted = ", ".join(f'"{name}"' for name in names)
        self.open = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"
        self.close = f"UPDATE {table.name} SET believed_until = ? WHERE rowid = ?"
        self.remove = f"DELETE FROM {table.name} WHERE rowid = ?"


_KINDS: Final = {kind: _Kind(kind) for kind in BELIEFS}


class Beliefs:
    """The belief rows of one views file, changed on its writing cursor."""

    def __init__(self, cursor: sqlite3.Cursor, load: Load) -> None:
        """Work on `cursor`, inside its transaction; `load` reads events back for a refold."""
        self._cursor = cursor
        self._load = load

    def fold(self, fold: Fold, part: Event, position: int) -> None:
        """Take one part of an event at a position into the rows of its key."""
        key, newest = self._touch(fold.area(part), fold.touched(part), part.rank, position)
        if part.tool == UNDO or (newest is not None and newest > part.rank):
            self.refold(fold, key, position)
            return
        stored = _Stored(self._cursor, key)
        fetch = None if newest is None else stored.fetch
        held = fold.evolve(Held(fold.indexes, fetch), part)
        self._write(held.changes(), stored.places, key, position)

    def refold(self, fold: Fold, key: int, position: int) -> None:
        """Fold a key from all of its events in canonical order, and write what is different."""
        held = fold_parts(fold, self.parts(fold, key))
        stored = _Stored(self._cursor, key)
        before = {(type(row), row.id): row for kind in fold.kinds for row in stored.all(kind)}
        after = {(type(row), row.id): row for row in held.rows()}
        places = dict.fromkeys([*before, *after])
        pairs = ((before.get(place), after.get(place)) for place in places)
        differing = ((old, new) for old, new in pairs if old != new)
        self._write(differing, stored.places, key, position)

    def parts(self, fold: Fold, key: int) -> list[Event]:
        """Every part that touched a key, in canonical order."""
        return list(self._load(fold, _TOUCHES(self._cursor, key=key).fetchall()))

    def keys_of(self, fold: Fold, member: str) -> list[int]:
        """The keys that a member belongs to: of what travels, and of what is local."""
        areas = (fold.name, fold.name + LOCAL)
        found = (_KEY_OF(self._cursor, area=area, member=member).fetchone() for area in areas)
        return [key for (key,) in filter(None, found)]

    def held(self, fold: Fold, member: str) -> Held:
        """The current rows of the keys that a member belongs to; empty where there is none."""
        stored = [_Stored(self._cursor, key) for key in self.keys_of(fold, member)]

        def fetch(kind: type[Any], field: str, value: str) -> Iterator[Any]:
            return (row for one in stored for row in one.fetch(kind, field, value))

        return Held(fold.indexes, fetch)

    def restamp(self, position: int, stamp: bytes) -> list[tuple[str, int]]:
        """Give the touches of an event a new stamp (8 bytes); returns the (area, key) pairs to be
        refolded.
        """
        touched = _TOUCHED_AT(self._cursor, position=position).fetchall()
        for key, before, _ in touched:
            after = stamp + before[8:]
            _UNTOUCH(self._cursor, key=key, rank=before)
            _TOUCH(self._cursor, key=key, rank=after, position=position)
        return [(area, key) for key, _, area in touched]

    def _touch(
        self, area: str, touched: Sequence[str], rank: bytes, position: int
    ) -> tuple[int, bytes | None]:
        """The key that the members share, and its newest rank so far; None of one that is new."""
        cursor = self._cursor
        found: dict[str, tuple[int, bytes]] = {}
        for member in touched:
            row = _KEY_AND_NEWEST(cursor, area=area, member=member).fetchone()
            if row is not None:
                found[member] = row
        key = self._merged({key for key, _ in found.values()}) if found else self._new_key(area)
        for member in touched:
            if member not in found:
                _ADD_MEMBER(cursor, area=area, member=member, key=key)
        _TOUCH(cursor, key=key, rank=rank, position=position)
        return key, max((newest for _, newest in found.values()), default=None)

    def _new_key(self, area: str) -> int:
        key = _ADD_KEY(self._cursor, area=area).lastrowid
        assert key is not None
        return key

    def _merged(self, joining: set[int]) -> int:
        """One key for all: the smaller ones move into the one with the most events."""
        if len(joining) == 1:
            return joining.pop()
        counts = {key: _TOUCHES_COUNT(self._cursor, key=key).fetchone()[0] for key in joining}
        survivor = max(joining, key=lambda key: (counts[key], -key))
        for key in joining - {survivor}:
            for move in _MOVE:
                move(self._cursor, old=key, new=survivor)
            _DROP_KEY(self._cursor, key=key)
        return survivor

    def _write(
        self,
        changes: Iterable[tuple[Any | None, Any | None]],
        places: dict[tuple[type[Any], str], tuple[int, int]],
        key: int,
        position: int,
    ) -> None:
        cursor = self._cursor
        for before, after in changes:
            if before is not None:
                kind = _KINDS[type(before)]
                rowid, believed_from = places[type(before), before.id]
                if believed_from == position:
                    cursor.execute(kind.remove, (rowid,))
                else:
                    cursor.execute(kind.close, (position, rowid))
            if after is not None:
                row = (*after, key, position, STILL_BELIEVED)
                cursor.execute(_KINDS[type(after)].open, row)


class _Stored:
    """The stored rows of one key, and where each one that was read lies."""

    def __init__(self, cursor: sqlite3.Cursor, key: int) -> None:
        self._cursor = cursor
        self._key = key
        self.places: dict[tuple[type[Any], str], tuple[int, int]] = {}

    def fetch(self, kind: type[Any], field: str, value: str) -> Iterator[Any]:
        """The rows of a kind with that value."""
        statement = _KINDS[kind].find[field]
        return self._read(kind, statement(self._cursor, key=self._key, value=value).fetchall())

    def all(self, kind: type[Any]) -> Iterator[Any]:
        """All rows of a kind."""
        return self._read(kind, _KINDS[kind].all(self._cursor, key=self._key).fetchall())

    def _read(self, kind: type[Any], rows: list[tuple[Any, ...]]) -> Iterator[Any]:
        make, width = _KINDS[kind].make, _KINDS[kind].width
        for row in rows:
            found = make(row[:width])
            self.places[kind, found.id] = row[width + 1], row[width]
            yield found
