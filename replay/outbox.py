"""The outbox: this device's tail that no primary has acknowledged, written to files and
acknowledged by receipts.

Protects what waits: exporting changes nothing, and only a receipt that names this device's own
chain moves the mark. May not judge events; that is `receive`'s work on the other side.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import NotStorable, read_json
from domain.catalog import ACKNOWLEDGED
from domain.errors import InvalidInput, Refused
from domain.identity import base_device
from domain.operation import SCHEMA, Context, Draft, stamp_of
from projections.outbox import acknowledged_upto, same_acknowledgement, stamps
from projections.reading import Reading
from projections.views import read_checkpoint
from replay.log import AT_ONCE, Log
from replay.outbox_file import LOG_FORMAT, OUTBOX_FORMAT, event_line, private, write_file
from replay.receive import Replayed
from replay.storage_errors import in_words
from replay.writer import Turn, Writer

RECEIPT_FORMAT: Final = "palacelog-receipt"
STAMP_MAX: Final = 2**62
"""No clock is there before the year 4200; a stamp beyond it would push this device's own past 64
bits.
"""


class Exported(NamedTuple):
    """What an export wrote: `events` of a device's shared stream, from number `first` on."""

    path: Path
    device: str
    first: int
    events: int


class Acknowledged(NamedTuple):
    """That a receipt was recorded, at a position; `duplicate` where it had been before."""

    device: str
    upto: int
    position: int
    duplicate: bool


@in_words()
def export_outbox(
    log: Log, reading: Reading, path: Path, device: str | None = None, first: int | None = None
) -> Exported:
    """Write what waits of a device's shared stream to a file.

    Args:
        device: an incarnation; default the present one.
        first: from which local_seq on; default behind what was acknowledged.

    Raises:
        InvalidInput: the log holds no such stream, or less of it.
    """
    name = log.about.device if device is None else device
    upto = acknowledged_upto(reading.cursor, name)
    start = upto + 1 if first is None else first
    head = log.stream_head(name)
    if (device is not None and head.local_seq == 0) or not 1 <= start <= head.local_seq + 1:
        raise InvalidInput(
            "outbox::no_such_part",
            f"The log holds the stream of {name} up to {head.local_seq}.",
            "See `palacelog outbox list` for what there is.",
        )
    prev = bytes(32) if start == 1 else _chain_at(log, name, start - 1)
    about = {
        "format": OUTBOX_FORMAT,
        "schema": SCHEMA,
        "device": name,
        "from": start,
        "prev": prev.hex(),
        "log_id": log.log_id,
    }
    known = stamps(reading.cursor, name, start - 1)
    return Exported(path, name, start, write_file(path, about, _lines(log, name, start - 1, known)))


@in_words()
def export_log(log: Log, path: Path) -> int:
    """Write the whole log, every stream, in order of arrival; returns how many events."""
    head = log.head()
    about = {
        "format": LOG_FORMAT,
        "schema": SCHEMA,
        "log_id": log.log_id,
        "device": log.about.device,
        "head": head.position,
        "link": head.link.hex(),
    }
    return write_file(path, about, _log_lines(log, head.position))


@in_words()
def write_receipt(log: Log, reading: Reading, replayed: Iterable[Replayed], path: Path) -> None:
    """Write what this log tells the devices of replayed files: one line a stream.

    A line names how far the stream is held, with its chain, the orders that differ from the
    device's own stamps from number `from` on, and the highest stamp that this log holds.
    """
    newest = max(0, reading.newest_stamp())
    head = read_checkpoint(reading.cursor)
    lines = []
    for device in dict.fromkeys(one.device for one in replayed):
        first = min(one.first for one in replayed if one.device == device)
        held = log.stream_head(device)
        upto = min(max(one.upto for one in replayed if one.device == device), held.local_seq)
        lines.append(
            {
                "format": RECEIPT_FORMAT,
                "schema": SCHEMA,
                "device": device,
                "log_id": log.log_id,
                "head": head.position,
                "link": head.link.hex(),
                "from": first,
                "upto": upto,
                "chain": (_chain_at(log, device, upto) if upto else bytes(32)).hex(),
                "orders": log.orders(device, first - 1, upto),
                "hlc": newest,
            }
        )
    _write_whole(path, b"".join(orjson.dumps(line) + b"\n" for line in lines))


@in_words()
def acknowledge(log: Log, writer: Writer, path: Path) -> list[Acknowledged]:
    """Record a receipt: the outbox begins behind it, and events take the orders that the primary
    gave. One event for each stream of this device that the receipt names, all of them or none.

    Raises:
        InvalidInput: it is no receipt.
        Refused: it is for another device, for a stream that went another way, or begins behind
            what was acknowledged: then the orders of what lies between would never be learnt.
    """
    receipts = _own_receipts(path, log)
    return writer.do(lambda at: [_record(at, receipt) for receipt in receipts])


def _record(at: Turn, receipt: dict[str, Any]) -> Acknowledged:
    device, upto = receipt["device"], receipt["upto"]
    cursor = at.folding.cursor
    before = same_acknowledgement(cursor, device, upto, receipt["log_id"], receipt["head"])
    if before is not None:
        return Acknowledged(device, upto, before, duplicate=True)
    _refuse_gap(receipt, acknowledged_upto(cursor, device))
    told = {
        "stream_device": device,
        **{name: receipt[name] for name in ("log_id", "head", "link", "upto", "chain", "hlc")},
        "orders": receipt["orders"],
    }
    draft = Draft(ACKNOWLEDGED, told, {"receipt": told}, Context(), stream="local")
    operation = at.append(draft, at_least=receipt["hlc"])
    return Acknowledged(device, upto, operation.position, duplicate=False)


def _refuse_gap(receipt: dict[str, Any], known: int) -> None:
    first = receipt["from"]
    if first > known + 1:
        raise Refused(
            "outbox::receipt_gap",
            f"The receipt begins at {first}, but only {known} were acknowledged before it.",
            "Acknowledge the receipt before it, or export the outbox and replay it again: the "
            "receipt of that is whole.",
        )


def _lines(log: Log, device: str, after: int, known: dict[int, bytes]) -> Iterator[bytes]:
    while found := log.stream(device, after, AT_ONCE):
        for recorded in found:
            if recorded.header.local_seq not in known:
                return  # written since the views were read
            stamp = stamp_of(known[recorded.header.local_seq])
            differs = stamp != recorded.header.hlc
            yield event_line(recorded, {"order_hlc": stamp} if differs else None)
        after = found[-1].header.local_seq


def _log_lines(log: Log, upto: int) -> Iterator[bytes]:
    position = 0
    while position < upto:
        for operation in log.after(position, min(AT_ONCE, upto - position)):
            position = operation.position
            place = {
                "position": position,
                "logged_at": operation.logged_at,
                "order_hlc": operation.order_hlc,
            }
            yield event_line(operation.recorded, place)


def _chain_at(log: Log, device: str, local_seq: int) -> bytes:
    [recorded] = log.stream(device, local_seq - 1, 1)
    return recorded.chain


def _own_receipts(path: Path, log: Log) -> list[dict[str, Any]]:
    base = base_device(log.about.device)
    receipts = [_receipt(line) for line in _receipt_lines(path)]
    own = [one for one in receipts if base_device(one["device"]) == base]
    if not own:
        raise Refused(
            "outbox::other_device",
            f"The receipt is not for {base}.",
            "Use the receipt that was written when this device's outbox was replayed.",
        )
    for receipt in own:
        _refuse_other_stream(receipt, log)
    return own


def _refuse_other_stream(receipt: dict[str, Any], log: Log) -> None:
    head = log.stream_head(receipt["device"])
    fits = receipt["upto"] <= head.local_seq and (
        receipt["upto"] == 0
        or _chain_at(log, receipt["device"], receipt["upto"]).hex() == receipt["chain"]
    )
    if not fits:
        raise Refused(
            "outbox::other_stream",
            f"The receipt is for a stream of {receipt['device']} that this log does not hold.",
            "This log was copied or restored since: replay the primary's export of it here.",
        )


def _receipt_lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidInput(
            "input::invalid",
            f"{path} cannot be read: {error.strerror}.",
            "Name a file that `palacelog replay --receipt` made.",
        ) from None


_RECEIPT_FIELDS: Final = {
    "device": str,
    "log_id": str,
    "head": int,
    "link": str,
    "from": int,
    "upto": int,
    "chain": str,
    "orders": dict,
    "hlc": int,
}


def _receipt(line: bytes) -> dict[str, Any]:
    try:
        fields = read_json(line)
    except NotStorable as error:
        raise _no_receipt(str(error)) from None
    if not isinstance(fields, dict) or fields.get("format") != RECEIPT_FORMAT:
        raise _no_receipt(f"its format is not {RECEIPT_FORMAT}")
    for name, kind in _RECEIPT_FIELDS.items():
        if type(fields.get(name)) is not kind:
            raise _no_receipt(f"{name} is missing or of the wrong type")
    stamps_fit = all(
        type(order) is int and 0 <= order < STAMP_MAX for order in fields["orders"].values()
    )
    numbers_fit = fields["from"] >= 1 and fields["upto"] >= 0
    if not stamps_fit or not 0 <= fields["hlc"] < STAMP_MAX or not numbers_fit:
        raise _no_receipt("a number in it is out of range")
    return fields


def _no_receipt(reason: str) -> InvalidInput:
    return InvalidInput(
        "outbox::no_receipt",
        f"This is no receipt: {reason}.",
        "Name a file that `palacelog replay --receipt` made.",
    )


def _write_whole(path: Path, content: bytes) -> None:
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(staged, "wb", opener=private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
