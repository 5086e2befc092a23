"""Given events, then what is believed: in any order of arrival, any number of times.

    given(FACTS, kg_add(1, "Lyon", since=3), kg_add(2, "Nice", since=1)).then(
        one_value, ["Nice 1..3", "Lyon 3.."]
    )

The first argument of a builder is the stamp: events are listed as they happened, and arrive as
`order` says. The op_id is made of device and stamp, so that a later event can name an earlier one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from typing import Any

from domain.belief import Event, Fold, fold_all
from domain.catalog import records_of
from domain.conflicts import Conflict
from domain.drawers import Support, valid_time
from domain.facts import Assertion, Fact, derive
from domain.identity import drawer_id
from domain.instants import ENDLESS
from domain.operation import rank
from tests.memory_engine import MemoryEngine, comparable_row

WING, ROOM = "home", "notes"
_TEXTS: dict[str, str] = {}
PERMUTED_EVENTS_MAX = 4
SHUFFLES = 12

Reading = Callable[[Iterable[Any]], Any]


def event(tool: str, stamp: int, device: str, **payload: Any) -> Event:
    """An event of one part; what is None is left out, and the rest is of the form that a log
    takes.
    """
    given = {name: value for name, value in payload.items() if value is not None}
    records = records_of(tool)
    assert records is not None, f"{tool} records nothing"
    records.model_validate(given)
    place = rank(stamp, device, "shared", stamp, 0)
    return Event(f"{device}-{stamp}", tool, given, place, stamp)


def kg_add(
    stamp: int,
    object: str,
    since: int | None = None,
    until: int | None = None,
    *,
    device: str = "ada",
    **more: Any,
) -> Event:
    """Kiran lives in `object`, from `since` (default: the stamp) until `until`."""
    start = stamp if since is None else since
    about = _about(more)
    return event("kg_add", stamp, device, **about, object=object, valid_from=start, valid_to=until)


def invalidate(
    stamp: int, object: str, ended: int | None = None, *, device: str = "ada", **more: Any
) -> Event:
    """Kiran does not live in `object` since `ended` (default: the stamp)."""
    end = stamp if ended is None else ended
    return event("kg_invalidate", stamp, device, **_about(more), object=object, ended=end)


def supersede(
    stamp: int, old: str, new: str, at: int | None = None, *, device: str = "ada", **more: Any
) -> Event:
    """Kiran lives in `new` instead of `old`, from `at` (default: the stamp)."""
    start = stamp if at is None else at
    about = _about(more)
    return event("kg_supersede", stamp, device, **about, old_object=old, new_object=new, at=start)


def declare(
    stamp: int,
    cardinality: str = "one",
    *,
    predicate: str = "city",
    wing: str | None = None,
    device: str = "ada",
) -> Event:
    """A predicate has one value at a time or many, in one wing or in every wing."""
    stated = {"predicate": predicate, "cardinality": cardinality, "wing": wing}
    return event("kg_declare_predicate", stamp, device, **stated)


def add_drawer(
    stamp: int,
    text: str,
    since: int | None = None,
    until: int | None = None,
    *,
    revives: Sequence[Event] = (),
    supersedes: str | None = None,
    device: str = "ada",
    **more: Any,
) -> Event:
    """Store `text`; `revives` are the tombstones of it that the device knows."""
    start = stamp if since is None else since
    old = None if supersedes is None else named(supersedes)
    filled = _filled(text, revives) | {"valid_from": start, "valid_to": until, "supersedes": old}
    return event("add_drawer", stamp, device, **filled, **more)


def update(
    stamp: int,
    old: str,
    new: str,
    *,
    revives: Sequence[Event] = (),
    device: str = "ada",
    **more: Any,
) -> Event:
    """The text `old` becomes `new`."""
    filled = _filled(new, revives) | {"previous": named(old)}
    return event("update_drawer", stamp, device, **filled, **more)


def supersede_drawer(
    stamp: int,
    old: str,
    new: str | None = None,
    at: int | None = None,
    *,
    revives: Sequence[Event] = (),
    device: str = "ada",
    **more: Any,
) -> Event:
    """The drawer of `old` ends at `at` (default: the stamp); `new`, if any, opens there."""
    start = stamp if at is None else at
    filled = {} if new is None else _filled(new, revives)
    ended = {"supersedes": named(old), "valid_from": start}
    return event("supersede_drawer", stamp, device, **filled, **ended, **more)


def delete(stamp: int, text: str, *, device: str = "ada", **more: Any) -> Event:
    """Hide the drawer of `text`."""
    return event("delete_drawer", stamp, device, drawer_id=named(text), **more)


def named(text: str) -> str:
    """The id of the drawer that these tests keep a text in."""
    id = drawer_id(WING, ROOM, text)
    _TEXTS[id] = text
    return id


def _about(more: dict[str, Any]) -> dict[str, Any]:
    return {"wing": "facts", "subject": "Kiran", "predicate": "city"} | more


def _filled(text: str, revives: Sequence[Event]) -> dict[str, Any]:
    known = [tombstone.op_id for tombstone in revives] or None
    place = {"drawer_id": named(text), "wing": WING, "room": ROOM, "content": text}
    return place | {"revives": known}


class Scenario:
    """Events, folded by one replica for each order of arrival."""

    def __init__(self, fold: Fold, replicas: Sequence[MemoryEngine]) -> None:
        self.fold = fold
        self.replicas = replicas

    def then(self, reading: Reading, expected: Any) -> Scenario:
        """Every replica reads the same, and it is what was expected."""
        for replica in self.replicas:
            assert reading(replica.rows()) == expected
        return self


def given(fold: Fold, *events: Event, times: int = 1, order: str | int = "any") -> Scenario:
    """Fold events in canonical order, whatever the order in which they arrive.

    Args:
        times: how often each event is delivered; a log drops what it holds.
        order: "any": all orders of a few events, a selection of more; "listed": as they stand; a
            number: the shuffle of that seed.
    """
    replicas = [MemoryEngine(fold).receive(*arrival) for arrival in _orders(events, times, order)]
    whole = {comparable_row(row) for row in from_zero(fold, events)}
    for replica in replicas:
        assert replica.state() == whole
        assert replica.position == len(events)
    return Scenario(fold, replicas)


def from_zero(fold: Fold, events: Iterable[Event]) -> list[Any]:
    """The rows of a fold from nothing, key by key, in canonical order. Finds the keys by itself."""
    keys: list[tuple[set[str], list[Event]]] = []
    for one in events:
        members, parts = set(fold.members(one)), [one]
        apart = []
        for key in keys:
            if key[0].isdisjoint(members):
                apart.append(key)
            else:
                members |= key[0]
                parts += key[1]
        keys = [*apart, (members, parts)]
    ordered = [sorted(parts, key=lambda one: one.rank) for _, parts in keys]
    return [row for parts in ordered for row in fold_all(fold, parts).rows()]


def _orders(events: Sequence[Event], times: int, order: str | int) -> Iterable[Sequence[Event]]:
    if isinstance(order, int):
        return [_shuffled(events, times, order)]
    events = tuple(events)
    if order == "listed":
        return [events * times]
    if times == 1 and len(events) <= PERMUTED_EVENTS_MAX:
        return permutations(events)
    shuffles = [_shuffled(events, times, seed) for seed in range(SHUFFLES)]
    return [events * times, events[::-1] * times, *shuffles]


def _shuffled(events: Sequence[Event], times: int, seed: int) -> list[Event]:
    return random.Random(seed).sample([*events] * times, len(events) * times)


def many_values(rows: Iterable[Any]) -> list[str]:
    """The facts of a predicate with many values at a time, as `Lyon 1..3`, by time and object."""
    return facts(derive(_of(Assertion, rows), single=False))


def one_value(rows: Iterable[Any]) -> list[str]:
    """The facts of a predicate with one value at a time."""
    return facts(derive(_of(Assertion, rows), single=True))


def facts(derived: Iterable[Fact]) -> list[str]:
    """Facts as texts."""
    ordered = sorted(derived, key=lambda fact: (fact.valid_from, fact.newest.object_key))
    return [f"{fact.newest.object} {_interval(fact.valid_from, fact.valid_to)}" for fact in ordered]


def assertions(rows: Iterable[Any]) -> list[str]:
    """Every assertion, also those that were never true, in canonical order."""
    ordered = sorted(_of(Assertion, rows), key=lambda row: (row.rank, row.id))
    return [f"{row.object} {_interval(row.valid_from, row.valid_to)}" for row in ordered]


def live(rows: Iterable[Any]) -> dict[str, list[str]]:
    """The texts whose drawers hold a support, and when they are valid."""
    supports: dict[str, list[Support]] = {}
    for row in _of(Support, rows):
        supports.setdefault(_TEXTS[row.drawer_id], []).append(row)
    return {
        text: [_interval(*part) for part in valid_time(held)] for text, held in supports.items()
    }


def kinds_of_conflict(rows: Iterable[Any]) -> list[str]:
    """The kinds of the conflicts listed, sorted."""
    return sorted(row.kind for row in _of(Conflict, rows))


def _of(kind: type[Any], rows: Iterable[Any]) -> list[Any]:
    return [row for row in rows if type(row) is kind]


def _interval(start: int, end: int) -> str:
    return f"{start}.." if end == ENDLESS else f"{start}..{end}"
