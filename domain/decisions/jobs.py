"""How a job is asked for, and how it is spoken to.

Protects local wings: what is mined stays on this machine. Protects one job from becoming two: the
same request, while the first is not over, means the first. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from domain.errors import Refused
from domain.jobs import (
    CANCELLED,
    CANCELLED_NOW,
    CANCELLING,
    DONE,
    FAILED,
    FORCE_CANCELLED,
    HAPPENED,
    JOBS,
    NONE_YET,
    OVER,
    PAUSED,
    PAUSED_NOW,
    QUEUED,
    REQUESTED,
    RESUMED,
    RETRIED,
    RUNNING,
    SHARED_WING,
    TABLE,
    Job,
    job_id,
    state_in,
)
from domain.operations.common import Decided
from domain.operations.jobs import FoundSource, JobAsks
from domain.ports import Known
from domain.travel import LOCAL

_THERE: Final = {
    PAUSED_NOW: frozenset({PAUSED}),
    RESUMED: frozenset({QUEUED, RUNNING}),
    CANCELLED_NOW: frozenset({CANCELLING, CANCELLED}),
    FORCE_CANCELLED: frozenset({CANCELLED}),
    RETRIED: frozenset({QUEUED, RUNNING}),
}
"""The states in which a job is as it was asked to be."""
_CURES: Final = {
    PAUSED: "job_resume goes on with it.",
    QUEUED: "It has not begun; job_pause and job_cancel stop it.",
    RUNNING: "It is at work; job_pause and job_cancel stop it.",
    CANCELLING: "It ends by itself; job_force_cancel does not wait for its worker.",
    CANCELLED: "job_retry takes it up again.",
    FAILED: "job_retry takes it up again.",
    DONE: "Call mine again: what has changed since is filed.",
}


def decide_mine(asked: FoundSource, known: Known, now: int) -> Decided:
    """Resolve a request: the wing's spelling, and the job that does the same already."""
    wing = known.spelling("wing", asked.wing)
    refuse_shared(known, wing)
    payload: dict[str, Any] = {"path": asked.path, "wing": wing}
    if asked.room is not None:
        payload["room"] = known.spelling("room", asked.room, wing)
    for job in known.jobs(wing):
        state = state_in(job, known.device)
        if state not in OVER and (job.source, job.room) == (asked.path, payload.get("room")):
            return Decided(payload | {"job_id": job.id, "state": state, "duplicate": True})
    return Decided(payload | {"state": TABLE[NONE_YET, REQUESTED], "duplicate": False})


def steer(tool: str) -> Callable[[JobAsks, Known, int], Decided]:
    """How one of the tools that steer jobs is decided."""

    def decide(asked: JobAsks, known: Known, now: int) -> Decided:
        """Resolve what follows; a job that stands as it was asked to is a duplicate."""
        job = job_of(asked.job_id, known)
        before, happened = state_in(job, known.device), HAPPENED[tool]
        after = TABLE.get((before, happened))
        if after is None and before not in _THERE[happened]:
            raise Refused("jobs::state", f"{job.id} is {before}.", _CURES[before])
        payload = {"job_id": job.id, "state": after or before, "duplicate": after is None}
        return Decided(payload, "known")

    return decide


def job_of(id: str, known: Known) -> Job:
    """A job that there is.

    Raises:
        Refused: `palacelog::jobs::unknown`.
    """
    for job in known.held(JOBS, id).find(Job, "id", id):
        return job
    raise unknown(id)


def unknown(id: str) -> Refused:
    """The refusal of an id that is no job's."""
    return Refused("jobs::unknown", f"{id} is no job here.", "Look it up with list_jobs.")


def refuse_shared(known: Known, wing: str) -> None:
    """What is mined goes to local wings alone.

    Raises:
        Refused: `palacelog::mine::shared_wing`.
    """
    if known.fixed(wing) and known.policy(wing) != LOCAL:
        raise Refused(
            SHARED_WING,
            f"The wing {wing} travels, and what is mined stays on this machine.",
            "Name another wing (--wing): a new one is local, and publish_wing shares it later.",
        )


def answer_mine(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The job that was asked for, or the one that does the same already."""
    return {"job_id": payload.get("job_id") or job_id(op_id), "state": payload["state"]}


def answer_steered(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The job, and how it stands."""
    return {"job_id": payload["job_id"], "state": payload["state"]}
