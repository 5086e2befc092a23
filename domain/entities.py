"""Entities: other names of what facts are about, and the drawers that somebody linked to them.

Protects facts as they were stated: an alias rewrites nothing that was recorded. It is followed when
facts are read, and when a call names what it adds or ends (`decisions.naming`). Of an alias in one
scope the last word in canonical order counts. Two devices may state aliases that lead in a circle;
all names of the circle are then one entity. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from domain.belief import Event, Fold, Held, Name
from domain.canonical import comparable
from domain.parts import published_entities

EVERY_WING: Final = ""
MENTIONS: Final = "mentions"
_SEPARATOR: Final = "\x1f"


class Alias(NamedTuple):
    """That a name means an entity, in one wing or ("") in every wing.

    Attributes:
        id: see `alias_id`.
        scope, alias_key, entity_key: in comparable form.
    """

    id: str
    scope: str
    alias: str
    alias_key: str
    entity: str
    entity_key: str
    rank: bytes
    op_id: str


class Link(NamedTuple):
    """That a drawer is about an entity.

    Attributes:
        id: see `link_id`.
        entity_key: in comparable form.
    """

    id: str
    drawer_id: str
    entity: str
    entity_key: str
    relation: str
    rank: bytes
    op_id: str


def alias_id(scope: str, alias: str) -> str:
    """The key of an alias in one wing, or in every wing (`EVERY_WING`)."""
    return _SEPARATOR.join(("alias", comparable(scope), comparable(alias)))


def link_id(drawer_id: str, entity: str, relation: str) -> str:
    """The key of a link."""
    return _SEPARATOR.join(("link", drawer_id, comparable(entity), comparable(relation)))


def aliased(held: Held, event: Event) -> Held:
    """add_alias: the name means the entity from now on."""
    stated = event.payload
    scope, alias, entity = stated.get("wing", EVERY_WING), stated["alias"], stated["entity"]
    id = alias_id(scope, alias)
    held.find(Alias, "id", id)
    held.put(
        Alias(
            id=id,
            scope=comparable(scope),
            alias=alias,
            alias_key=comparable(alias),
            entity=entity,
            entity_key=comparable(entity),
            rank=event.rank,
            op_id=event.op_id,
        )
    )
    return held


def linked(held: Held, event: Event) -> Held:
    """link_drawer: the drawer is about the entity."""
    stated = event.payload
    drawer, entity, relation = stated["drawer_id"], stated["entity"], stated["relation"]
    id = link_id(drawer, entity, relation)
    held.find(Link, "id", id)
    held.put(Link(id, drawer, entity, comparable(entity), relation, event.rank, event.op_id))
    return held


class Aliases:
    """Which names are one entity, wing by wing: a wing's own aliases win over those of every wing.

    All names are in comparable form.
    """

    def __init__(self, rows: Iterable[Alias]) -> None:
        """Take the aliases that are believed."""
        self._leads: dict[str, dict[str, str]] = defaultdict(dict)
        for row in rows:
            self._leads[row.scope][row.alias_key] = row.entity_key
        everywhere = self._leads.pop(EVERY_WING, {})
        for scope, own in self._leads.items():
            self._leads[scope] = everywhere | own
        self._everywhere = everywhere
        self._same = {scope: self._grouped(leads) for scope, leads in self._leads.items()}
        self._same_everywhere = self._grouped(everywhere)

    def entity(self, name: str, wing: str) -> str:
        """The entity that a name means in a wing; itself where it is no alias."""
        return _end(self._leads.get(wing, self._everywhere), name)

    def names(self, name: str, wing: str) -> frozenset[str]:
        """The names that are one entity with this one in a wing, itself included."""
        same = self._same.get(wing, self._same_everywhere)
        return same.get(self.entity(name, wing), frozenset({name}))

    def names_anywhere(self, name: str) -> list[str]:
        """The names that are one entity with this one in some wing, itself included; sorted."""
        found = self.names(name, EVERY_WING).union(*(self.names(name, wing) for wing in self._same))
        return sorted(found)

    @staticmethod
    def _grouped(leads: dict[str, str]) -> dict[str, frozenset[str]]:
        groups: dict[str, set[str]] = defaultdict(set)
        for alias in leads:
            end = _end(leads, alias)
            groups[end] |= {alias, end}
        return {end: frozenset(names) for end, names in groups.items()}


def _end(leads: dict[str, str], name: str) -> str:
    """Where aliases lead from a name; of a circle, the name that sorts first."""
    seen: dict[str, int] = {}
    while name in leads and name not in seen:
        seen[name] = len(seen)
        name = leads[name]
    if name not in seen:
        return name
    return min(list(seen)[seen[name] :])


def _members(event: Event) -> tuple[str, ...]:
    stated = event.payload
    if event.tool == "add_alias":
        return (alias_id(stated.get("wing", EVERY_WING), stated["alias"]),)
    return (link_id(stated["drawer_id"], stated["entity"], stated["relation"]),)


def _mentions(event: Event) -> tuple[tuple[str, str], ...]:
    stated = event.payload
    names = [stated["entity"], *([stated["alias"]] if "alias" in stated else [])]
    found = [("entity", key) for key in dict.fromkeys(map(comparable, names))]
    if stated.get("wing"):
        found.append(("wing", comparable(stated["wing"])))
    if stated.get("drawer_id"):
        found.append(("drawer", stated["drawer_id"]))
    return tuple(found)


def _names(event: Event) -> tuple[Name, ...]:
    stated = event.payload
    spelled = (Name("subject", "", stated["entity"]),)
    return (*spelled, Name("wing", "", stated["wing"])) if stated.get("wing") else spelled


_EVOLVE: Final[dict[str, Any]] = {"add_alias": aliased, "link_drawer": linked}

ENTITIES: Final = Fold(
    name="entities",
    kinds=(Alias, Link),
    indexes={Alias: ("id",), Link: ("id",)},
    members=_members,
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    parts=published_entities,
    mentions=_mentions,
    names=_names,
)
