"""The audit trail: reads and refusals, noted in segment files of a month each.

Protects reads from being watched: nobody waits for a note. Notes gather in memory and are written
by a thread of their own, many to a commit; one that cannot be written is counted as lost, and the
call that it is about was answered all the same. What is killed loses what it had not yet written.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

from domain.errors import InvalidInput, PalaceError, Refused
from domain.operation import Context
from domain.trail import (
    NOTHING_SEEN,
    Activity,
    Note,
    Noted,
    NotedWhole,
    Told,
    TrailCounts,
    TrailFilter,
    asked_bytes,
    damaged,
    seen_in,
    storable_context,
)
from projections import trail as tables
from projections.sqlite import connect, snapshot
from replay import unnoted
from replay.gathering import Gathering
from replay.segment import Segment
from replay.storage_errors import in_words
from replay.write_lock import WriteLock
from replay.writer import System

Reads = Literal["full", "digest", "off"]

FLUSH_SECONDS: Final = 0.25
LOCK_SECONDS: Final = 5.0
EVENTS_PER_WAL_MOVE: Final = 2_000
_OF_MONTH: Final = re.compile(rf"(\d{{4}}-\d{{2}})(\.db|\.db-wal|\.db-shm|\{unnoted.SUFFIX})")
_FAILURES: Final = (sqlite3.Error, OSError, PalaceError)
_UNREADABLE: Final = (sqlite3.Error, ValueError, KeyError, TypeError)


class Trail:
    """The trail of one palace, in one process. Safe to use from any number of threads."""

    def __init__(
        self,
        folder: Path,
        system: System,
        *,
        nonce: Callable[[], bytes],
        device: Callable[[], str],
        host: str,
        reads: Reads = "full",
        retention_days: int = 90,
    ) -> None:
        """Drop what is too old; nothing is opened before it is needed.

        Args:
            nonce: 16 random bytes; not the system's, so that what is noted meanwhile changes
                nothing in what is recorded.
            device: this palace's identity, which can change while it is open.
            reads: whether reads are noted, and with their arguments or a digest alone.
        """
        self._folder = folder
        self._system = system
        self._nonce = nonce
        self._device = device
        self._host = host
        self._reads = reads
        self._retention_days = retention_days
        self._door = threading.Lock()
        self._gathered = Gathering()
        self._lost = 0
        self._writing = threading.RLock()
        self._lock: WriteLock | None = None
        self._segments: dict[str, Segment] = {}
        self._since_wal_move = 0
        self._reading = threading.RLock()
        self._readers: dict[str, sqlite3.Connection] = {}
        self._wake, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._drop_old()

    # noting

    def read(
        self, tool: str, arguments: Mapping[str, Any], who: Context, answer: Mapping[str, Any]
    ) -> None:
        """Note a read that was answered."""
        if self._reads != "off":
            asked, who = asked_bytes(arguments), storable_context(who)
            note = Note(tool, asked, who, seen_in(answer), None, self._system.now())
            note.kept = note.kept and self._reads == "full"
            self._take_in(note)

    def refused(
        self, tool: str, arguments: Mapping[str, Any], who: Context, error: PalaceError
    ) -> None:
        """Note a call that was refused; storage that failed is no refusal."""
        if isinstance(error, Refused | InvalidInput):
            asked, who = asked_bytes(arguments), storable_context(who)
            self._take_in(Note(tool, asked, who, NOTHING_SEEN, error.code, self._system.now()))

    @contextmanager
    def noting(
        self, tool: str, arguments: Mapping[str, Any], who: Context
    ) -> Iterator[dict[str, Any]]:
        """Note what is read within by a way that is no operation, or the refusal that ends it.

        Yields:
            What takes the answer; ids, wings and counts are kept of it.
        """
        answer: dict[str, Any] = {}
        try:
            yield answer
        except PalaceError as refusal:
            self.refused(tool, arguments, who, refusal)
            raise
        self.read(tool, arguments, who, answer)

    def _take_in(self, note: Note) -> None:
        with self._door:
            if not self._gathered.add(note):
                self._lost += 1
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="palacelog-trail", daemon=True
                )
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait()
            self._ended.wait(FLUSH_SECONDS)
            self._wake.clear()
            self.flush(everything=False)
            if self._gathered.waiting:
                self._wake.set()

    def flush(self, *, everything: bool = True) -> None:
        """Write what waits; what cannot be written is counted as lost.

        Args:
            everything: also the repeats of polls, which are held back otherwise.
        """
        with self._writing:
            with self._door:
                notes = self._gathered.take(self._system.now(), everything=everything)
            if not notes:
                return
            left = len(notes)
            try:
                with self._locked():
                    for month, some in groupby(notes, lambda note: _month(note.first_at)):
                        left -= self._write(month, list(some))
            except _FAILURES:
                self._close_segments()
                with self._door:
                    lost, self._lost = self._lost + left, 0
                # A segment that can be written takes what no file can hold now.
                lost -= unnoted.count(self._folder, _month(self._system.now()), lost)
                with self._door:
                    self._lost += lost

    def close(self) -> None:
        """Write what waits and close every file. Idempotent."""
        with self._door:
            self._ended.set()
            thread, self._thread = self._thread, None
        self._wake.set()
        if thread is not None:
            thread.join()
        self.flush()
        with self._reading:
            for connection in self._readers.values():
                connection.close()
            self._readers.clear()
        with self._writing:
            if self._segments:
                with suppress(*_FAILURES), self._locked():
                    self._close_segments()
            self._close_segments()
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def _write(self, month: str, notes: list[Note]) -> int:
        segment = self._segment(month)
        with self._door:
            lost = self._lost
        segment.write(
            notes,
            device=self._device(),
            host=self._host,
            now=self._system.now(),
            nonces=[self._nonce() for _ in notes],
            lost=lost,
        )
        with self._door:
            self._lost -= lost
        self._since_wal_move += len(notes)
        if self._since_wal_move >= EVENTS_PER_WAL_MOVE:
            self._since_wal_move = 0
            # What was written is written: a WAL that cannot be moved now is moved next time.
            with suppress(sqlite3.Error):
                segment.move_wal()
        return len(notes)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The trail's own lock: segments are made, written and moved by one process at a time."""
        if self._lock is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = WriteLock(self._folder, LOCK_SECONDS)
        with self._lock.held():
            yield

    def _segment(self, month: str) -> Segment:
        path = self._folder / f"{month}.db"
        segment = self._segments.get(month)
        if segment is None or not path.is_file():
            if not path.is_file():
                self._drop_old()
            if segment is not None:
                segment.close()
            segment = self._segments[month] = Segment(path)
        return segment

    def _close_segments(self) -> None:
        for segment in self._segments.values():
            with suppress(sqlite3.Error):
                segment.close()
        self._segments.clear()

    def _drop_old(self) -> None:
        """Remove what is of months that are wholly past what is kept."""
        oldest = self._system.now() - self._retention_days * tables.DAY
        with suppress(OSError):
            for path in list(self._folder.iterdir()):
                of = _OF_MONTH.fullmatch(path.name)
                if of is not None and _end_of(of[1]) <= oldest:
                    with suppress(OSError):
                        path.unlink()

    # reading

    def counts(self) -> TrailCounts:
        """How many events there are, those that wait included, and how many calls were lost.

        A segment that cannot be read counts as empty: the palace's state must be readable.
        """
        with self._door:
            noted, lost = self._gathered.waiting, self._lost
        lost += unnoted.counted(self._folder)
        for path in self._files():
            with suppress(*_FAILURES), self._cursor(path) as cursor:
                if cursor is not None:
                    held, missed, _ = tables.counts(cursor)
                    noted, lost = noted + held, lost + missed
        return TrailCounts(noted, lost)

    @in_words()
    def newest(self) -> int:
        """When the newest event was written, microseconds UTC; what waits is written before."""
        self.flush()
        return max((newest for _, _, newest in self._each(tables.counts)), default=0)

    @in_words()
    def page(self, chosen: TrailFilter, limit: int) -> list[Noted]:
        """At most `limit` events, newest first by when they were recorded."""
        return self._newest(lambda cursor: tables.page(cursor, chosen, limit), limit)

    @in_words()
    def told(self, chosen: TrailFilter, limit: int) -> list[Told]:
        """As `page`, with what was asked and seen; what waits is written before."""
        self.flush()
        return self._newest(lambda cursor: tables.told(cursor, chosen, limit), limit)

    def _newest(self, ask: Callable[[sqlite3.Cursor], list[Any]], limit: int) -> list[Any]:
        found: list[Any] = []
        for some in self._each(ask):
            found += some[: limit - len(found)]
            if len(found) >= limit:
                break
        return found

    @in_words()
    def total(self, chosen: TrailFilter) -> int:
        """How many events there are on all pages; what waits is written before."""
        self.flush()
        return sum(self._each(lambda cursor: tables.total(cursor, chosen)))

    @in_words()
    def find(self, op_id: str) -> NotedWhole | None:
        """An event with what proves it.

        Raises:
            Damaged: `palacelog::trail::altered`.
        """
        self.flush()
        for path in self._files():
            with self._cursor(path) as cursor:
                line = None if cursor is None else tables.by_op(cursor, op_id)
            if line is not None:
                with self._writing, self._locked():
                    return NotedWhole(line, self._segment(path.stem).proven(line.place))
        return None

    @in_words()
    def activity(self, since: int, before: int) -> list[Activity]:
        """Calls by day, device, tool and outcome, recorded within [since, before)."""
        self.flush()
        found = self._each(lambda cursor: tables.activity(cursor, since, before))
        return [one for some in found for one in some]

    def _each(self, ask: Callable[[sqlite3.Cursor], Any]) -> Iterator[Any]:
        """What each segment answers, the newest month first."""
        for path in self._files():
            with self._cursor(path) as cursor:
                answer = None if cursor is None else ask(cursor)
            if answer is not None:
                yield answer

    @contextmanager
    def _cursor(self, path: Path) -> Iterator[sqlite3.Cursor | None]:
        """A snapshot of a segment; None of one that another process is just making."""
        with self._reading, _named(path.name):
            connection = self._readers.get(path.stem)
            if connection is None:
                connection = connect(path, synchronous="NORMAL", read_only=True)
                if not tables.is_made(connection.cursor()):
                    connection.close()
                    yield None
                    return
                self._readers[path.stem] = connection
            try:
                with snapshot(connection) as cursor:
                    yield cursor
            except _UNREADABLE:
                self._readers.pop(path.stem, connection).close()
                raise

    def _files(self) -> list[Path]:
        """The segments, the newest month first."""
        found = tables.segments(self._folder)[::-1]
        with self._reading:
            for gone in self._readers.keys() - {path.stem for path in found}:
                self._readers.pop(gone).close()
        return found


@contextmanager
def _named(segment: str) -> Iterator[None]:
    """What cannot be read within is named as damage of a segment; trouble around it is not."""
    try:
        yield
    except sqlite3.OperationalError:
        raise
    except _UNREADABLE as error:
        raise damaged(segment, error) from error


def _month(instant: int) -> str:
    """The month of an instant, UTC: `2026-03`."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return f"{at.year:04}-{at.month:02}"


def _end_of(month: str) -> int:
    """The first microsecond after a month; never for a name that is none."""
    year, number = int(month[:4]), int(month[5:])
    try:
        next_month = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    except ValueError:
        return 2**62
    return round((next_month - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1_000_000
