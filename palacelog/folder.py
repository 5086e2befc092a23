"""A palace's folder: what lies in it, and which folders may not be one.

Protects the palace from its surroundings: palaces never nest, other users cannot look in, and file
systems on which locks or fsync mean nothing are refused. May not open a log.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from domain.errors import Refused, Unusable
from domain.operation import SCHEMA
from projections.generations import sync_folder

PALACE_FILE: Final = "palace.toml"
LOG_FILE: Final = "log.db"
VIEWS_FOLDER: Final = "views"
TRAIL_FOLDER: Final = "trail"
VECTORS_FOLDER: Final = "vectors"
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.rclone"}
)
_CLOUD: Final = ("Dropbox", "OneDrive", "Google Drive", "iCloud Drive", "Mobile Documents")


class PalaceFolder(NamedTuple):
    """The places in a palace's folder."""

    path: Path

    @property
    def about(self) -> Path:
        """`palace.toml`: id and schema."""
        return self.path / PALACE_FILE

    @property
    def log(self) -> Path:
        """The log."""
        return self.path / LOG_FILE

    @property
    def views(self) -> Path:
        """The generations of the views."""
        return self.path / VIEWS_FOLDER

    @property
    def trail(self) -> Path:
        """The segments of the audit trail."""
        return self.path / TRAIL_FOLDER

    @property
    def vectors(self) -> Path:
        """The vector indexes, a folder for each embedder."""
        return self.path / VECTORS_FOLDER


def existing(path: Path) -> PalaceFolder:
    """The palace at a path.

    Raises:
        Unusable: `palace::none` (naming the palace above or below, where there is one) or
            `palace::newer_schema`.
    """
    folder = PalaceFolder(path.expanduser().resolve())
    if not folder.about.is_file():
        raise _no_palace(folder.path)
    try:
        about = tomllib.loads(folder.about.read_text())
        schema = about["schema"]
        newer = schema > SCHEMA
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise Unusable(
            "palace::unreadable",
            f"{folder.about} does not say which palace this is ({error}).",
            "Restore the file from a backup of the palace.",
        ) from error
    if newer:
        raise Unusable(
            "palace::newer_schema",
            f"The palace is of schema {schema}; this version knows up to {SCHEMA}.",
            "Install a newer palacelog.",
        )
    return folder


def prepare(path: Path, *, force: bool = False) -> PalaceFolder:
    """Make the folder of a new palace; its `palace.toml` comes last (`finish`).

    Raises:
        Refused: there is a palace already, here, above or below; or other files; or a file system
            that cannot keep a palace safe (unless `force`).
    """
    folder = PalaceFolder(path.expanduser().resolve())
    if folder.about.is_file():
        raise Refused(
            "palace::exists",
            f"{folder.path} is a palace already.",
            "Use it as it is, or choose another folder.",
        )
    other = nearby(folder.path)
    if other is not None:
        raise Refused(
            "palace::nested",
            f"{folder.path} lies above or below the palace {other}.",
            "Palaces may stand side by side, never in each other.",
        )
    if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
        raise Refused(
            "palace::not_empty",
            f"{folder.path} is not an empty folder.",
            "Choose a folder that is empty or does not exist yet.",
        )
    reason = unsafe_place(folder.path)
    if reason is not None and not force:
        raise Refused("palace::unsafe_place", reason, "Choose a local folder, or force it.")
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.path.chmod(0o700)
    return folder


def finish(folder: PalaceFolder, palace_id: str) -> None:
    """Write `palace.toml`: from now on the folder is a palace."""
    text = f'# A palacelog palace. Do not edit.\nid = "{palace_id}"\nschema = {SCHEMA}\n'
    descriptor = os.open(folder.about, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(folder.path)


def unsafe_place(path: Path) -> str | None:
    """Why a folder cannot keep a palace safe; None where it can."""
    kind = file_system(path)
    if kind in _NETWORK:
        return (
            f"{path} is on a network file system ({kind}), where locks and fsync cannot be trusted."
        )
    for part in path.parts:
        if any(part.startswith(name) for name in _CLOUD):
            return f"{path} is synchronised by {part}, which copies databases while they change."
    return None


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that a path is on; empty where the machine does not say."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = fields[1].replace("\\040", " ")
        inside = path == Path(mount) or Path(mount) in path.parents
        if inside and len(mount) >= len(best):
            best, kind = mount, fields[2]
    return kind


def _no_palace(path: Path) -> Unusable:
    other = nearby(path)
    if other is not None:
        return Unusable(
            "palace::none",
            f"{path} is not a palace; {other} is.",
            f"Use `--palace {other}`.",
        )
    return Unusable(
        "palace::none",
        f"{path} is not a palace.",
        "Make one with `palacelog init`, or name another folder with --palace.",
    )


def nearby(path: Path) -> Path | None:
    """A palace above a folder, or directly below it."""
    for parent in path.parents:
        if (parent / PALACE_FILE).is_file():
            return parent
    try:
        below = sorted(child for child in path.iterdir() if (child / PALACE_FILE).is_file())
    except OSError:
        return None
    return below[0] if below else None
