"""Search: the drawers that answer a question best, out of those that may be shown.

Protects the order of things: place, time and hiding are conditions on what is ranked, so that no
hit is lost to one that is not shown. A page walks the ranking as far as it has lines to fill, and
the total is counted as far as anybody would page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, exists, func, literal_column, or_, select

from domain.canonical import comparable
from domain.drawers import Superseding, Support, newest
from domain.instants import ENDLESS, show, shown
from domain.operations.searching import SearchAsks
from projections import tables
from projections.queries import ranking
from projections.queries.drawer_lists import held, showing, shows, true_within
from projections.queries.drawers import holds, shown_interval, state
from projections.queries.lines import provenance
from projections.queries.paging import cursor_text, resume
from projections.reading import Origin, Reading, believed
from projections.tables import BELIEFS, Prepared
from projections.text import Sought, Word, asked, chosen, expression, snippet, sought
from projections.tokens import stem, tokens

COUNTED_MAX: Final = 200
AHEAD: Final = 4
FILTERED: Final = 10
"""How many times a page's texts are ranked at first, and how many times these where there are
filters: few of the best may not be shown, and few are equal where the page ends.
"""
_BEST: Final = 2**63 - 1

_B: Any = bindparam
_numbered, _texts, _operations = tables.numbered, tables.texts, tables.operations
_supersedings = BELIEFS[Superseding]
_ROWS = Prepared(
    select(
        _texts.c.wing,
        _texts.c.room,
        _texts.c.content,
        exists(
            select(literal_column("1"))
            .select_from(_supersedings)
            .where(_supersedings.c.drawer_id == _texts.c.drawer_id, believed(_supersedings))
        ),
        *(getattr(_operations.c, name) for name in Origin._fields),
        *(showing.c[name] for name in Support._fields),
    )
    .select_from(
        _texts.join(showing, showing.c.drawer_id == _texts.c.drawer_id).join(
            _operations, _operations.c.op_id == showing.c.op_id
        )
    )
    .where(_texts.c.drawer_id == _B("drawer_id"), believed(showing))
)
_OF_TEXT: Final = 4
_OF_ORIGIN: Final = _OF_TEXT + len(Origin._fields)


class Found(NamedTuple):
    """A drawer and how well it answers, in billionths."""

    drawer_id: str
    score: int


class Page(NamedTuple):
    """What a search found.

    Attributes:
        total: on all pages, not counted beyond `COUNTED_MAX`.
        words: what was looked for.
    """

    found: Sequence[Found]
    more: bool
    total: int
    words: Sequence[Word]


class _Filters(NamedTuple):
    """Which conditions there are on a hit.

    Attributes:
        timed: some support of it is true within [:begin, :end).
        newest: conditions on the support that shows.
    """

    wing: bool
    room: bool
    timed: bool
    newest: bool


_SOURCES: Final = {
    "index": ranking.by_index,
    "list": ranking.by_list,
    "characters": ranking.by_characters,
}


def search(reading: Reading, asked_for: SearchAsks) -> dict[str, Any]:
    """One page of hits, best first."""
    page = find(reading, asked_for)
    windowed = asked_for.from_ is not None or asked_for.until is not None
    last = page.found[-1] if page.more else None
    return reading.shown(all_of_time=windowed or asked_for.include_historical) | {
        "hits": hits(reading, page.found, asked_for.query, page.words),
        "total": page.total,
        "total_is_exact": page.total < COUNTED_MAX,
        "words": [word.text for word in page.words],
        "cursor": last and cursor_text("search", reading, asked_for, [last.score, last.drawer_id]),
    }


def find(reading: Reading, asked_for: SearchAsks) -> Page:
    """The drawers of one page."""
    last = resume("search", reading, asked_for, asked_for.cursor, (int, str))
    words = chosen(tokens(asked(asked_for.query)))
    filters, given = _filters(reading, asked_for)
    given |= {"last_score": last[0] if last else _BEST, "last_id": last[1] if last else ""}
    if not words:
        source = "characters"
        given["literal"] = asked_for.query.strip()
    elif reading.moment.known_at is None and reading.position == reading.checkpoint.position:
        source = "index"
        given["expression"] = expression(words)
    else:
        source = "list"
        given["ranked"] = ranking.ranked_then(reading, words)
    [(total,)] = reading.rows(_total(source, filters), **given)
    found = _best(reading, source, filters, given, asked_for.limit, total)
    return Page(found[: asked_for.limit], len(found) > asked_for.limit, total, words)


def hits(
    reading: Reading, found: Sequence[Found], query: str, words: Sequence[Word]
) -> list[dict[str, Any]]:
    """What was found as answers show it."""
    looked_for = sought(query, [(word.text, stem(word.text)) for word in words])
    return [_hit(reading, one, looked_for) for one in found]


def _hit(reading: Reading, found: Found, looked_for: Sought) -> dict[str, Any]:
    rows = reading.rows(_ROWS, drawer_id=found.drawer_id)
    supports = [Support(*row[_OF_ORIGIN:]) for row in rows]
    now = newest(supports)
    row = next(row for row, support in zip(rows, supports, strict=True) if support is now)
    wing, room, content, superseded = row[:_OF_TEXT]
    start, end = shown_interval(supports, reading.as_of)
    return {
        "drawer_id": found.drawer_id,
        "wing": wing,
        "room": room,
        "snippet": snippet(content, looked_for),
        "score": found.score / ranking.SCORE_UNIT,
        "tags": orjson.loads(now.tags),
        "source_file": now.source_file,
        "valid_from": show(start),
        "valid_to": shown(end),
        "state": state(supports, bool(superseded), reading.as_of),
        "current": holds(supports, reading.as_of),
        "recorded_at": show(now.recorded_at),
        "provenance": provenance(Origin(*row[_OF_TEXT:_OF_ORIGIN])),
    }


def _best(
    reading: Reading,
    source: str,
    filters: _Filters,
    given: dict[str, Any],
    limit: int,
    total: int,
) -> list[Found]:
    """The best behind a place, one more than `limit` where there are: by score, then by id."""
    if not total:
        return []
    walk, filtered = _walk(source, filters), filters.wing or filters.room or filters.newest
    many = AHEAD * (limit + 1)
    all_at_once = source != "index" or given["last_id"]
    most = ranking.ALL if all_at_once else many * (FILTERED if filtered else 1)
    rows = _found(reading.rows(walk, **given, limit=many, most=most))
    if most != ranking.ALL and len(rows) < min(limit + 1, total):
        rows = _found(reading.rows(walk, **given, limit=many, most=ranking.ALL))
    whole = len(rows) == total < COUNTED_MAX
    if len(rows) > limit and rows[-1].score == rows[limit - 1].score and not whole:
        edge = rows[-1].score
        rows = [one for one in rows if one.score > edge]
        ties = {"edge": edge, "limit": limit + 1 - len(rows), "most": ranking.ALL}
        rows += _found(reading.rows(_equal(source, filters), **given, **ties))
    return sorted(rows, key=lambda one: (-one.score, one.drawer_id))[: limit + 1]


def _found(rows: Sequence[tuple[Any, ...]]) -> list[Found]:
    return [Found(*row) for row in rows]


@cache
def _walk(source: str, filters: _Filters) -> Prepared:
    """The ranking from its best, as far as the limit needs it; equal scores in any order."""
    return Prepared(_shown_of(_SOURCES[source](), filters).limit(_B("limit")))


@cache
def _equal(source: str, filters: _Filters) -> Prepared:
    """The drawers of one score by id."""
    found = _SOURCES[source]()
    statement = _shown_of(found, filters).where(found.c.score == _B("edge"))
    return Prepared(statement.order_by(_numbered.c.drawer_id).limit(_B("limit")))


@cache
def _total(source: str, filters: _Filters) -> Prepared:
    found = ranking.by_index_unranked() if source == "index" else _SOURCES[source]()
    some: Any = select(literal_column("1")).select_from(_joined(found, filters))
    some = some.where(*_conditions(filters)).limit(COUNTED_MAX)
    return Prepared(select(func.count()).select_from(some.subquery()))


def _shown_of(found: Any, filters: _Filters) -> Any:
    """What was found behind the last page and may be shown, in the order in which it was found."""
    return (
        select(_numbered.c.drawer_id, found.c.score)
        .select_from(_joined(found, filters))
        .where(
            found.c.score <= _B("last_score"),
            or_(found.c.score < _B("last_score"), _numbered.c.drawer_id > _B("last_id")),
            *_conditions(filters),
        )
    )


def _joined(found: Any, filters: _Filters) -> Any:
    """What was found with what its conditions look at."""
    joined = found.join(_numbered, _numbered.c.number == found.c.number)
    if filters.newest:
        joined = joined.join(showing, showing.c.drawer_id == _numbered.c.drawer_id)
    return joined


def _conditions(filters: _Filters) -> list[Any]:
    drawer = _numbered.c.drawer_id
    conditions: list[Any] = []
    if filters.wing:
        conditions.append(_numbered.c.wing_key == _B("wing"))
    if filters.room:
        conditions.append(_numbered.c.room_key == _B("room"))
    if not filters.newest:
        return [*conditions, held(drawer, timed=filters.timed)]
    conditions += [
        shows(),
        showing.c.recorded_at >= _B("since"),
        showing.c.recorded_at < _B("before"),
        or_(_B("source_file").is_(None), showing.c.source_file == _B("source_file")),
        _carries_all(),
    ]
    if filters.timed:
        conditions.append(or_(true_within(showing), held(drawer, timed=True)))
    return conditions


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


def _filters(reading: Reading, asked_for: SearchAsks) -> tuple[_Filters, dict[str, Any]]:
    """The conditions, and the parameters of all of them; a statement takes those that it names."""
    begin, end = reading.as_of, reading.as_of + 1
    if asked_for.from_ is not None or asked_for.until is not None:
        begin = -ENDLESS if asked_for.from_ is None else asked_for.from_
        end = ENDLESS if asked_for.until is None else asked_for.until
    of_newest = (asked_for.since, asked_for.before, asked_for.source_file, asked_for.tags or None)
    filters = _Filters(
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
