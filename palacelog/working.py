"""The worker: takes up jobs, one after the other, for a whole palace.

Protects jobs from two workers: whoever holds the lock works, over all processes, and a lock that is
free while a job runs means that its worker is gone, so the next one goes on with it. What a worker
files goes the way of every call; it holds the write lock no longer than any client.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from domain.errors import PREFIX, InvalidInput, PalaceError, Refused
from domain.jobs import (
    CANCELLING,
    FAULT,
    JOB_FAILED,
    JOB_FINISHED,
    JOB_STARTED,
    JOB_STOPPED,
    MINE,
    OF_JOBS,
    OVER,
    PAUSED,
    TO_DO,
    Job,
    state_in,
)
from domain.operation import Context
from palacelog.at_work import AtWork, LetGo, record
from palacelog.caller import Report, silent
from palacelog.faults import where
from palacelog.palace import Palace
from projections.queries.jobs import all_jobs, job_line, job_of
from replay.crash_points import reach
from replay.write_lock import taken

LOG: Final = logging.getLogger("palacelog.jobs")
LOCK_FILE: Final = "jobs.lock"
LOOK_SECONDS: Final = 1.0
"""How often a worker looks for what other processes asked for."""
PATIENCE_SECONDS_MAX: Final = 60.0
"""How long it waits at most before it tries again what could not be done."""
FOLLOW_SECONDS: Final = 0.2
CLIENT: Final = "jobs"
_LOOKED_AT: Final = ("unchanged", "filed", "updated", "skipped", "failed")
"""What a file of a job that was looked at counts as."""


def _mine(at: AtWork) -> None:
    from palacelog.mining.filing import mine

    mine(at)


_DONE_BY: Final[dict[str, Callable[[AtWork], None]]] = {MINE: _mine}
"""The kinds of jobs."""


class Worker:
    """Works for one palace, in a thread of its own once it was started."""

    def __init__(self, palace: Palace, folder: Path, context: Context) -> None:
        """Nothing is taken up yet.

        Args:
            folder: the palace's.
            context: who works, where a job does not say.
        """
        self._palace, self._lock_file = palace, folder / LOCK_FILE
        self._context = context
        self._wanted, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._seen = -1
        self.busy = False

    def start(self) -> None:
        """Take up jobs from now on, as they are asked for."""
        self._palace.written = self._written
        self._thread = threading.Thread(target=self._run, name="palacelog-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the piece at hand, and let the job go: whoever comes next goes on with it."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def work(self, until: str | None = None, report: Report = silent) -> bool:
        """Take up jobs until none is left to do; False where another process works, or this one is
        told to stop.

        Args:
            until: a job after which to leave it.
            report: told how far that job is, or any where none is named.

        Raises:
            PalaceError, sqlite3.Error, OSError: the palace cannot be used as it is. The job that it
                stopped is gone on with later.
        """
        with self._alone() as alone:
            while alone and not self._stopping.is_set():
                job = self._next()
                if job is None:
                    break
                self.busy = True
                try:
                    self._take_up(job, report if until in (None, job.id) else silent)
                finally:
                    self.busy = False
                if job.id == until:
                    break
            return alone and not self._stopping.is_set()

    def _written(self, tool: str) -> None:
        if tool in OF_JOBS:
            self._wanted.set()

    def _run(self) -> None:
        seconds = LOOK_SECONDS
        while not self._stopping.is_set():
            try:
                self._look()
                seconds = LOOK_SECONDS
            except (PalaceError, sqlite3.Error, OSError):
                # Nobody waits for this thread; whoever calls meets the same, and is told.
                seconds = min(2 * seconds, PATIENCE_SECONDS_MAX)
            self._wanted.wait(seconds)
            self._wanted.clear()

    def _look(self) -> None:
        """Work, if the log has anything new."""
        position = self._palace.log.position()
        if position != self._seen and self.work():
            self._seen = position

    def _next(self) -> Job | None:
        """What to take up: what was begun first, then by when it was asked for."""
        with self._palace.reading() as reading:
            states = [(state_in(job, reading.device), job) for job in all_jobs(reading)]
        waiting = [(TO_DO.index(state), job) for state, job in states if state in TO_DO]
        first = min(waiting, key=lambda one: (one[0], one[1].requested_at, one[1].id), default=None)
        return None if first is None else first[1]

    def _take_up(self, job: Job, report: Report) -> None:
        context = self._on_behalf(job)
        if job.state == CANCELLING or not record(self._palace, JOB_STARTED, job.id, context):
            record(self._palace, JOB_STOPPED, job.id, context)
            return
        reach("job.started")
        at = AtWork(self._palace, job, context, self._stopping.is_set, report)
        try:
            _DONE_BY[job.kind](at)
            record(self._palace, JOB_FINISHED, job.id, context)
        except LetGo:
            pass
        except (Refused, InvalidInput) as refusal:
            record(self._palace, JOB_FAILED, job.id, context, code=refusal.code)
        except (PalaceError, sqlite3.Error, OSError):
            raise
        except Exception as fault:  # noqa: BLE001 - each worker to come would meet it and end
            LOG.error("%s fault %s", job.id, where(fault))
            record(self._palace, JOB_FAILED, job.id, context, code=f"{PREFIX}{FAULT}")
        reach("job.ended")
        record(self._palace, JOB_STOPPED, job.id, context)

    def _on_behalf(self, job: Job) -> Context:
        """Who asked for a job. Its id is the session, so that what it filed is found, and can be
        undone, together.
        """
        with self._palace.reading() as reading:
            [asked] = self._palace.log.at([reading.origin(job.request).position])
        return replace(
            self._context,
            agent=asked.header.agent,
            principal=asked.header.principal,
            client=CLIENT,
            session=job.id,
        )

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether nobody else works within."""
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield taken(descriptor)
        finally:
            os.close(descriptor)


def follow(palace: Palace, worker: Worker, job_id: str, report: Report) -> dict[str, object]:
    """Wait for a job until it is over or rests, and work on it where nobody else does; how it
    stands then.

    Raises:
        PalaceError: the palace cannot be used as it is.
    """
    pause = threading.Event()
    while True:
        with palace.reading() as reading:
            job = job_of(reading, job_id)
            assert job is not None
            line = job_line(reading, job, reading.device)
        if line["state"] in OVER or line["state"] == PAUSED:
            return line
        if not worker.work(job_id, report):
            report(sum(line[name] for name in _LOOKED_AT), line["found"])
            pause.wait(FOLLOW_SECONDS)
