"""What `doctor` looks at in the vectors: each index, and what lies beside them.

Protects search by meaning: a cache or saved index that was altered, and an embedder that is no
longer what it was, are named before somebody asks. Changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from domain.embedders import Embedding, counting, identity_told, short_of
from domain.errors import Damaged, PalaceError
from palacelog.checking import Check, checked, failed
from palacelog.folder import PalaceFolder
from palacelog.settings import EMBEDDER_NONE
from projections.generations import Generations
from projections.reading import Rows
from projections.sqlite import connect
from projections.vectors import folders

NAME: Final = "vectors"
CURE: Final = "Run `palacelog reindex`; vectors are made again from the texts."


class _Seen(NamedTuple):
    """What the views say: how many texts there are, and which embedder counts."""

    views: Path
    texts: int
    counts: Embedding | None


def vector_checks(folder: PalaceFolder, configured: str) -> Iterator[Check]:
    """The checks of a palace's vectors; none where it has none.

    Args:
        configured: the setting `vectors.embedder`.
    """
    if not folder.views.is_dir():
        return
    try:
        seen = _seen(folder)
    except (PalaceError, sqlite3.Error):
        return  # of views that cannot be read another check tells
    short = None if seen.counts is None else seen.counts.short
    names = folders.short_names(folder.vectors)
    for name in names:
        yield _index(folder.vectors / name, seen, counts=name == short)
        yield from _saved(folder.vectors / name)
        if name != short:
            yield from _gone(folder.vectors / name)
    if seen.counts is not None and (short in names or configured != EMBEDDER_NONE):
        yield _embedder(folder.vectors, seen.counts, configured)
    if folder.vectors.is_dir():
        yield from _strange(folder.vectors)


def _seen(folder: PalaceFolder) -> _Seen:
    path = Generations(folder.views).current()
    with closing(connect(path, synchronous="NORMAL", read_only=True)) as connection:
        cursor = connection.cursor()
        return _Seen(path, folders.texts(cursor), counting(Rows(cursor)))


def _index(folder: Path, seen: _Seen, *, counts: bool) -> Check:
    """The cache: whole, of the embedder that its folder is named by, and how far it has come."""
    found = folders.Coverage(0, 0, 0, 0)
    try:
        fault = _fault(folder)
        if fault is None:
            found = folders.coverage(folder / folders.CACHE_FILE, seen.views, seen.texts)
    except (sqlite3.Error, OSError) as error:
        fault = f"cannot be read ({error})"
    if fault is not None:
        return _faulty(f"The cache of {folder.name} {fault}.", counts=counts)
    message = f"{folder.name}: {found.embedded} of {found.texts} texts"
    if not counts:
        return Check(NAME, "ok", f"{message}; searches do not go by it")
    if found.failed:
        cure = "`palacelog reindex` tries them again and names them."
        return Check(NAME, "warn", f"{message}, {found.failed} could not be embedded", cure)
    return Check(NAME, "ok", f"{message}, {found.missing} not embedded yet")


def _fault(folder: Path) -> str | None:
    identity = folders.identity_in(folders.read_about(folder / folders.CACHE_FILE))
    if identity is None or short_of(identity) != folder.name:
        return "does not say that it is of that embedder"
    return folders.fault_in(folder / folders.CACHE_FILE)


def _faulty(message: str, *, counts: bool) -> Check:
    if counts:
        return failed(NAME, Damaged("vectors::cache", message, CURE))
    return Check(NAME, "warn", message, "`palacelog reindex --prune` removes it.")


def _saved(folder: Path) -> Iterator[Check]:
    path = folder / folders.INDEX_FILE
    if path.exists() and folders.saved_index(path) is None:
        cure = "Nothing need be done: it is made again from the cache."
        yield Check(NAME, "warn", f"the saved index of {folder.name} is damaged", cure)


def _embedder(folder: Path, counts: Embedding, configured: str) -> Check:
    """Whether the embedder that counts can be loaded and is still the one it was."""

    def look() -> str:
        from projections.vectors.embedder import Identity
        from projections.vectors.failing import other_files
        from projections.vectors.indexes import VectorIndexes
        from projections.vectors.models import load

        source = VectorIndexes(folder, configured).source_of(Identity(**identity_told(counts)))
        with closing(load(source)) as embedder:
            if embedder.identity.short != counts.short:
                raise other_files(counts.short, embedder.identity.short)
        return f"searches go by {counts.short}, and its files are what they were"

    check = checked("embedder", look)
    if check.failure is not None and check.failure.code.endswith("::place_unknown"):
        return check._replace(state="warn", failure=None)
    return check


def _gone(folder: Path) -> Iterator[Check]:
    """A word about an embedder of one's own that counted once and whose folder is gone."""
    from projections.vectors.models import PACKAGED

    source = folders.read_about(folder / folders.CACHE_FILE).get("source")
    if source is not None and source not in PACKAGED and not Path(source).is_dir():
        message = f"the folder of {folder.name} is gone: {source}"
        cure = (
            "Put it back for searches as of the moments when it counted, or remove its vectors:"
            " `palacelog reindex --prune`."
        )
        yield Check("embedder", "warn", message, cure)


def _strange(folder: Path) -> Iterator[Check]:
    known = set(folders.short_names(folder)) | set(folders.leftovers(folder))
    found = sorted(one.name for one in folder.iterdir() if one.name not in known)
    strange = [name for name in found if not name.endswith(".lock")]
    if strange:
        cure = "Remove it, if nobody put it there on purpose."
        yield Check(NAME, "warn", f"{', '.join(strange)}: not the vectors of an embedder", cure)
    left = folders.leftovers(folder)
    if left:
        cure = "`palacelog reindex --prune` removes it."
        yield Check(NAME, "warn", f"{', '.join(left)}: removed half", cure)
