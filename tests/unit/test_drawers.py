"""The rules on drawers of DESIGN section 7, one behaviour a test, in every order of arrival."""

from __future__ import annotations

import pytest

from domain.belief import Event, Held
from domain.conflicts import Conflict
from domain.drawers import (
    DRAWERS,
    Superseding,
    Support,
    Tombstone,
    known,
    members,
    newest,
    reached,
    texts,
    valid_time,
)
from tests.folds import (
    ROOM,
    WING,
    add_drawer,
    delete,
    from_zero,
    given,
    kinds_of_conflict,
    live,
    named,
    supersede_drawer,
    update,
)
from tests.memory_engine import MemoryEngine


def held_after(*events: Event) -> Held:
    engine = MemoryEngine(DRAWERS).receive(*events)
    return engine.held(members(events[0])[0])


def supports_of(*events: Event) -> list[Support]:
    rows = (row for row in from_zero(DRAWERS, events) if isinstance(row, Support))
    return sorted(rows, key=lambda row: (row.rank, row.id))


def conflict_of(*events: Event) -> Conflict:
    [conflict] = [row for row in from_zero(DRAWERS, events) if isinstance(row, Conflict)]
    return conflict


def test_an_add_gives_a_drawer_one_support() -> None:
    given(DRAWERS, add_drawer(1, "tea")).then(live, {"tea": ["1.."]})


def test_the_same_text_of_two_devices_is_one_drawer_with_two_supports() -> None:
    events = add_drawer(1, "tea", 1, 3), add_drawer(2, "tea", 2, 5, device="bob")
    given(DRAWERS, *events).then(live, {"tea": ["1..5"]})
    assert [support.id for support in supports_of(*events)] == ["ada-1/0", "bob-2/0"]


def test_valid_time_is_the_union_of_the_supports_and_keeps_its_gaps() -> None:
    given(
        DRAWERS, add_drawer(1, "tea", 6), add_drawer(2, "tea", 1, 3), add_drawer(3, "tea", 3, 4)
    ).then(live, {"tea": ["1..4", "6.."]})
    assert valid_time(supports_of(add_drawer(1, "tea", 5, 5))) == []


def test_the_newest_support_in_canonical_order_shows_its_attributes() -> None:
    first = add_drawer(1, "tea", tags=["a"], source_file="a.md", added_by="ann", device="bob")
    second = add_drawer(2, "tea", tags=["b"], metadata={"x": [1]})
    for arrival in [(first, second), (second, first)]:
        shown = newest(supports_of(*arrival))
        assert (shown.tags, shown.source_file, shown.added_by) == ('["b"]', None, None)
        assert (shown.metadata, shown.op_id, shown.recorded_at) == ('{"x":[1]}', "ada-2", 2)


def test_an_update_carries_the_supports_on_to_the_new_text() -> None:
    old = add_drawer(1, "tea", 1, 9, tags=["a"], source_file="a.md")
    new = update(2, "tea", "green tea")
    given(DRAWERS, old, new).then(live, {"green tea": ["1..9"]})
    [support] = supports_of(old, new)
    assert (support.id, support.tags, support.source_file) == ("ada-1/0", '["a"]', "a.md")
    assert (support.op_id, support.recorded_at) == ("ada-2", 2)


def test_supports_that_move_together_keep_their_order() -> None:
    first = add_drawer(1, "tea", tags=["old"], device="zoe")
    events = first, add_drawer(2, "tea", tags=["new"]), update(3, "tea", "green tea")
    assert newest(supports_of(*events)).tags == '["new"]'
    moved = *events, update(4, "green tea", "sencha"), supersede_drawer(5, "sencha", at=9)
    assert newest(supports_of(*moved)).tags == '["new"]'


@pytest.mark.slow
def test_any_number_of_supports_moves_with_an_update() -> None:
    held = Held(DRAWERS.indexes)
    [support] = supports_of(add_drawer(1, "tea"))
    for number in range(2**16 + 1):
        held.put(support._replace(id=f"ada-{number}/0"))
    DRAWERS.evolve(held, update(2, "tea", "cup"))
    assert len(held.find(Support, "drawer_id", named("cup"))) == 2**16 + 1


def test_an_update_changes_the_tags_only_where_it_names_them() -> None:
    old = add_drawer(1, "tea", tags=["a"])
    assert supports_of(old, update(2, "tea", "tea", tags=["b"]))[0].tags == '["b"]'
    assert supports_of(old, update(2, "tea", "tea", tags=[]))[0].tags == "[]"
    given(DRAWERS, old, update(2, "tea", "tea", tags=["b"])).then(live, {"tea": ["1.."]})


def test_an_update_takes_supports_that_an_earlier_update_took_wherever_they_are_now() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea"),
        update(2, "tea", "green tea"),
        update(3, "green tea", "sencha"),
        update(4, "tea", "coffee", device="bob"),
    ).then(live, {"coffee": ["1.."]}).then(kinds_of_conflict, ["updated_twice"])


def test_two_updates_of_one_text_are_listed_with_both_sides_unless_they_lead_to_the_same() -> None:
    first = add_drawer(1, "tea"), update(2, "tea", "green tea")
    scenario = given(DRAWERS, *first, update(3, "tea", "coffee", device="bob"))
    scenario.then(live, {"coffee": ["1.."]}).then(kinds_of_conflict, ["updated_twice"])
    conflict = conflict_of(*first, update(3, "tea", "coffee", device="bob"))
    assert (conflict.about, conflict.left_op, conflict.left, conflict.right_op, conflict.right) == (
        named("tea"),
        "ada-2",
        named("green tea"),
        "bob-3",
        named("coffee"),
    )
    given(DRAWERS, *first, update(3, "tea", "green tea", device="bob")).then(kinds_of_conflict, [])
    given(DRAWERS, *first, update(3, "green tea", "coffee")).then(kinds_of_conflict, [])


def test_an_old_id_leads_to_where_updates_took_the_text() -> None:
    held = held_after(
        add_drawer(1, "tea"),
        update(2, "tea", "green tea"),
        update(3, "tea", "sencha", device="bob"),
    )
    for text in ("tea", "green tea", "sencha"):
        assert [support.drawer_id for support in reached(held, named(text))] == [named("sencha")]
    assert reached(held, named("coffee")) == []


def test_a_text_that_is_added_again_after_an_update_is_a_drawer_of_its_own() -> None:
    """L17: update_drawer to B, then add_drawer of the old text A: both are stored."""
    back = add_drawer(3, "tea")
    given(DRAWERS, add_drawer(1, "tea"), update(2, "tea", "green tea"), back).then(
        live, {"tea": ["3.."], "green tea": ["1.."]}
    )


def test_an_update_takes_what_its_drawer_holds_and_leaves_what_left_it_before() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea"),
        update(2, "tea", "green tea"),
        add_drawer(3, "tea"),
        update(4, "tea", "sencha"),
    ).then(live, {"green tea": ["1.."], "sencha": ["3.."]})


def test_an_update_and_its_way_back_leave_the_first_text() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea"),
        update(2, "tea", "green tea"),
        update(3, "green tea", "tea"),
        delete(4, "green tea"),
    ).then(live, {})
    given(
        DRAWERS, add_drawer(1, "tea"), update(2, "tea", "coffee"), update(3, "coffee", "tea")
    ).then(live, {"tea": ["1.."]})


def test_a_tombstone_removes_every_support_that_its_drawer_holds() -> None:
    given(DRAWERS, add_drawer(1, "tea"), add_drawer(2, "tea", device="bob"), delete(3, "tea")).then(
        live, {}
    ).then(kinds_of_conflict, [])


def test_a_tombstone_of_an_old_id_removes_what_updates_took_from_it() -> None:
    given(DRAWERS, add_drawer(1, "tea"), update(2, "tea", "green tea"), delete(3, "tea")).then(
        live, {}
    )


def test_a_tombstone_leaves_what_updates_took_where_its_drawer_holds_a_support() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea"),
        update(2, "tea", "green tea"),
        add_drawer(3, "tea"),
        delete(4, "tea"),
    ).then(live, {"green tea": ["1.."]})


GONE = (add_drawer(1, "tea"), delete(2, "tea"))


def test_a_text_stored_again_by_one_who_knew_of_the_delete_is_live() -> None:
    """Of L16: store, delete, store is live."""
    given(DRAWERS, *GONE, add_drawer(3, "tea", revives=GONE[1:])).then(live, {"tea": ["3.."]})


UNAWARE = [
    add_drawer(4, "tea", device="bob"),
    update(4, "coffee", "tea", device="bob"),
    supersede_drawer(4, "coffee", "tea", device="bob"),
    add_drawer(4, "tea", supersedes="coffee", device="bob"),
]


@pytest.mark.parametrize("unaware", UNAWARE, ids=range(len(UNAWARE)))
def test_a_device_that_did_not_know_of_a_delete_does_not_undo_it(unaware: Event) -> None:
    """The pure part of E5: the text stays hidden, the rest as it was, and both sides are listed."""
    events = (*GONE, add_drawer(3, "coffee"), unaware)
    scenario = given(DRAWERS, *events).then(live, {"coffee": ["3.."]})
    scenario.then(kinds_of_conflict, ["tombstone_unknown"])
    conflict = conflict_of(*events)
    assert (conflict.left_op, conflict.left) == ("ada-2", named("tea"))
    assert (conflict.right_op, conflict.right) == ("bob-4", named("tea"))


@pytest.mark.parametrize("unaware", UNAWARE, ids=range(len(UNAWARE)))
def test_an_edit_that_lists_every_tombstone_counts(unaware: Event) -> None:
    aware = unaware._replace(payload=unaware.payload | {"revives": ["ada-2"]})
    rows = from_zero(DRAWERS, [*GONE, add_drawer(3, "coffee"), aware])
    assert "tea" in live(rows)


def test_a_delete_by_an_old_id_is_not_undone_by_a_device_that_did_not_know_of_it() -> None:
    moved = add_drawer(1, "tea"), update(2, "tea", "green tea"), delete(3, "tea")
    for text in ("tea", "green tea"):
        unaware = add_drawer(4, text, device="bob")
        scenario = given(DRAWERS, *moved, unaware).then(live, {})
        scenario.then(kinds_of_conflict, ["tombstone_unknown"])
    aware = add_drawer(4, "green tea", revives=[moved[2]], device="bob")
    given(DRAWERS, *moved, aware).then(live, {"green tea": ["4.."]})


def test_one_tombstone_that_is_not_listed_is_enough_to_stay_hidden() -> None:
    second = delete(3, "tea", device="cyd")
    unlisted = add_drawer(4, "tea", revives=GONE[1:], device="bob")
    given(DRAWERS, *GONE, second, unlisted).then(live, {})
    listed = add_drawer(4, "tea", revives=[GONE[1], second], device="bob")
    given(DRAWERS, *GONE, second, listed).then(live, {"tea": ["4.."]})


def test_a_tombstone_that_is_later_in_canonical_order_need_not_be_listed_and_hides() -> None:
    first, between = add_drawer(1, "tea"), delete(3, "tea", device="bob")
    knowing = add_drawer(4, "tea", revives=[between])
    later = delete(5, "tea", device="bob")
    given(DRAWERS, first, between, knowing).then(live, {"tea": ["4.."]})
    given(DRAWERS, first, between, knowing, later).then(live, {}).then(kinds_of_conflict, [])


def test_a_tombstone_before_its_target_is_kept_and_listed_and_hides_it_once_it_is_there() -> None:
    """L29."""
    engine = MemoryEngine(DRAWERS).receive(delete(2, "tea"))
    assert kinds_of_conflict(engine.rows()) == ["target_missing"]
    engine.receive(add_drawer(1, "tea", device="bob"))
    assert kinds_of_conflict(engine.rows()) == []
    assert live(engine.rows()) == {}


def test_an_update_before_its_target_is_kept_and_listed_and_moves_it_once_it_is_there() -> None:
    """L29."""
    engine = MemoryEngine(DRAWERS).receive(update(2, "tea", "coffee"))
    assert kinds_of_conflict(engine.rows()) == ["target_missing"]
    assert live(engine.rows()) == {}
    engine.receive(add_drawer(1, "tea", device="bob"))
    assert kinds_of_conflict(engine.rows()) == []
    assert live(engine.rows()) == {"coffee": ["1.."]}


def test_a_target_that_is_later_in_canonical_order_is_not_touched() -> None:
    for early in (update(1, "tea", "coffee"), supersede_drawer(1, "tea")):
        given(DRAWERS, early, add_drawer(2, "tea")).then(live, {"tea": ["2.."]}).then(
            kinds_of_conflict, ["target_missing"]
        )


def test_a_supersede_before_its_target_still_opens_the_new_text() -> None:
    given(DRAWERS, supersede_drawer(2, "tea", "coffee", 5)).then(live, {"coffee": ["5.."]})
    given(DRAWERS, supersede_drawer(2, "tea", "coffee", 5), add_drawer(1, "tea", 1)).then(
        live, {"tea": ["1..5"], "coffee": ["5.."]}
    ).then(kinds_of_conflict, [])


@pytest.mark.parametrize(
    "edit", [update(3, "tea", "coffee", device="bob"), supersede_drawer(3, "tea", device="bob")]
)
def test_an_edit_of_a_deleted_drawer_is_listed_and_the_delete_stands(edit: Event) -> None:
    given(DRAWERS, *GONE, edit).then(live, {}).then(kinds_of_conflict, ["target_hidden"])
    conflict = conflict_of(*GONE, edit)
    assert (conflict.about, conflict.left_op, conflict.right_op) == (named("tea"), "ada-2", "bob-3")


def test_a_supersede_ends_the_old_drawer_where_the_new_one_begins() -> None:
    given(DRAWERS, add_drawer(1, "tea", 1), supersede_drawer(2, "tea", "coffee", 5)).then(
        live, {"tea": ["1..5"], "coffee": ["5.."]}
    )
    given(DRAWERS, add_drawer(1, "tea", 1), add_drawer(2, "coffee", 5, supersedes="tea")).then(
        live, {"tea": ["1..5"], "coffee": ["5.."]}
    )


def test_to_end_what_has_ended_already_is_no_conflict() -> None:
    events = add_drawer(1, "tea", 1), supersede_drawer(2, "tea", "coffee", 5)
    again = supersede_drawer(3, "tea", at=7)
    again = again._replace(payload=again.payload | {"duplicate": True})
    given(DRAWERS, *events, again).then(live, {"tea": ["1..5"], "coffee": ["5.."]}).then(
        kinds_of_conflict, []
    )


def test_a_supersede_never_lengthens_a_support_and_never_ends_it_before_it_began() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea", 1, 3),
        add_drawer(2, "tea", 7),
        supersede_drawer(3, "tea", "coffee", 5),
    ).then(live, {"tea": ["1..3"], "coffee": ["5.."]})


def test_a_supersede_without_a_text_only_ends() -> None:
    given(DRAWERS, add_drawer(1, "tea", 1), supersede_drawer(2, "tea", at=5)).then(
        live, {"tea": ["1..5"]}
    )


def test_a_supersede_follows_updates() -> None:
    events = add_drawer(1, "tea", 1), update(2, "tea", "green tea")
    late = supersede_drawer(3, "tea", "coffee", 5, device="bob")
    given(DRAWERS, *events, late).then(live, {"green tea": ["1..5"], "coffee": ["5.."]})
    marks = [row for row in from_zero(DRAWERS, [*events, late]) if isinstance(row, Superseding)]
    assert {mark.drawer_id for mark in marks} == {named("tea"), named("green tea")}
    assert {(mark.successor, mark.at) for mark in marks} == {(named("coffee"), 5)}


def test_a_drawer_is_never_named_as_what_superseded_itself() -> None:
    """One device updates tea to sencha while another supersedes tea by sencha."""
    events = add_drawer(1, "tea", 1), update(2, "tea", "sencha")
    late = supersede_drawer(3, "tea", "sencha", 5, device="bob")
    given(DRAWERS, *events, late).then(live, {"sencha": ["1.."]}).then(kinds_of_conflict, [])
    marks = [row for row in from_zero(DRAWERS, [*events, late]) if isinstance(row, Superseding)]
    assert [(mark.drawer_id, mark.successor) for mark in marks] == [(named("tea"), named("sencha"))]


def test_two_supersedes_of_one_drawer_both_stand_and_are_listed() -> None:
    events = (
        add_drawer(1, "tea", 1),
        supersede_drawer(2, "tea", "coffee", 5),
        supersede_drawer(3, "tea", "cocoa", 4, device="bob"),
    )
    scenario = given(DRAWERS, *events)
    scenario.then(live, {"tea": ["1..4"], "coffee": ["5.."], "cocoa": ["4.."]})
    scenario.then(kinds_of_conflict, ["superseded_twice"])
    conflict = conflict_of(*events)
    assert (conflict.left_op, conflict.left) == ("ada-2", named("coffee"))
    assert (conflict.right_op, conflict.right) == ("bob-3", named("cocoa"))


def test_two_supersedes_by_one_text_are_no_conflict() -> None:
    given(
        DRAWERS,
        add_drawer(1, "tea", 1),
        supersede_drawer(2, "tea", "coffee", 5),
        supersede_drawer(3, "tea", "coffee", 4, device="bob"),
    ).then(kinds_of_conflict, []).then(live, {"tea": ["1..4"], "coffee": ["4.."]})


def test_a_delivery_again_changes_nothing() -> None:
    given(DRAWERS, *GONE, add_drawer(3, "tea", revives=GONE[1:]), times=3).then(
        live, {"tea": ["3.."]}
    )


def test_a_drawer_s_key_is_its_lineage() -> None:
    assert members(update(2, "tea", "coffee")) == (named("coffee"), named("tea"))
    assert members(supersede_drawer(2, "tea", "coffee")) == (named("coffee"), named("tea"))
    assert members(add_drawer(2, "tea", supersedes="coffee")) == (named("tea"), named("coffee"))
    assert members(supersede_drawer(2, "tea")) == members(delete(3, "tea")) == (named("tea"),)


def test_a_drawer_is_known_that_holds_or_held_a_support_or_was_hidden() -> None:
    assert known(held_after(add_drawer(1, "tea")), named("tea"))
    assert known(held_after(*GONE), named("tea"))
    moved = held_after(add_drawer(1, "tea"), update(2, "tea", "coffee"))
    assert known(moved, named("tea"))
    assert not known(moved, named("cocoa"))


def test_a_tombstone_keeps_its_reason() -> None:
    rows = from_zero(DRAWERS, [add_drawer(1, "tea"), delete(2, "tea", reason="spilt")])
    assert [row.reason for row in rows if isinstance(row, Tombstone)] == ["spilt"]


def test_an_event_brings_the_text_that_it_carries_and_no_other() -> None:
    text = (named("tea"), WING, ROOM, "tea")
    carried = [add_drawer(1, "tea"), update(2, "cup", "tea"), supersede_drawer(3, "cup", "tea")]
    assert [list(texts(event)) for event in carried] == [[text]] * 3
    assert [list(texts(event)) for event in (delete(4, "tea"), supersede_drawer(5, "tea"))] == [
        [],
        [],
    ]
