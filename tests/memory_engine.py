"""The belief engine in memory: what the one over SQLite must agree with, in as few words as it
takes.

Members that one part touches share a key from then on. A part that is the newest of its key in
canonical order evolves the current rows; a late one refolds its key, and no other, from all its
parts. Every row is believed from one position until another.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from domain.belief import LOCAL, UNDO, Event, Fold, Held, fold_parts

NOT_COMPARED = ("rank", "opened")
"""The fields that hold stamps: equal on replicas that know the same stamps, and no part of what is
believed.
"""

Place = tuple[type[Any], str]


class Belief(NamedTuple):
    """A row, and the positions from which and until which (None: still) it is believed."""

    row: Any
    since: int
    until: int | None


class Key:
    """What belongs together: the parts in canonical order, and the rows that they lead to."""

    def __init__(self) -> None:
        self.parts: list[Event] = []
        self.current: dict[Place, Belief] = {}


class MemoryEngine:
    """One fold over one log."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.position = 0
        self._op_ids: set[str] = set()
        self._keys: dict[str, Key] = {}
        self._past: list[Belief] = []

    def receive(self, *events: Event) -> MemoryEngine:
        """Take events in the order given; one that is held already changes nothing."""
        for event in events:
            if event.op_id not in self._op_ids:
                self._op_ids.add(event.op_id)
                self.position += 1
                for part in self.fold.split(event):
                    self._take(part)
        return self

    def held(self, member: str) -> Held:
        """The current rows of the keys that a member belongs to, asked for one by one."""
        return self._held(*self._keys_of(member))

    def parts(self, member: str) -> list[Event]:
        """Every part of the keys that a member belongs to, in canonical order."""
        found = (part for key in self._keys_of(member) for part in key.parts)
        return sorted(found, key=lambda part: part.rank)

    def _keys_of(self, member: str) -> list[Key]:
        areas = (self.fold.name, self.fold.name + LOCAL)
        return [self._keys[area + member] for area in areas if area + member in self._keys]

    def _held(self, *keys: Key) -> Held:
        def fetch(kind: type[Any], field: str, value: str) -> Iterator[Any]:
            rows = (belief.row for key in keys for belief in key.current.values())
            return (row for row in rows if type(row) is kind and getattr(row, field) == value)

        return Held(self.fold.indexes, fetch)

    def rows(self) -> list[Any]:
        """Every row believed now."""
        return [belief.row for belief in self._current()]

    def rows_at(self, position: int) -> frozenset[Any]:
        """Every row that was believed when the log was `position` events long."""
        return frozenset(
            belief.row
            for belief in [*self._past, *self._current()]
            if belief.since <= position and (belief.until is None or position < belief.until)
        )

    def state(self) -> frozenset[tuple[Any, ...]]:
        """What is believed now, in a form that any two replicas share."""
        return frozenset(map(comparable_row, self.rows()))

    def _current(self) -> Iterator[Belief]:
        for key in {id(key): key for key in self._keys.values()}.values():
            yield from key.current.values()

    def _take(self, part: Event) -> None:
        members = [self.fold.area(part) + one for one in self.fold.touched(part)]
        key = self._key_of(members)
        late = part.tool == UNDO or (bool(key.parts) and part.rank < key.parts[-1].rank)
        insort(key.parts, part, key=lambda one: one.rank)
        if late:
            self._replace(key, fold_parts(self.fold, key.parts).rows())
        else:
            for before, after in self.fold.evolve(self._held(key), part).changes():
                self._change(key, before, after)

    def _key_of(self, members: Iterable[str]) -> Key:
        """The one key of these members; keys that meet become one."""
        met = {id(key): key for member in members if (key := self._keys.get(member))}
        joined, *others = met.values() or [Key()]
        for other in others:
            for part in other.parts:
                insort(joined.parts, part, key=lambda one: one.rank)
            joined.current |= other.current
        moved = [member for member, key in self._keys.items() if key in others]
        self._keys |= dict.fromkeys([*members, *moved], joined)
        return joined

    def _replace(self, key: Key, rows: Iterable[Any]) -> None:
        after = {(type(row), row.id): row for row in rows}
        before = {place: belief.row for place, belief in key.current.items()}
        for place in before.keys() | after.keys():
            if before.get(place) != after.get(place):
                self._change(key, before.get(place), after.get(place))

    def _change(self, key: Key, before: Any | None, after: Any | None) -> None:
        if before is not None:
            belief = key.current.pop((type(before), before.id))
            self._past.append(belief._replace(until=self.position))
        if after is not None:
            assert (type(after), after.id) not in key.current, "the row is there and was not asked"
            key.current[type(after), after.id] = Belief(after, self.position, None)


def comparable_row(row: Any) -> tuple[Any, ...]:
    """A row without the stamps in it, named by its kind."""
    values = row._asdict().items()
    return (type(row).__name__, *(value for name, value in values if name not in NOT_COMPARED))
