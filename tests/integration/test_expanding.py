"""What lies beside the hits of a search (`expand`): entities, facts and tunnels lead to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.errors import PalaceError
from projections.queries import expanding
from tests.palaces import Device, Fleet
from tests.samples import HOME_TO_DEN

HOME = {"wing": "home", "room": "notes"}
DEN = {"wing": "den", "room": "desk"}
WORKS = {"subject": "Kiran", "predicate": "works_at", "object": "Acme"}
Way = tuple[str, str, str]


@pytest.fixture
def told(ada: Device) -> Callable[..., str]:
    """Store a text; each begins with a word of its own."""

    def store(content: str, **given: Any) -> str:
        return str(ada.add_drawer(**HOME | given | {"content": content})["drawer_id"])

    return store


def beside(device: Device, query: str, **chosen: Any) -> list[Way]:
    """How each drawer beside the hits begins, why it is there, and through what."""
    answer = device.search(query=query, expand=True, **chosen)
    hits = [hit["drawer_id"] for hit in answer["hits"]]
    drawers = [one["drawer_id"] for one in answer["expanded"]]
    assert len(set(drawers)) == len(drawers), "one stands there twice"
    assert not set(drawers) & set(hits), "a hit stands beside the hits"
    assert all(one["hit"] in hits for one in answer["expanded"])
    return [(one["snippet"].split()[0], one["why"], one["through"]) for one in answer["expanded"]]


def test_a_drawer_that_shares_an_entity_with_a_hit_stands_beside_it(
    clock: FrozenDateTimeFactory, ada: Device, told: Callable[..., str]
) -> None:
    hit, linked, source = told("piano lesson"), told("budget of May"), told("invoice from Bo")
    told("moon")
    ada.link_drawer(drawer_id=hit, entity="Kiran")
    ada.link_drawer(drawer_id=linked, entity="KIRAN")
    ada.kg_add(**WORKS, source_drawer_id=source)
    plain = ada.search(query="piano")
    answer = ada.search(query="piano", expand=True)
    assert plain["expanded"] == []
    assert answer | {"expanded": []} == plain
    assert sorted(beside(ada, "piano")) == [
        ("budget", "entity", "Kiran"),
        ("invoice", "entity", "Kiran"),
    ]
    assert {one["hit"] for one in answer["expanded"]} == {hit}


def test_an_alias_leads_where_its_entity_does(ada: Device, told: Callable[..., str]) -> None:
    hit, other = told("piano lesson"), told("budget of May")
    ada.link_drawer(drawer_id=hit, entity="Kiran")
    ada.link_drawer(drawer_id=other, entity="Kiki")
    assert beside(ada, "piano") == []
    ada.add_alias(entity="Kiran", alias="Kiki")
    assert beside(ada, "piano") == [("budget", "entity", "Kiran")]


def test_one_valid_fact_leads_on_and_two_do_not(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory
) -> None:
    hit, near, far = told("piano lesson"), told("budget of May"), told("invoice from Bo")
    ada.link_drawer(drawer_id=hit, entity="Kiran")
    ada.link_drawer(drawer_id=near, entity="Acme")
    ada.link_drawer(drawer_id=far, entity="Oslo")
    fact = ada.kg_add(**WORKS)["fact_id"]
    ada.kg_add(subject="Acme", predicate="seat", object="Oslo")
    assert beside(ada, "piano") == [("budget", "fact", fact)]
    assert beside(ada, "invoice") == [
        ("budget", "fact", ada.kg_query(entity="Oslo")["facts"][0]["fact_id"])
    ]


def test_a_fact_that_is_no_longer_valid_leads_nowhere(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory
) -> None:
    hit, near, source = told("piano lesson"), told("budget of May"), told("invoice from Bo")
    ada.link_drawer(drawer_id=hit, entity="Kiran")
    ada.link_drawer(drawer_id=near, entity="Acme")
    fact = ada.kg_add(**WORKS, source_drawer_id=source)["fact_id"]
    before = f"@{ada.position()}"
    clock.tick(3600)
    then = "2026-03-31T15:30:00Z"
    both = [("invoice", "entity", "Kiran"), ("budget", "fact", fact)]
    assert beside(ada, "piano") == both
    ada.kg_invalidate(**WORKS)
    clock.tick(60)
    assert beside(ada, "piano") == []
    assert beside(ada, "piano", as_of=then) == both
    assert beside(ada, "piano", known_at=before) == both


def test_a_tunnel_leads_to_the_room_at_its_other_end_until_it_is_closed(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory
) -> None:
    told("piano lesson")
    told("sofa", room="parlour")
    particular = told("lamp", **DEN)
    for text in ("desk", "chair"):
        clock.tick(60)
        told(text, **DEN)
    made = ada.create_tunnel(**HOME_TO_DEN, target_drawer_id=particular)
    tunnel = made["tunnel_id"]
    dug = f"@{ada.position()}"
    all_three = [
        ("lamp", "tunnel", tunnel),
        ("chair", "tunnel", tunnel),
        ("desk", "tunnel", tunnel),
    ]
    assert beside(ada, "piano") == all_three
    assert beside(ada, "desk") == [("piano", "tunnel", tunnel)]
    ada.delete_tunnel(tunnel_id=tunnel)
    assert beside(ada, "piano") == []
    assert beside(ada, "piano", known_at=dug) == all_three


def test_what_texts_merely_name_comes_after_what_was_stated(
    ada: Device, told: Callable[..., str]
) -> None:
    told("piano lesson with Kiran")
    naming, stated = told("budget that Kiran made"), told("invoice from Bo")
    told("kirana is a shop")
    fact = ada.kg_add(**WORKS, source_drawer_id=stated)["fact_id"]
    told("moon over Acme")
    assert beside(ada, "piano") == [
        ("invoice", "entity", "Kiran"),
        ("budget", "entity", "Kiran"),
        ("moon", "fact", fact),
    ]
    ada.link_drawer(drawer_id=naming, entity="piano tuner")
    ada.kg_invalidate(**WORKS)
    assert beside(ada, "lesson") == []


@pytest.mark.parametrize("how", ["delete", "supersede", "update"])
def test_what_is_hidden_or_over_never_stands_beside_a_hit(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory, how: str
) -> None:
    hit, other = told("piano lesson"), told("budget of May")
    ada.link_drawer(drawer_id=hit, entity="Kiran")
    ada.link_drawer(drawer_id=other, entity="Kiran")
    there = f"@{ada.position()}"
    clock.tick(60)
    if how == "delete":
        ada.delete_drawer(drawer_id=other)
    elif how == "supersede":
        ada.supersede_drawer(drawer_id=other)
    else:
        ada.update_drawer(drawer_id=other, content="invoice of May")
        ada.update_drawer(drawer_id=hit, content="piano and song")
    clock.tick(60)
    left = [("invoice", "entity", "Kiran")] if how == "update" else []
    assert beside(ada, "piano") == left
    assert beside(ada, "piano", known_at=there) == [("budget", "entity", "Kiran")]


def test_scope_and_time_of_the_search_hold_for_what_stands_beside_its_hits(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory
) -> None:
    hit = told("piano lesson", tags=["a"], source_file="x.md")
    others = [
        told("budget of May", wing="work"),
        told("invoice from Bo", room="plans", tags=["a"]),
        told("letter", valid_from="2020-01-01", valid_to="2021-01-01", source_file="x.md"),
    ]
    for drawer in (hit, *others):
        ada.link_drawer(drawer_id=drawer, entity="Kiran")
    clock.tick(86_400)
    ada.link_drawer(drawer_id=told("moon", tags=["a"], source_file="x.md"), entity="Kiran")

    def words(**chosen: Any) -> list[str]:
        return sorted(word for word, _, _ in beside(ada, "piano", **chosen))

    assert words() == ["budget", "invoice", "moon"]
    assert words(wing="HOME") == ["invoice", "moon"]
    assert words(room="notes") == ["budget", "moon"]
    assert words(tags=["A"]) == ["invoice", "moon"]
    assert words(source_file="x.md") == ["moon"]
    assert words(before="2026-03-31") == ["budget", "invoice"]
    assert words(known_at="@8") == ["budget", "invoice"]
    assert words(known_at="@6") == ["budget"]


def test_the_order_is_that_of_the_hits_and_a_limit_bounds_it(
    ada: Device, told: Callable[..., str], clock: FrozenDateTimeFactory
) -> None:
    best, second = told("piano piano"), told("piano in a longer text of other words")
    ada.link_drawer(drawer_id=best, entity="Zoe")
    ada.link_drawer(drawer_id=second, entity="Ann")
    for number in range(4):
        clock.tick(60)
        ada.link_drawer(drawer_id=told(f"z{number}"), entity="Zoe")
        ada.link_drawer(drawer_id=told(f"a{number}"), entity="Ann")
    found = [word for word, _, _ in beside(ada, "piano", limit=6)]
    assert found == ["z3", "z2", "z1", "z0", "a3", "a2"]
    assert beside(ada, "piano", limit=6) == beside(ada, "piano", limit=6)
    [first] = ada.search(query="piano", limit=1)["hits"]
    assert first["drawer_id"] == best
    cursor = ada.search(query="piano", limit=1, expand=True)["cursor"]
    assert beside(ada, "piano", limit=1, cursor=cursor) == [("a3", "entity", "Ann")]


def test_a_room_full_of_what_may_not_be_shown_does_not_hide_what_may(
    ada: Device, told: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told("piano lesson")
    told("lamp", **DEN, tags=["a"])
    for number in range(expanding.TEXTS_MAX):
        told(f"chair {number}", **DEN)
    ada.create_tunnel(
        source_wing="home", source_room="notes", target_wing="den", target_room="desk"
    )
    ada.update_drawer(drawer_id=ada.search(query="piano")["hits"][0]["drawer_id"], tags=["a"])
    assert [word for word, _, _ in beside(ada, "piano", tags=["a"])] == ["lamp"]


@pytest.mark.parametrize("ranking", ["lexical", "semantic", "hybrid"])
def test_it_works_with_any_ranking(fleet: Fleet, ranking: str) -> None:
    ada = fleet.device("ada", vectors={"embedder": "wordllama", "wait_seconds": 60})
    hit = ada.add_drawer(**HOME, content="The piano lesson is on Monday.")["drawer_id"]
    other = ada.add_drawer(**HOME, content="Sourdough needs time.")["drawer_id"]
    for drawer in (hit, other):
        ada.link_drawer(drawer_id=drawer, entity="Kiran")
    answer = ada.search(query="piano lesson", ranking=ranking, limit=1, expand=True)
    assert answer["ranking"] == ranking
    assert [one["drawer_id"] for one in answer["hits"]] == [hit]
    assert [one["drawer_id"] for one in answer["expanded"]] == [other]


# distances


def test_a_distance_and_words_alone_are_refused_together(ada: Device) -> None:
    with ada.refuses("input::invalid", "max_distance"):
        ada.search(query="tea", ranking="lexical", max_distance=0.5)


@pytest.mark.parametrize("ranking", ["auto", "hybrid", "semantic"])
def test_a_distance_that_nobody_can_measure_is_an_error_not_a_wider_answer(
    ada: Device, ranking: str
) -> None:
    ada.add_drawer(**HOME, content="tea")
    with pytest.raises(PalaceError) as caught:
        ada.search(query="tea", ranking=ranking, max_distance=0.5)
    assert caught.value.as_answer()["code"] == "palacelog::vectors::no_embedder"
