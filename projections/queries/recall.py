"""Recall: search, and the open facts of the entities that a question names, as one block of text.

Protects the reader's context: facts take at most half of the room where texts want it, and items
stand whole with who wrote them.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, literal, select, union_all

from domain.entities import Alias
from domain.facts import Assertion
from domain.operations.facts import KgQueryAsks
from domain.operations.searching import RecallAsks, SearchAsks
from projections.queries.blocks import Block, drawer_item, fact_item
from projections.queries.drawers import drawer_of
from projections.queries.facts import kg_query
from projections.queries.search import find, hits
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared
from projections.text import spans

HITS_MAX: Final = 20
FACTS_MAX: Final = 50
ENTITIES_MAX: Final = 8
NAME_WORDS_MAX: Final = 8

_B: Any = bindparam
_assertions, _aliases = BELIEFS[Assertion], BELIEFS[Alias]
_NAMED = Prepared(
    union_all(
        *(
            select(literal(1).label("one"))
            .where(column == _B("name"), believed(_assertions))
            .select_from(_assertions)
            for column in (_assertions.c.subject_key, _assertions.c.object_key)
        ),
        select(literal(1).label("one"))
        .where(_aliases.c.alias_key == _B("name"), believed(_aliases))
        .select_from(_aliases),
    ).limit(1)
)


def recall(reading: Reading, asked: RecallAsks) -> dict[str, Any]:
    """The drawers and facts that a question is about."""
    block = Block(asked.max_bytes)
    entities = _entities(reading, asked.query)
    found = find(reading, SearchAsks(query=asked.query, limit=HITS_MAX, wing=asked.wing))
    block.section("Facts")
    least = block.room // 2 if found.found else 0
    facts = [
        fact
        for fact in _facts(reading, entities)
        if block.add(fact_item(fact), within=block.room - least)
    ]
    block.section("Drawers")
    fitting = [
        one
        for one in found.found
        if block.add(drawer_item(drawer_of(reading, one.drawer_id) or {}))
    ]
    return reading.shown() | {
        "block": block.text(),
        "hits": hits(reading, fitting, asked.query, found.words),
        "facts": facts,
        "entities": entities,
        "left_out": block.left_out,
    }


def _entities(reading: Reading, query: str) -> list[str]:
    """The subjects and objects of facts, and their aliases, that a question names, longest first; a
    name inside another is not named.
    """
    entities: list[str] = []
    for name in spans(query, NAME_WORDS_MAX):
        inside = any(name in one for one in entities)
        if not inside and reading.rows(_NAMED, name=name):
            entities.append(name)
        if len(entities) == ENTITIES_MAX:
            break
    return entities


def _facts(reading: Reading, entities: list[str]) -> list[dict[str, Any]]:
    """The open facts of entities, each once."""
    found: dict[str, dict[str, Any]] = {}
    for entity in entities:
        for fact in kg_query(reading, KgQueryAsks(entity=entity))["facts"]:
            found.setdefault(fact["fact_id"], fact)
    return list(found.values())[:FACTS_MAX]
