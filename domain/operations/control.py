"""The operations that are never gated: totals, states and versions. No names of wings or rooms, no
content.

Protects a disabled or unauthorised session's view of the palace: what stands here may be shown to
anyone.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from domain.operations.common import Answers, Asks, EndTime, StartTime


class StatusAsks(Asks):
    """How the palace is."""


class Versions(Answers):
    """Of the product and of SQLite."""

    product: str
    sqlite: str


class Totals(Answers):
    """How much there is."""

    events: int
    drawers_live: int
    drawers_hidden: int
    facts: int
    conflicts: int


class OutboxState(Answers):
    """What the primary has not acknowledged."""

    pending: int
    oldest_age_seconds: float | None
    blocked_by: str | None


class ProjectionState(Answers):
    """A read model: how far it has folded the log."""

    name: str
    checkpoint: int
    lag: int
    state: str = Field(description="current, behind or truncated")


class TrailState(Answers):
    """Reads and refusals: how many were noted and how many could not be."""

    noted: int
    lost: int


class VectorsState(Answers):
    """The vectors of one embedder. `texts` are different ones, hidden ones included."""

    embedder: str = Field(description="Short form of its identity.")
    counts: bool = Field(description="Whether searches go by it.")
    texts: int
    embedded: int
    missing: int = Field(description="Not tried yet.")
    failed: int = Field(description="Could not be embedded.")
    state: str = Field(description="whole or unreadable; `doctor` looks closer.")


class StatusAnswers(Answers):
    """How the palace is."""

    log_id: str
    device: str
    schema_: int = Field(alias="schema")
    versions: Versions
    head: int
    logged_at: str | None
    totals: Totals
    outbox: OutboxState
    projections: list[ProjectionState]
    vectors: list[VectorsState]
    trail: TrailState


class SetModeAsks(Asks):
    """Choose how much memory this session uses, below what a person allowed."""

    mode: Literal["full", "read_only", "disabled"] = Field(
        description="disabled: nothing is read or written."
    )


class SetModeAnswers(Answers):
    """What the session goes on with."""

    session_mode: str
    ceiling: str = Field(description="The most that it may choose.")


class AuditAsks(Asks):
    """Who was active, what was refused, and whether all is whole: ids and counts."""

    since: StartTime | None = Field(None, description="Activity recorded then or later.")
    before: EndTime | None = Field(None, description="Activity recorded before then.")


class ActivityLine(Answers):
    """Calls of one tool on one device and day."""

    day: str = Field(description="UTC")
    device: str
    tool: str
    outcome: str = Field(description="accepted (in the log), read or refused (in the trail)")
    code: str | None = Field(description="Of refusals.")
    calls: int


class Refusals(Answers):
    """How many calls were refused with a code."""

    code: str
    calls: int


class LogState(Answers):
    """The log's newest event; `log verify` looks at all of them."""

    head: int
    link: str | None
    state: str = Field(description="whole, altered or empty")


class ChainState(Answers):
    """A device's stream as this log holds it."""

    device: str
    stream: str
    events: int
    head: int = Field(description="The highest number in the stream.")
    whole: bool = Field(description="Whether no number is missing.")


class Orphans(Answers):
    """Facts whose source drawer this log has never held; the first of them by id."""

    facts: int
    fact_ids: list[str]


class AuditAnswers(Answers):
    """The report. Activity: the newest day first; `activity_total` counts lines left out too."""

    log_id: str
    activity: list[ActivityLine]
    activity_total: int
    refusals: list[Refusals]
    log: LogState
    chains: list[ChainState]
    projections: list[ProjectionState]
    orphans: Orphans
    trail: TrailState
