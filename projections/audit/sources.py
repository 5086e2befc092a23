"""What is copied into the audit copy, and how its operations catch up.

Protects equality with the log: each source adds what came since the copy's position, up to that of
the one snapshot that a reading holds. May not open or close a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import orjson
from sqlalchemy import bindparam, func, select

from domain.catalog import ACKNOWLEDGED
from domain.operation import stamp_of
from projections import tables
from projections.reading import Reading
from projections.tables import Prepared

ROWS_AT_ONCE: Final = 20_000
BYTES_AT_ONCE: Final = 32 * 1024 * 1024
_OPS: Any = select(func.json_each(bindparam("op_ids")).table_valued("value").c.value)
_ORDERS = Prepared(
    select(tables.operations.c.position, tables.operations.c.rank).where(
        tables.operations.c.op_id.in_(_OPS)
    )
)
_REORDER: Final = """
UPDATE stored.operations AS o SET order_hlc = given.order_hlc
FROM given WHERE o.position = given.position
"""


class StoredEvent(NamedTuple):
    """An event as the log's file has it.

    Attributes:
        header: the decoded header, absent fields left out.
        payload: canonical JSON as text; None once redacted or voided.
        logged_at: microseconds UTC.
    """

    position: int
    header: dict[str, Any]
    payload: str | None
    logged_at: int
    order_hlc: int


class Connection(Protocol):
    """What a source needs of an open copy."""

    def execute(self, query: str, parameters: Any = None) -> Any:
        """Run a statement."""
        ...

    def appender(self, table: str) -> Any:
        """A way in for many rows."""
        ...


class Source(Protocol):
    """One part of the copy."""

    def catch_up(self, connection: Connection, reading: Reading, after: int) -> None:
        """Copy what came behind a position, up to the reading's; also where they are the same, as
        not everything has a position.

        Raises:
            StartAnew: something must be taken out of what was copied.
        """
        ...


class StartAnew(Exception):
    """The copy must be made from nothing: a redaction takes a payload out of the log, so also out
    of every copy.
    """


Events = Callable[[int, int], Iterator[StoredEvent]]
"""The events behind a position up to another one."""


class Operations:
    """The log itself."""

    def __init__(self, events: Events) -> None:
        """Copy what `events` gives."""
        self._events = events

    def catch_up(self, connection: Connection, reading: Reading, after: int) -> None:
        """Append the operations; those that a primary put elsewhere get their order."""
        if after == reading.position:
            return
        reordered: set[str] = set()
        came = self._events(after, reading.position)
        rows = (_row(one, reordered, after) for one in came)
        append(connection, "stored.operations", rows, _payload_bytes)
        if reordered:
            found = _ORDERS(reading.cursor, op_ids=orjson.dumps(sorted(reordered)).decode())
            given = [(position, stamp_of(rank)) for position, rank in found]
            with_rows(connection, "given", "position BIGINT, order_hlc BIGINT", given, _REORDER)


def append(
    connection: Connection,
    table: str,
    rows: Iterable[Sequence[Any]],
    bytes_of: Callable[[Sequence[Any]], int] = lambda row: 0,
) -> None:
    """Append rows to a table, some thousands at a time.

    Args:
        bytes_of: how much of a row counts against the memory that is held at a time.
    """
    with connection.appender(table) as appender:
        held: list[Sequence[Any]] = []
        size = 0
        for row in rows:
            held.append(row)
            size += bytes_of(row)
            if len(held) >= ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
                appender.append_rows(held)
                appender.flush()
                held.clear()
                size = 0
        appender.append_rows(held)


def with_rows(
    connection: Connection,
    name: str,
    columns: str,
    rows: Iterable[Sequence[Any]],
    statement: str,
) -> None:
    """Run a statement beside a table of rows that is there for it alone."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
    append(connection, name, rows)
    connection.execute(statement)
    connection.execute(f"DROP TABLE {name}")


def _row(event: StoredEvent, reordered: set[str], after: int) -> tuple[Any, ...]:
    header = event.header
    if header["tool"] == ACKNOWLEDGED and event.payload is not None:
        reordered.update(orjson.loads(event.payload)["orders"])
    get = header.get
    if after and (get("redacts") or get("voids")):
        raise StartAnew
    return (
        event.position,
        header["op_id"],
        header["tool"],
        header["origin_device"],
        get("origin_host"),
        header["stream"],
        header["local_seq"],
        header["recorded_at"],
        event.logged_at,
        event.order_hlc,
        get("agent"),
        get("client"),
        get("session"),
        get("principal"),
        header["session_mode"],
        header["memory_mode"],
        get("call_id"),
        "accepted",
        event.payload,
    )


def _payload_bytes(row: Sequence[Any]) -> int:
    return len(row[-1] or "")
