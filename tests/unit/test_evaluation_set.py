"""The evaluation set is large and varied enough to tell one way of searching from another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from domain.catalog import CATALOG
from domain.identity import drawer_id
from domain.operations.common import Clock
from tests.evaluation.dataset import ASKED_AT, Note, Question, instant, notes, questions

LANGUAGES = {"en", "de", "fr", "es", "zh"}
KINDS = {
    "paraphrase": 60,
    "keyword": 25,
    "exact": 20,
    "as_of": 20,
    "known_at": 20,
    "near_duplicate": 25,
    "cross_language": 10,
    "message": 40,
}
"""How many questions of each kind there are at least."""
DAY = 86_400_000_000
ENDS = ("?", "\uff1f")
CALLS = notes()
ASKED = questions()
TEXTS = {note.key: note for note in CALLS if note.content is not None}
MESSAGES = [note for note in CALLS if "added_by" in note.arguments]


def only_asks(note: Note) -> bool:
    """Whether a message brings no sentence but a question."""
    text = note.content or ""
    return text.endswith(ENDS) and not any(mark in text[:-1] for mark in (". ", "。", "? "))


def ended(note: Note) -> str | None:
    """The key of the note that a call supersedes or deletes."""
    target = note.arguments.get("supersedes") or note.arguments.get("drawer_id")
    return target["key"] if target else None


def words(text: str) -> set[str]:
    """Words of four letters or more; of Chinese, the pairs of characters."""
    folded = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    found = {word for word in folded.split() if len(word) > 3 and word < "\u4e00"}
    pairs = ("".join(pair) for pair in pairwise(folded))
    return found | {pair for pair in pairs if min(pair) >= "\u4e00"}


def shared(question: Question) -> float:
    """The share of a question's words that stand in what answers it."""
    asked = words(question.query)
    held = set().union(*(words(TEXTS[key].content or "") for key in question.relevant))
    return len(asked & held) / max(1, len(asked))


def test_there_are_enough_notes_and_questions() -> None:
    assert len(TEXTS) >= 220
    assert len(ASKED) >= 160


def test_every_language_has_notes_and_questions() -> None:
    written = Counter(note.language for note in TEXTS.values())
    assert set(written) == LANGUAGES
    assert min(written.values()) >= 25
    assert 0.4 < written["en"] / len(TEXTS) < 0.6
    spoken = Counter(question.language for question in ASKED)
    assert set(spoken) == LANGUAGES
    assert min(spoken.values()) >= 15


def test_every_kind_of_question_is_asked_often() -> None:
    kinds = Counter(question.kind for question in ASKED)
    assert set(kinds) == set(KINDS)
    assert {kind: count for kind, count in KINDS.items() if kinds[kind] < count} == {}


def test_time_is_named_by_the_questions_about_time_and_by_no_other() -> None:
    for question in ASKED:
        kind = question.kind if question.kind in ("as_of", "known_at") else None
        assert [kind] == (list(question.moment()) or [None]), question


def test_keys_texts_and_questions_are_told_apart() -> None:
    assert len({note.key for note in CALLS}) == len(CALLS)
    drawers = {drawer_id(*place_of(note), note.content or "") for note in TEXTS.values()}
    assert len(drawers) == len(TEXTS)
    assert len({(question.query, *question.asked().items()) for question in ASKED}) == len(ASKED)


def place_of(note: Note) -> tuple[str, str]:
    """The wing and room that a text goes to; a successor goes where the first one went."""
    while note.tool == "supersede_drawer":
        note = TEXTS[ended(note) or ""]
    return note.arguments["wing"], note.arguments["room"]


def test_calls_are_in_order_of_time_and_end_before_questions_are_asked() -> None:
    times = [instant(note.at) for note in CALLS]
    assert times == sorted(times)
    assert times[-1] < instant(ASKED_AT)


@pytest.mark.parametrize("note", CALLS, ids=lambda note: note.key)
def test_call_is_within_the_limits_of_its_operation(note: Note) -> None:
    keys = {key: f"drawer_{key}" for key in TEXTS}
    clock = Clock("UTC", instant(note.at))
    CATALOG[note.tool].asks.model_validate(note.resolved(keys), context=clock)
    assert (note.content is None) == (note.language is None) == (note.tool == "delete_drawer")


def test_a_call_names_only_notes_that_were_written_before_it() -> None:
    later = next(note for note in CALLS if ended(note))
    with pytest.raises(KeyError, match=ended(later)):
        later.resolved({})


def test_one_to_three_notes_that_exist_answer_each_question() -> None:
    for question in ASKED:
        assert 1 <= len(question.relevant) <= 3, question
        assert {*question.relevant, *question.wrong} <= TEXTS.keys(), question
        assert not {*question.relevant} & {*question.wrong}, question
    assert sum(len(question.relevant) > 1 for question in ASKED) >= 12


def test_half_of_the_questions_share_few_words_with_their_answer_and_a_third_more() -> None:
    shares = [shared(question) for question in ASKED]
    assert 0.4 < sum(share <= 0.2 for share in shares) / len(shares) < 0.6
    assert sum(share >= 0.3 for share in shares) / len(shares) > 0.3


def test_a_paraphrase_shares_fewer_words_than_a_keyword_question() -> None:
    mean = {
        kind: sum(shared(one) for one in ASKED if one.kind == kind)
        / sum(one.kind == kind for one in ASKED)
        for kind in ("paraphrase", "keyword")
    }
    assert mean["paraphrase"] < 0.25
    assert mean["keyword"] > 0.5


def test_an_exact_question_stands_letter_by_letter_in_its_answer_alone() -> None:
    for question in (one for one in ASKED if one.kind == "exact"):
        wings = {question.wing} if question.wing else {place_of(note)[0] for note in TEXTS.values()}
        holding = [
            key
            for key, note in TEXTS.items()
            if question.query in (note.content or "") and place_of(note)[0] in wings
        ]
        assert holding == list(question.relevant), question


def test_every_near_duplicate_question_names_the_twins_that_do_not_answer_it() -> None:
    asked = [question for question in ASKED if question.kind == "near_duplicate"]
    assert all(question.wrong for question in asked)
    families = {frozenset({*question.relevant, *question.wrong}) for question in asked}
    assert len(families) >= 15


def test_many_notes_have_a_window_of_time_and_many_end_later() -> None:
    windows = [
        note for note in TEXTS.values() if {"valid_from", "valid_to"} & note.arguments.keys()
    ]
    assert len(windows) >= 25
    late = [
        note for note in windows if instant(note.at) > instant(note.arguments["valid_from"]) + DAY
    ]
    assert len(late) + sum(ended(note) is not None for note in CALLS) >= 25
    assert {note.tool for note in CALLS} == {"add_drawer", "supersede_drawer", "delete_drawer"}
    assert any("supersedes" in note.arguments for note in CALLS)


def test_many_messages_are_dealt_to_authors_in_turn() -> None:
    assert len(MESSAGES) >= 60
    files = Counter(note.arguments["source_file"] for note in MESSAGES)
    assert min(files.values()) >= 8
    for before, after in pairwise(MESSAGES):
        if before.arguments["source_file"] == after.arguments["source_file"]:
            assert before.arguments["added_by"] != after.arguments["added_by"], after


def test_a_message_that_only_asks_answers_nothing() -> None:
    asking = {note.key for note in MESSAGES if only_asks(note)}
    assert len(asking) >= 10
    assert not asking & {key for question in ASKED for key in question.relevant}
