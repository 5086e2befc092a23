"""Verifying: a palace's log and views read again, and compared with all that ties them together.

Protects promise 7: after a flipped bit either every event reads the same, or the first bad position
or the lost range is named. Looks at the files themselves, so that it also works where a palace
cannot be opened. May not repair anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from domain.errors import Damaged, PalaceError
from projections.digests import contents
from projections.generations import Generations
from projections.sqlite import connect, snapshot
from projections.views import Checkpoint, Views, create, read_checkpoint
from replay.log import About, Log
from replay.scan import Finding, Progress, scan

__all__ = ["Finding", "Progress", "Report", "verify"]

FINDINGS_MAX: Final = 100


class Report(NamedTuple):
    """What a verification found; sound where there are no findings."""

    events: int
    findings: list[Finding]

    @property
    def first_bad(self) -> int | None:
        """The lowest position that a finding names."""
        return min(
            (one.position for one in self.findings if one.position is not None), default=None
        )


def verify(
    log_path: Path, views_folder: Path, progress: Progress = lambda done, total: None
) -> Report:
    """Verify a palace's log and views.

    Args:
        progress: called with (events read, events there should be).
    """
    about, findings = _about(log_path)
    witness, in_views = _witness(views_folder, about)
    events, in_log = _verify_log(log_path, witness, progress)
    findings += in_log + in_views
    if not findings:
        findings += _compare_with_rebuild(log_path, views_folder)
    return Report(events, findings[:FINDINGS_MAX])


def _about(log_path: Path) -> tuple[About | None, list[Finding]]:
    try:
        with closing(Log(log_path)) as log:
            return log.about, []
    except (PalaceError, sqlite3.DatabaseError) as error:
        return None, [_of_file("log::about", f"the log cannot be opened: {error}")]


def _witness(views_folder: Path, about: About | None) -> tuple[Checkpoint | None, list[Finding]]:
    """How far the views had seen the log, read before the log is."""
    try:
        with _views(views_folder) as cursor:
            findings = integrity(cursor, "views")
            seen = read_checkpoint(cursor)
    except Damaged as error:
        return None, [_of_file("views::checkpoint", error.message)]
    except (PalaceError, sqlite3.DatabaseError) as error:
        return None, [_of_file("views::unreadable", f"the views cannot be read: {error}")]
    if about is not None and seen.log_id != about.log_id:
        return None, [*findings, _of_file("views::other_log", "the views are of another log")]
    return seen, findings


def _verify_log(
    log_path: Path, witness: Checkpoint | None, progress: Progress
) -> tuple[int, list[Finding]]:
    try:
        with _opened(log_path) as cursor:
            damage = integrity(cursor, "log")
            last, findings = scan(cursor, witness, progress, intact=not damage)
            return last, findings + damage
    except sqlite3.DatabaseError as error:
        upto = None if witness is None else witness.position
        return 0, [Finding(1, upto, "log::unreadable", f"no event can be read: {error}")]


def integrity(cursor: sqlite3.Cursor, what: str) -> list[Finding]:
    """What SQLite finds wrong with a file.

    Args:
        what: the first part of the code: `log`, `views` or `trail`.
    """
    try:
        rows = cursor.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        rows = [(str(error),)]
    return [
        _of_file(f"{what}::integrity", f"SQLite says of the file: {text}")
        for (text,) in rows
        if text != "ok"
    ]


def _compare_with_rebuild(log_path: Path, views_folder: Path) -> list[Finding]:
    """Fold the log once more, up to where the views are, and compare what came of it."""
    with (
        closing(Log(log_path)) as log,
        TemporaryDirectory(prefix=".verify-", dir=views_folder) as place,
    ):
        try:
            with _views(views_folder) as cursor:
                upto, live = read_checkpoint(cursor).position, contents(cursor)
        except (PalaceError, sqlite3.DatabaseError, ValueError, TypeError, AttributeError) as error:
            return [_of_file("views::unreadable", f"the views cannot be read: {error}")]
        again = _rebuilt(log, Path(place) / "views.db", upto)
    return [
        _of_file("views::digest", f"the {name} in the views are not what the log says")
        for name in again
        if live[name] != again[name]
    ]


def _rebuilt(log: Log, path: Path, upto: int) -> dict[str, str]:
    create(path, log.log_id)
    views = Views(path, for_bulk=True)
    try:
        while (done := views.checkpoint().position) < upto:
            with views.writing(log) as folding:
                folding.fold_all(log.after(done, min(1000, upto - done)))
                views.commit()
        with views.writing(log) as folding:
            return contents(folding.cursor)
    finally:
        views.close()


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Cursor]:
    """One snapshot of a database, so that what is written meanwhile does not look like damage."""
    with closing(_connected(path)) as connection, snapshot(connection) as cursor:
        yield cursor


@contextmanager
def _views(folder: Path) -> Iterator[sqlite3.Cursor]:
    """The same of the views that count; a rebuild may put others in their place meanwhile."""
    connection = Generations(folder).opened(_connected)
    with closing(connection), snapshot(connection) as cursor:
        yield cursor


def _connected(path: Path) -> sqlite3.Connection:
    return connect(path, synchronous="FULL", read_only=True)


def _of_file(code: str, message: str) -> Finding:
    return Finding(None, None, code, message)
