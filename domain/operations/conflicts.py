"""The operations on conflicts: what they ask, record and answer.

Protects the border; what a conflict is stands in `conflicts`, what closes one in `resolutions`.
"""

from __future__ import annotations

from pydantic import Field

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Content,
    Cursor,
    Id,
    Limit,
    Moments,
    Paged,
    Records,
    Shown,
    WriteAnswers,
    Writes,
)


class ResolveConflictAsks(Writes):
    """Say that a conflict is settled, and how. Neither side of it is changed."""

    conflict_id: Id = Field(description="The conflict.")
    resolution: Content | None = Field(None, description="What holds, in your own words.")


class ResolveConflictRecords(Records):
    """The conflict, and what is said of it."""

    conflict_id: str
    resolution: str | None = None
    duplicate: bool = False


class ResolveConflictAnswers(WriteAnswers):
    """The conflict, and what was said of it."""

    conflict_id: str
    resolution: str | None


class ListConflictsAsks(Paged, Moments):
    """What devices did that cannot both have its way."""

    open: bool = Field(True, description="Only those that nobody has resolved; false: all.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class ConflictSide(Answers):
    """One side of a conflict."""

    op_id: str
    id: str | None = Field(
        description="The fact or drawer that it is about; null where it names one that is missing."
    )
    tool: str
    device: str
    agent: str | None
    position: int
    recorded_at: str


class ConflictResolved(Answers):
    """Who settled a conflict, when and how."""

    op_id: str
    resolution: str | None
    device: str
    recorded_at: str


class ConflictShown(Answers):
    """A conflict; `left` stood first in canonical order and is null where that side is missing."""

    id: str
    area: str
    kind: str
    meaning: str
    about: str
    left: ConflictSide | None
    right: ConflictSide
    resolved: ConflictResolved | None = Field(description="Null while it is open.")


class ListConflictsAnswers(Shown):
    """One page of conflicts, newest first in canonical order."""

    conflicts: list[ConflictShown]
    total: int
    cursor: str | None
