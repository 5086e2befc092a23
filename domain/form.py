"""The form of an event from elsewhere: whether its bytes are what they say they are.

Protects a log from taking what it could not verify later. Judges encoding, digests, size and
schema, never meaning: an event whose target is missing is well formed. Every fault is a `Malformed`
with the reason.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import TypeAdapter, ValidationError

from domain.canonical import NotStorable, canonical, digest, storable
from domain.catalog import NEVER_SHARED, records_of
from domain.identity import DIARY_ROOM, drawer_id, is_diary_id, operation_id, valid_device
from domain.instants import EARLIEST, LATEST
from domain.operation import SCHEMA, Header, Recorded, chain
from domain.parts import stated_texts

_HEADER: Final = TypeAdapter(Header)
_NONCE_BYTES: Final = 16
_HASH_HEX: Final = 64
_STREAMS: Final = ("shared", "local")


class Malformed(ValueError):
    """An event that is not what it says; the text says why."""


class NewerSchema(ValueError):
    """An event of a schema that this version does not know; the text names it."""


def recorded_from(
    header_bytes: bytes, payload: Any, nonce: bytes | None, previous_chain: bytes
) -> Recorded:
    """The event that arrives as header bytes, payload and nonce.

    Args:
        payload: the decoded JSON object; None for an event that was redacted or voided.
        previous_chain: 32 bytes of the event before it in its stream.

    Raises:
        Malformed: its form is wrong.
        NewerSchema: it may be well formed, for a newer version.
    """
    header = _header(header_bytes)
    if not valid_device(header.origin_device):
        raise Malformed("origin_device is no device name")
    if header.stream not in _STREAMS:
        raise Malformed("stream is neither shared nor local")
    _travels(header)
    if not 1 <= header.local_seq < 2**63 or not 0 <= header.hlc < 2**63:
        raise Malformed("local_seq or hlc is out of range")
    if not EARLIEST <= header.recorded_at <= LATEST:
        raise Malformed("recorded_at lies outside the years 1 to 9999")
    encoded = None if payload is None else _payload(header, payload, nonce)
    expected = operation_id(
        header.origin_device,
        header.stream,
        header.local_seq,
        header.tool,
        _hash(header.payload_digest, "payload_digest"),
    )
    if header.op_id != expected:
        raise Malformed("op_id does not follow from the header")
    _hash(header.asked_digest, "asked_digest")
    kept = None if payload is None else nonce
    return Recorded(header, header_bytes, encoded, kept, chain(previous_chain, header_bytes))


def _header(header_bytes: bytes) -> Header:
    try:
        fields = orjson.loads(header_bytes)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"the header is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Malformed("the header is not a JSON object")
    schema = fields.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise NewerSchema(f"the event is of schema {schema}; this version knows up to {SCHEMA}")
    unknown = fields.keys() - set(Header._fields)
    if unknown:
        raise Malformed(f"the header has an unknown field {sorted(unknown)[0]!r}")
    try:
        header = _HEADER.validate_python(fields, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise Malformed(f"the header's {where} is not valid: {fault['msg']}") from None
    if header.encoded() != header_bytes:
        raise Malformed("the header is not in canonical form")
    return header


def _travels(header: Header) -> None:
    if records_of(header.tool) is None:
        raise Malformed(f"{header.tool!r} is no operation that records anything")
    if header.stream == "shared" and header.tool in NEVER_SHARED:
        raise Malformed(f"{header.tool!r} is what a palace records for itself; it is never shared")


def _payload(header: Header, payload: Any, nonce: bytes | None) -> bytes:
    if nonce is None or len(nonce) != _NONCE_BYTES:
        raise Malformed(f"the nonce is not {_NONCE_BYTES} bytes")
    try:
        storable(payload, "the payload")
    except NotStorable as error:
        raise Malformed(str(error)) from None
    encoded = canonical(payload)
    if digest(nonce, encoded).hex() != header.payload_digest:
        raise Malformed("the payload does not have the digest that the header names")
    model = records_of(header.tool)
    assert model is not None
    try:
        model.model_validate(payload)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "payload"
        raise Malformed(f"{header.tool}: {where} is not valid: {fault['msg']}") from None
    if header.stream == "shared" and payload.get("policy") == "local":
        raise Malformed("a local wing is of one machine; an event that makes one never travels")
    for text in stated_texts(header.tool, payload):
        _same_drawer(text)
    return encoded


def _same_drawer(stated: dict[str, Any]) -> None:
    wing, room, content = stated.get("wing"), stated.get("room"), stated["content"]
    if not isinstance(wing, str) or not isinstance(room, str):
        raise Malformed("a text comes without its wing and room")
    id = stated.get("drawer_id")
    is_entry = room == DIARY_ROOM and is_diary_id(str(id), wing, content)
    if id != drawer_id(wing, room, content) and not is_entry:
        raise Malformed("drawer_id does not follow from wing, room and content")


def _hash(text: str, name: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        raw = b""
    if len(text) != _HASH_HEX or len(raw) * 2 != _HASH_HEX:
        raise Malformed(f"{name} is not a sha256 in hex")
    return raw
