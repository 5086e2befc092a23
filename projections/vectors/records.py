"""What a ranking knows of the drawers that it ranks, and which drawers stand beside them.

Protects the ranking from SQL: one row a candidate, read at the reading's moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, func, literal_column, select

from projections import tables
from projections.queries.drawer_lists import showing, shows
from projections.reading import Reading
from projections.tables import Prepared

BESIDE: Final = 3
"""How far before and behind a drawer its neighbours stand."""

_AT_ONCE: Final = 500

_B: Any = bindparam
_numbered, _texts, _operations = tables.numbered, tables.texts, tables.operations


class Record(NamedTuple):
    """A candidate.

    Attributes:
        number: in the order of arrival.
        digest: of its text.
        source: file or session that it came from; "" where neither is known.
        author: who added it; "" where nobody is named.
    """

    number: int
    drawer_id: str
    digest: bytes
    content: str
    source: str
    author: str


_each = func.json_each(_B("drawer_ids")).table_valued("value", name="each")
_id: Any = literal_column("each.value").label("drawer_id")
_asked = select(_id).select_from(_each).cte("asked").prefix_with("MATERIALIZED")
_RECORDS = Prepared(
    select(
        _numbered.c.number,
        _numbered.c.drawer_id,
        _numbered.c.digest,
        _texts.c.content,
        func.coalesce(showing.c.source_file, _operations.c.session, ""),
        func.coalesce(showing.c.added_by, ""),
    )
    .select_from(
        _asked.join(_texts, _texts.c.drawer_id == _asked.c.drawer_id)
        .join(_numbered, _numbered.c.number == literal_column("texts.rowid"))
        .join(showing, showing.c.drawer_id == _asked.c.drawer_id)
        .join(_operations, _operations.c.op_id == showing.c.op_id)
    )
    .where(shows())
)


def records(reading: Reading, drawer_ids: Sequence[str]) -> list[Record]:
    """The candidates by their ids, in the order in which their texts arrived."""
    asked = orjson.dumps(list(drawer_ids)).decode()
    return sorted(Record(*row) for row in reading.rows(_RECORDS, drawer_ids=asked))


def numbers_of(reading: Reading, digests: Sequence[bytes]) -> dict[int, bytes]:
    """The numbered texts that have some digests, whether they may be shown or not."""
    found: dict[int, bytes] = {}
    for at in range(0, len(digests), _AT_ONCE):
        some = digests[at : at + _AT_ONCE]
        marks = ",".join("?" * len(some))
        statement = f"SELECT number, digest FROM numbered WHERE digest IN ({marks})"
        found |= dict(reading.cursor.execute(statement, some).fetchall())
    return found
