"""How a write on facts is decided: wing, interval and existence resolved before anything is
recorded.

Protects the graph from statements about nothing: what does not exist cannot end or be superseded
where all is known. Pure. A `decide_*` returns what is recorded or raises; an `answer_*` is a
function of the payload alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from domain.belief import Held
from domain.canonical import comparable
from domain.decisions.naming import entity_of, meant
from domain.errors import Refused, invalid
from domain.facts import (
    DEFAULT_WING,
    EVERY_WING,
    FACTS,
    PREDICATES,
    Assertion,
    Declared,
    Fact,
    derive,
    partition,
    register,
    single_valued,
    superseded_targets,
)
from domain.identity import fact_id
from domain.instants import ENDLESS, show
from domain.operations.common import Decided
from domain.operations.facts import (
    KgAddAsks,
    KgDeclarePredicateAsks,
    KgInvalidateAsks,
    KgSupersedeAsks,
)
from domain.ports import Known, Text


def decide_add(asked: KgAddAsks, known: Known, now: int) -> Decided:
    """Resolve an add: its wing, its interval, and whether the fact is held already."""
    source, target = _source_of(asked, known)
    wing = asked.wing or (source.wing if source else DEFAULT_WING)
    wing = known.spelling("wing", wing)
    predicate = known.spelling("predicate", asked.predicate)
    valid_from = now if asked.valid_from is None else asked.valid_from
    valid_to = ENDLESS if asked.valid_to is None else asked.valid_to
    if valid_to <= valid_from:
        raise invalid("valid_to", "is not after valid_from", "Give an end after the start.")
    subject, holder = _held_already(known, asked, wing, predicate, (valid_from, valid_to))
    payload: dict[str, Any] = {
        "wing": wing,
        "subject": subject,
        "predicate": predicate,
        "object": asked.object,
        "valid_from": valid_from,
        "duplicate": holder is not None,
    }
    if valid_to != ENDLESS:
        payload["valid_to"] = valid_to
    if holder is not None:
        payload["held"] = holder.id
    optional = asked.model_dump(include={"confidence", "source_drawer_id", "source_file"})
    payload |= {key: value for key, value in optional.items() if value is not None}
    return Decided(payload, target)


def decide_invalidate(asked: KgInvalidateAsks, known: Known, now: int) -> Decided:
    """Resolve an invalidate: which assertions end; ended by then already is a duplicate."""
    predicate = known.spelling("predicate", asked.predicate)
    ended = now if asked.ended is None else asked.ended
    wing, subject, object = meant(known, asked.wing, asked.subject, predicate, asked.object, ended)
    rows = _held(known, wing, subject, predicate).find(Assertion, "object_key", comparable(object))
    target = _existence(known, rows, asked.object)
    ending = [row for row in rows if row.valid_to > ended]
    payload: dict[str, Any] = {
        "wing": wing,
        "subject": subject,
        "predicate": predicate,
        "object": object,
        "ended": ended,
        "fact_ids": [row.id for row in ending],
        "duplicate": bool(rows) and not ending,
    }
    if payload["duplicate"]:
        payload["ended"] = max(row.valid_to for row in rows)
        payload["fact_ids"] = [row.id for row in rows]
    return Decided(payload, target)


def decide_supersede(asked: KgSupersedeAsks, known: Known, now: int) -> Decided:
    """Resolve a supersede: what ends, what opens; one in effect already is a duplicate."""
    predicate = known.spelling("predicate", asked.predicate)
    at = now if asked.at is None else asked.at
    wing, subject, old_object = meant(
        known, asked.wing, asked.subject, predicate, asked.old_object, at
    )
    if comparable(asked.new_object) in (comparable(asked.old_object), comparable(old_object)):
        raise Refused("facts::same", "old_object and new_object are the same.", "Name two objects.")
    held = _held(known, wing, subject, predicate)
    old = held.find(Assertion, "object_key", comparable(old_object))
    target = _existence(known, old, asked.old_object)
    payload: dict[str, Any] = {
        "wing": wing,
        "subject": subject,
        "predicate": predicate,
        "old_object": old_object,
        "new_object": asked.new_object,
        "at": at,
        "duplicate": False,
    }
    in_effect = _in_effect(held, old, comparable(asked.new_object))
    if in_effect is not None:
        closed = [row.id for row in old if row.successor == in_effect.id]
        return Decided(
            payload | {"duplicate": True, "held": in_effect.id, "superseded": closed}, target
        )
    targets = superseded_targets(held, old, at)
    if targets and all(at < row.valid_from for row in targets):
        raise invalid("at", "is before the old object began to be true", "Give a later `at`.")
    return Decided(payload | {"superseded": [row.id for row in targets]}, target)


def decide_declare(asked: KgDeclarePredicateAsks, known: Known, now: int) -> Decided:
    """Resolve a declaration; the one in force already is a duplicate."""
    predicate = known.spelling("predicate", asked.predicate)
    scope = known.spelling("wing", asked.wing) if asked.wing else EVERY_WING
    id = register(scope, predicate)
    standing = known.held(PREDICATES, id).find(Declared, "id", id)
    duplicate = any(row.cardinality == asked.cardinality for row in standing)
    payload: dict[str, Any] = {
        "predicate": predicate,
        "cardinality": asked.cardinality,
        "duplicate": duplicate,
    }
    return Decided(payload | {"wing": scope} if asked.wing else payload)


def _held_already(
    known: Known, asked: KgAddAsks, wing: str, predicate: str, when: tuple[int, int]
) -> tuple[str, Assertion | Fact | None]:
    """The subject of an add, and what holds it already: a name is its entity, where the fact does
    not stand under the name itself from before the two were one.
    """
    entity = entity_of(known, asked.subject, wing)
    for subject in dict.fromkeys((entity, known.spelling("subject", asked.subject))):
        for one in _standing(known, wing, subject, predicate, comparable(asked.object)):
            if one.valid_from <= when[0] and when[1] <= one.valid_to:
                return subject, one
    return entity, None


def _source_of(asked: KgAddAsks, known: Known) -> tuple[Text | None, str | None]:
    """The text that a fact was learnt from, and whether it was seen."""
    if asked.source_drawer_id is None:
        return None, None
    text = known.text(asked.source_drawer_id)
    if text is None and known.complete and asked.wing is None:
        raise Refused(
            "drawers::unknown",
            f"{asked.source_drawer_id} is not known here.",
            "Give the id of a stored drawer, or name the wing and leave the source out.",
        )
    return text, "unverified" if text is None else "known"


def _existence(known: Known, rows: Sequence[Assertion], object: str) -> str:
    if rows:
        return "known"
    if not known.complete:
        return "unverified"
    raise Refused(
        "facts::unknown",
        f"No fact of this subject and predicate has the object {object[:80]!r}.",
        "Look it up with kg_query; names are compared without regard to case and spacing.",
    )


def _in_effect(held: Held, old: Sequence[Assertion], new_key: str) -> Assertion | None:
    """The assertion that already took the place of the old ones, where it still stands
    unsuperseded.
    """
    if any(row.valid_to == ENDLESS for row in old):
        return None
    led_to = {row.successor for row in old if row.successor_key == new_key}
    standing = held.find(Assertion, "object_key", new_key) if led_to else []
    return next((row for row in standing if row.id in led_to and row.valid_to == ENDLESS), None)


def _standing(
    known: Known, wing: str, subject: str, predicate: str, object_key: str
) -> Sequence[Assertion | Fact]:
    """What holds an object: its assertions; where one value only may hold, what others leave."""
    held = _held(known, wing, subject, predicate)
    declared = [
        row
        for id in (register(EVERY_WING, predicate), register(wing, predicate))
        for row in known.held(PREDICATES, id).find(Declared, "id", id)
    ]
    if not single_valued(declared, comparable(wing), comparable(predicate)):
        return held.find(Assertion, "object_key", object_key)
    rows = held.find(Assertion, "partition", partition(wing, subject, predicate))
    facts = derive(rows, single=True)
    return [fact for fact in facts if fact.newest.object_key == object_key]


def _held(known: Known, wing: str, subject: str, predicate: str) -> Held:
    return known.held(FACTS, partition(wing, subject, predicate))


def answer_add(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The fact; where it was held already, the one that holds it."""
    return {"fact_id": payload.get("held") or fact_id(op_id)}


def answer_invalidate(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The facts that end, and when."""
    return {"fact_ids": payload["fact_ids"], "ended": show(payload["ended"])}


def answer_supersede(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The fact that opens, and those that it closes."""
    opened = payload.get("held") or fact_id(op_id)
    return {"fact_id": opened, "superseded": payload["superseded"]}


def answer_declare(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The predicate in the spelling in use."""
    return {"predicate": payload["predicate"], "cardinality": payload["cardinality"]}
