"""Lists of drawers: one page, newest first, and how many there are in all.

Protects short answers in large palaces: a page reads as many rows as it shows, in the order of an
index, and the total reads indexes alone where no filter looks at the newest support. Each set of
filters has statements of its own, so that no filter that is left out stands in the way of an index.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, exists, func, literal_column, or_, select, tuple_

from domain.canonical import comparable
from domain.drawers import Superseding, Support
from domain.instants import ENDLESS, show, shown
from domain.operations.drawers import ListDrawersAsks
from projections import tables
from projections.queries.drawers import holds, shown_interval, state
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

PREVIEW_CHARACTERS: Final = 200
FEW: Final = 500
"""Where a wing or room holds no more, its drawers are sorted; else all are walked, newest first."""

_B: Any = bindparam
_texts, _supersedings = tables.texts, BELIEFS[Superseding]
showing = BELIEFS[Support].alias("s")
_newer, _overlapping = BELIEFS[Support].alias("n"), BELIEFS[Support].alias("o")
_SUPERSEDED = Prepared(
    select(func.count()).where(
        _supersedings.c.drawer_id == _B("drawer_id"), believed(_supersedings)
    )
)


class _Filters(NamedTuple):
    """Which filters a list has.

    Attributes:
        timed: only drawers that some support holds true within [:begin, :end).
        dated, tagged: by the support that shows, the newest.
    """

    wing: bool
    room: bool
    timed: bool
    dated: bool
    tagged: bool

    @property
    def placed(self) -> bool:
        """By what the text itself says."""
        return self.wing or self.room


def shows() -> Any:
    """The support is believed and no later one of its drawer is.

    A drawer's only support is passed over by its row id, that is without a look at the table.
    """
    later = exists(
        select(literal_column("1"))
        .select_from(_newer)
        .where(
            _newer.c.drawer_id == showing.c.drawer_id,
            believed(_newer),
            literal_column("n.rowid") != literal_column("s.rowid"),
            tuple_(_newer.c.rank, _newer.c.id) > tuple_(showing.c.rank, showing.c.id),
        )
    )
    return believed(showing) & ~later


def true_within(supports: Any) -> Any:
    """A support's interval meets [:begin, :end)."""
    return (
        (supports.c.valid_from < _B("end"))
        & (supports.c.valid_to > _B("begin"))
        & (supports.c.valid_from < supports.c.valid_to)
    )


def held(drawer_id: Any, *, timed: bool) -> Any:
    """Some support of the drawer is believed, with `timed` one that is true within the window."""
    found: Any = select(literal_column("1")).select_from(_overlapping)
    found = found.where(_overlapping.c.drawer_id == drawer_id, believed(_overlapping))
    return exists(found.where(true_within(_overlapping)) if timed else found)


def _in_place(filters: _Filters, *, by_index: bool) -> list[Any]:
    """The conditions on wing and room; a plus sign keeps SQLite from looking for them first."""
    sign = "" if by_index else "+"
    asked = {"wing": filters.wing, "room": filters.room}
    return [
        literal_column(f"{sign}texts.{name}_key") == _B(name)
        for name, given in asked.items()
        if given
    ]


def _by_newest(filters: _Filters) -> list[Any]:
    """The conditions on the support that shows."""
    conditions = [shows()]
    if filters.dated:
        conditions += [
            showing.c.recorded_at >= _B("since"),
            showing.c.recorded_at < _B("before"),
        ]
    if filters.tagged:
        tags = func.json_each(showing.c.tags).table_valued("value", name="tag")
        of_one: Any = select(literal_column("1")).select_from(tags)
        conditions += [
            showing.c.tags != "[]",
            exists(of_one.where(func.folded(literal_column("tag.value")) == _B("tag"))),
        ]
    if filters.timed:
        conditions.append(or_(true_within(showing), held(showing.c.drawer_id, timed=True)))
    return conditions


@cache
def _page(filters: _Filters, *, by_index: bool) -> Prepared:
    """Lines behind a place, newest first and equal times by id."""
    at, drawer = showing.c.recorded_at, showing.c.drawer_id
    return Prepared(
        select(
            drawer,
            _texts.c.wing,
            _texts.c.room,
            func.substr(_texts.c.content, 1, PREVIEW_CHARACTERS),
            showing.c.tags,
            at,
        )
        .select_from(showing.join(_texts, _texts.c.drawer_id == drawer))
        .where(
            *_in_place(filters, by_index=by_index),
            at <= _B("last_recorded_at"),
            or_(at < _B("last_recorded_at"), drawer > _B("last_id")),
            *_by_newest(filters),
        )
        .order_by(at.desc(), drawer)
        .limit(_B("limit"))
    )


@cache
def _total(filters: _Filters) -> Prepared:
    """How many drawers there are on all pages."""
    place = _in_place(filters, by_index=True)
    if filters.dated or filters.tagged:
        joined = showing.join(_texts, _texts.c.drawer_id == showing.c.drawer_id)
        source = joined if filters.placed else showing
        return Prepared(
            select(func.count()).select_from(source).where(*place, *_by_newest(filters))
        )
    if filters.placed:
        some = held(_texts.c.drawer_id, timed=filters.timed)
        return Prepared(select(func.count()).select_from(_texts).where(*place, some))
    some = believed(showing)
    drawers = select(showing.c.drawer_id).where(
        some & true_within(showing) if filters.timed else some
    )
    return Prepared(
        select(func.count()).select_from(drawers.group_by(showing.c.drawer_id).subquery())
    )


def list_drawers(reading: Reading, asked: ListDrawersAsks) -> dict[str, Any]:
    """One page of drawers, newest first."""
    last = resume("list_drawers", reading, asked, asked.cursor, (int, str))
    windowed = asked.from_ is not None or asked.until is not None
    filters = _Filters(
        wing=asked.wing is not None,
        room=asked.room is not None,
        timed=not asked.include_historical,
        dated=asked.since is not None or asked.before is not None,
        tagged=asked.tag is not None,
    )
    chosen = _chosen(reading, asked)
    [(total,)] = reading.rows(_total(filters), **chosen)
    rows = reading.rows(
        _page(filters, by_index=filters.placed and total <= FEW),
        **chosen,
        last_recorded_at=last[0] if last else ENDLESS,
        last_id=last[1] if last else "",
        limit=asked.limit + 1 if total else 0,
    )
    page = rows[: asked.limit]
    more = len(rows) > asked.limit
    marks = [page[-1][5], page[-1][0]] if more else []
    return reading.shown(all_of_time=windowed or asked.include_historical) | {
        "drawers": [_line(reading, row) for row in page],
        "total": total,
        "cursor": cursor_text("list_drawers", reading, asked, marks) if more else None,
    }


def _chosen(reading: Reading, asked: ListDrawersAsks) -> dict[str, Any]:
    """The parameters of all filters, given or not; a statement takes those that it names."""
    begin, end = reading.as_of, reading.as_of + 1
    if asked.from_ is not None or asked.until is not None:
        begin = -ENDLESS if asked.from_ is None else asked.from_
        end = ENDLESS if asked.until is None else asked.until
    return {
        "begin": begin,
        "end": end,
        "wing": asked.wing and comparable(asked.wing),
        "room": asked.room and comparable(asked.room),
        "tag": asked.tag and comparable(asked.tag),
        "since": -ENDLESS if asked.since is None else asked.since,
        "before": ENDLESS if asked.before is None else asked.before,
    }


def _line(reading: Reading, row: tuple[Any, ...]) -> dict[str, Any]:
    drawer_id, wing, room, preview, tags, recorded_at = row
    supports = reading.find(Support, "drawer_id", drawer_id)
    start, end = shown_interval(supports, reading.as_of)
    [(supersedings,)] = reading.rows(_SUPERSEDED, drawer_id=drawer_id)
    return {
        "id": drawer_id,
        "wing": wing,
        "room": room,
        "preview": preview,
        "tags": orjson.loads(tags),
        "valid_from": show(start),
        "valid_to": shown(end),
        "state": state(supports, supersedings > 0, reading.as_of),
        "current": holds(supports, reading.as_of),
        "recorded_at": show(recorded_at),
    }
