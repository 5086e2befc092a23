"""Leaving a fork: what a copied log wrote since moves to the device's next incarnation.

Protects what was written on both sides: a primary that took the other copy's events under the same
numbers takes these under new ones. They are recorded again in the place of the old ones, not beside
them, so that no view counts one twice and the other side's events can come in too. It is the one
change to events that stand in a log; hence a backup first, one transaction, and a new identity of
the log, from which the views are made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import ZERO_HASH, canonical
from domain.catalog import ACKNOWLEDGED
from domain.conflicts import named_anew
from domain.errors import InvalidInput, Refused
from domain.identity import base_device, fact_id, stream_id
from domain.operation import NOTHING_YET, Operation, Recorded, StreamHead, link, record_again
from projections.generations import Generations
from projections.queries.conflicts import conflict_of
from projections.reading import Rows
from projections.views import Folding, Views
from replay.backup import backup, next_aside
from replay.crash_points import reach
from replay.incarnation import incarnations, next_life
from replay.log import AT_ONCE, Log
from replay.rebuild import Progress, check_witness, fold_up_to, rebuild
from replay.storage_errors import in_words
from replay.store import logged_event
from replay.witness import check_identity
from replay.write_lock import WriteLock

_PUT: Final = (
    "UPDATE stored_events SET originator_id = ?, originator_version = ?, state = ? WHERE rowid = ?"
)
_NAMING: Final = frozenset(
    {
        *("revives", "fact_ids", "superseded", "held", "op_id", "by", "operations"),
        *("conflict_id", "members"),
    }
)
"""The fields of payloads that name operations, or facts and conflicts whose ids follow from one."""
_RESOLVE: Final = "resolve_conflict"
_GIVEN: Final = "metadata"
"""What a caller gave stays as it was given, whatever it names."""


class Moved(NamedTuple):
    """What was moved, and who the palace is from now on.

    Attributes:
        events: how many operations were moved.
        aside: a backup of the log as it was.
    """

    events: int
    log_id: str
    device: str
    aside: Path


@in_words()
def leave_fork(
    log: Log,
    generations: Generations,
    lock: WriteLock,
    *,
    stream: str,
    after: int,
    log_id: str,
    progress: Progress,
) -> Moved:
    """Move what this device wrote after a fork to its next incarnation.

    Args:
        generations: made again first where the resolution of a conflict is moved.
        stream: the incarnation whose shared stream forked.
        after: the last local_seq that both sides have in common.
        log_id: the log's new identity.

    Raises:
        InvalidInput: the stream is not this device's, or is not that long.
        Refused: nothing was written after it; or a primary has acknowledged more, so that the
            stream did not fork there.
        Unusable: the log has lost its tail.
    """
    settles = _settles(log, stream, after)
    if settles:
        rebuild(log, generations, lock, progress)
    with lock.held():
        log.check_file()
        check_identity(log)
        check_witness(log, generations)
        _refuse(log, stream, after)
        aside = backup(log, next_aside(log.path.parent)).path
        about = next_life(log, log_id)
        before = _as_before(log, generations) if settles else nullcontext()
        with before as views, log.writing():
            events = _move(log, stream, _Moving(log, stream, after, about.device, views))
            log.save_about(about._replace(goes_on=""))
            log.commit()
        reach("fork.recorded")
    rebuild(log, generations, lock, progress)
    return Moved(events, log_id, about.device, aside)


def _settles(log: Log, stream: str, after: int) -> bool:
    """Whether a conflict was resolved in what is moved."""
    while found := log.stream(stream, after, AT_ONCE):
        after = found[-1].header.local_seq
        if any(one.header.tool == _RESOLVE for one in found):
            return True
    return False


@contextmanager
def _as_before(log: Log, generations: Generations) -> Iterator[Folding]:
    """The views of the log as it still is: they know the conflicts by the ids of then."""
    with closing(generations.opened(Views)) as views:
        fold_up_to(log, views, log.position())
        with views.writing(log) as folding:
            yield folding


def _refuse(log: Log, stream: str, after: int) -> None:
    head = log.stream_head(stream).local_seq
    if base_device(stream) != base_device(log.about.device) or not 0 <= after <= head:
        raise InvalidInput(
            "outbox::no_such_part",
            f"This palace wrote {stream} up to {head}; there is no {after} in it.",
            "See `palacelog outbox list` for what there is.",
        )
    if after == head:
        raise Refused(
            "outbox::not_forked",
            f"Nothing was written to {stream} after {after}.",
            "Go on as you are.",
        )
    acknowledged = _acknowledged(log, stream)
    if after < acknowledged:
        raise Refused(
            "outbox::acknowledged",
            f"A primary has acknowledged {stream} up to {acknowledged}: it forked after that.",
            "Export it with `--from 1` and replay that: it shows where the two part.",
        )


def _acknowledged(log: Log, stream: str) -> int:
    """How far a stream was acknowledged, read from the log itself: views may lag."""
    upto, after = 0, 0
    for device in incarnations(log, stream):
        local, after = stream_id(device, "local"), 0
        while found := log.stream(local, after, AT_ONCE):
            after = found[-1].header.local_seq
            for one in found:
                if one.header.tool == ACKNOWLEDGED and one.payload is not None:
                    told = orjson.loads(one.payload)
                    upto = max(upto, told["upto"] if told["stream_device"] == stream else 0)
    return upto


def _move(log: Log, stream: str, moving: _Moving) -> int:
    """Write every event from the first that is moved on again; returns how many were moved."""
    first = log.stored(stream, moving.after + 1)
    assert first is not None
    position = first.position - 1
    tied = next((one.link for one in log.at([position])), ZERO_HASH) if position else ZERO_HASH
    while found := log.after(position, AT_ONCE):
        for operation in found:
            recorded = moving.again(operation)
            position, logged_at, order = operation[1:4]
            tied = link(tied, position, recorded.chain, logged_at, order)
            _put(log, Operation(recorded, position, logged_at, order, tied))
    return moving.head.local_seq


def _put(log: Log, operation: Operation) -> None:
    """Write an operation over the one at its position."""
    stored = log.app.mapper.to_stored_event(logged_event(operation))
    place = (stored.originator_id, stored.originator_version, stored.state)
    with log.app.datastore.transaction(commit=False) as cursor:
        cursor.execute(_PUT, (*place, operation.position))


class _Moving:
    """The new stream as it grows, and how what its events name was named before."""

    def __init__(
        self, log: Log, stream: str, after: int, device: str, views: Folding | None
    ) -> None:
        self.head, self.after = NOTHING_YET, after
        self._stream, self._device, self._views = stream, device, views
        [common] = log.stream(stream, after - 1, 1) if after else [None]
        self._chain = ZERO_HASH if common is None else common.chain
        self._names: dict[str, str] = {}

    def again(self, operation: Operation) -> Recorded:
        """An event as it stands from now on."""
        recorded, header = operation.recorded, operation.header
        if recorded.stream_id != self._stream or header.local_seq <= self.after:
            return recorded
        self._learn_conflict(operation)
        moved = record_again(
            recorded,
            device=self._device,
            before=self.head,
            payload=self._renamed(recorded.payload),
            parent=self._parent(recorded) if self.head == NOTHING_YET else None,
        )
        self.head = StreamHead(moved.header.local_seq, moved.chain, -1)
        old, new = header.op_id, moved.header.op_id
        opened = range(_facts(moved.payload))
        self._names |= {old: new} | {fact_id(old, i): fact_id(new, i) for i in opened}
        return moved

    def _learn_conflict(self, operation: Operation) -> None:
        """How the conflict that a moved event resolves is named from now on."""
        resolves = operation.header.tool == _RESOLVE and operation.recorded.payload is not None
        if self._views is None or not resolves:
            return
        id = str(operation.payload()["conflict_id"])
        found = conflict_of(Rows(self._views.cursor, operation.position), id)
        if found is not None:
            self._names[id] = named_anew(found, self._names)

    def _parent(self, first: Recorded) -> dict[str, Any]:
        if first.header.parent is not None:
            return first.header.parent
        return {"device": self._stream, "local_seq": self.after, "chain": self._chain.hex()}

    def _renamed(self, payload: bytes | None) -> bytes | None:
        if payload is None:
            return None
        fields = orjson.loads(payload)
        renamed = self._named_anew(fields, naming=False)
        return payload if renamed == fields else canonical(renamed)

    def _named_anew(self, value: Any, *, naming: bool) -> Any:
        """A part of a payload with what it names as that is named now."""
        if isinstance(value, str):
            return self._names.get(value, value) if naming else value
        if isinstance(value, list):
            return [self._named_anew(one, naming=naming) for one in value]
        if isinstance(value, dict):
            return {
                name: one if name == _GIVEN else self._named_anew(one, naming=name in _NAMING)
                for name, one in value.items()
            }
        return value


def _facts(payload: bytes | None) -> int:
    """How many facts an event may have opened."""
    return 1 if payload is None else max(1, len(orjson.loads(payload).get("facts", ())))
