"""Digests of the views: one number that two replicas, or a view and its rebuild, must agree on.

Protects promises 4 and 5 by looking at the rows themselves, each time anew. `state` covers what any
two replicas with the same shared events must show: no stamps, no positions. `full` covers every
row, past beliefs included: it equals that of a rebuild of the same log. Source of the format:
FORMATS.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Table, select

from domain.belief import LOCAL
from domain.canonical import canonical
from domain.catalog import FOLDS
from projections import tables
from projections.full_text import held
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared
from projections.views import read_checkpoint

_STAMPS: Final = frozenset({"rank", "opened", "key", "believed_from", "believed_until"})
_MODULUS: Final = 2**256
_operations, _texts = tables.operations, tables.texts
_TEXTS = Prepared(select(_texts.c.drawer_id, _texts.c.content, _texts.c.shared))


def digests(cursor: sqlite3.Cursor) -> dict[str, Any]:
    """`{area: {state, full}, ..., log_id, position}` of one snapshot; the sums as 64 hex digits."""
    checkpoint = read_checkpoint(cursor)
    areas: dict[str, Any] = {"operations": _sums(_operation_rows(cursor))}
    for name, fold in FOLDS.items():
        areas[name] = _sums(row for kind in fold.kinds for row in _belief_rows(cursor, kind, name))
    return dict(sorted(areas.items())) | {
        "log_id": checkpoint.log_id,
        "position": checkpoint.position,
    }


def contents(cursor: sqlite3.Cursor) -> dict[str, str]:
    """Every table of the views as one sum over its rows, those included that no digest covers: a
    rebuild of the same log makes the very same rows. So does the full text index, which is not
    laid out the same each time: of it, what it holds.
    """
    found = {name: _sum(_all_rows(table)(cursor)) for name, table in tables.metadata.tables.items()}
    return found | {tables.WORDS: _sum(held(cursor))}


def _sum(rows: Iterable[tuple[Any, ...]]) -> str:
    total = sum(_number([_plain(value) for value in row]) for row in rows)
    return f"{total % _MODULUS:064x}"


def _sums(rows: Iterator[tuple[list[Any] | None, list[Any]]]) -> dict[str, str]:
    """The two sums over pairs of (row as `state` sees it, None where it does not; whole row)."""
    state = full = 0
    for shown, whole in rows:
        if shown is not None:
            state += _number(shown)
        full += _number(whole)
    return {"state": f"{state % _MODULUS:064x}", "full": f"{full % _MODULUS:064x}"}


def _number(row: list[Any]) -> int:
    return int.from_bytes(sha256(canonical(row)).digest(), "big")


def _belief_rows(
    cursor: sqlite3.Cursor, kind: type[Any], area: str
) -> Iterator[tuple[list[Any] | None, list[Any]]]:
    table = BELIEFS[kind]
    names = [column.name for column in _shown(table)]
    visible = [index for index, name in enumerate(names) if name not in _STAMPS]
    until, owner = names.index("believed_until"), names.index("area") if "area" in names else None
    for *row, scope in _beliefs_of(table)(cursor):
        if owner is not None and row[owner] != area:
            continue
        plain = [kind.__name__, *(_plain(value) for value in row)]
        held = row[until] == STILL_BELIEVED and not scope.endswith(LOCAL)
        yield [kind.__name__, *(plain[index + 1] for index in visible)] if held else None, plain


def _operation_rows(cursor: sqlite3.Cursor) -> Iterator[tuple[list[Any] | None, list[Any]]]:
    columns = [column.name for column in _shown(_operations)]
    for row in _rows_of(_operations)(cursor):
        named = dict(zip(columns, row, strict=True))
        shown = ["operation", named["op_id"]] if named["stream"] == "shared" else None
        yield shown, ["operation", *(_plain(value) for value in row)]
    for drawer_id, content, shared in _TEXTS(cursor):
        text = ["text", drawer_id, sha256(content.encode()).hexdigest()]
        yield text if shared else None, text


def _shown(table: Table) -> list[Any]:
    """All columns but `key`, which numbers what may be numbered otherwise in a rebuild."""
    return [column for column in table.c if column.name != "key"]


@cache
def _rows_of(table: Table) -> Prepared:
    return Prepared(select(*_shown(table)))


@cache
def _beliefs_of(table: Table) -> Prepared:
    """The belief rows, each with the area of its key."""
    keys = tables.keys
    return Prepared(
        select(*_shown(table), keys.c.area).join_from(table, keys, keys.c.key == table.c.key)
    )


@cache
def _all_rows(table: Table) -> Prepared:
    return Prepared(select(*table.c))


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
