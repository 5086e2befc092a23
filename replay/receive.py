"""Replaying outbox files into a log: first the whole file is checked, then it is applied in
batches.

Protects the log from half a file: an error in form changes nothing, and the first event that cannot
be taken stops its file, in order. What was taken stays taken; replaying again goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from domain.acceptance import Appended, Duplicate, Forked, Outcome, Rejected
from domain.errors import Incomplete, PalaceError
from domain.operation import BATCH_BYTES_MAX, BATCH_EVENTS_MAX, Recorded
from replay.outbox_file import Incoming, OutboxHead, read_events, read_head
from replay.writer import Turn, Writer

Progress = Callable[[int], None]
Permits = Callable[[Recorded], Rejected | None]


class Replayed(NamedTuple):
    """What became of a file.

    Attributes:
        appended, duplicates: how many events were taken, and were held already.
        upto: the stream is held up to this number; `first` - 1 where nothing of the file is.
        stopped: the outcome that stopped it, with the number of its event; None where it is whole.
    """

    path: Path
    device: str
    first: int
    appended: int
    duplicates: int
    upto: int
    stopped: tuple[int, Outcome] | None


def permit_all(_: Recorded) -> Rejected | None:
    """Everything may come in: over files, the person who replays them decides."""
    return None


def replay_file(
    path: Path,
    writer: Writer,
    progress: Progress = lambda count: None,
    permits: Permits = permit_all,
) -> Replayed:
    """Check a file, then apply it up to the first event that cannot be taken.

    Args:
        progress: called with the number of events that were gone through.

    Raises:
        InvalidInput, Unusable: the file's form is wrong; nothing of it was applied.
    """
    head = read_head(path)
    for _ in read_events(path):
        pass
    return _apply(path, head, writer, progress, permits)


def incomplete(replayed: Iterable[Replayed]) -> PalaceError | None:
    """The error of files that stopped part of the way; None where all are whole."""
    stopped = [(one, one.stopped) for one in replayed if one.stopped is not None]
    if not stopped:
        return None
    one, (local_seq, outcome) = stopped[0]
    return Incomplete(
        f"replay::{type(outcome).__name__.lower()}",
        f"{one.path.name} stopped at {one.device} {local_seq}: {explain(outcome)}.",
        _cure(one, local_seq, outcome),
    )


def explain(outcome: Outcome) -> str:
    """An outcome as the end of a sentence."""
    fields = ", ".join(f"{name} {getattr(outcome, name)}" for name in outcome.__dataclass_fields__)
    return f"{type(outcome).__name__.lower()} ({fields})"


_CURES = {
    "Gap": "Replay the file that holds the events before it, then this one again.",
    "Later": "Install a newer palacelog here, then replay the file again.",
    "Rejected": "Void or correct the operation on its device, and export again.",
}


def _cure(file: Replayed, stopped_at: int, outcome: Outcome) -> str:
    if not isinstance(outcome, Forked):
        name = type(outcome).__name__
        return _CURES.get(name, "Look at the event with `palacelog outbox list`.")
    if file.first == stopped_at > 1:
        # What comes before the file is not in it: the two may have parted there.
        return (
            f"The device's log was copied or restored. Export {file.device} there with `--from 1` "
            "and replay that file: it shows where the two part."
        )
    return (
        "The device's log was copied or restored. Move there what it wrote since with "
        f"`palacelog outbox fork --device {file.device} --after {outcome.local_seq}`, then export "
        "and replay again."
    )


def _apply(
    path: Path, head: OutboxHead, writer: Writer, progress: Progress, permits: Permits
) -> Replayed:
    appended = duplicates = 0
    upto, stopped = head.first - 1, None
    for batch in _batches(read_events(path)):
        outcomes = writer.do(_receiving(batch, permits))
        for incoming, outcome in zip(batch, outcomes, strict=False):
            if isinstance(outcome, Appended):
                appended += 1
            elif isinstance(outcome, Duplicate):
                duplicates += 1
            else:
                stopped = incoming.recorded.header.local_seq, outcome
                break
            upto = incoming.recorded.header.local_seq
        progress(appended + duplicates)
        if stopped is not None:
            break
    return Replayed(path, head.device, head.first, appended, duplicates, upto, stopped)


def _receiving(batch: list[Incoming], permits: Permits) -> Callable[[Turn], list[Outcome]]:
    def turn(at: Turn) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for incoming in batch:
            outcome = at.receive(incoming.recorded, incoming.claim, permits)
            outcomes.append(outcome)
            if not isinstance(outcome, Appended | Duplicate):
                break
        return outcomes

    return turn


def _batches(events: Iterator[Incoming]) -> Iterator[list[Incoming]]:
    batch: list[Incoming] = []
    size = 0
    for incoming in events:
        size += incoming.recorded.bytes_count()
        if batch and (len(batch) >= BATCH_EVENTS_MAX or size > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], incoming.recorded.bytes_count()
        batch.append(incoming)
    if batch:
        yield batch
