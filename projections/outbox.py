"""What a primary has acknowledged of this device's streams, and what waits.

Protects the outbox from being a second store: it is a view of the log, and the acknowledgements in
it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select

from projections import tables
from projections.tables import Prepared

_B: Any = bindparam
_operations, _acknowledged = tables.operations, tables.acknowledgements

_UPTO = Prepared(
    select(func.coalesce(func.max(_acknowledged.c.upto), 0)).where(
        _acknowledged.c.stream_device == _B("device")
    )
)
_SAME = Prepared(
    select(_acknowledged.c.position)
    .where(
        _acknowledged.c.stream_device == _B("device"),
        _acknowledged.c.upto == _B("upto"),
        _acknowledged.c.log_id == _B("log_id"),
        _acknowledged.c.head == _B("head"),
    )
    .limit(1)
)
_FIRST_DEVICE = Prepared(
    select(func.min(_operations.c.device)).where(
        _operations.c.device >= _B("least"), _operations.c.device < _B("beyond")
    )
)
_ENDS = Prepared(
    select(
        *(
            select(_operations.c[name])
            .where(_operations.c.device == _B("device"), _operations.c.stream == "shared")
            .order_by(order)
            .limit(1)
            .scalar_subquery()
            for name, order in (
                ("position", _operations.c.local_seq),
                ("local_seq", _operations.c.local_seq.desc()),
            )
        )
    )
)
_RECORDED_AT = Prepared(
    select(_operations.c.recorded_at).where(
        _operations.c.device == _B("device"),
        _operations.c.stream == "shared",
        _operations.c.local_seq == _B("local_seq"),
    )
)
_PENDING = Prepared(
    select(
        _operations.c.device,
        _operations.c.local_seq,
        _operations.c.op_id,
        _operations.c.tool,
        _operations.c.position,
        _operations.c.recorded_at,
    )
    .where(
        _operations.c.device == _B("device"),
        _operations.c.stream == "shared",
        _operations.c.local_seq > _B("upto"),
    )
    .order_by(_operations.c.local_seq)
    .limit(_B("limit"))
)
_STAMPS = Prepared(
    select(_operations.c.local_seq, _operations.c.rank)
    .where(
        _operations.c.device == _B("device"),
        _operations.c.stream == "shared",
        _operations.c.local_seq > _B("after"),
    )
    .order_by(_operations.c.local_seq)
)


class StreamState(NamedTuple):
    """One incarnation's shared stream: its head here, and up to where it was acknowledged."""

    device: str
    head: int
    acknowledged: int


class Pending(NamedTuple):
    """An operation that no primary has acknowledged."""

    device: str
    local_seq: int
    op_id: str
    tool: str
    position: int
    recorded_at: int


def acknowledged_upto(cursor: sqlite3.Cursor, device: str) -> int:
    """The highest number of a device's shared stream that was acknowledged, 0 where none was."""
    return int(_UPTO(cursor, device=device).fetchone()[0])


def same_acknowledgement(
    cursor: sqlite3.Cursor, device: str, upto: int, log_id: str, head: int
) -> int | None:
    """The position at which this very acknowledgement was recorded; None where it was not."""
    row = _SAME(cursor, device=device, upto=upto, log_id=log_id, head=head).fetchone()
    return None if row is None else int(row[0])


def streams(cursor: sqlite3.Cursor, base: str) -> list[StreamState]:
    """The shared streams of a device's incarnations, in the order in which they came here first."""
    found = []
    for device in _incarnations(cursor, base):
        first, head = _ENDS(cursor, device=device).fetchone()
        if head is not None:
            found.append((first, StreamState(device, head, acknowledged_upto(cursor, device))))
    return [state for _, state in sorted(found)]


def waiting(cursor: sqlite3.Cursor, base: str) -> tuple[int, int | None]:
    """How many operations of a device wait, over all incarnations, and when the first of them was
    recorded (microseconds UTC).
    """
    behind = [one for one in streams(cursor, base) if one.head > one.acknowledged]
    first = [
        _RECORDED_AT(cursor, device=one.device, local_seq=one.acknowledged + 1).fetchone()[0]
        for one in behind
    ]
    return sum(one.head - one.acknowledged for one in behind), min(first, default=None)


def _incarnations(cursor: sqlite3.Cursor, base: str) -> Iterator[str]:
    """`base`, `base~2` and so on, as far as operations of them are here; each is found in an index
    without reading those of the others.
    """
    yield base
    least, beyond = f"{base}~", f"{base}\x7f"
    while True:
        [found] = _FIRST_DEVICE(cursor, least=least, beyond=beyond).fetchone()
        if found is None:
            return
        yield found
        least = f"{found}\x00"


def pending(cursor: sqlite3.Cursor, device: str, limit: int) -> Sequence[Pending]:
    """What waits of one stream, in order."""
    upto = acknowledged_upto(cursor, device)
    return [Pending(*row) for row in _PENDING(cursor, device=device, upto=upto, limit=limit)]


def stamps(cursor: sqlite3.Cursor, device: str, after: int) -> dict[int, bytes]:
    """The ranks of a stream's events behind a number, as this log knows them now."""
    return dict(_STAMPS(cursor, device=device, after=after).fetchall())
