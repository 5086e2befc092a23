"""How the palace is: totals, states, versions. No names, no content.

Protects what a disabled session may see: nothing here is read from a payload.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib.metadata import version
from typing import Any

from sqlalchemy import exists, func, select

from domain.drawers import Support, Tombstone
from domain.identity import base_device
from domain.instants import show
from domain.operation import SCHEMA
from domain.operations.control import StatusAsks
from projections.outbox import waiting
from projections.queries.conflicts import open_conflicts
from projections.queries.partitions import count_facts
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_supports, _tombstones = BELIEFS[Support], BELIEFS[Tombstone]

_LIVE = Prepared(
    select(func.count()).select_from(
        select(_supports.c.drawer_id)
        .where(believed(_supports))
        .group_by(_supports.c.drawer_id)
        .subquery()
    )
)
_HIDDEN = Prepared(
    select(func.count(func.distinct(_tombstones.c.drawer_id))).where(
        believed(_tombstones),
        ~exists(
            select(_supports.c.id).where(
                _supports.c.drawer_id == _tombstones.c.drawer_id, believed(_supports)
            )
        ),
    )
)


def status(reading: Reading, asked: StatusAsks) -> dict[str, Any]:
    """Totals, states and versions; `head` of the log itself shows how far the views lag.

    `facts` are those that show, whether true now or not (see `count_facts`). The oldest age is that
    of the first operation that waits in each stream.
    """
    head = reading.log.position()
    checkpoint = reading.checkpoint
    pending, oldest = waiting(reading.cursor, base_device(reading.device))
    age = None if oldest is None else max(0.0, (reading.now - oldest) / 1_000_000)
    return {
        "log_id": checkpoint.log_id,
        "device": reading.device,
        "schema": SCHEMA,
        "versions": {"product": _version(), "sqlite": sqlite3.sqlite_version},
        "head": head,
        "logged_at": show(checkpoint.logged_at) if checkpoint.position else None,
        "totals": {
            "events": head,
            "drawers_live": _count(reading, _LIVE),
            "drawers_hidden": _count(reading, _HIDDEN),
            "facts": count_facts(reading),
            "conflicts": len(open_conflicts(reading)),
        },
        "outbox": {"pending": pending, "oldest_age_seconds": age, "blocked_by": None},
        "projections": [views_state(checkpoint.position, head)],
        "vectors": [] if reading.meaning is None else reading.meaning.state(reading),
        "trail": reading.trail.counts()._asdict(),
    }


@cache
def _version() -> str:
    return version("palacelog")


def _count(reading: Reading, statement: Prepared) -> int:
    [(count,)] = reading.rows(statement)
    return int(count)


def views_state(checkpoint: int, head: int) -> dict[str, Any]:
    """How far the views have folded the log."""
    state = "truncated" if checkpoint > head else "behind" if checkpoint < head else "current"
    return {
        "name": "views",
        "checkpoint": checkpoint,
        "lag": max(0, head - checkpoint),
        "state": state,
    }
