"""How a palace is made and opened: the one place where everything is wired. Tests use it too.

Protects the order of things: a folder is checked before a file is opened, and views of another log
are rebuilt before anyone reads them. May not do an operation itself.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from domain.errors import PalaceError, Refused, Unusable, invalid
from domain.gate import FULL
from domain.identity import device_name_from, valid_device
from palacelog import folder as folders
from palacelog.configuring import record_configuration
from palacelog.embedding import Embedding
from palacelog.palace import Palace
from palacelog.settings import EMBEDDER_NONE, Settings, load, who
from palacelog.system import System
from palacelog.working import Worker
from projections.generations import Generations
from projections.views import Views
from replay.backup import put_in_place, read_manifest, restored_views, set_aside, stage_log
from replay.log import About, Log, create_log
from replay.rebuild import Progress, first_generation, rebuild
from replay.storage_errors import in_words
from replay.trail import Trail
from replay.write_lock import WriteLock
from replay.writer import Writer


class Restored(NamedTuple):
    """A palace made from a backup.

    Attributes:
        device: who it is from now on.
        parent: `log_id@position` that its log goes on from.
        aside: where the log is that was there before; None where there was none.
    """

    path: Path
    device: str
    parent: str
    position: int
    aside: Path | None


@dataclass
class House:
    """An open palace with the parts that the functions of `replay` work on."""

    folder: folders.PalaceFolder
    settings: Settings
    system: System
    log: Log
    generations: Generations
    lock: WriteLock
    palace: Palace
    worker: Worker

    def close(self) -> None:
        """Close everything; a job that is worked on is let go."""
        self.worker.stop()
        self.palace.close()
        self.lock.close()

    def __enter__(self) -> House:
        """Use it in a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it at the end."""
        self.close()


def create_palace(
    path: Path, device: str | None = None, *, system: System | None = None, force: bool = False
) -> folders.PalaceFolder:
    """Make a new palace.

    Args:
        device: its identity; default the host's name made to fit, plus four random characters.
        force: also on a file system that is not safe.

    Raises:
        InvalidInput: the device's name cannot be one.
        Refused: the folder cannot be a palace.
    """
    system = system or System()
    name = device or device_name_from(socket.gethostname(), system.suffix())
    if not valid_device(name) or "~" in name:
        raise invalid(
            "device", f"is {name!r}, which is no device name", "Use 1 to 64 of a-z, 0-9 and -."
        )
    folder = folders.prepare(path, force=force)
    create_log(folder.log, About(system.log_id(), name))
    log = Log(folder.log)
    try:
        first_generation(log, Generations(folder.views))
    finally:
        log.close()
    folders.finish(folder, system.palace_id())
    return folder


def open_palace(
    path: Path,
    *,
    system: System | None = None,
    progress: Progress = lambda done, total: None,
    embeds: bool = False,
    works: bool = False,
    **given: Any,
) -> House:
    """Open a palace.

    Args:
        embeds: whether texts are embedded as they are written, not when they are searched for.
        works: whether jobs are taken up as they are asked for; not in a session mode that files
            nothing.
        progress: called with (folded, total) where views must be rebuilt first.
        given: settings that win over environment and file.

    Raises:
        Unusable: it is none, of a newer schema, or locked.
        Damaged: one of its files is no database any more.
        InvalidInput: its settings are not valid.
    """
    folder = folders.existing(path)
    settings = load(folder.path, **given)
    system = system or System()
    generations = Generations(folder.views)
    with _kept_if_whole() as opened:
        log = opened.enter_context(closing(Log(folder.log)))
        lock = WriteLock(folder.path, settings.lock_timeout_seconds)
        opened.callback(lock.close)
        if _of_another_log(generations, log):
            rebuild(log, generations, lock, progress)
    writer = Writer(
        log,
        generations,
        lock,
        system,
        host=socket.gethostname(),
        complete=settings.role == "primary",
        stays=settings.stays,
    )
    context = who(settings)
    trail = trail_of(folder, settings, log, system)
    palace = Palace(log, generations, writer, trail, system, zone=settings.zone, context=context)
    if settings.vectors.embedder != EMBEDDER_NONE:
        palace.embedding = Embedding(
            folder.vectors, settings.vectors, palace, background=embeds, context=context
        )
    worker = Worker(palace, folder.path, context)
    house = House(folder, settings, system, log, generations, lock, palace, worker)
    try:
        record_configuration(palace, settings, context)
    except PalaceError:
        house.close()
        raise
    if works and settings.session_mode == FULL:
        worker.start()
    return house


def trail_of(folder: folders.PalaceFolder, settings: Settings, log: Log, system: System) -> Trail:
    """The audit trail of a palace; nothing of it is opened before something is noted."""
    return Trail(
        folder.trail,
        system,
        nonce=System().nonce,
        device=lambda: log.about.device,
        host=socket.gethostname(),
        reads=settings.audit.reads,
        retention_days=settings.audit.retention_days,
    )


@in_words()
def restore_palace(
    source: Path,
    path: Path,
    *,
    replace: bool = False,
    system: System | None = None,
    progress: Progress = lambda done, total: None,
    force: bool = False,
) -> Restored:
    """Make a palace from a backup.

    Args:
        replace: `path` may be a palace already; its log and views are set aside, not deleted.
        force: also on a file system that is not safe.

    Raises:
        Refused: `path` is a palace and `replace` was not given, or it cannot become one.
        InvalidInput, Damaged, Unusable: what `source` holds is not a whole backup.
    """
    system = system or System()
    read_manifest(source)
    there = folders.PalaceFolder(path.expanduser().resolve())
    if not there.about.is_file():
        folder = folders.prepare(path, force=force)
        staged, about = stage_log(source, folder.log, system.log_id())
        put_in_place(staged, folder.log)
        folders.finish(folder, system.palace_id())
        aside = None
    elif replace:
        folder = folders.existing(path)
        with _locked(folder) as lock, lock.held():
            staged, about = stage_log(source, folder.log, system.log_id())
            aside = set_aside(folder.path, folder.log, folder.views)
            put_in_place(staged, folder.log)
    else:
        raise Refused(
            "palace::exists",
            f"{there.path} is a palace already.",
            "Restore into another folder, or use --replace: the log that is there is set aside.",
        )
    with _locked(folder) as lock:
        position = restored_views(folder.log, Generations(folder.views), lock, progress)
    return Restored(folder.path, about.device, about.parent, position, aside)


@contextmanager
def _kept_if_whole() -> Iterator[ExitStack]:
    """Close what was opened within where something fails, and say so in words."""
    with in_words(), ExitStack() as opened:
        yield opened
        opened.pop_all()


@contextmanager
def _locked(folder: folders.PalaceFolder) -> Iterator[WriteLock]:
    lock = WriteLock(folder.path, load(folder.path).lock_timeout_seconds)
    try:
        yield lock
    finally:
        lock.close()


def _of_another_log(generations: Generations, log: Log) -> bool:
    """Whether there are no views of this log; a lost tail is `replay.witness`'s matter."""
    try:
        views = generations.opened(Views)
    except Unusable:
        return True
    try:
        return views.checkpoint().log_id != log.log_id
    finally:
        views.close()
