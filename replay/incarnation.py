"""The next incarnation: who a device is from now on, where its log was copied, restored or cut off.

Protects the fleet from two histories under one name: a number that may be known elsewhere is never
used again, because what is written from now on stands in a stream of its own that names its parent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from domain.identity import base_device, next_incarnation, valid_device
from replay.log import About, Log

_STREAMS: Final = (
    "SELECT DISTINCT originator_id FROM stored_events"
    " WHERE originator_id = ? OR originator_id GLOB ? ORDER BY originator_id"
)


def next_life(log: Log, log_id: str, taken: Iterable[str] = ()) -> About:
    """What a log says about itself from now on: another log_id, and the device's next incarnation.

    Nothing is written. The parent is the newest shared event of the incarnation so far; where that
    one never wrote, the parent that it had.

    Args:
        log_id: the log's new identity.
        taken: names of the device that were used elsewhere.
    """
    about = log.about
    head = log.stream_head(about.device)
    goes_on = f"{about.device}/{head.local_seq}/{head.chain.hex()}"
    used = [about.device, *incarnations(log, about.device)]
    used += [name for name in taken if base_device(name) == base_device(about.device)]
    return about._replace(
        log_id=log_id,
        device=next_incarnation(max(used, key=_number)),
        parent=f"{about.log_id}@{log.position()}",
        goes_on=about.goes_on if about.goes_on and not head.local_seq else goes_on,
    )


def incarnations(log: Log, device: str) -> list[str]:
    """The incarnations of a device that the log holds events of, oldest first."""
    with log.app.datastore.transaction(commit=False) as cursor:
        cursor.execute(_STREAMS, _of(device))
        return _names(row["originator_id"] for row in cursor.fetchall())


def incarnations_in(path: Path, device: str) -> list[str]:
    """The incarnations of a device in a log that may be damaged; none where it cannot be read.

    Opens the file for reading alone, so that closing it moves nothing out of its WAL.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            streams = [str(name) for (name,) in file.execute(_STREAMS, _of(device)).fetchall()]
            about = file.execute("SELECT value FROM about WHERE name = 'device'").fetchall()
    except sqlite3.Error:
        return []
    said = [str(value).rpartition(" ")[2] for (value,) in about]
    return _names([*streams, *(name for name in said if valid_device(name))])


def _of(device: str) -> tuple[str, str]:
    base = base_device(device)
    return base, f"{base}[~/]*"


def _names(streams: Iterable[str]) -> list[str]:
    return sorted({name.partition("/")[0] for name in streams}, key=_number)


def _number(device: str) -> int:
    return int(device.partition("~")[2] or "1")
