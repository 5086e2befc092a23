"""Travel: which part of a write stays on this machine.

Protects what a person keeps local: a wing is replicated or local from its first event on, and what
lies in a local wing is recorded in the local stream alone. A call that touches both kinds becomes
two events of one call; one that would carry a local text's id into a replicated wing, or back, is
refused. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from domain.embedders import ATTACH_EMBEDDING, EMBED
from domain.errors import Refused
from domain.jobs import MINE, STEERING
from domain.ports import Known

SHARED: Final = "shared"
LOCAL: Final = "local"
REPLICATED: Final = "replicated"
_SOURCES: Final = ("source_drawer_id", "target_drawer_id")
"""What a local operation may name although it travels."""


_NOTHING_ELSE: Final[Mapping[str, str]] = {}


class Leg(NamedTuple):
    """What one stream records of a call."""

    stream: str
    payload: dict[str, Any]


def legs(tool: str, payload: dict[str, Any], known: Known) -> list[Leg]:
    """What each stream records of a call; what travels comes first.

    Raises:
        Refused: `palacelog::wings::crosses`.
    """
    divide = _DIVIDE.get(tool)
    if divide is not None:
        return divide(payload, known)
    stays = _stays(payload, known)
    _refuse_crossing(payload, known, stays=stays, filed=_NOTHING_ELSE)
    return [Leg(LOCAL if stays else SHARED, payload)]


def _refuse_crossing(
    payload: dict[str, Any], known: Known, *, stays: bool, filed: Mapping[str, str]
) -> None:
    for field in ("previous", "supersedes", *_SOURCES):
        drawer = payload.get(field)
        crosses = drawer and (_policy_of(drawer, known, filed) == LOCAL) != stays
        if crosses and not (stays and field in _SOURCES):
            raise Refused(
                "wings::crosses",
                f"{drawer} lies in a wing of the other kind: one of the two is local.",
                "Add the text where it shall be, and delete it where it was.",
            )


def merged(payloads: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What was recorded of one call, as one payload again; inverse of `legs`."""
    whole: dict[str, Any] = {}
    for payload in payloads:
        for name, value in payload.items():
            if name not in whole:
                whole[name] = value
            elif name == "duplicate":
                whole[name] = whole[name] and value
            elif isinstance(value, list):
                whole[name] = whole[name] + value
    return whole


def new_local_wings(tool: str, parts: Iterable[Leg], known: Known) -> list[str]:
    """The local wings that a call is the first to name; an operation must fix them before."""
    if tool == "create_wing":
        return []
    named = [wing for leg in parts if leg.stream == LOCAL for wing in _wings(leg.payload)]
    new = [wing for wing in dict.fromkeys(named) if not known.fixed(wing)]
    if tool == MINE:
        return new
    return [wing for wing in new if known.policy(wing) == LOCAL]


def _wings(payload: dict[str, Any]) -> list[str]:
    filed = [*payload.get("items", ()), *filter(None, [payload.get("diary")])]
    return [one["wing"] for one in (payload, *filed) if one.get("wing")] + _joined(payload)


def _joined(payload: dict[str, Any]) -> list[str]:
    """The wings that a tunnel joins."""
    ends = (payload.get("source_wing"), payload.get("target_wing"), *payload.get("wings", ()))
    return [wing for wing in ends if wing]


def _stays(payload: dict[str, Any], known: Known) -> bool:
    if payload.get("policy"):
        return bool(payload["policy"] == LOCAL)
    joined = _joined(payload)
    if joined:
        return any(known.policy(wing) == LOCAL for wing in joined)
    return known.policy(_wing_of(payload, known)) == LOCAL


def _wing_of(payload: dict[str, Any], known: Known) -> str | None:
    if payload.get("wing"):
        return str(payload["wing"])
    drawer = payload.get("drawer_id") or payload.get("supersedes")
    text = known.text(drawer) if drawer else None
    return None if text is None else text.wing


def _policy_of(drawer: str, known: Known, filed: Mapping[str, str] = _NOTHING_ELSE) -> str:
    """The policy of a drawer's wing; `filed` has the wings of drawers that are yet to be stored."""
    text = known.text(drawer)
    wing = filed.get(drawer) if text is None else text.wing
    return known.policy(wing)


def _checkpoint(payload: dict[str, Any], known: Known) -> list[Leg]:
    filed = {item["drawer_id"]: item["wing"] for item in payload["items"]}
    for item in payload["items"]:
        _refuse_crossing(item, known, stays=known.policy(item["wing"]) == LOCAL, filed=filed)
    local = _part(payload, "items", lambda item: known.policy(item["wing"]) == LOCAL)
    shared = _part(payload, "items", lambda item: known.policy(item["wing"]) != LOCAL)
    stays = lambda one: known.policy(one["wing"]) == LOCAL  # noqa: E731
    _divide(payload, "dropped", stays, shared, local)
    diary = payload.get("diary")
    if diary is not None:
        side = local if known.policy(diary["wing"]) == LOCAL else shared
        side["diary"] = diary
    return _present(shared, local, ("items", "dropped", "diary"))


def _deletes(payload: dict[str, Any], known: Known) -> list[Leg]:
    shared, local = dict(payload), dict(payload)
    for name in ("drawer_ids", "hidden"):
        _divide(payload, name, lambda one: _policy_of(one, known) == LOCAL, shared, local)
    # What was found nowhere concerns nobody else, and may name what is local.
    return (
        _present(shared, local, ("drawer_ids",)) if payload["drawer_ids"] else [Leg(LOCAL, local)]
    )


def _undo(payload: dict[str, Any], known: Known) -> list[Leg]:
    local_ops = set(known.local_operations(payload["operations"]))
    shared, local = dict(payload), dict(payload) | {"kept": []}
    _divide(payload, "operations", lambda one: one in local_ops, shared, local)
    _divide(payload, "undone", lambda one: one["op_id"] in local_ops, shared, local)
    return _present(shared, local, ("operations",))


def _resolved(payload: dict[str, Any], known: Known) -> list[Leg]:
    """What is said of a conflict stays where one of its sides does."""
    conflict = known.conflict(payload["conflict_id"])
    sides = [] if conflict is None else [conflict.left_op, conflict.right_op]
    return [Leg(LOCAL if known.local_operations(sides) else SHARED, payload)]


def _publish(payload: dict[str, Any], known: Known) -> list[Leg]:
    """What stands in the wing travels; what gives way to it is of this machine."""
    shared = {name: value for name, value in payload.items() if name != "undone"}
    local = {name: payload[name] for name in ("wing", "undone", "duplicate")}
    return [Leg(SHARED, shared), Leg(LOCAL, local)]


def _of_this_machine(payload: dict[str, Any], known: Known) -> list[Leg]:
    return [Leg(LOCAL, payload)]


def _part(payload: dict[str, Any], name: str, stays: Callable[[Any], bool]) -> dict[str, Any]:
    chosen = [one for one in payload[name] if stays(one)]
    whole = {key: value for key, value in payload.items() if key != "diary"}
    return whole | {name: chosen}


def _divide(
    payload: dict[str, Any],
    name: str,
    stays: Callable[[Any], bool],
    shared: dict[str, Any],
    local: dict[str, Any],
) -> None:
    local[name] = [one for one in payload[name] if stays(one)]
    shared[name] = [one for one in payload[name] if not stays(one)]


def _present(shared: dict[str, Any], local: dict[str, Any], names: tuple[str, ...]) -> list[Leg]:
    """The legs that hold anything; where neither does, the one that travels."""
    holding = [
        Leg(stream, payload)
        for stream, payload in ((SHARED, shared), (LOCAL, local))
        if any(payload.get(name) for name in names)
    ]
    return holding or [Leg(SHARED, shared)]


_DIVIDE: Final[dict[str, Callable[[dict[str, Any], Known], list[Leg]]]] = {
    "checkpoint": _checkpoint,
    "delete_drawers": _deletes,
    "delete_by_source": _deletes,
    "resolve_conflict": _resolved,
    "undo": _undo,
    "publish_wing": _publish,
    EMBED: _of_this_machine,
    ATTACH_EMBEDDING: _of_this_machine,
} | dict.fromkeys((MINE, *STEERING), _of_this_machine)
