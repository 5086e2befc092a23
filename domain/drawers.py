"""Drawers: how texts are supported, move with updates, end by superseding and are hidden by
tombstones.

Protects memory in both directions: a text that anyone still holds stays, and a delete is not undone
by a device that did not know of it. A drawer is live while it holds a *support*: an add gives one,
an update carries them on to the new text, a tombstone removes them. Texts themselves are immutable
and never part of a belief. Pure; rules of DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from domain.belief import Event, Finds, Fold, Held, Name
from domain.canonical import canonical, comparable
from domain.conflicts import (
    SUPERSEDED_TWICE,
    TARGET_HIDDEN,
    TARGET_MISSING,
    TOMBSTONE_UNKNOWN,
    UPDATED_TWICE,
    Conflict,
    note,
)
from domain.instants import ENDLESS
from domain.parts import parts_of
from domain.places import Place, made, removed

AREA: Final = "drawers"


class Support(NamedTuple):
    """One reason why a drawer is live.

    Attributes:
        id: of the part of an operation that gave it.
        drawer_id: the drawer that holds it now.
        valid_from, valid_to: microseconds UTC, half-open.
        tags, metadata: canonical JSON.
        recorded_at: of the newest event that gave or moved it, microseconds UTC.
        rank: K of that event; the newest support's attributes show.
        op_id: of that event.
    """

    id: str
    drawer_id: str
    valid_from: int
    valid_to: int
    tags: str
    source_file: str | None
    added_by: str | None
    metadata: str
    recorded_at: int
    rank: bytes
    op_id: str


class Taken(NamedTuple):
    """That an update took a support from a drawer; so the old id leads to where it is now."""

    id: str
    drawer_id: str
    support_id: str
    rank: bytes


class Tombstone(NamedTuple):
    """That an operation hid a drawer."""

    id: str
    drawer_id: str
    reason: str | None
    rank: bytes
    op_id: str


class Superseding(NamedTuple):
    """That an operation ended a drawer at an instant, for another drawer or ("") for none."""

    id: str
    drawer_id: str
    successor: str
    at: int
    rank: bytes
    op_id: str


def added(held: Held, event: Event) -> Held:
    """add_drawer: one more support, unless a tombstone that its origin did not know came first."""
    stated = event.payload
    if not _counts(held, event, stated["drawer_id"]):
        return held
    if stated.get("supersedes"):
        _close(held, event, stated["supersedes"], stated["valid_from"], stated["drawer_id"])
    held.put(_support(event, stated["valid_from"], stated.get("valid_to", ENDLESS)))
    return held


def updated(held: Held, event: Event) -> Held:
    """update_drawer: the supports of the old text carry on under the new one.

    Its origin named the drawer that held the text; where another update stands between, the later
    text shows and the two are listed.
    """
    stated = event.payload
    new, old = stated["drawer_id"], stated["previous"]
    if not _counts(held, event, new):
        return held
    supports = reached(held, old)
    if not supports:
        _note_no_target(held, event, old)
    for moved in {one.drawer_id: one for one in supports}.values():
        if moved.drawer_id not in (old, new):
            left = (moved.op_id, moved.drawer_id)
            note(held, event, AREA, UPDATED_TWICE, old, left=left, right=new)
    holders = dict.fromkeys((old, *(support.drawer_id for support in supports)))
    taken = {mark.id for left in holders for mark in held.find(Taken, "drawer_id", left)}
    for order, support in enumerate(supports):
        for left in dict.fromkeys((old, support.drawer_id)):
            mark = Taken(f"{left}/{support.id}", left, support.id, event.rank)
            if left != new and mark.id not in taken:
                held.put(mark)
        held.put(_carried(support, event, order))
    return held


def superseded(held: Held, event: Event) -> Held:
    """supersede_drawer: the old drawer ends; the new text, where there is one, opens from there.

    To end what had ended by then already (a duplicate) is without effect.
    """
    stated = event.payload
    new, at = stated.get("drawer_id", ""), stated["valid_from"]
    if new and not _counts(held, event, new):
        return held
    if new or not stated.get("duplicate"):
        _close(held, event, stated["supersedes"], at, new)
    if new:
        held.put(_support(event, at, ENDLESS))
    return held


def deleted(held: Held, event: Event) -> Held:
    """delete_drawer: the supports that the drawer holds, else those that updates took from it, are
    gone; a tombstone stands on it and on every drawer that held them.
    """
    drawer, reason = event.payload["drawer_id"], event.payload.get("reason")
    supports = reached(held, drawer)
    if not supports and not known(held, drawer):
        note(held, event, AREA, TARGET_MISSING, drawer)
    for support in supports:
        held.drop(support)
    for gone in dict.fromkeys((drawer, *(support.drawer_id for support in supports))):
        held.put(Tombstone(f"{event.id}/{gone}", gone, reason, event.rank, event.op_id))
    return held


def reached(held: Finds, drawer: str) -> list[Support]:
    """The supports that an edit of a drawer meets: those it holds; if none, those that updates took
    from it.
    """
    supports = held.find(Support, "drawer_id", drawer)
    if supports:
        return supports
    taken = held.find(Taken, "drawer_id", drawer)
    return [support for mark in taken for support in held.find(Support, "id", mark.support_id)]


def known(held: Finds, drawer: str) -> bool:
    """Whether a drawer holds, or ever held, a support, or has been hidden."""
    return bool(
        held.find(Support, "drawer_id", drawer)
        or held.find(Taken, "drawer_id", drawer)
        or held.find(Tombstone, "drawer_id", drawer)
    )


def valid_time(supports: Iterable[Support]) -> list[tuple[int, int]]:
    """The union of the supports' intervals, sorted; touching intervals are one, empty ones none."""
    union: list[tuple[int, int]] = []
    for support in sorted(supports, key=lambda one: one.valid_from):
        if support.valid_from >= support.valid_to:
            continue
        if union and support.valid_from <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], support.valid_to)
        else:
            union.append((support.valid_from, support.valid_to))
    return union


def newest(supports: Iterable[Support]) -> Support:
    """The support whose attributes show: the last in canonical order."""
    return max(supports, key=lambda support: (support.rank, support.id))


def texts(event: Event) -> tuple[tuple[str, str, str, str], ...]:
    """The text that an event brings: (drawer_id, wing, room, content)."""
    stated = event.payload
    if "content" not in stated:
        return ()
    return ((stated["drawer_id"], stated["wing"], stated["room"], stated["content"]),)


def names(event: Event) -> tuple[Name, ...]:
    """The wing, the room and the author that an event spells."""
    payload = event.payload
    wing, room, author = payload.get("wing"), payload.get("room"), payload.get("added_by")
    named = () if author is None else (Name("author", "", author),)
    if wing is None:
        return named
    named = (*named, Name("wing", "", wing))
    return (*named, Name("room", wing, room)) if room is not None else named


def mentions(event: Event) -> tuple[tuple[str, str], ...]:
    """The drawers that an event is found by; of a place, the wing."""
    if "place" in event.payload:
        wing = event.payload.get("wing")
        return (("wing", comparable(wing)),) if wing else ()
    return tuple(("drawer", drawer) for drawer in members(event))


def members(event: Event) -> tuple[str, ...]:
    """The drawers that an event touches; they share a key from then on (their lineage). A place is
    a key of its own.
    """
    stated = event.payload
    if "place" in stated:
        return (stated["place"],)
    named = (stated.get("drawer_id"), stated.get("previous"), stated.get("supersedes"))
    return tuple(dict.fromkeys(id for id in named if id))


def _counts(held: Held, event: Event, drawer: str) -> bool:
    """Whether its origin knew of every earlier tombstone of the drawer that the event fills."""
    revives = set(event.payload.get("revives", ()))
    for tombstone in held.find(Tombstone, "drawer_id", drawer):
        if tombstone.op_id not in revives:
            left = (tombstone.op_id, drawer)
            note(held, event, AREA, TOMBSTONE_UNKNOWN, drawer, left=left, right=drawer)
            return False
    return True


def _close(held: Held, event: Event, old: str, at: int, new: str) -> None:
    supports = reached(held, old)
    if not supports:
        _note_no_target(held, event, old, right=new)
        return
    for support in supports:
        held.put(support._replace(valid_to=max(support.valid_from, min(support.valid_to, at))))
    for drawer in dict.fromkeys([old, *(support.drawer_id for support in supports)]):
        if drawer == new:
            continue
        for earlier in held.find(Superseding, "drawer_id", drawer):
            if earlier.successor != new:
                left = (earlier.op_id, earlier.successor)
                note(held, event, AREA, SUPERSEDED_TWICE, drawer, left=left, right=new)
        held.put(Superseding(f"{event.id}/{drawer}", drawer, new, at, event.rank, event.op_id))


def _note_no_target(held: Held, event: Event, old: str, right: str = "") -> None:
    tombstones = held.find(Tombstone, "drawer_id", old)
    if known(held, old):
        left = (tombstones[-1].op_id if tombstones else "", old)
        note(held, event, AREA, TARGET_HIDDEN, old, left=left, right=right)
    else:
        note(held, event, AREA, TARGET_MISSING, old, right=right)


def _support(event: Event, valid_from: int, valid_to: int) -> Support:
    stated = event.payload
    return Support(
        id=event.id,
        drawer_id=stated["drawer_id"],
        valid_from=valid_from,
        valid_to=valid_to,
        tags=_json(stated.get("tags", [])),
        source_file=stated.get("source_file"),
        added_by=stated.get("added_by"),
        metadata=_json(stated.get("metadata", {})),
        recorded_at=event.recorded_at,
        rank=event.rank,
        op_id=event.op_id,
    )


def _carried(support: Support, event: Event, order: int) -> Support:
    """The support under its new text; supports that move together keep their order."""
    stated = event.payload
    return support._replace(
        drawer_id=stated["drawer_id"],
        tags=_json(stated["tags"]) if "tags" in stated else support.tags,
        recorded_at=event.recorded_at,
        rank=event.rank + order.to_bytes(4, "big"),
        op_id=event.op_id,
    )


def _json(value: Any) -> str:
    return canonical(value).decode()


_EVOLVE: Final = {
    "add_drawer": added,
    "note": added,
    "diary_write": added,
    "update_drawer": updated,
    "supersede_drawer": superseded,
    "delete_drawer": deleted,
    "make_place": made,
    "remove_place": removed,
}

DRAWERS: Final = Fold(
    name=AREA,
    kinds=(Support, Taken, Tombstone, Superseding, Place, Conflict),
    indexes={
        Support: ("id", "drawer_id"),
        Taken: ("drawer_id",),
        Tombstone: ("drawer_id",),
        Superseding: ("drawer_id",),
        Place: ("id",),
        Conflict: (),
    },
    members=members,
    parts=parts_of,
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    mentions=mentions,
    names=names,
    texts=texts,
)
