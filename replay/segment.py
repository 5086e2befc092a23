"""One month of the audit trail: a library log of its own, with the tables that it is found by.

Protects memory from its own observation: nothing here lies in the log, so positions, rebuilds and
backups know nothing of reads. A commit does not wait for the disk: a read is no acknowledged write.
May be written under the trail's lock only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from domain.canonical import ZERO_HASH
from domain.errors import Damaged, InvalidInput
from domain.hlc import next_hlc
from domain.identity import stream_id
from domain.operation import (
    EMPTY_LOG,
    NOTHING_YET,
    Head,
    Operation,
    Recorded,
    StreamHead,
    chain,
    link,
    place,
    record,
)
from domain.trail import STREAM, Note
from projections import trail as tables
from projections.sqlite import checkpoint
from replay.store import LogApplication, LogDatastore, LogFactory, LogPool

BUSY_MILLISECONDS: Final = 2_000


class SegmentPool(LogPool):
    """Connections whose commits reach the disk when the system likes."""

    def _create_connection(self) -> Any:
        connection = super()._create_connection()
        connection._sqlite_conn.execute("PRAGMA synchronous=NORMAL")
        connection._sqlite_conn.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        return connection


class SegmentDatastore(LogDatastore):
    """The log's datastore over such connections."""

    def __init__(self, db_name: str) -> None:
        """Open lazily."""
        super().__init__(db_name)
        self.pool = SegmentPool(db_name=db_name, pool_size=2, max_overflow=2)


class SegmentFactory(LogFactory):
    """The library's way to it."""

    def __init__(self, env: Any) -> None:
        """Replace the datastore before anything is opened."""
        super().__init__(env)
        self.datastore = SegmentDatastore(self.datastore.pool.db_name)


class SegmentApplication(LogApplication):
    """The library's application over one segment."""

    name = "palacelog-trail"
    persistence = "replay.segment:SegmentFactory"


class Segment:
    """One segment file, open for writing."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where there is none; under the trail's lock."""
        self._app = SegmentApplication(path, create=False)
        try:
            with self._app.datastore.transaction(commit=False) as cursor:
                made = tables.is_made(cursor.sqlite_cursor)
            if not made:
                self._make()
        except sqlite3.Error:
            self._app.close()
            raise

    def _make(self) -> None:
        with self._app.datastore.writing() as cursor:
            self._app.log_recorder._create_table(cursor)
            tables.create(cursor.sqlite_cursor)
            self._app.datastore.commit()

    def close(self) -> None:
        """Close every connection; what its WAL holds is moved by the last one to leave."""
        self._app.close()

    def write(
        self, notes: Sequence[Note], *, device: str, host: str, now: int, nonces: Sequence[bytes],
        lost: int,
    ) -> int:  # fmt: skip
        """Append notes to the device's stream, as one transaction.

        Args:
            now: microseconds UTC.
            nonces: 16 random bytes for each.
            lost: calls that could not be noted since this was written last.

        Returns:
            How many of the notes no event can hold.
        """
        written: list[tuple[Note, Operation]] = []
        with self._app.datastore.writing() as cursor:
            head, stream = self._head(), self._stream(stream_id(device, STREAM))
            for note, nonce in zip(notes, nonces, strict=True):
                stamp = next_hlc(stream.order, note.first_at)
                try:
                    recorded = record(
                        note.draft(), device=device, host=host, before=stream,
                        recorded_at=note.first_at, hlc=stamp, nonce=nonce,
                    )  # fmt: skip
                except (InvalidInput, TypeError, ValueError):
                    continue
                operation = place(
                    recorded,
                    after=head,
                    logged_at=max(now, head.logged_at + 1),
                    order_hlc=stamp,
                )
                head = Head(operation.position, operation.link, operation.logged_at)
                stream = StreamHead(recorded.header.local_seq, recorded.chain, stamp)
                written.append((note, operation))
            self._app.append([operation for _, operation in written])
            unheld = len(notes) - len(written)
            tables.write(cursor.sqlite_cursor, written, lost + unheld)
            self._app.datastore.commit()
        return unheld

    def move_wal(self) -> None:
        """Move the WAL into the file; under the trail's lock."""
        checkpoint(self._app.datastore.writer())

    def proven(self, position: int) -> Operation:
        """The event at a place, compared with those that it follows in segment and stream.

        Raises:
            Damaged: `palacelog::trail::altered`, it does not follow from them.
        """
        [operation] = self._app.read(position - 1, 1)
        recorded, local_seq = operation.recorded, operation.header.local_seq
        before = self._app.read_at([position - 1]).get(position - 1)
        earlier = self._earlier(recorded, local_seq)
        tied = (position, recorded.chain, operation.logged_at, operation.order_hlc)
        if (
            link(ZERO_HASH if before is None else before.link, *tied) != operation.link
            or chain(earlier, recorded.header_bytes) != recorded.chain
        ):
            raise Damaged(
                "trail::altered",
                "An event of the audit trail does not follow from those before it.",
                "Its segment in the folder `trail` was changed; keep a copy of it, and take it out "
                "of the folder to go on without it.",
            )
        return operation

    def _earlier(self, recorded: Recorded, local_seq: int) -> bytes:
        found = self._app.recorder.select_events(
            recorded.stream_id, gt=local_seq - 2, limit=1, lte=local_seq - 1
        )
        return self._app.decode(0, found[0]).recorded.chain if found else ZERO_HASH

    def _head(self) -> Head:
        position = self._app.recorder.max_notification_id() or 0
        if position == 0:
            return EMPTY_LOG
        [newest] = self._app.read(position - 1, 1)
        return Head(newest.position, newest.link, newest.logged_at)

    def _stream(self, stream: str) -> StreamHead:
        found = self._app.recorder.select_events(stream, desc=True, limit=1)
        if not found:
            return NOTHING_YET
        newest = self._app.decode(0, found[0])
        return StreamHead(newest.header.local_seq, newest.recorded.chain, newest.order_hlc)
