"""Drawers that are live and true at a moment, wherever updates took them.

Protects hidden texts: what leads to no live drawer is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, func, select

from domain.drawers import Support, Taken, newest, reached
from projections import tables
from projections.queries.drawers import holds
from projections.reading import Reading, believed
from projections.tables import BELIEFS, Prepared

_B: Any = bindparam
_texts, _supports, _taken = tables.texts, BELIEFS[Support], BELIEFS[Taken]
_asked: Any = func.json_each(_B("drawers")).table_valued("value", name="asked")
_PLACE = Prepared(
    select(
        _texts.c.wing,
        _texts.c.room,
        _texts.c.wing_key,
        func.substr(_texts.c.content, 1, _B("characters")),
    ).where(_texts.c.drawer_id == _B("drawer_id"))
)
_WING: Any = select(_texts.c.wing_key).where(_texts.c.drawer_id == _supports.c.drawer_id)
_SUPPORT: Final = (
    _supports.c.id,
    _supports.c.drawer_id,
    _supports.c.valid_from,
    _supports.c.valid_to,
    _supports.c.rank,
    _WING.scalar_subquery(),
)
_HELD = Prepared(
    select(_asked.c.value, *_SUPPORT)
    .select_from(_asked.join(_supports, _supports.c.drawer_id == _asked.c.value))
    .where(believed(_supports))
)
_TAKEN = Prepared(
    select(_asked.c.value, *_SUPPORT)
    .select_from(
        _asked.join(_taken, _taken.c.drawer_id == _asked.c.value).join(
            _supports, _supports.c.id == _taken.c.support_id
        )
    )
    .where(believed(_taken), believed(_supports))
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

    def look_up(self, drawers: Iterable[str]) -> None:
        """Look many up at once, as `now` does one by one."""
        left = {drawer for drawer in drawers if drawer not in self._now}
        for statement in (_HELD, _TAKEN):
            found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
            asked = orjson.dumps(list(left)).decode()
            for drawer, *support in self._reading.rows(statement, drawers=asked):
                found[drawer].append(tuple(support))
            for drawer, supports in found.items():
                self._now[drawer] = self._newest(supports)
            left -= found.keys()
        self._now |= dict.fromkeys(left)

    def _newest(self, supports: list[tuple[Any, ...]]) -> str | None:
        true = any(start <= self._reading.as_of < end for _, _, start, end, _, _ in supports)
        _, drawer, _, _, _, wing = max(supports, key=lambda one: (one[4], one[0]))
        self._wings[drawer] = wing
        return drawer if true else None

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
