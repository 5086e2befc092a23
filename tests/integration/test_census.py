"""What is counted over the whole graph by indexes is what is derived fact by fact, at any moment.

Histories of facts, declarations, aliases, links and drawers arrive in any order and repeatedly; the
answers are compared with a plain reading of all assertions, which knows no shortcut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.belief import Event, Fold
from domain.canonical import comparable
from domain.catalog import folds_of
from domain.drawers import newest, reached
from domain.entities import Alias, Aliases, Link
from domain.facts import Assertion, Declared, Fact, Source, derive, single_valued
from domain.operations.entities import KgStatsAsks, ListEntitiesAsks
from projections.beliefs import Beliefs
from projections.queries.entities import list_entities
from projections.queries.kg_stats import kg_stats
from projections.queries.partitions import count_facts
from projections.reading import Reading
from projections.sqlite import connect
from projections.views import create
from tests.folds import (
    add_drawer,
    declare,
    delete,
    event,
    invalidate,
    kg_add,
    named,
    supersede,
    update,
)
from tests.histories import DEVICES, ORDERS, arriving, examples

NAMES = ("Kiran", "KIRAN", "K", "Lyon")
PREDICATES = ("city", "City", "pet")
WINGS = ("facts", "work", "Work")
TEXTS = ("tea", "cup", "pot")
WING_OF_TEXTS = "home"
LIMIT = 100


class Step(NamedTuple):
    """One thing that somebody says; what the numbers mean is up to the kind."""

    kind: int
    device: int
    name: int
    other: int
    predicate: int
    wing: int
    start: int
    length: int
    text: int


STEPS = st.lists(
    st.builds(
        Step,
        kind=st.integers(0, 13),
        device=st.integers(0, len(DEVICES) - 1),
        name=st.integers(0, len(NAMES) - 1),
        other=st.integers(0, len(NAMES) - 1),
        predicate=st.integers(0, len(PREDICATES) - 1),
        wing=st.integers(0, len(WINGS) - 1),
        start=st.integers(0, 5),
        length=st.integers(0, 3),
        text=st.integers(0, len(TEXTS) - 1),
    ),
    min_size=1,
    max_size=24,
)


def said(stamp: int, step: Step) -> Event:
    device, wing, predicate = DEVICES[step.device], WINGS[step.wing], PREDICATES[step.predicate]
    name, other, text = NAMES[step.name], NAMES[step.other], TEXTS[step.text]
    about = {"device": device, "wing": wing, "predicate": predicate, "subject": name}
    if step.kind <= 4:
        end = step.start + step.length if step.length else None
        source = named(text) if step.other % 2 else None
        return kg_add(stamp, other, step.start, end, source_drawer_id=source, **about)
    if step.kind == 5:
        return invalidate(stamp, other, step.start, **about)
    if step.kind == 6:
        new = NAMES[(step.other + 1) % len(NAMES)]
        return supersede(stamp, other, new, step.start, **about)
    if step.kind == 7:
        where = wing if step.length else None
        cardinality = ("one", "one", "many")[step.text]
        return declare(stamp, cardinality, predicate=predicate, wing=where, device=device)
    if step.kind == 8:
        where = wing if step.length else None
        return event("add_alias", stamp, device, entity=name, alias=other, wing=where)
    if step.kind in (9, 12):
        linked = {"drawer_id": named(text), "entity": name, "relation": "mentions"}
        return event("link_drawer", stamp, device, **linked)
    if step.kind == 10:
        return add_drawer(stamp, text, step.start, device=device)
    if step.length == 0:
        return delete(stamp, text, device=device)
    return update(stamp, text, TEXTS[(step.text + 1) % len(TEXTS)], device=device)


class Views:
    """The belief rows of one views file, which forgets everything again."""

    def __init__(self, path: Path) -> None:
        create(path, "log_of_nobody")
        self._connection = connect(path, synchronous="OFF")
        self.cursor = self._connection.cursor()
        for text in TEXTS:
            self.cursor.execute(
                "INSERT INTO texts VALUES (?, ?, 'notes', ?, 'notes', x'00', 0, 1, ?)",
                (named(text), WING_OF_TEXTS, WING_OF_TEXTS, text),
            )

    def fold(self, arrivals: Iterable[Event]) -> int:
        """Take events as a log would; returns how many it holds then."""
        held: list[Event] = []

        def load(fold: Fold, touched: Sequence[tuple[int, bytes]]) -> Iterator[Event]:
            for position, rank in touched:
                yield from (p for p in fold.split(held[position - 1]) if p.rank == rank)

        beliefs = Beliefs(self.cursor, load)
        for one in arrivals:
            if one not in held:
                held.append(one)
                for fold in folds_of(one.tool):
                    for part in fold.split(one):
                        beliefs.fold(fold, part, len(held))
        return len(held)

    def at(self, position: int, as_of: int) -> Reading:
        nothing: Any = None
        reading = Reading(self.cursor, nothing, nothing, now=as_of, device="ada")
        reading.pin(position, as_of, None)
        return reading

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    views = Views(tmp_path_factory.mktemp("views") / "views.db")
    yield views
    views.close()


@examples(300)
@given(steps=STEPS, order=ORDERS, share=st.floats(0, 1), as_of=st.integers(0, 8))
def test_counts_of_the_graph_are_those_of_its_facts(
    views: Views, steps: list[Step], order: list[int], share: float, as_of: int
) -> None:
    events = [add_drawer(stamp, text, 0) for stamp, text in enumerate(TEXTS, 1)]
    events += [said(stamp, step) for stamp, step in enumerate(steps, 1 + len(TEXTS))]
    views.cursor.execute("BEGIN")
    try:
        count = views.fold(arriving(events, order))
        for position in {count, round(share * count)}:
            reading = views.at(position, as_of)
            graph = Plain(reading)
            assert count_facts(reading) == len(graph.facts)
            assert kg_stats(reading, KgStatsAsks()) == reading.shown() | graph.stats()
            for asked in ({}, {"wing": "Work"}, {"wing": "home"}, {"prefix": "k"}):
                found = list_entities(reading, ListEntitiesAsks(limit=LIMIT, **asked))
                assert found["entities"] == graph.listed(**asked)
                assert found["total"] == len(found["entities"])
    finally:
        views.cursor.execute("ROLLBACK")


class Plain:
    """The graph at a moment: every assertion read, every partition derived."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.declared = reading.all(Declared)
        self.aliases = Aliases(reading.all(Alias))
        partitions: dict[str, list[Assertion]] = defaultdict(list)
        for row in reading.all(Assertion):
            partitions[row.partition].append(row)
        self.facts = [
            fact
            for rows in partitions.values()
            for fact in derive(rows, single=self.single(rows[0]))
        ]

    def single(self, row: Assertion) -> bool:
        return single_valued(self.declared, row.wing_key, row.predicate_key)

    def live(self, drawer: str | None) -> str | None:
        supports = reached(self.reading, drawer) if drawer else []
        now = self.reading.as_of
        true = any(one.valid_from <= now < one.valid_to for one in supports)
        return newest(supports).drawer_id if true else None

    def current(self, wing: str | None = None) -> list[Fact]:
        true = (fact for fact in self.facts if fact.holds_at(self.reading.as_of))
        return [fact for fact in true if wing in (None, fact.newest.wing_key)]

    def about(self, fact: Fact) -> dict[str, list[str]]:
        """The entities of a fact, and how it spells each; of one name the object's spelling."""
        row = fact.newest
        found: dict[str, list[str]] = defaultdict(list)
        for key, name in {row.subject_key: row.subject, row.object_key: row.object}.items():
            found[self.aliases.entity(key, row.wing_key)].append(name)
        return found

    def listed(self, wing: str | None = None, prefix: str = "") -> list[dict[str, Any]]:
        wing = wing and comparable(wing)
        facts: dict[str, int] = defaultdict(int)
        drawers: dict[str, set[str]] = defaultdict(set)
        spelt: dict[str, list[tuple[bool, bytes, str]]] = defaultdict(list)
        also: dict[str, dict[str, str]] = defaultdict(dict)
        for fact in self.current(wing):
            sources = (
                one for id in fact.ids for one in self.reading.find(Source, "assertion_id", id)
            )
            found = {live for one in sources if (live := self.live(one.drawer_id))}
            for key, names in self.about(fact).items():
                facts[key] += 1
                drawers[key] |= found
                spelt[key] += [(False, fact.newest.opened, name) for name in names]
        for link in self.reading.all(Link):
            drawer = self.live(link.drawer_id)
            if drawer and wing in (None, WING_OF_TEXTS):
                key = self.aliases.entity(link.entity_key, WING_OF_TEXTS)
                drawers[key].add(drawer)
                spelt[key].append((False, link.rank, link.entity))
        for alias in self.reading.all(Alias):
            key = self.aliases.entity(alias.alias_key, alias.scope)
            if wing is None or alias.scope in ("", wing):
                spelt[key].append((True, alias.rank, alias.entity))
                if alias.alias_key != key:
                    also[key].setdefault(alias.alias_key, alias.alias)
        return [
            {
                "entity": _first_spelling(spelt[key], key),
                "aliases": [also[key][name] for name in sorted(also[key])],
                "facts": facts[key],
                "drawers": len(drawers[key]),
            }
            for key in sorted(drawers)
            if any(name.startswith(prefix) for name in (key, *also[key]))
        ]

    def stats(self) -> dict[str, Any]:
        wings: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
        for fact in self.facts:
            wings[fact.newest.wing_key][fact.newest.predicate_key].append(fact)
        links = {link.id for link in self.reading.all(Link) if self.live(link.drawer_id)}
        return {
            "facts": self.counts(self.facts),
            "entities": len(self.listed()),
            "aliases": len({alias.id for alias in self.reading.all(Alias)}),
            "links": len(links),
            "predicates": len({predicate for wing in wings.values() for predicate in wing}),
            "wings": [self.stats_of(key, wings[key]) for key in sorted(wings)],
        }

    def stats_of(self, wing: str, predicates: dict[str, list[Fact]]) -> dict[str, Any]:
        facts = [fact for of_predicate in predicates.values() for fact in of_predicate]
        about = {key for fact in self.current(wing) for key in self.about(fact)}
        return {
            "wing": _first(facts).wing,
            "facts": self.counts(facts),
            "entities": len(about),
            "predicates": [
                {
                    "predicate": _first(of_predicate).predicate,
                    "cardinality": "one" if self.single(of_predicate[0].newest) else "many",
                    "facts": self.counts(of_predicate),
                }
                for _, of_predicate in sorted(predicates.items())
            ],
        }

    def counts(self, facts: list[Fact]) -> dict[str, int]:
        now = self.reading.as_of
        return {
            "total": len(facts),
            "current": sum(fact.holds_at(now) for fact in facts),
            "past": sum(fact.valid_to <= now for fact in facts),
            "upcoming": sum(fact.valid_from > now for fact in facts),
        }


def _first(facts: list[Fact]) -> Assertion:
    return min(facts, key=lambda fact: fact.opened).newest


def _first_spelling(spelt: list[tuple[bool, bytes, str]], key: str) -> str:
    fitting = [one for one in spelt if comparable(one[2]) == key]
    return min(fitting)[2] if fitting else key
