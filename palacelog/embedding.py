"""Embedding beside a palace: the worker that embeds what was written, and what searches ask of it.

Protects writes from models: texts are embedded outside the write lock, after they are durable. A
palace in which nothing is searched or embedded loads no model. May not rank (see
`projections.vectors`).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from domain.embedders import ATTACH_EMBEDDING, counting
from domain.errors import Damaged, PalaceError, Refused, Unusable
from domain.nearness import Comparison, ToStore
from domain.operation import Context
from palacelog.caller import Report, silent
from palacelog.embedding_work import Deadline, Embedded, Work
from palacelog.settings import VectorSettings
from projections.meaning import (
    DAMAGED,
    LAGGING,
    OTHER_EMBEDDER,
    TEXTS_FAILED,
    UNAVAILABLE,
    UNREADABLE,
    Degraded,
    Found,
    Groups,
    NearTo,
    Ranked,
    Showing,
    Wish,
)
from projections.queries.drawers import content_of
from projections.reading import Reading, Rows
from projections.sqlite import file_of
from projections.vectors import folders

if TYPE_CHECKING:
    from projections.vectors.indexes import VectorIndexes
    from projections.vectors.vector_index import Missing, VectorIndex

REINDEX: Final = "Run `palacelog reindex`; vectors are made again from the texts."

T = TypeVar("T")


class Ready(NamedTuple):
    """An index that can be asked, and why it may not know all."""

    vectors: VectorIndex
    degraded: Degraded | None


class First(NamedTuple):
    """Texts that are embedded before an index is asked, and who is told how far that has come."""

    texts: Sequence[str]
    report: Report


NOTHING_FIRST: Final = First((), silent)


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
        self._palace = palace
        self.steps = settings.steps
        self._background = background
        self._guard = threading.Lock()
        self._indexes: VectorIndexes | None = None
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._behind: dict[str, tuple[VectorIndex, int]] = {}
        self._unrecorded = False
        self.work = Work(palace, lambda: self.indexes, context)

    @property
    def indexes(self) -> VectorIndexes:
        """The indexes; what they are made with is imported by the first who asks."""
        with self._guard:
            if self.work.closed:
                raise Unusable("palace::closed", "The palace has been closed.", "Open it again.")
            if self._indexes is None:
                from projections.vectors.indexes import VectorIndexes

                self._indexes = VectorIndexes(self._folder, self._settings.embedder)
                self._indexes.wake = self._wake_for
            return self._indexes

    def written(self, tool: str) -> None:
        """Something was written that may hold texts, or vectors of one."""
        # It is durable; what cannot be done now is done when texts are embedded or searched.
        with suppress(PalaceError, sqlite3.Error, OSError):
            if self._unrecorded:
                with self.indexes.using():
                    self.work.first()
                self._unrecorded = False
            if tool == ATTACH_EMBEDDING:
                with self.indexes.using():
                    self.work.take_attached()
        if self._background:
            self.wake()

    def wake(self) -> None:
        """Have what is missing embedded."""
        with self._guard:
            if self.work.closed:
                return
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="palacelog-embedding", daemon=True
                )
                self._thread.start()
        self._wanted.set()

    def stop(self) -> None:
        """Finish the slice at hand; nothing is embedded from now on."""
        with self._guard:
            self.work.closed = True
            thread, indexes = self._thread, self._indexes
        self._wanted.set()
        if indexes is not None:
            indexes.told()
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Close the files; nobody may be reading."""
        self.stop()
        with self.work.finished():
            indexes, self._indexes = self._indexes, None
        if indexes is not None:
            indexes.close()

    def chunks(self, drawer_id: str, short: str) -> int | None:
        """How many chunks the counting embedder cuts a text into; None where there is no such text,
        or another embedder counts.

        Raises:
            Unusable, Damaged: the embedder cannot be loaded.
            Refused: `palacelog::vectors::not_cut`.
        """
        with self.indexes.using(), self._palace.reading() as reading:
            index, text = self.indexes.counting(reading), content_of(reading, drawer_id)
            if index is None or text is None or index.identity.short != short:
                return None
            embedder = index.embedder()
            try:
                return len(embedder.chunks(text))
            except Exception as error:
                raise Refused(
                    "vectors::not_cut",
                    f"{short} cannot cut the text into chunks ({type(error).__name__}: {error}).",
                    "Store the text in another form.",
                ) from error

    def hybrid(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By words and by meaning."""
        from projections.vectors.hybrid import ranked

        def rank(index: VectorIndex) -> Sequence[Found] | None:
            asking = index.asking(wish.query)
            by_words = wish.by_words()  # while the question is embedded
            question = asking()
            if not question.readable:
                return None
            return ranked(reading, index, wish, by_words, question, self.steps)

        return self._ranked(reading, rank)

    def semantic(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By meaning alone."""
        from projections.vectors.semantic import ranked

        def rank(index: VectorIndex) -> Sequence[Found] | None:
            question = index.question(wish.query)
            return ranked(reading, index, wish, question) if question.readable else None

        return self._ranked(reading, rank)

    def state(self, reading: Reading) -> list[dict[str, Any]]:
        """Every index there is, how far it has come, and which of them answers; no model and no
        index is loaded.
        """
        said = counting(reading)
        names = set(folders.short_names(self._folder)) | ({said.short} if said else set())
        count = folders.texts(reading.cursor) if names else 0
        views = file_of(reading.cursor)
        return [
            {"embedder": name, "counts": said is not None and said.short == name}
            | folders.state(self._folder / name, views, count)
            for name in sorted(names)
        ]

    def near(
        self, reading: Reading, text: str, shown: Showing, least: int, count: int
    ) -> NearTo | Degraded:
        """The drawers near to a text."""
        from projections.vectors.nearness import near

        def asked(ready: Ready) -> NearTo:
            found = near(reading, ready.vectors, text, shown, least, count)
            return NearTo(found, ready.vectors.identity.short, ready.degraded)

        return self._answered(reading, asked)

    def groups(
        self, reading: Reading, shown: Showing, least: int, before: int, count: int
    ) -> Groups | Degraded:
        """Groups of drawers near to each other."""
        from projections.vectors.grouping import walked

        def asked(ready: Ready) -> Groups:
            groups, last = walked(reading, ready.vectors, shown, least, before, count)
            return Groups(groups, last, ready.vectors.identity.short, ready.degraded)

        return self._answered(reading, asked)

    def compared(self, texts: Sequence[ToStore], least: int, report: Report = silent) -> Comparison:
        """What is near to each of some texts that are to be stored; they are embedded for it, and
        what was made of them is kept.
        """
        from projections.vectors.comparing import compare

        with self._palace.reading() as reading:

            def asked(ready: Ready) -> Comparison:
                found = compare(reading, ready.vectors, texts, least)
                if found.degraded or ready.degraded is None:
                    return found
                return found._replace(degraded=ready.degraded.reason)

            found = self._answered(reading, asked, First([one.content for one in texts], report))
            if isinstance(found, Degraded):
                return Comparison(degraded=found.reason)
            if counting(reading) is None:
                self._unrecorded = True
            return found

    def _ranked(
        self, reading: Reading, rank: Callable[[VectorIndex], Sequence[Found] | None]
    ) -> Ranked | Degraded:
        def asked(ready: Ready) -> Ranked | Degraded:
            name = ready.vectors.identity.short
            found = rank(ready.vectors)
            if found is None:
                return Degraded(UNREADABLE, 0, f"{name} does not know the words of this question.")
            return Ranked(found, name, ready.degraded)

        return self._answered(reading, asked)

    def _answered(
        self, reading: Reading, ask: Callable[[Ready], T], first: First = NOTHING_FIRST
    ) -> T | Degraded:
        """What is asked of the index, or why it cannot be.

        Args:
            first: what it needs before.
        """
        try:
            with self.indexes.using():
                ready = self._ready(reading, first)
                answer = ask(ready)
            now = counting(Rows(reading.cursor))
            if now is not None and now.short == ready.vectors.identity.short:
                self.indexes.let_go(now.short)
            return answer
        except (PalaceError, sqlite3.Error, OSError) as error:
            return _trouble(error)

    def _ready(self, reading: Reading, first: First) -> Ready:
        """The index that answers at a reading's moment; where that is gone or damaged, the index
        of now.
        """
        index = None
        try:
            index = self.indexes.answering(reading)
            return self._complete(index, reading, first)
        except (PalaceError, sqlite3.DatabaseError) as error:
            passing = not isinstance(error, PalaceError) and not folders.is_damage(error)
            now = self.indexes.counting(reading)
            if passing or now is None or now is index:
                raise
            return self._complete(now, reading, first)

    def _complete(self, index: VectorIndex, reading: Reading, first: First) -> Ready:
        """An index, its embedder loaded, once it has all texts of a reading's moment, or as far as
        it has come by the deadline.
        """
        index.embedder()
        deadline = Deadline(self._settings.wait_seconds)
        if first.texts:
            self.work.embed_first(index, first.texts, deadline, first.report)
        missing = self.indexes.wait(index, reading, deadline.left())
        index.flat.catch_up()
        return Ready(index, _lacking(missing))

    def _wake_for(self, index: VectorIndex, position: int) -> None:
        """Have embedded what an index lacks up to a position."""
        with self._guard:
            self._behind[index.identity.short] = index, position
        self.wake()

    def _run(self) -> None:
        while not self.work.closed:
            self._wanted.wait()
            self._wanted.clear()
            with self._guard:
                behind = list(self._behind.values())
                self._behind.clear()
            # What fails here fails again, and is said, where somebody asks.
            with suppress(Exception):
                self.work.embed()
            for index, position in behind:
                with suppress(Exception), self.indexes.using():
                    self.work.fill(index, position=position)


def _lacking(missing: Missing) -> Degraded | None:
    """Why an index may not know all. A text that nobody can embed is no reason to wait."""
    if missing.digests:
        help = "Ask again, or run `palacelog embed`."
        return Degraded(LAGGING, len(missing.digests), help)
    if missing.failed:
        count = len(missing.failed)
        help = (
            f"{count} {'text' if count == 1 else 'texts'} could not be embedded, and can only be"
            " found by words; `palacelog embed` says which and tries again."
        )
        return Degraded(TEXTS_FAILED, 0, help)
    return None


def _trouble(error: PalaceError | sqlite3.Error | OSError) -> Degraded:
    """Why the vectors cannot be asked."""
    if isinstance(error, PalaceError):
        return Degraded(_reason(error), 0, f"{error.message} {error.help}")
    if folders.is_damage(error):
        return Degraded(DAMAGED, 0, f"The vectors are damaged: {error}. {REINDEX}")
    return Degraded(UNAVAILABLE, 0, f"The vectors cannot be read: {error}.")


def _reason(error: PalaceError) -> str:
    if error.code.endswith("::other_embedder"):
        return OTHER_EMBEDDER
    return DAMAGED if isinstance(error, Damaged) else UNAVAILABLE
