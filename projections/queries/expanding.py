"""What lies beside the hits of a search: drawers that share an entity with one, or stand one valid
fact or one tunnel away.

Protects the hits: nothing here ranks them, and no drawer is told twice. What a search may not show
is not shown here either, and how much is looked at has bounds. What somebody stated (links, and the
sources of facts) comes before what texts merely name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, func, literal_column, or_, select, union

from domain.belief import LOCAL
from domain.candidates import whole_words
from domain.canonical import comparable
from domain.drawers import DRAWERS, Support, newest
from domain.entities import Alias, Link
from domain.facts import Assertion, Fact, Source
from domain.operations.searching import SearchAsks
from domain.tunnels import Closed, Tunnel, end_of, standing
from projections import tables
from projections.queries import lexical
from projections.queries.filters import Filters, ShownDrawers, conditions, filters_of, joined
from projections.queries.graph import Graph
from projections.queries.live import Live
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared
from projections.text import spans

ENTITIES_MAX: Final = 64
"""How many entities are looked at, of all hits together."""
FACTS_MAX: Final = 50
"""How many facts of an entity are followed."""
TEXTS_MAX: Final = 50
"""How many texts that name an entity, and how many drawers of a room, are looked at."""
NAME_WORDS_MAX: Final = 8
_CHARACTERS: Final = 65_536
_NAME_CHARACTERS_MIN: Final = 2

_B: Any = bindparam
_texts, _members, _numbered = tables.texts, tables.members, tables.numbered
_same = _members.alias("same")
_supports, _sources, _assertions = BELIEFS[Support], BELIEFS[Source], BELIEFS[Assertion]
_aliases, _links = BELIEFS[Alias], BELIEFS[Link]


def _listed(name: str) -> Any:
    return select(func.json_each(_B(name)).table_valued("value").c.value)


_AREAS: Final = (DRAWERS.name, DRAWERS.name + LOCAL)
_LINEAGE = Prepared(
    select(_same.c.member)
    .select_from(_members.join(_same, _same.c.key == _members.c.key))
    .where(or_(*(_members.c.area == area for area in _AREAS)), _members.c.member == _B("drawer_id"))
    .distinct()
)
_LEARNT = Prepared(
    select(_sources.c.key, _sources.c.assertion_id, _sources.c.drawer_id).where(
        _sources.c.drawer_id.in_(_listed("drawer_ids")), believed(_sources)
    )
)
_NUMBERS = Prepared(
    select(literal_column("texts.rowid"), _texts.c.drawer_id).where(
        _texts.c.drawer_id.in_(_listed("drawer_ids"))
    )
)
_BEGINNING = Prepared(
    select(func.folded(func.substr(_texts.c.content, 1, _CHARACTERS))).where(
        _texts.c.drawer_id == _B("drawer_id")
    )
)
_ENTITIES = Prepared(
    union(
        *(
            select(column).where(column.in_(_listed("names")), believed(table))
            for table, column in (
                (_assertions, _assertions.c.subject_key),
                (_assertions, _assertions.c.object_key),
                (_aliases, _aliases.c.alias_key),
                (_links, _links.c.entity_key),
            )
        )
    )
)


class Beside(NamedTuple):
    """A drawer beside a hit.

    Attributes:
        why: `entity`, `fact` or `tunnel`.
        through: the entity's name, or the id of the fact or tunnel.
        hit: the first hit that leads to it.
    """

    drawer_id: str
    why: str
    through: str
    hit: str


def beside(reading: Reading, asked: SearchAsks, hits: Sequence[str]) -> list[Beside]:
    """The drawers beside some hits, at most as many as a page has hits: what was stated first, then
    what texts name; entities, then facts, then tunnels; by the hits in their order.
    """
    surroundings = _Surroundings(reading, asked)
    shown = ShownDrawers(reading, *filters_of(reading, asked))
    seen, found = set(hits), list[Beside]()
    for ways in surroundings.of(hits):
        new = [one for one in ways if one.drawer_id not in seen]
        may = _may_be_shown(reading, shown, [one.drawer_id for one in new])
        for one in new:
            if one.drawer_id in may and one.drawer_id not in seen:
                seen.add(one.drawer_id)
                found.append(one)
        if len(found) >= asked.limit:
            break
    return found[: asked.limit]


def _may_be_shown(reading: Reading, shown: ShownDrawers, drawers: Sequence[str]) -> set[str]:
    asked = orjson.dumps(list(dict.fromkeys(drawers))).decode()
    numbers = dict(_NUMBERS(reading.cursor, drawer_ids=asked).fetchall())
    return set(shown.of(list(numbers)).values()) if numbers else set()


class _Surroundings:
    """What lies around drawers at a reading's moment."""

    def __init__(self, reading: Reading, asked: SearchAsks) -> None:
        self._reading, self._asked = reading, asked
        self._filters, self._given = filters_of(reading, asked)
        self._graph, self._live = Graph(reading), Live(reading)
        self._links = reading.all(Link)
        self._facts: dict[str, list[tuple[int, Fact]]] = {}
        self._stated: dict[str, list[str]] = {}
        self._named: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}

    def of(self, hits: Sequence[str]) -> Iterator[list[Beside]]:
        """The ways from hits to other drawers, a few at a time."""
        stated = self._entities_stated(hits)
        yield from self._by_entities(stated, self._about)
        yield from self._by_facts(stated, self._about)
        yield from self._by_tunnels(hits)
        named = self._entities_named(hits, stated)
        yield from self._by_entities(named, self._about_or_naming)
        yield from self._by_facts(named, self._about_or_naming)

    def _by_entities(self, entities: dict[str, list[str]], about: Any) -> Iterator[list[Beside]]:
        for hit, entity in _each(entities):
            drawers = about(entity)
            yield [Beside(one, "entity", self._name(entity), hit) for one in drawers]

    def _by_facts(self, entities: dict[str, list[str]], about: Any) -> Iterator[list[Beside]]:
        for hit, entity in _each(entities):
            for _, fact in self._true_facts(entity)[:FACTS_MAX]:
                for other in self._ends(fact):
                    if other != entity:
                        yield [Beside(one, "fact", fact.id, hit) for one in about(other)]

    def _by_tunnels(self, hits: Sequence[str]) -> Iterator[list[Beside]]:
        reading = self._reading
        tunnels = standing(reading.all(Tunnel), reading.all(Closed))
        for hit in hits:
            place = self._live.line(hit, 0)
            end = end_of(place["wing"], place["room"])
            for tunnel in sorted(tunnels, key=lambda one: one.id):
                drawers = dict.fromkeys(self._through(tunnel, end))
                yield [Beside(one, "tunnel", tunnel.id, hit) for one in drawers]

    def _through(self, tunnel: Tunnel, end: tuple[str, str]) -> Iterator[str]:
        """The drawers at the other end of a tunnel: the one that it joins in particular first."""
        source = end_of(tunnel.source_wing, tunnel.source_room)
        target = end_of(tunnel.target_wing, tunnel.target_room)
        for here, there, drawer in (
            (source, target, tunnel.target_drawer_id),
            (target, source, tunnel.source_drawer_id),
        ):
            if here == end:
                particular = self._live.now(drawer)
                yield from [particular] if particular else []
                place = {"wing_key": there[0], "room_key": there[1]}
                rows = self._reading.rows(_in_room(self._filters), **place, **self._given)
                yield from (one for (one,) in rows)

    def _entities_stated(self, hits: Sequence[str]) -> dict[str, list[str]]:
        """For each hit the entities that it was linked to, or whose facts were learnt from it."""
        led = {
            id: hit
            for hit in hits
            for (id,) in _LINEAGE(self._reading.cursor, drawer_id=hit).fetchall()
            if self._live.now(id) == hit
        }
        found: dict[str, set[str]] = {hit: set() for hit in hits}
        for link in self._links:
            hit = led.get(link.drawer_id)
            if hit is not None:
                found[hit].add(self._entity(link.entity_key, self._live.wing(hit)))
        asked = orjson.dumps(list(led)).decode()
        for key, assertion, drawer in self._reading.rows(_LEARNT, drawer_ids=asked):
            for fact in self._graph.facts(self._graph.partition(key)):
                if assertion in fact.ids and fact.holds_at(self._reading.as_of):
                    found[led[drawer]].update(self._ends(fact))
        return {hit: sorted(of_hit) for hit, of_hit in found.items()}

    def _entities_named(
        self, hits: Sequence[str], stated: dict[str, list[str]]
    ) -> dict[str, list[str]]:
        """The same together with the entities that the beginnings of the hits' texts name."""
        found = {}
        for hit in hits:
            [(text,)] = _BEGINNING(self._reading.cursor, drawer_id=hit).fetchall()
            names = [one for one in spans(text, NAME_WORDS_MAX) if len(one) >= _NAME_CHARACTERS_MIN]
            asked = orjson.dumps(names).decode()
            wing = self._live.wing(hit)
            known = self._reading.rows(_ENTITIES, names=asked)
            own = {self._entity(name, wing) for (name,) in known} - set(stated[hit])
            found[hit] = [*stated[hit], *sorted(one for one in own if self._stands(one))]
        return found

    def _stands(self, entity: str) -> bool:
        """Whether a fact that is true is about an entity, or a drawer that is live."""
        return bool(self._true_facts(entity) or self._about(entity))

    def _about(self, entity: str) -> list[str]:
        """The drawers linked to an entity, or that its facts were learnt from, newest first."""
        if entity not in self._stated and len(self._stated) < ENTITIES_MAX:
            names = set(self._graph.aliases.names_anywhere(entity))
            found = {
                drawer
                for link in self._links
                if link.entity_key in names
                and (drawer := self._live.now(link.drawer_id))
                and self._means(drawer, link.entity_key, entity)
            }
            for key, fact in self._true_facts(entity):
                sources = self._graph.sources(key)
                told = (one for id in fact.ids for one in sources.get(id, ()))
                found |= set(filter(None, (self._live.now(one["drawer_id"]) for one in told)))
            self._stated[entity] = self._newest_first(found)
        return self._stated.get(entity, [])

    def _about_or_naming(self, entity: str) -> list[str]:
        """The same, and then the drawers whose texts hold a name of the entity as whole words."""
        if entity not in self._named and len(self._named) < ENTITIES_MAX:
            found: set[str] = set()
            for name in self._graph.aliases.names_anywhere(entity):
                found |= {one for one in self._holding(name) if self._means(one, name, entity)}
            self._named[entity] = self._newest_first(found - set(self._about(entity)))
        return [*self._about(entity), *self._named.get(entity, ())]

    def _holding(self, name: str) -> Iterator[str]:
        """The live drawers that answer best to a name, where they hold it as whole words."""
        asked = self._asked.model_copy(update={"query": name})
        sought = lexical.sought_of(self._reading, asked)
        pattern = whole_words(name)
        best = lexical.best(self._reading, sought, TEXTS_MAX, TEXTS_MAX + 1) if sought.words else ()
        for one in best:
            drawer = self._live.now(one.drawer_id)
            if drawer == one.drawer_id:
                [(text,)] = _BEGINNING(self._reading.cursor, drawer_id=drawer).fetchall()
                if pattern.search(text):
                    yield drawer

    def _means(self, drawer: str, name: str, entity: str) -> bool:
        return name in self._graph.aliases.names(entity, self._live.wing(drawer))

    def _true_facts(self, entity: str) -> list[tuple[int, Fact]]:
        """An entity's facts that are true at the moment, by when they began and were opened."""
        if entity not in self._facts:
            as_of = self._reading.as_of
            found = [
                one for one in self._graph.about(entity, "both", None) if one[1].holds_at(as_of)
            ]
            found.sort(key=lambda one: (one[1].valid_from, one[1].opened, one[1].id))
            self._facts[entity] = found
        return self._facts[entity]

    def _ends(self, fact: Fact) -> list[str]:
        row = fact.newest
        both = {row.subject_key: row.subject, row.object_key: row.object}
        return [self._entity(key, row.wing_key, name) for key, name in both.items()]

    def _entity(self, name_key: str, wing: str, name: str | None = None) -> str:
        entity = self._graph.aliases.entity(name_key, wing)
        if name is not None and comparable(name) == entity:
            self._names.setdefault(entity, name)
        return entity

    def _name(self, entity: str) -> str:
        """An entity as somebody wrote it."""
        if entity not in self._names:
            written = [one.entity for one in self._links if one.entity_key == entity]
            for _, fact in self._true_facts(entity):
                self._ends(fact)
            self._names.setdefault(entity, written[0] if written else entity)
        return self._names[entity]

    def _newest_first(self, drawers: Iterable[str]) -> list[str]:
        dated = {
            one: newest(self._reading.find(Support, "drawer_id", one)).recorded_at
            for one in drawers
        }
        return sorted(dated, key=lambda one: (-dated[one], one))


@cache
def _in_room(filters: Filters) -> Prepared:
    """The newest drawers of a room that may be shown."""
    found = (
        select(literal_column("texts.rowid").label("number"))
        .select_from(_texts)
        .where(_texts.c.wing_key == _B("wing_key"), _texts.c.room_key == _B("room_key"))
        .cte("found")
    )
    there = joined(found, filters).join(_supports, _supports.c.drawer_id == _numbered.c.drawer_id)
    return Prepared(
        select(_numbered.c.drawer_id)
        .select_from(there)
        .where(believed(_supports), *conditions(filters))
        .group_by(_numbered.c.drawer_id)
        .order_by(func.max(_supports.c.recorded_at).desc(), _numbered.c.drawer_id)
        .limit(TEXTS_MAX)
    )


def _each(entities: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((hit, one) for hit, of_hit in entities.items() for one in of_hit)
