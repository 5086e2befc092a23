"""Search by words: the drawers that hold the words of a question, best first (BM25).

Protects exact pages: the ranking is walked as far as a page has lines to fill, equal scores go by
id, and the total is counted as far as anybody would page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, func, literal_column, or_, select

from domain.operations.searching import SearchAsks
from projections import tables
from projections.meaning import SCORE_UNIT, Found
from projections.queries import ranking
from projections.queries.filters import Filters, conditions, filters_of, joined
from projections.reading import Reading
from projections.tables import Prepared
from projections.text import Word, asked, chosen, expression
from projections.tokens import tokens

COUNTED_MAX: Final = 200
CANDIDATES: Final = 100
AHEAD: Final = 4
FILTERED: Final = 10
"""How many times a page's texts are ranked at first, and how many times these where there are
filters: few of the best may not be shown, and few are equal where the page ends.
"""
_BEST: Final = 2**63 - 1

_B: Any = bindparam
_numbered = tables.numbered
_SOURCES: Final = {
    "index": ranking.by_index,
    "list": ranking.by_list,
    "characters": ranking.by_characters,
}


class Sought(NamedTuple):
    """A question, ready to be asked by words.

    Attributes:
        words: what is looked for.
        source: how the texts that hold them are ranked.
        given: the parameters of every statement.
    """

    words: Sequence[Word]
    source: str
    filters: Filters
    given: dict[str, Any]


def sought_of(reading: Reading, asked_for: SearchAsks) -> Sought:
    """What to look for, at the moment of the reading."""
    words = chosen(tokens(asked(asked_for.query)))
    filters, given = filters_of(reading, asked_for)
    if not words:
        source = "characters"
        given["literal"] = asked_for.query.strip()
    elif reading.moment.known_at is None and reading.position == reading.checkpoint.position:
        source = "index"
        given["expression"] = expression(words)
    else:
        source = "list"
        given["ranked"] = ranking.ranked_then(reading, words)
    return Sought(words, source, filters, given)


def total(reading: Reading, sought: Sought) -> int:
    """How many drawers hold any of the words, counted up to `COUNTED_MAX`."""
    [(count,)] = reading.rows(_total(sought.source, sought.filters), **sought.given)
    return int(count)


def candidates(reading: Reading, sought: Sought) -> Sequence[Found]:
    """The best `CANDIDATES`, for a ranking that has more to go by than words."""
    return best(reading, sought, CANDIDATES, CANDIDATES + 1)[:CANDIDATES]


def best(
    reading: Reading, sought: Sought, limit: int, count: int, last: Sequence[Any] = ()
) -> list[Found]:
    """The best behind a place, one more than `limit` where there are: by score, then by id.

    Args:
        count: what `total` says.
        last: score and id of the place; none for the beginning.
    """
    if not count:
        return []
    source, filters = sought.source, sought.filters
    score, drawer_id = last or (_BEST, "")
    given = sought.given | {"last_score": score, "last_id": drawer_id}
    walk, filtered = _walk(source, filters), filters.wing or filters.room or filters.newest
    many = AHEAD * (limit + 1)
    all_at_once = source != "index" or given["last_id"]
    most = ranking.ALL if all_at_once else many * (FILTERED if filtered else 1)
    rows = _found(reading.rows(walk, **given, limit=many, most=most))
    if most != ranking.ALL and len(rows) < min(limit + 1, count):
        rows = _found(reading.rows(walk, **given, limit=many, most=ranking.ALL))
    whole = len(rows) == count < COUNTED_MAX
    if len(rows) > limit and rows[-1].score == rows[limit - 1].score and not whole:
        edge = rows[-1].score
        rows = [one for one in rows if one.score > edge]
        ties = {"edge": edge, "limit": limit + 1 - len(rows), "most": ranking.ALL}
        rows += _found(reading.rows(_equal(source, filters), **given, **ties))
    return sorted(rows, key=lambda one: (-one.score, one.drawer_id))[: limit + 1]


def _found(rows: Sequence[tuple[Any, ...]]) -> list[Found]:
    return [Found(drawer_id, score, {"bm25": score / SCORE_UNIT}) for drawer_id, score in rows]


@cache
def _walk(source: str, filters: Filters) -> Prepared:
    """The ranking from its best, as far as the limit needs it; equal scores in any order."""
    return Prepared(_shown_of(_SOURCES[source](), filters).limit(_B("limit")))


@cache
def _equal(source: str, filters: Filters) -> Prepared:
    """The drawers of one score by id."""
    found = _SOURCES[source]()
    statement = _shown_of(found, filters).where(found.c.score == _B("edge"))
    return Prepared(statement.order_by(_numbered.c.drawer_id).limit(_B("limit")))


@cache
def _total(source: str, filters: Filters) -> Prepared:
    found = ranking.by_index_unranked() if source == "index" else _SOURCES[source]()
    some: Any = select(literal_column("1")).select_from(joined(found, filters))
    some = some.where(*conditions(filters)).limit(COUNTED_MAX)
    return Prepared(select(func.count()).select_from(some.subquery()))


def _shown_of(found: Any, filters: Filters) -> Any:
    """What was found behind the last page and may be shown, in the order in which it was found."""
    return (
        select(_numbered.c.drawer_id, found.c.score)
        .select_from(joined(found, filters))
        .where(
            found.c.score <= _B("last_score"),
            or_(found.c.score < _B("last_score"), _numbered.c.drawer_id > _B("last_id")),
            *conditions(filters),
        )
    )
