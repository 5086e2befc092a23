"""Going through the rows of a log as they lie in the file, and comparing each with those before it.

Protects promise 7 for the events: the first position that does not read as it was written is named,
whatever happened to it. Trusts nothing that it reads, neither the order of rows nor their number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from domain.canonical import ZERO_HASH
from domain.operation import Operation, chain, link
from projections.views import Checkpoint
from replay.store import TOPIC, decode_row, digest_faults

_FIELDS: Final = "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events"
_ROWS: Final = f"{_FIELDS} WHERE rowid > ? ORDER BY rowid LIMIT 1000"
_ROW: Final = f"{_FIELDS} WHERE rowid = ?"
_HIGHEST: Final = "SELECT max(rowid) FROM stored_events"
_SEQUENCE: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"

Progress = Callable[[int, int], None]
_Row = tuple[Any, ...] | sqlite3.DatabaseError | None
"""A row; the error where it cannot be read; None where there is none."""


class Finding(NamedTuple):
    """Something that is not as it was written.

    Attributes:
        position: the first position that it is about; None where it is about a file as a whole.
        upto: the last position of a lost range; None for a single one.
        code: `log::...` or `views::...`, stable.
    """

    position: int | None
    upto: int | None
    code: str
    message: str


def scan(
    cursor: sqlite3.Cursor, witness: Checkpoint | None, progress: Progress, *, intact: bool
) -> tuple[int, list[Finding]]:
    """The highest position that could be read, and what is wrong with the events.

    Args:
        cursor: in a snapshot of the log.
        witness: how far the views have seen the log.
        intact: whether SQLite finds nothing wrong with the file; else every row is looked up by
            itself, as order and number of the rows prove nothing then.
    """
    seen = 0 if witness is None else witness.position
    highest, sequence = _number(cursor, _HIGHEST), _number(cursor, _SEQUENCE)
    # One of the two may be altered, or not be readable; the witness is sealed.
    total = max(seen, min((one for one in (highest, sequence) if one), default=0))
    rows = _Scan(witness)
    for position, row in _paged(cursor, total) if intact else _single(cursor, 1, total):
        rows.take(position, row)
        if position % 1000 == 0:
            progress(position, total)
    progress(total, total)
    rows.end(total if witness is not None else max(total, sequence), sequence)
    return rows.last, rows.findings


def _number(cursor: sqlite3.Cursor, query: str) -> int:
    try:
        row = cursor.execute(query).fetchone()
    except sqlite3.DatabaseError:
        return 0
    return row[0] if row and isinstance(row[0], int) else 0


def _paged(cursor: sqlite3.Cursor, total: int) -> Iterator[tuple[int, _Row]]:
    """Every position with its row; looked up one by one from where a page is not as expected."""
    position = 0
    while position < total:
        try:
            page = cursor.execute(_ROWS, (position,)).fetchall()
        except sqlite3.DatabaseError:
            page = []
        expected = range(position + 1, position + 1 + len(page))
        if not page or [row[0] for row in page] != list(expected):
            yield from _single(cursor, position + 1, total)
            return
        for row in page:
            position = row[0]
            yield position, row


def _single(cursor: sqlite3.Cursor, first: int, total: int) -> Iterator[tuple[int, _Row]]:
    for position in range(first, total + 1):
        try:
            yield position, cursor.execute(_ROW, (position,)).fetchone()
        except sqlite3.DatabaseError as error:
            yield position, error


class _Scan:
    """Takes the rows in order.

    What follows a row that cannot be read is not blamed for it: its place behind that row is not
    compared, everything else is.
    """

    def __init__(self, witness: Checkpoint | None) -> None:
        self.findings: list[Finding] = []
        self.last = 0
        self._witness = witness
        self._missing: int | None = None
        self._unread = 0
        self._link: bytes | None = ZERO_HASH
        self._logged_at = 0
        self._streams: dict[str, tuple[int, bytes, int]] = {}

    def take(self, position: int, row: _Row) -> None:
        """Compare the row at a position."""
        if row is None:
            self._missing = self._missing or position
            return
        self._note_missing(position - 1, "log::missing", "there is no event")
        self.last = position
        if isinstance(row, sqlite3.DatabaseError):
            self._lose(position, "log::unreadable", f"the event cannot be read ({row})")
            return
        _, stream_id, local_seq, topic, state = row
        if topic != TOPIC:
            self._lose(position, "log::foreign_topic", "the stored topic was changed")
            return
        try:
            operation = decode_row(position, stream_id, local_seq, state)
            faults = list(self._faults(operation, stream_id, local_seq))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._lose(position, "log::undecodable", f"the event cannot be decoded ({error})")
            return
        self.findings += (Finding(position, None, code, message) for code, message in faults)
        self._link, self._logged_at = operation.link, operation.logged_at
        self._streams[stream_id] = local_seq, operation.recorded.chain, position

    def end(self, total: int, sequence: int) -> None:
        """Compare the end with how many there should be."""
        if self._missing is None and self.last < total:
            self._missing = self.last + 1
        self._note_missing(total, "log::truncated", "lost at the end of the log:")
        if sequence > max(total, self.last):
            self.findings.append(
                Finding(
                    None,
                    None,
                    "log::sequence",
                    f"the log counts {sequence} events and holds {self.last}",
                )
            )

    def _note_missing(self, upto: int, code: str, message: str) -> None:
        if self._missing is not None:
            first, self._missing = self._missing, None
            where = f"position {first}" if first == upto else f"positions {first} to {upto}"
            self.findings.append(Finding(first, upto, code, f"{message} {where}"))
            self._unread, self._link = upto, None

    def _lose(self, position: int, code: str, message: str) -> None:
        self.findings.append(Finding(position, None, code, message))
        self._unread, self._link = position, None

    def _faults(
        self, operation: Operation, stream_id: str, local_seq: int
    ) -> Iterator[tuple[str, str]]:
        recorded, header = operation.recorded, operation.header
        if (recorded.stream_id, header.local_seq) != (stream_id, local_seq):
            yield "log::identity", "the header names another stream or number than the row"
        before_seq, before_chain, before_at = self._streams.get(stream_id, (0, ZERO_HASH, 0))
        if before_at >= self._unread:
            if header.local_seq != before_seq + 1:
                yield "log::numbers", f"local_seq is {header.local_seq}, {before_seq + 1} was next"
            if chain(before_chain, recorded.header_bytes) != recorded.chain:
                yield "log::chain", "the chain does not follow from the header and what was before"
        yield from digest_faults(operation)
        tied = (operation.position, recorded.chain, operation.logged_at, operation.order_hlc)
        if self._link is not None and link(self._link, *tied) != operation.link:
            yield "log::link", "the link does not follow from the event before"
        if operation.logged_at <= self._logged_at:
            yield "log::logged_at", "logged_at runs back"
        witness = self._witness
        seen = witness if witness and witness.position == operation.position else None
        if seen is not None and seen.link != operation.link:
            yield "log::witness", "the views saw another event at this position"
