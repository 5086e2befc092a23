"""What follows on what in a job's life: one table, total, in which a cancel stands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.belief import Event, fold_all
from domain.jobs import (
    BY_WORKERS,
    CANCELLED,
    CANCELLING,
    DONE,
    FAILED,
    HAPPENED,
    JOB_CANCEL,
    JOB_FAILED,
    JOB_FINISHED,
    JOB_FORCE_CANCEL,
    JOB_PAUSE,
    JOB_PROGRESSED,
    JOB_RESUME,
    JOB_RETRY,
    JOB_STARTED,
    JOB_STOPPED,
    JOBS,
    MINE,
    NONE_YET,
    OUTCOMES,
    OVER,
    PAUSED,
    QUEUED,
    RUNNING,
    STATES,
    STEERING,
    TABLE,
    Job,
    JobFile,
    job_id,
    state_in,
)
from domain.operation import origin_of, rank
from domain.operations.jobs import Outcome, State
from tests.folds import event
from tests.histories import ORDERS, arriving, examples
from tests.memory_engine import MemoryEngine

REQUEST = event(MINE, 1, "ada", path="/papers", wing="attic", state="queued")
ID = job_id(REQUEST.op_id)
CANCELS = {JOB_CANCEL, JOB_FORCE_CANCEL}
TOOLS = (*STEERING, *BY_WORKERS)
scripts = st.lists(st.tuples(st.sampled_from(TOOLS), st.sampled_from(["ada", "ada~2"])))


def of(tool: str, stamp: int, device: str = "ada") -> Event:
    """An event about the job."""
    more: dict[str, object] = {"state": "queued"} if tool in STEERING else {}
    if tool == JOB_FAILED:
        more = {"code": "palacelog::mine::gone"}
    if tool == JOB_PROGRESSED:
        more = {"found": 1, "unchanged": 0, "files": [{"path": "/a", "outcome": "filed"}]}
    return event(tool, stamp, device, job_id=ID, **more)


def life(*tools: str) -> Job:
    """The job after a request and some events."""
    events = [REQUEST, *(of(tool, stamp) for stamp, tool in enumerate(tools, 2))]
    [job] = [row for row in fold_all(JOBS, events).rows() if isinstance(row, Job)]
    return job


def states(script: list[tuple[str, str]]) -> Iterator[tuple[str, str, Job, Job]]:
    """Each event with its device, and the job before and after it."""
    events = [REQUEST]
    for stamp, (tool, device) in enumerate(script, 2):
        before = job_after(events)
        events.append(of(tool, stamp, device))
        yield tool, device, before, job_after(events)


def job_after(events: list[Event]) -> Job:
    [job] = [row for row in fold_all(JOBS, events).rows() if isinstance(row, Job)]
    return job


def test_the_table_names_states_and_events_that_there_are() -> None:
    assert {before for before, _ in TABLE} | set(TABLE.values()) == {*STATES, NONE_YET}
    assert {happened for _, happened in TABLE} == set(HAPPENED.values()) - {JOB_PROGRESSED}
    assert get_args(State) == STATES
    assert get_args(Outcome) == OUTCOMES


@pytest.mark.parametrize(("state", "tool"), [*product(STATES, TOOLS)])
def test_an_event_that_does_not_fit_has_no_effect(state: str, tool: str) -> None:
    before = life(*WAYS[state])
    after = life(*WAYS[state], tool)
    assert before.state == state
    assert after.state == TABLE.get((state, HAPPENED[tool]), state)
    if (state, HAPPENED[tool]) not in TABLE and tool != JOB_PROGRESSED:
        assert after == before


WAYS = {
    QUEUED: (),
    RUNNING: (JOB_STARTED,),
    PAUSED: (JOB_PAUSE,),
    CANCELLING: (JOB_STARTED, JOB_CANCEL),
    CANCELLED: (JOB_CANCEL,),
    DONE: (JOB_STARTED, JOB_FINISHED),
    FAILED: (JOB_STARTED, JOB_FAILED),
}


@pytest.mark.parametrize("cancel", sorted(CANCELS))
@pytest.mark.parametrize("begun", [True, False])
def test_cancel_beats_pause_whichever_comes_first(cancel: str, begun: bool) -> None:
    way = (JOB_STARTED,) if begun else ()
    for order in ((JOB_PAUSE, cancel), (cancel, JOB_PAUSE), (cancel, JOB_PAUSE, JOB_RESUME)):
        assert life(*way, *order, JOB_STOPPED).state == CANCELLED


def test_a_job_that_lost_its_worker_is_started_again() -> None:
    job = life(JOB_STARTED, JOB_PROGRESSED, JOB_STARTED)
    assert (job.state, job.attempts) == (RUNNING, 2)


def test_a_job_that_failed_says_why_until_it_is_taken_up_again() -> None:
    assert life(JOB_STARTED, JOB_FAILED).code == "palacelog::mine::gone"
    assert life(JOB_STARTED, JOB_FAILED, JOB_RETRY).code is None


@examples(300)
@given(scripts)
def test_whatever_happens_a_cancel_stands_and_what_is_done_stays_done(
    script: list[tuple[str, str]],
) -> None:
    for tool, device, before, after in states(script):
        seen = state_in(before, device)
        if seen == DONE:
            assert after.state == DONE
        if seen in (CANCELLING, CANCELLED) and tool != JOB_RETRY:
            assert state_in(after, device) in (CANCELLING, CANCELLED)
        if seen == CANCELLED and tool != JOB_RETRY:
            assert after.state == before.state
        if tool in CANCELS and seen not in OVER:
            assert after.state in (CANCELLING, CANCELLED)
        if seen == PAUSED and tool in BY_WORKERS:
            assert state_in(after, device) == PAUSED


@examples(200)
@given(scripts)
def test_no_two_incarnations_have_work_to_do_on_one_job(script: list[tuple[str, str]]) -> None:
    for *_, after in states(script):
        at_work = [
            device
            for device in ("ada", "ada~2")
            if state_in(after, device) in (QUEUED, RUNNING, CANCELLING)
        ]
        assert len(at_work) <= 1


@examples(150)
@given(scripts, ORDERS)
def test_events_of_a_job_fold_to_one_state_in_every_order_of_arrival(
    script: list[tuple[str, str]], order: list[int]
) -> None:
    events = [REQUEST, *(of(tool, stamp, who) for stamp, (tool, who) in enumerate(script, 2))]
    folded = MemoryEngine(JOBS).receive(*events).state()
    assert MemoryEngine(JOBS).receive(*arriving(events, order)).state() == folded


def test_a_request_that_names_a_job_makes_none() -> None:
    again = event(MINE, 9, "ada", path="/x", wing="attic", state="queued", job_id=ID)
    [job] = fold_all(JOBS, [REQUEST, again]).rows()
    assert job.source == "/papers"
    assert list(fold_all(JOBS, [again]).rows()) == []


def test_a_file_that_is_noted_twice_stands_once_as_it_was_noted_last() -> None:
    files = [[{"path": "/a", "outcome": "failed", "reason": "EACCES"}]]
    files.append([{"path": "/a", "outcome": "filed", "drawer_id": "drawer"}])
    noted = [
        event(JOB_PROGRESSED, stamp, "ada", job_id=ID, found=1, unchanged=0, files=one)
        for stamp, one in enumerate(files, 3)
    ]
    rows = fold_all(JOBS, [REQUEST, of(JOB_STARTED, 2), *noted]).rows()
    [file] = [row for row in rows if isinstance(row, JobFile)]
    assert (file.path, file.outcome, file.reason) == ("/a", "filed", None)


@pytest.mark.parametrize("device", ["ada", "ada~2", "a" * 64])
def test_a_rank_tells_whose_event_it_is_of(device: str) -> None:
    assert origin_of(rank(7, device, "local", 3, 0)) == device
