"""Facts: how assertions about the world open, join, end and supersede each other.

Protects the knowledge graph from the order of arrival: the fold takes events in canonical order and
keeps every assertion, also the empty ones, so that each id resolves for ever. What is true is
derived from the assertions when it is read (`derive`), which is why declaring a predicate
single-valued rewrites nothing. Pure; rules of DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from domain.belief import Event, Fold, Held, Name
from domain.canonical import comparable
from domain.conflicts import SUPERSEDED_TWICE, TARGET_MISSING, Conflict, note
from domain.identity import fact_id
from domain.instants import ENDLESS
from domain.parts import published_facts, published_predicates

AREA: Final = "facts"
DEFAULT_WING: Final = "facts"
EVERY_WING: Final = ""
_SEPARATOR: Final = "\x1f"


class Assertion(NamedTuple):
    """One statement that an object holds over a half-open interval.

    Attributes:
        id: of the operation that opened it.
        partition: (wing, owner, subject, predicate) in comparable form; see `partition`.
        valid_from, valid_to: microseconds UTC; equal means it was never true, `ENDLESS` that no end
            is known.
        joins: whether a later add of the same object and interval becomes one more source of it.
        opened: K of the event that opened it.
        rank: K of the newest add; assertions sort by it.
        successor, successor_key: id and comparable object of the assertion that superseded it, or
            "".
    """

    id: str
    partition: str
    wing: str
    subject: str
    predicate: str
    object: str
    wing_key: str
    subject_key: str
    predicate_key: str
    object_key: str
    valid_from: int
    valid_to: int
    joins: bool
    opened: bytes
    rank: bytes
    op_id: str
    confidence: float | None = None
    successor: str = ""
    successor_key: str = ""
    successor_op: str = ""


class Source(NamedTuple):
    """Where an assertion was learnt; its id is the fact id that its own add answered with."""

    id: str
    assertion_id: str
    op_id: str
    drawer_id: str | None
    file: str | None
    rank: bytes


class Declared(NamedTuple):
    """How many values a predicate has at a time, in one wing or in every wing (scope "")."""

    id: str
    scope: str
    predicate: str
    predicate_key: str
    cardinality: str
    op_id: str
    rank: bytes


class Fact(NamedTuple):
    """What is shown: assertions of one object that overlap or touch, cut where one value only may
    hold.

    Attributes:
        id: the first of `ids` in canonical order.
        newest: the assertion that shows spelling and confidence.
        successors: ids of the assertions that superseded a part of it.
    """

    id: str
    ids: tuple[str, ...]
    newest: Assertion
    valid_from: int
    valid_to: int
    opened: bytes
    successors: tuple[str, ...]

    def holds_at(self, instant: int) -> bool:
        """Whether it is true at an instant (microseconds UTC)."""
        return self.valid_from <= instant < self.valid_to


def partition(wing: str, subject: str, predicate: str, owner: str = "") -> str:
    """The key under which facts meet; `owner` is empty for public facts."""
    return _SEPARATOR.join((comparable(wing), owner, comparable(subject), comparable(predicate)))


def register(scope: str, predicate: str) -> str:
    """The key of a predicate's declaration in one wing, or in every wing (`EVERY_WING`)."""
    return _SEPARATOR.join((comparable(scope), comparable(predicate)))


def added(held: Held, event: Event) -> Held:
    """kg_add: a new assertion, or one more source of the one with the same object and current
    interval.
    """
    stated = event.payload
    valid_from, valid_to = stated["valid_from"], stated.get("valid_to", ENDLESS)
    id = fact_id(event.op_id, event.part)
    for twin in held.find(Assertion, "object_key", comparable(stated["object"])):
        if twin.joins and (twin.valid_from, twin.valid_to) == (valid_from, valid_to):
            confidence = stated.get("confidence", twin.confidence)
            held.put(twin._replace(rank=event.rank, op_id=event.op_id, confidence=confidence))
            held.put(_source(id, twin.id, event))
            return held
    held.put(_assertion(id, event, stated["object"], valid_from, valid_to, joins=True))
    held.put(_source(id, id, event))
    return held


def invalidated(held: Held, event: Event) -> Held:
    """kg_invalidate: every assertion of the object that reaches beyond `ended` ends there."""
    stated = event.payload
    if stated.get("duplicate"):
        return held
    rows = held.find(Assertion, "object_key", comparable(stated["object"]))
    if not rows:
        note(held, event, AREA, TARGET_MISSING, _partition_of(stated), right=stated["object"])
    for row in rows:
        if row.valid_to > stated["ended"]:
            held.put(row._replace(valid_to=max(row.valid_from, stated["ended"])))
    return held


def superseded(held: Held, event: Event) -> Held:
    """kg_supersede: the old object ends at `at`, the new one opens there as an assertion of its
    own.
    """
    stated = event.payload
    if stated.get("duplicate"):
        return held
    at, new_key = stated["at"], comparable(stated["new_object"])
    old = held.find(Assertion, "object_key", comparable(stated["old_object"]))
    id = fact_id(event.op_id, event.part)
    if not old:
        note(held, event, AREA, TARGET_MISSING, _partition_of(stated), right=stated["old_object"])
    for row in superseded_targets(held, old, at):
        if row.successor and row.successor_key != new_key:
            left = (row.successor_op, row.successor)
            note(held, event, AREA, SUPERSEDED_TWICE, row.partition, left=left, right=id)
        held.put(_closed_by(row, at, id, new_key, event.op_id))
    held.put(_assertion(id, event, stated["new_object"], at, ENDLESS, joins=False))
    held.put(_source(id, id, event))
    return held


def superseded_targets(held: Held, old: list[Assertion], at: int) -> list[Assertion]:
    """What a supersede of the assertions `old` at an instant closes.

    Those that reach beyond it. Where no assertion of the old object is endless it had been
    superseded already (on another device): then also those with a successor, and all successors,
    transitively.
    """
    targets = {row.id: row for row in old if row.valid_to > at}
    if any(row.valid_to == ENDLESS for row in old):
        return list(targets.values())
    waiting = [row for row in old if row.successor]
    reached: dict[str, Assertion] = {}
    while waiting:
        row = waiting.pop()
        if row.id not in reached:
            reached[row.id] = row
            if row.successor:
                successors = held.find(Assertion, "object_key", row.successor_key)
                waiting += [found for found in successors if found.id == row.successor]
    return list((targets | reached).values())


def declared(held: Held, event: Event) -> Held:
    """kg_declare_predicate: the last declaration in canonical order counts, over all history."""
    stated = event.payload
    scope, predicate = stated.get("wing", EVERY_WING), stated["predicate"]
    id = register(scope, predicate)
    held.find(Declared, "id", id)
    key = comparable(predicate)
    held.put(
        Declared(
            id, comparable(scope), predicate, key, stated["cardinality"], event.op_id, event.rank
        )
    )
    return held


def derive(assertions: Iterable[Assertion], *, single: bool) -> list[Fact]:
    """What one partition shows: never two overlapping facts of one object, and with `single` never
    two at all.

    Single-valued: in order of (valid_from, K) another object cuts its predecessor and nothing
    resumes.
    """
    real = [row for row in assertions if row.valid_from < row.valid_to]
    if len(real) == 1:
        return [alone(real[0])]
    if single:
        real.sort(key=lambda row: (row.valid_from, row.rank, row.id))
    else:
        real.sort(key=lambda row: (row.object_key, row.valid_from, row.rank, row.id))
    runs: list[_Run] = []
    for row in real:
        if single and runs and runs[-1].newest.object_key != row.object_key:
            runs[-1].valid_to = min(runs[-1].valid_to, row.valid_from)
            if runs[-1].valid_from >= runs[-1].valid_to:
                runs.pop()
        if runs and runs[-1].touches(row):
            runs[-1].take(row)
        else:
            runs.append(_Run(row))
    return [run.fact() for run in runs]


def alone(row: Assertion) -> Fact:
    """What an assertion shows that nothing joins or cuts."""
    successors = (row.successor,) if row.successor else ()
    return Fact(row.id, (row.id,), row, row.valid_from, row.valid_to, row.opened, successors)


def single_valued(declared: Iterable[Declared], wing_key: str, predicate_key: str) -> bool:
    """Whether a predicate has one value at a time in a wing: the wing's own declaration wins."""
    by_scope = {
        row.scope: row.cardinality for row in declared if row.predicate_key == predicate_key
    }
    return by_scope.get(wing_key, by_scope.get(EVERY_WING)) == "one"


class _Run:
    """Assertions of one object, in order of valid_from, each touching what came before it."""

    __slots__ = ("ids", "newest", "opened", "successors", "valid_from", "valid_to")

    def __init__(self, row: Assertion) -> None:
        self.ids = [row.id]
        self.newest = row
        self.opened = row.opened
        self.successors = [row.successor] if row.successor else []
        self.valid_from = row.valid_from
        self.valid_to = row.valid_to

    def touches(self, row: Assertion) -> bool:
        return row.valid_from <= self.valid_to and row.object_key == self.newest.object_key

    def take(self, row: Assertion) -> None:
        if row.opened < self.opened:
            self.opened = row.opened
            self.ids.insert(0, row.id)
        else:
            self.ids.append(row.id)
        if row.rank > self.newest.rank:
            self.newest = row
        self.valid_to = max(self.valid_to, row.valid_to)
        if row.successor:
            self.successors.append(row.successor)

    def fact(self) -> Fact:
        lasts = self.valid_from, self.valid_to
        ids, successors = tuple(self.ids), tuple(self.successors)
        return Fact(ids[0], ids, self.newest, *lasts, self.opened, successors)


def _closed_by(row: Assertion, at: int, id: str, key: str, op_id: str) -> Assertion:
    closed = row._replace(valid_to=max(row.valid_from, min(row.valid_to, at)))
    if row.successor:
        return closed
    return closed._replace(successor=id, successor_key=key, successor_op=op_id)


def _assertion(
    id: str, event: Event, object: str, valid_from: int, valid_to: int, *, joins: bool
) -> Assertion:
    stated = event.payload
    wing, subject, predicate = stated["wing"], stated["subject"], stated["predicate"]
    return Assertion(
        id=id,
        partition=_partition_of(stated),
        wing=wing,
        subject=subject,
        predicate=predicate,
        object=object,
        wing_key=comparable(wing),
        subject_key=comparable(subject),
        predicate_key=comparable(predicate),
        object_key=comparable(object),
        valid_from=valid_from,
        valid_to=valid_to,
        joins=joins,
        opened=event.rank,
        rank=event.rank,
        op_id=event.op_id,
        confidence=stated.get("confidence"),
    )


def _source(id: str, assertion_id: str, event: Event) -> Source:
    stated = event.payload
    drawer, file = stated.get("source_drawer_id"), stated.get("source_file")
    return Source(id, assertion_id, event.op_id, drawer, file, event.rank)


def _partition_of(stated: dict[str, Any]) -> str:
    return partition(stated["wing"], stated["subject"], stated["predicate"])


def mentions(event: Event) -> tuple[tuple[str, str], ...]:
    """The wing and the entities that an event on facts is found by."""
    stated = event.payload
    named = (stated.get(name) for name in ("subject", "object", "old_object", "new_object"))
    entities = dict.fromkeys(comparable(name) for name in named if name)
    return ("wing", comparable(stated["wing"])), *(("entity", key) for key in entities)


def _declared_wing(event: Event) -> tuple[tuple[str, str], ...]:
    wing = event.payload.get("wing")
    return (("wing", comparable(wing)),) if wing else ()


def names(event: Event) -> tuple[Name, ...]:
    """The wing, subject and predicate that an event on facts spells."""
    stated = event.payload
    return (
        Name("wing", "", stated["wing"]),
        Name("subject", "", stated["subject"]),
        Name("predicate", "", stated["predicate"]),
    )


def objects(event: Event) -> tuple[str, ...]:
    """The objects that an event on facts states something about, in comparable form."""
    stated = event.payload
    found = (stated.get(name) for name in ("object", "old_object", "new_object"))
    return tuple(comparable(one) for one in found if one is not None)


def _declared_names(event: Event) -> tuple[Name, ...]:
    predicate = Name("predicate", "", event.payload["predicate"])
    wing = event.payload.get("wing")
    return (predicate, Name("wing", "", wing)) if wing else (predicate,)


_EVOLVE: Final = {
    "kg_add": added,
    "kg_invalidate": invalidated,
    "kg_supersede": superseded,
}

FACTS: Final = Fold(
    name=AREA,
    kinds=(Assertion, Source, Conflict),
    indexes={
        Assertion: ("partition", "object_key"),
        Source: ("assertion_id",),
        Conflict: (),
    },
    members=lambda event: (_partition_of(event.payload),),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    mentions=mentions,
    names=names,
    rests_on=objects,
    parts=published_facts,
)

PREDICATES: Final = Fold(
    name="predicates",
    kinds=(Declared,),
    indexes={Declared: ("id",)},
    members=lambda event: (
        register(event.payload.get("wing", EVERY_WING), event.payload["predicate"]),
    ),
    evolve=declared,
    parts=published_predicates,
    mentions=_declared_wing,
    names=_declared_names,
)
