"""What must be so, whatever happened: looked at in the middle of a history and at its end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from domain.belief import Event, Fold, event_of, fold_parts
from domain.catalog import FOLDS, folds_of
from domain.errors import Refused
from domain.instants import show
from replay.verify import verify
from tests.simulation.calls import OBJECTS, SUBJECTS
from tests.simulation.fleet import Replica

_LOCAL = frozenset({"log_id", "position", "as_of", "known_at", "cursor"})
"""What answers of two replicas need not have in common."""


def log_is_whole(replica: Replica) -> None:
    """Positions and numbers without a gap, each device's order kept, and nothing held twice."""
    numbers: dict[str, int] = defaultdict(int)
    stamps: dict[str, int] = {}
    known = replica.stamps()
    for position, operation in enumerate(replica.operations(), 1):
        header, stream = operation.header, operation.recorded.stream_id
        assert operation.position == position
        assert header.local_seq == numbers[stream] + 1, f"{replica.name}: a gap in {stream}"
        numbers[stream] = header.local_seq
        if header.stream == "shared":
            assert known[header.op_id] > stamps.get(stream, -1), f"{replica.name}: {stream} turned"
            stamps[stream] = known[header.op_id]
    assert len(known) == sum(numbers.values())


def verifies(replica: Replica) -> None:
    """`verify` finds nothing."""
    report = verify(replica.house.folder.log, replica.house.folder.views)
    assert report.findings == [], (replica.name, report.findings)
    assert report.events == replica.house.log.position()


def holds_once(primary: Replica, answered: Iterable[str]) -> None:
    """Every operation that was answered, anywhere, is one event of the primary."""
    held = Counter(one.header.op_id for one in primary.operations())
    lost = [op_id for op_id in answered if held[op_id] != 1]
    assert not lost, f"{len(lost)} answered operations are not in the primary once: {lost[:3]}"


def folds_as_from_zero(replica: Replica) -> None:
    """The engine believes what a plain fold of all events in canonical order leads to, down to the
    stamps that it knows by now.
    """
    known = replica.stamps()
    by_area: dict[str, list[Event]] = defaultdict(list)
    for operation in replica.operations():
        for fold in folds_of(operation.header.tool):
            by_area[fold.name].append(event_of(operation, known[operation.header.op_id]))
    with replica.reading() as reading:
        for name, fold in FOLDS.items():
            live = {row for kind in fold.kinds for row in reading.all(kind)}
            own = {row for row in live if getattr(row, "area", name) == name}
            plain = set(_rows(fold, by_area[name]))
            assert own == plain, f"{replica.name}: {name} differ from a plain fold"


def _rows(fold: Fold, events: Iterable[Event]) -> Iterator[Any]:
    """The rows of a fold from zero, key by key."""
    keys: list[tuple[set[str], list[Event]]] = []
    for part in (part for event in events for part in fold.split(event)):
        members, joined = {fold.area(part) + one for one in fold.touched(part)}, [part]
        apart = []
        for key in keys:
            if key[0].isdisjoint(members):
                apart.append(key)
            else:
                members |= key[0]
                joined += key[1]
        keys = [*apart, (members, joined)]
    for _, joined in keys:
        yield from fold_parts(fold, sorted(joined, key=lambda part: part.rank)).rows()


def agree_where_they_must(left: Replica, right: Replica, *, answers: bool = False) -> bool:
    """Promise 5; False where the two know different stamps, and the promise says nothing.

    Args:
        answers: compare also what the two answer to whoever asks.
    """
    one, other = left.canonical_order(), right.canonical_order()
    assert set(one) == set(other), f"{left.name} and {right.name} hold different events"
    if one != other:
        return False
    names = f"{left.name} and {right.name}"
    assert left.state() == right.state(), f"{names} know the same order and differ"
    if not answers:
        return True
    mine, yours = shown(left), shown(right)
    differing = [question for question in mine if mine[question] != yours[question]]
    assert not differing, (names, differing[0], mine[differing[0]], yours[differing[0]])
    return True


def kinds_of_conflict(replica: Replica) -> set[str]:
    return {one["kind"] for one in _pages(replica, "list_conflicts", {}, "conflicts")}


def shown(replica: Replica) -> dict[str, Any]:
    """What a palace answers to everything that can be asked, without what is its own."""
    answers: dict[str, Any] = {}
    all_of_time = {"include_historical": True}
    answers["drawers"] = _pages(replica, "list_drawers", all_of_time, "drawers")
    answers["drawers now"] = _pages(replica, "list_drawers", {}, "drawers")
    answers["conflicts"] = _pages(replica, "list_conflicts", {}, "conflicts")
    answers["timeline"] = _pages(replica, "kg_timeline", {}, "facts")
    for entity in dict.fromkeys([*SUBJECTS, *OBJECTS]):
        asked = {"entity": entity} | all_of_time
        answers[f"facts of {entity}"] = replica.call("kg_query", asked)["facts"]
    ids = {
        drawer
        for one in replica.operations()
        if one.header.stream == "shared"
        for drawer in (one.payload().get("drawer_id"), one.payload().get("previous"))
        if drawer
    }
    for drawer in sorted(ids)[::2]:
        for tool in ("get_drawer", "history"):
            answers[f"{tool} {drawer}"] = _asked(replica, tool, {"drawer_id": drawer})
    return {question: _common(answer) for question, answer in answers.items()}


def _asked(replica: Replica, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = replica.call(tool, arguments)
    except Refused as refusal:
        return {"refused": refusal.code}
    # Past events stand in the order that this log gave them when they came, for what was known must
    # not change; a stamp that another log told it later does not move them.
    for name, key in (("versions", "id"), ("events", "op_id")):
        if name in answer:
            answer[name] = sorted(answer[name], key=lambda line: line[key])
    for drawer in [*answer.get("versions", ()), *filter(None, [answer.get("drawer")])]:
        if drawer["state"] == "hidden":
            drawer["hidden_by"].sort()
            del drawer["provenance"]
    return answer


def _pages(
    replica: Replica, tool: str, arguments: dict[str, Any], lines: str
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = replica.call(tool, arguments | more | {"limit": 7})
        found += page[lines]
        if page["cursor"] is None:
            assert len(found) == page.get("total", len(found))
            return found
        more = {"cursor": page["cursor"]}


def _common(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _common(part) for name, part in value.items() if name not in _LOCAL}
    return [_common(part) for part in value] if isinstance(value, list) else value


def instant(microseconds: int) -> str:
    """An instant as a caller writes it."""
    return show(microseconds)
