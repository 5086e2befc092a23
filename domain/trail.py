"""The audit trail: what a read or a refusal leaves behind, and how it is asked for.

Protects two borders. What was read is kept as ids, never as content; of a refusal its code alone
is kept, and nothing of what was asked. Pure: where the events lie is `replay.trail`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import NotStorable, canonical, comparable, storable
from domain.errors import Damaged
from domain.gate import SESSION_MODES
from domain.instants import ENDLESS
from domain.operation import Context, Draft, Operation

STREAM: Final = "trail"
READ: Final = "read"
REFUSED: Final = "refused"
UNKNOWN_TOOL: Final = "unknown_tool"
"""The tool of a refusal whose tool is none: what was typed there may be anything."""

IDS_MAX: Final = 200
ASKED_BYTES_MAX: Final = 64 * 1024
"""Arguments beyond are kept as their digest alone."""

_IDS: Final = ("id", "drawer_id", "fact_id", "op_id")
_ASKED_IDS: Final = ("drawer_id", "fact_id", "op_id", "id")
_ENTITIES: Final = ("entity", "subject", "object")


def damaged(segment: str, reason: object) -> Damaged:
    """The error of a segment that is not as it was written.

    Args:
        segment: the name of its file.
    """
    return Damaged(
        "trail::damaged",
        f"{segment} of the audit trail is damaged: {reason}.",
        f"Move {segment} out of the folder `trail` of the palace, and keep it: the trail goes on "
        "without that month. Memory is not affected.",
    )


class Seen(NamedTuple):
    """What an answer showed.

    Attributes:
        log_id, position: the log that was read and how far; None where the answer does not say.
        ids: of drawers, facts, operations ..., at most 200, in the order of the answer.
        wings: in comparable form.
        total: how many things there were, those on other pages included.
    """

    log_id: str | None
    position: int | None
    ids: tuple[str, ...]
    wings: tuple[str, ...]
    total: int


NOTHING_SEEN: Final = Seen(None, None, (), (), 0)


class Note:
    """A call that is to be noted; repeats of it, in quick succession, are counted in it.

    Attributes:
        asked: canonical JSON of the arguments.
        code: of the refusal; None of a read.
        first_at, last_at: microseconds UTC.
        times: how often it was called.
        kept: whether the arguments and what was seen are kept, or a digest alone.
    """

    __slots__ = ("asked", "code", "first_at", "kept", "last_at", "seen", "times", "tool", "who")

    def __init__(
        self, tool: str, asked: bytes, who: Context, seen: Seen, code: str | None, at: int
    ) -> None:
        """One call at an instant."""
        self.tool, self.asked, self.who, self.seen, self.code = tool, asked, who, seen, code
        self.first_at = self.last_at = at
        self.times = 1
        self.kept = len(asked) <= ASKED_BYTES_MAX

    def key(self) -> tuple[Any, ...]:
        """Equal for calls that differ in nothing but when they were made."""
        return self.tool, self.asked, self.who, self.seen.ids, self.seen.total, self.code

    def repeat(self, other: Note) -> None:
        """Count a later call of the same key."""
        self.times += other.times
        self.last_at = max(self.last_at, other.last_at)

    def draft(self) -> Draft:
        """The event, without its place in the trail's stream."""
        payload: dict[str, Any] = {"times": self.times, "last_at": self.last_at}
        asked = orjson.loads(self.asked)
        if self.code is not None:
            payload["code"] = self.code
        else:
            payload["seen"] = {
                "log_id": self.seen.log_id,
                "position": self.seen.position,
                "total": self.seen.total,
            }
            if self.kept:
                payload["asked"] = asked
                payload["seen"]["ids"] = list(self.seen.ids)
        return Draft(self.tool, payload, asked, self.who, STREAM)

    def mentions(self) -> Iterable[tuple[str, str]]:
        """(kind, name) pairs that the event is found by: `id`, `wing`, `entity`."""
        if self.code is not None or not self.kept:
            return ()
        asked = orjson.loads(self.asked)
        found = {("id", id): None for id in self.seen.ids}
        found |= {("wing", wing): None for wing in self.seen.wings}
        for name in _ASKED_IDS:
            if isinstance(asked.get(name), str):
                found["id", asked[name]] = None
        if isinstance(asked.get("wing"), str):
            found["wing", comparable(asked["wing"])] = None
        for name in _ENTITIES:
            if isinstance(asked.get(name), str):
                found["entity", comparable(asked[name])] = None
        return found


def seen_in(answer: Mapping[str, Any]) -> Seen:
    """What an answer showed: of each thing on its first two levels, the id and the wing."""
    ids: dict[str, None] = {}
    wings: dict[str, None] = {}
    count = 0
    for value in answer.values():
        if isinstance(value, list):
            things = value
        elif isinstance(value, dict):
            things = [value]
        else:
            continue
        for thing in things:
            if isinstance(thing, dict):
                count += _look_at(thing, ids, wings)
    total = answer.get("total")
    return Seen(
        answer.get("log_id"),
        answer.get("position", answer.get("head")),
        tuple(ids),
        tuple(comparable(wing) for wing in wings),
        total if isinstance(total, int) else count,
    )


def _look_at(thing: dict[str, Any], ids: dict[str, None], wings: dict[str, None]) -> int:
    wing = thing.get("wing")
    if isinstance(wing, str):
        wings[wing] = None
    for name in _IDS:
        id = thing.get(name)
        if isinstance(id, str):
            if len(ids) < IDS_MAX:
                ids[id] = None
            return 1
    return 0


def asked_bytes(arguments: Mapping[str, Any]) -> bytes:
    """The arguments of a call that nobody has checked, as canonical JSON; what has no such form
    counts as nothing.
    """
    try:
        return canonical(dict(arguments))
    except (TypeError, ValueError):
        return b"{}"


def storable_context(who: Context) -> Context:
    """Who made a call that nobody has checked, without what no event can hold."""
    plain = {name: getattr(who, name) for name in ("agent", "client", "session", "principal")}
    for name, value in plain.items():
        try:
            storable(value)
        except NotStorable:
            plain[name] = None
        if not isinstance(value, str):
            plain[name] = None
    mode = who.session_mode if who.session_mode in SESSION_MODES else "unknown"
    return Context(**plain, session_mode=mode, memory_mode=who.memory_mode)


class TrailFilter(NamedTuple):
    """Which events of the trail are asked for.

    Attributes:
        reads, refusals: which outcomes.
        device: with or without its incarnation.
        wing, entity: in comparable form.
        ids: events that asked for or saw any of these.
        since, before, until: recorded at or after, before, at or before; microseconds UTC.
        logged_until: only what was in the trail by then, so that pages stay as they are.
        behind: only what is older than the event recorded then, at that place of its segment.
    """

    reads: bool
    refusals: bool
    device: str | None = None
    tool: str | None = None
    agent: str | None = None
    session: str | None = None
    wing: str | None = None
    entity: str | None = None
    ids: tuple[str, ...] | None = None
    since: int = -ENDLESS
    before: int = ENDLESS
    until: int = ENDLESS
    logged_until: int = ENDLESS
    behind: tuple[int, int] = (ENDLESS, ENDLESS)


class Noted(NamedTuple):
    """An event of the trail as a line of a list.

    Attributes:
        place: its number in its segment; with `recorded_at` it is unique.
        outcome: `read` or `refused`.
        code: of the refusal.
        times: how many calls it stands for.
    """

    place: int
    op_id: str
    tool: str
    device: str
    host: str | None
    local_seq: int
    agent: str | None
    client: str | None
    session: str | None
    principal: str | None
    session_mode: str
    memory_mode: str
    recorded_at: int
    logged_at: int
    outcome: str
    code: str | None
    times: int


class NotedWhole(NamedTuple):
    """An event of the trail with everything that proves it."""

    line: Noted
    operation: Operation


class Told(NamedTuple):
    """An event of the trail with what was asked and seen."""

    line: Noted
    payload: dict[str, Any]


class TrailCounts(NamedTuple):
    """How many events the trail holds, and how many calls could not be noted."""

    noted: int
    lost: int


class Activity(NamedTuple):
    """How many calls of one outcome a device made of a tool on a day (days since 1970 UTC)."""

    day: int
    device: str
    tool: str
    outcome: str
    code: str | None
    calls: int
