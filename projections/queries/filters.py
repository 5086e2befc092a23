"""Which drawers a search may show: place, time, tags, and what may not be seen, as conditions.

Protects the order of things: these conditions stand before any ranking, whatever ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, exists, func, literal_column, or_, select

from domain.canonical import comparable
from domain.instants import ENDLESS
from domain.operations.searching import SearchAsks
from projections import tables
from projections.queries.drawer_lists import held, showing, shows, true_within
from projections.reading import Reading
from projections.tables import Prepared

_B: Any = bindparam
_numbered = tables.numbered


class Filters(NamedTuple):
    """Which conditions there are on a hit.

    Attributes:
        timed: some support of it is true within [:begin, :end).
        newest: conditions on the support that shows.
    """

    wing: bool
    room: bool
    timed: bool
    newest: bool


def joined(found: Any, filters: Filters) -> Any:
    """What was found with what its conditions look at."""
    whole = found.join(_numbered, _numbered.c.number == found.c.number)
    if filters.newest:
        whole = whole.join(showing, showing.c.drawer_id == _numbered.c.drawer_id)
    return whole


def conditions(filters: Filters) -> list[Any]:
    """What a drawer must meet; of what `joined` joins."""
    drawer = _numbered.c.drawer_id
    found: list[Any] = []
    if filters.wing:
        found.append(_numbered.c.wing_key == _B("wing"))
    if filters.room:
        found.append(_numbered.c.room_key == _B("room"))
    if not filters.newest:
        return [*found, held(drawer, timed=filters.timed)]
    found += [
        shows(),
        showing.c.recorded_at >= _B("since"),
        showing.c.recorded_at < _B("before"),
        or_(_B("source_file").is_(None), showing.c.source_file == _B("source_file")),
        _carries_all(),
    ]
    if filters.timed:
        found.append(or_(true_within(showing), held(drawer, timed=True)))
    return found


def _carries_all() -> Any:
    """No tag of `:tags`, a JSON list in comparable form, is missing."""
    wanted = func.json_each(_B("tags")).table_valued("value", name="wanted")
    tags = func.json_each(showing.c.tags).table_valued("value", name="tag")
    one: Any = select(literal_column("1"))
    carried = exists(
        one.select_from(tags).where(
            func.folded(literal_column("tag.value")) == literal_column("wanted.value")
        )
    )
    return ~exists(one.select_from(wanted).where(~carried))


def filters_of(reading: Reading, asked_for: SearchAsks) -> tuple[Filters, dict[str, Any]]:
    """The conditions, and the parameters of all of them; a statement takes those that it names."""
    begin, end = reading.as_of, reading.as_of + 1
    if asked_for.from_ is not None or asked_for.until is not None:
        begin = -ENDLESS if asked_for.from_ is None else asked_for.from_
        end = ENDLESS if asked_for.until is None else asked_for.until
    of_newest = (asked_for.since, asked_for.before, asked_for.source_file, asked_for.tags or None)
    filters = Filters(
        wing=asked_for.wing is not None,
        room=asked_for.room is not None,
        timed=not asked_for.include_historical,
        newest=any(one is not None for one in of_newest),
    )
    return filters, {
        "begin": begin,
        "end": end,
        "wing": asked_for.wing and comparable(asked_for.wing),
        "room": asked_for.room and comparable(asked_for.room),
        "tags": orjson.dumps([comparable(tag) for tag in asked_for.tags]).decode(),
        "source_file": asked_for.source_file,
        "since": -ENDLESS if asked_for.since is None else asked_for.since,
        "before": ENDLESS if asked_for.before is None else asked_for.before,
    }


def shown_in(reading: Reading, *, wing: str | None, room: str | None) -> ShownDrawers:
    """The drawers that are true at the reading's moment, in places where they are named."""
    filters = Filters(wing=wing is not None, room=room is not None, timed=True, newest=False)
    given = {
        "begin": reading.as_of,
        "end": reading.as_of + 1,
        "wing": wing and comparable(wing),
        "room": room and comparable(room),
    }
    return ShownDrawers(reading, filters, given)


class ShownDrawers:
    """The drawers that meet the conditions of a search (see `projections.meaning.Shown`)."""

    def __init__(self, reading: Reading, filters: Filters, given: dict[str, Any]) -> None:
        """Ask in a snapshot; `given` are the parameters of the conditions."""
        self._reading, self._filters, self._given = reading, filters, given

    def of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Those of some numbered texts that may be shown, with their drawer ids."""
        asked = orjson.dumps(list(numbers)).decode()
        return dict(self._reading.rows(_of(self._filters), numbers=asked, **self._given))

    def digests(self) -> Sequence[bytes]:
        """The digests of all texts that may be shown."""
        rows = self._reading.rows(_digests(self._filters), **self._given)
        return [digest for (digest,) in rows]


@cache
def _of(filters: Filters) -> Prepared:
    each = func.json_each(_B("numbers")).table_valued("value", name="each")
    number: Any = literal_column("each.value").label("number")
    asked = select(number).select_from(each).cte("asked").prefix_with("MATERIALIZED")
    found = select(_numbered.c.number, _numbered.c.drawer_id).select_from(joined(asked, filters))
    return Prepared(found.where(*conditions(filters)))


@cache
def _digests(filters: Filters) -> Prepared:
    whole: Any = _numbered
    if filters.newest:
        whole = whole.join(showing, showing.c.drawer_id == _numbered.c.drawer_id)
    return Prepared(select(_numbered.c.digest).select_from(whole).where(*conditions(filters)))
