"""Which names a text holds: those known here, and those that rules find.

Protects one answer: known names first, then the rules in their order; each name once.
"""

from __future__ import annotations

from typing import Any

from domain.candidates import guessed, is_name, names_in
from domain.canonical import comparable
from domain.errors import Refused
from domain.operations.drawers import GetDrawerAsks
from domain.operations.entities import EntityCandidatesAsks
from projections.queries.census import Census
from projections.queries.drawers import get_drawer
from projections.queries.graph import Graph
from projections.reading import Reading

_RULES = ("entity", "alias", "code", "quoted", "handle", "capitalised")


def entity_candidates(reading: Reading, asked: EntityCandidatesAsks) -> dict[str, Any]:
    """The names in a text, in the order in which they stand in it."""
    text, wing = _text(reading, asked)
    graph = Graph(reading)
    folded = comparable(text)
    found: dict[str, dict[str, Any]] = {}
    places: dict[str, int] = {}
    census = Census(graph)
    known = {
        name: key
        for key in census.keys
        for name in (key, *census.aliases.get(key, ()))
        if graph.aliases.entity(name, wing) == key
    }
    named = list(names_in(folded, known))
    entities = census.described({known[name] for _, name, _ in named})
    for at, name, count in named:
        entity = entities[known[name]]
        alias = entity.aliases.get(name)
        places[name] = at
        found[name] = {
            "name": alias or entity.name,
            "rule": "alias" if alias else "entity",
            "entity": entity.name,
            "count": count,
        }
    for one in sorted(guessed(text), key=lambda one: (_RULES.index(one.rule), one.at)):
        key = comparable(one.name)
        if key not in found and is_name(one.name):
            at = folded.find(key)
            places[key] = at if at >= 0 else one.at
            found[key] = {"name": one.name, "rule": one.rule, "entity": None, "count": 0}
        if key in found and found[key]["rule"] == one.rule:
            found[key]["count"] += 1
    order = sorted(found, key=lambda key: (places[key], key))
    return reading.shown() | {"candidates": [found[key] for key in order]}


def _text(reading: Reading, asked: EntityCandidatesAsks) -> tuple[str, str]:
    """The text asked about, and its wing in comparable form; "" of one that lies in none."""
    if asked.drawer_id is None:
        return asked.content or "", ""
    drawer = get_drawer(reading, GetDrawerAsks(drawer_id=asked.drawer_id))["drawer"]
    if drawer["content"] is None:
        raise Refused(
            "drawers::hidden",
            f"{asked.drawer_id} is hidden by a delete.",
            "Its text is not read any more; give another drawer, or the content itself.",
        )
    return drawer["content"], comparable(drawer["wing"])
