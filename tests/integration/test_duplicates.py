"""The same text twice, and several drawers at once."""

from __future__ import annotations

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet

PLACE = {"wing": "home", "room": "notes"}


@pytest.mark.parametrize(
    ("content", "exact"),
    [
        ("a café\nline", [True]),
        ("a cafe\u0301\nline", [False]),
        ("a café\r\nline  \n", [False]),
        ("A café\nline", []),
        ("a café line", []),
    ],
)
def test_a_text_is_known_exactly_or_as_a_twin(ada: Device, content: str, exact: list[bool]) -> None:
    drawer = ada.add_drawer(**PLACE, content="a café\nline")["drawer_id"]
    answer = ada.check_duplicate(content=content)
    assert [one["exact"] for one in answer["matches"]] == exact
    assert answer["is_duplicate"] == bool(exact)
    assert [one["drawer_id"] for one in answer["matches"]] == [drawer] * len(exact)


def test_a_text_is_looked_for_where_one_says_and_among_the_living(ada: Device) -> None:
    first = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    second = ada.add_drawer(wing="work", room="notes", content="tea ")["drawer_id"]
    asked = {"content": "tea "}
    both = ada.check_duplicate(**asked)["matches"]
    assert [one["drawer_id"] for one in both] == [second, first]
    home = ada.check_duplicate(**asked, wing="HOME")["matches"]
    assert [one["drawer_id"] for one in home] == [first]
    assert ada.check_duplicate(**asked, wing="home", room="plans")["matches"] == []
    ada.delete_drawer(drawer_id=first)
    assert ada.check_duplicate(**asked, wing="home")["is_duplicate"] is False
    assert ada.check_duplicate(**asked, wing="home", known_at="@2")["is_duplicate"] is True
    assert ada.check_duplicate(**asked, known_at="@1")["matches"][0]["drawer_id"] == first


def test_twins_that_met_by_replication_both_stay_and_are_listed(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    for number in range(3):
        ada.add_drawer(**PLACE, content=f"text {number}")
        clock.tick(60)
        bob.add_drawer(**PLACE, content=f"text {number}\n")
        ada.add_drawer(**PLACE, content=f"alone {number}")
    fleet.share()
    for device in (ada, bob):
        answer = device.duplicates()
        assert answer["total"] == 3
        assert {group["preview"].rstrip() for group in answer["groups"]} == {
            "text 0",
            "text 1",
            "text 2",
        }
        assert [len(group["drawers"]) for group in answer["groups"]] == [2, 2, 2]
    whole = ada.duplicates()["groups"]
    first = ada.duplicates(limit=2)
    rest = ada.duplicates(limit=2, cursor=first["cursor"])
    assert [*first["groups"], *rest["groups"]] == whole
    assert rest["cursor"] is None
    assert ada.duplicates(wing="work")["groups"] == []

    then = f"@{ada.position()}"
    gone = whole[0]["drawers"][1]["drawer_id"]
    ada.delete_drawer(drawer_id=gone)
    assert ada.duplicates()["groups"] == whole[1:]
    assert ada.duplicates(known_at=then)["groups"] == whole
    assert ada.duplicates(known_at="@0")["total"] == 0


def test_drawers_are_read_together_in_the_order_asked_for(ada: Device) -> None:
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    milk = ada.add_drawer(**PLACE, content="milk")["drawer_id"]
    oat = ada.update_drawer(drawer_id=milk, content="oat milk")["drawer_id"]
    ada.delete_drawer(drawer_id=tea)
    answer = ada.get_drawers(drawer_ids=[milk, "drawer_of_nobody", tea, milk])
    assert [(one["asked"], one["id"], one["state"]) for one in answer["drawers"]] == [
        (milk, oat, "current"),
        (tea, tea, "hidden"),
    ]
    assert answer["missing"] == ["drawer_of_nobody"]
    assert answer["drawers"][0] == ada.get_drawer(drawer_id=milk)["drawer"]
    for wrong in ([], ["x"] * 201):
        with ada.refuses("input::invalid", "drawer_ids"):
            ada.get_drawers(drawer_ids=wrong)
