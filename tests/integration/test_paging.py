"""Lists in pages: every page together is the list, whatever is written meanwhile."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import orjson
import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.errors import InvalidInput
from projections.queries import paging
from tests.palaces import Device, Fleet, deliver, rebuilt_equals_live

LISTS = {
    "list_drawers": ("drawers", "id"),
    "list_operations": ("operations", "op_id"),
    "kg_timeline": ("facts", "fact_id"),
    "list_conflicts": ("conflicts", "id"),
    "list_entities": ("entities", "entity"),
}
every_list = pytest.mark.parametrize("tool", sorted(LISTS))


def crowded(fleet: Fleet, clock: FrozenDateTimeFactory) -> Device:
    """A palace with a few dozen lines in every list, many of them of one instant."""
    ada, bob = fleet.devices("ada", "bob")
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    for number in range(24):
        ada.add_drawer(wing=f"wing {number % 3}", room="r", content=f"text {number}")
        ada.kg_add(
            subject=f"person {number % 5}",
            predicate=("city", "likes")[number % 2],
            object=f"thing {number % 7}",
            valid_from=f"2026-0{1 + number % 3}-01",
        )
        if number % 6 == 5:
            clock.tick(60)
    old = ada.add_drawer(wing="w", room="r", content="old")["drawer_id"]
    deliver(ada.house, bob.house)
    for number in range(6):
        for device in (ada, bob):
            device.supersede_drawer(drawer_id=old, content=f"{device.name} {number}")
    deliver(bob.house, ada.house)
    return ada


@pytest.fixture(scope="module")
def crowd(still_fleet: Fleet, still_clock: FrozenDateTimeFactory) -> Device:
    """One crowded palace for what only reads."""
    return crowded(still_fleet, still_clock)


def paged(
    device: Device,
    tool: str,
    limit: int,
    between: Callable[[int], None] = lambda _: None,
    **given: Any,
) -> list[dict[str, Any]]:
    """All lines of a list, page by page."""
    lines: list[dict[str, Any]] = []
    answer = device.call(tool, given | {"limit": limit})
    moment = {name: answer[name] for name in ("log_id", "position", "as_of", "known_at")}
    for number in range(1_000):
        assert len(answer[LISTS[tool][0]]) <= limit
        assert {name: answer[name] for name in moment} == moment
        lines += answer[LISTS[tool][0]]
        if answer["cursor"] is None:
            return lines
        between(number)
        answer = device.call(tool, given | {"limit": limit, "cursor": answer["cursor"]})
    raise AssertionError("the list never ends")


@every_list
def test_pages_of_any_size_are_the_list(crowd: Device, tool: str) -> None:
    ada = crowd
    name, id = LISTS[tool]
    whole = ada.call(tool, {"limit": 200})
    assert whole["cursor"] is None
    lines = whole[name]
    assert len(lines) > 10
    assert len({line[id] for line in lines}) == len(lines)
    assert whole.get("total", len(lines)) == len(lines)
    for limit in (1, 2, 7, len(lines) - 1, len(lines), len(lines) + 1):
        assert paged(ada, tool, limit) == lines


@every_list
def test_what_is_written_meanwhile_neither_repeats_nor_hides_a_line(
    fleet: Fleet, clock: FrozenDateTimeFactory, tool: str
) -> None:
    ada = crowded(fleet, clock)
    bob = fleet.device("carl", ahead=-86_400_000_000)
    before = ada.call(tool, {"limit": 200})[LISTS[tool][0]]
    ids = [line["id"] for line in ada.list_drawers(limit=200)["drawers"]]

    def disturb(number: int) -> None:
        clock.tick(7)
        ada.delete_drawer(drawer_id=ids[number])
        ada.add_drawer(wing="wing 0", room="r", content=f"meanwhile {number}")
        ada.kg_add(subject="person 0", predicate="city", object=f"meanwhile {number}")
        bob.kg_add(subject="person 1", predicate="city", object="late", valid_from="2026-02-01")
        deliver(bob.house, ada.house)
        if number == 1:
            rebuilt_equals_live(ada.house)

    assert paged(ada, tool, 5, disturb) == before


@every_list
def test_paging_at_an_earlier_moment_is_the_list_of_then(
    fleet: Fleet, clock: FrozenDateTimeFactory, tool: str
) -> None:
    ada = crowded(fleet, clock)
    moment = {"known_at": f"@{ada.position()}"}
    lines = ada.call(tool, {"limit": 200} | moment)[LISTS[tool][0]]
    ada.add_drawer(wing="w", room="r", content="later")
    ada.kg_add(subject="person 0", predicate="likes", object="later")
    assert paged(ada, tool, 4, **moment) == lines


@every_list
def test_a_cursor_goes_on_at_the_moment_of_its_first_page(
    fleet: Fleet, clock: FrozenDateTimeFactory, tool: str
) -> None:
    ada = crowded(fleet, clock)
    position = ada.position()
    first = ada.call(tool, {"limit": 2, "known_at": f"@{position}"})
    clock.tick(3600)
    ada.add_drawer(wing="w", room="r", content="later")
    second = ada.call(tool, {"limit": 2, "cursor": first["cursor"]})
    assert (second["position"], second["known_at"]) == (position, first["known_at"])


def test_a_list_is_newest_first_and_equal_times_by_id(crowd: Device) -> None:
    ada = crowd
    drawers = ada.list_drawers(limit=200)["drawers"]
    order = [(line["recorded_at"], line["id"]) for line in drawers]
    assert order == sorted(
        sorted(order, key=lambda one: one[1]), key=lambda one: one[0], reverse=True
    )
    positions = [line["position"] for line in ada.list_operations(limit=200)["operations"]]
    assert positions == list(range(ada.position(), 0, -1))


def test_a_timeline_holds_what_the_queries_of_its_entities_hold(crowd: Device) -> None:
    ada = crowd
    timeline = ada.kg_timeline(limit=200)["facts"]
    starts = [fact["valid_from"] for fact in timeline]
    assert starts == sorted(starts)
    asked = [
        fact
        for number in range(5)
        for fact in ada.kg_query(
            entity=f"person {number}", direction="out", include_historical=True
        )["facts"]
    ]
    assert ada.status()["totals"]["facts"] == len(asked)
    by_id = {fact["fact_id"]: fact for fact in asked}
    assert {fact["fact_id"]: fact for fact in timeline} == by_id
    for number in range(5):
        of_one = [fact for fact in timeline if fact["subject"] == f"person {number}"]
        assert paged(ada, "kg_timeline", 2, entity=f"PERSON {number}") == of_one
        cities = [fact for fact in of_one if fact["predicate"] == "city"]
        assert paged(ada, "kg_timeline", 1, entity=f"person {number}", predicate="CITY") == cities
    for number in range(7):
        pointing = [fact for fact in timeline if fact["object"] == f"thing {number}"]
        assert paged(ada, "kg_timeline", 1, entity=f"thing {number}") == pointing


@pytest.fixture(scope="module")
def still(still_fleet: Fleet) -> Device:
    """A palace whose lists have several pages; nothing below changes it."""
    device = still_fleet.device("still")
    for number in range(4):
        device.add_drawer(wing="w", room="r", content=f"text {number}")
        for predicate in ("p", "q"):
            device.kg_add(subject="s", predicate=predicate, object=f"o {number}", valid_from="2026")
    device.kg_declare_predicate(predicate="p", cardinality="one")
    return device


@every_list
def test_a_cursor_of_another_list_or_another_log_is_refused(
    still: Device, tool: str, fleet: Fleet
) -> None:
    other = fleet.device("other")
    for number in range(3):
        other.add_drawer(wing="w", room="r", content=f"text {number}")
    foreign = other.list_drawers(limit=1)["cursor"]
    cursors = [still.call(one, {"limit": 1})["cursor"] for one in LISTS if one != tool]
    for cursor in (foreign, *cursors):
        with still.refuses("input::invalid", "cursor"):
            still.call(tool, {"cursor": cursor})


@every_list
def test_an_altered_cursor_is_refused(still: Device, tool: str) -> None:
    cursor = still.call(tool, {"limit": 1})["cursor"]
    draw = random.Random(7)
    altered = {cursor[:-1], cursor[1:], cursor + "A", cursor + "!", cursor + "\u00e9", " " + cursor}
    altered |= {"", "=", "A", "a b", "W10", "x" * 4096, "\u2028", cursor.swapcase()}
    for place in range(len(cursor)):
        letter = draw.choice([one for one in string.ascii_letters if one != cursor[place]])
        altered.add(cursor[:place] + letter + cursor[place + 1 :])
    before = still.position()
    for text in altered:
        with pytest.raises(InvalidInput, match="`cursor`"):
            still.call(tool, {"cursor": text})
    assert still.position() == before


FORGED = product(
    [-1, 2**62, 2**63, "1", None, True],
    [0, 2**62, -(2**62), None, "0"],
    [0, 2**63, "zz", "", None, []],
)


def test_a_forged_cursor_is_refused_or_answered(still: Device) -> None:
    """Sealed as ours are: what is in it is checked all the same."""
    for tool in LISTS:
        given = still.call(tool, {"limit": 1})["cursor"]
        made = orjson.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4))[6:])
        for position, as_of, mark in FORGED:
            for marks in ([mark], [mark, "x"]):
                raw = orjson.dumps([*made[:4], position, as_of, None, *marks])
                text = base64.urlsafe_b64encode(paging._seal(raw) + raw).decode().rstrip("=")
                with suppress(InvalidInput):
                    still.call(tool, {"cursor": text})


@pytest.mark.parametrize(
    ("tool", "asked", "others"),
    [
        ("list_drawers", {"wing": "w"}, [{}, {"wing": "W"}, {"wing": "w", "room": "r"}]),
        ("list_drawers", {}, [{"include_historical": True}, {"tag": "t"}, {"since": "2020"}]),
        ("list_drawers", {"since": "-7d"}, [{}, {"since": "-8d"}, {"before": "now"}]),
        ("list_operations", {"tool": "kg_add"}, [{}, {"tool": "add_drawer"}]),
        ("kg_timeline", {"entity": "s"}, [{}, {"entity": "s", "predicate": "p"}]),
        ("list_conflicts", {}, [{"open": False}]),
        ("list_drawers", {}, [{"as_of": "now"}, {"known_at": "@3"}]),
        ("list_drawers", {"known_at": "@9"}, [{"known_at": "@8"}, {"as_of": "now"}]),
        ("list_operations", {"known_at": "@5"}, [{"known_at": "@6"}]),
    ],
)
def test_a_cursor_of_another_question_is_refused(
    still: Device, tool: str, asked: dict[str, Any], others: list[dict[str, Any]]
) -> None:
    cursor = still.call(tool, asked | {"limit": 1})["cursor"]
    for other in others:
        with still.refuses("input::invalid", "cursor"):
            still.call(tool, other | {"cursor": cursor})
    assert still.call(tool, asked | {"cursor": cursor, "limit": 2})[LISTS[tool][0]]


def test_a_time_said_in_words_goes_on_on_the_next_page(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada = fleet.device("ada")
    for number in range(3):
        ada.add_drawer(wing="w", room="r", content=f"text {number}")
    first = ada.list_drawers(limit=1, since="-7d", as_of="now")
    clock.tick(3600)
    second = ada.list_drawers(limit=1, since="-7d", as_of="now", cursor=first["cursor"])
    assert (second["as_of"], second["total"]) == (first["as_of"], 3)


def test_a_cursor_is_text_that_any_surface_can_carry(still: Device) -> None:
    for tool in LISTS:
        cursor = still.call(tool, {"limit": 1})["cursor"]
        assert set(cursor) <= set(string.ascii_letters + string.digits + "-_")


@pytest.mark.parametrize("limit", [0, -1, 201, 10**18, "many", 1.5])
@every_list
def test_a_limit_out_of_range_is_refused(still: Device, tool: str, limit: object) -> None:
    with still.refuses("input::invalid", "limit"):
        still.call(tool, {"limit": limit})
