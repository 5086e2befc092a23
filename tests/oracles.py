"""DESIGN section 7 once more, as plainly as it can be said and sharing no code with the folds.

Slow and short: whole histories at once, nothing incremental, dictionaries changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from domain.belief import Event

NEVER = 2**63 - 1
"""The end of what has no end."""


def in_canonical_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.rank)


def fold_facts(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The assertions of one partition: op, object, from, to, order, sources, next."""
    kept: list[dict[str, Any]] = []
    for event in in_canonical_order(events):
        said = event.payload
        if event.tool == "kg_add":
            _add(kept, event, said["object"].lower(), said["valid_from"], said.get("valid_to"))
        elif not said.get("duplicate") and event.tool == "kg_invalidate":
            for one in kept:
                if one["object"] == said["object"].lower() and one["to"] > said["ended"]:
                    one["to"] = max(one["from"], said["ended"])
        elif not said.get("duplicate"):
            _supersede(kept, event, said["old_object"].lower(), said["new_object"].lower())
    return kept


def _add(kept: list[dict[str, Any]], event: Event, value: str, start: int, end: int | None) -> None:
    same = {"object": value, "from": start, "to": NEVER if end is None else end, "joins": True}
    twins = [one for one in kept if same.items() <= one.items()]
    if twins:
        first = min(twins, key=lambda one: one["order"])
        first["sources"].add(event.op_id)
        first["order"] = event.rank
    else:
        kept.append(_opened(event, **same))


def _supersede(kept: list[dict[str, Any]], event: Event, old: str, new: str) -> None:
    at = event.payload["at"]
    of_old = [one for one in kept if one["object"] == old]
    targets = [one for one in of_old if one["to"] > at]
    if all(one["to"] != NEVER for one in of_old):
        chain = [one for one in of_old if one["next"]]
        for one in chain:
            chain += [two for two in kept if two["op"] == one["next"] and two not in chain]
        targets += [one for one in chain if one not in targets]
    for one in targets:
        one["to"] = max(one["from"], min(one["to"], at))
        one["next"] = one["next"] or event.op_id
    kept.append(_opened(event, object=new, **{"from": at, "to": NEVER, "joins": False}))


def _opened(event: Event, **stated: Any) -> dict[str, Any]:
    own = {"op": event.op_id, "order": event.rank, "sources": {event.op_id}, "next": ""}
    return own | stated


def values_at(rows: Iterable[Any], instant: int) -> set[str]:
    """Of many values: every object that some assertion states for the instant."""
    return {row.object_key for row in rows if row.valid_from <= instant < row.valid_to}


def value_at(rows: Iterable[Any], instant: int) -> set[str]:
    """Of one value: sort by (from, K); another object cuts what came before; nothing resumes."""
    stated: list[Any] = []
    for row in sorted(rows, key=lambda row: (row.valid_from, row.rank)):
        if row.valid_from < row.valid_to and row.valid_from <= instant:
            stated = [one for one in stated if one.object_key == row.object_key]
            stated.append(row)
    return values_at(stated, instant)


def fold_drawers(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The supports left: op, at (the drawer), been (from where updates took it), from, to."""
    supports: list[dict[str, Any]] = []
    deletes: list[tuple[str, set[str]]] = []
    for event in in_canonical_order(events):
        said = event.payload
        filled = said.get("drawer_id") if event.tool != "delete_drawer" else None
        gone = {op_id for op_id, hidden in deletes if filled in hidden}
        if event.tool == "delete_drawer":
            meant = _meant(supports, said["drawer_id"])
            supports = [one for one in supports if one not in meant]
            hidden = {said["drawer_id"], *(one["at"] for one in meant)}
            deletes.append((event.op_id, hidden))
        elif gone <= set(said.get("revives", ())):
            if event.tool == "update_drawer":
                for one in _meant(supports, said["previous"]):
                    one["been"] |= {one["at"], said["previous"]} - {filled}
                    one["at"] = filled
            elif filled or not said.get("duplicate"):
                for one in _meant(supports, said.get("supersedes")):
                    one["to"] = max(one["from"], min(one["to"], said["valid_from"]))
                if filled:
                    supports.append(
                        {"op": event.op_id, "at": filled, "been": set()}
                        | {"from": said["valid_from"], "to": said.get("valid_to", NEVER)}
                    )
    return supports


def _meant(supports: Sequence[dict[str, Any]], drawer: str | None) -> list[dict[str, Any]]:
    """What a drawer holds; if it holds none, what updates took from it."""
    held = [one for one in supports if one["at"] == drawer]
    return held or [one for one in supports if drawer in one["been"]]
