"""Search: the drawers that answer a question best, out of those that may be shown.

Protects the order of things: place, time and hiding are conditions on what is ranked, so that no
hit is lost to one that is not shown. An answer says what ranked it, and where that was less than
it could have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, exists, func, literal_column, select

from domain.drawers import Superseding, Support, newest
from domain.errors import Unusable
from domain.instants import show, shown
from domain.operations.searching import AUTO, HYBRID, LEXICAL, SEMANTIC, SearchAsks
from projections import tables, text
from projections.meaning import (
    SCORE_UNIT,
    TEXTS_FAILED,
    WITHOUT_EMBEDDER,
    Degraded,
    Found,
    Ranked,
    Wish,
)
from projections.queries import lexical, ranking
from projections.queries.authors import named, without
from projections.queries.drawer_lists import showing
from projections.queries.drawers import holds, shown_interval, state
from projections.queries.expanding import beside
from projections.queries.filters import ShownDrawers
from projections.queries.lines import provenance
from projections.queries.paging import cursor_text, resume
from projections.reading import Origin, Reading, believed
from projections.tables import BELIEFS, Prepared
from projections.text import Word
from projections.tokens import stem

_B: Any = bindparam
_numbered, _texts, _operations = tables.numbered, tables.texts, tables.operations
_supersedings = BELIEFS[Superseding]
_each = func.json_each(_B("drawer_ids")).table_valued("value", name="each")
_id: Any = literal_column("each.value").label("drawer_id")
_asked = select(_id).select_from(_each).cte("asked").prefix_with("MATERIALIZED")
_ROWS = Prepared(
    select(
        _texts.c.drawer_id,
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
        _asked.join(_texts, _texts.c.drawer_id == _asked.c.drawer_id)
        .join(showing, showing.c.drawer_id == _texts.c.drawer_id)
        .join(_operations, _operations.c.op_id == showing.c.op_id)
    )
    .where(believed(showing))
)
_OF_TEXT: Final = 5
_OF_ORIGIN: Final = _OF_TEXT + len(Origin._fields)


class Page(NamedTuple):
    """What a search found.

    Attributes:
        total: on all pages, not counted beyond `lexical.COUNTED_MAX`.
        words: what was looked for.
        ranking: what the order goes by.
        embedder: whose vectors were asked; None where words alone rank.
    """

    found: Sequence[Found]
    more: bool
    total: int
    words: Sequence[Word]
    ranking: str
    embedder: str | None = None
    degraded: Degraded | None = None


def search(reading: Reading, asked_for: SearchAsks) -> dict[str, Any]:
    """One page of hits, best first."""
    page = find(reading, asked_for)
    windowed = asked_for.from_ is not None or asked_for.until is not None
    last = page.found[-1] if page.more else None
    return reading.shown(all_of_time=windowed or asked_for.include_historical) | {
        "hits": hits(reading, page.found, asked_for.query, page.words),
        "total": page.total,
        "total_is_exact": page.total < lexical.COUNTED_MAX,
        "words": [word.text for word in page.words],
        "ranking": page.ranking,
        "embedder": page.embedder,
        "degraded": page.degraded and page.degraded._asdict(),
        "expanded": expanded(reading, asked_for, page) if asked_for.expand else [],
        "cursor": last and cursor_text("search", reading, asked_for, [last.score, last.drawer_id]),
    }


def find(reading: Reading, asked_for: SearchAsks) -> Page:
    """The drawers of one page.

    Raises:
        Unusable: `palacelog::vectors::...`, meaning alone was asked for, or a distance, and cannot
            be now.
    """
    last = resume("search", reading, asked_for, asked_for.cursor, (int, str))
    sought = lexical.sought_of(reading, asked_for)
    ranked = _by_meaning(reading, asked_for, sought)
    if isinstance(ranked, Ranked):
        return _page(ranked, asked_for, sought.words, last)
    if asked_for.max_distance is not None:
        raise cannot(ranked or WITHOUT_EMBEDDER)
    count = lexical.total(reading, sought)
    found = lexical.best(reading, sought, asked_for.limit, count, last)
    more = len(found) > asked_for.limit
    page = Page(found[: asked_for.limit], more, count, sought.words, LEXICAL)
    return page._replace(degraded=ranked)


def _page(
    ranked: Ranked, asked_for: SearchAsks, words: Sequence[Word], last: Sequence[Any]
) -> Page:
    """The lines of a whole ranking behind a place."""
    found = ranked.found
    if last:
        score, drawer_id = last
        found = [one for one in found if (-one.score, one.drawer_id) > (-score, drawer_id)]
    how = SEMANTIC if asked_for.ranking == SEMANTIC else HYBRID
    return Page(
        found[: asked_for.limit],
        len(found) > asked_for.limit,
        min(len(ranked.found), lexical.COUNTED_MAX),
        words,
        how,
        ranked.embedder,
        ranked.degraded,
    )


def _by_meaning(
    reading: Reading, asked_for: SearchAsks, sought: lexical.Sought
) -> Ranked | Degraded | None:
    """A ranking with meaning in it; None where words alone were asked for, or can be."""
    how, meaning = asked_for.ranking, reading.meaning
    if how == LEXICAL or (how == AUTO and meaning is None):
        return None
    if meaning is None:
        raise cannot(WITHOUT_EMBEDDER)
    authors = named(reading, asked_for.query)
    query = without(asked_for.query, authors)
    if query != asked_for.query:
        sought = lexical.sought_of(reading, asked_for.model_copy(update={"query": query}))
    wish = Wish(
        query,
        authors,
        partial(lexical.candidates, reading, sought),
        ranking.rarities(reading, sought.words),
        ShownDrawers(reading, sought.filters, sought.given),
        asked_for.max_distance,
    )
    ranked = (meaning.semantic if how == SEMANTIC else meaning.hybrid)(reading, wish)
    degraded = ranked if isinstance(ranked, Degraded) else ranked.degraded
    if how == SEMANTIC and degraded is not None and degraded.reason != TEXTS_FAILED:
        raise cannot(degraded)
    return ranked


def cannot(degraded: Degraded) -> Unusable:
    """The refusal to search by meaning."""
    why = f"{degraded.lag} texts have no vectors yet" if degraded.lag else degraded.reason
    return Unusable(
        f"vectors::{degraded.reason}",
        f"Memory cannot be searched by meaning: {why}.",
        degraded.help,
    )


def expanded(reading: Reading, asked_for: SearchAsks, page: Page) -> list[dict[str, Any]]:
    """What lies beside the hits of a page."""
    looked_for = sought_in(asked_for.query, page.words)
    found = beside(reading, asked_for, [one.drawer_id for one in page.found])
    told = lines(reading, [one.drawer_id for one in found], looked_for)
    return [
        told[one.drawer_id] | {"why": one.why, "through": one.through, "hit": one.hit}
        for one in found
    ]


def hits(
    reading: Reading, found: Sequence[Found], query: str, words: Sequence[Word]
) -> list[dict[str, Any]]:
    """What was found as answers show it."""
    told = lines(reading, [one.drawer_id for one in found], sought_in(query, words))
    return [
        told[one.drawer_id] | {"score": one.score / SCORE_UNIT, "signals": dict(one.signals)}
        for one in found
    ]


def sought_in(query: str, words: Sequence[Word]) -> text.Sought:
    """What a snippet is to stand around."""
    return text.sought(query, [(word.text, stem(word.text)) for word in words])


def lines(
    reading: Reading, drawer_ids: Sequence[str], looked_for: text.Sought
) -> dict[str, dict[str, Any]]:
    """Drawers as answers show them, each with the part of its text that was looked for."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for row in reading.rows(_ROWS, drawer_ids=orjson.dumps(list(drawer_ids)).decode()):
        rows.setdefault(row[0], []).append(row)
    return {drawer_id: _line(reading, own, looked_for) for drawer_id, own in rows.items()}


def _line(
    reading: Reading, rows: Sequence[tuple[Any, ...]], looked_for: text.Sought
) -> dict[str, Any]:
    supports = [Support(*row[_OF_ORIGIN:]) for row in rows]
    now = newest(supports)
    row = next(row for row, support in zip(rows, supports, strict=True) if support is now)
    drawer_id, wing, room, content, superseded = row[:_OF_TEXT]
    start, end = shown_interval(supports, reading.as_of)
    return {
        "drawer_id": drawer_id,
        "wing": wing,
        "room": room,
        "snippet": text.snippet(content, looked_for),
        "tags": orjson.loads(now.tags),
        "source_file": now.source_file,
        "valid_from": show(start),
        "valid_to": shown(end),
        "state": state(supports, bool(superseded), reading.as_of),
        "current": holds(supports, reading.as_of),
        "recorded_at": show(now.recorded_at),
        "provenance": provenance(Origin(*row[_OF_TEXT:_OF_ORIGIN])),
    }
