"""What is asked about the events themselves.

Protects the trail: lists show headers, and only `show_operation` shows a payload.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import bindparam, func, or_, select

from domain.canonical import comparable
from domain.catalog import ACKNOWLEDGED
from domain.errors import Refused
from domain.instants import ENDLESS, show
from domain.operation import Operation
from domain.operations.audit import ListOperationsAsks, ShowOperationAsks
from domain.trail import READ, NotedWhole
from projections import tables
from projections.queries.paging import cursor_text, resume
from projections.queries.trail import (
    chosen_from_trail,
    found_in_trail,
    happened_at,
    trail_line,
    trail_page,
)
from projections.reading import Reading
from projections.tables import BELIEFS, ROOT, Prepared

_B: Any = bindparam
_operations, _mentions, _texts = tables.operations, tables.mentions, tables.texts


def _optional(name: str, condition: Any) -> Any:
    return or_(_B(name, type_=_operations.c.op_id.type).is_(None), condition)


def _mentioning(kind: str, name: str) -> Any:
    return _operations.c.position.in_(
        select(_mentions.c.position).where(_mentions.c.kind == kind, _mentions.c.name == _B(name))
    )


_IN_WING = or_(
    _mentioning("wing", "wing"),
    _operations.c.position.in_(
        select(_mentions.c.position).where(
            _mentions.c.kind == "drawer",
            # The wing's texts come first: there are fewer of them than of all mentions of drawers.
            _mentions.c.name.in_(
                select(_texts.c.drawer_id).where(
                    _texts.c.wing_key == _B("wing"), _texts.c.position <= _B("position")
                )
            ),
        )
    ),
)
_CHOSEN = (
    _operations.c.position <= _B("position"),
    or_(
        _B("device", type_=_operations.c.device.type).is_(None),
        _operations.c.device == _B("device"),
        _operations.c.base_device == _B("device"),
    ),
    _optional("tool", _operations.c.tool == _B("tool")),
    _optional("agent", _operations.c.agent == _B("agent")),
    _optional("session", _operations.c.session == _B("session")),
    _optional("wing", _IN_WING),
    _optional("drawer_id", _mentioning("drawer", "drawer_id")),
    _optional("entity", _mentioning("entity", "entity")),
    _operations.c.recorded_at >= _B("since"),
    _operations.c.recorded_at < _B("before"),
)
_LINE: Final = (
    "position",
    "op_id",
    "tool",
    "device",
    "host",
    "stream",
    "local_seq",
    "agent",
    "client",
    "session",
    "principal",
    "session_mode",
    "memory_mode",
    "recorded_at",
    "logged_at",
)
_PAGE = Prepared(
    select(*(_operations.c[name] for name in _LINE))
    .where(*_CHOSEN, _operations.c.position < _B("behind"))
    .order_by(_operations.c.position.desc())
    .limit(_B("limit"))
)
_TOTAL = Prepared(select(func.count()).where(*_CHOSEN))
_POSITION_OF = Prepared(
    select(_operations.c.position).where(
        _operations.c.op_id == _B("op_id"), _operations.c.position <= _B("position")
    )
)
_FIRST_WAS = Prepared(
    select(_mentions.c.position)
    .where(
        _mentions.c.kind == ROOT,
        _mentions.c.name == _B("op_id"),
        _mentions.c.position <= _B("position"),
    )
    .order_by(_mentions.c.position)
    .limit(1)
)
_TOUCHING: Any = select(func.json_each(_B("touching")).table_valued("value").c.value)
_REORDERED = Prepared(
    select(_operations.c.position, _operations.c.op_id).where(
        _operations.c.op_id.in_(select(func.json_each(_B("op_ids")).table_valued("value").c.value)),
        _operations.c.device == _B("device"),
        _operations.c.stream == "shared",
        _operations.c.position < _B("at"),
    )
)
_EFFECTS: Final = {
    kind: Prepared(
        select(table.c.id, table.c.believed_from == _B("at"))
        .where(
            table.c.key.in_(
                select(tables.touches.c.key).where(tables.touches.c.position.in_(_TOUCHING))
            ),
            or_(table.c.believed_from == _B("at"), table.c.believed_until == _B("at")),
        )
        .order_by(table.c.id)
    )
    for kind, table in BELIEFS.items()
}


def list_operations(reading: Reading, asked: ListOperationsAsks) -> dict[str, Any]:
    """One page of headers, newest first: those of the log by when they arrived, and among them
    those of the trail by when they were asked.
    """
    last = resume("list_operations", reading, asked, asked.cursor, (int, int, int, int))
    trail = chosen_from_trail(reading, asked)
    if trail is not None:
        pinned = last[3] if last else reading.trail.newest()
        trail = trail._replace(logged_until=pinned)
    behind = _Behind(*(last or (ENDLESS, ENDLESS, ENDLESS, 0)))
    lines = [] if trail is None else trail_page(reading, trail, behind.trail, asked.limit + 1)
    total = 0 if trail is None else reading.trail.total(trail)
    if asked.outcome != "refused":
        chosen = _chosen(asked)
        rows = reading.rows(_PAGE, **chosen, behind=behind.position, limit=asked.limit + 1)
        lines += [dict(zip(_LINE, row, strict=True)) for row in rows]
        total += reading.rows(_TOTAL, **chosen)[0][0]
        lines.sort(key=happened_at, reverse=True)
    page, more = lines[: asked.limit], len(lines) > asked.limit
    marks = list(behind.after(page, 0 if trail is None else trail.logged_until))
    return reading.shown() | {
        "operations": [_line(line) for line in page],
        "total": total,
        "cursor": cursor_text("list_operations", reading, asked, marks) if more else None,
    }


class _Behind(NamedTuple):
    """Where a page goes on, in the log and in the trail."""

    position: int
    recorded_at: int
    place: int
    pinned: int

    @property
    def trail(self) -> tuple[int, int]:
        """The last event of the trail that was listed."""
        return self.recorded_at, self.place

    def after(self, page: list[dict[str, Any]], pinned: int) -> _Behind:
        """Where the next page goes on."""
        at = self._replace(pinned=pinned)
        for line in page:
            if line["position"] is not None:
                at = at._replace(position=line["position"])
            else:
                at = at._replace(recorded_at=line["recorded_at"], place=line["place"])
        return at


def _chosen(asked: ListOperationsAsks) -> dict[str, Any]:
    names = {"wing": asked.wing, "entity": asked.entity}
    return {
        "device": asked.device,
        "tool": asked.tool,
        "agent": asked.agent,
        "session": asked.session,
        "drawer_id": asked.drawer_id,
        "since": -ENDLESS if asked.since is None else asked.since,
        "before": ENDLESS if asked.before is None else asked.before,
    } | {name: value and comparable(value) for name, value in names.items()}


def show_operation(reading: Reading, asked: ShowOperationAsks) -> dict[str, Any]:
    """One operation with its payload, what proves it, and the rows that it changed."""
    position = asked.position
    if asked.op_id is not None:
        found = reading.rows(_POSITION_OF, op_id=asked.op_id) or reading.rows(
            _FIRST_WAS, op_id=asked.op_id
        )
        noted = None if found else found_in_trail(reading, asked.op_id)
        if noted is not None:
            return reading.shown() | {"operation": _noted(noted)}
        position = found[0][0] if found else None
    if position is None or not 1 <= position <= reading.position:
        raise Refused(
            "operations::unknown",
            f"This log holds no such operation up to position {reading.position}.",
            "List them with list_operations.",
        )
    return reading.shown() | {"operation": _whole(reading, reading.log.proven(position))}


def _noted(noted: NotedWhole) -> dict[str, Any]:
    """A read or a refusal; a refusal has no payload."""
    operation = noted.operation
    payload = operation.payload() if noted.line.outcome == READ else None
    return _line(trail_line(noted.line)) | _proof(operation, payload)


def _whole(reading: Reading, operation: Operation) -> dict[str, Any]:
    header, recorded = operation.header, operation.recorded
    fields = header._asdict() | {
        "position": operation.position,
        "device": header.origin_device,
        "host": header.origin_host,
        "logged_at": operation.logged_at,
    }
    payload = None if recorded.payload is None else operation.payload()
    return (
        _line({name: fields[name] for name in _LINE})
        | _proof(operation, payload)
        | {
            "effects": _effects(reading, operation),
            "acknowledged": _moved(reading, operation),
        }
    )


def _proof(operation: Operation, payload: dict[str, Any] | None) -> dict[str, Any]:
    """What is shown of a whole event beside its line; one of the trail has no effects."""
    header = operation.header
    return {
        "schema": header.schema,
        "hlc": header.hlc,
        "order_hlc": operation.order_hlc,
        "target": header.target,
        "idempotency_key": header.idempotency_key,
        "root_op_id": header.root_op_id,
        "payload": payload,
        "payload_digest": header.payload_digest,
        "asked_digest": header.asked_digest,
        "chain": operation.recorded.chain.hex(),
        "link": operation.link.hex(),
        "effects": [],
        "acknowledged": None,
    }


def _effects(reading: Reading, operation: Operation) -> list[dict[str, Any]]:
    """The rows that an operation opened, changed or closed: those of the keys that it touches, or
    whose order it told.
    """
    effects = []
    at = operation.position
    touching = [at, *(position for position, _ in _reordered(reading, operation))]
    asked = {"at": at, "touching": orjson.dumps(touching).decode()}
    for kind, statement in _EFFECTS.items():
        seen: dict[str, set[int]] = {}
        for id, opened in statement(reading.cursor, **asked).fetchall():
            seen.setdefault(id, set()).add(opened)
        for id, changes in seen.items():
            change = "changed" if len(changes) == 2 else "opened" if changes == {1} else "closed"
            effects.append({"kind": kind.__name__.lower(), "id": id, "change": change})
    return effects


def _moved(reading: Reading, operation: Operation) -> dict[str, Any] | None:
    if operation.header.tool != ACKNOWLEDGED or operation.recorded.payload is None:
        return None
    told = operation.payload()
    learnt = len(_reordered(reading, operation))
    return {"stream": told["stream_device"], "upto": told["upto"], "orders": learnt}


def _reordered(reading: Reading, operation: Operation) -> list[tuple[int, str]]:
    """(position, op_id) of the operations whose order an acknowledgement told: those of its stream
    that had come before it.
    """
    if operation.header.tool != ACKNOWLEDGED or operation.recorded.payload is None:
        return []
    told = operation.payload()
    asked = {"device": told["stream_device"], "at": operation.position}
    op_ids = orjson.dumps(list(told["orders"])).decode()
    return _REORDERED(reading.cursor, op_ids=op_ids, **asked).fetchall()


def _line(fields: dict[str, Any]) -> dict[str, Any]:
    """A line as it is shown; what is not of the trail was accepted."""
    shown = {"outcome": "accepted", "code": None, "times": 1} | fields
    shown.pop("place", None)
    return shown | {name: show(fields[name]) for name in ("recorded_at", "logged_at")}
