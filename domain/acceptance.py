"""Acceptance: what a log answers to an event that arrives from elsewhere. One pure rule for every
transport.

Protects replication: any number of deliveries gives one event, nothing is taken out of order, and a
log that was copied or restored is noticed instead of mixed up. Judges form, numbers, chains, size,
schema and permission, never meaning. Source: DESIGN section 13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from domain.canonical import ZERO_HASH
from domain.operation import EVENT_BYTES_MAX, SCHEMA, Recorded, StreamHead
from domain.operation import chain as chained


@dataclass(frozen=True, slots=True)
class Appended:
    """Taken as the next of its stream, at `position`."""

    position: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Held already at `position`; nothing changes."""

    position: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Beyond the next number; `expected` is the one that must come first. Nothing after it is
    taken.
    """

    expected: int


@dataclass(frozen=True, slots=True)
class Forked:
    """The stream went two ways after `local_seq`: its log was copied or restored."""

    local_seq: int


@dataclass(frozen=True, slots=True)
class Behind:
    """This log holds more of the sender's stream (up to `local_seq`) than the sender does."""

    local_seq: int


@dataclass(frozen=True, slots=True)
class Later:
    """Not now; the sender retries by itself. `code` says why."""

    code: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Never as it is; the stream waits behind it until a person retries or voids it."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diverged:
    """The receiver is not the log that acknowledged; the sender resends from `local_seq` + 1."""

    local_seq: int


Outcome = Appended | Duplicate | Gap | Forked | Behind | Later | Rejected | Diverged


class Stored(NamedTuple):
    """What this log holds at the number of an incoming event."""

    op_id: str
    chain: bytes
    position: int


def judge(
    incoming: Recorded,
    head: StreamHead,
    stored: Stored | None,
    permits: Callable[[Recorded], Rejected | None] = lambda _: None,
    event_bytes_max: int = EVENT_BYTES_MAX,
) -> Outcome | None:
    """Judge one event; None means: take it as the next of its stream.

    Args:
        head: of the event's stream in this log.
        stored: what this log holds at the event's number; None beyond its head.
        permits: whether the sender may write it; None where it may.
        event_bytes_max: size limit of header and payload together.
    """
    header = incoming.header
    if header.schema > SCHEMA:
        return Later("replay::newer_schema")
    if incoming.bytes_count() > event_bytes_max:
        return Rejected("replay::too_large", f"it is larger than {event_bytes_max} bytes")
    if stored is not None:
        same = (stored.op_id, stored.chain) == (header.op_id, incoming.chain)
        return Duplicate(stored.position) if same else Forked(header.local_seq - 1)
    expected = head.local_seq + 1
    if header.local_seq > expected:
        return Gap(expected)
    if header.local_seq < expected:
        return Rejected("replay::malformed", f"{header.local_seq} is no number of a new event")
    if chained(head.chain, incoming.header_bytes) != incoming.chain:
        return Forked(head.local_seq)
    return permits(incoming)


class Claim(NamedTuple):
    """What a device believes about its stream in the log that it sends to.

    Attributes:
        local_seq, chain: head of the stream at the device.
        acknowledged: highest number that log acknowledged, with its chain (ZERO_HASH for 0).
        log_id: of the log that acknowledged; None before the first acknowledgement.
        position: highest position of that log named in an acknowledgement.
    """

    local_seq: int
    chain: bytes
    acknowledged: int = 0
    acknowledged_chain: bytes = ZERO_HASH
    log_id: str | None = None
    position: int = 0


def judge_stream(
    claim: Claim,
    *,
    log_id: str,
    position: int,
    head: StreamHead,
    chain_here: Callable[[int], bytes | None],
    chain_there: Callable[[int], bytes | None],
) -> Outcome | None:
    """Judge a device's stream as a whole before it sends; None means: send from `head.local_seq` +
    1.

    Args:
        log_id, position, head: of the receiving log, and of the stream in it.
        chain_here: the receiver's chain at a local_seq; None beyond its head.
        chain_there: the device's own chain at a local_seq; None beyond its head.
    """
    common = min(claim.local_seq, head.local_seq)
    if common and chain_here(common) != chain_there(common):
        return Forked(_last_common(common, chain_here, chain_there))
    replaced = claim.log_id is not None and claim.log_id != log_id
    if replaced or head.local_seq < claim.acknowledged or position < claim.position:
        return Diverged(common)
    if head.local_seq > claim.local_seq:
        return Behind(head.local_seq)
    return None


def _last_common(
    upper: int, here: Callable[[int], bytes | None], there: Callable[[int], bytes | None]
) -> int:
    """The last number at which both chains agree: a chain that differs once differs ever after."""
    low, high = 0, upper
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if here(middle) == there(middle) else (low, middle)
    return low
