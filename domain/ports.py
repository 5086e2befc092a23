"""What the pure rules need from outside, as questions. Implemented by `projections` and `replay`,
never here.

Protects the direction of the arrows: a rule that needs a fact of the palace asks for it through one
of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from domain.belief import Event, Fold, Held
from domain.conflicts import Conflict
from domain.entities import Aliases
from domain.jobs import Job
from domain.operation import Head, Operation
from domain.trail import Activity, Noted, NotedWhole, Told, TrailCounts, TrailFilter


class Text(NamedTuple):
    """An immutable text that a drawer id stands for."""

    drawer_id: str
    wing: str
    room: str
    content: str


class Done(NamedTuple):
    """An operation that this log holds, as it was chosen to be undone.

    Attributes:
        event: with the rank that this log knows for it; its payload is empty where it was redacted.
    """

    event: Event
    device: str
    position: int


class Chosen(NamedTuple):
    """Which operations are meant: those that meet all that is not None.

    Attributes:
        since, before: when they were recorded, microseconds UTC, half-open.
    """

    op_id: str | None = None
    session: str | None = None
    device: str | None = None
    since: int | None = None
    before: int | None = None


class Stood(NamedTuple):
    """A fact of one wing, and until when any assertion of it holds, microseconds UTC."""

    wing: str
    subject: str
    object: str
    until: int


class KnownTexts(Protocol):
    """What a decision on texts asks."""

    @property
    def complete(self) -> bool:
        """Whether this palace knows all there is; to an edge, what is missing may exist."""
        ...

    def spelling(self, kind: str, name: str, scope: str = "") -> str:
        """The spelling in use for a `wing`, `room` (scope: its wing), `subject` or `predicate`,
        else `name`.
        """
        ...

    def held(self, fold: Fold, member: str) -> Held:
        """The current rows of the key that a drawer id or a partition belongs to."""
        ...

    def text(self, drawer_id: str) -> Text | None:
        """The text of a drawer, live or hidden; None where no event brought it."""
        ...

    def twin(self, wing: str, room: str, content: str) -> Text | None:
        """A live drawer of the room whose content equals this one in `twin_form`."""
        ...

    def newest_entry(self, wing: str, agent: str) -> Text | None:
        """The newest live entry of an agent's diary in a wing."""
        ...


class Known(KnownTexts, Protocol):
    """What the views hold at the log's head, asked under the write lock while an operation is
    decided.
    """

    def live(
        self, *, wing: str | None = None, room: str | None = None, source_file: str | None = None
    ) -> Sequence[str]:
        """The ids of the live drawers of a place or a file, sorted."""
        ...

    def rooms(self, wing: str, room: str | None = None) -> Sequence[str]:
        """The rooms of a wing (or the one named) that were made by themselves, in the spelling in
        use.
        """
        ...

    @property
    def device(self) -> str:
        """This palace's identity, incarnation included."""
        ...

    def jobs(self, wing: str) -> Sequence[Job]:
        """The jobs that file into a wing, over or not, oldest first."""
        ...

    def policy(self, wing: str | None) -> str:
        """Whether a wing is `local` or `replicated`: as it was fixed by its first event, else as
        the settings have it for new wings. None stands for all wings: replicated.
        """
        ...

    def fixed(self, wing: str) -> bool:
        """Whether any event named the wing before."""
        ...

    def members_in(self, fold: Fold, wing: str) -> Sequence[str]:
        """What stands in a wing beside its texts, sorted, as members of the fold's keys: partitions
        of facts, declarations and aliases of the wing alone, tunnels that lead into it.
        """
        ...

    def local_links(self) -> Sequence[str]:
        """The ids of the links that do not travel, sorted; updates may have taken their drawers to
        another wing.
        """
        ...

    def local_operations(self, op_ids: Sequence[str]) -> Sequence[str]:
        """Those of some operations that are of the local stream."""
        ...

    def done(self, chosen: Chosen, limit: int) -> Sequence[Done]:
        """The first `limit` of the operations chosen, in canonical order."""
        ...

    def parts(self, fold: Fold, member: str) -> Sequence[Event]:
        """Every part that touched the key of a member, in canonical order."""
        ...

    def conflict(self, id: str) -> Conflict | None:
        """A conflict that stands, resolved or not."""
        ...

    def aliases(self, names: Iterable[str]) -> Aliases:
        """What is said of some names (in comparable form), and of all that aliases join them to."""
        ...

    def stood(
        self, subjects: Sequence[str], predicate: str, objects: Sequence[str]
    ) -> Sequence[Stood]:
        """The facts of any wing, open or not, under names of subject and object in comparable
        form.
        """
        ...


class LogReader(Protocol):
    """A log as projections read it."""

    @property
    def log_id(self) -> str:
        """Identity of the log."""
        ...

    def position(self) -> int:
        """The newest position, 0 in an empty log."""
        ...

    def head(self) -> Head:
        """The newest event."""
        ...

    def at(self, positions: Iterable[int]) -> Iterator[Operation]:
        """The operations at some positions, in the order given."""
        ...

    def proven(self, position: int) -> Operation:
        """The operation at a position, compared with those that it follows."""
        ...

    def after(self, position: int, limit: int) -> Sequence[Operation]:
        """At most `limit` operations behind a position, in order of arrival."""
        ...


class TrailReader(Protocol):
    """The audit trail as projections read it."""

    def counts(self) -> TrailCounts:
        """How many events it holds, and how many calls could not be noted."""
        ...

    def newest(self) -> int:
        """When its newest event was written, microseconds UTC; 0 where there is none."""
        ...

    def page(self, chosen: TrailFilter, limit: int) -> list[Noted]:
        """At most `limit` events, newest first by when they were recorded."""
        ...

    def told(self, chosen: TrailFilter, limit: int) -> list[Told]:
        """As `page`, with what was asked and seen."""
        ...

    def total(self, chosen: TrailFilter) -> int:
        """How many events there are on all pages."""
        ...

    def find(self, op_id: str) -> NotedWhole | None:
        """An event with what proves it."""
        ...

    def activity(self, since: int, before: int) -> list[Activity]:
        """Calls by day, device, tool and outcome, recorded within [since, before)."""
        ...
