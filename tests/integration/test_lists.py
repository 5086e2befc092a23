"""What a list of drawers holds, and what a single drawer says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.operation import Operation
from projections.queries import drawer_lists
from projections.queries.drawer_lists import _Filters, _page, _total
from projections.tables import Prepared
from replay.log import Log
from tests.palaces import Device, Fleet, deliver

PLACE = {"wing": "home", "room": "notes"}


@pytest.fixture(scope="module")
def shelf(still_clock: FrozenDateTimeFactory, still_fleet: Fleet) -> Device:
    """One drawer a day from 2026-04-01 on: a, b, c, d, e."""
    ada = still_fleet.device("ada")
    days = [
        ("a", "home", "notes", ["red"], {}),
        ("b", "home", "plans", ["Red", "blue"], {"valid_from": "2026-01-01"}),
        ("c", "Work", "notes", [], {"valid_from": "2026-01-01", "valid_to": "2026-02-28"}),
        ("d", "work", "notes", ["green"], {"valid_from": "2027-01-01"}),
        ("e", "home", "notes", ["blue"], {"valid_to": "2026-04-30"}),
    ]
    for number, (text, wing, room, tags, times) in enumerate(days, 1):
        still_clock.move_to(f"2026-04-{number:02}T12:00:00Z")
        ada.add_drawer(wing=wing, room=room, content=text, tags=tags, **times)
    still_clock.move_to("2026-04-10T00:00:00Z")
    return ada


@pytest.mark.parametrize(
    ("chosen", "texts"),
    [
        ({}, "eba"),
        ({"wing": "HOME"}, "eba"),
        ({"wing": "home", "room": "Notes"}, "ea"),
        ({"room": "notes"}, "ea"),
        ({"wing": "work"}, ""),
        ({"wing": "work", "include_historical": True}, "dc"),
        ({"wing": "nowhere"}, ""),
        ({"tag": "red"}, "ba"),
        ({"tag": "RED"}, "ba"),
        ({"tag": "blue", "wing": "home"}, "eb"),
        ({"tag": "re"}, ""),
        ({"tag": "%"}, ""),
        ({"include_historical": True}, "edcba"),
        ({"since": "2026-04-02"}, "eb"),
        ({"before": "2026-04-02"}, "ba"),
        ({"since": "2026-04-02", "before": "2026-04-02"}, "b"),
        ({"since": "2026-04-02T12:00:00Z"}, "eb"),
        ({"since": "2026-04-02T12:00:00.000001Z"}, "e"),
        ({"before": "2026-04-02T12:00:00Z"}, "a"),
        ({"since": "2026-04-03", "include_historical": True}, "edc"),
        ({"as_of": "2026-02-01"}, "cb"),
        ({"as_of": "2026-02-28"}, "cb"),
        ({"as_of": "2026-03-01T00:00Z"}, "b"),
        ({"as_of": "2027-06"}, "dba"),
        ({"as_of": "2026-05-01T00:00Z"}, "ba"),
        ({"from_": "2026-02", "until": "2026-02"}, "cb"),
        ({"from_": "2027"}, "dba"),
        ({"until": "2026-03"}, "cb"),
        ({"from_": "2026-01", "until": "2027-01-01"}, "edcba"),
        ({"from_": "2026-01", "tag": "red"}, "ba"),
        ({"known_at": "2026-04-02"}, "ba"),
        ({"known_at": "@3", "include_historical": True}, "cba"),
        ({"known_at": "@3", "as_of": "2026-02"}, "cb"),
        ({"known_at": "@0", "include_historical": True}, ""),
    ],
)
def test_a_list_holds_what_was_chosen_newest_first(
    shelf: Device, chosen: dict[str, Any], texts: str
) -> None:
    answer = shelf.list_drawers(**chosen)
    assert "".join(line["preview"] for line in answer["drawers"]) == texts
    assert answer["total"] == len(texts)


def test_a_full_wing_or_room_is_walked_to_the_same_list(
    shelf: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it holds few, its drawers are sorted instead."""
    places = ({"wing": "work"}, {"room": "NOTES"}, {"wing": "home", "room": "notes"})
    others = ({}, {"tag": "blue"}, {"since": "2026-04-02"}, {"known_at": "@3"}, {"limit": 1})
    for place, other in product(places, others):
        for moment in ({}, {"include_historical": True}, {"from_": "2026-02"}):
            asked = place | other | moment
            few = shelf.list_drawers(**asked)
            with monkeypatch.context() as patch:
                patch.setattr(drawer_lists, "FEW", -1)
                assert shelf.list_drawers(**asked) == few


def test_a_line_says_where_a_drawer_is_and_how_it_stands(shelf: Device) -> None:
    lines = shelf.list_drawers(include_historical=True)["drawers"]
    by_text = {line["preview"]: line for line in lines}
    assert by_text["b"]["tags"] == ["Red", "blue"]
    assert (by_text["d"]["wing"], by_text["d"]["room"]) == ("Work", "notes")
    assert by_text["c"]["valid_from"] == "2026-01-01T00:00:00.000000Z"
    assert by_text["c"]["valid_to"] == "2026-03-01T00:00:00.000000Z"
    assert by_text["a"]["valid_to"] is None
    assert by_text["a"]["recorded_at"] == "2026-04-01T12:00:00.000000Z"


def test_a_line_says_whether_a_drawer_is_true_at_the_moment_asked(shelf: Device) -> None:
    def true(**moment: str | bool) -> str:
        lines = shelf.list_drawers(**moment)["drawers"]
        return "".join(line["preview"] for line in lines if line["current"])

    assert true() == "eba"
    assert true(include_historical=True) == "eba"
    assert true(as_of="2026-02-01") == "cb"
    assert true(from_="2026-01", until="2027-01-01") == "eba"


def test_a_drawer_says_whether_it_is_true_at_the_moment_asked(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    term = {"valid_from": "2026-01-01", "valid_to": "2026-02-28"}
    tea = ada.add_drawer(**PLACE, content="tea", **term)["drawer_id"]

    def stands(drawer: str, **moment: str) -> tuple[str, bool]:
        shown = ada.get_drawer(drawer_id=drawer, **moment)["drawer"]
        return shown["state"], shown["current"]

    assert stands(tea) == ("current", False)
    assert stands(tea, as_of="2025-12-31") == ("current", False)
    assert stands(tea, as_of="2026-02-28") == ("current", True)
    assert stands(tea, as_of="2026-03-01T00:00Z") == ("current", False)
    milk = ada.add_drawer(**PLACE, content="milk")["drawer_id"]
    assert stands(milk) == ("current", True)
    oats = ada.update_drawer(drawer_id=milk, content="oat milk")["drawer_id"]
    versions = ada.history(drawer_id=milk)["versions"]
    assert [(one["id"], one["current"]) for one in versions] == [(milk, False), (oats, True)]
    ada.supersede_drawer(drawer_id=oats, content="water")
    assert stands(oats) == ("superseded", False)
    ada.delete_drawer(drawer_id=oats)
    assert stands(oats) == ("hidden", False)


def test_a_preview_is_the_first_200_characters_not_bytes(ada: Device) -> None:
    text = "🦊会é" * 100
    ada.add_drawer(**PLACE, content=text)
    [line] = ada.list_drawers()["drawers"]
    assert line["preview"] == text[:200]


def test_a_drawer_says_who_wrote_it_where_and_when(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    told = bob.by(agent="scribe").add_drawer(
        **PLACE, content="tea", source_file="a.md", added_by="ann", metadata={"x": [1, None]}
    )
    ada.add_drawer(**PLACE, content="first here")
    deliver(bob.house, ada.house)
    shown = ada.get_drawer(drawer_id=told["drawer_id"])["drawer"]
    assert shown["provenance"] == {
        "device": "bob",
        "host": bob.house.log.after(0, 1)[0].header.origin_host,
        "agent": "scribe",
        "op_id": told["op_id"],
        "position": 2,
        "recorded_at": "2026-03-31T15:00:00.000000Z",
    }
    assert (shown["source_file"], shown["added_by"]) == ("a.md", "ann")
    assert shown["metadata"] == {"x": [1, None]}


def test_an_update_may_change_text_place_or_tags_alone(ada: Device) -> None:
    tea = ada.add_drawer(**PLACE, content="tea", tags=["a"], source_file="a.md")["drawer_id"]
    moved = ada.update_drawer(drawer_id=tea, room="plans")
    shown = ada.get_drawer(drawer_id=moved["drawer_id"])["drawer"]
    assert (shown["room"], shown["content"], shown["tags"]) == ("plans", "tea", ["a"])
    tagged = ada.update_drawer(drawer_id=tea, tags=["b", "b", " c "])
    shown = ada.get_drawer(drawer_id=tea)["drawer"]
    assert tagged["drawer_id"] == tagged["previous"] == moved["drawer_id"]
    assert (shown["tags"], shown["source_file"]) == (["b", "c"], "a.md")
    ada.update_drawer(drawer_id=tea, tags=[])
    assert ada.get_drawer(drawer_id=tea)["drawer"]["tags"] == []
    nothing = ada.update_drawer(drawer_id=tea)
    assert (nothing["duplicate"], nothing["drawer_id"]) == (True, moved["drawer_id"])
    assert ada.list_drawers()["total"] == 1
    kept = [one["id"] for one in ada.history(drawer_id=tea)["versions"]]
    assert kept == [tea, moved["drawer_id"]]


def test_tags_may_be_a_list_or_a_text_of_them(ada: Device) -> None:
    for number, tags in enumerate((["a", "b"], "a, b", '["a", "b"]', " a ,, b ,")):
        drawer = ada.add_drawer(**PLACE, content=f"text {number}", tags=tags)["drawer_id"]
        assert ada.get_drawer(drawer_id=drawer)["drawer"]["tags"] == ["a", "b"]
    for wrong in (["a"] * 2 + [f"t{n}" for n in range(65)], '["a"', [1], {"a": 1}, 7, "[1]"):
        with ada.refuses("input::invalid", "tags"):
            ada.add_drawer(**PLACE, content="tea", tags=wrong)


def test_a_history_known_before_two_lineages_met_holds_only_its_own(ada: Device) -> None:
    """A supersede joins two drawers' stories; what was known before it does not change."""
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    milk = ada.add_drawer(**PLACE, content="milk")["drawer_id"]
    ada.update_drawer(drawer_id=milk, content="oat milk")
    asked = [
        lambda: ada.history(drawer_id=tea, known_at="@3"),
        lambda: ada.history(drawer_id=milk, known_at="@3"),
        lambda: ada.history(drawer_id=milk, known_at="@2"),
    ]
    before = [ask() for ask in asked]
    assert [len(answer["versions"]) for answer in before] == [1, 2, 1]

    ada.add_drawer(**PLACE, content="chai", supersedes=tea)
    ada.update_drawer(drawer_id=milk, content="chai")
    assert len(ada.history(drawer_id=tea)["versions"]) == 4
    assert [ask() for ask in asked] == before


def test_the_history_of_a_hidden_drawer_reads_each_event_once(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawer = ada.add_drawer(**PLACE, content="text 0")["drawer_id"]
    for number in range(1, 8):
        drawer = ada.update_drawer(drawer_id=drawer, content=f"text {number}")["drawer_id"]
    told = ada.delete_drawer(drawer_id=drawer)
    read: list[int] = []
    at = Log.at

    def noted(log: Log, positions: Iterable[int]) -> Iterator[Operation]:
        asked = list(positions)
        read.extend(asked)
        return at(log, asked)

    monkeypatch.setattr(Log, "at", noted)
    versions = ada.history(drawer_id=drawer)["versions"]
    assert [one["hidden_by"] for one in versions] == [[told["op_id"]]] * 8
    assert read == list(range(1, 10))


def test_a_page_is_read_in_order_and_never_sorts_the_palace(ada: Device) -> None:
    for given in product([False, True], repeat=5):
        plan = planned(ada, _page(_Filters(*given), by_index=False))
        assert plan[0].startswith("SEARCH s USING INDEX supports_by_recorded_at"), given
        assert not [step for step in plan if "TEMP B-TREE" in step or "SCAN texts" in step], given


def test_a_total_looks_at_indexes_alone(ada: Device) -> None:
    for given in product([False, True], repeat=3):
        plan = planned(ada, _total(_Filters(*given, dated=False, tagged=False)))
        steps = [step for step in plan if re.match(r"(SCAN|SEARCH) (?!anon)", step)]
        assert steps
        assert [step for step in steps if "USING COVERING INDEX" not in step] == [], given


def planned(device: Device, statement: Prepared) -> list[str]:
    """The steps by which SQLite will answer a statement."""
    with device.house.palace.reading() as reading:
        nothing = [None] * statement.sql.count("?")
        found = reading.cursor.execute(f"EXPLAIN QUERY PLAN {statement.sql}", nothing).fetchall()
    return [row[3] for row in found]


def test_what_nobody_stored_is_unknown(ada: Device) -> None:
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    for tool in ("get_drawer", "history"):
        for given in (
            {"drawer_id": "drawer_of_nobody"},
            {"drawer_id": tea.upper()},
            {"drawer_id": tea, "known_at": "@0"},
        ):
            with ada.refuses("drawers::unknown"):
                ada.call(tool, given)
