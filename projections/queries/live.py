"""Drawers that are live and true at a moment, wherever updates took them.

Protects hidden texts: what leads to no live drawer is not there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
from sqlalchemy import bindparam, exists, func, select

from domain.drawers import Support, newest, reached
from projections import tables
from projections.queries.drawers import holds
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports = tables.texts, BELIEFS[Support]
_asked: Any = func.json_each(_B("drawers")).table_valued("value", name="asked")
_of_asked: Any = (_supports.c.drawer_id == _asked.c.value) & believed(_supports)
_PLACE = Prepared(
    select(
        _texts.c.wing,
        _texts.c.room,
        _texts.c.wing_key,
        func.substr(_texts.c.content, 1, _B("characters")),
    ).where(_texts.c.drawer_id == _B("drawer_id"))
)
_HELD = Prepared(
    select(
        _asked.c.value,
        exists(select(_supports.c.id).where(_of_asked)),
        exists(
            select(_supports.c.id).where(
                _of_asked,
                _supports.c.valid_from <= _B("as_of"),
                _supports.c.valid_to > _B("as_of"),
            )
        ),
        select(_texts.c.wing_key).where(_texts.c.drawer_id == _asked.c.value).scalar_subquery(),
    ).select_from(_asked)
)


class Live:
    """Looks each drawer up once."""

    def __init__(self, reading: Reading) -> None:
        """Look at a reading's moment."""
        self._reading = reading
        self._now: dict[str, str | None] = {}
        self._wings: dict[str, str] = {}

    def now(self, drawer: str | None) -> str | None:
        """The live drawer, true at the moment, that an id leads to; None where there is none."""
        if drawer is None:
            return None
        if drawer not in self._now:
            supports = reached(self._reading, drawer)
            true = holds(supports, self._reading.as_of)
            self._now[drawer] = newest(supports).drawer_id if supports and true else None
        return self._now[drawer]

    def look_up(self, drawers: Collection[str]) -> None:
        """Look many up at once: those that hold a support themselves; `now` follows the others."""
        asked = {"drawers": orjson.dumps(list(drawers)).decode(), "as_of": self._reading.as_of}
        for drawer, held, true, wing in self._reading.rows(_HELD, **asked):
            if held:
                self._now[drawer] = drawer if true else None
                self._wings[drawer] = wing

    def wing(self, drawer: str) -> str:
        """The wing of a drawer that is there, in comparable form."""
        if drawer not in self._wings:
            [(_, _, self._wings[drawer], _)] = self._reading.rows(
                _PLACE, drawer_id=drawer, characters=0
            )
        return self._wings[drawer]

    def line(self, drawer: str, characters: int) -> dict[str, Any]:
        """A drawer that is there, with the first characters of its text."""
        [(wing, room, _, preview)] = self._reading.rows(
            _PLACE, drawer_id=drawer, characters=characters
        )
        return {"id": drawer, "wing": wing, "room": room, "preview": preview}
