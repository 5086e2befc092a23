"""The operations on facts: what they ask, what they record, what they answer.

Protects the border of the knowledge graph; holds no rules (see `decisions.facts` and `facts`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Cursor,
    EndTime,
    Id,
    Limit,
    Line,
    Moments,
    Name,
    ObjectName,
    Paged,
    PlaceName,
    RecordedInstant,
    RecordedName,
    RecordedObject,
    RecordedPlace,
    Records,
    Shown,
    StartTime,
    Windows,
    WriteAnswers,
    Writes,
)


class KgAddAsks(Writes):
    """Assert that a subject has an object under a predicate, from when until when."""

    subject: Name = Field(description="What it is about.")
    predicate: Name = Field(description="What is said of it, such as `city`.")
    object: ObjectName = Field(description="The value or thing that is said.")
    valid_from: StartTime | None = Field(None, description="From when it is true; default now.")
    valid_to: EndTime | None = Field(None, description="Until when; a bare date counts whole.")
    confidence: float | None = Field(None, ge=0, le=1, description="How sure it is, 0 to 1.")
    source_drawer_id: Id | None = Field(None, description="The drawer that says so.")
    source_file: Line | None = Field(None, description="The file that says so.")
    wing: PlaceName | None = Field(None, description="Default: the source drawer's, else `facts`.")


class KgAddRecords(Records):
    """An assertion with its wing and interval resolved."""

    wing: RecordedPlace
    subject: RecordedName
    predicate: RecordedName
    object: RecordedObject
    valid_from: RecordedInstant
    valid_to: RecordedInstant | None = None
    confidence: float | None = None
    source_drawer_id: str | None = None
    source_file: str | None = None
    held: str | None = None
    duplicate: bool = False


class KgAddAnswers(WriteAnswers):
    """The fact; where it was held already, the one that holds it."""

    fact_id: str


class KgInvalidateAsks(Writes):
    """Say that a fact is true no longer."""

    subject: Name = Field(description="What the fact is about.")
    predicate: Name = Field(description="What it says of it.")
    object: ObjectName = Field(description="The object that holds no longer.")
    ended: EndTime | None = Field(None, description="Since when it is not true; default now.")
    wing: PlaceName | None = Field(None, description="The wing of the fact; default `facts`.")


class KgInvalidateRecords(Records):
    """What ends, and when."""

    wing: RecordedPlace
    subject: RecordedName
    predicate: RecordedName
    object: RecordedObject
    ended: RecordedInstant
    fact_ids: list[str] = Field(default_factory=list)
    duplicate: bool = False


class KgInvalidateAnswers(WriteAnswers):
    """The facts that end, and when; of a duplicate, the end that stood already."""

    fact_ids: list[str]
    ended: str


class KgSupersedeAsks(Writes):
    """Say that another object has taken an object's place."""

    subject: Name = Field(description="What the fact is about.")
    predicate: Name = Field(description="What it says of it.")
    old_object: ObjectName = Field(description="The object that holds no longer.")
    new_object: ObjectName = Field(description="The object in its place.")
    at: StartTime | None = Field(None, description="From when the new one holds; default now.")
    wing: PlaceName | None = Field(None, description="The wing of the fact; default `facts`.")


class KgSupersedeRecords(Records):
    """What ends and what opens, and when."""

    wing: RecordedPlace
    subject: RecordedName
    predicate: RecordedName
    old_object: RecordedObject
    new_object: RecordedObject
    at: RecordedInstant
    superseded: list[str] = Field(default_factory=list)
    held: str | None = None
    duplicate: bool = False


class KgSupersedeAnswers(WriteAnswers):
    """The fact that opens, and those that it closes."""

    fact_id: str
    superseded: list[str]


class KgDeclarePredicateAsks(Writes):
    """Say whether a predicate has one object or many at a time, over all history."""

    predicate: Name = Field(description="The predicate.")
    cardinality: Literal["one", "many"] = Field(description="How many objects it has at a time.")
    wing: PlaceName | None = Field(None, description="In one wing; default every wing.")


class KgDeclarePredicateRecords(Records):
    """The declaration."""

    predicate: RecordedName
    cardinality: Literal["one", "many"]
    wing: RecordedPlace | None = None
    duplicate: bool = False


class KgDeclarePredicateAnswers(WriteAnswers):
    """The predicate in the spelling in use."""

    predicate: str
    cardinality: str


class KgQueryAsks(Windows):
    """What is true of an entity."""

    entity: ObjectName = Field(description="A subject or an object.")
    direction: Literal["out", "in", "both"] = Field(
        "both", description="Facts about it (out), that name it (in), or both."
    )
    predicate: Name | None = Field(None, description="Only with this predicate.")


class FactSource(Answers):
    """Where a fact was learnt. `hidden`: its drawer is deleted."""

    op_id: str
    device: str
    agent: str | None
    drawer_id: str | None
    file: str | None
    hidden: bool


class FactShown(Answers):
    """A fact as it is shown: overlapping assertions of one object are one fact."""

    fact_id: str
    wing: str
    subject: str
    predicate: str
    object: str
    valid_from: str
    valid_to: str | None
    confidence: float | None
    sources: list[FactSource]
    current: bool = Field(description="Whether it is true at `as_of`.")
    conflict: bool


class KgQueryAnswers(Shown):
    """The facts, by predicate, valid_from and canonical order."""

    facts: list[FactShown]


class KgTimelineAsks(Paged, Moments):
    """Facts over time, whether true or not."""

    entity: ObjectName | None = Field(None, description="Only of this subject or object.")
    predicate: Name | None = Field(None, description="Only with this predicate.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class KgTimelineAnswers(Shown):
    """One page of facts by valid_from, then canonical order."""

    facts: list[FactShown]
    cursor: str | None


class FactHistoryAsks(Moments):
    """All that was ever asserted under a fact's subject and predicate."""

    fact_id: Id = Field(description="The fact.")


class AssertionShown(Answers):
    """One assertion as it stands in the fold; `never_true` where its interval is empty."""

    fact_id: str
    object: str
    valid_from: str
    valid_to: str | None
    never_true: bool
    superseded_by: str | None
    sources: list[FactSource]


class FactEvent(Answers):
    """An event of the fact's partition, in canonical order."""

    op_id: str
    position: int
    tool: str
    device: str
    agent: str | None
    recorded_at: str


class FactHistoryAnswers(Shown):
    """What the id resolves to, its partition's assertions and events, and conflicts."""

    fact_id: str
    assertions: list[AssertionShown]
    events: list[FactEvent]
    conflict: bool
