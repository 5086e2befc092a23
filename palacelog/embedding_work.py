"""Embedding what is missing: slice by slice, one process at a time, on behalf of whoever asks.

Protects work and files: what was embedded is durable slice by slice, and nothing is embedded once
the palace closes. May not decide which embedder counts where one does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from domain.embedders import EMBEDDER, EMBEDDER_CHANGED, EMBEDDERS, counting
from domain.errors import Unusable
from domain.operation import Context, Draft
from domain.travel import LOCAL
from palacelog.caller import Report, silent
from projections.reading import Reading
from projections.tables import STILL_BELIEVED
from replay.crash_points import reach
from replay.write_lock import only_one
from replay.writer import Turn, Writer

if TYPE_CHECKING:
    from projections.vectors.embedder import Identity
    from projections.vectors.indexes import VectorIndexes
    from projections.vectors.vector_index import VectorIndex

LOCK_SECONDS: Final = 60
AT_ONCE: Final = 16
"""Texts in the first slice, and in each while others may be waiting for the lock."""
AT_ONCE_MAX: Final = 256
"""Texts in a slice of much work: fewer slices keep both threads of an embedder busy."""
EVERYTHING: Final = STILL_BELIEVED - 1
_TIDIED_EVERY: Final = 4_096

Stop = Callable[[], bool]


class Deadline:
    """Until when somebody waits, for one thing after the other."""

    def __init__(self, seconds: float) -> None:
        """So many seconds from now."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """How many seconds are left; 0 where it is over."""
        return max(0.0, self._end - time.monotonic())


class Embedded(Protocol):
    """What embedding needs of a palace."""

    @property
    def writer(self) -> Writer:
        """What records which embedder counts."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """A snapshot with the texts."""
        ...


class Run(NamedTuple):
    """What came of embedding.

    Attributes:
        embedder: the short form of its identity.
        embedded: how many texts have vectors now that had none.
        failed: (drawer_id, reason) of texts that could not be embedded, now or before.
        remaining: how many texts have no vectors, those that failed included.
    """

    embedder: str
    embedded: int
    failed: Sequence[tuple[str, str]]
    remaining: int


class Work:
    """Embeds for a palace. Safe to use from any number of threads."""

    def __init__(
        self, palace: Embedded, indexes: Callable[[], VectorIndexes], context: Context
    ) -> None:
        """Nothing is loaded yet.

        Args:
            context: who records which embedder counts.
        """
        self._palace, self._indexes, self._context = palace, indexes, context
        self._working = threading.Lock()
        self._turns = threading.Condition()
        self._ahead = 0
        self.closed = False

    @contextmanager
    def finished(self) -> Iterator[None]:
        """Nothing is being embedded within."""
        with self._working:
            yield

    def run(self, limit: int | None, *, retry_failed: bool, report: Report = silent) -> Run:
        """Embed what the counting index lacks, and say what came of it.

        Args:
            report: as of `fill`.

        Raises:
            Unusable, Damaged: the embedder cannot be loaded.
        """
        with self._indexes().using():
            index, embedded = self.embed(
                limit, retry_failed=retry_failed, at_once_max=AT_ONCE_MAX, report=report
            )
            with self._palace.reading() as reading:
                missing = index.missing(reading.cursor, reading.checkpoint.log_id)
                failed = index.failures(reading.cursor, missing.failed)
        lacking = len(missing.digests) + len(missing.failed)
        return Run(index.identity.short, embedded, failed, lacking)

    def embed(
        self,
        limit: int | None = None,
        *,
        retry_failed: bool = False,
        at_once_max: int = AT_ONCE,
        report: Report = silent,
    ) -> tuple[VectorIndex, int]:
        """Embed what the counting index lacks; that index, and how many texts it gained."""
        with self._indexes().using():
            index = self.take_attached() or self.first()
            gained = self.fill(
                index,
                limit,
                retry_failed=retry_failed,
                at_once_max=at_once_max,
                report=report,
            )
        return index, gained

    def fill(
        self,
        index: VectorIndex,
        limit: int | None = None,
        *,
        retry_failed: bool = False,
        position: int = EVERYTHING,
        at_once_max: int = AT_ONCE,
        report: Report = silent,
    ) -> int:
        """Embed what an index lacks up to a position; returns how many texts it gained.

        Args:
            at_once_max: how far slices grow.
            report: called with (embedded, to embed) after each slice.
        """
        self._take_attached(index)
        with self._palace.reading() as reading:
            missing = index.missing(reading.cursor, reading.checkpoint.log_id, position)
        wanted = [*missing.digests, *(missing.failed if retry_failed else ())][:limit]
        embedded, at, tidied, size = 0, 0, 0, AT_ONCE
        if wanted and not self.closed:
            # Neither this nor waiting for others says how fast texts are embedded.
            index.embedder()
        while at < len(wanted) and not self.closed:
            self._let_others_ahead()
            with self._alone(index), self._palace.reading() as reading:
                began = time.monotonic()
                done = index.embed(reading.cursor, wanted[at : at + size], lambda: self.closed)
                seconds = time.monotonic() - began
                at += done.texts
                embedded += done.embedded
                if at == len(wanted) or at - tidied >= _TIDIED_EVERY:
                    index.tidy()
                    tidied = at
            reach("texts.embedded")
            self._indexes().told(done.embedded, seconds)
            report(at, len(wanted))
            size = min(2 * size, at_once_max)
        return embedded

    def embed_first(
        self,
        index: VectorIndex,
        texts: Sequence[str],
        deadline: Deadline,
        report: Report = silent,
    ) -> None:
        """Embed some texts before all that waits, those that can be by the deadline.

        Args:
            report: called with (embedded, to embed) after some of them.

        Raises:
            Unusable: `palacelog::palace::busy`.
        """
        with self._turns:
            self._ahead += 1
        try:
            with (
                only_one(index.lock_file, round(deadline.left(), 2), "embedding"),
                self._by(deadline),
            ):
                index.embed_texts(texts, lambda: self.closed or not deadline.left(), report)
        finally:
            with self._turns:
                self._ahead -= 1
                self._turns.notify_all()

    def take_attached(self) -> VectorIndex | None:
        """The counting index, with the vectors that were given; None where none counts yet."""
        with self._palace.reading() as reading:
            index = self._indexes().counting(reading)
        if index is not None:
            self._take_attached(index)
        return index

    def first(self) -> VectorIndex:
        """Record the configured embedder as the one that counts, where none does yet."""
        chosen = self._indexes().chosen()
        # One that cannot be loaded never counts.
        chosen.embedder()

        def turn(at: Turn) -> None:
            if counting(at.known.held(EMBEDDERS, EMBEDDER)) is None:
                at.append(changed(chosen.identity, None, self._context))

        self._palace.writer.do(turn)
        with self._palace.reading() as reading:
            return self._indexes().counting(reading) or chosen

    def _take_attached(self, index: VectorIndex) -> None:
        with self._palace.reading() as reading:
            log_id = reading.checkpoint.log_id
            if index.missing_attached(reading.cursor, log_id):
                with self._alone(index):
                    index.take_attached(reading.cursor, log_id)
                self._indexes().told()

    def _let_others_ahead(self) -> None:
        with self._turns:
            self._turns.wait_for(lambda: not self._ahead)

    @contextmanager
    def _by(self, deadline: Deadline) -> Iterator[None]:
        """No other thread embeds within.

        Raises:
            Unusable: `palacelog::palace::busy`.
        """
        if not self._working.acquire(timeout=deadline.left()):
            raise Unusable(
                "palace::busy", "Other texts are being embedded.", "Try again when they are done."
            )
        try:
            yield
        finally:
            self._working.release()

    @contextmanager
    def _alone(self, index: VectorIndex) -> Iterator[None]:
        """Nobody else embeds within; waits as long as another process gets on.

        Raises:
            Unusable: `palacelog::palace::busy`.
        """
        with ExitStack() as held:
            newest, waited = index.cache.last(), 0
            while True:
                try:
                    held.enter_context(only_one(index.lock_file, 1, "embedding"))
                    break
                except Unusable:
                    before, newest = newest, index.cache.last()
                    waited = waited + 1 if newest == before else 0
                    if self.closed or waited >= LOCK_SECONDS:
                        raise
            # Last, so that no thread waits here for another process.
            held.enter_context(self._working)
            yield


def changed(identity: Identity, previous: str | None, context: Context) -> Draft:
    """The event that an embedder counts from now on."""
    payload = {
        "short": identity.short,
        "embedder": identity.as_json(),
        "previous": previous,
        "duplicate": False,
    }
    return Draft(EMBEDDER_CHANGED, payload, asked={}, context=context, stream=LOCAL)
