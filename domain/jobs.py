"""Jobs: work that goes on after the call that asked for it was answered.

Protects a job's state from the order in which it is spoken to: one table says what follows on what,
and an event that does not fit has no effect. A cancel stands whatever comes after it but a retry.
A job is of the incarnation that asked for it; to another one (of a palace that was restored, or
whose log was cut off) it is paused, so that no two palaces go on with one job. Pure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from domain.belief import Event, Fold, Held
from domain.canonical import comparable, digest
from domain.errors import PREFIX
from domain.operation import origin_of

QUEUED: Final = "queued"
RUNNING: Final = "running"
PAUSED: Final = "paused"
CANCELLING: Final = "cancelling"
CANCELLED: Final = "cancelled"
DONE: Final = "done"
FAILED: Final = "failed"
STATES: Final = (QUEUED, RUNNING, PAUSED, CANCELLING, CANCELLED, DONE, FAILED)
OVER: Final = frozenset({CANCELLED, DONE, FAILED})
TO_DO: Final = (RUNNING, CANCELLING, QUEUED)
"""What a worker takes up, first what was begun."""

MINE: Final = "mine"
JOB_PAUSE: Final = "job_pause"
JOB_RESUME: Final = "job_resume"
JOB_CANCEL: Final = "job_cancel"
JOB_FORCE_CANCEL: Final = "job_force_cancel"
JOB_RETRY: Final = "job_retry"
JOB_STARTED: Final = "job_started"
JOB_PROGRESSED: Final = "job_progressed"
JOB_STOPPED: Final = "job_stopped"
JOB_FINISHED: Final = "job_finished"
JOB_FAILED: Final = "job_failed"
STEERING: Final = (JOB_PAUSE, JOB_RESUME, JOB_CANCEL, JOB_FORCE_CANCEL, JOB_RETRY)
"""What a session may always do with a job."""
BY_WORKERS: Final = (JOB_STARTED, JOB_PROGRESSED, JOB_STOPPED, JOB_FINISHED, JOB_FAILED)
OF_JOBS: Final = frozenset({MINE, *STEERING, *BY_WORKERS})

REQUESTED: Final = "job_requested"
PAUSED_NOW: Final = "job_paused"
RESUMED: Final = "job_resumed"
CANCELLED_NOW: Final = "job_cancelled"
FORCE_CANCELLED: Final = "job_force_cancelled"
RETRIED: Final = "job_retried"
HAPPENED: Final = {
    MINE: REQUESTED,
    JOB_PAUSE: PAUSED_NOW,
    JOB_RESUME: RESUMED,
    JOB_CANCEL: CANCELLED_NOW,
    JOB_FORCE_CANCEL: FORCE_CANCELLED,
    JOB_RETRY: RETRIED,
} | {tool: tool for tool in BY_WORKERS}
"""What an event of a tool says that happened."""

NONE_YET: Final = ""
TABLE: Final = {
    (NONE_YET, REQUESTED): QUEUED,
    (QUEUED, JOB_STARTED): RUNNING,
    (QUEUED, PAUSED_NOW): PAUSED,
    (QUEUED, CANCELLED_NOW): CANCELLED,
    (QUEUED, FORCE_CANCELLED): CANCELLED,
    (RUNNING, JOB_STARTED): RUNNING,
    (RUNNING, PAUSED_NOW): PAUSED,
    (RUNNING, CANCELLED_NOW): CANCELLING,
    (RUNNING, FORCE_CANCELLED): CANCELLED,
    (RUNNING, JOB_FINISHED): DONE,
    (RUNNING, JOB_FAILED): FAILED,
    (PAUSED, RESUMED): QUEUED,
    (PAUSED, CANCELLED_NOW): CANCELLED,
    (PAUSED, FORCE_CANCELLED): CANCELLED,
    (CANCELLING, JOB_STOPPED): CANCELLED,
    (CANCELLING, FORCE_CANCELLED): CANCELLED,
    (CANCELLED, RETRIED): QUEUED,
    (FAILED, RETRIED): QUEUED,
}
"""(state, what happened) to the state that follows; a pair that is not here has no effect."""

FILED: Final = "filed"
UPDATED: Final = "updated"
SKIPPED: Final = "skipped"
FILE_FAILED: Final = "failed"
VANISHED: Final = "vanished"
OUTCOMES: Final = (FILED, UPDATED, SKIPPED, FILE_FAILED, VANISHED)

GONE: Final = "mine::gone"
SHARED_WING: Final = "mine::shared_wing"
FAULT: Final = "jobs::fault"
_HELPS: Final = {
    GONE: "Put it back where it was and call job_retry, or mine another folder.",
    SHARED_WING: "Mine again and name another wing: this one travels by now.",
    FAULT: "It is a fault of palacelog itself, and its log says where; job_retry tries again.",
}

_ID_DIGITS: Final = 24


class Job(NamedTuple):
    """A job as it stands.

    Attributes:
        kind: the tool that asked for it.
        device: the incarnation that works on it.
        source: the absolute path of what is mined.
        room: where all of it goes; None where the folders below `source` say.
        attempts: how often a worker took it up.
        found, unchanged: files, of the newest attempt as far as it was noted.
        code: why it failed; None where it did not.
        request: op_id of the request.
        requested_at, changed_at: microseconds UTC, of the request and of the newest change.
        op_id: of the event that last changed it.
    """

    id: str
    kind: str
    state: str
    device: str
    source: str
    wing: str
    wing_key: str
    room: str | None
    attempts: int
    found: int
    unchanged: int
    code: str | None
    request: str
    requested_at: int
    changed_at: int
    rank: bytes
    op_id: str


class JobFile(NamedTuple):
    """What became of a file; one that is held as it is has no row.

    Attributes:
        outcome: one of `OUTCOMES`.
        reason: why it was skipped or failed: a word, or the code of an error.
        text: sha256 of the text that was filed, hex.
    """

    id: str
    job_id: str
    path: str
    outcome: str
    drawer_id: str | None
    reason: str | None
    text: str | None
    rank: bytes
    op_id: str


def job_id(op_id: str) -> str:
    """The id of the job that a request asks for."""
    return f"job_{digest(op_id).hex()[:_ID_DIGITS]}"


def help_of(code: str) -> str:
    """What to do about a job that failed with a code."""
    return _HELPS.get(code.removeprefix(PREFIX), "job_retry takes it up again.")


def state_in(job: Job, device: str) -> str:
    """The state of a job as it counts for an incarnation: what another one left undone is paused,
    and what it was about to cancel is cancelled.
    """
    if job.device == device or job.state in OVER:
        return job.state
    return CANCELLED if job.state == CANCELLING else PAUSED


def _requested(held: Held, event: Event) -> Held:
    stated = event.payload
    id = _member(event)
    if held.find(Job, "id", id) or "job_id" in stated:
        return held
    held.put(
        Job(
            id=id,
            kind=event.tool,
            state=TABLE[NONE_YET, REQUESTED],
            device=origin_of(event.rank),
            source=stated["path"],
            wing=stated["wing"],
            wing_key=comparable(stated["wing"]),
            room=stated.get("room"),
            attempts=0,
            found=0,
            unchanged=0,
            code=None,
            request=event.op_id,
            requested_at=event.recorded_at,
            changed_at=event.recorded_at,
            rank=event.rank,
            op_id=event.op_id,
        )
    )
    return held


def _moved(held: Held, event: Event) -> Held:
    """The state that follows, where one does."""
    device = origin_of(event.rank)
    for job in held.find(Job, "id", _member(event)):
        after = TABLE.get((state_in(job, device), HAPPENED[event.tool]))
        if after is not None:
            held.put(
                job._replace(
                    state=after,
                    device=device,
                    attempts=job.attempts + (event.tool == JOB_STARTED),
                    code=event.payload["code"] if after == FAILED else None,
                    changed_at=event.recorded_at,
                    rank=event.rank,
                    op_id=event.op_id,
                )
            )
    return held


def _progressed(held: Held, event: Event) -> Held:
    """What was done is noted whatever the state is by now."""
    stated = event.payload
    for job in held.find(Job, "id", _member(event)):
        counts = {"found": stated["found"], "unchanged": stated["unchanged"]}
        held.put(job._replace(**counts, rank=event.rank, op_id=event.op_id))
        for one in stated["files"]:
            id = digest(job.id, one["path"]).hex()
            held.find(JobFile, "id", id)
            held.put(
                JobFile(
                    id,
                    job.id,
                    one["path"],
                    one["outcome"],
                    one.get("drawer_id"),
                    one.get("reason"),
                    one.get("text"),
                    event.rank,
                    event.op_id,
                )
            )
    return held


def _member(event: Event) -> str:
    """The job that an event is about: the one that it names, else the one that it asks for."""
    return str(event.payload.get("job_id") or job_id(event.op_id))


def _mentions(event: Event) -> tuple[tuple[str, str], ...]:
    wing = event.payload.get("wing")
    return (("wing", comparable(wing)),) if wing else ()


_EVOLVE: Final[dict[str, Any]] = {
    **dict.fromkeys(OF_JOBS, _moved),
    MINE: _requested,
    JOB_PROGRESSED: _progressed,
}

JOBS: Final = Fold(
    name="jobs",
    kinds=(Job, JobFile),
    indexes={Job: ("id",), JobFile: ("id",)},
    members=lambda event: (_member(event),),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    mentions=_mentions,
)
