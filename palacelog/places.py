"""Where a palace is when nobody says, and which wing and room a folder of a person's work belongs
to: its nearest `palacelog.toml`.

Protects one answer for all who ask: a note, and a host that begins a session there. Protects those
who must be quick: nothing is loaded here but the standard library.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from domain.errors import invalid

PALACE_VARIABLE: Final = "PALACELOG_PALACE"
DEFAULT_FOLDER: Final = "~/.palacelog"
PLACE_FILE: Final = "palacelog.toml"
NOTES: Final = "notes"


def default_folder() -> Path:
    """Where the palace is when nobody says: `PALACELOG_PALACE`, else `~/.palacelog`."""
    return Path(os.environ.get(PALACE_VARIABLE) or DEFAULT_FOLDER).expanduser()


def nearest(folder: Path) -> dict[str, Any]:
    """What the nearest `palacelog.toml` says, here or above; nothing where there is none.

    Raises:
        InvalidInput: it cannot be read.
    """
    for one in (folder, *folder.parents):
        try:
            return _parsed((one / PLACE_FILE).read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (ValueError, OSError) as error:
            raise invalid(
                PLACE_FILE, f"in {one} cannot be read: {error}", "Correct it, or name the wing."
            ) from None
    return {}


def _parsed(text: str) -> dict[str, Any]:
    # Most folders have none, and whoever must be quick does not load what reads it.
    import tomllib

    return tomllib.loads(text)


def wing_of(folder: Path, said: dict[str, Any]) -> Any:
    """The wing of a folder: what was said, else the folder's name; it may be no name of a wing.

    Args:
        said: by the nearest `palacelog.toml`.
    """
    return said.get("wing") or folder.name or NOTES
