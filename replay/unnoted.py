"""Calls that no segment of the trail could take, counted in a file beside the one of their month.

Protects the count from being forgotten: a segment that is damaged cannot hold it, and the process
that lost the calls ends. A file is as long as the number of calls: it is only ever appended to, so
it needs no lock, and a part of a write counts for what it is. May not know what was lost.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

SUFFIX: Final = ".lost"
_CALL: Final = b"."


def count(folder: Path, month: str, calls: int) -> int:
    """Count lost calls of a month; returns how many could be counted."""
    written = 0
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(folder / f"{month}{SUFFIX}", flags, 0o600)
        try:
            written = os.write(descriptor, _CALL * calls)
        finally:
            os.close(descriptor)
    return written


def counted(folder: Path) -> int:
    """How many calls of all months were lost."""
    lost = 0
    with suppress(OSError):
        for path in folder.glob(f"*{SUFFIX}"):
            lost += path.stat().st_size
    return lost
