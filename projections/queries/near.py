"""Nearly the same text twice, by meaning: drawers near to a text, and groups of near drawers.

Protects what may not be seen: place, time and hiding are conditions on what is compared. A drawer
that is not true at the moment is near to nothing. An answer says where not all could be compared.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, select

from domain.drawers import Superseding, Support, newest
from domain.errors import Unusable
from domain.instants import show
from domain.nearness import cosine_of, millionths
from domain.operations.searching import CheckDuplicateAsks, DuplicatesAsks
from projections import tables
from projections.meaning import WITHOUT_EMBEDDER, Alike, Degraded, Group, Groups, NearTo
from projections.queries.drawer_lists import PREVIEW_CHARACTERS
from projections.queries.drawers import state
from projections.queries.filters import ShownDrawers, shown_in
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading
from projections.tables import Prepared

NEAR_MAX: Final = 50
TWINS_MAX: Final = 50
"""So many more are asked for, as the same texts are left out."""
_NEWEST: Final = 2**63 - 1

_B: Any = bindparam
_texts = tables.texts
_PLACE = Prepared(
    select(_texts.c.wing, _texts.c.room, _texts.c.content == _B("content")).where(
        _texts.c.drawer_id == _B("drawer_id")
    )
)
_CONTENT = Prepared(select(_texts.c.content).where(_texts.c.drawer_id == _B("drawer_id")))


def near_to(reading: Reading, asked: CheckDuplicateAsks) -> NearTo | Degraded:
    """The drawers whose texts are near to one, the same text's among them."""
    if reading.meaning is None:
        return WITHOUT_EMBEDDER
    shown = _shown(reading, asked)
    least = millionths(asked.threshold)
    return reading.meaning.near(reading, asked.content, shown, least, NEAR_MAX + TWINS_MAX)


def near_groups(reading: Reading, asked: DuplicatesAsks) -> dict[str, Any]:
    """One page of drawers near to each other.

    Raises:
        Unusable: `palacelog::vectors::...`, nothing can be compared now.
    """
    last = resume("duplicates", reading, asked, asked.cursor, (int,))
    found: Groups | Degraded = WITHOUT_EMBEDDER
    if reading.meaning is not None:
        before = last[0] if last else _NEWEST
        least = millionths(asked.threshold)
        shown = _shown(reading, asked)
        found = reading.meaning.groups(reading, shown, least, before, asked.limit)
    if isinstance(found, Degraded):
        raise Unusable(
            f"vectors::{found.reason}",
            f"Drawers cannot be compared by meaning: {found.reason}.",
            found.help,
        )
    more = found.last is not None
    return reading.shown() | {
        "groups": [_group(reading, one) for one in found.found],
        "total": None,
        "cursor": cursor_text("duplicates", reading, asked, [found.last]) if more else None,
        **how(found),
    }


def how(found: NearTo | Groups | Degraded) -> dict[str, Any]:
    """What compared, and why not everything was compared."""
    if isinstance(found, Degraded):
        return {"embedder": None, "degraded": found._asdict()}
    return {"embedder": found.embedder, "degraded": found.degraded and found.degraded._asdict()}


def near_line(reading: Reading, one: Alike, content: str) -> dict[str, Any]:
    """A drawer that is near to a text as answers show it."""
    rows = _PLACE(reading.cursor, drawer_id=one.drawer_id, content=content).fetchall()
    [(wing, room, exact)] = rows
    place = {"drawer_id": one.drawer_id, "wing": wing, "room": room}
    return twin_line(reading, place, exact=bool(exact), cosine=cosine_of(one.cosine))


def twin_line(
    reading: Reading, place: dict[str, Any], *, exact: bool, cosine: float | None
) -> dict[str, Any]:
    """A drawer with the same text, or nearly, as answers show it."""
    supports = reading.find(Support, "drawer_id", place["drawer_id"])
    superseded = bool(reading.find(Superseding, "drawer_id", place["drawer_id"]))
    return place | {
        "exact": exact,
        "cosine": cosine,
        "state": state(supports, superseded, reading.as_of),
        "recorded_at": show(newest(supports).recorded_at),
    }


def _group(reading: Reading, group: Group) -> dict[str, Any]:
    last = group.drawers[-1].drawer_id
    [(content,)] = _CONTENT(reading.cursor, drawer_id=last).fetchall()
    return {
        "preview": content[:PREVIEW_CHARACTERS],
        "drawers": [near_line(reading, one, content) for one in group.drawers],
        "complete": group.complete,
    }


def _shown(reading: Reading, asked: CheckDuplicateAsks | DuplicatesAsks) -> ShownDrawers:
    """The drawers that are true at the moment in the places asked for."""
    return shown_in(reading, wing=asked.wing, room=getattr(asked, "room", None))
