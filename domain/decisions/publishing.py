"""How the publishing of a local wing is decided: what stands in it is said again, where it travels.

Protects a wing from being half published: one call records all that stands in the wing in the
shared stream, and takes it out of the local views, which then show it once. What was hidden or
changed before stays here and does not travel, and nothing that names what lies in another local
wing does. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from domain.belief import Fold, Held
from domain.canonical import comparable
from domain.drawers import DRAWERS, Support, Tombstone, newest, reached
from domain.entities import ENTITIES, Alias, Link, link_id
from domain.errors import Refused
from domain.facts import FACTS, PREDICATES, Assertion, Declared, Source
from domain.instants import ENDLESS
from domain.operations.common import Decided
from domain.operations.places import PublishWingAsks
from domain.places import Place, place_id
from domain.ports import Known, Text
from domain.travel import LOCAL
from domain.tunnels import ENDS, TUNNELS, Closed, Tunnel, standing

_FACT: Final = ("subject", "predicate", "object", "valid_from", "valid_to")


def decide_publish(asked: PublishWingAsks, known: Known, now: int) -> Decided:
    """Resolve a wing to what stands in it, and to the local operations that give way."""
    wing = known.spelling("wing", asked.wing)
    if known.policy(wing) != LOCAL or not known.fixed(wing):
        raise Refused(
            "wings::not_local",
            f"{wing} is no local wing, so there is nothing to publish.",
            "See `policy` in list_wings.",
        )
    drawers, rooms = known.live(wing=wing), list(known.rooms(wing))
    facts, declared = known.members_in(FACTS, wing), known.members_in(PREDICATES, wing)
    aliases, links = known.members_in(ENTITIES, wing), dict(_links(known, wing))
    tunnels = dict(_tunnels(known, wing))
    members: list[tuple[Fold, str]] = [(DRAWERS, drawer) for drawer in drawers]
    members += [(DRAWERS, place_id(wing, room)) for room in ("", *rooms)]
    members += [(FACTS, partition) for partition in facts]
    members += [(PREDICATES, id) for id in declared]
    members += [(ENTITIES, id) for id in (*aliases, *links)]
    members += [(TUNNELS, id) for id in tunnels]
    return Decided(
        {
            "wing": wing,
            "items": [item for drawer in drawers for item in _items(known, drawer)],
            "facts": [fact for partition in facts for fact in _facts(known, wing, partition)],
            "declared": [one for id in declared for one in _declared(known, wing, id)],
            "rooms": rooms,
            "undone": list(_giving_way(known, members)),
            "duplicate": False,
        }
        | _description(known, wing)
        | _connections(
            aliases=[one for id in aliases for one in _aliases(known, wing, id)],
            links=_each_once(links.values()),
            tunnels=list(tunnels.values()),
        )
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


def _facts(known: Known, wing: str, partition: str) -> Iterator[dict[str, Any]]:
    """Each assertion that was ever true, as often as it was learnt somewhere else."""
    held = known.held(FACTS, partition)
    for row in held.find(Assertion, "partition", partition):
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
            stated = {name: value for name, value in fact.items() if value is not None}
            yield from (stated | source for source in _sources(known, held, wing, row))


def _sources(known: Known, held: Held, wing: str, row: Assertion) -> list[dict[str, str]]:
    """Where an assertion was learnt, less what stays here; one without a word where nothing is
    left.
    """
    said: list[dict[str, str]] = []
    for source in held.find(Source, "assertion_id", row.id):
        text = _live(known, source.drawer_id)
        travels = text is not None and _travels(known, text.wing, wing)
        drawer = {"source_drawer_id": text.drawer_id} if text and travels else {}
        file = {"source_file": source.file} if source.file else {}
        if (travels or source.drawer_id is None) and (drawer | file) not in (*said, {}):
            said.append(drawer | file)
    return said or [{}]


def _declared(known: Known, wing: str, id: str) -> Iterator[dict[str, Any]]:
    for row in known.held(PREDICATES, id).find(Declared, "id", id):
        yield {"predicate": row.predicate, "cardinality": row.cardinality, "wing": wing}


def _aliases(known: Known, wing: str, id: str) -> Iterator[dict[str, Any]]:
    """What an alias of the wing means by its last word."""
    for row in known.held(ENTITIES, id).find(Alias, "id", id)[-1:]:
        yield {"alias": row.alias, "entity": row.entity, "wing": wing}


def _links(known: Known, wing: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The local links of the wing's live drawers, each where updates took its drawer."""
    for id in known.local_links():
        for row in known.held(ENTITIES, id).find(Link, "id", id)[-1:]:
            text = _live(known, row.drawer_id)
            if text is not None and comparable(text.wing) == comparable(wing):
                stated = {"entity": row.entity, "relation": row.relation, "wing": wing}
                yield id, {"drawer_id": text.drawer_id} | stated


def _tunnels(known: Known, wing: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tunnels that stand and lead from the wing to where nothing is local."""
    for id in known.members_in(TUNNELS, wing):
        held = known.held(TUNNELS, id)
        for row in standing(held.find(Tunnel, "id", id), held.find(Closed, "id", id)):
            ends = {row.source_wing, row.target_wing}
            if all(_travels(known, end, wing) for end in ends):
                yield id, _tunnel(known, row, wing)


def _tunnel(known: Known, row: Tunnel, wing: str) -> dict[str, Any]:
    stated = {name: getattr(row, name) for name in (*ENDS, "label")}
    for name in ("source_drawer_id", "target_drawer_id"):
        text = _live(known, getattr(row, name))
        if text is not None and _travels(known, text.wing, wing):
            stated[name] = text.drawer_id
    said = {name: value for name, value in stated.items() if value is not None}
    return {"tunnel_id": row.id} | said


def _live(known: Known, drawer: str | None) -> Text | None:
    """The text of the live drawer that an id leads to."""
    supports = reached(known.held(DRAWERS, drawer), drawer) if drawer else []
    return known.text(newest(supports).drawer_id) if supports else None


def _travels(known: Known, wing: str, published: str) -> bool:
    return comparable(wing) == comparable(published) or known.policy(wing) != LOCAL


def _connections(**lists: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: stated for name, stated in lists.items() if stated}


def _each_once(links: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Links that updates led to one drawer are one."""
    stated = {link_id(one["drawer_id"], one["entity"], one["relation"]): one for one in links}
    return list(stated.values())


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
        "facts": len({tuple(one.get(name) for name in _FACT) for one in payload.get("facts", ())}),
        **{name: len(payload.get(name, ())) for name in ("aliases", "links", "tunnels")},
    }
