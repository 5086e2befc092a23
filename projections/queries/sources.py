"""The files that drawers came from, and what a worker that mines them finds held already.

Protects one count: a drawer counts where it is live and true at the moment asked. A name is found
in the order of an index, so that a page costs what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, func, literal_column, select

from domain.canonical import comparable
from domain.drawers import Support
from domain.instants import ENDLESS, show
from domain.jobs import Job, JobFile
from domain.operations.sources import ListSourcesAsks, ShowSourceAsks
from projections import tables
from projections.queries.drawer_lists import PREVIEW_CHARACTERS
from projections.queries.paging import cursor_text, resume
from projections.reading import Reading, Rows, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports, _operations = tables.texts, BELIEFS[Support], tables.operations
_jobs, _files = BELIEFS[Job], BELIEFS[JobFile]
_END: Any = chr(0x10FFFF)
"""Sorts behind whatever a name goes on with."""

_joined = _supports.join(_texts, _texts.c.drawer_id == _supports.c.drawer_id)


def _true(*, placed: bool) -> list[Any]:
    found = [
        believed(_supports),
        _supports.c.valid_from <= _B("as_of"),
        _supports.c.valid_to > _B("as_of"),
    ]
    return [*found, _texts.c.wing_key == _B("wing")] if placed else found


def _named() -> list[Any]:
    """Within the names that begin as asked; conditions that the index on them knows."""
    name = _supports.c.source_file
    return [name.is_not(None), name >= _B("first"), name <= _B("end")]


@cache
def _page(*, placed: bool) -> Prepared:
    name = _supports.c.source_file
    wings: Any = literal_column("json_group_array(DISTINCT texts.wing)")
    return Prepared(
        select(
            name,
            func.count(_supports.c.drawer_id.distinct()),
            wings,
            func.max(_supports.c.recorded_at),
        )
        .select_from(_joined)
        .where(*_named(), name > _B("last"), *_true(placed=placed))
        .group_by(name)
        .order_by(name)
        .limit(_B("limit"))
    )


@cache
def _total(*, placed: bool) -> Prepared:
    source = _joined if placed else _supports
    count = func.count(_supports.c.source_file.distinct())
    return Prepared(select(count).select_from(source).where(*_named(), *_true(placed=placed)))


@cache
def _drawers(*, placed: bool) -> Any:
    """The drawers of a file, each with when it was last recorded."""
    newest = func.max(_supports.c.recorded_at).label("newest")
    return (
        select(
            _supports.c.drawer_id,
            _texts.c.wing,
            _texts.c.room,
            func.substr(_texts.c.content, 1, PREVIEW_CHARACTERS).label("preview"),
            newest,
        )
        .select_from(_joined)
        .where(_supports.c.source_file == _B("source_file"), *_true(placed=placed))
        .group_by(_supports.c.drawer_id)
    )


@cache
def _drawers_page(*, placed: bool) -> Prepared:
    found = _drawers(placed=placed).subquery("found")
    return Prepared(
        select(found)
        .where(
            (found.c.newest < _B("last_newest"))
            | ((found.c.newest == _B("last_newest")) & (found.c.drawer_id > _B("last_id")))
        )
        .order_by(found.c.newest.desc(), found.c.drawer_id)
        .limit(_B("limit"))
    )


@cache
def _drawers_total(*, placed: bool) -> Prepared:
    return Prepared(select(func.count()).select_from(_drawers(placed=placed).subquery()))


def list_sources(reading: Reading, asked: ListSourcesAsks) -> dict[str, Any]:
    """One page of the files that live drawers came from, by name."""
    last = resume("list_sources", reading, asked, asked.cursor, (str,))
    placed, prefix = asked.wing is not None, asked.prefix or ""
    chosen = {
        "first": prefix,
        "end": prefix + _END,
        "as_of": reading.as_of,
        **({"wing": comparable(asked.wing)} if asked.wing else {}),
    }
    [(total,)] = reading.rows(_total(placed=placed), **chosen)
    rows = reading.rows(
        _page(placed=placed), **chosen, last=last[0] if last else "", limit=asked.limit + 1
    )
    page, more = rows[: asked.limit], len(rows) > asked.limit
    marks = [page[-1][0]] if more else []
    return reading.shown() | {
        "sources": [_source(*row) for row in page],
        "total": total,
        "cursor": cursor_text("list_sources", reading, asked, marks) if more else None,
    }


def show_source(reading: Reading, asked: ShowSourceAsks) -> dict[str, Any]:
    """One page of the drawers that came from a file, newest first; none where none did."""
    last = resume("show_source", reading, asked, asked.cursor, (int, str))
    placed = asked.wing is not None
    chosen = {
        "source_file": asked.source_file,
        "as_of": reading.as_of,
        **({"wing": comparable(asked.wing)} if asked.wing else {}),
    }
    [(total,)] = reading.rows(_drawers_total(placed=placed), **chosen)
    rows = reading.rows(
        _drawers_page(placed=placed),
        **chosen,
        last_newest=last[0] if last else ENDLESS,
        last_id=last[1] if last else "",
        limit=asked.limit + 1,
    )
    page, more = rows[: asked.limit], len(rows) > asked.limit
    marks = [page[-1][4], page[-1][0]] if more else []
    return reading.shown() | {
        "source_file": asked.source_file,
        "drawers": [_drawer(*row) for row in page],
        "total": total,
        "cursor": cursor_text("show_source", reading, asked, marks) if more else None,
    }


def _source(name: str, drawers: int, wings: str, newest: int) -> dict[str, Any]:
    return {
        "source_file": name,
        "drawers": drawers,
        "wings": sorted(orjson.loads(wings)),
        "newest": show(newest),
    }


def _drawer(id: str, wing: str, room: str, preview: str, newest: int) -> dict[str, Any]:
    return {
        "id": id, "wing": wing, "room": room, "preview": preview, "recorded_at": show(newest)
    }  # fmt: skip


class HeldSource(NamedTuple):
    """The newest live drawer of a wing that came from a file.

    Attributes:
        twin: of its text (see `domain.canonical.twin_digest`).
        alone: whether no other support holds the drawer, and this one is true still.
        tool, key: of the call that last said something of it.
    """

    drawer_id: str
    twin: bytes
    alone: bool
    tool: str
    key: str | None


_others = BELIEFS[Support].alias("others")
_HELD = Prepared(
    select(
        _supports.c.source_file,
        _supports.c.drawer_id,
        _texts.c.twin,
        select(func.count())
        .select_from(_others)
        .where(_others.c.drawer_id == _supports.c.drawer_id, believed(_others))
        .scalar_subquery(),
        _supports.c.valid_to > _B("as_of"),
        _operations.c.tool,
        _operations.c.idempotency_key,
    )
    .select_from(_joined.join(_operations, _operations.c.op_id == _supports.c.op_id))
    .where(*_named(), believed(_supports), _texts.c.wing_key == _B("wing"))
    .order_by(_supports.c.rank, _supports.c.id)
)


def held_sources(
    reading: Reading, wing: str, first: str, end: str
) -> Iterator[tuple[str, HeldSource]]:
    """What a wing holds of files by their names, from `first` to `end`; of several drawers of a
    file the newest comes last.
    """
    for name, id, twin, supports, is_true, tool, key in reading.rows(
        _HELD, wing=comparable(wing), first=first, end=end, as_of=reading.as_of
    ):
        yield name, HeldSource(id, twin, supports == 1 and bool(is_true), tool, key)


_MINED = Prepared(
    select(_files.c.path, _files.c.text)
    .join(_jobs, _jobs.c.id == _files.c.job_id)
    .where(
        _jobs.c.wing_key == _B("wing"),
        believed(_jobs),
        _files.c.path >= _B("first"),
        _files.c.path <= _B("end"),
        _files.c.text.is_not(None),
        believed(_files),
    )
    .order_by(_files.c.rank)
)


def mined_texts(rows: Rows, wing: str, first: str, end: str) -> dict[str, str]:
    """The digest of the text that was last filed in a wing of each file, by its name."""
    return dict(rows.rows(_MINED, wing=comparable(wing), first=first, end=end))


def below(folder: str) -> tuple[str, str]:
    """The first and the last name that a file below a folder can have."""
    inside = folder if folder.endswith("/") else f"{folder}/"
    return inside, inside + _END
