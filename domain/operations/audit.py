"""The operations on the audit trail: the events themselves, read like any content.

Protects the trail's shape: header fields in lists, the whole operation only where one is asked for.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Asks,
    EndTime,
    Id,
    KnownThen,
    KnownTime,
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
    outcome: Literal["accepted", "refused", "all"] = Field(
        "accepted", description="`refused` and `all` look into the audit trail as well."
    )
    include_reads: bool = Field(False, description="Also reads, out of the audit trail.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None


class OperationLine(Answers):
    """The header of an event and its place in this log; of a read or a refusal, in the trail."""

    position: int | None = Field(description="null in the trail, which has no part in the log.")
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
    outcome: str = Field(description="accepted or refused")
    code: str | None = Field(description="Of a refusal.")
    times: int = Field(description="How many calls, one after the other, the event stands for.")


class ListOperationsAnswers(Shown):
    """One page of operations; `total` counts all pages."""

    operations: list[OperationLine]
    total: int
    cursor: str | None


class ShowOperationAsks(KnownThen):
    """One operation in full; by op_id or by position. The trail's are found by op_id."""

    op_id: Id | None = Field(
        None, description="Also what it was first, before `outbox fork` recorded it again."
    )
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
    root_op_id: str | None = Field(
        description="What it was first, before `outbox fork` recorded it again; null of most."
    )
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


class WhyAsks(KnownThen):
    """The lineage of a drawer or a fact."""

    id: Id = Field(description="Of a drawer or a fact.")
    limit: Limit = LIMIT_DEFAULT


class ReadBefore(Answers):
    """What a session had read before it wrote, as the audit trail has it."""

    op_id: str
    tool: str
    agent: str | None
    recorded_at: str
    times: int
    asked: dict[str, Any] | None = Field(description="null where a digest alone was kept.")
    position: int | None = Field(description="The log was read up to this position.")
    total: int = Field(description="How many things the answer told of.")
    showed: list[str] = Field(
        description="Of what the thing rests on, and of the thing itself, the ids in the answer."
    )


class MadeBy(Answers):
    """An operation that made or changed the thing, and what its session had read before it."""

    op_id: str
    position: int
    tool: str
    device: str
    agent: str | None
    client: str | None
    session: str | None
    principal: str | None
    recorded_at: str
    read_before: list[ReadBefore] = Field(
        description="The newest ones, and the newest that showed something, newest first."
    )
    reads: int = Field(description="How many there were; 0 for a call without a session.")


class WhyAnswers(Shown):
    """The operations in canonical order; `total` counts those beyond the limit too."""

    id: str = Field(description="The id that it is shown under now.")
    kind: str = Field(description="drawer or fact")
    rests_on: list[str] = Field(
        description="Of a fact, its source drawers; of a drawer, the others of its lineage."
    )
    operations: list[MadeBy]
    total: int


class DiffAsks(Asks):
    """What memory gained, lost and changed between two moments of log time."""

    a: KnownTime = Field(description="After this moment.")
    b: KnownTime | None = Field(None, description="Up to this moment; else the present.")
    limit: Limit = Field(LIMIT_DEFAULT, description="Of each list.")


class DiffMoment(Answers):
    """A moment as it was understood."""

    position: int
    known_at: str | None = Field(description="null for the present.")


class DrawerChange(Answers):
    """A drawer that is not as it was."""

    id: str
    preview: str | None = Field(description="null where it is hidden.")
    previous: str | None = Field(description="The drawer that an update made it of.")
    changed: list[str] = Field(description="content, valid_time, tags ...")


class FactChange(Answers):
    """A fact that is not as it was, as it is at `b`."""

    fact_id: str
    wing: str
    subject: str
    predicate: str
    object: str
    valid_from: str
    valid_to: str | None
    changed: list[str] = Field(description="object, valid_from, valid_to, confidence")


class DrawerChanges(Answers):
    """The newest changes; `total` counts all."""

    total: int
    lines: list[DrawerChange]


class FactChanges(Answers):
    """The newest changes; `total` counts all."""

    total: int
    lines: list[FactChange]


class DrawerDiff(Answers):
    """Drawers that are new, gone, or otherwise than they were."""

    added: DrawerChanges
    hidden: DrawerChanges
    changed: DrawerChanges


class FactDiff(Answers):
    """Facts that are new, that end earlier than was known (or never were true), or changed."""

    gained: FactChanges
    lost: FactChanges
    changed: FactChanges


class DiffAnswers(Answers):
    """What changed after `a` and up to `b`."""

    log_id: str
    a: DiffMoment
    b: DiffMoment
    drawers: DrawerDiff
    facts: FactDiff
