"""Drawers on one palace: cases L16 to L18."""

from __future__ import annotations

from hashlib import sha256

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device

PLACE = {"wing": "home", "room": "notes"}
TEXTS = [
    "会议改到星期五",
    "会議は金曜日に変更",
    "회의가 금요일로 변경",
    "الاجتماع يوم الجمعة",
    "Встреча перенесена на пятницу",
    "🦊",
    "👩🏽‍🚀",
    "🇫🇷",
    "Meet us",
    "Meet US",
    "\u200bhidden joiner",
    "e\u0301",
    "\ufeffmarked",
    "\U0001f600\U0001f600",
]


def versions(device: Device, drawer_id: str) -> list[tuple[str, str]]:
    shown = device.history(drawer_id=drawer_id)["versions"]
    return [(version["content"], version["state"]) for version in shown]


def events(device: Device, drawer_id: str) -> list[str]:
    return [event["tool"] for event in device.history(drawer_id=drawer_id)["events"]]


def test_a_deleted_drawer_is_hidden_in_every_answer_that_would_show_it(ada: Device) -> None:
    """L16"""
    kept = ada.add_drawer(**PLACE, content="kept", tags=["x"])
    gone = ada.add_drawer(**PLACE, content="the secret plan", tags=["x"], metadata={"a": "secret"})
    deleted = ada.delete_drawer(drawer_id=gone["drawer_id"], reason="by mistake")

    assert (deleted["hidden"], deleted["duplicate"]) == ([gone["drawer_id"]], False)
    shown = ada.get_drawer(drawer_id=gone["drawer_id"])["drawer"]
    assert (shown["state"], shown["content"], shown["metadata"]) == ("hidden", None, {})
    assert shown["hidden_by"] == [deleted["op_id"]]
    for chosen in ({}, {"tag": "x"}, {"include_historical": True}, {"from_": "2020"}, PLACE):
        listed = ada.list_drawers(**chosen)
        assert [line["id"] for line in listed["drawers"]] == [kept["drawer_id"]]
        assert listed["total"] == 1
    assert ada.status()["totals"]["drawers_live"] == 1
    assert ada.status()["totals"]["drawers_hidden"] == 1
    history = ada.history(drawer_id=gone["drawer_id"])
    assert "secret" not in str(history["versions"])
    assert events(ada, gone["drawer_id"]) == ["add_drawer", "delete_drawer"]
    for refused in (ada.update_drawer, ada.supersede_drawer):
        with ada.refuses("drawers::hidden"):
            refused(drawer_id=gone["drawer_id"], content="more")


def test_a_delete_is_undone_for_who_asks_what_was_known_before_it(ada: Device) -> None:
    drawer = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    ada.delete_drawer(drawer_id=drawer)
    assert ada.get_drawer(drawer_id=drawer, known_at="@1")["drawer"]["content"] == "tea"
    assert ada.get_drawer(drawer_id=drawer, as_of="2999")["drawer"]["state"] == "hidden"
    assert ada.contents(known_at="@1") == ["tea"]
    assert ada.contents(as_of="2999") == []


def test_a_text_stored_again_after_its_delete_is_live_with_all_three_events(ada: Device) -> None:
    """L16"""
    first = ada.add_drawer(**PLACE, content="tea")
    ada.delete_drawer(drawer_id=first["drawer_id"])
    again = ada.add_drawer(**PLACE, content="tea")

    assert (again["drawer_id"], again["duplicate"]) == (first["drawer_id"], False)
    assert ada.get_drawer(drawer_id=first["drawer_id"])["drawer"]["state"] == "current"
    assert ada.contents() == ["tea"]
    assert events(ada, first["drawer_id"]) == ["add_drawer", "delete_drawer", "add_drawer"]
    assert ada.conflicts() == []


def test_deleting_twice_is_a_duplicate_and_deleting_nothing_is_refused(ada: Device) -> None:
    drawer = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    ada.delete_drawer(drawer_id=drawer)
    again = ada.delete_drawer(drawer_id=drawer)
    assert (again["duplicate"], again["hidden"]) == (True, [])
    with ada.refuses("drawers::unknown"):
        ada.delete_drawer(drawer_id="drawer_home_notes_0")


def test_deleting_an_old_id_hides_the_text_that_updates_made_of_it(ada: Device) -> None:
    old = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    new = ada.update_drawer(drawer_id=old, content="green tea")["drawer_id"]
    deleted = ada.delete_drawer(drawer_id=old)

    assert deleted["hidden"] == [new]
    for id in (old, new):
        shown = ada.get_drawer(drawer_id=id)["drawer"]
        assert (shown["state"], shown["content"]) == ("hidden", None)
        assert shown["hidden_by"] == [deleted["op_id"]]
    assert ada.contents(include_historical=True) == []
    back = ada.add_drawer(**PLACE, content="green tea")
    assert back["drawer_id"] == new
    assert ada.contents() == ["green tea"]


def test_an_old_text_stored_again_stands_beside_what_an_update_made_of_it(ada: Device) -> None:
    """L17"""
    old = ada.add_drawer(**PLACE, content="tea")
    new = ada.update_drawer(drawer_id=old["drawer_id"], content="green tea")
    assert new["previous"] == old["drawer_id"]
    led = ada.get_drawer(drawer_id=old["drawer_id"])["drawer"]
    assert (led["id"], led["asked"]) == (new["drawer_id"], old["drawer_id"])
    assert versions(ada, new["drawer_id"]) == [("tea", "superseded"), ("green tea", "current")]

    again = ada.add_drawer(**PLACE, content="tea")

    assert (again["drawer_id"], again["duplicate"]) == (old["drawer_id"], False)
    assert sorted(ada.contents()) == ["green tea", "tea"]
    for drawer, text in ((old, "tea"), (new, "green tea")):
        shown = ada.get_drawer(drawer_id=drawer["drawer_id"])["drawer"]
        assert (shown["id"], shown["content"]) == (drawer["drawer_id"], text)


def test_texts_in_any_script_are_as_many_drawers_as_texts(ada: Device) -> None:
    """L18"""
    ids = [ada.add_drawer(**PLACE, content=text)["drawer_id"] for text in TEXTS]

    assert len(set(ids)) == len(TEXTS)
    empty = sha256(b"4:home5:notes0:").hexdigest()[:24]
    assert not any(id.endswith(empty) for id in ids)
    for id, text in zip(ids, TEXTS, strict=True):
        assert ada.get_drawer(drawer_id=id)["drawer"]["content"] == text
        assert ada.get_drawer(drawer_id=id)["drawer"]["id"] == id
    assert sorted(ada.contents()) == sorted(TEXTS)


@pytest.mark.parametrize(
    ("text", "twin"),
    [
        ("tea", "tea\n"),
        ("one\ntwo", "one\r\ntwo\r\n"),
        ("tea", "tea \t "),
        ("caf\u00e9", "cafe\u0301"),
        ("会议", "会议\n\n"),
    ],
)
def test_a_text_that_differs_in_line_ends_alone_is_a_duplicate(
    ada: Device, text: str, twin: str
) -> None:
    """L18"""
    first = ada.add_drawer(**PLACE, content=text)
    second = ada.add_drawer(**PLACE, content=twin)
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert second["drawer_id"] == first["drawer_id"]
    assert ada.get_drawer(drawer_id=first["drawer_id"])["drawer"]["content"] == text
    elsewhere = ada.add_drawer(wing="home", room="elsewhere", content=twin)
    assert elsewhere["duplicate"] is False


def test_content_is_given_back_as_it_was_given(ada: Device) -> None:
    text = "  first\r\n\tsecond \u2028 third\x1b[31m \x7f\n\n"
    drawer = ada.add_drawer(**PLACE, content=text)["drawer_id"]
    assert ada.get_drawer(drawer_id=drawer)["drawer"]["content"] == text


def test_a_wing_is_the_same_in_any_case_and_keeps_its_first_spelling(ada: Device) -> None:
    first = ada.add_drawer(wing="Home", room="Notes", content="tea")
    second = ada.add_drawer(wing=" HOME ", room="notes", content="tea")
    assert second["drawer_id"] == first["drawer_id"]
    assert second["duplicate"] is True
    [line] = ada.list_drawers(wing="home", room="NOTES")["drawers"]
    assert (line["wing"], line["room"]) == ("Home", "Notes")


def test_a_drawer_that_is_superseded_shows_until_then_and_its_successor_from_then(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    old = ada.add_drawer(**PLACE, content="plan A", tags=["plan"])["drawer_id"]
    clock.move_to("2026-04-10T00:00:00Z")
    new = ada.supersede_drawer(drawer_id=old, content="plan B")

    assert new["superseded"] == old
    assert ada.contents() == ["plan B"]
    assert ada.contents(as_of="2026-04-09") == ["plan A"]
    assert sorted(ada.contents(include_historical=True)) == ["plan A", "plan B"]
    before = ada.get_drawer(drawer_id=old)["drawer"]
    after = ada.get_drawer(drawer_id=new["drawer_id"])["drawer"]
    assert (before["state"], before["superseded_by"]) == ("superseded", [new["drawer_id"]])
    assert (after["state"], after["supersedes"], after["tags"]) == ("current", [old], ["plan"])
    assert before["valid_to"] == after["valid_from"] == "2026-04-10T00:00:00.000000Z"
    assert versions(ada, old) == [("plan A", "superseded"), ("plan B", "current")]
    assert ada.get_drawer(drawer_id=old, as_of="2026-04-01")["drawer"]["state"] == "current"


def test_an_add_may_name_the_drawer_that_it_takes_the_place_of(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    old = ada.add_drawer(**PLACE, content="plan A")["drawer_id"]
    clock.tick(60)
    ada.add_drawer(**PLACE, content="plan B", supersedes=old)
    assert ada.contents() == ["plan B"]
    with ada.refuses("drawers::same"):
        ada.add_drawer(**PLACE, content="plan B", supersedes=ada.list_drawers()["drawers"][0]["id"])
    with ada.refuses("drawers::unknown"):
        ada.add_drawer(**PLACE, content="plan C", supersedes="drawer_of_nobody")


def test_a_drawer_can_end_without_a_successor(clock: FrozenDateTimeFactory, ada: Device) -> None:
    old = ada.add_drawer(**PLACE, content="plan A")["drawer_id"]
    clock.tick(60)
    ended = ada.supersede_drawer(drawer_id=old)
    again = ada.supersede_drawer(drawer_id=old)

    assert (ended["drawer_id"], ended["duplicate"], again["duplicate"]) == (None, False, True)
    assert ada.contents() == []
    assert ada.get_drawer(drawer_id=old)["drawer"]["state"] == "superseded"
    with ada.refuses("input::invalid", "valid_from"):
        ada.supersede_drawer(drawer_id=old, content="plan B", valid_from="2020")


def test_a_list_and_a_single_read_show_the_same_of_a_drawer_stored_twice(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    ada.add_drawer(**PLACE, content="tea", tags=["old"], valid_from="2026-03-01")
    clock.tick(60)
    drawer = ada.add_drawer(**PLACE, content="tea", tags=["new"])["drawer_id"]

    for moment in ({}, {"as_of": "2026-03-10"}, {"known_at": "@2"}):
        shown = ada.get_drawer(drawer_id=drawer, **moment)["drawer"]
        [line] = ada.list_drawers(**moment)["drawers"]
        assert shown["valid_from"] == "2026-03-01T00:00:00.000000Z"
        for field in ("id", "wing", "room", "tags", "valid_from", "valid_to", "state"):
            assert line[field] == shown[field], field
        assert line["recorded_at"] == shown["provenance"]["recorded_at"]
    assert ada.contents(tag="new") == ["tea"]
    assert ada.contents(tag="old") == []
    assert ada.contents(before="2026-03-31T15:00:30Z") == []
    assert ada.contents(tag="old", known_at="@1") == ["tea"]
