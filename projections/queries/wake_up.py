"""Waking up: what an agent should know before it begins.

Protects its first minute: the last diary entry, what was written last, what is disputed and what
waits, whole items only and in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import bindparam, func, literal_column, select

from domain.canonical import comparable
from domain.identity import base_device
from domain.operations.conflicts import ListConflictsAsks
from domain.operations.searching import WakeUpAsks
from projections import tables
from projections.queries.blocks import Block, conflict_item, drawer_item
from projections.queries.conflicts import list_conflicts
from projections.queries.drawer_lists import held, showing, shows, true_within
from projections.queries.drawers import drawer_of
from projections.reading import Reading
from projections.tables import Prepared

CONFLICTS_SHOWN: Final = 3
LOOKED_THROUGH: Final = 100
"""How many of the newest drawers are looked through for those of checkpoints."""
DIARY_FROM: Final = "diary_"
DIARY_UPTO: Final = "diary`"
_CHECKPOINT: Final = "checkpoint"

_B: Any = bindparam
_texts, _operations = tables.texts, tables.operations
_acknowledged = tables.acknowledgements
_IS_DIARY = (showing.c.drawer_id >= DIARY_FROM) & (showing.c.drawer_id < DIARY_UPTO)


def _newest(newest_first: Any, *conditions: Any) -> Prepared:
    """Current drawers with the tool that wrote each, newest first."""
    drawer = showing.c.drawer_id
    in_wing = _B("wing", type_=_texts.c.wing.type).is_(None) | (_texts.c.wing_key == _B("wing"))
    return Prepared(
        select(drawer, _operations.c.tool)
        .select_from(
            showing.join(_texts, _texts.c.drawer_id == drawer).join(
                _operations, _operations.c.op_id == showing.c.op_id
            )
        )
        .where(shows(), in_wing, true_within(showing) | held(drawer, timed=True), *conditions)
        .order_by(newest_first, drawer)
        .limit(_B("limit"))
    )


_BY_AGENT = _B("agent", type_=_texts.c.wing.type).is_(None) | (
    func.folded(func.coalesce(showing.c.added_by, "")) == _B("agent")
)
# Entries are few among all drawers: they are found by their ids and sorted (hence the plus sign).
_DIARY = _newest(literal_column("+s.recorded_at").desc(), _IS_DIARY, _BY_AGENT)
_DRAWERS = _newest(showing.c.recorded_at.desc(), ~_IS_DIARY)
_UPTO = (
    select(func.coalesce(func.max(_acknowledged.c.upto), 0))
    .where(
        _acknowledged.c.stream_device == _operations.c.device,
        _acknowledged.c.position <= _B("position"),
    )
    .correlate(_operations)
    .scalar_subquery()
)
_PENDING = Prepared(
    select(func.count()).where(
        _operations.c.base_device == _B("base"),
        _operations.c.stream == "shared",
        _operations.c.position <= _B("position"),
        _operations.c.local_seq > _UPTO,
    )
)


def wake_up(reading: Reading, asked: WakeUpAsks) -> dict[str, Any]:
    """What to know at the start of a session."""
    block = Block(asked.max_bytes)
    block.section("Diary")
    entries = _rows(reading, asked, _DIARY, 1, wing=None)
    diary = _fitting(reading, block, [id for id, _ in entries])
    block.section("Drawers")
    drawers = _fitting(reading, block, _recent(reading, asked))
    disputed = list_conflicts(reading, ListConflictsAsks(limit=CONFLICTS_SHOWN))
    block.section(f"Open conflicts ({disputed['total']})")
    newest = [one for one in disputed["conflicts"] if block.add(conflict_item(one))]
    [(pending,)] = reading.rows(_PENDING, base=base_device(reading.device))
    if pending:
        block.section("Outbox")
        block.add(f"{pending} operations wait for the primary.")
    return reading.shown() | {
        "block": block.text(),
        "diary": diary[0] if diary else None,
        "drawers": drawers,
        "conflicts": {"open": disputed["total"], "newest": newest},
        "outbox": {"pending": pending},
        "withheld": 0,
        "left_out": block.left_out,
    }


def _recent(reading: Reading, asked: WakeUpAsks) -> list[str]:
    """Of the newest drawers those that checkpoints put down, then the others."""
    newest = _rows(reading, asked, _DRAWERS, max(asked.max_items, LOOKED_THROUGH), asked.wing)
    by_checkpoint = sorted(newest, key=lambda one: one[1] != _CHECKPOINT)
    return [id for id, _ in by_checkpoint[: asked.max_items]]


def _rows(
    reading: Reading, asked: WakeUpAsks, statement: Prepared, limit: int, wing: str | None
) -> Sequence[tuple[Any, ...]]:
    return reading.rows(
        statement,
        begin=reading.as_of,
        end=reading.as_of + 1,
        wing=wing and comparable(wing),
        agent=asked.agent_name and comparable(asked.agent_name),
        limit=limit,
    )


def _fitting(reading: Reading, block: Block, ids: list[str]) -> list[dict[str, Any]]:
    drawers = (drawer_of(reading, id) for id in ids)
    return [one for one in drawers if one is not None and block.add(drawer_item(one))]
