"""The log: one total order of events, append-only, each tied to the one before.

Protects promises 1 to 3. Writes only inside `writing`, that is under the write lock; stream heads
are read there and nowhere else, so that numbers and chains cannot race. May not know what an
operation means.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from domain.acceptance import Appended, Outcome, Rejected, Stored, judge
from domain.canonical import ZERO_HASH
from domain.errors import Damaged, PalaceError, Unusable
from domain.hlc import received_order
from domain.identity import stream_id
from domain.operation import (
    EMPTY_LOG,
    NOTHING_YET,
    SCHEMA,
    Draft,
    Head,
    Operation,
    Recorded,
    StreamHead,
    chain,
    link,
    place,
    record,
)
from projections.sqlite import checkpoint
from replay.storage_errors import storage_error
from replay.store import LogApplication

AT_ONCE: Final = 500


class About(NamedTuple):
    """What a log says about itself.

    Attributes:
        device: this palace's identity, with its incarnation.
        parent: of a restored log, or one whose loss was accepted: `log_id@position` that it goes on
            from.
        goes_on: of a new incarnation: `device/local_seq/chain` that its first event names as
            parent.
    """

    log_id: str
    device: str
    schema: int = SCHEMA
    parent: str = ""
    goes_on: str = ""


class Log:
    """One log file, open."""

    def __init__(self, path: Path) -> None:
        """Open a log that `create_log` made.

        Raises:
            Damaged: it is not a log, or what it says about itself was changed.
            Unusable: it is of a newer schema.
        """
        if not path.is_file():
            raise Damaged(
                "log::missing",
                f"{path.name} is not there.",
                "Restore a backup with `palacelog restore`.",
            )
        self.path = path
        self._file = path.stat().st_ino
        self._app = LogApplication(path, create=False)
        try:
            self.about = self.read_about()
        except PalaceError:
            self._app.close()
            raise
        self._head = EMPTY_LOG
        self._streams: dict[str, StreamHead] = {}

    @property
    def log_id(self) -> str:
        """Identity of the log."""
        return self.about.log_id

    @property
    def app(self) -> LogApplication:
        """The library's application, for tests and measurements."""
        return self._app

    def close(self) -> None:
        """Close every connection."""
        self._app.close()

    def check_file(self) -> None:
        """That the open file is still the palace's log.

        Raises:
            Unusable: `palacelog::log::replaced`, another process has restored a backup.
        """
        try:
            same = self.path.stat().st_ino == self._file
        except FileNotFoundError:
            same = False
        if not same:
            raise Unusable(
                "log::replaced",
                "The palace's log was replaced while it was open.",
                "Close the palace and open it again.",
            )

    # reading

    def position(self) -> int:
        """The newest position, 0 in an empty log."""
        return self._app.recorder.max_notification_id() or 0

    def head(self) -> Head:
        """The newest event's position, link and time."""
        position = self.position()
        if position == 0:
            return EMPTY_LOG
        [newest] = self.after(position - 1, 1)
        return Head(newest.position, newest.link, newest.logged_at)

    def after(self, position: int, limit: int) -> Sequence[Operation]:
        """At most `limit` operations behind a position, in order of arrival."""
        return self._app.read(position, limit)

    def at(self, positions: Iterable[int]) -> Iterator[Operation]:
        """The operations at some positions, in the order given.

        Raises:
            Unusable: `palacelog::log::truncated`, the log has lost one that the views saw.
        """
        waiting = iter(positions)
        while wanted := list(islice(waiting, AT_ONCE)):
            found = self._app.read_at(wanted)
            for position in wanted:
                if position not in found:
                    raise Unusable(
                        "log::truncated",
                        f"The log has lost the event at position {position}.",
                        "Restore a backup with `palacelog restore`, or go on without what is lost "
                        "with `palacelog accept-loss`.",
                        position,
                    )
                yield found[position]

    def proven(self, position: int) -> Operation:
        """The operation at a position, compared with the events that it follows in log and stream.

        Raises:
            Damaged: `palacelog::log::altered`, it does not follow from them.
            Unusable: as `at` does.
        """
        [operation] = self.at([position])
        recorded, local_seq = operation.recorded, operation.header.local_seq
        links = [one.link for one in self.at([position - 1])] if position > 1 else [ZERO_HASH]
        chains = [ZERO_HASH]
        if local_seq > 1:
            chains = [one.chain for one in self.stream(recorded.stream_id, local_seq - 2, 1)]
        tied = (position, recorded.chain, operation.logged_at, operation.order_hlc)
        follows = [link(one, *tied) for one in links] == [operation.link]
        if not follows or [chain(one, recorded.header_bytes) for one in chains] != [recorded.chain]:
            raise Damaged(
                "log::altered",
                f"The event at {position} does not follow from those before it.",
                "Run `palacelog log verify`, and restore from a backup.",
                position,
            )
        return operation

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """At most `limit` events of a stream behind a local_seq, in order."""
        found = self._app.recorder.select_events(stream, gt=after, limit=limit)
        return [self._app.decode(0, one).recorded for one in found]

    def orders(self, stream: str, after: int, upto: int) -> dict[str, int]:
        """The orders that this log gave to a part of a stream, where they are not its hlc."""
        given: dict[str, int] = {}
        while after < upto:
            found = self._app.recorder.select_events(stream, gt=after, lte=upto, limit=AT_ONCE)
            if not found:
                break
            for operation in (self._app.decode(0, one) for one in found):
                if operation.order_hlc != operation.header.hlc:
                    given[operation.header.op_id] = operation.order_hlc
            after = found[-1].originator_version
        return given

    def stream_head(self, stream: str) -> StreamHead:
        """The newest event of a stream."""
        found = self._app.recorder.select_events(stream, desc=True, limit=1)
        if not found:
            return NOTHING_YET
        newest = self._app.decode(0, found[0])
        return StreamHead(newest.header.local_seq, newest.recorded.chain, newest.order_hlc)

    def stored(self, stream: str, local_seq: int) -> Stored | None:
        """What the log holds at a number of a stream."""
        with self._app.datastore.transaction(commit=False) as cursor:
            cursor.execute(_POSITION_OF, (stream, local_seq))
            row = cursor.fetchone()
        if row is None:
            return None
        [operation] = self._app.read(row["rowid"] - 1, 1)
        return Stored(operation.header.op_id, operation.recorded.chain, operation.position)

    # writing, under the write lock

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction; rolled back unless `commit` was called in it."""
        before, about = (self._head, dict(self._streams)), self.about
        with self._app.datastore.writing():
            if self.position() != self._head.position:
                self._head, self._streams = self.head(), {}
                before = self._head, {}
            self._committed = False
            try:
                yield
            finally:
                if not self._committed:
                    (self._head, self._streams), self.about = before, about

    def commit(self) -> None:
        """Make what was appended durable."""
        self._app.datastore.commit()
        self._committed = True

    @property
    def written_head(self) -> Head:
        """The head as this transaction has moved it."""
        return self._head

    def append(
        self, draft: Draft, *, host: str | None, recorded_at: int, hlc: int, nonce: bytes
    ) -> Operation:
        """Append a draft to this device's stream.

        Args:
            recorded_at: device time in microseconds UTC.
            hlc: above every stamp held (see `domain.hlc`).
        """
        device = self.about.device
        before = self._stream_head(stream_id(device, draft.stream))
        if before == NOTHING_YET and self.about.goes_on and draft.stream == "shared":
            draft = _with_parent(draft, self.about.goes_on)
        recorded = record(
            draft,
            device=device,
            host=host,
            before=before,
            recorded_at=recorded_at,
            hlc=hlc,
            nonce=nonce,
        )
        [operation] = self._append([(recorded, hlc)], recorded_at)
        return operation

    def receive(
        self,
        incoming: Recorded,
        *,
        claim: int | None,
        now: int,
        permits: Callable[[Recorded], Rejected | None] = lambda _: None,
    ) -> tuple[Outcome, Operation | None]:
        """Judge an event from elsewhere and append it where it is the next of its stream.

        Args:
            claim: the order that the sender says it has; None for its hlc.
            now: this machine's time in microseconds UTC.
        """
        head = self._stream_head(incoming.stream_id)
        local_seq = incoming.header.local_seq
        stored = self.stored(incoming.stream_id, local_seq) if local_seq <= head.local_seq else None
        outcome = judge(incoming, head, stored, permits)
        if outcome is not None:
            return outcome, None
        wanted = incoming.header.hlc if claim is None else claim
        logged_at = self._next_logged_at(now)
        order = received_order(head.order, wanted, logged_at)
        [operation] = self._append([(incoming, order)], now)
        return Appended(operation.position), operation

    def save_about(self, about: About) -> None:
        """Change what the log says about itself, inside `writing`."""
        with self._app.datastore.transaction(commit=False) as cursor:
            for name, value in about._asdict().items():
                cursor.execute(_SAVE_ABOUT, (name, _sealed(name, str(value))))
        self.about, self._head, self._streams = about, EMPTY_LOG, {}  # heads are read anew

    def move_wal(self, how: str = "PASSIVE") -> None:
        """Move the WAL into the file; under the write lock."""
        checkpoint(self._app.datastore.writer(), how)

    def _append(self, recorded: Sequence[tuple[Recorded, int]], now: int) -> list[Operation]:
        operations = []
        for one, order in recorded:
            logged_at = self._next_logged_at(now)
            operation = place(one, after=self._head, logged_at=logged_at, order_hlc=order)
            self._head = Head(operation.position, operation.link, logged_at)
            self._streams[one.stream_id] = StreamHead(one.header.local_seq, one.chain, order)
            operations.append(operation)
        self._app.append(operations)
        return operations

    def _next_logged_at(self, now: int) -> int:
        return max(now, self._head.logged_at + 1)

    def _stream_head(self, stream: str) -> StreamHead:
        head = self._streams.get(stream)
        if head is None:
            head = self._streams[stream] = self.stream_head(stream)
        return head

    def read_about(self) -> About:
        """What the file says now, which is not `about` where a loss was accepted since."""
        try:
            with self._app.datastore.transaction(commit=False) as cursor:
                cursor.execute("SELECT name, value FROM about")
                rows = {row["name"]: row["value"] for row in cursor.fetchall()}
        except sqlite3.DatabaseError as error:
            failure = storage_error(error)
            if isinstance(failure, Unusable) and "no such table" not in str(error):
                raise failure from error
            raise Damaged(
                "log::unreadable",
                f"{self.path.name} cannot be read as a log ({error}).",
                "Run `palacelog log verify`, and restore from a backup with `palacelog restore`.",
            ) from error
        said: dict[str, Any] = {name: _unsealed(name, value) for name, value in rows.items()}
        schema = int(said.get("schema", 0))
        if schema > SCHEMA:
            raise Unusable(
                "log::newer_schema",
                f"The log is of schema {schema}; this version knows up to {SCHEMA}.",
                "Install a newer palacelog.",
            )
        try:
            return About(**said | {"schema": schema})
        except TypeError:
            raise Damaged(
                "log::about",
                "The log does not say which log it is.",
                "Restore from a backup with `palacelog restore`.",
            ) from None


_POSITION_OF: Final = (
    "SELECT rowid FROM stored_events WHERE originator_id = ? AND originator_version = ?"
)
_SAVE_ABOUT: Final = "INSERT OR REPLACE INTO about (name, value) VALUES (?, ?)"


def create_log(path: Path, about: About) -> None:
    """Make an empty log at `path`; its tables lie in the file itself, not only in its WAL."""
    app = LogApplication(path, create=True)
    try:
        with app.datastore.writing() as cursor:
            for name, value in about._asdict().items():
                cursor.execute(_SAVE_ABOUT, (name, _sealed(name, str(value))))
            app.datastore.commit()
        checkpoint(app.datastore.writer(), "TRUNCATE")
    finally:
        app.close()


def _sealed(name: str, value: str) -> str:
    """A value with a checksum before it: a flipped bit in it must not pass for another identity."""
    return f"{sha256(f'{name}={value}'.encode()).hexdigest()[:16]} {value}"


def _unsealed(name: str, sealed: Any) -> str:
    value = sealed[17:] if isinstance(sealed, str) else ""
    if _sealed(name, value) != sealed:
        raise Damaged(
            "log::about",
            f"What the log says about its {name} was changed.",
            "Restore from a backup with `palacelog restore`.",
        )
    return value


def _with_parent(draft: Draft, goes_on: str) -> Draft:
    device, local_seq, chain = goes_on.split("/")
    parent = {"device": device, "local_seq": int(local_seq), "chain": chain}
    return replace(draft, parent=parent)
