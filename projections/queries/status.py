"""How the palace is: totals, states, versions. No names, no content.

Protects what a disabled session may see: nothing here is read from a payload.
"""

from __future__ import annotations

import sqlite3
from importlib.metadata import version
from typing import Any

from sqlalchemy import bindparam, exists, func, select

from domain.drawers import Support, Tombstone
from domain.facts import Assertion
from domain.identity import base_device
from domain.instants import show
from domain.operation import SCHEMA
from domain.operations.control import StatusAsks
from projections import tables
from projections.queries.conflicts import conflicts
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_operations, _acknowledged = tables.operations, tables.acknowledgements
_supports, _tombstones, _assertions = BELIEFS[Support], BELIEFS[Tombstone], BELIEFS[Assertion]

_LIVE = Prepared(
    select(func.count(func.distinct(_supports.c.drawer_id))).where(believed(_supports))
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
_FACTS = Prepared(
    select(func.count()).where(
        believed(_assertions), _assertions.c.valid_from < _assertions.c.valid_to
    )
)
_UPTO = (
    select(func.coalesce(func.max(_acknowledged.c.upto), 0))
    .where(_acknowledged.c.stream_device == _operations.c.device)
    .correlate(_operations)
    .scalar_subquery()
)
_PENDING = Prepared(
    select(func.count(), func.min(_operations.c.recorded_at)).where(
        _operations.c.base_device == _B("base"),
        _operations.c.stream == "shared",
        _operations.c.local_seq > _UPTO,
    )
)


def status(reading: Reading, asked: StatusAsks) -> dict[str, Any]:
    """Totals, states and versions; `log_position` of the log itself shows how far the views lag."""
    head = reading.log.position()
    checkpoint = reading.checkpoint
    pending, oldest = _PENDING(reading.cursor, base=base_device(reading.device)).fetchone()
    age = None if oldest is None else max(0.0, (reading.now - oldest) / 1_000_000)
    return {
        "log_id": checkpoint.log_id,
        "device": reading.device,
        "schema": SCHEMA,
        "versions": {"product": version("palacelog"), "sqlite": sqlite3.sqlite_version},
        "head": head,
        "logged_at": show(checkpoint.logged_at) if checkpoint.position else None,
        "totals": {
            "events": head,
            "drawers_live": _count(reading, _LIVE),
            "drawers_hidden": _count(reading, _HIDDEN),
            "facts": _count(reading, _FACTS),
            "conflicts": len(conflicts(reading)),
        },
        "outbox": {"pending": pending, "oldest_age_seconds": age, "blocked_by": None},
        "projections": [_views_state(checkpoint.position, head)],
        "trail": {"noted": 0, "lost": 0},
    }


def _count(reading: Reading, statement: Prepared) -> int:
    [(count,)] = reading.rows(statement)
    return int(count)


def _views_state(checkpoint: int, head: int) -> dict[str, Any]:
    state = "truncated" if checkpoint > head else "behind" if checkpoint < head else "current"
    return {
        "name": "views",
        "checkpoint": checkpoint,
        "lag": max(0, head - checkpoint),
        "state": state,
    }
