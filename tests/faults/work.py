"""What a palace is busy with while something goes wrong: writes of every kind, late arrivals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from domain.catalog import CATALOG
from domain.operation import Draft, Operation, Recorded
from domain.operations.common import Clock
from palacelog.bootstrap import House
from replay.writer import Turn
from tests.palaces import Machine, new_palace, operations, receive

Call = Callable[[str, dict[str, Any]], dict[str, Any]]
DAY = 24 * 3_600_000_000


def history(call: Call, name: str) -> Iterator[dict[str, Any]]:
    """Ten writes, one of every kind at least, each answer as it comes; `name` keeps them apart."""
    place = {"wing": f"wing {name}", "room": "notes"}
    fact = {"subject": f"Kiran {name}", "predicate": f"city {name}"}
    tea = call("add_drawer", place | {"content": f"tea {name}", "tags": ["drink"]})
    yield tea
    yield call("kg_add", fact | {"object": "Lyon", "valid_from": "2026-03-01"})
    yield call("update_drawer", {"drawer_id": tea["drawer_id"], "content": f"green tea {name}"})
    yield call("kg_supersede", fact | {"old_object": "Lyon", "new_object": "Nice"})
    cup = call("add_drawer", place | {"content": f"cup {name}", "idempotency_key": f"key {name}"})
    yield cup
    yield call("kg_declare_predicate", {"predicate": f"city {name}", "cardinality": "one"})
    yield call("supersede_drawer", {"drawer_id": cup["drawer_id"], "content": f"mug {name}"})
    yield call("kg_invalidate", fact | {"object": "Nice"})
    pot = call("add_drawer", place | {"content": f"pot {name} " + "of coffee " * 40})
    yield pot
    yield call("delete_drawer", {"drawer_id": pot["drawer_id"], "reason": "broken"})


def varied(call: Call, name: str, count: int) -> Iterator[dict[str, Any]]:
    """`count` writes of all kinds, each answer as it comes."""
    done = 0
    while done < count:
        for answer in history(call, f"{name}-{done}"):
            yield answer
            done += 1
            if done == count:
                return


def write(house: House, name: str, count: int) -> list[str]:
    """The op_ids of `count` varied writes."""
    return [answer["op_id"] for answer in varied(house.palace.call, name, count)]


def note(house: House, text: str) -> dict[str, Any]:
    """One small write."""
    return house.palace.call("add_drawer", {"wing": "home", "room": "notes", "content": text})


def late_events(folder: Path) -> list[Recorded]:
    """What a device wrote yesterday, about what `history` of the name `late` is about."""
    with new_palace(folder, "old", system=Machine(-DAY)) as house:
        for _ in history(house.palace.call, "late"):
            pass
        return [one.recorded for one in operations(house)]


def receive_all(house: House, events: Sequence[Recorded]) -> None:
    """Take events from elsewhere, one turn each."""
    for event in events:
        receive(house, event)


def share_a_commit(house: House, texts: Sequence[str]) -> list[Future[Operation]]:
    """Queue drawers while the writer is held back, so that one commit is for all of them."""
    started, go_on = threading.Event(), threading.Event()

    def wait(_: Turn) -> None:
        started.set()
        go_on.wait()

    writer = house.palace.writer
    writer.submit(wait)
    started.wait()
    futures = [writer.submit(_adding(text)) for text in texts]
    go_on.set()
    return futures


def _adding(text: str) -> Callable[[Turn], Operation]:
    entry = CATALOG["add_drawer"]
    asked = {"wing": "home", "room": "shared commit", "content": text}

    def turn(at: Turn) -> Operation:
        assert entry.decide is not None
        given = entry.asks.model_validate(asked, context=Clock("UTC", at.now))
        payload, target = entry.decide(given, at.known, at.now)
        return at.append(Draft(entry.name, payload, asked, target=target))

    return turn
