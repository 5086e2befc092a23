"""Backup and restore: a copy of the log while it is being written, and a palace made from such a
copy.

Protects history from two lives: a restored log has an identity of its own and names the one that it
came from, and its device goes on as the next incarnation, so that nothing it writes stands under a
number that was used after the backup. A backup holds no `palace.toml`, so that it cannot be used as
a palace by mistake.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from domain.canonical import NotStorable, read_json
from domain.errors import Damaged, InvalidInput, Refused, Unusable
from domain.operation import SCHEMA, Head
from projections.generations import Generations, sync_folder
from replay.crash_points import reach
from replay.incarnation import incarnations_in, next_life
from replay.log import About, Log
from replay.outbox_file import private
from replay.rebuild import Progress, rebuild
from replay.storage_errors import in_words
from replay.write_lock import WriteLock

BACKUP_FORMAT: Final = "palacelog-backup"
MANIFEST: Final = "backup.json"
LOG_COPY: Final = "log.db"
SET_ASIDE: Final = "set-aside"


class BackedUp(NamedTuple):
    """What a backup holds: a log up to a position."""

    path: Path
    log_id: str
    position: int


@in_words()
def backup(log: Log, target: Path) -> BackedUp:
    """Copy the log to a new folder, as it is at one moment; writers go on meanwhile. A backup that
    fails leaves the folder empty.

    Raises:
        Refused: `target` exists and is not an empty folder.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Refused(
            "backup::exists",
            f"{target} is not an empty folder.",
            "Name a folder that does not exist.",
        )
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _gone_unless_whole(target / LOG_COPY), _gone_unless_whole(target / MANIFEST):
        head, about = _copy(log, target)
    return BackedUp(target, about.log_id, head.position)


def _copy(log: Log, target: Path) -> tuple[Head, About]:
    copy = target / LOG_COPY
    copy.touch(mode=0o600)  # before anything is in it; the folder may be open
    with closing(sqlite3.connect(log.path)) as source, closing(sqlite3.connect(copy)) as sink:
        source.backup(sink)
    reach("backup.copied")
    with closing(Log(copy)) as copied:
        head, about = copied.head(), copied.about
        copied.move_wal("TRUNCATE")
    manifest = {
        "format": BACKUP_FORMAT,
        "schema": SCHEMA,
        "log_id": about.log_id,
        "device": about.device,
        "position": head.position,
        "link": head.link.hex(),
        "logged_at": head.logged_at,
        "sha256": _hash(copy),
    }
    _write(target / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    sync_folder(target)
    return head, about


def read_manifest(source: Path) -> dict[str, Any]:
    """What a backup says of itself, after its log was compared with it.

    Raises:
        InvalidInput: it is no backup.
        Damaged: its log is not the one that was copied.
        Unusable: it is of a newer schema.
    """
    try:
        manifest = read_json((source / MANIFEST).read_bytes())
    except (OSError, NotStorable):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != BACKUP_FORMAT:
        raise InvalidInput(
            "backup::none",
            f"{source} is not a backup.",
            "Name a folder that `palacelog backup` made.",
        )
    if manifest.get("schema") != SCHEMA:
        raise Unusable(
            "backup::schema", f"{source} is of another schema.", "Install a newer palacelog."
        )
    copy = source / LOG_COPY
    if not copy.is_file() or _hash(copy) != manifest.get("sha256"):
        raise Damaged(
            "backup::damaged",
            f"The log in {source} is not the one that was copied.",
            "Use another backup.",
        )
    return manifest


def stage_log(source: Path, log_path: Path, log_id: str) -> tuple[Path, About]:
    """Copy a backup's log to beside where it belongs, under an identity of its own; returns the
    copy, and what it says about itself. Nothing has changed yet, and nothing does if this fails.

    Args:
        log_path: where it belongs. The log that is there now may have gone on under further
            incarnations; those are not used again.
        log_id: the new identity.
    """
    read_manifest(source)
    staged = log_path.with_name(f".{log_path.name}.restoring")
    _remove(staged)  # what a restore left that died: its WAL must not join this log
    with _gone_unless_whole(staged):
        staged.touch(mode=0o600)
        shutil.copyfile(source / LOG_COPY, staged)
        with closing(Log(staged)) as log:
            with log.writing():
                log.save_about(next_life(log, log_id, _names_used(log_path, log.about.device)))
                log.commit()
            log.move_wal("TRUNCATE")
            about = log.about
        _sync(staged)
    reach("restore.copied")
    return staged, about


def _names_used(log_path: Path, device: str) -> list[str]:
    """The incarnations of a device that the log which is there knows, and those set aside."""
    aside = log_path.parent.glob(f"{SET_ASIDE}/*/{log_path.name}")
    return [name for path in (log_path, *aside) for name in incarnations_in(path, device)]


def put_in_place(staged: Path, log_path: Path) -> None:
    """Make a staged log the palace's log, where there is none (see `set_aside`)."""
    os.replace(staged, log_path)
    sync_folder(log_path.parent)


def set_aside(folder: Path, log_path: Path, views_folder: Path) -> Path:
    """Move a palace's log and views out of the way, whole; under its write lock. Nothing is
    deleted.
    """
    place = next_aside(folder)
    place.mkdir(mode=0o700, parents=True)
    for path in sorted(log_path.parent.glob(f"{log_path.name}*")):
        os.replace(path, place / path.name)
    if views_folder.exists():
        os.replace(views_folder, place / views_folder.name)
    sync_folder(place)
    sync_folder(folder)
    reach("restore.set_aside")
    return place


def next_aside(folder: Path) -> Path:
    """Where in a palace's folder the next log is set aside; nothing is there yet."""
    number = 1
    while (place := folder / SET_ASIDE / f"{number:03d}").exists():
        number += 1
    return place


def restored_views(
    log_path: Path, generations: Generations, lock: WriteLock, progress: Progress
) -> int:
    """Make the views of a restored log; returns the position that they reach."""
    with closing(Log(log_path)) as log:
        return rebuild(log, generations, lock, progress)


@contextmanager
def _gone_unless_whole(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _remove(path)
        raise


def _remove(database: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        hashed = sha256()
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
