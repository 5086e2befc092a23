"""What a ranking knows of the drawers that it ranks, and which drawers stand beside them.

Protects the ranking from SQL: one row a candidate, read at the reading's moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, func, literal_column, select

from projections import tables
from projections.queries.drawer_lists import showing, shows
from projections.reading import Reading
from projections.tables import Prepared

ENDING_CHARACTERS: Final = 40
_AT_ONCE: Final = 500

_B: Any = bindparam
_numbered, _texts, _operations = tables.numbered, tables.texts, tables.operations


class Record(NamedTuple):
    """A drawer as a ranking sees it.

    Attributes:
        number: in the order of arrival.
        digest: of its text.
        length: of its text, in characters.
        ending: the last characters of its text.
        source: file or session that it came from; "" where neither is known.
        author: who added it, in comparable form; "" where nobody is named.
        valid_from: microseconds UTC.
    """

    number: int
    drawer_id: str
    digest: bytes
    length: int
    ending: str
    source: str
    author: str
    valid_from: int


_each = func.json_each(_B("numbers")).table_valued("value", name="each")
_number: Any = literal_column("each.value").label("number")
_asked = select(_number).select_from(_each).cte("asked").prefix_with("MATERIALIZED")
_RECORDS = Prepared(
    select(
        _numbered.c.number,
        _numbered.c.drawer_id,
        _numbered.c.digest,
        func.length(_texts.c.content),
        func.substr(_texts.c.content, -ENDING_CHARACTERS),
        func.coalesce(showing.c.source_file, _operations.c.session, ""),
        func.folded(func.coalesce(showing.c.added_by, "")),
        showing.c.valid_from,
    )
    .select_from(
        _asked.join(_numbered, _numbered.c.number == _asked.c.number)
        .join(_texts, literal_column("texts.rowid") == _numbered.c.number)
        .join(showing, showing.c.drawer_id == _numbered.c.drawer_id)
        .join(_operations, _operations.c.op_id == showing.c.op_id)
    )
    .where(shows())
)
_ids = func.json_each(_B("drawer_ids")).table_valued("value", name="each")
_id: Any = literal_column("each.value").label("drawer_id")
_asked_ids = select(_id).select_from(_ids).cte("asked").prefix_with("MATERIALIZED")
_NUMBERS = Prepared(
    select(literal_column("texts.rowid")).select_from(
        _asked_ids.join(_texts, _texts.c.drawer_id == _asked_ids.c.drawer_id)
    )
)


def records(reading: Reading, numbers: Iterable[int]) -> dict[int, Record]:
    """The live drawers of some numbered texts."""
    rows = reading.rows(_RECORDS, numbers=orjson.dumps(list(numbers)).decode())
    return {row[0]: Record(*row) for row in rows}


def numbers_of_drawers(reading: Reading, drawer_ids: Sequence[str]) -> list[int]:
    """The numbers of the texts of some drawers."""
    asked = orjson.dumps(list(drawer_ids)).decode()
    return [number for (number,) in reading.rows(_NUMBERS, drawer_ids=asked)]


def numbers_of(reading: Reading, digests: Sequence[bytes]) -> dict[int, bytes]:
    """The numbered texts that have some digests, whether they may be shown or not."""
    found: dict[int, bytes] = {}
    for at in range(0, len(digests), _AT_ONCE):
        some = digests[at : at + _AT_ONCE]
        marks = ",".join("?" * len(some))
        statement = f"SELECT number, digest FROM numbered WHERE digest IN ({marks})"
        found |= dict(reading.cursor.execute(statement, some).fetchall())
    return found
