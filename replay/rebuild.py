"""Rebuilding: every view made again from the log, beside the one that answers meanwhile.

Protects the readers: the old generation counts until the new one has caught up; then, under the
write lock, one rename makes the switch. A rebuild that dies leaves a file that nobody looks at; the
next one removes it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from domain.errors import Damaged, Unusable
from projections.generations import Generations, sync_folder
from projections.views import Views, create
from replay.crash_points import reach
from replay.log import AT_ONCE, Log
from replay.storage_errors import in_words, storage_error
from replay.witness import check, check_identity
from replay.write_lock import WriteLock, only_one

EVENTS_PER_COMMIT: Final = 10_000
LOCK_FILE: Final = "rebuild.lock"
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    return None


@in_words()
def rebuild(
    log: Log, generations: Generations, lock: WriteLock, progress: Progress = _silent
) -> int:
    """Make a new generation and switch to it.

    Args:
        progress: called with (folded, total) now and then.

    Returns:
        The position that it has reached.

    Raises:
        Unusable: the log has lost its tail (see `replay.witness`), or another rebuild is running.
    """
    generations.folder.mkdir(mode=0o700, exist_ok=True)
    guard = generations.folder / LOCK_FILE
    with only_one(guard, lock.timeout_seconds, "a rebuild"):
        check_identity(log)
        check_witness(log, generations)
        return _rebuild(log, generations, lock, progress)


def _rebuild(log: Log, generations: Generations, lock: WriteLock, progress: Progress) -> int:
    path = generations.next()
    create(path, log.log_id, for_bulk=True)
    views = Views(path, for_bulk=True)
    try:
        fold_up_to(log, views, log.position(), progress)
        views.end_bulk()
        reach("rebuild.folded")
        with lock.held():
            fold_up_to(log, views, log.position(), progress)
            position = views.checkpoint().position
            views.move_wal("TRUNCATE")
            _sync(path)
            generations.switch(path)
        reach("rebuild.switched")
    finally:
        views.close()
    generations.prune()
    return position


def first_generation(log: Log, generations: Generations) -> None:
    """The views of a log that has no events yet."""
    path = generations.next()
    create(path, log.log_id)
    _sync(path)
    generations.switch(path)


def check_witness(log: Log, generations: Generations) -> None:
    """A lost tail must not be forgotten: the views that saw it are the only witness."""
    try:
        with closing(generations.opened(Views)) as views:
            seen = views.checkpoint()
    except (Unusable, Damaged):
        return
    except sqlite3.DatabaseError as error:
        if isinstance(storage_error(error), Damaged):
            return
        raise
    if seen.log_id == log.log_id:
        check(seen, log)


def fold_up_to(log: Log, views: Views, total: int, progress: Progress = _silent) -> None:
    """Fold what views lack of a log up to a position."""
    done = views.checkpoint().position
    while done < total:
        upto = min(done + EVENTS_PER_COMMIT, total)
        with views.writing(log) as folding:
            while done < upto:
                progress(done, total)
                folding.fold_all(log.after(done, AT_ONCE))
                done = folding.checkpoint().position
            views.commit()
    progress(total, total)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
