"""The operations on the audit trail: the events themselves, read like any content.

Protects the trail's shape: header fields in lists, the whole operation only where one is asked for.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    EndTime,
    Id,
    KnownThen,
    Limit,
    Line,
    Name,
    ObjectName,
    Paged,
    PlaceName,
    Shown,
    StartTime,
)


class ListOperationsAsks(Paged, KnownThen):
    """Who did what, newest first."""

    device: Name | None = Field(None, description="A device, all its incarnations included.")
    tool: Name | None = None
    agent: Name | None = None
    session: Name | None = None
    wing: PlaceName | None = None
    drawer_id: Id | None = None
    entity: ObjectName | None = None
    since: StartTime | None = None
    before: EndTime | None = None
    outcome: Literal["accepted", "refused"] = "accepted"
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None


class OperationLine(Answers):
    """The header of an event and its place in this log."""

    position: int
    op_id: str
    tool: str
    device: str
    host: str | None
    stream: str
    local_seq: int
    agent: str | None
    client: str | None
    session: str | None
    principal: str | None
    session_mode: str
    memory_mode: str
    recorded_at: str
    logged_at: str
    outcome: str


class ListOperationsAnswers(Shown):
    """One page of operations; `total` counts all pages."""

    operations: list[OperationLine]
    total: int
    cursor: str | None


class ShowOperationAsks(KnownThen):
    """One operation in full; by op_id or by position."""

    op_id: Id | None = None
    position: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one_of_two(self) -> ShowOperationAsks:
        if (self.op_id is None) == (self.position is None):
            raise ValueError("give op_id or position, one of the two")
        return self


class Effect(Answers):
    """A row that the operation changed when this log folded it."""

    kind: str
    id: str
    change: str = Field(description="opened, changed or closed")


class Moved(Answers):
    """What an `acknowledged` operation moved."""

    stream: str = Field(description="The device whose shared stream was acknowledged.")
    upto: int = Field(description="Up to this number of the stream.")
    orders: int = Field(description="How many of its operations got another place in the order.")


class OperationShown(OperationLine):
    """The operation with everything that proves it."""

    schema_: int = Field(alias="schema")
    hlc: int
    order_hlc: int
    target: str | None
    idempotency_key: str | None
    payload: dict[str, Any] | None
    payload_digest: str
    asked_digest: str
    chain: str
    link: str
    effects: list[Effect]
    acknowledged: Moved | None


class ShowOperationAnswers(Shown):
    """The operation."""

    operation: OperationShown
