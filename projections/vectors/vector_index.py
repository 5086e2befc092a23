"""The vector index of one embedder over the texts of a palace: embedding what is missing, and
finding what is near.

Protects completeness: how many texts it lacks is known before every answer, and a text that cannot
be embedded is named with its reason, never passed over. Work is kept in small slices, each of which
is durable, so that a kill costs one slice and no text is embedded twice.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, func, select

from projections import tables
from projections.sqlite import digest_of
from projections.tables import STILL_BELIEVED, Prepared
from projections.vectors import attached
from projections.vectors.cache import Cache
from projections.vectors.embedder import Chunk, Embedder, Identity, Passage, Question
from projections.vectors.failing import (
    OF_NO_TEXT,
    cannot_go_on,
    failures_told,
    other_files,
    passes,
)
from projections.vectors.flat import FlatIndex
from projections.vectors.folders import LOCK_FILE

SLICE_CHUNKS: Final = 512
"""When a slice has so many it is full, and so many are embedded between two looks at whether to
stop: a few seconds' worth.
"""
UNSAVED_MIN: Final = 1_000
UNSAVED_PART: Final = 10
_SCANNED: Final = 4_096
_QUESTIONS_KEPT: Final = 64
_ASKERS: Final = 2
_WAITED_FOR: Final = 16
"""Texts in a slice that somebody waits for."""
_REASON_MAX: Final = 500

_B: Any = bindparam
_numbered, _texts = tables.numbered, tables.texts
_AFTER = Prepared(
    select(_numbered.c.number, _numbered.c.digest, _numbered.c.position)
    .where(_numbered.c.number > _B("number"), _numbered.c.position <= _B("position"))
    .order_by(_numbered.c.number)
    .limit(_B("limit"))
)
_CONTENT = Prepared(
    select(_texts.c.drawer_id, _texts.c.content)
    .select_from(_numbered.join(_texts, _texts.c.drawer_id == _numbered.c.drawer_id))
    .where(_numbered.c.digest == _B("digest"))
    .limit(1)
)
_HOLDS = Prepared(select(_texts.c.drawer_id).where(_texts.c.drawer_id == _B("drawer_id")))
_COUNT = Prepared(select(func.count(func.distinct(_numbered.c.digest))))

Report = Callable[[int, int], None]
Stop = Callable[[], bool]


class Failed(NamedTuple):
    """A text that the embedder could not take."""

    drawer_id: str
    reason: str


class Slice(NamedTuple):
    """What came of a slice.

    Attributes:
        texts: how many of those named, from the first on, were looked at.
        embedded: how many of them have vectors now that had none.
    """

    texts: int
    embedded: int


class Missing(NamedTuple):
    """What an index lacks of a palace's texts.

    Attributes:
        digests: of texts that nobody tried, in the order in which they arrived; first those whose
            vectors were given and wait to be taken in.
        failed: digests of those that could not be embedded.
    """

    digests: Sequence[bytes]
    failed: Sequence[bytes]


class _Cut(NamedTuple):
    """A text, cut."""

    digest: bytes
    chunks: Sequence[Chunk]


class _Tried(NamedTuple):
    """How far texts were looked at, all of them either held or failed.

    Attributes:
        retired: see `Cache.retired`.
        number: of the last of them.
        failed: the position of each that failed; they are looked at again.
    """

    log_id: str
    retired: int
    number: int
    failed: Mapping[bytes, int]


class VectorIndex:
    """One embedder's vectors of a palace. Safe to use from any number of threads."""

    def __init__(
        self, folder: Path, identity: Identity, source: str, load: Callable[[], Embedder]
    ) -> None:
        """Open its files; the embedder is loaded when the first text or question comes.

        Args:
            source: what the embedder was named by when it was chosen.
        """
        self.identity = identity
        with ExitStack() as opened:
            self.cache = opened.enter_context(closing(Cache(folder, identity, source)))
            self.flat = FlatIndex(self.cache)
            opened.pop_all()
        self._load = load
        self._embedder: Embedder | None = None
        self._loading = threading.Lock()
        self._tried = _Tried("", 0, 0, {})
        self._taken: tuple[str, attached.Marks] | None = None
        self._askers = ThreadPoolExecutor(_ASKERS, "palacelog-question")
        self._asked = lru_cache(_QUESTIONS_KEPT)(lambda text: self.embedder().question(text))

    @property
    def lock_file(self) -> Path:
        """Who holds it embeds; nobody else may add to the cache."""
        return self.cache.folder / LOCK_FILE

    def close(self) -> None:
        """Close the files and let the embedder go."""
        self._askers.shutdown(wait=True, cancel_futures=True)
        with self._loading:
            if self._embedder is not None:
                self._embedder.close()
            self.cache.close()

    def embedder(self) -> Embedder:
        """The embedder, loaded.

        Raises:
            Unusable, Damaged: its files are missing, or are others than those of the identity.
        """
        with self._loading:
            if self._embedder is None:
                with failures_told(self.identity.short):
                    loaded = self._load()
                if loaded.identity != self.identity:
                    loaded.close()
                    raise other_files(self.identity.short, loaded.identity.short)
                self._embedder = loaded
            return self._embedder

    def question(self, text: str) -> Question:
        """What the embedder makes of a question; the last few are remembered.

        Raises:
            Unusable: `palacelog::vectors::embedder_failed`.
        """
        with failures_told(self.identity.short):
            return self._asked(text)

    def asking(self, text: str) -> Callable[[], Question]:
        """Begin to embed a question beside what the caller does; what is returned waits for it."""
        return self._askers.submit(self.question, text).result

    def missing(
        self, cursor: sqlite3.Cursor, log_id: str, position: int = STILL_BELIEVED - 1
    ) -> Missing:
        """What it lacks of the texts that a snapshot of the views holds, up to a position."""
        due, retired = self._due(cursor, log_id), self.cache.retired()
        tried = self._tried
        if tried[:2] != (log_id, retired):
            tried = _Tried(log_id, retired, 0, {})
        lacking = {one: tried.failed[one] for one in self.cache.missing(list(tried.failed))}
        failed = set(self.cache.failures(list(lacking)))
        number = tried.number
        while rows := _AFTER(cursor, number=number, position=position, limit=_SCANNED).fetchall():
            first: dict[bytes, int] = {}
            for _, digest, at in rows:
                first.setdefault(digest, at)
            new = [one for one in self.cache.missing(list(first)) if one not in lacking]
            lacking |= {one: first[one] for one in new}
            failed |= self.cache.failures(new).keys()
            number = rows[-1][0]
            if len(failed) == len(lacking):
                self._tried = _Tried(log_id, retired, number, dict(lacking))
        known = [one for one, at in lacking.items() if at <= position]
        wanted = dict.fromkeys([*due, *(one for one in known if one not in failed)])
        return Missing(list(wanted), [one for one in known if one in failed and one not in wanted])

    def missing_attached(self, cursor: sqlite3.Cursor, log_id: str) -> bool:
        """Whether vectors were given, or taken back, that the cache has not heard of."""
        return bool(self._due(cursor, log_id))

    def take_attached(self, cursor: sqlite3.Cursor, log_id: str) -> None:
        """Take in the vectors that were given; under the lock of `lock_file`."""
        wanted = attached.wanted(cursor, self.identity.short)
        for digest in self._due(cursor, log_id):
            op_id = wanted.get(digest)
            if op_id is None:
                self.cache.detach(digest)
            else:
                short, dimension = self.identity.short, self.identity.dimension
                given = attached.given(cursor, short, digest, op_id, dimension)
                self.cache.attach(digest, op_id, given)

    def embed(self, cursor: sqlite3.Cursor, digests: Sequence[bytes], stop: Stop) -> Slice:
        """Embed a slice of texts, the first of those named, unless told to stop; under the lock of
        `lock_file`. What others embedded is left; what failed is in `failures`.
        """

        def content(digest: bytes) -> str | None:
            row = _CONTENT(cursor, digest=digest).fetchone()
            return None if row is None else row[1]

        return self._embed(digests, content, stop)

    def embed_texts(self, texts: Sequence[str], stop: Stop, report: Report) -> None:
        """Embed texts that are not stored yet, until done or told to stop; under the lock of
        `lock_file`. Reports (embedded, to embed).
        """
        by_digest = {digest_of(text): text for text in texts}
        missing = self.cache.missing(list(by_digest))
        at = 0
        while at < len(missing) and not stop():
            at += self._embed(missing[at : at + _WAITED_FOR], by_digest.get, stop).texts
            report(at, len(missing))

    def passages(self, text: str) -> Sequence[Passage]:
        """What the embedder makes of a text, chunk by chunk; nothing of it is kept.

        Raises:
            Unusable: `palacelog::vectors::embedder_failed`.
        """
        held = self.cache.passages([digest_of(text)])
        if held:
            [found] = held.values()
            return found
        with failures_told(self.identity.short):
            made = self._made([self.embedder().chunks(text)], lambda: False)
        return made[0] if made else []

    def failures(self, cursor: sqlite3.Cursor, digests: Sequence[bytes]) -> list[Failed]:
        """The texts among these that could not be embedded."""
        found = []
        for digest, reason in self.cache.failures(digests).items():
            rows = _CONTENT(cursor, digest=digest).fetchall()
            found += [Failed(drawer_id, reason) for drawer_id, _ in rows]
        return sorted(found)

    def texts(self, cursor: sqlite3.Cursor) -> int:
        """How many different texts a snapshot of the views holds."""
        [(count,)] = _COUNT(cursor).fetchall()
        return int(count)

    def holds(self, cursor: sqlite3.Cursor, drawer_id: str) -> bool:
        """Whether a snapshot of the views holds the text of a drawer."""
        return _HOLDS(cursor, drawer_id=drawer_id).fetchone() is not None

    def tidy(self) -> None:
        """Take in what was embedded, save the index where it grew much; under the lock."""
        self.flat.catch_up()
        self.cache.move_wal()
        if self.flat.unsaved() > max(UNSAVED_MIN, len(self.flat) // UNSAVED_PART):
            self.flat.save()

    def _due(self, cursor: sqlite3.Cursor, log_id: str) -> list[bytes]:
        """The texts of which the cache does not hold what the log says was given."""
        marks = log_id, attached.marks(cursor)
        if marks == self._taken:
            return []
        wanted, held = attached.wanted(cursor, self.identity.short), self.cache.attached()
        due = [one for one in held | wanted if held.get(one) != wanted.get(one)]
        if not due:
            self._taken = marks
        return due

    def _embed(
        self, digests: Sequence[bytes], content: Callable[[bytes], str | None], stop: Stop
    ) -> Slice:
        missing = set(self.cache.missing(digests))
        some: list[_Cut] = []
        looked_at = size = 0
        for digest in digests:
            if size >= SLICE_CHUNKS or stop():
                break
            looked_at += 1
            text = content(digest) if digest in missing else None
            chunks = () if text is None else self._chunks(digest, text)
            if chunks:
                some.append(_Cut(digest, chunks))
                size += len(chunks)
        if some:
            self._embed_slice(some, stop)
        left = self.cache.missing([one.digest for one in some])
        return Slice(looked_at, len(some) - len(left))

    def _chunks(self, digest: bytes, text: str) -> Sequence[Chunk]:
        """A text cut; nothing where it cannot be, which is noted."""
        try:
            return self.embedder().chunks(text)
        except OF_NO_TEXT:
            raise
        except Exception as error:
            if passes(error):
                raise cannot_go_on(self.identity.short, error) from error
            self._not_embedded(digest, error)
            return ()

    def _embed_slice(self, texts: Sequence[_Cut], stop: Stop) -> None:
        try:
            made = self._made([one.chunks for one in texts], stop)
        except OF_NO_TEXT:
            raise
        except Exception as error:
            if passes(error):
                raise cannot_go_on(self.identity.short, error) from error
            if len(texts) == 1:
                self._not_embedded(texts[0].digest, error)
            else:
                for one in texts:
                    self._embed_slice([one], stop)
        else:
            if made is not None:
                self.cache.store(zip([one.digest for one in texts], made, strict=True))

    def _not_embedded(self, digest: bytes, error: Exception) -> None:
        self.cache.failed(digest, f"{type(error).__name__}: {error}"[:_REASON_MAX])

    def _made(self, texts: Sequence[Sequence[Chunk]], stop: Stop) -> list[list[Passage]] | None:
        """What the embedder makes of cut texts; None where it was told to stop."""
        embedder = self.embedder()
        chunks = [(place, one) for place, own in enumerate(texts) for one in own]
        made: list[list[Passage]] = [[] for _ in texts]
        for at in range(0, len(chunks), SLICE_CHUNKS):
            if stop():
                return None
            some = chunks[at : at + SLICE_CHUNKS]
            passages = sorted(embedder.passages([one for _, one in some]), key=lambda one: one[0])
            for (place, _), (_, passage) in zip(some, passages, strict=True):
                made[place].append(passage)
        return made
