"""How texts and questions are cut into words: pure, and the same for both."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.text import (
    WORDS_MAX,
    Word,
    asked,
    chosen,
    expression,
    searchable,
    snippet,
    sought,
    spans,
)
from projections.tokens import stem, tokens


def held(text: str) -> set[str]:
    """The words by which a text is found."""
    return {stem(token) for token in tokens(searchable(text))}


def finds(query: str, text: str) -> bool:
    """Whether a word of the question is a word of the text."""
    words = chosen(tokens(asked(query)))
    return any(
        any(one.startswith(word.text) for one in held(text))
        if word.begins
        else stem(word.text) in held(text)
        for word in words
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("caf\u00e9", "cafe\u0301"),
        ("cafe", "Caf\u00e9s"),
        ("STRASSE", "Straße"),
        ("ABC", "ＡＢＣ"),
        ("running", "she runs"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("龙", "今天讨论了成语接龙游戏"),
        ("戏", "今天讨论了成语接龙游戏"),
        ("今", "今天讨论了成语接龙游戏"),
        ("金曜日", "会議は金曜日に変更"),
        ("금요일", "회의가 금요일로 변경"),
        ("手机", "我的iPhone手机"),
        ("iphone", "我的iPhone手机"),
        ("الجمعة", "الاجتماع يوم الجمعة"),
        ("हिन्दी", "यह हिन्दी है"),
        ("ПЯТНИЦУ", "перенесена на пятницу"),
        ("🦊", "a 🦊 ran"),
        ("👩🏽‍🚀", "👩‍🚀"),
        ("❤", "❤\ufe0f"),
        ("100€", "it cost 100€"),
        ("C++", "written in C++."),
        ("c#", "C# and F#"),
        ("dont", "I don’t"),
        ("don't", "we dont"),
        ("snake", "a snake_case name"),
        ("a/b", "see a/b"),
        ("10.0.0.1", "host 10.0.0.1:80, 10.0.0.1"),
        ("the who", "The Who"),
    ],
)
def test_a_question_finds_a_text_in_whatever_form_it_was_typed(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [("龙天", "今天讨论了成语接龙游戏"), ("don't", "a t and a don")],
)
def test_a_question_does_not_find_what_has_other_words(query: str, text: str) -> None:
    assert not finds(query, text)


def test_common_words_are_passed_over_unless_there_are_no_others() -> None:
    assert chosen(["what", "did", "kiran", "say", "kiran"]) == [Word("kiran"), Word("say")]
    assert chosen(["to", "be", "or", "not"]) == [Word("to"), Word("be"), Word("or"), Word("not")]
    assert chosen(["龙"]) == [Word("龙", begins=True)]
    assert len(chosen(f"word{number}" for number in range(1_000))) == WORDS_MAX


@given(st.text())
def test_nothing_that_is_typed_becomes_syntax(query: str) -> None:
    stated = expression([Word(query), Word("b", begins=True)])
    inside = stated.removeprefix('"').removesuffix('" OR "b"*')
    assert '"' not in inside.replace('""', "")


@given(st.text())
def test_composed_or_not_a_text_has_the_same_words(text: str) -> None:
    assert searchable(unicodedata.normalize("NFD", text)) == searchable(
        unicodedata.normalize("NFC", text)
    )


@given(st.text(min_size=1), st.text())
def test_a_snippet_is_a_piece_of_the_text(text: str, query: str) -> None:
    words = [(token, stem(token)) for token in tokens(asked(query))]
    found = snippet(text, sought(query, words))
    assert found in unicodedata.normalize("NFC", text)
    assert len(found) <= 200


@pytest.mark.parametrize(
    ("query", "needle"),
    [("zebras", "zebra"), ("cafe", "Café"), ("C++", "C++"), ("成语接龙", "接龙"), ("🦊", "🦊")],
)
def test_a_snippet_shows_what_was_found_however_far_behind(query: str, needle: str) -> None:
    words = [(word.text, stem(word.text)) for word in chosen(tokens(asked(query)))]
    found = snippet(f"{'und so weiter ' * 900}{needle}, said Noor", sought(query, words))
    assert needle in found
    assert len(found) == 200


def test_names_in_a_question_are_tried_longest_first() -> None:
    tried = spans("Is New York  City in C++?", 3)
    assert tried[0] == "new york city"
    assert {"new york", "york", "c++?", "c", "new"} <= set(tried)
    assert "is" not in tried
    assert {"成语", "接", "成语接龙"} <= set(spans("成语接龙在哪里", 4))
