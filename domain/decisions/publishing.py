"""How the publishing of a local wing is decided: what stands in it is said again, where it travels.

Protects a wing from being half published: one call records all that stands in the wing in the
shared stream, and takes it out of the local views, which then show it once. What was hidden or
changed before stays here and does not travel. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from domain.belief import Fold
from domain.drawers import DRAWERS, Support, Tombstone
from domain.errors import Refused
from domain.facts import FACTS, PREDICATES, Assertion, Declared, register
from domain.instants import ENDLESS
from domain.operations.common import Decided
from domain.operations.places import PublishWingAsks
from domain.places import Place, place_id
from domain.ports import Known
from domain.travel import LOCAL


def decide_publish(asked: PublishWingAsks, known: Known, now: int) -> Decided:
    """Resolve a wing to what stands in it, and to the local operations that give way."""
    wing = known.spelling("wing", asked.wing)
    if known.policy(wing) != LOCAL or not known.fixed(wing):
        raise Refused(
            "wings::not_local",
            f"{wing} is no local wing, so there is nothing to publish.",
            "See `policy` in list_wings.",
        )
    drawers = known.live(wing=wing)
    facts, predicates = known.partitions(wing), known.declared_in(wing)
    rooms = list(known.rooms(wing))
    members: list[tuple[Fold, str]] = [(DRAWERS, drawer) for drawer in drawers]
    members += [(DRAWERS, place_id(wing, room)) for room in ("", *rooms)]
    members += [(FACTS, partition) for partition in facts]
    members += [(PREDICATES, register(wing, predicate)) for predicate in predicates]
    return Decided(
        {
            "wing": wing,
            "items": [item for drawer in drawers for item in _items(known, drawer)],
            "facts": [fact for partition in facts for fact in _facts(known, partition)],
            "declared": [
                one for predicate in predicates for one in _declared(known, wing, predicate)
            ],
            "rooms": rooms,
            "undone": list(_giving_way(known, members)),
            "duplicate": False,
        }
        | _description(known, wing)
    )


def _items(known: Known, drawer: str) -> Iterator[dict[str, Any]]:
    text = known.text(drawer)
    assert text is not None
    held = known.held(DRAWERS, drawer)
    stones = held.find(Tombstone, "drawer_id", drawer)
    for support in held.find(Support, "drawer_id", drawer):
        item = text._asdict() | {
            "revives": sorted({stone.op_id for stone in stones}),
            "valid_from": support.valid_from,
            "tags": orjson.loads(support.tags),
            "metadata": orjson.loads(support.metadata),
            "source_file": support.source_file,
            "added_by": support.added_by,
            "valid_to": None if support.valid_to == ENDLESS else support.valid_to,
        }
        yield {name: value for name, value in item.items() if value not in (None, [], {})}


def _facts(known: Known, partition: str) -> Iterator[dict[str, Any]]:
    for row in known.held(FACTS, partition).find(Assertion, "partition", partition):
        fact = {
            "wing": row.wing,
            "subject": row.subject,
            "predicate": row.predicate,
            "object": row.object,
            "valid_from": row.valid_from,
            "valid_to": None if row.valid_to == ENDLESS else row.valid_to,
            "confidence": row.confidence,
        }
        if row.valid_from < row.valid_to:
            yield {name: value for name, value in fact.items() if value is not None}


def _declared(known: Known, wing: str, predicate: str) -> Iterator[dict[str, Any]]:
    id = register(wing, predicate)
    for row in known.held(PREDICATES, id).find(Declared, "id", id):
        yield {"predicate": row.predicate, "cardinality": row.cardinality, "wing": wing}


def _giving_way(known: Known, members: list[tuple[Fold, str]]) -> Iterator[dict[str, Any]]:
    """An entry for each local operation and key of the wing, each once."""
    seen = set()
    for fold, member in members:
        for part in known.parts(fold, member):
            touched = fold.touched(part)
            entry = (part.op_id, fold.name, touched)
            if fold.area(part).endswith(LOCAL) and entry not in seen:
                seen.add(entry)
                yield {"op_id": part.op_id, "area": fold.name, "members": list(touched)}


def _description(known: Known, wing: str) -> dict[str, str]:
    id = place_id(wing)
    rows = known.held(DRAWERS, id).find(Place, "id", id)
    said = [row.description for row in rows if row.description is not None]
    return {"description": said[-1]} if said else {}


def answer_publish(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """How much travels now."""
    drawers = {item["drawer_id"] for item in payload.get("items", ())}
    return {
        "wing": payload["wing"],
        "drawers": len(drawers),
        "facts": len(payload.get("facts", ())),
    }
