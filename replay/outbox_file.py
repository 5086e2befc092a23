"""The outbox file: a part of one device's shared stream as lines of JSON.

Protects the journey by file: the first line says whose stream and from where, the last one counts
and hashes all before it, so that a truncated or altered file is refused before anything is applied.
Source: FORMATS.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import NotStorable, read_json
from domain.errors import InvalidInput, PalaceError, Unusable
from domain.form import Malformed, NewerSchema, recorded_from
from domain.identity import valid_device
from domain.operation import EVENT_BYTES_MAX, SCHEMA, Recorded
from projections.generations import sync_folder
from replay.crash_points import reach

OUTBOX_FORMAT: Final = "palacelog-outbox"
LOG_FORMAT: Final = "palacelog-log"
LINE_BYTES_MAX: Final = EVENT_BYTES_MAX * 2


class OutboxHead(NamedTuple):
    """The first line.

    Attributes:
        first: local_seq of the first event.
        prev: chain of the event before it, 32 bytes.
        log_id: of the log that it was exported from.
    """

    device: str
    first: int
    prev: bytes
    log_id: str


class Incoming(NamedTuple):
    """An event of a file.

    Attributes:
        claim: the order that the sender knows for it; None for its hlc.
        line: its line, from 1.
    """

    recorded: Recorded
    claim: int | None
    line: int


def private(path: str, flags: int) -> int:
    """For `open`: a file that only its owner may read, as it holds memory in clear."""
    return os.open(path, flags, 0o600)


def event_line(recorded: Recorded, extra: dict[str, Any] | None = None) -> bytes:
    """One event as a line: the header's bytes, payload and nonce, and what `extra` adds."""
    header = base64.b64encode(recorded.header_bytes)
    payload = b"null" if recorded.payload is None else recorded.payload
    nonce = b"null" if recorded.nonce is None else b'"%s"' % base64.b64encode(recorded.nonce)
    more = b"" if not extra else b"," + orjson.dumps(extra)[1:-1]
    return b'{"header":"%s","payload":%s,"nonce":%s%s}\n' % (header, payload, nonce, more)


def write_file(path: Path, head: dict[str, Any], lines: Iterable[bytes]) -> int:
    """Write a file of events whole or not at all; returns how many events it holds.

    Raises:
        InvalidInput: the folder does not exist.
    """
    if not path.parent.is_dir():
        raise InvalidInput("input::invalid", f"{path.parent} is no folder.", "Name another file.")
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    hashed, count = sha256(), 0
    try:
        with open(staged, "wb", opener=private) as file:
            for line in _chained(orjson.dumps(head) + b"\n", lines):
                hashed.update(line)
                file.write(line)
                count += 1
            last = {"count": count - 1, "sha256": hashed.hexdigest()}
            file.write(orjson.dumps(last) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        reach("outbox.written")
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
    sync_folder(path.parent)
    return count - 1


def read_head(path: Path) -> OutboxHead:
    """The first line of an outbox file.

    Raises:
        InvalidInput: it is not one.
    """
    with _opened(path) as file:
        return _head(path, file.readline(LINE_BYTES_MAX))


def read_events(path: Path) -> Iterator[Incoming]:
    """The events of an outbox file in order, read one line at a time; the last line is checked too.

    Raises:
        InvalidInput: `palacelog::replay::malformed`, naming the line.
        Unusable: `palacelog::replay::newer_schema`.
    """
    with _opened(path) as file:
        first = file.readline(LINE_BYTES_MAX)
        head = _head(path, first)
        hashed, number, chain, expected = sha256(first), 1, head.prev, head.first
        ended = False
        while line := file.readline(LINE_BYTES_MAX):
            number += 1
            if ended:
                raise _malformed(path, number, "it stands behind the last line")
            fields = _line(path, number, line)
            if "count" in fields:
                _check_last(path, number, fields, expected - head.first, hashed.hexdigest())
                ended = True
                continue
            hashed.update(line)
            incoming = _event(path, number, fields, chain, head, expected)
            chain, expected = incoming.recorded.chain, expected + 1
            yield incoming
        if not ended:
            raise _malformed(
                path, number + 1, "the file ends before its last line: it is truncated"
            )


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(
            "input::invalid",
            f"{path} cannot be read: {error.strerror}.",
            "Name a file that `palacelog outbox export` made.",
        ) from None


def _chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _head(path: Path, line: bytes) -> OutboxHead:
    fields = _line(path, 1, line)
    schema = fields.get("schema")
    if fields.get("format") != OUTBOX_FORMAT:
        raise _malformed(path, 1, f"it is no {OUTBOX_FORMAT} file")
    if type(schema) is int and schema > SCHEMA:
        raise _newer(path, 1, f"the file is of schema {schema}; this version knows up to {SCHEMA}")
    device, first, prev = fields.get("device"), fields.get("from"), fields.get("prev")
    if not isinstance(device, str) or not valid_device(device) or schema != SCHEMA:
        raise _malformed(path, 1, "it names no device, or no schema")
    if type(first) is not int or first < 1 or not isinstance(prev, str):
        raise _malformed(path, 1, "it does not say from where the stream goes on")
    chain = _unhex(prev)
    if len(chain) != 32:
        raise _malformed(path, 1, "prev is not a chain of 64 hex digits")
    return OutboxHead(device, first, chain, str(fields.get("log_id", "")))


def _event(
    path: Path, number: int, fields: dict[str, Any], chain: bytes, head: OutboxHead, expected: int
) -> Incoming:
    unknown = fields.keys() - {"header", "payload", "nonce", "order_hlc"}
    if unknown or "header" not in fields or "payload" not in fields:
        raise _malformed(path, number, "it has not the fields of an event")
    claim = fields.get("order_hlc")
    if claim is not None and (type(claim) is not int or not 0 <= claim < 2**63):
        raise _malformed(path, number, "order_hlc is no stamp")
    try:
        nonce = None if fields.get("nonce") is None else _bytes(fields["nonce"])
        recorded = recorded_from(_bytes(fields["header"]), fields["payload"], nonce, chain)
    except NewerSchema as error:
        raise _newer(path, number, str(error)) from None
    except Malformed as error:
        raise _malformed(path, number, str(error)) from None
    header = recorded.header
    if header.origin_device != head.device or header.stream != "shared":
        raise _malformed(path, number, f"it is not of the shared stream of {head.device}")
    if header.local_seq != expected:
        raise _malformed(path, number, f"its local_seq is {header.local_seq}, {expected} is next")
    if recorded.bytes_count() > EVENT_BYTES_MAX:
        raise _malformed(path, number, f"it is larger than {EVENT_BYTES_MAX} bytes")
    return Incoming(recorded, claim, number)


def _line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    if len(line) >= LINE_BYTES_MAX:
        raise _malformed(path, number, f"it is longer than {LINE_BYTES_MAX} bytes")
    if not line.endswith(b"\n"):
        raise _malformed(path, number, "it is cut off: the file is truncated")
    try:
        fields = _parsed(line)
    except NotStorable as error:
        raise _malformed(path, number, str(error)) from None
    if not isinstance(fields, dict):
        raise _malformed(path, number, "it is no JSON object")
    return fields


def _parsed(line: bytes) -> Any:
    """JSON, fast where it was written by us and strictly (duplicate keys) where it was not."""
    try:
        fields = orjson.loads(line)
        if orjson.dumps(fields) == line[:-1]:
            return fields
    except (orjson.JSONDecodeError, TypeError):
        pass
    return read_json(line)


def _check_last(path: Path, number: int, fields: dict[str, Any], count: int, sha: str) -> None:
    if fields.get("count") != count:
        raise _malformed(path, number, f"it counts {fields.get('count')} events, there are {count}")
    if fields.get("sha256") != sha:
        raise _malformed(
            path, number, "the hash of the lines before it is another: the file was altered"
        )


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise Malformed("a field is not base64") from None


def _unhex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _malformed(path: Path, number: int, reason: str) -> PalaceError:
    return InvalidInput(
        "replay::malformed",
        f"{path.name}, line {number}: {reason}.",
        "Nothing of the file was applied. Export the outbox again on the device.",
    )


def _newer(path: Path, number: int, reason: str) -> PalaceError:
    return Unusable(
        "replay::newer_schema",
        f"{path.name}, line {number}: {reason}.",
        "Nothing of the file was applied. Install a newer palacelog here, then replay it again.",
    )
