"""A text that is hidden is told by no answer about how memory came to be, and nothing stumbles over
it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.palaces import Device, Fleet

MARK = "Zebra crossing"
NOTES = {"wing": "home", "room": "notes"}
LAB = {"wing": "work", "room": "lab"}


@pytest.fixture(params=["delete_drawer", "delete_room", "undo", "elsewhere"])
def told(request: pytest.FixtureRequest, fleet: Fleet) -> tuple[Device, dict[str, str]]:
    """A palace in which a text was stored, changed, learnt from, linked and joined, then hidden."""
    ada = fleet.device("ada")
    made = ada.add_drawer(**NOTES, content=f"{MARK} at dawn")
    old = made["drawer_id"]
    fact = ada.kg_add(subject="Kiran", predicate="saw", object="it", source_drawer_id=old)
    if request.param == "undo":
        new, changed = old, made
    else:
        changed = ada.update_drawer(drawer_id=old, content=f"{MARK} at noon")
        new = changed["drawer_id"]
    ada.link_drawer(drawer_id=new, entity="Kiran")
    ada.add_drawer(**LAB, content="bench")
    ends = {f"source_{name}": value for name, value in NOTES.items()}
    ends |= {f"target_{name}": value for name, value in LAB.items()}
    ada.create_tunnel(**ends, source_drawer_id=new)
    if request.param == "delete_drawer":
        ada.delete_drawer(drawer_id=new)
    elif request.param == "delete_room":
        ada.delete_room(**NOTES, dry_run=False)
    elif request.param == "undo":
        assert ada.undo(op_id=made["op_id"], dry_run=False)["undone"]
    else:
        bob = fleet.device("bob")
        fleet.share()
        bob.delete_drawer(drawer_id=new)
        fleet.share()
    return ada, {"old": old, "new": new, "fact": fact["fact_id"], "op": changed["op_id"]}


def test_no_answer_about_lineage_or_neighbours_tells_a_hidden_text(
    told: tuple[Device, dict[str, str]],
) -> None:
    ada, ids = told
    answers: dict[str, Any] = {
        "why old": ada.why(id=ids["old"]),
        "why new": ada.why(id=ids["new"]),
        "why fact": ada.why(id=ids["fact"]),
        "diff": ada.diff(a="@0"),
        "diff since": ada.diff(a="@5"),
        "traverse": ada.traverse(start_wing="home", start_room="notes", max_hops=5),
        "back": ada.traverse(start_wing="work", start_room="lab", max_hops=5),
        "follow": ada.follow_tunnels(**LAB),
        "tunnels": ada.list_tunnels(),
        "mentions": ada.entity_mentions(entity="Kiran"),
        "fact": ada.fact_history(fact_id=ids["fact"]),
        "facts": ada.kg_query(entity="Kiran"),
        "recall": ada.recall(query="what did Kiran see"),
        "operations": ada.list_operations(),
    }
    for name, answer in answers.items():
        assert MARK not in str(answer), name
    assert answers["why fact"]["kind"] == "fact"
    [tunnel] = answers["tunnels"]["tunnels"]
    assert tunnel["source"]["drawer_id"] is None
    assert [room["drawers"] for room in answers["back"]["rooms"]] == [1, 0]
    assert answers["mentions"]["total"] == 0


def test_between_moments_at_which_it_stood_it_is_told_as_it_was_then(
    told: tuple[Device, dict[str, str]],
) -> None:
    """`known_at` before the tombstone is stated to bring it back."""
    ada, _ = told
    assert MARK in str(ada.diff(a="@0", b="@1"))
    assert MARK in str(ada.list_drawers(known_at="@1"))
