"""How much the knowledge graph holds: counts, wing by wing. No subjects and no objects.

Protects one count: facts are those that show (`Graph`), entities those of `list_entities`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from domain.entities import Alias, Link
from domain.facts import Fact
from domain.operations.entities import KgStatsAsks
from projections.queries.entities import entities
from projections.queries.graph import Graph
from projections.queries.live import Live
from projections.reading import Reading


def kg_stats(reading: Reading, asked: KgStatsAsks) -> dict[str, Any]:
    """Totals, and the same wing by wing."""
    graph, live = Graph(reading), Live(reading)
    wings: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for _, fact in graph.everything():
        wings[fact.newest.wing_key][fact.newest.predicate_key].append(fact)
    shown = [fact for wing in wings.values() for facts in wing.values() for fact in facts]
    return reading.shown() | {
        "facts": _counts(reading, shown),
        "entities": len(entities(graph)),
        "aliases": len({alias.id for alias in reading.all(Alias)}),
        "links": len({link.id for link in reading.all(Link) if live.now(link.drawer_id)}),
        "predicates": len({predicate for wing in wings.values() for predicate in wing}),
        "wings": [_wing(graph, key, wings[key]) for key in sorted(wings)],
    }


def _wing(graph: Graph, key: str, predicates: dict[str, list[Fact]]) -> dict[str, Any]:
    facts = [fact for of_predicate in predicates.values() for fact in of_predicate]
    about = {
        graph.aliases.entity(name, key)
        for fact in facts
        if fact.holds_at(graph.reading.as_of)
        for name in (fact.newest.subject_key, fact.newest.object_key)
    }
    return {
        "wing": _first(facts).newest.wing,
        "facts": _counts(graph.reading, facts),
        "entities": len(about),
        "predicates": [_predicate(graph, predicates[name]) for name in sorted(predicates)],
    }


def _predicate(graph: Graph, facts: list[Fact]) -> dict[str, Any]:
    first = _first(facts).newest
    return {
        "predicate": first.predicate,
        "cardinality": "one" if graph.single(first) else "many",
        "facts": _counts(graph.reading, facts),
    }


def _first(facts: list[Fact]) -> Fact:
    """The first in canonical order, whose spelling shows."""
    return min(facts, key=lambda fact: (fact.opened, fact.id))


def _counts(reading: Reading, facts: list[Fact]) -> dict[str, int]:
    current = sum(fact.holds_at(reading.as_of) for fact in facts)
    upcoming = sum(fact.valid_from > reading.as_of for fact in facts)
    return {
        "total": len(facts),
        "current": current,
        "past": len(facts) - current - upcoming,
        "upcoming": upcoming,
    }
