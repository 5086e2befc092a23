"""Recall and waking up: blocks of whole items, with the facts and the state of the palace."""

from __future__ import annotations

from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, acknowledge, deliver

PLACE = {"wing": "home", "room": "notes"}


def store(device: Device, *texts: str, **given: Any) -> list[str]:
    return [device.add_drawer(**PLACE | given | {"content": text})["drawer_id"] for text in texts]


def contents(drawers: list[dict[str, Any]]) -> list[str]:
    return [drawer["content"] for drawer in drawers]


def stated(facts: list[dict[str, Any]]) -> list[str]:
    return [f"{fact['subject']} {fact['predicate']} {fact['object']}" for fact in facts]


@pytest.fixture
def kiran(ada: Device, clock: FrozenDateTimeFactory) -> Device:
    """A palace that knows a little of Kiran."""
    for subject, predicate, object in (
        ("Kiran", "lives in", "New York"),
        ("Kiran", "likes", "green tea"),
        ("Noor", "lives in", "York"),
        ("Noor", "uses", "C++"),
        ("成语接龙", "is", "a game"),
    ):
        ada.kg_add(subject=subject, predicate=predicate, object=object)
    store(ada, "Kiran drinks tea at five", "the build server is cold", "Kiran is away in May")
    return ada


@pytest.mark.parametrize(
    ("query", "entities", "facts"),
    [
        ("when does kiran drink", ["kiran"], {"Kiran lives in New York", "Kiran likes green tea"}),
        ("rain in New  York?", ["new york"], {"Kiran lives in New York"}),
        ("who lives in York?", ["york"], {"Noor lives in York"}),
        ("who writes C++?", ["c++"], {"Noor uses C++"}),
        ("我们玩成语接龙吧", ["成语接龙"], {"成语接龙 is a game"}),
        ("the weather", [], set()),
    ],
)
def test_recall_names_the_open_facts_of_who_is_named(
    kiran: Device, query: str, entities: list[str], facts: set[str]
) -> None:
    answer = kiran.recall(query=query)
    assert answer["entities"] == entities
    assert set(stated(answer["facts"])) == facts
    for fact in answer["facts"]:
        line = " | ".join(fact[part] for part in ("subject", "predicate", "object"))
        assert f"- {line} (since 2026-03-31)" in answer["block"]


def test_recall_is_one_block_of_facts_and_drawers(kiran: Device) -> None:
    answer = kiran.by(agent="scribe").recall(query="Kiran tea")
    assert [hit["snippet"] for hit in answer["hits"]] == [
        "Kiran drinks tea at five",
        "Kiran is away in May",
    ]
    block = answer["block"]
    assert block.index("## Facts") < block.index("likes") < block.index("## Drawers")
    assert "on ada" in block
    assert answer["hits"][0]["drawer_id"] in block
    assert "build server" not in block


def test_what_is_no_longer_true_is_not_recalled_but_was_then(
    kiran: Device, clock: FrozenDateTimeFactory
) -> None:
    then = f"@{kiran.position()}"
    before = kiran.recall(query="Kiran", known_at=then)
    clock.tick(60)
    kiran.kg_invalidate(subject="Kiran", predicate="likes", object="green tea")
    [tea] = [hit["drawer_id"] for hit in kiran.search(query="five")["hits"]]
    kiran.delete_drawer(drawer_id=tea)
    store(kiran, *(f"Kiran {number} Kiran" for number in range(30)))
    now = kiran.recall(query="Kiran")
    assert stated(now["facts"]) == ["Kiran lives in New York"]
    assert tea not in now["block"]
    assert kiran.recall(query="Kiran", known_at=then) == before


def test_items_stand_whole_or_are_left_out(kiran: Device) -> None:
    store(kiran, f"Kiran Kiran {'wrote a lot ' * 200}", wing="other")
    for max_bytes in (256, 300, 400, 700, 1_000, 4_000, 8_192):
        answer = kiran.recall(query="Kiran", max_bytes=max_bytes)
        assert len(answer["block"].encode()) <= max_bytes
        held = len(answer["hits"]) + len(answer["facts"])
        assert held + answer["left_out"] == 5
        for hit in answer["hits"]:
            shown = kiran.get_drawer(drawer_id=hit["drawer_id"])["drawer"]
            assert shown["content"] in answer["block"]
    assert answer["left_out"] == 0
    assert kiran.recall(query="Kiran", wing="home")["left_out"] == 0
    assert len(kiran.recall(query="Kiran", wing="other")["hits"]) == 1
    for wrong in (0, 255, 2_000_000):
        with kiran.refuses("input::invalid", "max_bytes"):
            kiran.recall(query="Kiran", max_bytes=wrong)


def test_many_facts_leave_room_for_texts(ada: Device) -> None:
    for number in range(60):
        ada.kg_add(subject="Kiran", predicate="likes", object=f"a rather long thing {number}")
    store(ada, "Kiran drinks tea at five")
    answer = ada.recall(query="Kiran", max_bytes=1_000)
    assert contents_in(answer) == ["Kiran drinks tea at five"]
    assert len(answer["facts"]) > 3


def contents_in(answer: dict[str, Any]) -> list[str]:
    return [hit["snippet"] for hit in answer["hits"]]


def test_waking_up_shows_what_was_written_last(ada: Device, clock: FrozenDateTimeFactory) -> None:
    for number in range(12):
        store(ada, f"text {number}")
        clock.tick(60)
    store(ada, "elsewhere", wing="work")
    ended = store(ada, "over by now", valid_to="2026-01-01", valid_from="2025-01-01")
    hidden = store(ada, "hidden")
    ada.delete_drawer(drawer_id=hidden[0])
    answer = ada.wake_up(max_items=3)
    assert contents(answer["drawers"]) == ["elsewhere", "text 11", "text 10"]
    assert answer["diary"] is None
    assert answer["withheld"] == 0
    assert ended[0] not in answer["block"]
    assert contents(ada.wake_up(wing="WORK")["drawers"]) == ["elsewhere"]
    assert len(ada.wake_up()["drawers"]) == 10
    small = ada.wake_up(max_bytes=256)
    assert len(small["block"].encode()) <= 256
    assert small["left_out"] > 0


def test_waking_up_shows_the_newest_entry_of_the_agent_s_diary(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    for agent, entry in (("scribe", "first"), ("scribe", "second"), ("cook", "soup")):
        ada.diary_write(agent_name=agent, entry=entry)
        clock.tick(60)
    store(ada, "tea")
    assert ada.wake_up(agent_name="Scribe")["diary"]["content"] == "second"
    assert ada.wake_up(agent_name="scribe", wing="home")["diary"]["content"] == "second"
    assert ada.wake_up(agent_name="nobody")["diary"] is None
    answer = ada.wake_up()
    assert answer["diary"]["content"] == "soup"
    assert contents(answer["drawers"]) == ["tea"]
    assert answer["block"].startswith("## Diary")


def test_waking_up_shows_first_what_checkpoints_put_down(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    ada.checkpoint(items=[PLACE | {"content": f"item {number}"} for number in range(3)])
    clock.tick(60)
    store(ada, "afterwards", "and again")
    answer = ada.wake_up(max_items=4)
    assert sorted(contents(answer["drawers"])[:3]) == ["item 0", "item 1", "item 2"]
    assert len(answer["drawers"]) == 4
    items = [f"item {number}" for number in range(3)]
    assert {hit["snippet"] for hit in ada.search(query="item")["hits"]} == set(items)


def test_waking_up_counts_what_waits_and_what_is_disputed(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    [tea] = store(ada, "tea")
    deliver(ada.house, bob.house)
    clock.tick(60)
    ada.supersede_drawer(drawer_id=tea, content="coffee")
    bob.supersede_drawer(drawer_id=tea, content="milk")
    deliver(bob.house, ada.house)
    answer = ada.wake_up()
    assert answer["outbox"] == {"pending": 2}
    assert answer["conflicts"]["open"] == 1
    assert [one["kind"] for one in answer["conflicts"]["newest"]] == ["superseded_twice"]
    assert "## Open conflicts (1)" in answer["block"]
    assert "2 operations wait" in answer["block"]
    then = f"@{ada.position()}"
    before = ada.wake_up(known_at=then)
    deliver(ada.house, bob.house)
    acknowledge(ada.house, bob.house)
    store(ada, "written later")
    assert ada.wake_up()["outbox"] == {"pending": 1}
    assert ada.wake_up(known_at=then) == before


def test_an_empty_palace_has_nothing_to_say(ada: Device) -> None:
    answer = ada.wake_up()
    assert (answer["block"], answer["drawers"], answer["conflicts"]["open"]) == ("", [], 0)
    assert ada.recall(query="anything")["block"] == ""
    assert ada.search(query="anything")["hits"] == []
