"""Many callers at once: cases L13 to L15."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from domain.errors import PalaceError
from domain.operation import Draft
from tests.palaces import Device, operations

PLACE = {"wing": "home", "room": "notes"}


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run calls in as many threads, let go together."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_a_key_sent_twice_is_one_event_and_one_answer(ada: Device) -> None:
    """L13"""
    given = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    first = ada.call("add_drawer", given)
    again = ada.call("add_drawer", dict(reversed(given.items())))
    assert orjson.dumps(again) == orjson.dumps(first)
    assert ada.position() == 1


def test_a_key_sent_again_while_the_first_is_under_way_is_one_event(ada: Device) -> None:
    """L13"""
    given = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    answers = at_once([lambda: ada.call("add_drawer", given)] * 16)
    assert len({orjson.dumps(answer) for answer in answers}) == 1
    assert answers[0]["duplicate"] is False
    assert ada.position() == 1


def test_a_key_raced_by_two_different_calls_lets_one_through(ada: Device) -> None:
    """L13"""

    def add(content: str) -> str:
        try:
            ada.add_drawer(**PLACE, content=content, idempotency_key="k-1")
        except PalaceError as error:
            return error.code
        return "done"

    outcomes = at_once([lambda: add("tea"), lambda: add("coffee")] * 8)
    assert sorted(set(outcomes)) == ["done", "palacelog::idempotency::conflict"]
    assert outcomes.count("done") == 8
    assert ada.position() == 1


def test_twenty_adds_of_one_text_are_one_drawer_and_twenty_events(ada: Device) -> None:
    """L15"""
    answers = at_once([lambda: ada.add_drawer(**PLACE, content="tea")] * 20)

    assert len({answer["drawer_id"] for answer in answers}) == 1
    assert sorted(answer["position"] for answer in answers) == list(range(1, 21))
    assert [answer["duplicate"] for answer in answers].count(False) == 1
    assert ada.list_drawers()["total"] == 1
    ada.delete_drawer(drawer_id=answers[0]["drawer_id"])
    assert ada.list_drawers()["total"] == 0


def test_a_turn_that_is_refused_takes_nobody_else_of_its_commit_with_it(ada: Device) -> None:
    def delete() -> str:
        with pytest.raises(PalaceError) as caught:
            ada.delete_drawer(drawer_id="drawer_of_nobody")
        return caught.value.code

    def add(number: int) -> str:
        return str(ada.add_drawer(**PLACE, content=f"text {number}")["drawer_id"])

    calls: list[Callable[[], str]] = [delete] * 8
    calls += [lambda number=number: add(number) for number in range(24)]
    outcomes = at_once(calls)
    assert outcomes[:8] == ["palacelog::drawers::unknown"] * 8
    assert ada.list_drawers()["total"] == ada.position() == 24


def test_a_turn_that_crashes_is_rolled_back_alone(ada: Device) -> None:
    """A fault of our own must not be acknowledged, nor undo what others were told."""
    writer = ada.house.palace.writer
    started = threading.Event()
    go_on = threading.Event()

    def wait(turn: Any) -> None:
        started.set()
        go_on.wait(10)

    def crash(turn: Any) -> None:
        turn.append(Draft("add_drawer", written.payload(), asked={}))
        raise ZeroDivisionError

    ada.add_drawer(**PLACE, content="before")
    [written] = operations(ada.house)
    held = writer.submit(wait)
    started.wait(10)
    crashed = writer.submit(crash)
    with ThreadPoolExecutor(4) as pool:
        others = [
            pool.submit(ada.add_drawer, **PLACE, content=f"text {number}") for number in range(4)
        ]
        go_on.set()
        held.result(10)
        with pytest.raises(ZeroDivisionError):
            crashed.result(10)
        positions = sorted(other.result(10)["position"] for other in others)
    assert positions == [2, 3, 4, 5]
    assert ada.list_drawers()["total"] == 5
