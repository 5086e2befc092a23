"""What is asked about jobs: which there are, how they stand, and what became of their files.

Protects one truth about a job that another incarnation left: it shows as paused here (see
`domain.jobs`), as it did at the moment asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, or_, select

from domain.decisions.jobs import unknown
from domain.instants import show
from domain.jobs import OUTCOMES, Job, JobFile, help_of, state_in
from domain.operations.jobs import ListJobsAsks, ShowJobAsks
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, Rows, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_files = BELIEFS[JobFile]
_OF_OUTCOME = or_(
    _B("outcome", type_=_files.c.outcome.type).is_(None), _files.c.outcome == _B("outcome")
)
_COUNTS = Prepared(
    select(_files.c.outcome, func.count())
    .where(_files.c.job_id == _B("job_id"), believed(_files))
    .group_by(_files.c.outcome)
)
_TOTAL = Prepared(
    select(func.count()).where(_files.c.job_id == _B("job_id"), believed(_files), _OF_OUTCOME)
)
_PAGE = Prepared(
    select(_files.c.path, _files.c.outcome, _files.c.drawer_id, _files.c.reason)
    .where(
        _files.c.job_id == _B("job_id"), believed(_files), _OF_OUTCOME, _files.c.path > _B("last")
    )
    .order_by(_files.c.path)
    .limit(_B("limit"))
)


def list_jobs(reading: Reading, asked: ListJobsAsks) -> dict[str, Any]:
    """One page of jobs, the newest request first."""
    last = resume("list_jobs", reading, asked, asked.cursor, (int, str))
    found = [
        job for job in all_jobs(reading) if asked.state in (None, state_in(job, reading.device))
    ]
    found.sort(key=_newest_first)
    behind = [job for job in found if not last or _newest_first(job) > (-last[0], last[1])]
    page, more = behind[: asked.limit], len(behind) > asked.limit
    marks = [page[-1].requested_at, page[-1].id] if more else []
    return reading.shown() | {
        "jobs": [job_line(reading, job, reading.device) for job in page],
        "total": len(found),
        "cursor": cursor_text("list_jobs", reading, asked, marks) if more else None,
    }


def show_job(reading: Reading, asked: ShowJobAsks) -> dict[str, Any]:
    """One job, with a page of its files by path."""
    last = resume("show_job", reading, asked, asked.cursor, (str,))
    job = job_of(reading, asked.job_id)
    if job is None:
        raise unknown(asked.job_id)
    chosen = {"job_id": job.id, "outcome": asked.outcome}
    rows = reading.rows(_PAGE, **chosen, last=last[0] if last else "", limit=asked.limit + 1)
    [(total,)] = reading.rows(_TOTAL, **chosen)
    page, more = rows[: asked.limit], len(rows) > asked.limit
    names = ("path", "outcome", "drawer_id", "reason")
    marks = [page[-1][0]] if more else []
    return reading.shown() | {
        "job": job_line(reading, job, reading.device),
        "files": [dict(zip(names, row, strict=True)) for row in page],
        "total": total,
        "cursor": cursor_text("show_job", reading, asked, marks) if more else None,
    }


def all_jobs(rows: Rows) -> Sequence[Job]:
    """All jobs, over or not."""
    return rows.all(Job)


def job_of(rows: Rows, id: str) -> Job | None:
    """A job; None where there is none."""
    found = rows.find(Job, "id", id)
    return found[-1] if found else None


def job_line(rows: Rows, job: Job, device: str) -> dict[str, Any]:
    """A job as answers show it to an incarnation, with how many files came to what."""
    counts = dict.fromkeys(OUTCOMES, 0) | dict(rows.rows(_COUNTS, job_id=job.id))
    return {
        "id": job.id,
        "kind": job.kind,
        "state": state_in(job, device),
        "device": job.device,
        "path": job.source,
        "wing": job.wing,
        "room": job.room,
        "found": job.found,
        "unchanged": job.unchanged,
        **counts,
        "attempts": job.attempts,
        "code": job.code,
        "help": help_of(job.code) if job.code else None,
        "requested_at": show(job.requested_at),
        "changed_at": show(job.changed_at),
    }


def _newest_first(job: Job) -> tuple[int, str]:
    return -job.requested_at, job.id
