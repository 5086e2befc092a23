"""Pages, filters and ties of searches with meaning in them: cases V1, V5 and V6 by meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet

PLACE = {"wing": "home", "room": "notes"}
QUESTION = "How do I bake good bread?"
RANKINGS = ["hybrid", "semantic"]
THINGS = [
    "sourdough", "rye bread", "a train", "piano", "an oven", "yeast", "the moon", "a ladder",
    "wheat flour", "a database", "salt", "a sofa", "a bakery", "butter", "a bicycle", "a loaf",
    "the river", "baking", "a lamp", "crust",
]  # fmt: skip


def by_meaning(fleet: Fleet, embedder: str = "wordllama") -> Device:
    return fleet.device("ada", vectors={"embedder": embedder, "wait_seconds": 60})


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["drawer_id"] for hit in answer["hits"]]


def walked(ada: Device, limit: int, **asked: Any) -> Iterator[dict[str, Any]]:
    """The pages of a search, one after the other."""
    page = ada.search(query=QUESTION, limit=limit, **asked)
    yield page
    while page["cursor"] is not None:
        page = ada.search(query=QUESTION, limit=limit, cursor=page["cursor"], **asked)
        yield page


@pytest.fixture(scope="module")
def shelf(still_clock: FrozenDateTimeFactory, still_fleet: Fleet) -> Device:
    """40 drawers in two wings, two rooms, with tags, files and times."""
    ada = by_meaning(still_fleet)
    for number in range(40):
        thing = THINGS[number % len(THINGS)]
        still_clock.move_to(f"2026-04-{1 + number // 2:02}T{8 + number % 2:02}:00:00Z")
        ada.add_drawer(
            wing="home" if number % 2 else "work",
            room="notes" if number % 3 else "plans",
            content=f"Something about {thing} ({number})",
            tags=["a", "b"] if number % 4 == 0 else ["b"],
            source_file=f"file{number % 5}.md",
            **({"valid_to": "2026-04-25"} if number < 5 else {}),
        )
    still_clock.move_to("2026-05-01T00:00:00Z")
    return ada


@pytest.mark.parametrize("ranking", RANKINGS)
def test_pages_of_three_walk_the_order_of_one_page_of_forty(shelf: Device, ranking: str) -> None:
    asked = {"ranking": ranking, "include_historical": True}
    whole = shelf.search(query=QUESTION, limit=40, **asked)
    assert (len(whole["hits"]), whole["total"], whole["cursor"]) == (40, 40, None)
    pages = list(walked(shelf, 3, **asked))
    assert [len(page["hits"]) for page in pages] == [3] * 13 + [1]
    assert [hit for page in pages for hit in page["hits"]] == whole["hits"]
    assert all(page["ranking"] == ranking and page["total"] == 40 for page in pages)
    order = [(-hit["score"], hit["drawer_id"]) for hit in whole["hits"]]
    assert order == sorted(order)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_equal_scores_go_by_id_over_the_edges_of_pages(fleet: Fleet, ranking: str) -> None:
    ada = by_meaning(fleet)
    rooms = [f"room{number}" for number in range(12)]
    items = [{"wing": "home", "room": room, "content": "Bread is baked here."} for room in rooms]
    drawers = [one["drawer_id"] for one in ada.checkpoint(items=items)["items"]]
    for place in (PLACE, {"wing": "work", "room": "notes"}):
        ada.add_drawer(**place, content="The moon is far away.")
    pages = list(walked(ada, 5, ranking=ranking))
    found = [one for page in pages for one in ids(page)]
    assert found[:12] == sorted(drawers)
    assert len(set(found)) == len(found) == 14


@pytest.mark.parametrize("ranking", RANKINGS)
def test_a_write_between_two_pages_changes_nothing(
    fleet: Fleet, clock: FrozenDateTimeFactory, ranking: str
) -> None:
    ada = by_meaning(fleet)
    items = [PLACE | {"content": f"Notes on {thing}"} for thing in THINGS]
    drawers = [one["drawer_id"] for one in ada.checkpoint(items=items)["items"]]
    whole = ids(ada.search(query=QUESTION, limit=40, ranking=ranking))
    pages = walked(ada, 3, ranking=ranking)
    seen = ids(next(pages))
    for number, page in enumerate(pages):
        seen += ids(page)
        clock.tick(60)
        ada.add_drawer(**PLACE, content=f"How to bake really good bread, part {number}")
        ada.delete_drawer(drawer_id=drawers[number])
        assert ada.search(query=QUESTION, ranking=ranking)["degraded"] is None
    assert seen == whole
    assert ids(ada.search(query=QUESTION, limit=40, ranking=ranking)) != whole


@pytest.mark.parametrize("ranking", RANKINGS)
def test_a_cursor_belongs_to_its_ranking_and_its_distance(shelf: Device, ranking: str) -> None:
    cursor = shelf.search(query=QUESTION, limit=3, ranking=ranking)["cursor"]
    other = "semantic" if ranking == "hybrid" else "hybrid"
    with shelf.refuses("input::invalid", "cursor"):
        shelf.search(query=QUESTION, limit=3, ranking=other, cursor=cursor)
    with shelf.refuses("input::invalid", "cursor"):
        shelf.search(query=QUESTION, limit=3, ranking=ranking, max_distance=1, cursor=cursor)


FILTERS: list[tuple[dict[str, Any], Any]] = [
    ({}, lambda n: n >= 5),
    ({"wing": "HOME"}, lambda n: n >= 5 and n % 2 == 1),
    ({"room": "plans"}, lambda n: n >= 5 and n % 3 == 0),
    ({"wing": "work", "room": "plans"}, lambda n: n >= 5 and n % 6 == 0),
    ({"tags": ["B", "a"]}, lambda n: n >= 5 and n % 4 == 0),
    ({"source_file": "file2.md"}, lambda n: n >= 5 and n % 5 == 2),
    ({"since": "2026-04-11"}, lambda n: n >= 20),
    ({"since": "2026-04-11", "before": "2026-04-12"}, lambda n: 20 <= n < 24),
    ({"until": "2026-04-10"}, lambda n: n < 20),
    ({"from": "2026-04-26"}, lambda n: n >= 5),
    ({"from": "2026-04-01", "until": "2026-04-02"}, lambda n: n < 4),
    ({"as_of": "2026-04-10"}, lambda n: n < 20),
    ({"include_historical": True}, lambda n: True),
    ({"known_at": "2026-04-10"}, lambda n: n < 20),
    ({"known_at": "@7"}, lambda n: n < 7),
]


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize(("chosen", "meant"), FILTERS, ids=[str(chosen) for chosen, _ in FILTERS])
def test_filters_stand_before_the_ranking(
    shelf: Device, ranking: str, chosen: dict[str, Any], meant: Any
) -> None:
    asked = {"ranking": ranking} | chosen
    pages = list(walked(shelf, 3, **asked))
    numbers = [
        int(hit["snippet"].rpartition("(")[2].rstrip(")")) for page in pages for hit in page["hits"]
    ]
    assert sorted(numbers) == [number for number in range(40) if meant(number)]
    assert all(page["total"] == len(numbers) for page in pages)
    alone = shelf.search(query=QUESTION, limit=40, ranking="semantic", include_historical=True)
    if ranking == "semantic":
        everywhere = [int(h["snippet"].rpartition("(")[2].rstrip(")")) for h in alone["hits"]]
        assert numbers == [number for number in everywhere if number in set(numbers)]


@pytest.mark.parametrize(("embedder", "many"), [("minilm", 50), ("wordllama", 500)])
@pytest.mark.parametrize("ranking", RANKINGS)
def test_three_old_memories_are_found_behind_many_newer_ones(
    fleet: Fleet, clock: FrozenDateTimeFactory, ranking: str, embedder: str, many: int
) -> None:
    """V5, also with more newer ones than are ever ranked."""
    ada = by_meaning(fleet, embedder)
    texts = [f"the build server fails, take {number} of the old" for number in range(3)]
    old = [ada.add_drawer(**PLACE, content=text)["drawer_id"] for text in texts]
    clock.tick(86_400 * 30)
    newer = [PLACE | {"content": f"the build server fails {number}"} for number in range(many)]
    ada.checkpoint(items=newer)
    asked = {"query": "build server fails", "limit": 3, "ranking": ranking}
    for window in ({"before": "2026-04-02"}, {"until": "2026-04-02"}, {"known_at": "2026-04-02"}):
        answer = ada.search(**asked, **window)
        assert sorted(ids(answer)) == sorted(old)
        assert answer["total"] == 3
    assert not set(ids(ada.search(**asked))) & set(old)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_hidden_texts_take_no_place_among_the_hits(fleet: Fleet, ranking: str) -> None:
    """V6"""
    ada = by_meaning(fleet)
    equal = [PLACE | {"content": f"The cold cache breaks builds ({n})."} for n in range(10)]
    others = ["A cold day breaks nothing.", "The warm cache holds wheels.", "Sourdough is slow."]
    alike = [one["drawer_id"] for one in ada.checkpoint(items=equal)["items"]]
    rest = [ada.add_drawer(**PLACE, content=text)["drawer_id"] for text in others]
    before = ada.position()
    ada.delete_drawers(drawer_ids=alike[1:])
    asked = {"query": "what breaks builds with a cold cache", "ranking": ranking}
    answer = ada.search(**asked, limit=3)
    assert ids(answer)[0] == alike[0]
    assert sorted(ids(answer)[1:]) == sorted(rest[:2])
    assert answer["total"] == 4
    then = ada.search(**asked, limit=20, known_at=f"@{before}")
    assert set(ids(then)[:10]) == set(alike)
    assert len(ids(then)) == 13


@pytest.mark.parametrize("ranking", RANKINGS)
def test_a_distance_leaves_out_what_is_further(shelf: Device, ranking: str) -> None:
    whole = shelf.search(query=QUESTION, limit=40, ranking=ranking)["hits"]
    cosines = sorted(hit["signals"]["cosine"] for hit in whole)
    middle = 1 - (cosines[15] + cosines[16]) / 2
    pages = list(walked(shelf, 3, ranking=ranking, max_distance=middle))
    found = [one for page in pages for one in ids(page)]
    near = {hit["drawer_id"] for hit in whole if 1 - hit["signals"]["cosine"] <= middle}
    assert set(found) == near
    assert len(found) == len(near) == len(cosines) - 16
    assert shelf.search(query=QUESTION, ranking=ranking, max_distance=0)["hits"] == []


@pytest.mark.parametrize("query", ["caf\u00e9 in Lyon", "cafe\u0301 in Lyon"])
@pytest.mark.parametrize("ranking", RANKINGS)
def test_accents_are_found_composed_or_not(fleet: Fleet, query: str, ranking: str) -> None:
    """V1"""
    ada = by_meaning(fleet, "minilm")
    for text in ("We met at the caf\u00e9 in Lyon", "Sourdough", "Piano", "A cafe\u0301 of Lyon"):
        ada.add_drawer(**PLACE, content=text)
    hits = ada.search(query=query, ranking=ranking, limit=2)["hits"]
    assert len(hits) == 2
    assert all("Lyon" in hit["snippet"] for hit in hits)
