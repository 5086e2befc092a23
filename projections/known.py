"""What the views know at the log's head, asked on the writing connection while an operation is
decided.

Protects decisions from races: the answers include what the same transaction has already folded.
Implements `domain.ports.Known`; may not decide anything itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, exists, func, select

from domain.belief import Fold, Held
from domain.canonical import comparable, twin_digest
from domain.drawers import Support
from domain.facts import Assertion
from domain.instants import ENDLESS
from domain.ports import Text
from projections import tables
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared
from projections.views import Folding

_B = bindparam
_texts, _supports, _assertions = tables.texts, BELIEFS[Support], BELIEFS[Assertion]

_SPELLING = Prepared(
    select(tables.names.c.spelling).where(
        tables.names.c.kind == _B("kind"),
        tables.names.c.scope == _B("scope"),
        tables.names.c.folded == _B("folded"),
    )
)
_TEXT = Prepared(
    select(_texts.c.drawer_id, _texts.c.wing, _texts.c.room, _texts.c.content).where(
        _texts.c.drawer_id == _B("drawer_id")
    )
)
_TWIN = Prepared(
    select(_texts.c.drawer_id, _texts.c.wing, _texts.c.room, _texts.c.content)
    .where(
        _texts.c.twin == _B("twin"),
        _texts.c.wing_key == _B("wing_key"),
        _texts.c.room_key == _B("room_key"),
        exists(
            select(_supports.c.id).where(
                _supports.c.drawer_id == _texts.c.drawer_id,
                _supports.c.believed_until == STILL_BELIEVED,
            )
        ),
    )
    .order_by(_texts.c.content != _B("content"), _texts.c.position, _texts.c.drawer_id)
    .limit(1)
)
_FACT_WINGS = Prepared(
    select(_assertions.c.wing, func.max(_assertions.c.valid_to))
    .where(
        _assertions.c.subject_key == _B("subject_key"),
        _assertions.c.predicate_key == _B("predicate_key"),
        _assertions.c.object_key == _B("object_key"),
        _assertions.c.believed_until == STILL_BELIEVED,
    )
    .group_by(_assertions.c.wing_key)
    .order_by(_assertions.c.wing_key)
)


class SqlKnown:
    """`Known` over the views of one open transaction."""

    def __init__(self, folding: Folding, *, complete: bool) -> None:
        """Ask through `folding`; `complete` is False on an edge, which may lack what exists."""
        self._folding = folding
        self.complete = complete

    def spelling(self, kind: str, name: str, scope: str = "") -> str:
        """The spelling in use, else `name`."""
        row = _SPELLING(
            self._folding.cursor, kind=kind, scope=comparable(scope), folded=comparable(name)
        ).fetchone()
        return name if row is None else str(row[0])

    def held(self, fold: Fold, member: str) -> Held:
        """The current rows of a member's key."""
        return self._folding.beliefs.held(fold, member)

    def text(self, drawer_id: str) -> Text | None:
        """A drawer's text."""
        row = _TEXT(self._folding.cursor, drawer_id=drawer_id).fetchone()
        return None if row is None else Text(*row)

    def twin(self, wing: str, room: str, content: str) -> Text | None:
        """A live drawer of the room with the same text in comparable form."""
        row = _TWIN(
            self._folding.cursor,
            twin=twin_digest(content),
            wing_key=comparable(wing),
            room_key=comparable(room),
            content=content,
        ).fetchone()
        return None if row is None else Text(*row)

    def fact_wings(self, subject: str, predicate: str, object: str) -> Sequence[str]:
        """The wings in which the fact is open; where it is open in none, those it ever stood in."""
        rows = _FACT_WINGS(
            self._folding.cursor,
            subject_key=comparable(subject),
            predicate_key=comparable(predicate),
            object_key=comparable(object),
        ).fetchall()
        found = [wing for wing, end in rows if end == ENDLESS]
        return found or [wing for wing, _ in rows]
