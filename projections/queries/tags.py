"""Which tags are in use.

Protects one count: a tag counts for a drawer that is live and true at the moment, as the support
that shows has it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from sqlalchemy import bindparam, func, or_, select

from domain.canonical import comparable
from domain.operations.tags import ListTagsAsks
from projections import tables
from projections.queries.drawer_lists import held, showing, shows, true_within
from projections.reading import Reading
from projections.tables import Prepared

_B: Any = bindparam
_texts = tables.texts


@cache
def _tags(*, placed: bool) -> Prepared:
    """Lists of tags, and how many drawers that are true within [:begin, :end) have each."""
    source: Any = showing
    if placed:
        source = showing.join(_texts, _texts.c.drawer_id == showing.c.drawer_id)
    true = or_(true_within(showing), held(showing.c.drawer_id, timed=True))
    found = select(showing.c.tags, func.count()).select_from(source)
    found = found.where(showing.c.tags != "[]", shows(), true).group_by(showing.c.tags)
    return Prepared(found.where(_texts.c.wing_key == _B("wing")) if placed else found)


def list_tags(reading: Reading, asked: ListTagsAsks) -> dict[str, Any]:
    """The tags in use, the most used first."""
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    chosen = {
        "wing": asked.wing and comparable(asked.wing),
        "begin": reading.as_of,
        "end": reading.as_of + 1,
    }
    for tags, drawers in reading.rows(_tags(placed=asked.wing is not None), **chosen):
        for key, tag in {comparable(tag): tag for tag in orjson.loads(tags)}.items():
            counts[key] = counts.get(key, 0) + drawers
            spellings[key] = min(spellings.get(key, tag), tag)
    order = sorted(counts, key=lambda key: (-counts[key], key))
    return reading.shown() | {
        "tags": [{"tag": spellings[key], "drawers": counts[key]} for key in order],
        "total": len(order),
    }
