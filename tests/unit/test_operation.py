"""An event as its origin makes it and as a log ties it in: FORMATS worked out by hand."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from domain.canonical import ZERO_HASH
from domain.errors import Unusable
from domain.operation import (
    BATCH_BYTES_MAX,
    BATCH_EVENTS_MAX,
    CONTENT_BYTES_MAX,
    EMPTY_LOG,
    EVENT_BYTES_MAX,
    NOTHING_YET,
    SCHEMA,
    Context,
    Draft,
    Head,
    Header,
    Recorded,
    StreamHead,
    chain,
    link,
    place,
    read_header,
    record,
)

NONCE = bytes(range(16))
PAYLOAD = {"wing": "w", "object": "caf\u00e9", "duplicate": False}
PAYLOAD_JSON = '{"duplicate":false,"object":"caf\u00e9","wing":"w"}'.encode()
ASKED = {"object": "caf\u00e9"}
ASKED_JSON = '{"object":"caf\u00e9"}'.encode()


def netstring(part: bytes) -> bytes:
    return str(len(part)).encode() + b":" + part


def sha_of(*parts: bytes) -> bytes:
    return sha256(b"".join(map(netstring, parts))).digest()


PAYLOAD_DIGEST = sha_of(NONCE, PAYLOAD_JSON)
OP_ID = sha_of(b"ada", b"shared", b"1", b"kg_add", PAYLOAD_DIGEST).hex()
ASKED_DIGEST = sha_of(NONCE, b"kg_add", ASKED_JSON).hex()
HEADER = (
    f'{{"asked_digest":"{ASKED_DIGEST}","hlc":65536,"local_seq":1,"memory_mode":"flat",'
    f'"op_id":"{OP_ID}","origin_device":"ada","payload_digest":"{PAYLOAD_DIGEST.hex()}",'
    f'"recorded_at":1999,"schema":1,"session_mode":"full","stream":"shared","tool":"kg_add"}}'
).encode()


def recorded(
    draft: Draft | None = None,
    before: StreamHead = NOTHING_YET,
    nonce: bytes = NONCE,
    recorded_at: int = 1_999,
    hlc: int = 65_536,
) -> Recorded:
    return record(
        draft or Draft("kg_add", PAYLOAD, ASKED),
        device="ada",
        host=None,
        before=before,
        recorded_at=recorded_at,
        hlc=hlc,
        nonce=nonce,
    )


@pytest.mark.parametrize("hlc", [-1, 2**63])
def test_a_stamp_that_no_log_takes_is_not_recorded(hlc: int) -> None:
    assert recorded(hlc=2**63 - 1).header.hlc == 2**63 - 1
    with pytest.raises(Unusable) as caught:
        recorded(hlc=hlc)
    assert caught.value.code == "palacelog::clock::exhausted"


def test_an_event_is_recorded_in_these_bytes_and_no_others() -> None:
    event = recorded()
    assert event.payload == PAYLOAD_JSON
    assert event.header_bytes == HEADER
    assert event.chain == sha256(bytes(32) + HEADER).digest()
    assert event.nonce == NONCE
    assert event.bytes_count() == len(HEADER) + len(PAYLOAD_JSON)
    assert event.stream_id == "ada"


def test_the_chain_ties_an_event_to_the_one_before_it_in_its_stream() -> None:
    first = recorded()
    second = recorded(before=StreamHead(1, first.chain, 65_536))
    assert second.header.local_seq == 2
    assert second.chain == sha256(first.chain + second.header_bytes).digest()
    assert chain(b"\x01" * 32, b"header") == sha256(b"\x01" * 32 + b"header").digest()


def test_a_stream_and_an_incarnation_begin_behind_zeros() -> None:
    assert (0, bytes(32), -1) == NOTHING_YET
    assert (0, bytes(32), 0) == EMPTY_LOG
    assert bytes(32) == ZERO_HASH
    parent = {"device": "ada", "local_seq": 7, "chain": "ab" * 32}
    event = recorded(Draft("kg_add", PAYLOAD, ASKED, parent=parent))
    assert json.loads(event.header_bytes)["parent"] == parent
    assert event.chain == sha256(bytes(32) + event.header_bytes).digest()


def test_who_asked_and_over_what_stands_in_the_header() -> None:
    context = Context("claude", "mcp", "s1", "ann", "read_only", "rich")
    draft = Draft(
        "kg_invalidate", PAYLOAD, ASKED, context, "local", target="unverified", idempotency_key="k"
    )
    event = record(
        draft,
        device="ada~2",
        host="box",
        before=NOTHING_YET,
        recorded_at=5,
        hlc=6,
        nonce=NONCE,
    )
    header = json.loads(event.header_bytes)
    told = {
        "agent": "claude", "client": "mcp", "session": "s1", "principal": "ann",
        "session_mode": "read_only", "memory_mode": "rich", "origin_host": "box",
        "origin_device": "ada~2", "stream": "local", "target": "unverified",
        "idempotency_key": "k",
    }  # fmt: skip
    assert {name: header[name] for name in told} == told
    assert event.stream_id == "ada~2/local"


def test_the_header_has_exactly_the_fields_of_the_format() -> None:
    assert set(Header._fields) == {
        "schema", "op_id", "origin_device", "origin_host", "stream", "local_seq", "tool",
        "payload_digest", "asked_digest", "idempotency_key", "recorded_at", "hlc", "agent",
        "client", "session", "principal", "session_mode", "memory_mode", "call_id", "target",
        "parent", "root_op_id", "redacts", "voids",
    }  # fmt: skip
    assert SCHEMA == 1


def test_a_header_reads_back_as_it_was_and_encodes_to_the_same_bytes() -> None:
    event = recorded()
    assert read_header(event.header_bytes) == event.header
    assert read_header(event.header_bytes).encoded() == event.header_bytes


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"1", b"null", b"{}", HEADER[:-1], HEADER[:-1] + b',"smuggled":1}', b"\xff",
     HEADER.replace(b'"tool"', b'"took"')],
)  # fmt: skip
def test_bytes_that_are_no_header_are_told_from_one(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"schema|unexpected|JSON|input|EOF|utf-8|column"):
        read_header(raw)


def test_the_nonce_keeps_equal_payloads_of_two_events_apart() -> None:
    assert len({recorded(nonce=bytes([n] * 16)).header.op_id for n in range(3)}) == 3


def test_two_clones_that_write_the_same_at_the_same_number_make_one_op_id_and_two_chains() -> None:
    """E23."""
    one, two = recorded(recorded_at=1), recorded(recorded_at=2)
    assert one.header.op_id == two.header.op_id
    assert one.chain != two.chain


def test_the_link_ties_an_event_to_its_place_in_one_log() -> None:
    after = Head(41, b"\x07" * 32, 100)
    event = recorded()
    operation = place(event, after=after, logged_at=200, order_hlc=300)
    expected = sha_of(b"\x07" * 32, b"42", event.chain, b"200", b"300")
    assert (operation.position, operation.link) == (42, expected)
    assert (operation.logged_at, operation.order_hlc) == (200, 300)
    assert link(b"\x07" * 32, 42, event.chain, 200, 300) == expected
    assert operation.header == event.header


@pytest.mark.parametrize("change", ["previous", "position", "chain", "logged_at", "order_hlc"])
def test_nothing_about_a_place_changes_without_the_link(change: str) -> None:
    places = {"previous": bytes(32), "position": 1, "chain": bytes(32), "logged_at": 1}
    places |= {"order_hlc": 1}
    other = places | {change: b"\x01" * 32 if isinstance(places[change], bytes) else 2}
    assert link(**places) != link(**other)  # type: ignore[arg-type]


def test_a_payload_is_read_from_its_bytes_and_is_empty_once_it_is_gone() -> None:
    operation = place(recorded(), after=EMPTY_LOG, logged_at=1, order_hlc=1)
    assert operation.payload() == PAYLOAD
    gone = operation._replace(recorded=operation.recorded._replace(payload=None))
    assert gone.payload() == {}


def test_the_limits_are_those_of_the_format() -> None:
    mebibyte = 1024 * 1024
    assert (8 * mebibyte, 16 * mebibyte) == (CONTENT_BYTES_MAX, EVENT_BYTES_MAX)
    assert (1_000, 16 * mebibyte) == (BATCH_EVENTS_MAX, BATCH_BYTES_MAX)
