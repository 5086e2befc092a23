"""An event from elsewhere is what its bytes say, or it is told why not."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from domain.form import Malformed, NewerSchema, recorded_from
from domain.identity import drawer_id
from domain.operation import NOTHING_YET, Draft, Recorded, StreamHead, record
from domain.operations.embedding import AttachEmbeddingRecords

NONCE = bytes(range(16))
FACT = {"wing": "w", "subject": "s", "predicate": "p", "object": "o", "valid_from": 1}
DRAWER = {"drawer_id": drawer_id("w", "r", "c"), "wing": "w", "room": "r", "content": "c"}


def made(
    tool: str = "kg_add",
    payload: dict[str, Any] | None = None,
    before: StreamHead = NOTHING_YET,
    device: str = "ada",
    recorded_at: int = 1,
) -> Recorded:
    return record(
        Draft(tool, FACT if payload is None else payload, {}),
        device=device,
        host=None,
        before=before,
        recorded_at=recorded_at,
        hlc=1,
        nonce=NONCE,
    )


def changed(event: Recorded, **fields: Any) -> bytes:
    """The header with other fields; None leaves one out."""
    header = orjson.loads(event.header_bytes) | fields
    kept = {name: value for name, value in header.items() if value is not None}
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)


def malformed(header: bytes | None = None, payload: Any = FACT, nonce: bytes | None = NONCE) -> str:
    with pytest.raises(Malformed) as error:
        recorded_from(made().header_bytes if header is None else header, payload, nonce, bytes(32))
    return str(error.value)


def test_what_an_origin_recorded_arrives_as_it_was() -> None:
    first = made()
    assert recorded_from(first.header_bytes, FACT, NONCE, bytes(32)) == first
    second = made(before=StreamHead(1, first.chain, 1), device="ada~2")
    assert recorded_from(second.header_bytes, FACT, NONCE, first.chain) == second


def test_the_chain_follows_from_the_event_before_and_the_bytes_that_arrived() -> None:
    event = recorded_from(made().header_bytes, FACT, NONCE, b"\x07" * 32)
    assert event.chain == sha256(b"\x07" * 32 + made().header_bytes).digest()


def test_a_redacted_or_voided_event_arrives_without_payload_and_nonce() -> None:
    event = recorded_from(made().header_bytes, None, NONCE, bytes(32))
    assert (event.payload, event.nonce) == (None, None)
    assert event.chain == made().chain


def test_a_newer_schema_is_told_from_what_is_malformed_whatever_fields_it_brings() -> None:
    newer = changed(made(), schema=2, something_new=[1])
    with pytest.raises(NewerSchema, match="schema 2"):
        recorded_from(newer, FACT, NONCE, bytes(32))


HEADERS = [
    (b"", "JSON"),
    (b"\xff", "JSON"),
    (b"[]", "object"),
    (b"null", "object"),
    (changed(made(), smuggled=1), "unknown field 'smuggled'"),
    (changed(made(), tool=None), "tool"),
    (changed(made(), schema="1"), "schema"),
    (changed(made(), schema=True), "schema"),
    (changed(made(), local_seq="1"), "local_seq"),
    (changed(made(), local_seq=0), "out of range"),
    (changed(made(), local_seq=-1), "out of range"),
    (changed(made(), local_seq=2**63), "out of range"),
    (changed(made(), hlc=-1), "out of range"),
    (changed(made(), hlc=2**63), "out of range"),
    (changed(made(), hlc=1.5), "hlc"),
    (changed(made(), recorded_at=2**62), "recorded_at"),
    (changed(made(), origin_device="Ada"), "device"),
    (changed(made(), origin_device="ada/local"), "device"),
    (changed(made(), stream="other"), "stream"),
    (changed(made(), local_seq=2), "op_id"),
    (changed(made(), tool="kg_invalidate"), "kg_invalidate|op_id"),
    (changed(made(), origin_device="bob"), "op_id"),
    (changed(made(), payload_digest="00" * 32), "digest"),
    (changed(made(), payload_digest="zz" * 32), "digest"),
    (changed(made(), asked_digest="0" * 63), "asked_digest"),
    (changed(made(), parent="ada"), "parent"),
    (made().header_bytes.replace(b'":', b'": ', 1), "canonical"),
    (made().header_bytes[:-1] + b',"call_id":null}', "canonical"),
    (made().header_bytes[:-1] + b',"tool":"kg_add"}', "canonical"),
]


@pytest.mark.parametrize(("header", "reason"), HEADERS, ids=range(len(HEADERS)))
def test_a_header_that_is_not_what_it_says_is_refused_with_the_reason(
    header: bytes, reason: str
) -> None:
    with pytest.raises(Malformed, match=reason):
        recorded_from(header, FACT, NONCE, bytes(32))


@pytest.mark.parametrize("nonce", [None, b"", bytes(15), bytes(17)])
def test_a_payload_comes_with_16_bytes_of_nonce(nonce: bytes | None) -> None:
    assert "nonce" in malformed(nonce=nonce)


@pytest.mark.parametrize("payload", [FACT | {"object": "x"}, {}, [], "text", 7, FACT | {"a": 1}])
def test_a_payload_that_is_not_the_one_recorded_is_refused(payload: Any) -> None:
    assert "digest" in malformed(payload=payload)


def test_a_payload_with_another_nonce_is_refused() -> None:
    assert "digest" in malformed(nonce=bytes(16))


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (FACT | {"object": "a\x00b"}, "NUL"),
        (FACT | {"object": "\ud800"}, "surrogate"),
        (FACT | {"confidence": float("nan")}, "finite"),
    ],
)
def test_a_payload_that_cannot_be_stored_is_refused(payload: Any, reason: str) -> None:
    assert reason in malformed(payload=payload)


MISSHAPEN = [
    ("kg_add", FACT | {"valid_from": "1"}, "valid_from"),
    ("kg_add", FACT | {"smuggled": 1}, "smuggled"),
    ("kg_add", {"wing": "w"}, "subject"),
    ("kg_query", {"entity": "e"}, "no operation that records"),
    ("no_such_tool", {"a": 1}, "no operation that records"),
    ("add_drawer", DRAWER | {"valid_from": 1, "content": "other"}, "drawer_id"),
    ("add_drawer", DRAWER | {"valid_from": 1, "room": "elsewhere"}, "drawer_id"),
    ("update_drawer", DRAWER | {"previous": "d", "wing": "x"}, "drawer_id"),
    ("supersede_drawer", DRAWER | {"supersedes": "d", "valid_from": 1, "room": "x"}, "drawer_id"),
    ("supersede_drawer", {"supersedes": "d", "valid_from": 1, "content": "c"}, "come together"),
]


@pytest.mark.parametrize(("tool", "payload", "reason"), MISSHAPEN, ids=range(len(MISSHAPEN)))
def test_a_payload_of_another_form_than_its_tool_s_is_refused(
    tool: str, payload: dict[str, Any], reason: str
) -> None:
    event = made(tool, payload)
    assert reason in malformed(event.header_bytes, payload)


def test_what_a_palace_records_of_itself_never_arrives_in_a_shared_stream() -> None:
    told = {"stream_device": "ada", "log_id": "l", "head": 1, "link": "", "upto": 1, "chain": ""}
    event = made("acknowledged", told | {"hlc": 1})
    assert "never shared" in malformed(event.header_bytes, told | {"hlc": 1})


OF_ONE_MACHINE = {
    "embedder_changed": {"short": "tiny-1", "embedder": {}},
    "embed": {"embedder": "tiny-1", "embedded": 1, "remaining": 0},
    "attach_embedding": {
        "drawer_id": "d",
        "embedder": "tiny-1",
        "chunks": 1,
        "vectors": "AACAPw==",
    },
}


@pytest.mark.parametrize("tool", OF_ONE_MACHINE)
def test_what_a_machine_embeds_with_never_arrives_in_a_shared_stream(tool: str) -> None:
    event = made(tool, OF_ONE_MACHINE[tool])
    assert "never shared" in malformed(event.header_bytes, OF_ONE_MACHINE[tool])


@pytest.mark.parametrize("vectors", ["", "AACAP", "AACA", "not base64!"])
def test_vectors_that_are_no_numbers_are_refused(vectors: str) -> None:
    payload = OF_ONE_MACHINE["attach_embedding"] | {"vectors": vectors}
    with pytest.raises(ValidationError, match="vectors"):
        AttachEmbeddingRecords.model_validate(payload)


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("add_drawer", DRAWER | {"valid_from": 1}),
        ("update_drawer", DRAWER | {"previous": "d"}),
        ("supersede_drawer", DRAWER | {"supersedes": "d", "valid_from": 1}),
        ("supersede_drawer", {"supersedes": "d", "valid_from": 1}),
        ("delete_drawer", {"drawer_id": "d"}),
    ],
)
def test_meaning_is_not_judged(tool: str, payload: dict[str, Any]) -> None:
    """DESIGN section 7: an event whose target is missing is well formed."""
    event = made(tool, payload)
    assert recorded_from(event.header_bytes, payload, NONCE, bytes(32)) == event
