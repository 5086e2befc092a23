"""The operations that are never gated: totals, states and versions. No names of wings or rooms, no
content.

Protects a disabled or unauthorised session's view of the palace: what stands here may be shown to
anyone.
"""

from __future__ import annotations

from pydantic import Field

from domain.operations.common import Answers, Asks


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
    trail: TrailState
