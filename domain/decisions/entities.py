"""How a write on entities is decided.

Protects names from leading in a circle, and links from drawers that nobody stored. Pure.
"""

from __future__ import annotations

from typing import Any

from domain.canonical import comparable
from domain.decisions.drawers import live_target
from domain.entities import ENTITIES, EVERY_WING, Alias, Link, alias_id, link_id
from domain.errors import Refused
from domain.operations.common import Decided
from domain.operations.entities import AddAliasAsks, LinkDrawerAsks
from domain.ports import Known


def decide_alias(asked: AddAliasAsks, known: Known, now: int) -> Decided:
    """Resolve an alias; one that means this entity already is a duplicate."""
    entity = known.spelling("subject", asked.entity)
    scope = known.spelling("wing", asked.wing) if asked.wing else EVERY_WING
    if comparable(asked.alias) == comparable(entity):
        raise Refused(
            "entities::same",
            "The alias is the entity's own name.",
            "Names are compared without regard to case and spacing; give another.",
        )
    _refuse_circle(known, scope, asked.alias, entity)
    standing = _aliases(known, scope, asked.alias)
    payload: dict[str, Any] = {
        "entity": entity,
        "alias": asked.alias,
        "duplicate": any(one.entity_key == comparable(entity) for one in standing),
    }
    return Decided(payload | {"wing": scope} if asked.wing else payload)


def decide_link(asked: LinkDrawerAsks, known: Known, now: int) -> Decided:
    """Resolve a link to the drawer where it is now; one that stands already is a duplicate."""
    drawer, target = live_target(known, asked.drawer_id)
    entity = known.spelling("subject", asked.entity)
    id = link_id(drawer, entity, asked.relation)
    standing = known.held(ENTITIES, id).find(Link, "id", id)
    payload: dict[str, Any] = {
        "drawer_id": drawer,
        "entity": entity,
        "relation": asked.relation,
        "duplicate": bool(standing),
    }
    text = known.text(drawer)
    return Decided(payload if text is None else payload | {"wing": text.wing}, target)


def _refuse_circle(known: Known, scope: str, alias: str, entity: str) -> None:
    """What the entity is itself an alias of, those of the wing first, must not be this alias."""
    name, seen = entity, {comparable(alias)}
    while True:
        if comparable(name) in seen:
            raise Refused(
                "entities::cycle",
                f"{entity[:80]!r} is itself an alias that leads to {alias[:80]!r}.",
                "Give the entity that both names mean.",
            )
        seen.add(comparable(name))
        rows = _aliases(known, scope, name) or _aliases(known, EVERY_WING, name)
        if not rows:
            return
        name = rows[-1].entity


def _aliases(known: Known, scope: str, alias: str) -> list[Alias]:
    id = alias_id(scope, alias)
    return known.held(ENTITIES, id).find(Alias, "id", id)


def answer_alias(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The entity and its alias."""
    return {"entity": payload["entity"], "alias": payload["alias"]}


def answer_link(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The drawer and the entity."""
    return {name: payload[name] for name in ("drawer_id", "entity", "relation")}
