"""Which entities there are at one moment, and what is said of a few of them.

Protects short answers over a large graph: that an entity is there, indexes tell; spellings, facts
and drawers are read of those alone that are shown. Facts are those of `domain.facts.derive` all the
same: where it makes a difference (`derived`), what it makes counts instead of the assertions.
Protects hidden texts too: a drawer counts only while it is live and true at the moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, func, or_, select

from domain.canonical import comparable
from domain.entities import Alias, Link
from domain.facts import Assertion, Fact, Source, alone
from projections.queries.graph import NAMES, Graph
from projections.queries.live import Live
from projections.queries.partitions import derived
from projections.reading import believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_assertions, _sources = BELIEFS[Assertion], BELIEFS[Source]
_TRUE: Final = (
    believed(_assertions)
    & (_assertions.c.valid_from <= _B("as_of"))
    & (_assertions.c.valid_to > _B("as_of"))
)
_SIDES: Final = (_assertions.c.subject_key, _assertions.c.object_key)
_NAMED: Final = [
    Prepared(
        select(_assertions.c.wing_key, side, func.count())
        .where(_TRUE)
        .group_by(side, _assertions.c.wing_key)
    )
    for side in _SIDES
]
_NAMING = Prepared(
    select(*fields_of(Assertion)).where(or_(*(side.in_(NAMES) for side in _SIDES)), _TRUE)
)
_DRAWERS = Prepared(
    select(_sources.c.assertion_id, _sources.c.drawer_id).where(
        _sources.c.assertion_id.in_(
            select(func.json_each(_B("ids")).table_valued("value").c.value)
        ),
        _sources.c.drawer_id.is_not(None),
        believed(_sources),
    )
)


class Entity:
    """An entity at a moment.

    Attributes:
        key: its name in comparable form.
        facts: how many facts that are true have it as subject or object.
        drawers: the live drawers that are linked to it, or that its facts were learnt from.
        aliases: its other names, by their comparable form.
    """

    def __init__(self, key: str, aliases: dict[str, str]) -> None:
        """Nothing is known of it yet but its other names."""
        self.key = key
        self.facts = 0
        self.drawers: set[str] = set()
        self.aliases = aliases
        self._spellings: list[tuple[bool, bytes, str]] = []

    def spelt(self, rank: bytes, name: str, *, by_alias: bool = False) -> None:
        """A spelling of its name; the first in canonical order shows, of an alias only if no other
        is there.
        """
        if comparable(name) == self.key:
            self._spellings.append((by_alias, rank, name))

    @property
    def name(self) -> str:
        """The spelling that shows."""
        return min(self._spellings)[2] if self._spellings else self.key


class Census:
    """The entities that facts true at the moment are about, or that live drawers are linked to.

    Attributes:
        derived: what the counts of assertions are mended by.
        by_wing: the entities that facts are about, wing by wing; all in comparable form.
        links: (entity, live drawer, link) of the links to live drawers.
        keys: all entities.
    """

    def __init__(self, graph: Graph, wing: str | None = None) -> None:
        """Find out which there are.

        Args:
            wing: only facts and drawers of this wing, in comparable form.
        """
        self._live = Live(graph.reading)
        self._graph = graph
        self._reading = graph.reading
        self._wing = wing
        self.derived = derived(graph.reading)
        self.by_wing = self._about()
        self.links = self._linked()
        stated = (keys for at, keys in self.by_wing.items() if wing in (None, at))
        self.keys = {key for key, _, _ in self.links}.union(*stated)

    @cached_property
    def aliases(self) -> dict[str, dict[str, str]]:
        """The other names of the entities that are there: by entity and name in comparable form."""
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for key, alias in self._aliased:
            if alias.alias_key != key:
                found[key].setdefault(alias.alias_key, alias.alias)
        return found

    def described(self, keys: Collection[str]) -> dict[str, Entity]:
        """Some of the entities that are there, by key, in the order given."""
        chosen = {key: Entity(key, self.aliases.get(key, {})) for key in keys}
        facts = self._facts(chosen)
        learnt = self._learnt(facts)
        for fact in facts:
            self._count(chosen, fact, learnt)
        for key, drawer, link in self.links:
            if key in chosen:
                chosen[key].drawers.add(drawer)
                chosen[key].spelt(link.rank, link.entity)
        for key, alias in self._aliased:
            if key in chosen:
                chosen[key].spelt(alias.rank, alias.entity, by_alias=True)
        return chosen

    @cached_property
    def _aliased(self) -> list[tuple[str, Alias]]:
        aliases, wing = self._graph.aliases, self._wing
        found = [
            (aliases.entity(alias.alias_key, alias.scope), alias)
            for alias in self._reading.all(Alias)
            if wing is None or alias.scope in ("", wing)
        ]
        return [(key, alias) for key, alias in found if key in self.keys]

    def _about(self) -> dict[str, set[str]]:
        """The entities that true facts are about, wing by wing."""
        named: Counter[tuple[str, str]] = Counter()
        for statement in _NAMED:
            for wing, name, count in self._reading.rows(statement, as_of=self._reading.as_of):
                named[wing, name] += count
        named.subtract(side for row in self.derived.rows if self._true(row) for side in _sides(row))
        named.update(side for fact in self._true_facts() for side in _sides(fact.newest))
        found: dict[str, set[str]] = defaultdict(set)
        for (wing, name), count in named.items():
            if count:
                found[wing].add(self._graph.aliases.entity(name, wing))
        return found

    def _linked(self) -> list[tuple[str, str, Link]]:
        """(entity, live drawer, link) of the links to live drawers."""
        links = self._reading.all(Link)
        self._live.look_up({link.drawer_id for link in links})
        found = []
        for link in links:
            drawer = self._live.now(link.drawer_id)
            if drawer and self._wing in (None, self._live.wing(drawer)):
                key = self._graph.aliases.entity(link.entity_key, self._live.wing(drawer))
                found.append((key, drawer, link))
        return found

    def _facts(self, keys: Iterable[str]) -> list[Fact]:
        """The true facts that have one of the entities on a side, and maybe some others."""
        names = {name for key in keys for name in self._graph.aliases.names_anywhere(key)}
        asked = {"names": orjson.dumps(sorted(names)).decode(), "as_of": self._reading.as_of}
        other = {row.id for row in self.derived.rows}
        rows = (Assertion(*row) for row in self._reading.rows(_NAMING, **asked))
        facts = [alone(row) for row in rows if row.id not in other]
        facts += self._true_facts()
        return [fact for fact in facts if self._wing in (None, fact.newest.wing_key)]

    def _learnt(self, facts: list[Fact]) -> dict[str, set[str]]:
        """The live drawers that facts were learnt from, by assertion id."""
        ids = orjson.dumps([id for fact in facts for id in fact.ids]).decode()
        sources = self._reading.rows(_DRAWERS, ids=ids)
        self._live.look_up({drawer for _, drawer in sources})
        found: dict[str, set[str]] = defaultdict(set)
        for id, given in sources:
            drawer = self._live.now(given)
            if drawer:
                found[id].add(drawer)
        return found

    def _count(self, chosen: dict[str, Entity], fact: Fact, learnt: dict[str, set[str]]) -> None:
        row = fact.newest
        both = {row.subject_key: row.subject, row.object_key: row.object}
        seen = set()
        for name_key, name in both.items():
            key = self._graph.aliases.entity(name_key, row.wing_key)
            if key not in chosen:
                continue
            chosen[key].spelt(row.opened, name)
            chosen[key].drawers.update(*(learnt[id] for id in fact.ids if id in learnt))
            chosen[key].facts += key not in seen
            seen.add(key)

    def _true(self, row: Assertion) -> bool:
        return row.valid_from <= self._reading.as_of < row.valid_to

    def _true_facts(self) -> Iterator[Fact]:
        return (fact for fact in self.derived.facts if fact.holds_at(self._reading.as_of))


def _sides(row: Assertion) -> tuple[tuple[str, str], tuple[str, str]]:
    return (row.wing_key, row.subject_key), (row.wing_key, row.object_key)
