"""Parts: what an operation on many drawers does, one drawer or place at a time.

Protects the folds from knowing bulk operations: a checkpoint of forty items is forty adds to them,
each in its own lineage and with a place of its own in canonical order. Pure; an index never
changes, as ids and order follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from domain.belief import PUBLISH, Event, part_of
from domain.places import place_id

Part = tuple[str, dict[str, Any]]


def parts_of(event: Event) -> tuple[Event, ...]:
    """The parts of an event on drawers; none once it is redacted or voided."""
    if not event.payload:
        return ()
    split = _SPLIT.get(event.tool)
    if split is None:
        return (event,)
    return tuple(part_of(event, i, *part) for i, part in enumerate(split(event.payload)))


def stated_texts(tool: str, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The payloads of the parts of an operation that bring a text each."""
    split = None if payload.get("undone") is not None else _SPLIT.get(tool)
    parts = [(tool, payload)] if split is None else split(payload)
    return (stated for _, stated in parts if stated.get("content") is not None)


def _checkpoint(payload: dict[str, Any]) -> Iterator[Part]:
    for item in payload["items"]:
        yield "add_drawer", {name: value for name, value in item.items() if value is not None}
    if payload.get("diary"):
        entry = payload["diary"]
        yield "diary_write", {name: value for name, value in entry.items() if value is not None}


def _published(payload: dict[str, Any]) -> Iterator[Part]:
    for item in payload.get("items", ()):
        yield "add_drawer", {name: value for name, value in item.items() if value is not None}
    wing = {"wing": payload["wing"], "policy": "replicated"}
    yield from _place(wing | {"description": payload.get("description")})
    for room in payload.get("rooms", ()):
        yield from _place({"wing": payload["wing"], "room": room})


def published_facts(event: Event) -> tuple[Event, ...]:
    """The parts of an event on facts: itself, or all facts of a wing that is published."""
    return _said_again(event, facts="kg_add")


def published_predicates(event: Event) -> tuple[Event, ...]:
    """The parts of a declaration: itself, or all of a wing that is published."""
    return _said_again(event, declared="kg_declare_predicate")


def published_entities(event: Event) -> tuple[Event, ...]:
    """The parts of an event on entities: itself, or all aliases and links of a wing that is
    published.
    """
    return _said_again(event, aliases="add_alias", links="link_drawer")


def published_tunnels(event: Event) -> tuple[Event, ...]:
    """The parts of an event on tunnels: itself, or all that travel with a wing."""
    return _said_again(event, tunnels="create_tunnel")


def _said_again(event: Event, **tools: str) -> tuple[Event, ...]:
    """Of a published wing, what its lists say, each as an event of the list's tool would."""
    if not event.payload or event.tool != PUBLISH:
        return (event,) if event.payload else ()
    stated = (
        (tool, {field: value for field, value in one.items() if value is not None})
        for name, tool in tools.items()
        for one in event.payload.get(name, ())
    )
    return tuple(part_of(event, i, *part) for i, part in enumerate(stated))


def _deletes(payload: dict[str, Any]) -> Iterator[Part]:
    reason = {"reason": payload["reason"]} if payload.get("reason") else {}
    for drawer in payload["drawer_ids"]:
        yield "delete_drawer", {"drawer_id": drawer} | reason


def _place(payload: dict[str, Any]) -> Iterator[Part]:
    place = place_id(payload["wing"], payload.get("room", ""))
    yield "make_place", payload | {"place": place}


def _place_and_all_in_it(payload: dict[str, Any]) -> Iterator[Part]:
    yield from _deletes(payload)
    wing = payload["wing"]
    for room in payload["rooms"]:
        yield "remove_place", {"place": place_id(wing, room)}
    if not payload.get("room"):
        yield "remove_place", {"place": place_id(wing)}


_SPLIT: Final[dict[str, Callable[[dict[str, Any]], Iterator[Part]]]] = {
    "checkpoint": _checkpoint,
    PUBLISH: _published,
    "delete_drawers": _deletes,
    "delete_by_source": _deletes,
    "create_wing": _place,
    "create_room": _place,
    "delete_wing": _place_and_all_in_it,
    "delete_room": _place_and_all_in_it,
}
