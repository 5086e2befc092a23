"""How a write on drawers is decided: names, ids, valid time and tombstones resolved before anything
is recorded.

Protects drawers from a race: everything that a decision rests on is asked of what is known, under
the write lock. Pure. A `decide_*` returns what is recorded or raises; an `answer_*` is a function
of the recorded payload alone.
"""

from __future__ import annotations

from typing import Any

import orjson

from domain.drawers import DRAWERS, Superseding, Support, Tombstone, newest, reached
from domain.errors import Refused, invalid
from domain.identity import drawer_id
from domain.instants import ENDLESS
from domain.operations.common import Decided
from domain.operations.drawers import (
    AddDrawerAsks,
    DeleteDrawerAsks,
    SupersedeDrawerAsks,
    UpdateDrawerAsks,
)
from domain.ports import KnownTexts, Text


def decide_add(asked: AddDrawerAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve an add: spelling in use, a twin's text, tombstones knowingly revived."""
    wing = known.spelling("wing", asked.wing)
    room = known.spelling("room", asked.room, wing)
    text = _as_held(known, wing, room, asked.content)
    valid_from = now if asked.valid_from is None else asked.valid_from
    valid_to = ENDLESS if asked.valid_to is None else asked.valid_to
    if valid_to <= valid_from:
        raise invalid("valid_to", "is not after valid_from", "Give an end after the start.")
    id = text.drawer_id
    held = known.held(DRAWERS, id).find(Support, "drawer_id", id)
    payload: dict[str, Any] = text._asdict() | {
        "valid_from": valid_from,
        "duplicate": any(one.valid_from <= valid_from and valid_to <= one.valid_to for one in held),
    }
    if valid_to != ENDLESS:
        payload["valid_to"] = valid_to
    target = None
    if asked.supersedes is not None:
        payload["supersedes"], target = live_target(known, asked.supersedes)
        _refuse_same(id, payload["supersedes"])
        _refuse_before(known, payload["supersedes"], valid_from)
    optional = asked.model_dump(include={"source_file", "added_by", "tags", "metadata"})
    payload |= {name: value for name, value in optional.items() if value}
    return _with_revives(payload, known, id, target)


def decide_update(asked: UpdateDrawerAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve an update: the drawer that holds the text now, and the new text in full."""
    previous, target = live_target(known, asked.drawer_id)
    text = known.text(previous)
    if text is None:
        raise _unknown(asked.drawer_id)
    wing = known.spelling("wing", asked.wing) if asked.wing else text.wing
    moves = asked.room is not None or wing != text.wing
    room = known.spelling("room", asked.room or text.room, wing) if moves else text.room
    content = asked.content if asked.content is not None else text.content
    filled = _as_held(known, wing, room, content)
    id = filled.drawer_id
    payload: dict[str, Any] = filled._asdict() | {
        "previous": previous,
        "duplicate": id == previous and asked.tags is None,
    }
    if asked.tags is not None:
        payload["tags"] = asked.tags
    return _with_revives(payload, known, id, target)


def decide_supersede(asked: SupersedeDrawerAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve a supersede: what ends, and the new text in the same room."""
    old, target = live_target(known, asked.drawer_id)
    at = now if asked.valid_from is None else asked.valid_from
    payload: dict[str, Any] = {"supersedes": old, "valid_from": at, "duplicate": False}
    supports = _refuse_before(known, old, at)
    if asked.content is None:
        payload["duplicate"] = bool(supports) and all(one.valid_to <= at for one in supports)
        return Decided(payload, target)
    text = known.text(old)
    if text is None:
        raise _unknown(asked.drawer_id)
    filled = _as_held(known, text.wing, text.room, asked.content)
    id = filled.drawer_id
    _refuse_same(id, old)
    payload |= filled._asdict()
    payload["duplicate"] = _led_to(known, old, id) and all(one.valid_to <= at for one in supports)
    tags = asked.tags if asked.tags is not None else _tags_of(supports)
    if tags:
        payload["tags"] = tags
    return _with_revives(payload, known, id, target)


def decide_delete(asked: DeleteDrawerAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve a delete; a drawer that is hidden already is a duplicate, one that never was is
    refused.
    """
    drawer = asked.drawer_id
    rows = known.held(DRAWERS, drawer)
    supports = reached(rows, drawer)
    if (
        not supports
        and not rows.find(Tombstone, "drawer_id", drawer)
        and known.text(drawer) is None
    ):
        if known.complete:
            raise _unknown(drawer)
        return Decided(_delete_payload(asked, [], duplicate=False), "unverified")
    hidden = list(dict.fromkeys(support.drawer_id for support in supports))
    return Decided(_delete_payload(asked, hidden, duplicate=not supports), "known")


def _delete_payload(
    asked: DeleteDrawerAsks, hidden: list[str], *, duplicate: bool
) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "drawer_id": asked.drawer_id,
        "hidden": hidden,
        "duplicate": duplicate,
    }
    return payload if asked.reason is None else payload | {"reason": asked.reason}


def _as_held(known: KnownTexts, wing: str, room: str, content: str) -> Text:
    """The drawer of the room that holds the same text in comparable form, else the one to be."""
    twin = known.twin(wing, room, content)
    return twin or Text(drawer_id(wing, room, content), wing, room, content)


def _led_to(known: KnownTexts, old: str, new: str) -> bool:
    """Whether the drawer was superseded by this text before, and the text stands."""
    rows = known.held(DRAWERS, old)
    successors = {one.successor for one in rows.find(Superseding, "drawer_id", old)}
    return new in successors and bool(rows.find(Support, "drawer_id", new))


def live_target(known: KnownTexts, drawer: str) -> tuple[str, str]:
    """The live drawer that an id leads to, and whether it was seen."""
    supports = reached(known.held(DRAWERS, drawer), drawer)
    if supports:
        return newest(supports).drawer_id, "known"
    if known.text(drawer) is not None:
        raise Refused(
            "drawers::hidden",
            f"{drawer} is hidden by a delete.",
            "Store the text again with add_drawer to bring it back.",
        )
    if known.complete:
        raise _unknown(drawer)
    return drawer, "unverified"


def _unknown(drawer: str) -> Refused:
    return Refused(
        "drawers::unknown",
        f"{drawer} is not known here.",
        "Look it up with list_drawers; ids are complete, with wing, room and hash.",
    )


def _refuse_before(known: KnownTexts, old: str, at: int) -> list[Support]:
    """The supports that end at `at`; superseding before all of them began would undo them."""
    supports = reached(known.held(DRAWERS, old), old)
    if supports and all(at < support.valid_from for support in supports):
        raise invalid("valid_from", f"is before {old} began to be true", "Give a later valid_from.")
    return supports


def _refuse_same(new: str, old: str) -> None:
    if new == old:
        raise Refused(
            "drawers::same",
            "A drawer cannot supersede itself.",
            "Give a text that differs, or leave out content to end the drawer.",
        )


def _with_revives(
    payload: dict[str, Any], known: KnownTexts, id: str, target: str | None
) -> Decided:
    tombstones = known.held(DRAWERS, id).find(Tombstone, "drawer_id", id)
    if tombstones:
        payload["revives"] = sorted({tombstone.op_id for tombstone in tombstones})
    return Decided(payload, target)


def _tags_of(supports: list[Support]) -> list[str]:
    return list(orjson.loads(newest(supports).tags)) if supports else []


def answer_add(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """Where the text is."""
    return {"drawer_id": payload["drawer_id"], "hidden_by": []}


def answer_update(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The new id and the one before it."""
    return {"drawer_id": payload["drawer_id"], "previous": payload["previous"]}


def answer_supersede(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The drawer that now shows, and the one that ended."""
    return {"drawer_id": payload.get("drawer_id"), "superseded": payload["supersedes"]}


def answer_delete(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What is hidden now."""
    return {"drawer_id": payload["drawer_id"], "hidden": payload["hidden"]}
