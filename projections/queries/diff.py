"""What memory gained, lost and changed between two moments of log time.

Protects an answer that stays the same: it compares what was believed at two positions, so a rebuild
or what is written later changes nothing in it. That time passes is no change: a fact that was known
to end on a day is not listed when the day has come. What is hidden shows its id alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select, union

from domain.drawers import Support, newest, valid_time
from domain.errors import invalid
from domain.facts import Assertion, Declared, Fact, derive, single_valued
from domain.instants import show, shown
from domain.operations.audit import DiffAsks
from projections import tables
from projections.queries.drawer_lists import PREVIEW_CHARACTERS
from projections.reading import Reading, believed, fields_of
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_supports, _assertions, _declared = BELIEFS[Support], BELIEFS[Assertion], BELIEFS[Declared]
_texts = tables.texts


def _moved(table: Any) -> Any:
    """Rows that were opened or closed after `:a` and up to `:b`."""
    opened, closed = table.c.believed_from, table.c.believed_until
    return or_(and_(opened > _B("a"), opened <= _B("b")), and_(closed > _B("a"), closed <= _B("b")))


_SUPPORTS = Prepared(
    select(*fields_of(Support)).where(
        believed(_supports),
        _supports.c.drawer_id.in_(select(_supports.c.drawer_id).where(_moved(_supports))),
    )
)
_redeclared = select(_declared.c.predicate_key).where(_moved(_declared))
_KEYS: Any = union(
    select(_assertions.c.key).where(_moved(_assertions)),
    select(_assertions.c.key).where(_assertions.c.predicate_key.in_(_redeclared)),
)
_ASSERTIONS = Prepared(
    select(_assertions.c.key, *fields_of(Assertion)).where(
        believed(_assertions), _assertions.c.key.in_(_KEYS)
    )
)
_PREVIEW = Prepared(
    select(func.substr(_texts.c.content, 1, PREVIEW_CHARACTERS)).where(
        _texts.c.drawer_id == _B("drawer_id")
    )
)
_DRAWER_FIELDS: Final = ("tags", "source_file", "added_by", "metadata")
_FACT_FIELDS: Final = ("object", "valid_from", "valid_to", "confidence")


class _Change(NamedTuple):
    """Something that is not as it was.

    Attributes:
        order: lists are sorted by it, newest first; the rank of what shows, and the id.
    """

    order: tuple[bytes, str]
    line: dict[str, Any]


def diff(reading: Reading, asked: DiffAsks) -> dict[str, Any]:
    """What memory gained, lost and changed after moment `a` and up to moment `b`.

    Raises:
        InvalidInput: `b` lies before `a`.
    """
    before = reading.at(asked.a)
    after = reading if asked.b is None else reading.at(asked.b)
    if before.position > after.position:
        raise invalid("b", "lies before `a`", "Give the earlier moment as `a`.")
    between = {"a": before.position, "b": after.position}
    return {
        "log_id": reading.checkpoint.log_id,
        "a": _moment(before),
        "b": _moment(after),
        "drawers": {
            name: _bounded(found, asked.limit, reading)
            for name, found in _drawers(before, after, between).items()
        },
        "facts": {
            name: _bounded(found, asked.limit, None)
            for name, found in _facts(before, after, between).items()
        },
    }


def _moment(reading: Reading) -> dict[str, Any]:
    known_at = reading.moment.known_at
    return {
        "position": reading.position,
        "known_at": None if known_at is None else show(known_at),
    }


def _bounded(found: list[_Change], limit: int, reading: Reading | None) -> dict[str, Any]:
    """The newest changes of a list; drawers that are not hidden with a preview."""
    found.sort(key=lambda change: change.order, reverse=True)
    lines = [change.line for change in found[:limit]]
    if reading is not None:
        for line in lines:
            if not line.pop("hidden"):
                [line["preview"]] = _PREVIEW(reading.cursor, drawer_id=line["id"]).fetchone()
    return {"total": len(found), "lines": lines}


def _drawers(before: Reading, after: Reading, between: dict[str, int]) -> dict[str, list[_Change]]:
    was, now = (_by_drawer(one.rows(_SUPPORTS, **between)) for one in (before, after))
    held_by = {row.id: row.drawer_id for rows in now.values() for row in rows}
    moved: dict[str, str] = {}
    added, hidden, changed = [], [], []
    for drawer, rows in was.items():
        if drawer not in now:
            taken = next((held_by[row.id] for row in rows if row.id in held_by), None)
            if taken is None:
                hidden.append(_drawer(drawer, rows, hidden=True))
            else:
                moved[taken] = drawer
    for drawer, rows in now.items():
        old = was.get(moved.get(drawer, drawer), [])
        if not old:
            added.append(_drawer(drawer, rows))
            continue
        fields = _differing(old, rows)
        if drawer in moved:
            changed.append(_drawer(drawer, rows, moved[drawer], ["content", *fields]))
        elif fields:
            changed.append(_drawer(drawer, rows, None, fields))
    return {"added": added, "hidden": hidden, "changed": changed}


def _by_drawer(rows: Iterable[Sequence[Any]]) -> dict[str, list[Support]]:
    found: dict[str, list[Support]] = defaultdict(list)
    for row in rows:
        support = Support(*row)
        found[support.drawer_id].append(support)
    return found


def _differing(old: list[Support], new: list[Support]) -> list[str]:
    """What shows of a drawer otherwise than it did."""
    left, right = newest(old), newest(new)
    fields = [one for one in _DRAWER_FIELDS if getattr(left, one) != getattr(right, one)]
    return fields if valid_time(old) == valid_time(new) else [*fields, "valid_time"]


def _drawer(
    drawer: str,
    supports: list[Support],
    previous: str | None = None,
    fields: Sequence[str] = (),
    *,
    hidden: bool = False,
) -> _Change:
    line = {"id": drawer, "preview": None, "previous": previous, "changed": list(fields)}
    return _Change((newest(supports).rank, drawer), line | {"hidden": hidden})


def _facts(before: Reading, after: Reading, between: dict[str, int]) -> dict[str, list[_Change]]:
    was, now = (_by_key(one, one.rows(_ASSERTIONS, **between)) for one in (before, after))
    gained, lost, changed = [], [], []
    for key in was.keys() | now.keys():
        old = {id: fact for fact in was.get(key, ()) for id in fact.ids}
        left = {fact.id: fact for fact in was.get(key, ())}
        for fact in now.get(key, ()):
            earlier = [old[id] for id in fact.ids if id in old]
            for one in earlier:
                left.pop(one.id, None)
            if not earlier:
                gained.append(_fact(fact, None))
            elif fact.valid_to < earlier[0].valid_to:
                lost.append(_fact(fact, earlier[0]))
            elif _fields(fact) != _fields(earlier[0]):
                changed.append(_fact(fact, earlier[0]))
        lost += [_fact(fact._replace(valid_to=fact.valid_from), fact) for fact in left.values()]
    return {"gained": gained, "lost": lost, "changed": changed}


def _by_key(reading: Reading, rows: Iterable[Sequence[Any]]) -> dict[int, list[Fact]]:
    declared = reading.all(Declared)
    found: dict[int, list[Assertion]] = defaultdict(list)
    for key, *fields in rows:
        found[key].append(Assertion(*fields))
    return {
        key: derive(some, single=single_valued(declared, some[0].wing_key, some[0].predicate_key))
        for key, some in found.items()
    }


def _fields(fact: Fact) -> tuple[Any, ...]:
    return fact.newest.object, fact.valid_from, fact.valid_to, fact.newest.confidence


def _fact(fact: Fact, earlier: Fact | None) -> _Change:
    row = fact.newest
    line: dict[str, Any] = {
        "fact_id": fact.id,
        "wing": row.wing,
        "subject": row.subject,
        "predicate": row.predicate,
        "object": row.object,
        "valid_from": show(fact.valid_from),
        "valid_to": shown(fact.valid_to),
        "changed": [],
    }
    if earlier is not None:
        pairs = zip(_FACT_FIELDS, _fields(fact), _fields(earlier), strict=True)
        line["changed"] = [name for name, new, old in pairs if new != old]
    return _Change((row.rank, fact.id), line)
