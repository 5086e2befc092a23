"""The writer: one thread per process, through which everything that changes a palace goes.

Protects durability and order: decide, append, project, COMMIT log (fsync), COMMIT views, answer.
What waits in the queue shares a commit. A turn that fails is rolled back alone: the batch is undone
and each of its turns is taken again by itself, so that nobody pays for another's failure and
nothing half done is ever committed.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from domain.acceptance import Outcome, Rejected
from domain.errors import PalaceError, Unusable
from domain.hlc import next_hlc
from domain.operation import Draft, Operation, Recorded
from projections.generations import Generations
from projections.known import SqlKnown
from projections.views import Folding, Views
from replay.crash_points import reach
from replay.log import AT_ONCE, Log
from replay.storage_errors import storage_error
from replay.witness import check
from replay.write_lock import WriteLock

TURNS_PER_COMMIT_MAX: Final = 128
EVENTS_PER_WAL_MOVE: Final = 2_000

T = TypeVar("T")


class System(Protocol):
    """Clock and chance, which only `palacelog.system` has."""

    def now(self) -> int:
        """Microseconds UTC."""
        ...

    def nonce(self) -> bytes:
        """16 random bytes."""
        ...


class Turn:
    """What one caller may do while the writer holds the write lock."""

    def __init__(
        self, log: Log, folding: Folding, known: SqlKnown, system: System, host: str
    ) -> None:
        """Work inside the open transactions of log and views."""
        self.log = log
        self.folding = folding
        self.known = known
        self._system = system
        self._host = host
        self.now = system.now()

    def append(self, draft: Draft, at_least: int = -1) -> Operation:
        """Append and project a decided operation.

        Args:
            at_least: a stamp seen elsewhere that the operation must come after.
        """
        operation = self.log.append(
            draft,
            host=self._host,
            recorded_at=self.now,
            hlc=next_hlc(max(self.folding.newest_stamp(), at_least), self.now),
            nonce=self._system.nonce(),
        )
        reach("log.appended")
        self._project(operation)
        return operation

    def receive(
        self,
        incoming: Recorded,
        claim: int | None,
        permits: Callable[[Recorded], Rejected | None],
    ) -> Outcome:
        """Judge an event from elsewhere; append and project it where it is the next."""
        outcome, operation = self.log.receive(incoming, claim=claim, now=self.now, permits=permits)
        if operation is not None:
            self._project(operation)
        return outcome

    def _project(self, operation: Operation) -> None:
        self.folding.fold(operation)
        self.folding.reached(operation)


@dataclass
class _Job:
    work: Callable[[Turn], Any]
    future: Future[Any]


class Writer:
    """Runs turns one after the other under the write lock, many to a commit."""

    def __init__(
        self,
        log: Log,
        generations: Generations,
        lock: WriteLock,
        system: System,
        *,
        host: str,
        complete: bool,
        stays: Callable[[str], bool] = lambda wing: False,
    ) -> None:
        """Start the thread.

        Args:
            complete: whether this palace knows all there is (see `domain.ports.Known`).
            stays: whether a new wing of that name is local.
        """
        self._log = log
        self._generations = generations
        self._lock = lock
        self._system = system
        self._host = host
        self._complete, self._stays = complete, stays
        self._views: Views | None = None
        self._mark = (0, 0)
        self._since_wal_move = 0
        self.commits = 0
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._closed = self._ended = False
        self._thread = threading.Thread(target=self._run, name="palacelog-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Turn], T]) -> Future[T]:
        """Queue a turn; the future is done once it is durable, or has failed without a trace."""
        future: Future[T] = Future()
        with self._door:
            if self._closed:
                raise Unusable("palace::closed", "The palace has been closed.", "Open it again.")
            self._jobs.put(_Job(work, future))
        return future

    def do(self, work: Callable[[Turn], T]) -> T:
        """Queue a turn and wait for it."""
        return self.submit(work).result()

    def close(self) -> None:
        """Finish what is queued, stop the thread, move the WALs, close the views."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        try:
            with self._lock.held():
                self._move_wals("TRUNCATE")
                self._close_views()
        except (PalaceError, sqlite3.Error):
            self._close_views()

    def _run(self) -> None:
        while not self._ended:
            jobs: list[_Job] = []
            self._admit(self._jobs.get(), jobs)
            if jobs:
                self._serve(jobs)

    def _admit(self, waiting: _Job | None, jobs: list[_Job]) -> None:
        """Take a job into a batch, unless its caller has given up meanwhile."""
        if waiting is None:
            self._ended = True
        elif waiting.future.set_running_or_notify_cancel():
            jobs.append(waiting)

    def _admit_waiting(self, jobs: list[_Job]) -> None:
        """Take what waits into a batch; late, so that waiting for the lock fills it."""
        while len(jobs) < TURNS_PER_COMMIT_MAX and not self._ended:
            try:
                waiting = self._jobs.get_nowait()
            except queue.Empty:
                return
            self._admit(waiting, jobs)

    def _serve(self, jobs: list[_Job], *, alone: bool = False) -> None:
        try:
            outcomes = self._commit_together(jobs, alone=alone)
        except Exception as error:  # noqa: BLE001 - every caller must get an answer
            if _is_locked(error):
                # Who waits now has waited for the same lock: not one deadline after the other.
                self._admit_waiting(jobs)
            elif not alone:
                for job in jobs:
                    self._serve([job], alone=True)
                return
            outcomes = [_failure(error)] * len(jobs)
        reach("writer.before_answer")
        for job, outcome in zip(jobs, outcomes, strict=True):
            with suppress(InvalidStateError):
                if isinstance(outcome, BaseException):
                    job.future.set_exception(outcome)
                else:
                    job.future.set_result(outcome)

    def _commit_together(self, jobs: list[_Job], *, alone: bool) -> list[Any]:
        with self._lock.held():
            reach("writer.locked")
            if not alone:
                self._admit_waiting(jobs)
            self._log.check_file()
            try:
                outcomes = self._take_turns(jobs)
            except (sqlite3.Error, OSError):
                self._close_views()
                raise
            if self._since_wal_move >= EVENTS_PER_WAL_MOVE:
                # What was written is durable: a WAL that cannot be moved now is moved next time.
                with suppress(sqlite3.Error):
                    self._move_wals("PASSIVE")
        return outcomes

    def _take_turns(self, jobs: list[_Job]) -> list[Any]:
        views = self._current_views()
        self._catch_up(views)
        with self._log.writing(), views.writing(self._log) as folding:
            check(folding.checkpoint(), self._log)
            before = self._log.written_head.position
            outcomes = [self._turn(job, folding) for job in jobs]
            written = self._log.written_head.position - before
            reach("views.folded")
            if written:
                self._commit(views)
        self._since_wal_move += written
        return outcomes

    def _turn(self, job: _Job, folding: Folding) -> Any:
        before = self._log.written_head.position
        device = self._log.about.device
        known = SqlKnown(folding, device=device, complete=self._complete, stays=self._stays)
        try:
            return job.work(Turn(self._log, folding, known, self._system, self._host))
        except PalaceError as refusal:
            if self._log.written_head.position != before:
                raise
            return refusal

    def _commit(self, views: Views) -> None:
        self._log.commit()
        self.commits += 1
        reach("log.committed")
        try:
            views.commit()
        except sqlite3.Error:
            # The log has it, so the caller's write is a success; the next turn catches up.
            self._close_views()
        reach("views.committed")

    def _catch_up(self, views: Views) -> None:
        """Fold what the log has and the views lack, in transactions of their own."""
        while views.checkpoint().position < self._log.position():
            with views.writing(self._log) as folding:
                check(folding.checkpoint(), self._log)
                folding.fold_all(self._log.after(folding.checkpoint().position, AT_ONCE))
                views.commit()

    def _current_views(self) -> Views:
        mark = self._generations.mark()
        if self._views is None or mark != self._mark:
            self._close_views()
            self._views, self._mark = Views(self._generations.current()), mark
        return self._views

    def _close_views(self) -> None:
        views, self._views = self._views, None
        if views is not None:
            views.close()

    def _move_wals(self, how: str) -> None:
        self._log.move_wal(how)
        reach("checkpoint.log_moved")
        if self._views is not None:
            self._views.move_wal(how)
        self._since_wal_move = 0


def _is_locked(error: Exception) -> bool:
    return isinstance(error, Unusable) and error.code == "palacelog::palace::locked"


def _failure(error: Exception) -> Exception:
    if isinstance(error, sqlite3.Error | OSError | PalaceError):
        failure = storage_error(error)
        if failure is not error:
            failure.__cause__ = error
        return failure
    return error
