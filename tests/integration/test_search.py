"""Full text search on real files: cases V1 to V7 (without vectors), and what holds of every hit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from projections.queries import lexical
from tests.palaces import Device, Fleet, deliver, digest_of, rebuilt_equals_live

PLACE = {"wing": "home", "room": "notes"}


def store(device: Device, texts: Iterable[str], **given: Any) -> list[str]:
    return [device.add_drawer(**PLACE | given | {"content": text})["drawer_id"] for text in texts]


def found(device: Device, query: str, **chosen: Any) -> list[str]:
    """The snippets of what is found, best first."""
    return [hit["snippet"] for hit in device.search(query=query, **chosen)["hits"]]


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["drawer_id"] for hit in answer["hits"]]


@pytest.mark.parametrize("query", ["caf\u00e9", "cafe\u0301", "CAFÉ", "cafe"])
def test_accents_are_found_composed_or_not(ada: Device, query: str) -> None:
    """V1"""
    store(ada, ["at the caf\u00e9", "a cafe\u0301 in Lyon", "tea"])
    assert sorted(found(ada, query)) == ["a caf\u00e9 in Lyon", "at the caf\u00e9"]


@pytest.mark.parametrize("query", ["成语接龙", "成语", "龙", "今", "戏"])
def test_what_is_written_without_spaces_is_found_by_any_part(ada: Device, query: str) -> None:
    """V2"""
    store(ada, ["今天讨论了成语接龙游戏", "会議は金曜日に変更"])
    assert found(ada, query) == ["今天讨论了成语接龙游戏"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tier1-test AND unicode", "the tier1-test of unicode"),
        ("don't", "I don't know"),
        ("C++", "written in C++ mostly"),
        ("rm -rf", "never rm -rf the log"),
        ("a/b", "the a/b test"),
        ('"', 'he said "so"'),
        ("*", "2 * 3"),
        ("(", "f(x)"),
        ("->", "x -> y"),
        ("NOT tea", "nottea"),
        ("nearby NEAR(tea", "nearby"),
        ("body:tea^2", "body"),
        ('say "tea', "say so"),
        ("%", "100% sure"),
        ("_", "snake_case"),
        ("🦊", "a 🦊"),
        ("€", "100 €"),
    ],
)
def test_nothing_in_a_question_is_an_operator(ada: Device, query: str, text: str) -> None:
    """V3"""
    store(ada, [text, "plain words only"])
    expected = [] if query == "NOT tea" else [text]
    assert found(ada, query) == expected
    assert found(ada, query, known_at="@2") == expected


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\u3000"])
def test_an_empty_question_is_refused(ada: Device, query: str) -> None:
    """V4"""
    store(ada, ["tea"])
    with ada.refuses("input::invalid", "query"):
        ada.search(query=query)
    with ada.refuses("input::invalid", "query"):
        ada.recall(query=query)


def test_time_is_a_condition_on_what_is_ranked(ada: Device, clock: FrozenDateTimeFactory) -> None:
    """V5"""
    old = store(ada, [f"the build server fails, take {number} of the old" for number in range(3)])
    clock.tick(86_400 * 30)
    store(ada, [f"the build server fails {number}" for number in range(50)])
    answer = ada.search(query="build server fails", limit=3, before="2026-04-02")
    assert sorted(ids(answer)) == sorted(old)
    assert answer["total"] == 3
    answer = ada.search(query="build server fails", limit=3, until="2026-04-02")
    assert sorted(ids(answer)) == sorted(old)
    answer = ada.search(query="build server fails", limit=3, known_at="2026-04-02")
    assert sorted(ids(answer)) == sorted(old)


def test_hidden_texts_take_no_place_among_the_hits(ada: Device) -> None:
    """V6"""
    equal = store(ada, [f"the cold cache breaks builds {number}" for number in range(10)])
    next_best = store(ada, ["a cold day", "warm cache of wheels", "nothing alike"])
    before = ada.position()
    for drawer in equal[1:]:
        ada.delete_drawer(drawer_id=drawer)
    answer = ada.search(query="cold cache breaks builds", limit=3)
    assert ids(answer)[0] == equal[0]
    assert sorted(ids(answer)[1:]) == sorted(next_best[:2])
    assert answer["total"] == 3
    then = ada.search(query="cold cache breaks builds", limit=20, known_at=f"@{before}")
    assert sorted(ids(then)) == sorted([*equal, *next_best[:2]])


def test_a_page_is_full_however_many_better_texts_may_not_be_shown(ada: Device) -> None:
    wanted = store(ada, [f"a day with a cold wind {number}" for number in range(3)], wing="work")
    store(ada, [f"cold cold {number}" for number in range(60)])
    answer = ada.search(query="cold", limit=2, wing="work")
    assert len(answer["hits"]) == 2
    assert answer["total"] == 3
    rest = ada.search(query="cold", limit=2, wing="work", cursor=answer["cursor"])
    assert sorted([*ids(answer), *ids(rest)]) == sorted(wanted)


def test_a_word_at_the_end_of_a_long_text_is_found_and_shown(ada: Device) -> None:
    """V7"""
    text = "filler words go on " * 10_525 + "until the quetzal sings"
    assert len(text) > 199_990
    [drawer] = store(ada, [text])
    [hit] = ada.search(query="quetzals")["hits"]
    assert hit["drawer_id"] == drawer
    assert "quetzal sings" in hit["snippet"]
    assert len(hit["snippet"]) == 200


@pytest.fixture(scope="module")
def shelf(still_clock: FrozenDateTimeFactory, still_fleet: Fleet) -> Device:
    """Texts on tea: one a day from 2026-04-01 on."""
    ada = still_fleet.device("ada")
    days = [
        ("tea a", {"wing": "home", "tags": ["Red", "old"], "source_file": "x.md"}),
        ("tea b", {"wing": "home", "room": "plans", "tags": ["red"]}),
        ("tea c", {"wing": "Work", "valid_from": "2026-01-01", "valid_to": "2026-02-28"}),
        ("tea d", {"wing": "work", "valid_from": "2027-01-01", "source_file": "x.md"}),
    ]
    for number, (text, given) in enumerate(days, 1):
        still_clock.move_to(f"2026-04-{number:02}T12:00:00Z")
        store(ada, [text], **given)
    still_clock.move_to("2026-04-10T00:00:00Z")
    return ada


@pytest.mark.parametrize(
    ("chosen", "texts"),
    [
        ({}, "ab"),
        ({"wing": "HOME"}, "ab"),
        ({"wing": "home", "room": "Notes"}, "a"),
        ({"wing": "nowhere"}, ""),
        ({"tags": ["red"]}, "ab"),
        ({"tags": "RED, old"}, "a"),
        ({"tags": ["re"]}, ""),
        ({"source_file": "x.md"}, "a"),
        ({"source_file": "x.md", "include_historical": True}, "ad"),
        ({"include_historical": True}, "abcd"),
        ({"since": "2026-04-02"}, "b"),
        ({"before": "2026-04-01"}, "a"),
        ({"as_of": "2026-02-01"}, "c"),
        ({"as_of": "2027-02-01"}, "abd"),
        ({"from_": "2026-02", "until": "2026-02"}, "c"),
        ({"known_at": "@1"}, "a"),
        ({"known_at": "@3", "as_of": "2026-02"}, "c"),
        ({"known_at": "@3", "tags": ["red"], "wing": "home", "since": "2026-04-02"}, "b"),
        ({"known_at": "@0"}, ""),
    ],
)
def test_a_hit_is_what_was_chosen(shelf: Device, chosen: dict[str, Any], texts: str) -> None:
    answer = shelf.search(query="tea", **chosen)
    assert "".join(sorted(hit["snippet"][-1] for hit in answer["hits"])) == texts
    assert answer["total"] == len(texts)
    assert answer["total_is_exact"]


def test_ways_to_choose_a_time_exclude_each_other(shelf: Device) -> None:
    with shelf.refuses("input::invalid"):
        shelf.search(query="tea", as_of="2026-02", include_historical=True)
    for limit in (0, 201):
        with shelf.refuses("input::invalid", "limit"):
            shelf.search(query="tea", limit=limit)


def test_a_hit_says_where_it_stands_and_who_wrote_it(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    text = "tea at five, " * 40
    told = bob.by(agent="scribe").add_drawer(
        **PLACE, content=text, tags=["drink"], source_file="a.md", valid_from="2026-01-01"
    )
    deliver(bob.house, ada.house)
    clock.tick(60)
    ada.supersede_drawer(drawer_id=told["drawer_id"], content="coffee at six")
    [hit] = ada.search(query="tea", include_historical=True)["hits"]
    assert hit["snippet"] == text[:200]
    assert hit | {"score": 1.0, "provenance": None, "snippet": None} == {
        "drawer_id": told["drawer_id"],
        "wing": "home",
        "room": "notes",
        "snippet": None,
        "score": 1.0,
        "signals": {"bm25": hit["score"]},
        "tags": ["drink"],
        "source_file": "a.md",
        "valid_from": "2026-01-01T00:00:00.000000Z",
        "valid_to": "2026-03-31T15:01:00.000000Z",
        "state": "superseded",
        "current": False,
        "recorded_at": "2026-03-31T15:00:00.000000Z",
        "provenance": None,
    }
    assert (hit["provenance"]["device"], hit["provenance"]["agent"]) == ("bob", "scribe")
    assert found(ada, "tea") == []
    assert found(ada, "coffee") == ["coffee at six"]


def test_better_answers_come_first_and_equal_ones_by_id(ada: Device) -> None:
    best = store(ada, ["rare quetzal, rare quetzal"])
    equal = [
        drawer
        for number in range(30)
        for drawer in store(ada, ["one rare bird"], wing=f"wing {number}")
    ]
    answer = ada.search(query="the rare quetzal", limit=200)
    assert answer["words"] == ["rare", "quetzal"]
    assert ids(answer) == [*best, *sorted(equal)]
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores[0] > scores[1] == scores[-1] > 0


def pages(device: Device, limit: int, between: Any = None, **given: Any) -> list[dict[str, Any]]:
    """The hits of all pages; `between` is called after each."""
    hits: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = device.search(limit=limit, **given, **cursor)
        hits += answer["hits"]
        if answer["cursor"] is None:
            return hits
        cursor = {"cursor": answer["cursor"]}
        if between is not None:
            between(len(hits))


def test_pages_together_are_the_list_whatever_is_written_meanwhile(ada: Device) -> None:
    for number in range(40):
        store(ada, [f"tea {'and milk ' * (number % 5)}{number // 2}"], wing=f"wing {number % 2}")
    whole = ada.search(query="tea milk", limit=200)["hits"]
    assert len(whole) == 40
    for limit in (1, 7, 39, 40, 41):
        assert pages(ada, limit, query="tea milk") == whole

    def disturb(seen: int) -> None:
        ada.delete_drawer(drawer_id=whole[seen % 40]["drawer_id"])
        store(ada, [f"milk milk tea meanwhile {seen}", f"other words {seen}"])

    assert pages(ada, 6, disturb, query="tea milk") == whole
    with ada.refuses("input::invalid", "cursor"):
        first = ada.search(query="tea", limit=1)
        ada.search(query="milk", limit=1, cursor=first["cursor"])


def test_what_arrives_later_changes_no_answer_about_the_past(
    fleet: Fleet, clock: FrozenDateTimeFactory
) -> None:
    """Ranking weighs words by how rare they are; it must not weigh them by what came later."""
    ada = fleet.device("ada")
    store(ada, [f"tea {number} {'with milk ' * (number % 7)}" for number in range(20)])
    store(ada, [f"the bird {number} drinks" for number in range(15)])
    store(ada, ["今天讨论了成语接龙游戏", "接龙"])
    at = f"@{ada.position()}"
    queries = ["tea milk bird", "bird drinks tea", "接龙 tea", "龙", "(", "drinking"]
    first = [ada.search(query=query, known_at=at, limit=50) for query in queries]
    present = [ada.search(query=query, limit=50) for query in queries]
    assert [one["hits"] for one in first] == [one["hits"] for one in present]
    instant = first[0]["as_of"]
    timed = [ada.search(query=query, known_at=instant, limit=50) for query in queries]

    clock.tick(3_600)
    store(ada, [f"bird {number} {'bird ' * (number % 9)} (接龙)" for number in range(300)])
    ada.delete_drawer(drawer_id=first[0]["hits"][0]["drawer_id"])
    rebuilt_equals_live(ada.house)

    assert [ada.search(query=query, known_at=at, limit=50) for query in queries] == first
    assert [ada.search(query=query, known_at=instant, limit=50) for query in queries] == timed
    now = [ada.search(query=query, limit=50) for query in queries]
    head = f"@{ada.position()}"
    same = [ada.search(query=query, limit=50, known_at=head) for query in queries]
    assert [one["hits"] for one in now] == [one["hits"] for one in same]
    assert [one["hits"] for one in now] != [one["hits"] for one in first]


def test_a_total_is_counted_as_far_as_anybody_pages(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(ada, [f"tea {number}" for number in range(6)])
    whole = ada.search(query="tea")
    assert (whole["total"], whole["total_is_exact"]) == (6, True)
    monkeypatch.setattr(lexical, "COUNTED_MAX", 4)
    lexical._total.cache_clear()
    for moment in ({}, {"known_at": "@6"}):
        counted = ada.search(query="tea", limit=1, **moment)
        assert (counted["total"], counted["total_is_exact"]) == (4, False)
    assert len(pages(ada, 1, query="tea")) == 6
    lexical._total.cache_clear()


def test_searching_changes_nothing(ada: Device) -> None:
    store(ada, ["tea", "milk"])
    before = digest_of(ada.house)
    ada.search(query="tea")
    ada.search(query="tea", known_at="@1")
    ada.recall(query="tea")
    ada.wake_up()
    ada.duplicates()
    assert digest_of(ada.house) == before


def test_texts_are_found_where_they_were_received(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    store(bob, ["a quetzal sings"])
    store(ada, ["a quetzal sings", "nothing"])
    fleet.share()
    assert found(ada, "quetzal") == found(bob, "quetzal") == ["a quetzal sings"]
    ada.reopen()
    assert found(ada, "quetzal") == ["a quetzal sings"]


def test_an_updated_text_is_found_by_its_new_words_alone(ada: Device) -> None:
    [tea] = store(ada, ["tea for two"])
    ada.update_drawer(drawer_id=tea, content="coffee for two")
    assert found(ada, "tea") == []
    assert found(ada, "coffee") == ["coffee for two"]
    assert found(ada, "tea", known_at="@1") == ["tea for two"]


def test_a_whole_page_of_text_is_a_question_too(ada: Device) -> None:
    store(ada, ["tea with milk", "nothing"])
    assert found(ada, "tea " + " ".join(f"filler{number}" for number in range(1_000)))
    assert found(ada, "tea " * 4_000) == ["tea with milk"]
    with ada.refuses("input::invalid", "query"):
        ada.search(query="tea " * 5_000)
