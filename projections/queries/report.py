"""The audit report: what was done on which device and day, and whether log and views are whole.

Protects content twice over: the report is never gated, so it holds ids of devices, facts and tools,
codes, and counts; no name of a wing, room, person or thing, no id that is made of names (a
drawer's is), no agent, no session, and nothing that was asked.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from sqlalchemy import bindparam, exists, func, literal_column, select

from domain.errors import Damaged
from domain.facts import Source
from domain.instants import ENDLESS, show
from domain.operations.control import AuditAsks
from domain.trail import REFUSED, Activity
from projections import tables
from projections.queries.status import views_state
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

LINES_MAX: Final = 1_000
IDS_SHOWN: Final = 20
DAY: Final = 86_400_000_000

_B: Any = bindparam
_operations, _texts, _sources = tables.operations, tables.texts, BELIEFS[Source]
_DAY: Any = literal_column(f"operations.recorded_at / {DAY}")
_ACTIVITY = Prepared(
    select(_DAY, _operations.c.device, _operations.c.tool, func.count())
    .where(
        _operations.c.recorded_at >= _B("since"),
        _operations.c.recorded_at < _B("before"),
        _operations.c.position <= _B("position"),
    )
    .group_by(_DAY, _operations.c.device, _operations.c.tool)
)
_CHAINS = Prepared(
    select(
        _operations.c.device,
        _operations.c.stream,
        func.count(),
        func.max(_operations.c.local_seq),
    )
    .where(_operations.c.position <= _B("position"))
    .group_by(_operations.c.device, _operations.c.stream)
    .order_by(_operations.c.device, _operations.c.stream)
)
_ORPHANS = Prepared(
    select(_sources.c.id)
    .where(
        believed(_sources),
        _sources.c.drawer_id.is_not(None),
        ~exists(select(_texts.c.drawer_id).where(_texts.c.drawer_id == _sources.c.drawer_id)),
    )
    .order_by(_sources.c.rank, _sources.c.id)
)


def audit(reading: Reading, asked: AuditAsks) -> dict[str, Any]:
    """Activity, refusals, and the health of log, views and trail."""
    since = -ENDLESS if asked.since is None else asked.since
    before = ENDLESS if asked.before is None else asked.before
    noted = reading.trail.activity(since, before)
    lines = _accepted(reading, since, before) + noted
    lines.sort(key=lambda one: (-one.day, one.device, one.tool, one.outcome, one.code or ""))
    orphans = [id for (id,) in reading.rows(_ORPHANS)]
    checkpoint = reading.checkpoint
    return {
        "log_id": checkpoint.log_id,
        "activity": [_line(one) for one in lines[:LINES_MAX]],
        "activity_total": len(lines),
        "refusals": _refusals(noted),
        "log": _log_state(reading),
        "chains": [_chain(*row) for row in reading.rows(_CHAINS)],
        "projections": [views_state(checkpoint.position, reading.log.position())],
        "orphans": {"facts": len(orphans), "fact_ids": orphans[:IDS_SHOWN]},
        "trail": reading.trail.counts()._asdict(),
    }


def _accepted(reading: Reading, since: int, before: int) -> list[Activity]:
    found = reading.rows(_ACTIVITY, since=since, before=before)
    return [
        Activity(day, device, tool, "accepted", None, calls) for day, device, tool, calls in found
    ]


def _line(one: Activity) -> dict[str, Any]:
    return one._asdict() | {"day": show(one.day * DAY)[:10]}


def _refusals(noted: list[Activity]) -> list[dict[str, Any]]:
    calls: Counter[str] = Counter()
    for one in noted:
        if one.outcome == REFUSED and one.code is not None:
            calls[one.code] += one.calls
    return [{"code": code, "calls": calls[code]} for code in sorted(calls)]


def _log_state(reading: Reading) -> dict[str, Any]:
    """Whether the newest event follows from those before it; `log verify` looks at all."""
    position = reading.log.position()
    state, link = "empty", None
    if position:
        try:
            state, link = "whole", reading.log.proven(position).link.hex()
        except Damaged:
            state = "altered"
    return {"head": position, "link": link, "state": state}


def _chain(device: str, stream: str, events: int, head: int) -> dict[str, Any]:
    return {
        "device": device,
        "stream": stream,
        "events": events,
        "head": head,
        "whole": events == head,
    }
