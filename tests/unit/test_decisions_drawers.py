"""How a write on drawers is decided: resolved, refused or found in effect already."""

from __future__ import annotations

from typing import Any

import pytest

from domain.belief import Event
from domain.drawers import DRAWERS
from domain.errors import InvalidInput, Refused
from domain.identity import drawer_id
from tests.folds import (
    add_drawer,
    delete,
    kinds_of_conflict,
    live,
    named,
    supersede_drawer,
    update,
)
from tests.known import NOW, MemoryKnown

PLACE = {"wing": "home", "room": "notes"}
EARLIER = "2001-01-01T00:00:00Z"
LATER = "2099-01-01T00:00:00Z"


def knowing(*events: Event, complete: bool = True) -> MemoryKnown:
    known = MemoryKnown(complete=complete)
    known.receive(*events)
    return known


def tea(*later: Event) -> MemoryKnown:
    return knowing(add_drawer(1, "tea", device="bob"), *later)


def refusal(known: MemoryKnown, tool: str, **arguments: Any) -> str:
    before = known.engines["drawers"].state()
    with pytest.raises(Refused) as refused:
        known.decide(tool, **arguments)
    assert known.engines["drawers"].state() == before
    return refused.value.code


def test_an_add_is_recorded_with_what_it_resolved_to_and_no_more() -> None:
    decided = knowing().decide("add_drawer", **PLACE, content="tea", idempotency_key="k")
    assert decided.target is None
    assert decided.payload == PLACE | {
        "drawer_id": named("tea"),
        "content": "tea",
        "valid_from": NOW,
        "duplicate": False,
    }


def test_what_is_given_with_a_text_is_recorded_with_it() -> None:
    given = {"source_file": "a.md", "added_by": "ann", "tags": ["b"], "metadata": {"x": 1}}
    payload = knowing().decide("add_drawer", **PLACE, content="tea", **given).payload
    assert {name: payload[name] for name in given} == given


def test_metadata_is_kept_as_given_and_never_obeyed() -> None:
    """L21."""
    smuggled = {"content": "x", "owner": "eve", "origin_device": "eve", "op_id": "y", "revives": []}
    payload = knowing().decide("add_drawer", **PLACE, content="tea", metadata=smuggled).payload
    assert payload["metadata"] == smuggled
    assert payload["content"] == "tea"
    assert not {"owner", "origin_device", "op_id", "revives"} & payload.keys()


def test_a_text_held_over_the_whole_interval_is_a_duplicate_and_a_support_all_the_same() -> None:
    known = tea()
    assert known.call("add_drawer", **PLACE, content="tea")["duplicate"]
    assert not known.call("add_drawer", **PLACE, content="tea", valid_from="1969")["duplicate"]
    assert len(known.rows(DRAWERS)) == 3


@pytest.mark.parametrize("content", ["tea\n", "tea\r\n", "tea  "])
def test_a_twin_is_answered_as_a_duplicate_and_brings_no_second_text(content: str) -> None:
    """L18: a trailing newline or CRLF alone."""
    answer = tea().call("add_drawer", **PLACE, content=content)
    assert (answer["drawer_id"], answer["duplicate"]) == (named("tea"), True)


def test_a_twin_in_another_room_or_in_another_case_is_a_drawer_of_its_own() -> None:
    known = tea()
    other = known.call("add_drawer", wing="home", room="kitchen", content="tea")
    upper = known.call("add_drawer", **PLACE, content="TEA")
    assert not other["duplicate"]
    assert not upper["duplicate"]
    assert len({named("tea"), other["drawer_id"], upper["drawer_id"]}) == 3


def test_a_twin_that_is_hidden_is_no_twin() -> None:
    known = tea(delete(2, "tea", device="bob"))
    answer = known.call("add_drawer", **PLACE, content="tea\n")
    assert (answer["drawer_id"], answer["duplicate"]) == (named("tea\n"), False)


def test_a_twin_under_another_spelling_of_its_place_is_a_twin() -> None:
    """Two devices that spelt a wing in two ways have met."""
    other = add_drawer(2, "cup", device="bob")
    place = {"wing": "HOME", "room": "Notes"}
    id = drawer_id("HOME", "Notes", "cup")
    other = other._replace(payload=other.payload | place | {"drawer_id": id})
    answer = tea(other).call("add_drawer", **PLACE, content="cup\n")
    assert (answer["drawer_id"], answer["duplicate"]) == (id, True)


def test_an_update_to_a_twin_of_a_text_fills_the_drawer_of_that_text() -> None:
    known = tea(add_drawer(2, "cup", device="bob"))
    payload = known.decide("update_drawer", drawer_id=named("tea"), content="cup\r\n").payload
    assert (payload["drawer_id"], payload["content"]) == (named("cup"), "cup")
    same = known.decide("update_drawer", drawer_id=named("tea"), content="tea\n").payload
    assert (same["drawer_id"], same["duplicate"]) == (named("tea"), True)


def test_a_supersede_by_a_twin_fills_the_drawer_of_that_text_and_never_its_own() -> None:
    known = tea(add_drawer(2, "cup", device="bob"))
    payload = known.decide("supersede_drawer", drawer_id=named("tea"), content="cup\n").payload
    assert (payload["drawer_id"], payload["content"]) == (named("cup"), "cup")
    refused = refusal(known, "supersede_drawer", drawer_id=named("tea"), content="tea\n")
    assert refused == "palacelog::drawers::same"


def test_a_supersede_that_is_in_effect_already_is_a_duplicate() -> None:
    known = tea()
    ask = {"drawer_id": named("tea"), "content": "coffee"}
    assert not known.call("supersede_drawer", **ask)["duplicate"]
    again = known.call("supersede_drawer", **ask)
    assert (again["duplicate"], again["drawer_id"]) == (True, named("coffee"))


def test_a_wing_and_a_room_are_resolved_to_the_spelling_in_use() -> None:
    payload = tea().decide("add_drawer", wing="HOME", room=" Notes", content="cup").payload
    assert (payload["wing"], payload["room"]) == ("home", "notes")
    assert payload["drawer_id"] == drawer_id("home", "notes", "cup")
    elsewhere = tea().decide("add_drawer", wing="work", room="Notes", content="cup").payload
    assert (elsewhere["wing"], elsewhere["room"]) == ("work", "Notes")


def test_a_moved_text_takes_the_spelling_of_the_room_that_is_there() -> None:
    known = tea(add_drawer(2, "cup", device="bob"))
    known.call("add_drawer", wing="Work", room="Notes", content="x")
    payload = known.decide("update_drawer", drawer_id=named("tea"), wing="work").payload
    assert (payload["wing"], payload["room"]) == ("Work", "Notes")
    assert payload["drawer_id"] == drawer_id("Work", "Notes", "tea")


def test_an_end_before_the_start_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="valid_to"):
        knowing().decide("add_drawer", **PLACE, content="tea", valid_to=EARLIER)


def test_what_knowingly_brings_a_text_back_lists_every_tombstone_of_it() -> None:
    """Of L16: store, delete, store is live."""
    known = tea(delete(2, "tea", device="bob"), delete(3, "tea", device="cyd"))
    answer = known.call("add_drawer", **PLACE, content="tea")
    assert not answer["duplicate"]
    assert live(known.rows(DRAWERS)) == {"tea": [f"{NOW}.."]}
    known.call("add_drawer", **PLACE, content="cup")
    payload = known.decide("update_drawer", drawer_id=named("cup"), content="tea").payload
    assert payload["revives"] == ["bob-2", "cyd-3"]
    payload = known.decide("supersede_drawer", drawer_id=named("cup"), content="tea").payload
    assert payload["revives"] == ["bob-2", "cyd-3"]


def test_a_text_without_tombstones_revives_nothing() -> None:
    known = tea(delete(2, "cup", device="bob"))
    assert "revives" not in known.decide("add_drawer", **PLACE, content="tea").payload


def test_an_update_records_the_new_text_in_full() -> None:
    decided = tea().decide("update_drawer", drawer_id=named("tea"), content="green tea")
    assert decided.target == "known"
    assert decided.payload == PLACE | {
        "drawer_id": named("green tea"),
        "previous": named("tea"),
        "content": "green tea",
        "duplicate": False,
    }


def test_an_update_that_changes_nothing_is_a_duplicate_and_one_of_the_tags_is_not() -> None:
    known = tea()
    assert known.call("update_drawer", drawer_id=named("tea"))["duplicate"]
    assert known.call("update_drawer", drawer_id=named("tea"), content="tea")["duplicate"]
    answer = known.call("update_drawer", drawer_id=named("tea"), tags=["a"])
    assert (answer["duplicate"], answer["drawer_id"]) == (False, named("tea"))


@pytest.mark.parametrize("tool", ["update_drawer", "supersede_drawer"])
def test_an_edit_of_an_old_id_is_an_edit_of_the_newest_text(tool: str) -> None:
    known = tea(update(2, "tea", "green tea", device="bob"))
    payload = known.decide(tool, drawer_id=named("tea"), content="sencha").payload
    assert payload.get("previous", payload.get("supersedes")) == named("green tea")


@pytest.mark.parametrize("tool", ["update_drawer", "supersede_drawer", "delete_drawer"])
def test_what_never_existed_is_refused_where_all_is_known(tool: str) -> None:
    arguments = {"drawer_id": "drawer_x"}
    assert refusal(tea(), tool, **arguments) == "palacelog::drawers::unknown"


@pytest.mark.parametrize("tool", ["supersede_drawer", "delete_drawer"])
def test_what_is_not_seen_here_may_exist_elsewhere(tool: str) -> None:
    decided = knowing(complete=False).decide(tool, drawer_id="drawer_x")
    assert (decided.target, decided.payload["duplicate"]) == ("unverified", False)


@pytest.mark.parametrize("tool", ["update_drawer", "supersede_drawer"])
def test_a_text_that_is_not_seen_here_cannot_be_carried_on(tool: str) -> None:
    arguments = {"drawer_id": "drawer_x", "content": "cup"}
    edge = knowing(complete=False)
    assert refusal(edge, tool, **arguments) == "palacelog::drawers::unknown"


@pytest.mark.parametrize("tool", ["update_drawer", "supersede_drawer"])
def test_a_deleted_drawer_cannot_be_edited(tool: str) -> None:
    known = tea(delete(2, "tea", device="bob"))
    arguments = {"drawer_id": named("tea"), "content": "cup"}
    assert refusal(known, tool, **arguments) == "palacelog::drawers::hidden"


def test_a_supersede_keeps_the_place_and_the_tags_of_the_old_text() -> None:
    known = knowing(add_drawer(1, "tea", tags=["a"], device="bob"))
    payload = known.decide("supersede_drawer", drawer_id=named("tea"), content="cup").payload
    assert payload == PLACE | {
        "supersedes": named("tea"),
        "valid_from": NOW,
        "drawer_id": named("cup"),
        "content": "cup",
        "tags": ["a"],
        "duplicate": False,
    }
    other = known.decide("supersede_drawer", drawer_id=named("tea"), content="cup", tags=[])
    assert "tags" not in other.payload


def test_a_supersede_ends_the_old_text_where_the_new_one_begins() -> None:
    known = tea()
    answer = known.call("supersede_drawer", drawer_id=named("tea"), content="cup")
    assert (answer["drawer_id"], answer["superseded"]) == (named("cup"), named("tea"))
    assert live(known.rows(DRAWERS)) == {"tea": [f"1..{NOW}"], "cup": [f"{NOW}.."]}


def test_a_supersede_without_a_text_ends_and_a_second_one_is_a_duplicate() -> None:
    known = tea()
    first = known.call("supersede_drawer", drawer_id=named("tea"))
    assert (first["drawer_id"], first["duplicate"]) == (None, False)
    known.now += 1
    assert known.call("supersede_drawer", drawer_id=named("tea"))["duplicate"]
    assert live(known.rows(DRAWERS)) == {"tea": [f"1..{NOW}"]}
    assert kinds_of_conflict(known.rows(DRAWERS)) == []


def test_a_supersede_before_the_old_text_was_true_is_refused_by_name() -> None:
    known = knowing(add_drawer(1, "tea", NOW, device="bob"))
    with pytest.raises(InvalidInput, match="valid_from"):
        known.decide("supersede_drawer", drawer_id=named("tea"), valid_from=EARLIER)
    adding = PLACE | {"content": "cup", "supersedes": named("tea")}
    with pytest.raises(InvalidInput, match="valid_from"):
        known.decide("add_drawer", **adding, valid_from=EARLIER)
    assert known.decide("add_drawer", **adding, valid_from=LATER)
    assert known.decide("supersede_drawer", drawer_id=named("tea"), valid_from=LATER)


def test_a_drawer_cannot_supersede_itself() -> None:
    known = tea()
    same = {"drawer_id": named("tea"), "content": "tea"}
    assert refusal(known, "supersede_drawer", **same) == "palacelog::drawers::same"
    adding = PLACE | {"content": "tea", "supersedes": named("tea")}
    assert refusal(known, "add_drawer", **adding) == "palacelog::drawers::same"


def test_an_add_may_name_what_it_supersedes() -> None:
    known = tea(update(2, "tea", "green tea", device="bob"))
    decided = known.decide("add_drawer", **PLACE, content="cup", supersedes=named("tea"))
    assert (decided.payload["supersedes"], decided.target) == (named("green tea"), "known")
    unseen = PLACE | {"content": "cup", "supersedes": "drawer_x"}
    assert refusal(known, "add_drawer", **unseen) == "palacelog::drawers::unknown"


def test_a_delete_names_what_it_hides() -> None:
    known = tea(update(2, "tea", "green tea", device="bob"))
    answer = known.call("delete_drawer", drawer_id=named("tea"), reason="spilt")
    assert answer["hidden"] == [named("green tea")]
    assert (answer["drawer_id"], answer["duplicate"]) == (named("tea"), False)
    assert live(known.rows(DRAWERS)) == {}


def test_a_delete_of_what_is_hidden_is_a_duplicate() -> None:
    known = tea()
    known.call("delete_drawer", drawer_id=named("tea"))
    answer = known.call("delete_drawer", drawer_id=named("tea"))
    assert (answer["duplicate"], answer["hidden"], answer["target"]) == (True, [], "known")


def test_a_text_stored_again_after_an_update_is_found_beside_the_new_one() -> None:
    """L17."""
    known = tea()
    known.call("update_drawer", drawer_id=named("tea"), content="green tea")
    assert not known.call("add_drawer", **PLACE, content="tea")["duplicate"]
    assert live(known.rows(DRAWERS)) == {"green tea": ["1.."], "tea": [f"{NOW}.."]}


def test_a_text_that_was_superseded_is_stored_again_as_new() -> None:
    known = tea(supersede_drawer(2, "tea", at=5, device="bob"))
    assert not known.call("add_drawer", **PLACE, content="tea")["duplicate"]
    assert live(known.rows(DRAWERS)) == {"tea": ["1..5", f"{NOW}.."]}
