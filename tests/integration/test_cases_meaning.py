"""What searches must find and refuse, whatever ranks (cases V1 to V4, V7, V8); what answers say."""

from __future__ import annotations

import pytest

from tests.palaces import Device, Fleet

EMBEDDERS = ("minilm", "wordllama")
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
TYPED = (
    "tier1-test AND unicode",
    "don't",
    "C++",
    "rm -rf",
    "a/b",
    '"',
    "*",
    "(",
    "NEAR(a b)",
    "-x",
)
RANKINGS = ("lexical", "semantic", "hybrid", "auto")


@pytest.fixture(params=EMBEDDERS)
def ada(request: pytest.FixtureRequest, fleet: Fleet) -> Device:
    return fleet.device("ada", vectors={"embedder": request.param, "wait_seconds": 120})


@pytest.fixture(scope="module", params=EMBEDDERS)
def shelf(request: pytest.FixtureRequest, still_fleet: Fleet) -> Device:
    """A palace that holds each of the texts that look like operators, and some others."""
    vectors = {"embedder": request.param, "wait_seconds": 120}
    device = still_fleet.device(request.param, vectors=vectors)
    store(device, *(f"Mind this: {typed} is what was typed." for typed in TYPED))
    store(device, f"We met at the {COMPOSED} by the river.", "The build takes an hour.")
    store(device, f"The {DECOMPOSED} on the hill is closed on Sundays.")
    return device


def store(ada: Device, *texts: str) -> list[str]:
    return [ada.add_drawer(wing="w", room="r", content=text)["drawer_id"] for text in texts]


@pytest.mark.parametrize("word", [COMPOSED, DECOMPOSED], ids=["composed", "decomposed"])
@pytest.mark.parametrize(
    ("query", "found"),
    [("the {} by the river", "We met at"), ("is the {} on the hill closed", "The caf")],
)
def test_a_word_is_found_however_its_accents_are_composed(
    shelf: Device, query: str, found: str, word: str
) -> None:
    for ranking in RANKINGS:
        hits = shelf.search(query=query.format(word), ranking=ranking)["hits"]
        assert hits[0]["snippet"].startswith(found)


def test_chinese_is_found_by_a_part_of_it(ada: Device) -> None:
    [found, *_] = store(ada, "今天讨论了成语接龙游戏", "昨天修复了登录的错误", "明天部署新版本")
    for ranking in ("lexical", "hybrid", "auto"):
        assert ada.search(query="成语接龙", ranking=ranking)["hits"][0]["drawer_id"] == found


@pytest.mark.parametrize("query", TYPED)
def test_nothing_that_is_asked_is_an_operator(shelf: Device, query: str) -> None:
    for ranking in ("lexical", "hybrid", "auto"):
        hits = shelf.search(query=query, ranking=ranking)["hits"]
        assert hits[0]["snippet"] == f"Mind this: {query} is what was typed."
    assert shelf.search(query=query, ranking="semantic")["ranking"] == "semantic"


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(shelf: Device, query: str, ranking: str) -> None:
    with shelf.refuses("input::invalid"):
        shelf.search(query=query, ranking=ranking)


def test_an_answer_says_what_ranked_it_and_whose_vectors_were_asked(ada: Device) -> None:
    store(ada, "The deploy failed as the disk was full.")
    auto = ada.search(query="why did the release break")
    short = auto["embedder"]
    assert short.split("-")[0] in EMBEDDERS
    assert (auto["ranking"], auto["degraded"]) == ("hybrid", None)
    assert {"bm25", "cosine", "maxsim"} <= auto["hits"][0]["signals"].keys()
    semantic = ada.search(query="why did the release break", ranking="semantic")
    assert (semantic["ranking"], semantic["embedder"]) == ("semantic", short)
    assert semantic["hits"][0]["signals"].keys() == {"cosine"}
    lexical = ada.search(query="deploy", ranking="lexical")
    assert (lexical["ranking"], lexical["embedder"]) == ("lexical", None)


def test_what_was_asked_by_meaning_is_asked_again_of_the_past(ada: Device) -> None:
    store(ada, "The deploy failed as the disk was full.", "We drink espresso in the morning.")
    position = ada.status()["head"]
    asked = {"query": "which coffee is liked", "known_at": f"@{position}"}
    before = ada.search(**asked)["hits"]
    for number in range(120):
        store(ada, f"Coffee number {number} is liked by the team in the morning.")
    ada.delete_drawer(drawer_id=before[0]["drawer_id"])
    assert ada.search(**asked)["hits"] == before


def test_the_one_author_that_a_question_names_ranks_before_others_in_a_conversation(
    ada: Device,
) -> None:
    said = [
        ("Kim", "I adopted a dog last week."),
        ("Lee", "How lovely, Kim! I adopted a cat instead."),
        ("Kim", "My dog is called Bruno."),
        ("Lee", "My cat is called Luna, Kim."),
        ("Kim", "Bruno barks at night."),
        ("Lee", "Kim, Luna sleeps all night."),
    ]
    for author, text in said:
        place = {"wing": "w", "room": "chat", "source_file": "chat-1"}
        ada.add_drawer(**place, content=text, added_by=author)
    hits = ada.search(query="What is Kim's pet called?")["hits"]
    assert hits[0]["snippet"] == "My dog is called Bruno."
    first, *others = [hit["signals"]["author"] for hit in hits]
    assert first == 0
    assert sorted(others) == [-6, -6, -6, 0, 0]


def test_an_author_who_came_later_changes_no_past_answer(ada: Device) -> None:
    store(ada, "Robin sings in the garden.", "The garden needs water.", "Water the plants.")
    position = ada.status()["head"]
    asked = {"query": "what does Robin do in the garden", "known_at": f"@{position}"}
    before = ada.search(**asked)["hits"]
    ada.add_drawer(wing="w", room="r", content="I was here.", added_by="Robin")
    assert ada.search(**asked)["hits"] == before


@pytest.fixture
def eve(fleet: Fleet) -> Device:
    return fleet.device("eve", vectors={"embedder": "wordllama", "wait_seconds": 60})


def test_the_end_of_a_very_long_text_is_found_by_its_word_and_by_its_meaning(eve: Device) -> None:
    """V7"""
    filler = "The report lists each column of the table once more. " * 3_774
    text = filler[:199_900] + " An elephant called Zebulon drank from the river in Africa."
    assert len(text) < 200_000
    [long] = store(eve, text)
    store(eve, *(f"Line {number} of the table in the report" for number in range(20)))
    by_word = eve.search(query="Zebulon")
    assert by_word["hits"][0]["drawer_id"] == long
    assert by_word["degraded"] is None
    by_meaning = eve.search(query="wild animals of the savanna", ranking="semantic")
    assert by_meaning["hits"][0]["drawer_id"] == long


def test_the_end_of_a_long_chinese_text_is_found(eve: Device) -> None:
    """V8"""
    filler = "".join(chr(0x4E00 + number % 3_000) for number in range(7_990))
    [long] = store(eve, filler + "今天讨论了成语接龙游戏")
    told = eve.embed()
    assert (told["embedded"], told["failed"]) == (1, [])
    assert [hit["drawer_id"] for hit in eve.search(query="成语接龙")["hits"]] == [long]
