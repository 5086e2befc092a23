"""An undo leaves every fold as if what it names had not been, and names what it had to leave."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from domain.belief import Event, standing
from domain.catalog import FOLDS, folds_of
from domain.drawers import DRAWERS
from domain.errors import InvalidInput, Refused
from domain.facts import FACTS
from tests.folds import add_drawer, event, kg_add, named
from tests.histories import ORDERS, arriving, examples
from tests.known import MemoryKnown
from tests.memory_engine import MemoryEngine
from tests.unit.test_decision_properties import Call, arguments_of, calls, run


def undone(stamp: int, *targets: tuple[Event, str], device: str = "ada") -> Event:
    entries = [
        {"op_id": one.op_id, "area": area, "members": list(FOLDS[area].members(one))}
        for one, area in targets
    ]
    return event("undo", stamp, device, undone=entries, operations=[], kept=[])


TEA, LYON = add_drawer(1, "tea"), kg_add(2, "Lyon", device="bob")


def test_what_was_undone_leaves_no_row() -> None:
    gone = undone(3, (TEA, "drawers"), (LYON, "facts"))
    for fold, done in ((DRAWERS, TEA), (FACTS, LYON)):
        assert MemoryEngine(fold).receive(done, gone).state() == frozenset()
        assert MemoryEngine(fold).receive(gone, done).state() == frozenset()


def test_an_undo_of_an_undo_brings_back_what_was() -> None:
    gone = undone(3, (TEA, "drawers"))
    entry = {"op_id": gone.op_id, "area": "drawers", "members": [named("tea")]}
    back = event("undo", 4, "bob", undone=[entry], operations=[], kept=[])
    with_tea = MemoryEngine(DRAWERS).receive(TEA).state()
    assert MemoryEngine(DRAWERS).receive(TEA, gone, back).state() == with_tea
    assert MemoryEngine(DRAWERS).receive(back, gone, TEA).state() == with_tea
    parts = [*DRAWERS.split(TEA), *DRAWERS.split(gone), *DRAWERS.split(back)]
    assert standing(parts) == [TEA]
    assert [part.op_id for part in standing(parts, undos=True)] == [TEA.op_id, back.op_id]


@examples(100)
@given(script=calls, orders=st.tuples(ORDERS, ORDERS))
def test_undos_fold_to_one_state_in_every_order_of_arrival(
    script: list[Call], orders: tuple[list[int], list[int]]
) -> None:
    known = run(script)
    events = list({one.op_id: one for device in known for one in device.known()}.values())
    for fold in FOLDS.values():
        mine = [one for one in events if _takes(fold.name, one)]
        states = [MemoryEngine(fold).receive(*arriving(mine, order)).state() for order in orders]
        assert states[0] == states[1]


def _without_jobs(known: MemoryKnown) -> dict[str, Any]:
    """What an undo brings back: jobs are steered instead."""
    return {area: state for area, state in known.states().items() if area != "jobs"}


@examples(100)
@given(before=calls, session=calls)
def test_undoing_all_that_one_device_did_last_restores_what_was(
    before: list[Call], session: list[Call]
) -> None:
    known = MemoryKnown("zoe", complete=False)
    for device in run(before):
        known.receive(*device.known())
    start = _without_jobs(known)
    _call_all(known, session)
    if any(one.op_id.startswith("zoe-") for one in known.known()):
        answer = known.call("undo", device="zoe", dry_run=False)
        assert [one for one in answer["kept"] if one["reason"] == "built_on"] == []
    assert _without_jobs(known) == start


def test_what_another_built_on_stays_and_names_it() -> None:
    known = MemoryKnown("ada")
    tea = known.call("add_drawer", wing="home", room="notes", content="tea")
    cup = known.call("add_drawer", wing="home", room="notes", content="cup")
    known.device = "bob"
    edited = known.call("update_drawer", drawer_id=tea["drawer_id"], content="green tea")

    answer = known.call("undo", device="ada", dry_run=False)

    assert answer["undone"] == [cup["op_id"]]
    assert answer["kept"] == [{"op_id": tea["op_id"], "reason": "built_on", "by": edited["op_id"]}]
    assert {row.drawer_id for row in known.rows(DRAWERS) if hasattr(row, "valid_to")} == {
        edited["drawer_id"]
    }


def test_a_value_beside_another_is_not_built_on_it() -> None:
    known = MemoryKnown("ada")
    about = {"subject": "Kiran", "predicate": "likes"}
    first = known.call("kg_add", **about, object="tea")
    known.device = "bob"
    known.call("kg_add", **about, object="coffee")
    assert known.call("undo", op_id=first["op_id"], dry_run=False)["undone"] == [first["op_id"]]


def test_what_was_undone_already_is_named_and_a_second_undo_is_a_duplicate() -> None:
    known = MemoryKnown("ada")
    tea = known.call("add_drawer", wing="home", room="notes", content="tea")
    known.call("undo", op_id=tea["op_id"], dry_run=False)
    again = known.call("undo", op_id=tea["op_id"], dry_run=False)
    assert again["duplicate"]
    assert again["kept"] == [{"op_id": tea["op_id"], "reason": "undone_already", "by": None}]


def _call_all(known: MemoryKnown, script: list[Call]) -> None:
    for call in script:
        if call.tool is not None and call.tool != "undo":
            with suppress(Refused, InvalidInput):
                known.call(call.tool, **arguments_of(call, known))


def _takes(area: str, one: Event) -> bool:
    return area in {fold.name for fold in folds_of(one.tool)}
