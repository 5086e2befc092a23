"""Embedding beside a palace: the worker that embeds what was written, and what searches ask of it.

Protects writes from models: texts are embedded outside the write lock, after they are durable. A
palace in which nothing is searched or embedded loads no model. May not rank (see
`projections.vectors`).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from domain.embedders import EMBEDDER_CHANGED, EMBEDDERS, counting
from domain.errors import PalaceError
from domain.nearness import Comparison, ToStore
from domain.operation import Context, Draft
from domain.travel import LOCAL
from palacelog.settings import VectorSettings
from projections.meaning import (
    LAGGING,
    UNAVAILABLE,
    UNREADABLE,
    Degraded,
    Groups,
    NearTo,
    Ranked,
    Showing,
    Steps,
    Wish,
)
from projections.reading import Reading
from replay.write_lock import only_one
from replay.writer import Turn, Writer

if TYPE_CHECKING:
    from projections.vectors.embedder import Identity
    from projections.vectors.indexes import VectorIndexes
    from projections.vectors.vector_index import VectorIndex

NO_EMBEDDER: Final = "none"
LOCK_SECONDS: Final = 60.0
AT_ONCE: Final = 32


class Embedded(Protocol):
    """What embedding needs of a palace."""

    @property
    def writer(self) -> Writer:
        """What records which embedder counts."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """A snapshot with the texts."""
        ...


class Ready(NamedTuple):
    """An index that can be asked, and why it may not know all."""

    vectors: VectorIndex
    degraded: Degraded | None


class Embedding:
    """The vector indexes of an open palace, and the thread that keeps them up."""

    def __init__(
        self,
        folder: Path,
        settings: VectorSettings,
        palace: Embedded,
        *,
        background: bool,
        context: Context,
    ) -> None:
        """Start nothing yet.

        Args:
            background: embed what was written right away, not when it is searched for.
            context: who records which embedder counts.
        """
        self._folder, self._settings = folder, settings
        self._palace, self._context = palace, context
        self.steps = Steps(**settings.steps.model_dump())
        self._background = background
        self._guard = threading.Lock()
        self._indexes: VectorIndexes | None = None
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._closed = False
        self._turns = threading.Condition()
        self._ahead = 0
        self._unrecorded = False

    @property
    def indexes(self) -> VectorIndexes:
        """The indexes; what they are made with is imported by the first who asks."""
        with self._guard:
            if self._indexes is None:
                from projections.vectors.indexes import VectorIndexes

                chosen, wait = self._settings.embedder, self._settings.wait_seconds
                self._indexes = VectorIndexes(self._folder, chosen, wait)
                self._indexes.wake = self.wake
            return self._indexes

    def written(self) -> None:
        """Something was written that may hold texts."""
        if self._unrecorded:
            self._first()
            self._unrecorded = False
        if self._background:
            self.wake()

    def wake(self) -> None:
        """Have what is missing embedded."""
        with self._guard:
            if self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="palacelog-embedding", daemon=True
                )
                self._thread.start()
        self._wanted.set()

    def close(self) -> None:
        """Finish the slice at hand, save what grew, close the files."""
        with self._guard:
            self._closed = True
            thread, indexes = self._thread, self._indexes
        self._wanted.set()
        if thread is not None:
            thread.join()
        if indexes is not None:
            indexes.close()

    def hybrid(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By words and by meaning."""
        from projections.vectors.hybrid import ranked

        return self._ranked(reading, wish, partial(ranked, steps=self.steps))

    def semantic(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By meaning alone."""
        from projections.vectors.semantic import ranked

        return self._ranked(reading, wish, ranked)

    def state(self, reading: Reading) -> list[dict[str, Any]]:
        """Every index there is, how far it has come, and which of them answers."""
        raise NotImplementedError

    def near(
        self, reading: Reading, text: str, shown: Showing, least: int, count: int
    ) -> NearTo | Degraded:
        """The drawers near to a text."""
        from projections.vectors.nearness import near

        ready = self._ready(reading)
        if isinstance(ready, Degraded):
            return ready
        found = near(reading, ready.vectors, text, shown, least, count)
        return NearTo(found, ready.vectors.identity.short, ready.degraded)

    def groups(
        self, reading: Reading, shown: Showing, least: int, before: int, count: int
    ) -> Groups | Degraded:
        """Groups of drawers near to each other."""
        from projections.vectors.grouping import walked

        ready = self._ready(reading)
        if isinstance(ready, Degraded):
            return ready
        groups, last = walked(reading, ready.vectors, shown, least, before, count)
        return Groups(groups, last, ready.vectors.identity.short, ready.degraded)

    def compared(self, texts: Sequence[ToStore], least: int) -> Comparison:
        """What is near to each of some texts that are to be stored; they are embedded for it, and
        what was made of them is kept.
        """
        from projections.vectors.comparing import compare

        with self._palace.reading() as reading:
            ready = self._ready(reading, [one.content for one in texts])
            if isinstance(ready, Degraded):
                return Comparison(degraded=ready.reason)
            if counting(reading) is None:
                self._unrecorded = True
            lag = 0 if ready.degraded is None else ready.degraded.lag
            return compare(reading, ready.vectors, texts, least, lag)

    def _ranked(self, reading: Reading, wish: Wish, rank: Callable[..., Any]) -> Ranked | Degraded:
        ready = self._ready(reading)
        if isinstance(ready, Degraded):
            return ready
        index, degraded = ready
        question = index.question(wish.query)
        if not question.readable:
            return Degraded(
                UNREADABLE, 0, f"{index.identity.short} does not know the words of this question."
            )
        return Ranked(rank(reading, index, wish, question), index.identity.short, degraded)

    def _ready(self, reading: Reading, texts: Sequence[str] = ()) -> Ready | Degraded:
        """The counting index once it has all texts, or as far as it has come by the deadline.

        Args:
            texts: others that it needs first.
        """
        try:
            index = self.indexes.counting(reading) or self.indexes.chosen()
            index.embedder()
            if texts:
                self._embed_first(index, texts)
            missing = self.indexes.wait(index, reading.cursor, reading.checkpoint.log_id)
            index.flat.catch_up()
        except PalaceError as error:
            return Degraded(UNAVAILABLE, 0, f"{error.message} {error.help}")
        except (sqlite3.Error, OSError) as error:
            return Degraded(UNAVAILABLE, 0, f"The vectors cannot be read: {error}.")
        lag = len(missing.digests) + len(missing.failed)
        help = "Ask again, or run `palacelog embed`."
        return Ready(index, Degraded(LAGGING, lag, help) if lag else None)

    def _embed_first(self, index: VectorIndex, texts: Sequence[str]) -> None:
        """Embed some texts before all that waits."""
        with self._turns:
            self._ahead += 1
        try:
            with only_one(index.lock_file, self._settings.wait_seconds, "embedding"):
                index.embed_texts(texts)
        finally:
            with self._turns:
                self._ahead -= 1
                self._turns.notify_all()

    def _run(self) -> None:
        while not self._closed:
            self._wanted.wait()
            self._wanted.clear()
            # What fails here fails again, and is said, where somebody asks.
            with suppress(PalaceError, sqlite3.Error, OSError):
                self.embed_missing(lambda: self._closed)

    def embed_missing(self, stop: Callable[[], bool], limit: int | None = None) -> VectorIndex:
        """Embed what the counting index lacks, until nothing is missing or told to stop."""
        with self._palace.reading() as reading:
            index = self.indexes.counting(reading)
        if index is None:
            index = self._first()
        while not stop():
            with self._turns:
                self._turns.wait_for(lambda: not self._ahead)
            with (
                only_one(index.lock_file, LOCK_SECONDS, "embedding"),
                self._palace.reading() as reading,
            ):
                missing = index.missing(reading.cursor, reading.checkpoint.log_id).digests
                index.embed(reading.cursor, missing[:AT_ONCE], stop)
                if len(missing) <= AT_ONCE:
                    index.tidy()
            self.indexes.told()
            if len(missing) <= AT_ONCE:
                break
        return index

    def _first(self) -> VectorIndex:
        """Record the configured embedder as the one that counts, where none does yet."""
        chosen = self.indexes.chosen()

        def turn(at: Turn) -> None:
            if counting(at.known.held(EMBEDDERS, "embedder")) is None:
                at.append(changed(chosen.identity, None, self._context))

        self._palace.writer.do(turn)
        with self._palace.reading() as reading:
            return self.indexes.counting(reading) or chosen


def changed(identity: Identity, previous: str | None, context: Context) -> Draft:
    """The event that an embedder counts from now on."""
    payload = {
        "short": identity.short,
        "embedder": identity.as_json(),
        "previous": previous,
        "duplicate": False,
    }
    return Draft(EMBEDDER_CHANGED, payload, asked={}, context=context, stream=LOCAL)
