"""How beliefs, texts and facts get into the audit copy.

Protects equality with the views: rows are taken from the one snapshot that a reading holds, and
facts are derived by the very rule that every query uses. A row that was copied changes in one way
only: it is believed no longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, Final

from sqlalchemy import bindparam, or_, select

from domain.facts import Assertion, Declared, derive, single_valued
from projections import tables
from projections.audit.schema import TEXTS, belief_columns
from projections.audit.sources import Connection, append, with_rows
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared

_B: Any = bindparam
_assertions, _touches = BELIEFS[Assertion], tables.touches

_TEXTS = Prepared(
    select(*(tables.texts.c[name] for name in TEXTS)).where(
        tables.texts.c.position > _B("after"), tables.texts.c.position <= _B("position")
    )
)
_FACT_ROW = (_assertions.c.key, *fields_of(Assertion))
_FACT_ROWS = Prepared(select(*_FACT_ROW).where(believed(_assertions)).order_by(_assertions.c.key))
_FACT_ROWS_OF = Prepared(
    select(*_FACT_ROW).where(_assertions.c.key == _B("key"), believed(_assertions))
)
_PLACES_OF = Prepared(
    select(_assertions.c.key, _assertions.c.partition)
    .where(_assertions.c.predicate_key == _B("predicate"), believed(_assertions))
    .distinct()
)
_ACKNOWLEDGED_SINCE = Prepared(
    select(tables.acknowledgements.c.position)
    .where(tables.acknowledgements.c.position > _B("after"))
    .limit(1)
)
_FORGET_FACTS: Final = """
DELETE FROM stored.facts WHERE partition IN (SELECT partition FROM gone)
"""


def _changed(table: Any, *, touched: bool) -> Prepared:
    """The rows that were opened or closed behind a position.

    Args:
        touched: only of keys that an event behind it touches; others may change too when a device
            learns another order of its operations.
    """
    closed = (table.c.believed_until > _B("after")) & (table.c.believed_until < STILL_BELIEVED)
    asked = select(table.c.key, *(table.c[name] for name in belief_columns(table))).where(
        or_(table.c.believed_from > _B("after"), closed)
    )
    if not touched:
        return Prepared(asked)
    keys = select(_touches.c.key).where(_touches.c.position > _B("after"))
    return Prepared(asked.where(table.c.key.in_(keys)))


_ANYWHERE: Final = {kind: _changed(table, touched=False) for kind, table in BELIEFS.items()}
_TOUCHED: Final = {kind: _changed(table, touched=True) for kind, table in BELIEFS.items()}


class Beliefs:
    """What the folds believe and believed, the texts, and the facts that show."""

    def catch_up(self, connection: Connection, reading: Reading, after: int) -> None:
        """Append rows that are new, close those that are believed no longer, and derive the facts
        of what changed.
        """
        if after == reading.position:
            return
        texts = _TEXTS(reading.cursor, after=after, position=reading.position)
        append(connection, "stored.texts", texts, lambda row: len(row[-1]))
        reordered = _ACKNOWLEDGED_SINCE(reading.cursor, after=after).fetchone() is not None
        statements = _ANYWHERE if reordered or after == 0 else _TOUCHED
        moved: dict[int, str] = {}
        for kind, statement in statements.items():
            rows = statement(reading.cursor, after=after)
            if after == 0:
                append(connection, _stored(kind), (row[1:] for row in rows))
            else:
                changed = rows.fetchall()
                _take(connection, kind, changed, after)
                moved.update(_places(reading, kind, changed))
        if after == 0:
            streaming = reading.cursor.connection.cursor()
            _derive(connection, reading, _FACT_ROWS(streaming, position=reading.position))
        else:
            _derive_again(connection, reading, moved)


def _stored(kind: type[Any]) -> str:
    return f"stored.{BELIEFS[kind].name}"


def _take(
    connection: Connection, kind: type[Any], rows: Sequence[tuple[Any, ...]], after: int
) -> None:
    """Take changed rows into what was copied up to a position."""
    names = ["key", *belief_columns(BELIEFS[kind])]
    id, since, until = (names.index(name) for name in ("id", "believed_from", "believed_until"))
    append(connection, _stored(kind), (row[1:] for row in rows if row[since] > after))
    closed = [(row[id], row[since], row[until]) for row in rows if row[since] <= after]
    if closed:
        with_rows(
            connection,
            "closed",
            "id VARCHAR, since BIGINT, until BIGINT",
            closed,
            f"UPDATE {_stored(kind)} AS held SET believed_until = closed.until FROM closed "
            "WHERE held.id = closed.id AND held.believed_from = closed.since",
        )


def _places(
    reading: Reading, kind: type[Any], rows: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, str]]:
    """The partitions, with their keys, whose facts may show otherwise because of changed rows."""
    names = ["key", *belief_columns(BELIEFS[kind])]
    if kind is Assertion:
        place = names.index("partition")
        yield from ((row[0], row[place]) for row in rows)
    elif kind is Declared:
        predicate = names.index("predicate_key")
        for one in {row[predicate] for row in rows}:
            yield from ((row[0], row[1]) for row in reading.rows(_PLACES_OF, predicate=one))


def _derive_again(connection: Connection, reading: Reading, moved: dict[int, str]) -> None:
    if not moved:
        return
    gone = [(partition,) for partition in sorted(set(moved.values()))]
    with_rows(connection, "gone", "partition VARCHAR", gone, _FORGET_FACTS)
    rows = chain.from_iterable(reading.rows(_FACT_ROWS_OF, key=key) for key in sorted(moved))
    _derive(connection, reading, rows)


def _derive(connection: Connection, reading: Reading, rows: Iterable[tuple[Any, ...]]) -> None:
    """Append the facts that show of assertions, which come key by key."""
    declared: dict[str, list[Declared]] = {}
    for row in reading.all(Declared):
        declared.setdefault(row.predicate_key, []).append(row)
    facts = (
        fact
        for _, group in groupby(rows, key=lambda row: row[0])
        for fact in _facts([Assertion(*row[1:]) for row in group], declared)
    )
    append(connection, "stored.facts", facts)


def _facts(rows: list[Assertion], declared: dict[str, list[Declared]]) -> Iterator[tuple[Any, ...]]:
    first = rows[0]
    rules = declared.get(first.predicate_key, ())
    single = single_valued(rules, first.wing_key, first.predicate_key)
    for fact in derive(rows, single=single):
        shows = fact.newest
        yield (
            fact.id,
            shows.wing,
            shows.subject,
            shows.predicate,
            shows.object,
            fact.valid_from,
            fact.valid_to,
            shows.confidence,
            shows.partition,
        )
