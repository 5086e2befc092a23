"""What is asked about entities: which there are, how they relate, and what is about them.

Protects hidden texts: a drawer counts for an entity, and is shown, only while it is live and true
at the moment asked. Names are compared in comparable form, and aliases are followed.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import Any

import orjson
from sqlalchemy import LargeBinary, bindparam, cast, exists, func, literal_column, select

from domain.candidates import whole_words
from domain.canonical import comparable
from domain.drawers import Support, newest
from domain.entities import Alias, Link
from domain.instants import show
from domain.operations.entities import (
    EntityMentionsAsks,
    EntityRelationshipsAsks,
    ListEntitiesAsks,
)
from projections import tables
from projections.queries.census import Census
from projections.queries.drawer_lists import PREVIEW_CHARACTERS
from projections.queries.graph import Graph
from projections.queries.live import Live
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports = tables.texts, BELIEFS[Support]

_PLAIN: Any = func.length(_texts.c.content) == func.length(cast(_texts.c.content, LargeBinary))
_NAMING = Prepared(
    select(_texts.c.drawer_id, _texts.c.wing_key, func.folded(_texts.c.content)).where(
        # What SQLite can tell by itself of a text in ASCII comes before `folded`, which is slow.
        ~_PLAIN
        | exists(
            select(literal_column("1"))
            .select_from(func.json_each(_B("words")).table_valued("value", name="word"))
            .where(func.instr(func.lower(_texts.c.content), literal_column("word.value")) > 0)
        ),
        exists(
            select(_supports.c.id).where(
                _supports.c.drawer_id == _texts.c.drawer_id,
                believed(_supports),
                _supports.c.valid_from <= _B("as_of"),
                _supports.c.valid_to > _B("as_of"),
            )
        ),
        exists(
            select(literal_column("1"))
            .select_from(func.json_each(_B("names")).table_valued("value", name="asked"))
            .where(func.instr(func.folded(_texts.c.content), literal_column("asked.value")) > 0)
        ),
    )
)


def list_entities(reading: Reading, asked: ListEntitiesAsks) -> dict[str, Any]:
    """One page of entities, by name."""
    last = resume("list_entities", reading, asked, asked.cursor, (str,))
    prefix = comparable(asked.prefix or "")
    census = Census(Graph(reading), asked.wing and comparable(asked.wing))
    found = sorted(
        key
        for key in census.keys
        if any(name.startswith(prefix) for name in (key, *census.aliases.get(key, ())))
    )
    behind = [key for key in found if not last or key > last[0]]
    page, more = behind[: asked.limit], len(behind) > asked.limit
    return reading.shown() | {
        "entities": [
            {
                "entity": one.name,
                "aliases": [one.aliases[key] for key in sorted(one.aliases)],
                "facts": one.facts,
                "drawers": len(one.drawers),
            }
            for one in census.described(page).values()
        ],
        "total": len(found),
        "cursor": cursor_text("list_entities", reading, asked, [page[-1]]) if more else None,
    }


def entity_relationships(reading: Reading, asked: EntityRelationshipsAsks) -> dict[str, Any]:
    """The facts of an entity that are true at the moment, out and in, by predicate."""
    graph = Graph(reading)
    entity, predicate = comparable(asked.entity), asked.predicate and comparable(asked.predicate)
    groups: dict[str, list[dict[str, Any]]] = {}
    total: set[str] = set()
    for name in ("out", "in"):
        found = graph.about(entity, name, predicate) if asked.direction in (name, "both") else []
        shown = [(key, fact) for key, fact in found if fact.holds_at(reading.as_of)]
        shown.sort(key=lambda one: (one[1].newest.predicate_key, one[1].valid_from, one[1].opened))
        total |= {fact.id for _, fact in shown}
        groups[name] = [
            {"predicate": facts[0][1].newest.predicate, "facts": graph.lines(facts)}
            for _, group in groupby(shown, key=lambda one: one[1].newest.predicate_key)
            if (facts := list(group))
        ]
    aliases = {
        row.alias_key: row.alias
        for row in reading.all(Alias)
        if row.alias_key in graph.aliases.names_anywhere(entity) and row.alias_key != entity
    }
    return reading.shown() | {
        "entity": asked.entity,
        "aliases": [aliases[key] for key in sorted(aliases)],
        "outgoing": groups["out"],
        "incoming": groups["in"],
        "total": len(total),
    }


def entity_mentions(reading: Reading, asked: EntityMentionsAsks) -> dict[str, Any]:
    """One page of the drawers that are about an entity, newest first."""
    last = resume("entity_mentions", reading, asked, asked.cursor, (int, str))
    graph, live = Graph(reading), Live(reading)
    entity = comparable(asked.entity)
    names = set(graph.aliases.names_anywhere(entity))
    why: dict[str, dict[str, None]] = defaultdict(dict)
    relations: dict[str, set[str]] = defaultdict(set)
    links = [link for link in reading.all(Link) if link.entity_key in names]
    for link in links:
        drawer = live.now(link.drawer_id)
        if drawer and link.entity_key in graph.aliases.names(entity, live.wing(drawer)):
            why[drawer]["linked"] = None
            relations[drawer].add(link.relation)
    for key, fact in graph.about(entity, "both", None):
        if fact.holds_at(reading.as_of):
            sources = [one for id in fact.ids for one in graph.sources(key).get(id, ())]
            for drawer in filter(None, (live.now(one["drawer_id"]) for one in sources)):
                why[drawer]["source"] = None
    for drawer in _naming(graph, entity):
        why[drawer]["text"] = None
    dated = {drawer: newest(reading.find(Support, "drawer_id", drawer)) for drawer in why}
    order = sorted((-support.recorded_at, drawer) for drawer, support in dated.items())
    behind = [one for one in order if not last or one > (last[0], last[1])]
    page, more = behind[: asked.limit], len(behind) > asked.limit
    marks = list(page[-1]) if more else []
    return reading.shown() | {
        "entity": asked.entity,
        "names": graph.aliases.names_anywhere(entity),
        "drawers": [
            live.line(drawer, PREVIEW_CHARACTERS)
            | {
                "recorded_at": show(-recorded),
                "by": list(why[drawer]),
                "relations": sorted(relations[drawer]),
            }
            for recorded, drawer in page
        ],
        "total": len(order),
        "cursor": cursor_text("entity_mentions", reading, asked, marks) if more else None,
    }


def _naming(graph: Graph, entity: str) -> list[str]:
    """The live drawers whose texts hold a name of the entity as whole words."""
    reading, names = graph.reading, graph.aliases.names_anywhere(entity)
    patterns = {name: whole_words(name) for name in names}
    words = [max(name.split(" "), key=len) for name in names if name.isascii()]
    asked = {
        "as_of": reading.as_of,
        "names": orjson.dumps(names).decode(),
        "words": orjson.dumps(words).decode(),
    }
    return [
        drawer
        for drawer, wing, text in reading.rows(_NAMING, **asked)
        if any(patterns[name].search(text) for name in graph.aliases.names(entity, wing))
    ]
