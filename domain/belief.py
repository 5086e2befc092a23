"""Belief: what a fold holds to be so, and how much of it one event touches.

Protects the folds from knowing where their rows live. A fold is a pure function `evolve(held,
event)` over events in canonical order. `Held` hands it the rows that it asks for (out of a
database, or of nothing for a fold from the start) and remembers before and after, so that the
engine can write the difference: a row that changes is closed at the event's position and opened
anew, and what was believed earlier stays readable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from domain.operation import Operation, is_local, rank, ranked


class Row(Protocol):
    """One belief: a NamedTuple with an `id` that is unique within its kind and key."""

    @property
    def id(self) -> str:
        """Identity within its kind and key."""
        ...

    def __getitem__(self, index: int, /) -> Any:
        """A field by its place, as every NamedTuple has it."""
        ...


UNDO: Final = "undo"
"""The tool whose parts take an operation out of a key; the engine obeys them, no fold does."""

PUBLISH: Final = "publish_wing"
"""Says again what stands in a local wing; its local event takes that out, as an undo does."""

LOCAL: Final = "/local"

R = TypeVar("R", bound=Row)
Fetch = Callable[[type[Any], str, str], Iterable[Any]]


class Event(NamedTuple):
    """What a fold sees of an operation, or of one part of it.

    Attributes:
        rank: canonical order K of the part in this log.
        recorded_at: device time in microseconds UTC.
        part: which part of the operation, from 0.
    """

    op_id: str
    tool: str
    payload: dict[str, Any]
    rank: bytes
    recorded_at: int
    part: int = 0

    @property
    def id(self) -> str:
        """Identity of the part: `<op_id>/<index>`."""
        return f"{self.op_id}/{self.part}"


def event_of(operation: Operation, stamp: int) -> Event:
    """The event of a stored operation as one whole, at the stamp that this log knows for it.

    A null counts as left out: the form that `Records` check allows both.
    """
    header = operation.header
    place = rank(stamp, header.origin_device, header.stream, header.local_seq, 0)
    stated = {name: value for name, value in operation.payload().items() if value is not None}
    return Event(header.op_id, header.tool, stated, place, header.recorded_at)


class Name(NamedTuple):
    """A name as an event spells it; `kind` is wing, room, subject or predicate, `scope` a room's
    wing.
    """

    kind: str
    scope: str
    name: str


def nothing(event: Event) -> tuple[Any, ...]:
    """For folds whose events bring none of a thing."""
    return ()


def part_of(event: Event, index: int, tool: str, payload: dict[str, Any]) -> Event:
    """The part `index` of an event: what one item of it does, as an event of `tool` would."""
    place = ranked(event.rank, index)
    return event._replace(part=index, tool=tool, payload=payload, rank=place)


def one_part(event: Event) -> tuple[Event, ...]:
    """The parts of an operation that is one whole; none once it is redacted or voided."""
    return (event,) if event.payload else ()


def _undone(event: Event, area: str) -> tuple[Event, ...]:
    entries = enumerate(event.payload.get("undone", ()))
    return tuple(part_of(event, i, UNDO, entry) for i, entry in entries if entry["area"] == area)


@dataclass(frozen=True)
class Fold:
    """One area's read model: which rows it keeps, which keys an event touches, how it evolves.

    Attributes:
        name: of the area, as `digest` prints it.
        kinds: the NamedTuple classes of its rows; every `str` field named in `indexes` can be asked
            by.
        members: what a part touches (drawer ids, a partition); members that one part touches share
            a key.
        evolve: changes `held` by one part and returns it. Total: it never raises on a stored event.
        parts: the parts of an event, each with its number, payload and rank.
        mentions: (kind, name) pairs that a part is found by: `drawer`, `wing`, `entity`.
        names: the names that a part spells.
        texts: the texts that a part brings: (drawer_id, wing, room, content).
        rests_on: what a part states something about; an earlier part that shares one of these is
            built on. Default: its members.
    """

    name: str
    kinds: tuple[type[Any], ...]
    indexes: dict[type[Any], tuple[str, ...]]
    members: Callable[[Event], tuple[str, ...]]
    evolve: Callable[[Held, Event], Held]
    parts: Callable[[Event], tuple[Event, ...]] = one_part
    mentions: Callable[[Event], tuple[tuple[str, str], ...]] = nothing
    names: Callable[[Event], tuple[Name, ...]] = nothing
    texts: Callable[[Event], tuple[tuple[str, str, str, str], ...]] = nothing
    rests_on: Callable[[Event], tuple[str, ...]] | None = None

    def split(self, event: Event) -> tuple[Event, ...]:
        """The parts of an event that this fold takes."""
        gives_way = event.tool in (UNDO, PUBLISH) and event.payload.get("undone") is not None
        return _undone(event, self.name) if gives_way else self.parts(event)

    def area(self, part: Event) -> str:
        """Where the keys of a part lie: what is local never shares a key with what travels."""
        return self.name + LOCAL if is_local(part.rank) else self.name

    def touched(self, part: Event) -> tuple[str, ...]:
        """The members of a part of any tool."""
        return tuple(part.payload["members"]) if part.tool == UNDO else self.members(part)

    def built_on(self, part: Event, later: Event) -> bool:
        """Whether a later part states something about what an earlier one stated; an undo states
        nothing.
        """
        if UNDO in (part.tool, later.tool):
            return False
        names = self.rests_on or self.members
        return not set(names(part)).isdisjoint(names(later))


class Finds(Protocol):
    """Anything that answers which rows of a kind have a value in an indexed field, in canonical
    order.
    """

    def find(self, kind: type[R], field: str, value: str) -> list[R]:
        """The rows."""
        ...


class Held:
    """The rows of one key that a fold asked for, as they were and as they now are."""

    def __init__(
        self, indexes: dict[type[Any], tuple[str, ...]], fetch: Fetch | None = None
    ) -> None:
        """Start empty; `fetch(kind, field, value)` answers with the current rows of the key, if
        any.
        """
        self._indexes = indexes
        self._fetch = fetch
        self._asked: set[tuple[type[Any], str, str]] = set()
        self._before: dict[tuple[type[Any], str], Any] = {}
        self._after: dict[tuple[type[Any], str], Any] = {}
        self._by: dict[tuple[type[Any], str, str], dict[str, None]] = {}

    def find(self, kind: type[R], field: str, value: str) -> list[R]:
        """The rows of `kind` whose `field` (an indexed one) equals `value`, in canonical order."""
        asked = (kind, field, value)
        if self._fetch is not None and asked not in self._asked:
            self._asked.add(asked)
            for row in self._fetch(kind, field, value):
                if (kind, row.id) not in self._before:
                    self._before[kind, row.id] = row
                    self._place(row)
        rows = [self._after[kind, id] for id in self._by.get(asked, ())]
        if len(rows) > 1:
            rows.sort(key=_by_rank)
        return rows

    def put(self, row: Row) -> None:
        """Add a row, or change the one of the same kind and id."""
        self._lift(type(row), row.id)
        self._before.setdefault((type(row), row.id), None)
        self._place(row)

    def drop(self, row: Row) -> None:
        """Believe a row no longer."""
        self._lift(type(row), row.id)

    def changes(self) -> Iterator[tuple[Any | None, Any | None]]:
        """(before, after) of every row that differs; None where there was or is none."""
        for place, before in self._before.items():
            after = self._after.get(place)
            if before != after:
                yield before, after

    def rows(self) -> Iterator[Any]:
        """Every row now held (all of them only for a fold from the start)."""
        yield from self._after.values()

    def _place(self, row: Any) -> None:
        kind = type(row)
        self._after[kind, row.id] = row
        for field in self._indexes[kind]:
            self._by.setdefault((kind, field, getattr(row, field)), {})[row.id] = None

    def _lift(self, kind: type[Any], id: str) -> None:
        row = self._after.pop((kind, id), None)
        if row is not None:
            for field in self._indexes[kind]:
                del self._by[kind, field, getattr(row, field)][id]


def _by_rank(row: Any) -> tuple[bytes, str]:
    return row.rank, row.id


def fold_all(fold: Fold, events: Iterable[Event]) -> Held:
    """Fold the events of one key, given in canonical order, from nothing."""
    return fold_parts(fold, [part for event in events for part in fold.split(event)])


def fold_parts(fold: Fold, parts: Sequence[Event]) -> Held:
    """Fold the parts of one key, given in canonical order, from nothing."""
    held = Held(fold.indexes)
    for part in standing(parts):
        held = fold.evolve(held, part)
    return held


def standing(parts: Sequence[Event], *, undos: bool = False) -> list[Event]:
    """The parts of a key that count: without those that were undone, and without the undoing.

    From the last in canonical order to the first, so that an undo which was undone undoes nothing.

    Args:
        undos: also the undos that count.
    """
    undone: set[str] = set()
    kept = []
    for part in reversed(parts):
        if part.op_id in undone:
            continue
        if part.tool == UNDO:
            undone.add(part.payload["op_id"])
        if part.tool != UNDO or undos:
            kept.append(part)
    return kept[::-1]
