"""The steps of a ranking by words and meaning, each by itself."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.dates import dated
from projections.queries.authors import without
from projections.vectors.embedder import AskedToken, Passage, Question, of_length_one, signs
from projections.vectors.hybrid import z
from projections.vectors.maxsim import cosines, matches
from projections.vectors.messages import are_messages, around, numbers_beside, only_asks
from projections.vectors.records import Record

WIDE = 16


def microseconds(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1_000_000


def record(number: int = 1, author: str = "ada", source: str = "chat", text: str = "Hi.") -> Record:
    return Record(number, f"d{number}", b"", len(text), text[-40:], source, author, 0)


def conversation(authors: str, text: str = "Hi.") -> list[Record]:
    return [record(number, author, text=text) for number, author in enumerate(authors, 1)]


@pytest.mark.parametrize(
    ("question", "years", "months", "days"),
    [
        ("what did we decide in March 2024?", {2024}, {3}, set()),
        ("the incident of 2024-05-07", {2024}, {5}, {7}),
        ("what happened on 3rd July", set(), {7}, {3}),
        ("was haben wir im Oktober beschlossen", set(), {10}, set()),
        ("qu'avons-nous décidé en août 2023", {2023}, {8}, set()),
        ("¿qué decidimos en enero?", set(), {1}, set()),
        ("may we march on?", set(), set(), set()),
        ("May I ask about port 8080 and 12 threads", set(), set(), set()),
        ("what was said in May", set(), {5}, set()),
        ("the 12 rules", set(), set(), set()),
    ],
)
def test_a_question_names_dates(
    question: str, years: set[int], months: set[int], days: set[int]
) -> None:
    assert tuple(map(set, dated(question))) == (years, months, days)


def test_a_date_is_worth_more_the_more_of_it_is_met() -> None:
    asked = dated("what happened on 3rd July 2024")
    met = [
        asked.match(microseconds(*date))
        for date in ((2023, 5, 3), (2024, 5, 3), (2023, 7, 9), (2024, 7, 9), (2024, 7, 3))
    ]
    assert met == sorted(met)
    assert met[0] == met[1] == 0 < met[2] < met[3] < met[4]


@pytest.mark.parametrize("instant", [-(2**62), 2**62, 0])
def test_an_instant_beyond_the_calendar_meets_no_date(instant: int) -> None:
    assert dated("in July 1999").match(instant) == 0


def test_a_year_alone_is_met_by_its_year() -> None:
    asked = dated("what changed in 2024?")
    assert asked.match(microseconds(2024, 2, 1)) > asked.match(microseconds(2023, 2, 1)) == 0


@pytest.mark.parametrize(
    ("query", "names", "left"),
    [
        ("What does Ada like?", ["ada"], "What does like?"),
        ("What is Ada's plan, ADA?", ["ada"], "What is plan, ?"),
        ("Adam and Ada\u2019s plan", ["ada"], "Adam and plan"),
        ("ada lovelace said no", ["ada lovelace"], "said no"),
        ("Ada", ["ada"], "Ada"),
        ("What did Ada do?", ["ada"], "What did Ada do?"),
        ("our (b) plan", ["(b)"], "our plan"),
        ("nobody is named", [], "nobody is named"),
    ],
)
def test_the_authors_that_a_question_names_are_not_looked_for(
    query: str, names: list[str], left: str
) -> None:
    assert without(query, names) == left


@pytest.mark.parametrize("text", ["Why?", "为什么？", "Why?  ", 'He asked: "why?"', "لماذا؟"])
def test_a_short_record_that_ends_with_a_question_only_asks(text: str) -> None:
    assert only_asks(record(text=text))


@pytest.mark.parametrize("text", ["Why? Because.", "Yes!", "", "...", "a" * 300 + "?"])
def test_a_record_that_tells_does_not_only_ask(text: str) -> None:
    assert not only_asks(record(text=text))


@pytest.mark.parametrize("authors", ["abab", "abaab", "aabb"])
def test_short_records_of_authors_in_turn_are_messages(authors: str) -> None:
    assert are_messages(conversation(authors))


def test_what_is_long_or_by_one_author_or_by_nobody_is_no_message() -> None:
    assert not are_messages(conversation("aba"))
    assert not are_messages(conversation("aaaa"))
    assert not are_messages(conversation("aaaaaaab"))
    assert not are_messages(conversation("abab", "a" * 601))
    assert not are_messages([*conversation("aba"), record(4, "")])


def test_only_what_has_source_and_author_has_something_beside_it() -> None:
    assert numbers_beside([record(2)]) == {1, 2, 3, 4, 5}
    assert numbers_beside([record(2, author=""), record(2, source="")]) == set()


def test_what_stands_around_a_record_is_of_its_source_alone() -> None:
    known = {one.number: one for one in conversation("ababab")} | {3: record(3, source="other")}
    assert [one.number for one in around(known[4], known)] == [1, 2, 4, 5, 6]
    alone = record(9, author="")
    assert around(alone, known) == [alone]


def vectors(rows: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    made = np.random.default_rng(seed).standard_normal((rows, WIDE)).astype(np.float32)
    return np.stack([of_length_one(row) for row in made]) if rows else made


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=0, max_size=3), min_size=1, max_size=6),
    st.integers(0, 4),
)
def test_matching_many_texts_at_once_equals_matching_each_token_with_each(
    shape: list[list[int]], asked: int
) -> None:
    """Each text is a list of chunks, each chunk a number of tokens."""
    question = Question(
        vectors(1, 0)[0], [AskedToken(0, 0, vector) for vector in vectors(asked, 1)], True
    )
    whole = [[vectors(tokens, 7 + place) for tokens in text] for place, text in enumerate(shape)]
    texts = [
        [Passage(vectors(1, 3 + len(own))[0], signs(own)) for own in chunks] for chunks in whole
    ]
    rarities = [0.5 + number for number in range(asked)]
    wanted = [_naively(question, rarities, chunks) for chunks in whole]
    np.testing.assert_allclose(matches(question, rarities, texts), wanted, atol=1e-4)
    nearest = [
        max((float(one.vector @ question.vector) for one in own), default=0) for own in texts
    ]
    np.testing.assert_allclose(cosines(question, texts), nearest, atol=1e-5)


def _naively(question: Question, rarities: list[float], chunks: list[np.ndarray]) -> float:
    tokens = [token for chunk in chunks for token in chunk]
    if not tokens:
        return 0.0
    return sum(
        rarity * max(float(asked.vector @ np.where(token > 0, 1.0, -1.0)) for token in tokens)
        for rarity, asked in zip(rarities, question.tokens, strict=True)
    )


def test_scores_are_told_as_deviations_from_a_list_s_best() -> None:
    scores = z(np.array([1.0, 2.0, 3.0]), [1.0, 3.0])
    assert scores.tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("best", [[], [2.0], [2.0, 2.0]])
def test_a_list_in_which_all_are_equal_tells_nothing(best: list[float]) -> None:
    assert z(np.array([1.0, 2.0]), best).tolist() == [0.0, 0.0]


def test_memory_does_not_grow_with_the_length_of_the_texts() -> None:
    wide, tokens = 384, 4_000
    bits = np.random.default_rng(2).integers(0, 256, (tokens, wide // 8), dtype=np.uint8)
    vector = np.ones(wide, dtype=np.float32)
    texts = [[Passage(vector, bits)] for _ in range(100)]
    question = Question(vector, [AskedToken(0, 0, vector)] * 4, True)
    tracemalloc.start()
    scores = matches(question, [1.0] * 4, texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(set(scores.tolist())) == 1
    assert peak < 150_000_000
