"""A job that a worker is at: what the work may do, and how it learns that it is to stop.

Protects a job's state: whether it still runs is asked under the write lock with every write, so
that nothing is filed behind a pause or a cancel that was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from domain.errors import Refused
from domain.jobs import HAPPENED, JOB_PROGRESSED, JOBS, RUNNING, TABLE, Job, state_in
from domain.operation import Context, Draft
from domain.ports import Known
from domain.travel import LOCAL
from palacelog.caller import Report
from projections.queries.jobs import job_of
from projections.reading import Reading
from replay.crash_points import reach
from replay.writer import Turn

if TYPE_CHECKING:
    from palacelog.palace import Palace, Permits

_STOPPED: Final = "jobs::stopped"


class LetGo(Exception):
    """The job is not to go on, or not in this process."""


class AtWork:
    """A job that is being worked on."""

    def __init__(
        self,
        palace: Palace,
        job: Job,
        context: Context,
        stopping: Callable[[], bool],
        report: Report,
    ) -> None:
        """Work on a job that was started.

        Args:
            context: who asked for the job.
            stopping: whether this process is to let go of it.
            report: told how far the work is.
        """
        self._palace, self.job, self._context = palace, job, context
        self._stopping = stopping
        self.report = report
        self._looked_at = -1

    def reading(self) -> AbstractContextManager[Reading]:
        """A snapshot of the views."""
        return self._palace.reading()

    def check(self) -> None:
        """Between two pieces of work.

        Raises:
            LetGo: the job runs no longer, or the process is about to end.
        """
        if self._stopping():
            raise LetGo
        position = self._palace.log.position()
        if position == self._looked_at:
            return
        self._looked_at = position
        with self.reading() as reading:
            job = job_of(reading, self.job.id)
            if job is None or state_in(job, reading.device) != RUNNING:
                raise LetGo

    def call(self, tool: str, arguments: Mapping[str, Any], permits: Permits) -> dict[str, Any]:
        """Do one operation, as any client does, unless the job runs no longer by then.

        Raises:
            LetGo: it does not.
            PalaceError: as `Palace.call`.
        """

        def permitted(known: Known) -> None:
            if state_of(self.job.id, known) != RUNNING:
                raise Refused(_STOPPED, "The job runs no longer.", "Nothing is to be done.")
            permits(known)

        try:
            answer = self._palace.call(tool, arguments, self._context, permits=permitted)
        except Refused as refusal:
            if refusal.code == f"palacelog::{_STOPPED}":
                raise LetGo from None
            raise
        # It ran when this was written, and what is written since is looked at.
        self._looked_at = answer["position"]
        reach("job.worked")
        return answer

    def note(self, **done: int | Sequence[Mapping[str, Any]]) -> None:
        """Record what was done, whatever the state of the job is by now."""
        record(self._palace, JOB_PROGRESSED, self.job.id, self._context, **done)
        reach("job.noted")


def record(palace: Palace, tool: str, job_id: str, context: Context, **stated: Any) -> bool:
    """Record what happened to a job, where that has an effect; whether it was recorded."""

    def turn(at: Turn) -> bool:
        state, happened = state_of(job_id, at.known), HAPPENED[tool]
        fits = tool == JOB_PROGRESSED or (state, happened) in TABLE
        if fits:
            payload = {"job_id": job_id, "duplicate": False, **stated}
            at.append(Draft(tool, payload, asked={}, context=context, stream=LOCAL))
        return fits

    return palace.writer.do(turn)


def state_of(job_id: str, known: Known) -> str | None:
    """The state of a job at the log's head; None where there is none."""
    for job in known.held(JOBS, job_id).find(Job, "id", job_id):
        return state_in(job, known.device)
    return None
