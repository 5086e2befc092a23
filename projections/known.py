"""What the views know at the log's head, asked on the writing connection while an operation is
decided.

Protects decisions from races: the answers include what the same transaction has already folded.
Implements `domain.ports.Known`; may not decide anything itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, exists, func, or_, select

from domain.belief import LOCAL as LOCAL_AREA
from domain.belief import Event, Fold, Held, event_of
from domain.canonical import comparable, twin_digest
from domain.conflicts import Conflict
from domain.drawers import Support
from domain.entities import ENTITIES, Alias, Aliases, Link
from domain.facts import FACTS, PREDICATES, Assertion, Declared
from domain.identity import DIARY_ROOM
from domain.jobs import Job
from domain.operation import Operation, stamp_of
from domain.places import Place
from domain.ports import Chosen, Done, Stood, Text
from domain.travel import LOCAL, REPLICATED
from domain.tunnels import TUNNELS, Tunnel
from projections import tables
from projections.queries.conflicts import conflict_of
from projections.reading import Rows, fields_of
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared
from projections.views import Folding

_B: Any = bindparam
_texts, _supports, _assertions = tables.texts, BELIEFS[Support], BELIEFS[Assertion]
_operations, _places, _declared = tables.operations, BELIEFS[Place], BELIEFS[Declared]
_aliases, _links, _tunnels = BELIEFS[Alias], BELIEFS[Link], BELIEFS[Tunnel]
_jobs = BELIEFS[Job]

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


def _among(name: str) -> Any:
    return select(func.json_each(_B(name)).table_valued("value").c.value)


_STOOD = Prepared(
    select(
        _assertions.c.wing,
        _assertions.c.subject,
        _assertions.c.object,
        func.max(_assertions.c.valid_to),
    )
    .where(
        _assertions.c.subject_key.in_(_among("subjects")),
        _assertions.c.predicate_key == _B("predicate_key"),
        _assertions.c.object_key.in_(_among("objects")),
        _assertions.c.believed_until == STILL_BELIEVED,
    )
    .group_by(_assertions.c.wing_key, _assertions.c.subject_key, _assertions.c.object_key)
    .order_by(_assertions.c.wing_key, _assertions.c.subject_key, _assertions.c.object_key)
)
_JOINED = [
    Prepared(
        select(*fields_of(Alias)).where(
            key == _B("name"), _aliases.c.believed_until == STILL_BELIEVED
        )
    )
    for key in (_aliases.c.alias_key, _aliases.c.entity_key)
]


def _given(name: str, *conditions: Any) -> Any:
    return or_(_B(name, type_=_operations.c.op_id.type).is_(None), *conditions)


_LIVE = Prepared(
    select(_supports.c.drawer_id)
    .join(_texts, _texts.c.drawer_id == _supports.c.drawer_id)
    .where(
        _supports.c.believed_until == STILL_BELIEVED,
        _given("wing_key", _texts.c.wing_key == _B("wing_key")),
        _given("room_key", _texts.c.room_key == _B("room_key")),
        _given("source_file", _supports.c.source_file == _B("source_file")),
    )
    .distinct()
    .order_by(_supports.c.drawer_id)
)
_ROOMS = Prepared(
    select(_places.c.room)
    .where(
        _places.c.wing_key == _B("wing_key"),
        _places.c.room != "",
        _places.c.believed_until == STILL_BELIEVED,
    )
    .order_by(_places.c.room)
)
_POLICY = Prepared(
    select(_places.c.policy)
    .join(tables.keys, tables.keys.c.key == _places.c.key)
    .where(
        _places.c.wing_key == _B("wing_key"),
        _places.c.policy.is_not(None),
        _places.c.believed_until == STILL_BELIEVED,
    )
    .order_by(tables.keys.c.area.desc())
)


def _members(table: Any, member: Any, *conditions: Any) -> Prepared:
    """The members that rows which are believed stand for, each once."""
    held = select(member).where(table.c.believed_until == STILL_BELIEVED, *conditions)
    return Prepared(held.distinct().order_by(member))


_IN_WING: Final = {
    FACTS.name: _members(
        _assertions, _assertions.c.partition, _assertions.c.wing_key == _B("wing_key")
    ),
    PREDICATES.name: _members(_declared, _declared.c.id, _declared.c.scope == _B("wing_key")),
    ENTITIES.name: _members(_aliases, _aliases.c.id, _aliases.c.scope == _B("wing_key")),
    TUNNELS.name: _members(
        _tunnels,
        _tunnels.c.id,
        _B("wing_key").in_(
            [func.folded(_tunnels.c.source_wing), func.folded(_tunnels.c.target_wing)]
        ),
    ),
}
_LOCAL_LINKS = _members(
    _links,
    _links.c.id,
    exists(
        select(tables.keys.c.key).where(
            tables.keys.c.key == _links.c.key, tables.keys.c.area == ENTITIES.name + LOCAL_AREA
        )
    ),
)
_JOBS = Prepared(
    select(*fields_of(Job))
    .where(_jobs.c.wing_key == _B("wing_key"), _jobs.c.believed_until == STILL_BELIEVED)
    .order_by(_jobs.c.requested_at, _jobs.c.id)
)
_RANK = Prepared(select(_operations.c.rank).where(_operations.c.position == _B("position")))
_STREAM = Prepared(select(_operations.c.stream).where(_operations.c.op_id == _B("op_id")))
_NEWEST_ENTRY = Prepared(
    select(_texts.c.drawer_id, _texts.c.wing, _texts.c.room, _texts.c.content)
    .join(_supports, _supports.c.drawer_id == _texts.c.drawer_id)
    .where(
        _texts.c.wing_key == _B("wing_key"),
        _texts.c.room_key == DIARY_ROOM,
        _texts.c.drawer_id.startswith("diary_", autoescape=True),
        func.folded(_supports.c.added_by) == _B("agent"),
        _supports.c.believed_until == STILL_BELIEVED,
    )
    .order_by(_supports.c.valid_from.desc(), _texts.c.drawer_id.desc())
    .limit(1)
)
_DONE = Prepared(
    select(_operations.c.position, _operations.c.rank)
    .where(
        _given("op_id", _operations.c.op_id == _B("op_id")),
        _given("session", _operations.c.session == _B("session")),
        _given(
            "device",
            _operations.c.device == _B("device"),
            _operations.c.base_device == _B("device"),
        ),
        _given("since", _operations.c.recorded_at >= _B("since")),
        _given("before", _operations.c.recorded_at < _B("before")),
    )
    .order_by(_operations.c.rank)
    .limit(_B("limit"))
)


class SqlKnown:
    """`Known` over the views of one open transaction."""

    def __init__(
        self,
        folding: Folding,
        *,
        device: str,
        complete: bool,
        stays: Callable[[str], bool] = lambda wing: False,
    ) -> None:
        """Ask through `folding`.

        Args:
            device: this palace's identity.
            complete: False on an edge, which may lack what exists.
            stays: whether a new wing of that name is local, as the settings have it.
        """
        self._folding = folding
        self._stays = stays
        self.device = device
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

    def live(
        self, *, wing: str | None = None, room: str | None = None, source_file: str | None = None
    ) -> Sequence[str]:
        """The ids of the live drawers of a place or a file, sorted."""
        rows = _LIVE(
            self._folding.cursor,
            wing_key=wing and comparable(wing),
            room_key=room and comparable(room),
            source_file=source_file,
        )
        return [drawer for (drawer,) in rows.fetchall()]

    def rooms(self, wing: str, room: str | None = None) -> Sequence[str]:
        """The rooms of a wing, or the one named, that were made by themselves."""
        rows = _ROOMS(self._folding.cursor, wing_key=comparable(wing)).fetchall()
        return [name for (name,) in rows if room is None or comparable(name) == comparable(room)]

    def newest_entry(self, wing: str, agent: str) -> Text | None:
        """The newest live entry of an agent's diary in a wing."""
        row = _NEWEST_ENTRY(
            self._folding.cursor, wing_key=comparable(wing), agent=comparable(agent)
        ).fetchone()
        return None if row is None else Text(*row)

    def jobs(self, wing: str) -> Sequence[Job]:
        """The jobs that file into a wing, oldest first."""
        rows = _JOBS(self._folding.cursor, wing_key=comparable(wing)).fetchall()
        return [Job(*row) for row in rows]

    def policy(self, wing: str | None) -> str:
        """Whether a wing is `local` or `replicated`."""
        if wing is None:
            return REPLICATED
        cursor, folded = self._folding.cursor, comparable(wing)
        for (policy,) in _POLICY(cursor, wing_key=folded).fetchall():
            return str(policy)
        return LOCAL if not self.fixed(wing) and self._stays(wing) else REPLICATED

    def fixed(self, wing: str) -> bool:
        """Whether any event named the wing before."""
        cursor = self._folding.cursor
        found = _SPELLING(cursor, kind="wing", scope="", folded=comparable(wing)).fetchone()
        return found is not None

    def members_in(self, fold: Fold, wing: str) -> Sequence[str]:
        """The members of a fold's keys that stand in a wing, sorted."""
        rows = _IN_WING[fold.name](self._folding.cursor, wing_key=comparable(wing)).fetchall()
        return [member for (member,) in rows]

    def local_links(self) -> Sequence[str]:
        """The ids of the links that do not travel, sorted."""
        return [link for (link,) in _LOCAL_LINKS(self._folding.cursor).fetchall()]

    def local_operations(self, op_ids: Sequence[str]) -> Sequence[str]:
        """Those of some operations that are of the local stream."""
        streams = {id: _STREAM(self._folding.cursor, op_id=id).fetchone() for id in op_ids}
        return [op_id for op_id, row in streams.items() if row is not None and row[0] == LOCAL]

    def done(self, chosen: Chosen, limit: int) -> Sequence[Done]:
        """The first operations chosen, in canonical order."""
        rows = _DONE(self._folding.cursor, **chosen._asdict(), limit=limit).fetchall()
        found = list(self._folding.operations(position for position, _ in rows))
        if chosen.op_id is not None:
            found = [one for asked in found for one in self._of_one_call(asked)]
        events = [
            Done(event_of(one, self._stamp(one)), one.header.origin_device, one.position)
            for one in found
        ]
        return sorted(events, key=lambda one: one.event.rank)

    def _stamp(self, operation: Operation) -> int:
        rank = _RANK(self._folding.cursor, position=operation.position).fetchone()[0]
        return stamp_of(rank)

    def _of_one_call(self, operation: Operation) -> list[Operation]:
        """The operation with the others of its call, which are undone together or not at all."""
        call_id = operation.header.call_id
        if call_id is None:
            return [operation]
        called = self._folding.operations(self._folding.called(call_id))
        return [one for one in called if one.header.tool == operation.header.tool]

    def parts(self, fold: Fold, member: str) -> Sequence[Event]:
        """Every part that touched the key of a member."""
        beliefs = self._folding.beliefs
        found = [part for key in beliefs.keys_of(fold, member) for part in beliefs.parts(fold, key)]
        return sorted(found, key=lambda part: part.rank)

    def conflict(self, id: str) -> Conflict | None:
        """A conflict that stands, resolved or not."""
        return conflict_of(Rows(self._folding.cursor), id)

    def aliases(self, names: Iterable[str]) -> Aliases:
        """What is said of some names, and of all that aliases join them to."""
        waiting, found = list(names), set[Alias]()
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            for joined in _JOINED:
                for row in joined(self._folding.cursor, name=name).fetchall():
                    alias = Alias(*row)
                    found.add(alias)
                    further = {alias.alias_key, alias.entity_key} - seen
                    seen |= further
                    waiting += further
        return Aliases(sorted(found, key=lambda alias: alias.rank))

    def stood(
        self, subjects: Sequence[str], predicate: str, objects: Sequence[str]
    ) -> Sequence[Stood]:
        """The facts of any wing under names of subject and object."""
        rows = _STOOD(
            self._folding.cursor,
            subjects=orjson.dumps(subjects).decode(),
            predicate_key=comparable(predicate),
            objects=orjson.dumps(objects).decode(),
        ).fetchall()
        return [Stood(*row) for row in rows]
