"""Random histories of three devices, and the ways in which they can arrive.

A device stamps what it writes by the HLC rule over all that it holds, with a clock of its own that
jumps. It learns what another wrote when it syncs; `revives` lists the tombstones that it knows. In
a blind history nobody syncs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st

from domain.belief import Event, fold_all
from domain.drawers import DRAWERS, Tombstone
from domain.hlc import next_hlc
from domain.operation import stamp_of
from tests.folds import (
    add_drawer,
    declare,
    delete,
    invalidate,
    kg_add,
    named,
    supersede,
    supersede_drawer,
    update,
)

DEVICES = ("ada", "bob", "cyd")
OBJECTS = ("Lyon", "Nice", "Oslo", "LYON")
TEXTS = ("tea", "cup", "jar", "pot")
HOUR = 3_600_000_000
CLOCK_JUMPS = (1_000, 0, -24 * HOUR, 365 * 24 * HOUR)


def examples(number: int) -> settings:
    """So many histories; more under HYPOTHESIS_PROFILE=deep."""
    return settings(max_examples=number * settings().max_examples // 100)


class Step(NamedTuple):
    """One thing that one device does; what the numbers mean is up to the action."""

    device: int
    action: int
    first: int
    second: int
    start: int
    length: int
    jump: int


class Written(NamedTuple):
    """An event, and the op_ids of those that its origin held when it wrote it."""

    event: Event
    known: frozenset[str]


class Device:
    """What one device holds, and its clock."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = 0
        self.held: dict[str, Event] = {}

    def stamp(self, jump: int) -> int:
        self.clock += jump
        newest = max((stamp_of(event.rank) for event in self.held.values()), default=-1)
        return next_hlc(newest, self.clock)

    def tombstones(self, text: str) -> list[Event]:
        """The deletes that hid a text, as far as the device knows: by its id, or by one that led
        to it.
        """
        if not any(event.tool == "delete_drawer" for event in self.held.values()):
            return []
        known = sorted(self.held.values(), key=lambda event: event.rank)
        stones = fold_all(DRAWERS, known).find(Tombstone, "drawer_id", named(text))
        return [self.held[stone.op_id] for stone in stones]


Write = Callable[[Device, int, Step], Event]


def _writes_fact(device: Device, stamp: int, step: Step) -> Event:
    by = {"device": device.name, "subject": "Ana" if step.length == 4 else "Kiran"}
    first, second = OBJECTS[step.first], OBJECTS[step.second]
    if step.action <= 3:
        end = None if step.length == 0 else step.start + step.length - 1
        return kg_add(stamp, first, step.start, end, **by)
    if step.action <= 5:
        return invalidate(stamp, first, step.start, **by, duplicate=step.length == 5)
    if first.lower() == second.lower():
        second = "Rome"
    return supersede(stamp, first, second, step.start, **by, duplicate=step.length == 5)


def _writes_declaration(device: Device, stamp: int, step: Step) -> Event:
    wing = (None, "work", "Work", "home")[step.second]
    predicate = ("city", "CITY", "age", "age")[step.first]
    cardinality = ("one", "many")[step.action % 2]
    return declare(stamp, cardinality, predicate=predicate, wing=wing, device=device.name)


def _writes_drawer(device: Device, stamp: int, step: Step) -> Event:
    first, second = TEXTS[step.first], TEXTS[step.second]
    filled: dict[str, Any] = {"device": device.name, "revives": device.tombstones(second)}
    tags = None if step.length % 2 else [f"t{step.length}"]
    if step.action <= 2:
        end = None if step.length == 0 else step.start + step.length - 1
        old = first if step.length == 5 and first != second else None
        return add_drawer(stamp, second, step.start, end, supersedes=old, tags=tags, **filled)
    if step.action <= 4:
        return update(stamp, first, second, tags=tags, **filled)
    if step.action == 5:
        return delete(stamp, first, device=device.name)
    if first == second:
        return supersede_drawer(stamp, first, at=step.start, device=device.name)
    return supersede_drawer(stamp, first, second, step.start, tags=tags, **filled)


def _run(steps: Sequence[Step], write: Write, *, blind: bool) -> list[Written]:
    devices = [Device(name) for name in DEVICES]
    written: list[Written] = []
    for step in steps:
        device = devices[step.device]
        if step.action == 8:
            if not blind:
                device.held |= devices[(step.device + 1 + step.first % 2) % 3].held
            continue
        event = write(device, device.stamp(CLOCK_JUMPS[step.jump]), step)
        written.append(Written(event, frozenset(device.held)))
        device.held[event.op_id] = event
    return written


def _histories(write: Write, max_size: int) -> st.SearchStrategy[list[Written]]:
    step = st.builds(
        Step,
        device=st.integers(0, 2),
        action=st.integers(0, 8),
        first=st.integers(0, 3),
        second=st.integers(0, 3),
        start=st.integers(0, 6),
        length=st.integers(0, 5),
        jump=st.integers(0, 3),
    )
    steps = st.lists(step, min_size=1, max_size=max_size)
    return st.builds(lambda steps, blind: _run(steps, write, blind=blind), steps, st.booleans())


FACT_HISTORIES = _histories(_writes_fact, 14)
DECLARATION_HISTORIES = _histories(_writes_declaration, 8)
DRAWER_HISTORIES = _histories(_writes_drawer, 14)


ORDERS = st.lists(st.integers(0, 13), max_size=24)


def arriving(events: Sequence[Event], order: Sequence[int]) -> list[Event]:
    """The events as a log may receive them: in any order, some often, and none missing."""
    return [*(events[number % len(events)] for number in order if events), *events]
