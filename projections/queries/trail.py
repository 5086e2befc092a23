"""Events of the audit trail among those of the log: how they are chosen, ordered and shown.

Protects one order: what the log holds lies where it arrived, and what was read or refused where it
was asked; so an event of the trail is listed by when it was recorded, not by when it was written.
"""

from __future__ import annotations

from typing import Any

from domain.canonical import comparable
from domain.instants import ENDLESS
from domain.operations.audit import ListOperationsAsks
from domain.trail import REFUSED, STREAM, Noted, NotedWhole, TrailFilter
from projections.reading import Reading


def chosen_from_trail(reading: Reading, asked: ListOperationsAsks) -> TrailFilter | None:
    """Which events of the trail a list asks for; None where it asks for the log alone."""
    refusals = asked.outcome != "accepted"
    reads = asked.include_reads and asked.outcome != "refused"
    if not (reads or refusals):
        return None
    known_at = reading.moment.known_at
    return TrailFilter(
        reads=reads,
        refusals=refusals,
        device=asked.device,
        tool=asked.tool,
        agent=asked.agent,
        session=asked.session,
        wing=asked.wing and comparable(asked.wing),
        entity=asked.entity and comparable(asked.entity),
        ids=None if asked.drawer_id is None else (asked.drawer_id,),
        since=-ENDLESS if asked.since is None else asked.since,
        before=ENDLESS if asked.before is None else asked.before,
        until=ENDLESS if known_at is None else known_at,
    )


def trail_page(
    reading: Reading, chosen: TrailFilter, behind: tuple[int, int], limit: int
) -> list[dict[str, Any]]:
    """Lines of the trail behind one of them, newest first."""
    found = reading.trail.page(chosen._replace(behind=behind), limit)
    return [trail_line(one) for one in found]


def trail_line(noted: Noted) -> dict[str, Any]:
    """An event of the trail under the names that a line has, times as microseconds."""
    outcome = "refused" if noted.outcome == REFUSED else "accepted"
    return noted._asdict() | {"position": None, "stream": STREAM, "outcome": outcome}


def happened_at(line: dict[str, Any]) -> tuple[int, int, int]:
    """What a list is ordered by; at equal times a read came after what the log then had."""
    if line["position"] is None:
        return line["recorded_at"], 1, line["place"]
    return line["logged_at"], 0, line["position"]


def found_in_trail(reading: Reading, op_id: str) -> NotedWhole | None:
    """An event of the trail, where it was recorded up to the moment of the reading."""
    found = reading.trail.find(op_id)
    known_at = reading.moment.known_at
    if found is None or (known_at is not None and found.line.recorded_at > known_at):
        return None
    return found
