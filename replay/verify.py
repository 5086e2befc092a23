"""Verifying: every event read again and compared with all that ties it to the others.

Protects promise 7: after a flipped bit either every event reads the same, or the first bad position
or the lost range is named. Looks at the files themselves, so that it also works where a palace
cannot be opened. May not repair anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from domain.canonical import ZERO_HASH, digest
from domain.errors import PalaceError
from domain.identity import operation_id
from domain.operation import Operation, chain, link
from projections.digests import digests
from projections.generations import Generations
from projections.sqlite import connect
from projections.views import Checkpoint, Views, create, read_checkpoint
from replay.log import Log
from replay.store import TOPIC, decode_row

FINDINGS_MAX: Final = 100
_ROWS: Final = (
    "SELECT rowid, originator_id, originator_version, topic, state "
    "FROM stored_events WHERE rowid > ? ORDER BY rowid LIMIT 1000"
)
_ROW: Final = (
    "SELECT rowid, originator_id, originator_version, topic, state "
    "FROM stored_events WHERE rowid = ?"
)
Progress = Callable[[int, int], None]


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


class Report(NamedTuple):
    """What a verification found; sound where there are no findings."""

    events: int
    findings: list[Finding]

    @property
    def first_bad(self) -> int | None:
        """The lowest position that a finding names."""
        return min(
            (one.position for one in self.findings if one.position is not None), default=None
        )


def verify(
    log_path: Path, views_folder: Path, progress: Progress = lambda done, total: None
) -> Report:
    """Verify a palace's log and views.

    Args:
        progress: called with (events read, events there should be).
    """
    witness, findings = _witness(views_folder)
    with closing(connect(log_path, synchronous="FULL", read_only=True)) as connection:
        events, in_log = _verify_log(connection, witness, progress)
    findings += in_log
    findings += _about(log_path)
    if not in_log and witness is not None:
        findings += _compare_with_rebuild(log_path, views_folder)
    return Report(events, findings[:FINDINGS_MAX])


def _verify_log(
    connection: sqlite3.Connection, witness: Checkpoint | None, progress: Progress
) -> tuple[int, list[Finding]]:
    seen = 0 if witness is None else witness.position
    scan = _Scan(witness)
    try:
        total = max(seen, _highest(connection))
        for position, row in _rows(connection, total):
            scan.take(position, row)
            if position % 1000 == 0:
                progress(position, total)
        progress(total, total)
    except sqlite3.DatabaseError as error:
        first = scan.last + 1
        scan.bad(first, "log::unreadable", f"it and what follows cannot be read ({error})")
    scan.end(seen, _sequence(connection))
    scan.findings += _integrity(connection, "log")
    return scan.last, scan.findings


class _Scan:
    """Goes through the rows in order and compares each with those before it."""

    def __init__(self, witness: Checkpoint | None) -> None:
        self.findings: list[Finding] = []
        self.last = 0
        self._witness = witness
        self._link = ZERO_HASH
        self._logged_at = 0
        self._streams: dict[str, tuple[int, bytes]] = {}

    def bad(self, position: int, code: str, message: str, upto: int | None = None) -> None:
        """Note a finding."""
        self.findings.append(Finding(position, upto, code, message))

    def take(self, position: int, row: tuple[Any, ...] | sqlite3.DatabaseError | None) -> None:
        """Compare a row; None where there is none at this position, an error where it cannot be
        read.
        """
        self.last = position
        if row is None:
            self.bad(position, "log::missing", "there is no event at this position")
            return
        if isinstance(row, sqlite3.DatabaseError):
            self.bad(position, "log::unreadable", f"the event cannot be read ({row})")
            return
        _, stream_id, local_seq, topic, state = row
        if topic != TOPIC:
            self.bad(position, "log::foreign_topic", "the stored topic was changed")
            return
        try:
            operation = decode_row(position, stream_id, local_seq, state)
        except (PalaceError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.bad(position, "log::undecodable", f"the event cannot be decoded ({error})")
            return
        for code, message in self._faults(operation, stream_id, local_seq):
            self.bad(position, code, message)
        self._link, self._logged_at = operation.link, operation.logged_at
        self._streams[stream_id] = operation.header.local_seq, operation.recorded.chain

    def end(self, seen: int, sequence: int) -> None:
        """Compare the end with what was seen of the log before."""
        lost = max(seen, sequence)
        if lost > self.last:
            message = f"positions {self.last + 1} to {lost} were written and are lost"
            self.bad(self.last + 1, "log::truncated", message, upto=lost)

    def _faults(
        self, operation: Operation, stream_id: str, local_seq: int
    ) -> Iterator[tuple[str, str]]:
        recorded, header = operation.recorded, operation.header
        before_seq, before_chain = self._streams.get(stream_id, (0, ZERO_HASH))
        if (recorded.stream_id, header.local_seq) != (stream_id, local_seq):
            yield "log::identity", "the header names another stream or number than the row"
        if header.local_seq != before_seq + 1:
            yield "log::numbers", f"local_seq is {header.local_seq}, {before_seq + 1} was next"
        if chain(before_chain, recorded.header_bytes) != recorded.chain:
            yield "log::chain", "the chain does not follow from the header and the event before"
        payload_digest = bytes.fromhex(header.payload_digest)
        identity = (header.origin_device, header.stream, header.local_seq, header.tool)
        if operation_id(*identity, payload_digest) != header.op_id:
            yield "log::op_id", "op_id does not follow from the header"
        if recorded.payload is not None and (
            recorded.nonce is None or digest(recorded.nonce, recorded.payload) != payload_digest
        ):
            yield "log::payload", "the payload does not have the digest that the header names"
        tied = (operation.position, recorded.chain, operation.logged_at, operation.order_hlc)
        if link(self._link, *tied) != operation.link:
            yield "log::link", "the link does not follow from the event before"
        if operation.logged_at <= self._logged_at:
            yield "log::logged_at", "logged_at runs back"
        witness = self._witness
        seen = witness if witness and witness.position == operation.position else None
        if seen is not None and seen.link != operation.link:
            yield "log::witness", "the views saw another event at this position"


def _rows(
    connection: sqlite3.Connection, total: int
) -> Iterator[tuple[int, tuple[Any, ...] | sqlite3.DatabaseError | None]]:
    """Every position from 1 on with its row; row by row where a page of rows cannot be read."""
    position = 0
    while True:
        try:
            page = connection.execute(_ROWS, (position,)).fetchall()
        except sqlite3.DatabaseError:
            yield from _one_by_one(connection, position + 1, total)
            return
        if not page:
            return
        for row in page:
            yield from ((missing, None) for missing in range(position + 1, min(row[0], total + 1)))
            position = row[0]
            yield position, row


def _one_by_one(
    connection: sqlite3.Connection, first: int, total: int
) -> Iterator[tuple[int, tuple[Any, ...] | sqlite3.DatabaseError | None]]:
    for position in range(first, total + 1):
        try:
            yield position, connection.execute(_ROW, (position,)).fetchone()
        except sqlite3.DatabaseError as error:
            yield position, error


def _highest(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT max(rowid) FROM stored_events").fetchone()[0] or 0


def _sequence(connection: sqlite3.Connection) -> int:
    """The highest position that SQLite ever gave; 0 where even that cannot be read."""
    try:
        row = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"
        ).fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(row[0]) if row and isinstance(row[0], int) else 0


def _integrity(connection: sqlite3.Connection, what: str) -> list[Finding]:
    try:
        rows = connection.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        rows = [(str(error),)]
    return [
        Finding(None, None, f"{what}::integrity", f"SQLite says of the file: {text}")
        for (text,) in rows
        if text != "ok"
    ]


def _witness(views_folder: Path) -> tuple[Checkpoint | None, list[Finding]]:
    """How far the views had seen the log, read before the log is."""
    try:
        path = Generations(views_folder).current()
        with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
            return read_checkpoint(connection.cursor()), _integrity(connection, "views")
    except (PalaceError, sqlite3.DatabaseError, TypeError) as error:
        return None, [
            Finding(None, None, "views::unreadable", f"the views cannot be read: {error}")
        ]


def _about(log_path: Path) -> list[Finding]:
    try:
        Log(log_path).close()
    except (PalaceError, sqlite3.DatabaseError) as error:
        return [Finding(None, None, "log::about", f"the log cannot be opened: {error}")]
    return []


def _compare_with_rebuild(log_path: Path, views_folder: Path) -> list[Finding]:
    """Fold the log once more, up to where the views are, and compare what came of it."""
    current = Generations(views_folder).current()
    with closing(connect(current, synchronous="NORMAL", read_only=True)) as connection:
        live = digests(connection.cursor())
    with (
        closing(Log(log_path)) as log,
        TemporaryDirectory(prefix=".verify-", dir=views_folder) as place,
    ):
        again = _digests_of_rebuild(log, Path(place) / "views.db", live["position"])
    return [
        Finding(None, None, "views::digest", f"the view {area!r} is not what the log says")
        for area, sums in again.items()
        if live[area] != sums
    ]


def _digests_of_rebuild(log: Log, path: Path, upto: int) -> dict[str, Any]:
    create(path, log.log_id)
    views = Views(path, for_bulk=True)
    try:
        while (done := views.checkpoint().position) < upto:
            with views.writing(log) as folding:
                folding.fold_all(log.after(done, min(1000, upto - done)))
                views.commit()
        with views.writing(log) as folding:
            return digests(folding.cursor)
    finally:
        views.close()
