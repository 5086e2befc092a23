"""Undo: what it asks, what it records, what it answers.

Protects the border; what can be undone is decided in `decisions.undo`.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from domain.operations.common import (
    Answers,
    DryRunAnswers,
    EndTime,
    Id,
    Line,
    Records,
    StartTime,
    Writes,
)


class UndoAsks(Writes):
    """Take operations out again: one, or those of a session or device."""

    op_id: Id | None = Field(None, description="One operation.")
    session: Line | None = Field(None, description="All of a session.")
    device: Line | None = Field(None, description="All of a device, in all its incarnations.")
    from_: StartTime | None = Field(None, alias="from", description="Recorded then or later.")
    until: EndTime | None = Field(None, description="Recorded before then.")
    dry_run: bool = Field(True, description="Only say what would be undone, and what would not.")

    @model_validator(mode="after")
    def _something_is_meant(self) -> UndoAsks:
        if self.op_id is None and self.session is None and self.device is None:
            raise ValueError("one of op_id, session and device says what to undo")
        return self


class Undone(Records):
    """That an operation is taken out of the key of these members."""

    op_id: str
    area: str
    members: list[str] = Field(min_length=1)


class Kept(Records):
    """That an operation stays, and why."""

    op_id: str
    reason: str
    by: str | None = None


class UndoRecords(Records):
    """What is taken out, key by key."""

    undone: list[Undone]
    operations: list[str]
    kept: list[Kept] = Field(default_factory=list)
    duplicate: bool = False


class KeptBack(Answers):
    """An operation that stays: another is `built_on` it, it was `undone_already`, it
    `fixes_the_wing` for good, it changed the embedder, which only goes back `by_reindex`, it is of
    a job, which is steered `by_job_control` (what it filed is undone as its session), or it has
    `no_view` that it changed.
    """

    op_id: str
    reason: str
    by: str | None = Field(description="The operation that rests on it.")


class UndoAnswers(DryRunAnswers):
    """What was undone, newest first, and what was not."""

    undone: list[str]
    kept: list[KeptBack]
