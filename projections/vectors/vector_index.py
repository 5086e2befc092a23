"""The vector index of one embedder over the texts of a palace: embedding what is missing, and
finding what is near.

Protects completeness: how many texts it lacks is known before every answer, and a text that cannot
be embedded is named with its reason, never passed over. Work is kept in small slices, each of which
is durable, so that a kill costs one slice and no text is embedded twice.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, func, select

from domain.errors import Damaged, PalaceError, Unusable
from projections import tables
from projections.sqlite import digest_of
from projections.tables import STILL_BELIEVED, Prepared
from projections.vectors import attached
from projections.vectors.cache import Cache
from projections.vectors.embedder import Embedder, Identity, Passage, Question
from projections.vectors.flat import FlatIndex
from projections.vectors.folders import LOCK_FILE

SLICE_TEXTS: Final = 256
UNSAVED_MIN: Final = 1_000
UNSAVED_PART: Final = 10
_SCANNED: Final = 4_096
_QUESTIONS_KEPT: Final = 64
_ASKERS: Final = 2
_WAITED_FOR: Final = 16
"""Texts in a slice that somebody waits for."""
_REASON_MAX: Final = 500
_SHUT: Final = "cannot schedule new futures after"
"""What threads say that take no more work, as the process ends."""

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


class Missing(NamedTuple):
    """What an index lacks of a palace's texts.

    Attributes:
        digests: of texts that nobody tried, in the order in which they arrived; first those whose
            vectors were given and wait to be taken in.
        failed: digests of those that could not be embedded.
    """

    digests: Sequence[bytes]
    failed: Sequence[bytes]


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
                loaded = self._load()
                if loaded.identity != self.identity:
                    loaded.close()
                    raise other_files(self.identity.short, loaded.identity.short)
                self._embedder = loaded
            return self._embedder

    def question(self, text: str) -> Question:
        """What the embedder makes of a question; the last few are remembered."""
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
            first = {digest: at for _, digest, at in reversed(rows)}
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

    def embed(self, cursor: sqlite3.Cursor, digests: Sequence[bytes], stop: Stop) -> int:
        """Embed texts, slice by slice, until done or told to stop; under the lock of `lock_file`.

        Returns:
            How many texts were embedded; those that failed are in `failures`.
        """
        done = 0
        for some in self._slices(cursor, digests):
            if stop():
                break
            self._embed_slice(some)
            done += len(some) - len(self.cache.missing([digest for digest, _ in some]))
        return done

    def embed_texts(self, texts: Sequence[str], stop: Stop, report: Report) -> None:
        """Embed texts that are not stored yet, until done or told to stop; under the lock of
        `lock_file`. Reports (embedded, to embed).
        """
        by_digest = {digest_of(text): text for text in texts}
        missing = self.cache.missing(list(by_digest))
        for at in range(0, len(missing), _WAITED_FOR):
            if stop():
                break
            some = missing[at : at + _WAITED_FOR]
            self._embed_slice([(digest, by_digest[digest]) for digest in some])
            report(at + len(some), len(missing))

    def passages(self, text: str) -> Sequence[Passage]:
        """What the embedder makes of a text, chunk by chunk; nothing of it is kept."""
        held = self.cache.passages([digest_of(text)])
        if held:
            [found] = held.values()
            return found
        [(_, made)] = self._made([(b"", text)])
        return list(made)

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

    def _slices(
        self, cursor: sqlite3.Cursor, digests: Sequence[bytes]
    ) -> Iterator[list[tuple[bytes, str]]]:
        """The texts with their digests, a slice's worth at a time; what others embedded is left."""
        for at in range(0, len(digests), SLICE_TEXTS):
            some = self.cache.missing(digests[at : at + SLICE_TEXTS])
            rows = [(digest, _CONTENT(cursor, digest=digest).fetchone()) for digest in some]
            texts = [(digest, row[1]) for digest, row in rows if row is not None]
            if texts:
                yield texts

    def _embed_slice(self, texts: Sequence[tuple[bytes, str]]) -> None:
        try:
            self.cache.store(self._made(texts))
        except Exception as error:
            if isinstance(error, PalaceError | sqlite3.Error | OSError):
                # The fault is not a text's.
                raise
            if isinstance(error, MemoryError) or str(error).startswith(_SHUT):
                raise self._failing(error) from error
            if len(texts) > 1:
                for one in texts:
                    self._embed_slice([one])
            else:
                reason = f"{type(error).__name__}: {error}"
                self.cache.failed(texts[0][0], reason[:_REASON_MAX])

    def _failing(self, error: Exception) -> Unusable:
        return Unusable(
            "vectors::embedder_failed",
            f"{self.identity.short} cannot go on now ({type(error).__name__}: {error}).",
            "Run `palacelog embed` when there is more memory; what was embedded is kept.",
        )

    def _made(
        self, texts: Sequence[tuple[bytes, str]]
    ) -> Iterator[tuple[bytes, Sequence[Passage]]]:
        embedder = self.embedder()
        chunks = [
            (place, one) for place, (_, text) in enumerate(texts) for one in embedder.chunks(text)
        ]
        made: list[list[Passage]] = [[] for _ in texts]
        passages = sorted(embedder.passages([one for _, one in chunks]), key=lambda one: one[0])
        for (place, _), (_, passage) in zip(chunks, passages, strict=True):
            made[place].append(passage)
        for (digest, _), own in zip(texts, made, strict=True):
            yield digest, own


def other_files(wanted: str, found: str) -> Damaged:
    """The error for an embedder whose files were replaced by another's, by their short forms."""
    return Damaged(
        "vectors::other_embedder",
        f"The index was made by {wanted}; under that name there is now {found}.",
        "Run `palacelog reindex` to change to the embedder that is there, or put the old files"
        " back.",
    )
