"""The event: what one operation leaves in a log, and how it is tied to what came before.

Protects the record. `record` turns a decided draft into header bytes, digests and a chain at the
origin; `link` ties an event to its place in one log. The header is bytes from then on: stored and
sent as they are, never encoded again. Pure: the clock, the nonce and the heads are arguments.
Format: FORMATS, schema 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import ZERO_HASH, canonical, digest
from domain.errors import InvalidInput, Unusable
from domain.identity import operation_id, stream_id

SCHEMA: Final = 1
STAMPS_END: Final = 2**63
CONTENT_BYTES_MAX: Final = 8 * 1024 * 1024
EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
BATCH_EVENTS_MAX: Final = 1_000
BATCH_BYTES_MAX: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, over what, and how much memory the session is allowed.

    Attributes:
        session_mode: `full`, `read_only` or `disabled`.
        memory_mode: `flat` or `rich`.
        ceiling: the most that the session may choose with `set_mode`.
        remembers: whether there is a session that remembers what is chosen.
        here: whether who asks is, as far as can be told, the user whose palace it is.
        folder: that who asks works in; None is the one of this process where `here`, else unknown.
    """

    agent: str | None = None
    client: str | None = None
    session: str | None = None
    principal: str | None = None
    session_mode: str = "full"
    memory_mode: str = "flat"
    ceiling: str = "full"
    remembers: bool = False
    here: bool = True
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """An operation that has been decided but has no place in a stream yet.

    Attributes:
        payload: the resolved arguments; replaying them needs no clock, random, model or
            configuration.
        asked: the arguments as the caller gave them.
        target: `known`, `unverified`, or None where the operation has no target.
        parent: of the first event of an incarnation: `{device, local_seq, chain}` that it goes on
            from.
        call_id: joins the events of one call; None where there is one alone.
    """

    tool: str
    payload: dict[str, Any]
    asked: dict[str, Any]
    context: Context = field(default_factory=Context)
    stream: str = "shared"
    target: str | None = None
    idempotency_key: str | None = None
    parent: dict[str, Any] | None = None
    call_id: str | None = None


class Header(NamedTuple):
    """The fields of an event that are hashed into its chain; absent ones are None (and not
    encoded).
    """

    schema: int
    op_id: str
    origin_device: str
    stream: str
    local_seq: int
    tool: str
    payload_digest: str
    asked_digest: str
    recorded_at: int
    hlc: int
    session_mode: str
    memory_mode: str
    origin_host: str | None = None
    idempotency_key: str | None = None
    agent: str | None = None
    client: str | None = None
    session: str | None = None
    principal: str | None = None
    call_id: str | None = None
    target: str | None = None
    parent: dict[str, Any] | None = None
    root_op_id: str | None = None
    redacts: str | None = None
    voids: str | None = None

    def encoded(self) -> bytes:
        """The canonical bytes; made once, at the origin."""
        return canonical(
            {name: value for name, value in self._asdict().items() if value is not None}
        )


class StreamHead(NamedTuple):
    """The newest event of one stream; `NOTHING_YET` before the first.

    Attributes:
        order: its order_hlc in this log, -1 before the first.
    """

    local_seq: int
    chain: bytes
    order: int


NOTHING_YET: Final = StreamHead(0, ZERO_HASH, -1)


class Head(NamedTuple):
    """The newest event of one log; position 0 with a zero link before the first."""

    position: int
    link: bytes
    logged_at: int


EMPTY_LOG: Final = Head(0, ZERO_HASH, 0)


class Recorded(NamedTuple):
    """An event as its origin made it: what travels.

    Attributes:
        header_bytes: the canonical header, 1 to a few hundred bytes.
        payload: canonical JSON of the resolved arguments, None once redacted or voided.
        nonce: 16 bytes that go with the payload.
        chain: 32 bytes, sha256 of the chain before and the header bytes.
    """

    header: Header
    header_bytes: bytes
    payload: bytes | None
    nonce: bytes | None
    chain: bytes

    @property
    def stream_id(self) -> str:
        """The stored stream that the event belongs to."""
        return stream_id(self.header.origin_device, self.header.stream)

    def bytes_count(self) -> int:
        """Size that counts against the limits on events and batches."""
        return len(self.header_bytes) + len(self.payload or b"")


class Operation(NamedTuple):
    """An event in a log: what its origin recorded, and the place that this log gave it.

    Attributes:
        position: 1, 2, 3 ... the order of arrival in this log.
        logged_at: microseconds UTC, strictly increasing in a log.
        order_hlc: the order that this log gave it; the device may later learn another
            (`acknowledged`).
        link: 32 bytes over the whole log up to here.
    """

    recorded: Recorded
    position: int
    logged_at: int
    order_hlc: int
    link: bytes

    @property
    def header(self) -> Header:
        """The decoded header."""
        return self.recorded.header

    def payload(self) -> dict[str, Any]:
        """The resolved arguments; empty once redacted or voided."""
        raw = self.recorded.payload
        return {} if raw is None else orjson.loads(raw)


def record(
    draft: Draft,
    *,
    device: str,
    host: str | None,
    before: StreamHead,
    recorded_at: int,
    hlc: int,
    nonce: bytes,
) -> Recorded:
    """Give a draft its number, digests and chain in its device's stream.

    Args:
        before: head of the stream that the draft continues.
        recorded_at: device time, microseconds UTC.
        hlc: the stamp, above every stamp that this log holds.
        nonce: 16 random bytes.

    Raises:
        InvalidInput: `palacelog::input::too_large`, no log would take it.
        Unusable: `palacelog::clock::exhausted`, no stamp is left below 2**63.
    """
    payload = canonical(draft.payload)
    payload_digest = digest(nonce, payload)
    context = draft.context
    local_seq = before.local_seq + 1
    header = Header(
        schema=SCHEMA,
        op_id=operation_id(device, draft.stream, local_seq, draft.tool, payload_digest),
        origin_device=device,
        origin_host=host,
        stream=draft.stream,
        local_seq=local_seq,
        tool=draft.tool,
        payload_digest=payload_digest.hex(),
        asked_digest=asked_digest(nonce, draft.tool, draft.asked).hex(),
        idempotency_key=draft.idempotency_key,
        recorded_at=recorded_at,
        hlc=_checked_stamp(hlc),
        agent=context.agent,
        client=context.client,
        session=context.session,
        principal=context.principal,
        session_mode=context.session_mode,
        memory_mode=context.memory_mode,
        call_id=draft.call_id,
        target=draft.target,
        parent=draft.parent,
    )
    encoded = header.encoded()
    recorded = Recorded(header, encoded, payload, nonce, chain(before.chain, encoded))
    if recorded.bytes_count() > EVENT_BYTES_MAX:
        raise InvalidInput(
            "input::too_large",
            f"The call would be an event of {recorded.bytes_count()} bytes, more than the "
            f"{EVENT_BYTES_MAX} that a log takes.",
            "Split it into several calls.",
        )
    return recorded


def _checked_stamp(hlc: int) -> int:
    if not 0 <= hlc < STAMPS_END:
        raise Unusable(
            "clock::exhausted",
            f"The operation's stamp would be {hlc}, and no log takes one from 2**63 on.",
            "Look at this machine's clock, and with `palacelog log list` at events from the far "
            "future.",
        )
    return hlc


def record_again(
    recorded: Recorded,
    *,
    device: str,
    before: StreamHead,
    payload: bytes | None,
    parent: dict[str, Any] | None,
) -> Recorded:
    """Give an event of a stream that forked its place in another incarnation's stream.

    Who asked, when and over what stay as they were recorded; `root_op_id` names the operation that
    it was first.

    Args:
        before: head of the stream that it continues.
        payload: its payload in canonical JSON, naming what it refers to as that is named now.
        parent: of the first event of the incarnation (see `Draft`).
    """
    header, nonce, local_seq = recorded.header, recorded.nonce, before.local_seq + 1
    hashed = bytes.fromhex(header.payload_digest)
    if payload is not None and nonce is not None:
        hashed = digest(nonce, payload)
    header = header._replace(
        op_id=operation_id(device, header.stream, local_seq, header.tool, hashed),
        origin_device=device,
        local_seq=local_seq,
        payload_digest=hashed.hex(),
        parent=parent,
        root_op_id=header.root_op_id or header.op_id,
    )
    header_bytes = header.encoded()
    return Recorded(header, header_bytes, payload, nonce, chain(before.chain, header_bytes))


def asked_digest(nonce: bytes, tool: str, asked: dict[str, Any]) -> bytes:
    """What a key is compared by: 32 bytes over nonce, tool and the arguments as asked."""
    return digest(nonce, tool, canonical(asked))


def chain(previous: bytes, header_bytes: bytes) -> bytes:
    """sha256 of the 32 bytes before and the header bytes."""
    return sha256(previous + header_bytes).digest()


def link(previous: bytes, position: int, chain: bytes, logged_at: int, order_hlc: int) -> bytes:
    """The 32 bytes that tie an event to its place in one log."""
    return digest(previous, position, chain, logged_at, order_hlc)


def place(recorded: Recorded, *, after: Head, logged_at: int, order_hlc: int) -> Operation:
    """Put a recorded event behind the head of a log."""
    position = after.position + 1
    tied = link(after.link, position, recorded.chain, logged_at, order_hlc)
    return Operation(recorded, position, logged_at, order_hlc, tied)


def read_header(header_bytes: bytes) -> Header:
    """Decode stored header bytes.

    Raises:
        ValueError: not a JSON object, an unknown or a missing field.
    """
    try:
        fields = orjson.loads(header_bytes)
        return Header(**fields)
    except TypeError as error:
        raise ValueError(f"the header is not of schema {SCHEMA}: {error}") from None


def rank(stamp: int, device: str, stream: str, local_seq: int, index: int) -> bytes:
    """The canonical order K as bytes that sort like (stamp, origin_device, stream, local_seq,
    index).
    """
    names = f"{device}\x00{stream}\x00".encode()
    return stamp.to_bytes(8, "big") + names + (local_seq << 32 | index).to_bytes(12, "big")


def ranked(rank: bytes, index: int) -> bytes:
    """The rank of another part of the same event."""
    return rank[:-4] + index.to_bytes(4, "big")


def part_index(rank: bytes) -> int:
    """Which part of its event a rank is of, from 0."""
    return int.from_bytes(rank[-4:], "big")


def is_local(rank: bytes) -> bool:
    """Whether a rank is that of an event of a local stream, which never travels."""
    return rank[-19:-12] == b"\x00local\x00"


def origin_of(rank: bytes) -> str:
    """The device, incarnation included, whose event a rank is of."""
    return rank[8 : rank.index(b"\x00", 8)].decode()


def stamp_of(rank: bytes) -> int:
    """The stamp at the head of a rank."""
    return int.from_bytes(rank[:8], "big")
