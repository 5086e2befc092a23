"""The operations on entities: what they ask, record and answer.

Protects the border; what an alias and a link are stands in `entities`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Content,
    Id,
    Limit,
    Line,
    Moments,
    Name,
    ObjectName,
    Paged,
    PlaceName,
    RecordedName,
    RecordedPlace,
    Records,
    Shown,
    WriteAnswers,
    Writes,
)
from domain.operations.facts import FactShown


class AddAliasAsks(Writes):
    """Say that another name means an entity; reads then find the facts of both names."""

    entity: Name
    alias: Name
    wing: PlaceName | None = Field(None, description="In one wing; default every wing.")


class AddAliasRecords(Records):
    """The alias."""

    entity: RecordedName
    alias: RecordedName
    wing: RecordedPlace | None = None
    duplicate: bool = False


class AddAliasAnswers(WriteAnswers):
    """The entity in the spelling in use, and its alias."""

    entity: str
    alias: str


class LinkDrawerAsks(Writes):
    """Say that a drawer is about an entity."""

    drawer_id: Id
    entity: Name
    relation: Name = Field("mentions", description="How: `mentions`, or in your own words.")


class LinkDrawerRecords(Records):
    """The link; the wing is the drawer's, where it is known."""

    drawer_id: str
    entity: RecordedName
    relation: RecordedName
    wing: RecordedPlace | None = None
    duplicate: bool = False


class LinkDrawerAnswers(WriteAnswers):
    """The drawer where it is now, and the entity in the spelling in use."""

    drawer_id: str
    entity: str
    relation: str


class ListEntitiesAsks(Paged, Moments):
    """The entities that facts shown are about or that drawers are linked to, by name."""

    prefix: Name | None = Field(None, description="Names that begin so; case does not matter.")
    wing: PlaceName | None = None
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None


class EntityLine(Answers):
    """An entity."""

    entity: str
    aliases: list[str]
    facts: int = Field(description="Facts true at `as_of` with it as subject or object.")
    drawers: int = Field(description="Drawers linked to it, and sources of its facts.")


class ListEntitiesAnswers(Shown):
    """One page of entities; `total` counts all pages."""

    entities: list[EntityLine]
    total: int
    cursor: str | None


class EntityRelationshipsAsks(Moments):
    """The facts of an entity, out and in, by predicate."""

    entity: ObjectName
    direction: Literal["out", "in", "both"] = "both"
    predicate: Name | None = None


class Relationship(Answers):
    """The facts of one predicate, in one direction."""

    predicate: str
    facts: list[FactShown]


class EntityRelationshipsAnswers(Shown):
    """The entity, the facts that it is the subject of, and those that it is the object of."""

    entity: str
    aliases: list[str]
    outgoing: list[Relationship]
    incoming: list[Relationship]
    total: int


class EntityMentionsAsks(Paged, Moments):
    """The drawers that are about an entity, newest first."""

    entity: ObjectName
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None


class Mention(Answers):
    """A drawer, and why it is about the entity."""

    id: str
    wing: str
    room: str
    preview: str
    recorded_at: str
    by: list[Literal["linked", "source", "text"]] = Field(
        description="It was linked, a fact was learnt from it, or its text names the entity."
    )
    relations: list[str] = Field(description="Of its links.")


class EntityMentionsAnswers(Shown):
    """One page of drawers; `total` counts all pages."""

    entity: str
    names: list[str] = Field(description="What the texts were searched for, in comparable form.")
    drawers: list[Mention]
    total: int
    cursor: str | None


class EntityCandidatesAsks(Moments):
    """What a text may be about: names found by rules, no model. A drawer's text, or one given."""

    drawer_id: Id | None = None
    content: Content | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> EntityCandidatesAsks:
        if (self.drawer_id is None) == (self.content is None):
            raise ValueError("give drawer_id or content, one of the two")
        return self


class Candidate(Answers):
    """A name in a text."""

    name: str
    rule: Literal["entity", "alias", "code", "quoted", "handle", "capitalised"] = Field(
        description="The first rule that found it, in this order."
    )
    entity: str | None = Field(description="The entity that it names; null of one not known yet.")
    count: int = Field(description="How often that rule found it.")


class EntityCandidatesAnswers(Shown):
    """The names in the order in which they stand in the text."""

    candidates: list[Candidate]


class KgStatsAsks(Moments):
    """How much the knowledge graph holds; no subjects and no objects."""


class FactCounts(Answers):
    """Facts that show, by whether they are true at `as_of`."""

    total: int
    current: int
    past: int
    upcoming: int


class PredicateCount(Answers):
    """A predicate of a wing."""

    predicate: str
    cardinality: Literal["one", "many"]
    facts: FactCounts


class WingStats(Answers):
    """What the graph holds in one wing."""

    wing: str
    facts: FactCounts
    entities: int
    predicates: list[PredicateCount]


class KgStatsAnswers(Shown):
    """Totals, and the same wing by wing."""

    facts: FactCounts
    entities: int = Field(description="As `list_entities` counts them.")
    aliases: int
    links: int = Field(description="Of drawers that are live.")
    predicates: int
    wings: list[WingStats]
