"""Looking for what could harm a palace, before it does.

Protects a person's evening: each check says in one line what was looked at and, where something is
wrong, what to do. Changes nothing of the palace. May not read what memory holds: see
`replay.verify`; the trail, which nothing else verifies, is read here.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from domain.errors import PalaceError, Unusable
from domain.trail import damaged
from palacelog import folder as folders
from palacelog.checking import Check, checked, failed
from palacelog.folder import PalaceFolder
from palacelog.owner.lock import holder
from palacelog.places import PALACE_VARIABLE
from palacelog.settings import EMBEDDER_NONE, Settings, load
from palacelog.vector_checks import vector_checks
from projections.generations import CURRENT_FILE, Generations
from projections.trail import segments
from projections.views import Views
from replay.log import Log
from replay.storage_errors import storage_error
from replay.verify_trail import verify_segment
from replay.witness import check
from replay.write_lock import WriteLock

LOCK_SECONDS: Final = 1.0
FREE_BYTES_MIN: Final = 64 * 1024 * 1024
COPIES_THAT_SHOULD_FIT: Final = 3
_WAL_RESET_FAULT: Final = ((3, 7, 0), (3, 51, 2))
_MADE_WHEN_OPENED: Final = frozenset(
    f"palacelog::views::{reason}" for reason in ("missing", "other_log", "schema")
)
# What the event sourcing library would read, were it allowed to.
_LIBRARY_VARIABLES: Final = frozenset(
    {
        "APPLICATION_RECORDER_TOPIC",
        "CIPHER_KEY",
        "CIPHER_TOPIC",
        "COMPRESSOR_TOPIC",
        "IS_SNAPSHOTTING_ENABLED",
        "MAPPER_TOPIC",
        "ORIGINATOR_ID_TYPE",
        "PERSISTENCE_MODULE",
        "SQLITE_DBNAME",
        "SQLITE_LOCK_TIMEOUT",
        "TRANSCODER_TOPIC",
    }
)


def examine(path: Path, given: Mapping[str, Any] | None = None) -> list[Check]:
    """Examine the palace at a path, and what surrounds it.

    Args:
        given: settings that win over environment and file.
    """
    checks = [_python(), _sqlite(), *_library_variables(), *_unknown_variables()]
    folder = PalaceFolder(path)
    there = checked("palace", lambda: f"{folders.existing(path).path} is one")
    checks.append(there)
    if not folder.path.is_dir():
        return checks
    checks += [_place(folder), _mode(folder), *_only_read(folder), _neighbours(folder)]
    checks.append(_space(folder))
    if there.failure is not None:
        return checks
    checks.append(checked("settings", lambda: _settings(folder, given or {})))
    checks.append(_lock(folder))
    checks.append(checked("owner", lambda: _owner(folder)))
    checks.append(checked("log", lambda: _log(folder)))
    checks.append(_views_or_not(folder))
    checks += _trail(folder)
    checks += vector_checks(folder, _embedder_of(folder, given or {}))
    return [*checks, *_leftovers(folder)]


def _python() -> Check:
    return Check("python", "ok", f"Python {platform.python_version()} on {platform.system()}")


def _sqlite() -> Check:
    first, last = _WAL_RESET_FAULT
    text = f"SQLite {sqlite3.sqlite_version}"
    if first <= sqlite3.sqlite_version_info <= last:
        text += ", which has the WAL-reset fault (3.7.0 to 3.51.2); the write lock excludes it"
    return Check("sqlite", "ok", text)


def _library_variables() -> Iterator[Check]:
    found = sorted(_LIBRARY_VARIABLES & os.environ.keys())
    if found:
        yield Check(
            "environment",
            "warn",
            f"{', '.join(found)} is set; palacelog ignores it, also where it names a cipher",
            "The log is not encrypted. Unset it if nothing else needs it.",
        )


def _unknown_variables() -> Iterator[Check]:
    known = {f"PALACELOG_{name.upper()}" for name in Settings.model_fields}
    known |= {PALACE_VARIABLE, "PALACELOG_MODE"}
    found = sorted(name for name in os.environ if name.startswith("PALACELOG_"))
    unknown = [name for name in found if name.partition("__")[0] not in known]
    if unknown:
        yield Check(
            "environment",
            "warn",
            f"{', '.join(unknown)} is set, and there is no such setting",
            f"There are: {', '.join(sorted(known))}.",
        )


def _place(folder: PalaceFolder) -> Check:
    reason = folders.unsafe_place(folder.path)
    if reason is not None:
        return Check("place", "warn", reason, "Move the palace to a local folder.")
    kind = folders.file_system(folder.path) or "unknown"
    return Check("place", "ok", f"the file system is local ({kind})")


def _mode(folder: PalaceFolder) -> Check:
    mode = folder.path.stat().st_mode & 0o777
    if mode & 0o077:
        return Check(
            "privacy",
            "warn",
            f"other users can look into the folder (mode {mode:04o})",
            f"Run `chmod 700 {folder.path}`.",
        )
    return Check("privacy", "ok", f"the folder is private (mode {mode:04o})")


def _only_read(folder: PalaceFolder) -> Iterator[Check]:
    if not os.access(folder.path, os.W_OK):
        yield Check(
            "writing",
            "warn",
            "this user may not write here: the palace can only be read",
            "Give the right to write back, or mount the file system for writing.",
        )


def _neighbours(folder: PalaceFolder) -> Check:
    other = folders.nearby(folder.path)
    if other is None:
        return Check("neighbours", "ok", "no palace lies above or below it")
    return Check(
        "neighbours",
        "warn",
        f"the palace {other} lies above or below it",
        "Move one of the two: palaces stand side by side.",
    )


def _space(folder: PalaceFolder) -> Check:
    free = shutil.disk_usage(folder.path).free
    log_bytes = folder.log.stat().st_size if folder.log.is_file() else 0
    text = f"{free // 2**20:,} MiB are free"
    if free < max(FREE_BYTES_MIN, COPIES_THAT_SHOULD_FIT * log_bytes):
        return Check("space", "warn", text, "Free some: a rebuild or restore makes copies.")
    return Check("space", "ok", text)


def _embedder_of(folder: PalaceFolder, given: Mapping[str, Any]) -> str:
    """The setting `vectors.embedder`; of settings that cannot be read another check tells."""
    try:
        return load(folder.path, **given).vectors.embedder
    except PalaceError:
        return EMBEDDER_NONE


def _settings(folder: PalaceFolder, given: Mapping[str, Any]) -> str:
    settings = load(folder.path, **given)
    return f"role {settings.role}, zone {settings.zone}, session mode {settings.session_mode}"


def _lock(folder: PalaceFolder) -> Check:
    try:
        with closing(WriteLock(folder.path, LOCK_SECONDS)) as lock, lock.held():
            return Check("write lock", "ok", "it can be taken")
    except Unusable:
        return Check(
            "write lock",
            "warn",
            f"another process has held it for {LOCK_SECONDS:g} s",
            "Wait for that process, or stop it if it hangs.",
        )
    except OSError as error:
        return failed("write lock", storage_error(error))


def _owner(folder: PalaceFolder) -> str:
    found = holder(folder.path)
    if found is None:
        return "no process has the palace open for sessions of `palacelog mcp`"
    return f"process {found.process} of palacelog {found.version} serves `palacelog mcp`"


def _log(folder: PalaceFolder) -> str:
    with closing(Log(folder.log)) as log:
        return f"{log.position()} events of device {log.about.device}, {log.log_id}"


def _views_or_not(folder: PalaceFolder) -> Check:
    found = checked("views", lambda: _views(folder))
    if found.failure is not None and found.failure.code in _MADE_WHEN_OPENED:
        cure = "Nothing need be done: they are made again when the palace is opened."
        return Check("views", "warn", found.message, cure)
    return found


def _views(folder: PalaceFolder) -> str:
    with closing(Log(folder.log)) as log:
        with closing(Generations(folder.views).opened(Views)) as views:
            seen = views.checkpoint()
        check(seen, log)
        lag = log.position() - seen.position
    return f"{lag} events behind the log" if lag else "up to date, and they fit the log"


def _trail(folder: PalaceFolder) -> list[Check]:
    """The segments of the trail that are damaged, each by itself; else that none is."""
    found = segments(folder.trail)
    checks = [checked("trail", partial(_segment, path)) for path in found]
    failed = [check for check in checks if check.failure is not None]
    text = "months are as they were written" if len(found) != 1 else "month is as it was written"
    return failed or [Check("trail", "ok", f"{len(found)} {text}")]


def _segment(path: Path) -> str:
    found = verify_segment(path)
    if found:
        raise damaged(path.name, found[0].message)
    return path.name


def _leftovers(folder: PalaceFolder) -> Iterator[Check]:
    """Files of a rebuild, verification or restore that has died, or is running."""
    try:
        current = Generations(folder.views).current().name
    except PalaceError:
        return
    expected = {CURRENT_FILE, current, f"{current}-wal", f"{current}-shm"}
    found = [one.name for one in folder.views.iterdir() if one.name not in expected]
    found += [one.name for one in folder.path.glob(f".{folder.log.name}.*")]
    strange = sorted(name for name in found if not name.endswith(".lock"))
    if strange:
        yield Check(
            "leftovers",
            "warn",
            f"{', '.join(strange)}: of a rebuild or restore that has died, or is running",
            "If none is running, `palacelog rebuild` clears the views' folder.",
        )
