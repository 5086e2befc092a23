"""The operations on jobs, and what workers record of them: what they ask, record and answer.

Protects the border. What a job is about (paths, wings) is content: only reads show it, and what
steers a job answers with its id and state alone. Events of jobs never travel.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Cursor,
    Id,
    KnownThen,
    Limit,
    Line,
    Paged,
    PlaceName,
    RecordedPlace,
    Records,
    Shown,
    WriteAnswers,
    Writes,
)

State = Literal["queued", "running", "paused", "cancelling", "cancelled", "done", "failed"]
Outcome = Literal["filed", "updated", "skipped", "failed", "vanished"]
RecordedPath = Annotated[str, Field(min_length=1, max_length=4096)]
FILES_AT_ONCE_MAX = 1_000


class MineAsks(Writes):
    """File the texts of a folder, or one file, as a job."""

    path: Line = Field(description="The folder or file, on this machine, from the root or `~`.")
    wing: PlaceName | None = Field(
        None, description="A local wing. Default: of the nearest palacelog.toml, else the folder."
    )
    room: PlaceName | None = Field(
        None, description="Default: of palacelog.toml, else the first folder below `path`."
    )


class FoundSource(MineAsks):
    """What was asked, the path found on this machine and made absolute, the wing resolved."""

    wing: PlaceName


class MineRecords(Records):
    """What is to be mined, and where it goes.

    Attributes:
        job_id: of a job that does the same and is not over; there is none for this request then.
        state: that the job has by then.
    """

    path: RecordedPath
    wing: RecordedPlace
    room: RecordedPlace | None = None
    job_id: str | None = None
    state: State
    duplicate: bool = False


class JobAnswers(WriteAnswers):
    """The job, and how it stands."""

    job_id: str
    state: State


class MineAnswers(JobAnswers):
    """The job; it is worked on by whoever has the palace open for that."""


class JobAsks(Writes):
    """One job."""

    job_id: Id = Field(description="The job.")


class JobRecords(Records):
    """The job, and the state that it has by then."""

    job_id: str = Field(min_length=1)
    state: State
    duplicate: bool = False


class JobPauseAsks(JobAsks):
    """Let a job rest until it is resumed."""


class JobPauseRecords(JobRecords):
    """The job that rests."""


class JobPauseAnswers(JobAnswers):
    """How the job stands."""


class JobResumeAsks(JobAsks):
    """Go on with a job that rests."""


class JobResumeRecords(JobRecords):
    """The job that goes on."""


class JobResumeAnswers(JobAnswers):
    """How the job stands."""


class JobCancelAsks(JobAsks):
    """End a job; what it has filed stays."""


class JobCancelRecords(JobRecords):
    """The job that ends."""


class JobCancelAnswers(JobAnswers):
    """How the job stands: `cancelling` until its worker has noted what it did."""


class JobForceCancelAsks(JobAsks):
    """End a job without waiting for its worker."""


class JobForceCancelRecords(JobRecords):
    """The job that has ended."""


class JobForceCancelAnswers(JobAnswers):
    """How the job stands."""


class JobRetryAsks(JobAsks):
    """Take up a job that failed or was cancelled."""


class JobRetryRecords(JobRecords):
    """The job that is taken up."""


class JobRetryAnswers(JobAnswers):
    """How the job stands."""


class JobStartedRecords(Records):
    """That a worker takes up a job."""

    job_id: str = Field(min_length=1)
    duplicate: bool = False


class JobStoppedRecords(JobStartedRecords):
    """That a worker has let go of a job that was to be cancelled."""


class JobFinishedRecords(JobStartedRecords):
    """That all of a job was done."""


class JobFailedRecords(JobStartedRecords):
    """That a job cannot go on.

    Attributes:
        code: of the error.
    """

    code: str = Field(min_length=1)


class FileDone(Records):
    """What became of a file.

    Attributes:
        reason: why it was skipped or failed.
        text: sha256 of the text that was filed, hex.
    """

    path: RecordedPath
    outcome: Outcome
    drawer_id: str | None = None
    reason: str | None = None
    text: str | None = None


class JobProgressedRecords(JobStartedRecords):
    """What was done since the note before.

    Attributes:
        found: files that there are, in this attempt.
        unchanged: files that were held as they are, in this attempt so far.
    """

    found: int = Field(ge=0)
    unchanged: int = Field(ge=0)
    files: list[FileDone] = Field(max_length=FILES_AT_ONCE_MAX)


class JobLine(Answers):
    """A job as it stands, with how many files came to what. A worker notes them some at a time."""

    id: str
    kind: str
    state: State
    device: str = Field(description="The incarnation of this palace that works on it.")
    path: str
    wing: str
    room: str | None
    found: int = Field(description="Files that there are; of the newest attempt, like `unchanged`.")
    unchanged: int = Field(description="Held as they are.")
    filed: int
    updated: int
    skipped: int
    failed: int
    vanished: int = Field(description="Held, and not there any more. Their drawers stay.")
    attempts: int = Field(description="How often a worker took it up.")
    code: str | None = Field(description="Why it failed.")
    help: str | None = Field(description="What to do about that.")
    requested_at: str
    changed_at: str


class ListJobsAsks(Paged, KnownThen):
    """Jobs, the newest request first."""

    state: State | None = Field(None, description="Only in this state.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class ListJobsAnswers(Shown):
    """One page of jobs; `total` counts all pages."""

    jobs: list[JobLine]
    total: int
    cursor: str | None


class ShowJobAsks(Paged, KnownThen):
    """One job, with its files by path."""

    job_id: Id = Field(description="The job.")
    outcome: Outcome | None = Field(None, description="Only files that came to this.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class JobFileLine(Answers):
    """A file of a job; one that was held as it is has no line."""

    path: str
    outcome: Outcome
    drawer_id: str | None
    reason: str | None = Field(description="Why it was skipped or failed: a word, or a code.")


class ShowJobAnswers(Shown):
    """The job, and one page of its files; `total` counts all pages."""

    job: JobLine
    files: list[JobFileLine]
    total: int
    cursor: str | None
