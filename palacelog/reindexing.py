"""Changing the embedder: a second index is built beside the first, and one event makes the switch.

Protects searches: the old index answers until the new one lacks nothing, judged in the very turn of
the writer in which the switch is recorded. Work that was done is kept whatever kills it: a text is
looked up in the new cache before it is embedded. One process at a time does this. May not rank.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from domain.belief import UNDO, event_of
from domain.catalog import folds_of
from domain.embedders import EMBEDDER, EMBEDDERS, counting, identity_told
from domain.errors import Damaged, Incomplete, PalaceError, Refused, Unusable
from domain.operation import Context, Operation
from palacelog.bootstrap import House
from palacelog.caller import Report
from palacelog.embedding import Embedding
from palacelog.embedding_work import AT_ONCE_MAX, LOCK_SECONDS, changed
from projections.sqlite import file_of
from projections.vectors import folders
from replay.crash_points import reach
from replay.log import AT_ONCE
from replay.storage_errors import in_words
from replay.write_lock import only_one
from replay.writer import Turn

if TYPE_CHECKING:
    from projections.vectors.embedder import Identity
    from projections.vectors.indexes import VectorIndexes
    from projections.vectors.vector_index import Failed, VectorIndex

LOCK_FILE: Final = "reindex.lock"
WAIT_SECONDS: Final = 1.0
PATIENT_TURNS: Final = 8
"""How often the switch waits for a moment in which no text is missing. Then the few that are
missing are embedded in its turn, so that a palace that is never idle is switched as well."""
FEW_TEXTS: Final = 32
NAMED_MAX: Final = 3
NOT_IN_VIEWS: Final = "the views do not hold it; run `palacelog rebuild`"


class Target(NamedTuple):
    """An embedder to change to.

    Attributes:
        source: what it is named by.
    """

    identity: Identity
    source: str


class Plan(NamedTuple):
    """What a change of the embedder has before it.

    Attributes:
        embedder, previous: short forms; previous is None where no text was embedded yet.
        counts: whether it is the embedder that counts already.
        texts: how many different ones the palace holds.
        cached: how many of them have vectors of the embedder already.
    """

    embedder: str
    previous: str | None
    counts: bool
    texts: int
    cached: int


class Unembedded(NamedTuple):
    """A text that has no vectors, by its drawer, and why."""

    drawer_id: str
    reason: str


class Removable(NamedTuple):
    """The vectors of an embedder that does not count."""

    embedder: str
    bytes: int


class Change:
    """One change of the embedder, under way: `embed`, `check`, `switch`."""

    def __init__(
        self, house: House, embedding: Embedding, target: Target, context: Context
    ) -> None:
        """Open the index and load its embedder, within `changing`; nothing is embedded yet. What
        is damaged is begun anew.

        Args:
            context: who records the switch.

        Raises:
            PalaceError: the embedder cannot be loaded.
        """
        self._house, self._work, self._context = house, embedding.work, context
        self.index = _sound(embedding.indexes, target)
        self._retry = True

    def embed(self, report: Report) -> int:
        """Embed what the index lacks, in rounds, until nothing was written meanwhile; what failed
        before is tried once more. Returns how many texts it gained.
        """
        gained = 0
        while True:
            gained += self._work.fill(
                self.index, retry_failed=self._retry, at_once_max=AT_ONCE_MAX, report=report
            )
            self._retry = False
            with self._house.palace.reading() as reading:
                missing = self.index.missing(reading.cursor, reading.checkpoint.log_id)
            if not missing.digests:
                return gained

    def check(self) -> list[Unembedded]:
        """Compare with the log: the texts of its events that have no vectors."""
        with self._house.palace.reading() as reading:
            found: list[Unembedded] = []
            upto, at = reading.checkpoint.position, 0
            while at < upto:
                operations = self._house.log.after(at, min(AT_ONCE, upto - at))
                found += self._without(reading.cursor, operations)
                at = operations[-1].position
        return found

    def switch(self, report: Report, *, accept_failures: bool) -> int | None:
        """Let the index count, in a turn in which it lacks nothing.

        Returns:
            The position of the event; None where it counted already.

        Raises:
            Incomplete: `palacelog::vectors::texts_failed`; nothing was switched.
        """
        turns = 0
        while True:
            self.embed(report)
            reach("reindex.caught_up")
            turn = partial(self._turn, accept=accept_failures, patient=turns < PATIENT_TURNS)
            done = self._house.palace.writer.do(turn)
            if not isinstance(done, _Lagging):
                break
            turns += 1
        reach("reindex.switched")
        with only_one(self.index.lock_file, LOCK_SECONDS, "embedding"):
            self.index.tidy()
            self.index.flat.save()
        return done

    def _turn(self, at: Turn, *, accept: bool, patient: bool) -> int | _Lagging | None:
        cursor, log_id = at.folding.cursor, at.log.log_id
        missing = self.index.missing(cursor, log_id)
        few = missing.digests
        if few and not patient and len(few) <= FEW_TEXTS:
            with only_one(self.index.lock_file, LOCK_SECONDS, "embedding"):
                while few:
                    few = few[self.index.embed(cursor, few, _never).texts :]
            missing = self.index.missing(cursor, log_id)
        if missing.digests:
            return _Lagging()
        if missing.failed and not accept:
            raise incomplete(self.index.failures(cursor, missing.failed))
        said = counting(at.known.held(EMBEDDERS, EMBEDDER))
        if said is not None and said.short == self.index.identity.short:
            return None
        before = None if said is None else said.short
        return at.append(changed(self.index.identity, before, self._context)).position

    def _without(
        self, cursor: sqlite3.Cursor, operations: Sequence[Operation]
    ) -> Iterator[Unembedded]:
        texts = [text for operation in operations for text in _texts_of(operation)]
        missing = set(self.index.cache.missing([digest for _, digest in texts]))
        reasons = self.index.cache.failures(list(missing))
        for drawer_id, digest in texts:
            if digest in reasons:
                yield Unembedded(drawer_id, reasons[digest])
            elif digest in missing and not self.index.holds(cursor, drawer_id):
                yield Unembedded(drawer_id, NOT_IN_VIEWS)


class _Lagging(NamedTuple):
    """A text was written while the turn was waited for."""


@contextmanager
def changing(house: House) -> Iterator[Embedding]:
    """Be the only process that changes the embedder of a palace.

    Raises:
        Unusable: `palacelog::vectors::no_embedder`, or `palacelog::vectors::reindexing`, another
            process is at it.
    """
    embedding = house.palace.embedding
    if embedding is None:
        raise Unusable(
            "vectors::no_embedder",
            "The palace has no embedder: the setting `vectors.embedder` is none.",
            "Set it to minilm, wordllama or the folder of a model, and try again.",
        )
    folder = house.folder.vectors
    folder.mkdir(mode=0o700, exist_ok=True)
    guard = folder / LOCK_FILE
    with (
        in_words(),
        only_one(guard, WAIT_SECONDS, "changing the embedder", "vectors::reindexing"),
        embedding.indexes.using(),
    ):
        yield embedding


def named(house: House, embedding: Embedding, name: str | None) -> Target:
    """The embedder of a name.

    Args:
        name: `minilm`, `wordllama` or a folder; default what the present one was named by.

    Raises:
        PalaceError: there is none.
    """
    from projections.vectors.embedder import Identity
    from projections.vectors.models import identity_of, source_of

    if name is None:
        with house.palace.reading() as reading:
            said = counting(reading)
        name = embedding.indexes.configured
        if said is not None:
            name = embedding.indexes.source_of(Identity(**identity_told(said)))
    return Target(identity_of(name), source_of(name))


def previous(house: House, embedding: Embedding) -> Target:
    """The embedder that counted before the present one.

    Raises:
        Refused: `palacelog::vectors::no_previous`.
    """
    from projections.vectors.embedder import Identity
    from projections.vectors.indexes import ever

    with house.palace.reading() as reading:
        said = counting(reading)
        before = None if said is None else said.previous
        found = [one for one in ever(reading.cursor) if one.short == before]
    if not found:
        raise Refused(
            "vectors::no_previous",
            "No embedder counted before the present one.",
            "Name the one to change to: `palacelog reindex --embedder NAME`.",
        )
    identity = Identity(**identity_told(found[-1]))
    return Target(identity, embedding.indexes.source_of(identity))


def plan(house: House, target: Target) -> Plan:
    """What a change has before it; nothing is opened or made."""
    short = target.identity.short
    with house.palace.reading() as reading:
        said = counting(reading)
        views, count = file_of(reading.cursor), folders.texts(reading.cursor)
        state = folders.state(house.folder.vectors / short, views, count)
    before = None if said is None else said.short
    return Plan(short, before, before == short, state["texts"], state["embedded"])


def removable(house: House) -> list[Removable]:
    """What `prune` would remove."""
    with house.palace.reading() as reading:
        said = counting(reading)
    keep = None if said is None else said.short
    folder = house.folder.vectors
    names = folders.short_names(folder) + folders.leftovers(folder)
    return [Removable(name, _bytes(folder / name)) for name in names if name != keep]


def prune(house: House, embedding: Embedding) -> list[Removable]:
    """Remove the vectors of embedders that do not count; within `changing`.

    Raises:
        Refused: `palacelog::vectors::in_use`, a process has some of them open; nothing was removed.
    """
    gone = removable(house)
    with ExitStack() as unused:
        for one in gone:
            unused.enter_context(_unused(house.folder.vectors / one.embedder))
        for one in gone:
            embedding.indexes.remove(one.embedder)
            reach("prune.removed")
    return gone


def incomplete(failed: Sequence[Unembedded | Failed]) -> PalaceError:
    """The error for texts that have no vectors: the first are named."""
    named = "; ".join(f"{one.drawer_id}: {one.reason}" for one in failed[:NAMED_MAX])
    more = f"; and {len(failed) - NAMED_MAX} more" if len(failed) > NAMED_MAX else ""
    return Incomplete(
        "vectors::texts_failed",
        f"{len(failed)} texts have no vectors ({named}{more}). Searches go by the embedder that"
        " they went by before.",
        "Run it again to try them once more, or switch without them: --accept-failures.",
    )


def _sound(indexes: VectorIndexes, target: Target) -> VectorIndex:
    """The index of an embedder that can be loaded; where it is damaged, it is begun anew."""
    identity, source = target
    try:
        index = indexes.of(identity, source)
        index.cache.check()
    except (Damaged, sqlite3.DatabaseError) as error:
        if not (isinstance(error, Damaged) or folders.is_damage(error)):
            raise
        indexes.remove(identity.short)
        reach("reindex.set_aside")
        index = indexes.of(identity, source)
    index.cache.name(source)
    index.embedder()
    return index


def _texts_of(operation: Operation) -> Iterator[tuple[str, bytes]]:
    """The texts that an event brings, as (drawer_id, digest)."""
    if operation.recorded.payload is None:
        return
    event = event_of(operation, operation.order_hlc)
    for fold in folds_of(operation.header.tool):
        for part in fold.split(event):
            if part.tool != UNDO:
                for drawer_id, _, _, content in fold.texts(part):
                    yield drawer_id, sha256(content.encode()).digest()


@contextmanager
def _unused(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / folders.USE_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                "vectors::in_use",
                f"Another process has the vectors of {folder.name} open.",
                "Close the programs that search this palace, and try again.",
            ) from None
        yield
    finally:
        os.close(descriptor)


def _bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def _never() -> bool:
    return False
