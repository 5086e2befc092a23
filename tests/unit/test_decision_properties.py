"""What a device decides has its way at the device, and all devices agree once they hold the same.

Three devices call the real operations, each on what it knows, and sync now and then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from domain.belief import Event
from domain.catalog import CATALOG
from domain.drawers import DRAWERS, Support
from domain.errors import InvalidInput, Refused
from domain.facts import FACTS, Assertion, derive
from domain.instants import show
from domain.jobs import JOBS, STEERING, Job
from domain.operation import stamp_of
from domain.tunnels import tunnel_id
from tests.histories import DEVICES, examples
from tests.known import NOW, TINY, TINY_COUNTS, MemoryKnown

MINUTE = 60_000_000
OBJECTS = ("Lyon", "Nice", "Oslo", " LYON ")
TEXTS = ("tea", "cup", "jar", "tea\n")
NAMES = ("Kiran", "Kiki", "K", "kiran ")
ROOMS = ("notes", "attic", "Notes", "den")
PLACES = ({"wing": "home", "room": "notes"}, {"wing": "Home", "room": "Notes"})
WRITES = sorted(entry.name for entry in CATALOG.values() if entry.writes)


class Call(NamedTuple):
    """A call, or a sync with the next device (tool None)."""

    device: int
    tool: str | None
    first: int
    second: int
    minutes: int
    place: int


calls = st.lists(
    st.builds(
        Call,
        device=st.integers(0, 2),
        tool=st.sampled_from([*WRITES, None, None]),
        first=st.integers(0, 3),
        second=st.integers(0, 3),
        minutes=st.integers(-3, 3),
        place=st.integers(0, 1),
    ),
    max_size=14,
)


def arguments_of(call: Call, known: MemoryKnown) -> dict[str, Any]:
    """What is asked; drawers are named by ids that the device has seen."""
    when = show(NOW + call.minutes * MINUTE) if call.minutes else None
    ids = sorted({text.drawer_id for text in known.texts()}) or ["drawer_x"]
    drawer, text = ids[call.first % len(ids)], TEXTS[call.second]
    about = {"subject": "Kiran", "predicate": "city", "wing": PLACES[call.place]["wing"]}
    first, second = OBJECTS[call.first], OBJECTS[call.second]
    asked: dict[str, dict[str, Any]] = {
        "add_drawer": PLACES[call.place] | {"content": text, "valid_from": when},
        "update_drawer": {"drawer_id": drawer, "content": text},
        "supersede_drawer": {"drawer_id": drawer, "content": text, "valid_from": when},
        "delete_drawer": {"drawer_id": drawer},
        "kg_add": about | {"object": first, "valid_from": when},
        "kg_invalidate": about | {"object": first, "ended": when},
        "kg_supersede": about | {"old_object": first, "new_object": second, "at": when},
        "kg_declare_predicate": {"predicate": "city", "cardinality": ("one", "many")[call.place]},
        "delete_drawers": {"drawer_ids": list(dict.fromkeys([drawer, ids[-1]]))},
        "delete_by_source": {"source_file": ("a.md", "b.md")[call.place], "dry_run": False},
        "checkpoint": {
            "items": [
                PLACES[call.place] | {"content": text, "source_file": "a.md"},
                PLACES[call.place - 1] | {"content": TEXTS[call.first]},
            ],
            "diary": {"agent_name": "scribe", "entry": text},
            "drop_duplicates": call.minutes > 0,
        },
        "note": PLACES[call.place] | {"content": text, "source_file": "b.md"},
        "diary_write": {"agent_name": ("scribe", "mason")[call.place], "entry": text},
        "create_wing": {"wing": PLACES[call.place]["wing"], "description": text.strip()},
        "create_room": PLACES[call.place],
        "publish_wing": {"wing": PLACES[call.place]["wing"]},
        "delete_wing": {"wing": PLACES[call.place]["wing"], "dry_run": False},
        "delete_room": PLACES[call.place] | {"dry_run": False},
        "add_alias": {
            "entity": NAMES[call.first],
            "alias": NAMES[call.second],
            "wing": (None, "home")[call.place],
        },
        "link_drawer": {"drawer_id": drawer, "entity": NAMES[call.second]},
        "create_tunnel": {
            "source_wing": PLACES[call.place]["wing"],
            "source_room": ROOMS[call.first],
            "target_wing": "home",
            "target_room": ROOMS[call.second],
            "label": (None, text.strip())[call.place],
            "target_drawer_id": drawer if call.minutes > 1 else None,
        },
        "delete_tunnel": {
            "tunnel_id": tunnel_id(("home", ROOMS[call.first]), ("home", ROOMS[call.second]))
        },
        "resolve_conflict": {
            "conflict_id": _a_conflict(call, known),
            "resolution": (None, text)[call.place],
        },
        "embed": {"limit": 1 + call.first},
        "attach_embedding": {
            "drawer_id": drawer,
            "embedder": TINY.short,
            "vectors": [[float(call.first), 1.0]],
        },
        "mine": {"path": f"/papers/{call.first}", "wing": PLACES[call.place]["wing"]},
        **{tool: {"job_id": _a_job(call, known)} for tool in STEERING},
        "undo": {"op_id": _an_operation(call, known), "dry_run": False},
    }
    return asked[str(call.tool)]


def _an_operation(call: Call, known: MemoryKnown) -> str:
    held = [event.op_id for event in known.known()] or ["none"]
    return held[-1 - call.first % len(held)]


def _a_job(call: Call, known: MemoryKnown) -> str:
    held = sorted(row.id for row in known.rows(JOBS) if isinstance(row, Job)) or ["job_none"]
    return held[call.first % len(held)]


def _a_conflict(call: Call, known: MemoryKnown) -> str:
    held = sorted(known.conflicts()) or ["conflict_none"]
    return held[call.first % len(held)]


def run(script: list[Call]) -> list[MemoryKnown]:
    devices = [MemoryKnown(name, complete=False) for name in DEVICES]
    for known in devices:
        known.receive(TINY_COUNTS)
    for call in script:
        known = devices[call.device]
        known.now += MINUTE
        if call.tool is None:
            known.receive(*devices[(call.device + 1) % 3].known())
            continue
        before = known.states()
        arguments = arguments_of(call, known)
        try:
            answer = known.call(call.tool, **arguments)
        except (Refused, InvalidInput):
            assert known.states() == before
        else:
            has_its_way(known, call.tool, list(known.known())[-1], answer)
    return devices


def has_its_way(known: MemoryKnown, tool: str, event: Event, answer: dict[str, Any]) -> None:
    """E18: what was just written is what the device now shows."""
    stated = event.payload
    if tool == "delete_drawer":
        assert not supports(known, stated["drawer_id"])
        assert not any(supports(known, drawer) for drawer in answer["hidden"])
    elif tool in {"add_drawer", "update_drawer", "supersede_drawer"}:
        assert supports(known, answer["drawer_id"])
        text = known.text(answer["drawer_id"])
        assert text is not None
        assert text.content == stated["content"]
    elif tool == "kg_add":
        assert stated["object"].strip().lower() in true_at(known, stated["valid_from"])
    elif tool == "kg_invalidate":
        assert stated["object"].strip().lower() not in true_at(known, stated["ended"])
    elif tool == "kg_supersede" and not stated["duplicate"]:
        shown = true_at(known, stated["at"])
        assert stated["new_object"].strip().lower() in shown
        assert stated["old_object"].strip().lower() not in shown


def supports(known: MemoryKnown, drawer: str) -> list[Support]:
    rows = (row for row in known.rows(DRAWERS) if isinstance(row, Support))
    return [row for row in rows if row.drawer_id == drawer]


def true_at(known: MemoryKnown, instant: int) -> set[str]:
    rows = [row for row in known.rows(FACTS) if isinstance(row, Assertion)]
    return {fact.newest.object_key for fact in derive(rows, single=False) if fact.holds_at(instant)}


@examples(250)
@given(calls)
def test_what_a_device_decides_has_its_way_there_and_all_agree_in_the_end(
    script: list[Call],
) -> None:
    devices = run(script)
    for known in devices:
        for other in devices:
            known.receive(*other.known())
    assert devices[0].states() == devices[1].states() == devices[2].states()


@examples(100)
@given(calls)
def test_a_device_writes_after_all_that_it_knew(script: list[Call]) -> None:
    for known in run(script):
        held = list(known.known())
        own = [place for place, event in enumerate(held) if event.op_id.startswith(known.device)]
        for place in own:
            assert all(stamp_of(one.rank) < stamp_of(held[place].rank) for one in held[:place])
