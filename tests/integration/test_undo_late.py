"""An undo and what another device built on the undone meanwhile: told by files, in every order, it
leads to one state, and what lost its ground is listed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from replay.outbox import export_outbox
from replay.receive import replay_file
from tests.palaces import Device, Fleet, state_of

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


class Story(NamedTuple):
    """What ada does and takes back, what bob builds on it, and what stands and is listed then."""

    does: Callable[[Device], dict[str, Any]]
    builds: Callable[[Device, dict[str, Any]], Any]
    contents: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ("target_missing",)


def add(device: Device) -> dict[str, Any]:
    return device.add_drawer(**PLACE, content="tea")


def update(device: Device) -> dict[str, Any]:
    return device.update_drawer(drawer_id=add(device)["drawer_id"], content="green tea")


def state(device: Device) -> dict[str, Any]:
    return device.kg_add(**CITY, object="Lyon")


STORIES = {
    "an update": Story(
        add, lambda bob, done: bob.update_drawer(drawer_id=done["drawer_id"], content="black tea")
    ),
    "an update of an update": Story(
        update,
        lambda bob, done: bob.update_drawer(drawer_id=done["drawer_id"], content="black tea"),
        contents=("tea",),
    ),
    "a text in its place": Story(
        add,
        lambda bob, done: bob.supersede_drawer(drawer_id=done["drawer_id"], content="coffee"),
        contents=("coffee",),
    ),
    "a delete": Story(add, lambda bob, done: bob.delete_drawer(drawer_id=done["drawer_id"])),
    "an end": Story(state, lambda bob, done: bob.kg_invalidate(**CITY, object="Lyon")),
    "a value in its place": Story(
        state,
        lambda bob, done: bob.kg_supersede(**CITY, old_object="Lyon", new_object="Nice"),
        objects=("Nice",),
    ),
    "the same text": Story(add, lambda bob, done: add(bob), contents=("tea",), conflicts=()),
    "the same fact": Story(
        state,
        lambda bob, done: bob.kg_add(**CITY, object="Lyon"),
        objects=("Lyon",),
        conflicts=(),
    ),
    "a link": Story(
        add,
        lambda bob, done: bob.link_drawer(drawer_id=done["drawer_id"], entity="Kiran"),
        conflicts=(),
    ),
}


def sent(device: Device, file: Path, first: int = 1) -> Path:
    with device.house.palace.reading() as reading:
        export_outbox(device.house.log, reading, file, first=first)
    return file


def taken(device: Device, *files: Path) -> None:
    for file in files:
        replayed = replay_file(file, device.house.palace.writer)
        assert replayed.stopped is None, replayed.stopped


def told(device: Device) -> tuple[Any, ...]:
    """What every palace must tell alike; where it lies in a log is each log's own."""
    listed = device.list_conflicts()["conflicts"]
    return (
        state_of(device.house),
        sorted(device.contents()),
        device.objects(),
        [(one["id"], one["kind"], one["about"], one["right"]["op_id"]) for one in listed],
    )


@pytest.mark.parametrize("undoer", ["ada", "bob"])
@pytest.mark.parametrize("name", STORIES)
def test_an_undo_and_what_was_built_meanwhile_lead_to_one_state_in_every_order(
    fleet: Fleet, tmp_path: Path, name: str, undoer: str
) -> None:
    story = STORIES[name]
    ada, bob, eve = fleet.devices("ada", "bob", "eve")
    done = story.does(ada)
    early = sent(ada, tmp_path / "early.ndjson")
    taken(bob, early)
    taken(eve, early)
    undoes, builds = (ada, bob) if undoer == "ada" else (bob, eve)
    undone = undoes.undo(op_id=done["op_id"], dry_run=False)
    assert undone["undone"] == [done["op_id"]]
    story.builds(builds, done)
    files = [early]
    for device in (undoes, builds):
        first = done["local_seq"] + 1 if device is ada else 1
        files.append(sent(device, tmp_path / f"{device.name}.ndjson", first))
    expected = None
    for number, order in enumerate(permutations(files)):
        if undoer == "ada" and order.index(early) > order.index(files[1]):
            continue  # one stream keeps its order
        third = fleet.device(f"third-{number}")
        taken(third, *order)
        taken(third, *reversed(order))

        expected = expected or told(third)
        assert told(third) == expected
    for device in (ada, bob, eve):
        for file in files:
            taken(device, file)
        assert told(device) == expected
        assert device.contents() == list(story.contents)
        assert device.objects() == list(story.objects)
        assert device.conflicts() == list(story.conflicts)
