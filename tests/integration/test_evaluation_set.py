"""The evaluation set's labels hold in a real palace: what answers a question is shown at the moment
that it is asked at, and what is wrong about time is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.evaluation.dataset import (
    ASKED_AT,
    Evaluated,
    Question,
    filled_palace,
    instant,
    notes,
    questions,
)
from tests.palaces import checked

Listed = Callable[..., set[str]]
ASKED = questions()
ABOUT_TIME = [question for question in ASKED if question.moment()]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluated]:
    with filled_palace(tmp_path_factory.mktemp("evaluation") / "palace") as evaluated:
        yield evaluated


def call(evaluated: Evaluated, tool: str, **arguments: Any) -> dict[str, Any]:
    return checked(tool, evaluated.house.palace.call(tool, arguments))


def all_listed(evaluated: Evaluated, **chosen: str) -> set[str]:
    """The ids of every drawer that is listed, on all pages."""
    found: set[str] = set()
    page: dict[str, Any] = {"cursor": None}
    while page["cursor"] or not found:
        more = {"cursor": page["cursor"]} if page["cursor"] else {}
        page = call(evaluated, "list_drawers", limit=200, **chosen, **more)
        found |= {line["id"] for line in page["drawers"]}
    assert len(found) == page["total"]
    return found


@pytest.fixture(scope="module")
def listed(evaluated: Evaluated) -> Listed:
    """What is listed at a moment, read once: nothing is written after the palace was filled."""
    return cache(lambda **chosen: all_listed(evaluated, **chosen))


def place(question: Question) -> dict[str, str]:
    return {"wing": question.wing} if question.wing else {}


def test_every_text_has_a_drawer_of_its_own_and_was_recorded_at_its_time(
    evaluated: Evaluated,
) -> None:
    assert evaluated.clock.now == instant(ASKED_AT)
    texts = [note for note in notes() if note.content is not None]
    assert len(set(evaluated.drawers.values())) == len(texts)
    for note in texts:
        known = call(
            evaluated, "get_drawer", drawer_id=evaluated.drawers[note.key], known_at=note.at
        )
        assert known["drawer"]["content"] == note.content
        assert instant(known["drawer"]["provenance"]["recorded_at"]) == instant(note.at)


@pytest.mark.parametrize("question", ASKED, ids=range(len(ASKED)))
def test_what_answers_a_question_is_shown_at_its_moment(
    evaluated: Evaluated, listed: Listed, question: Question
) -> None:
    drawers = {evaluated.drawers[key] for key in question.relevant}
    assert drawers <= listed(**question.moment(), **place(question))
    for drawer in drawers:
        shown = call(evaluated, "get_drawer", drawer_id=drawer, **question.moment())["drawer"]
        assert shown["current"]
        assert shown["content"]


@pytest.mark.parametrize("question", ABOUT_TIME, ids=range(len(ABOUT_TIME)))
def test_what_is_wrong_about_time_is_not_shown_then(
    evaluated: Evaluated, listed: Listed, question: Question
) -> None:
    wrong = {evaluated.drawers[key] for key in question.wrong}
    assert not wrong & listed(**question.moment())


@pytest.mark.parametrize("kind", ["as_of", "known_at"])
def test_most_questions_about_time_have_another_answer_in_the_present(
    evaluated: Evaluated, listed: Listed, kind: str
) -> None:
    now = listed()
    changed = [
        question
        for question in ABOUT_TIME
        if question.kind == kind
        and (
            not {evaluated.drawers[key] for key in question.relevant} <= now
            or {evaluated.drawers[key] for key in question.wrong} & now
        )
    ]
    assert len(changed) >= 15


def test_what_was_deleted_later_answers_questions_of_before(
    evaluated: Evaluated, listed: Listed
) -> None:
    gone = {note.arguments["drawer_id"]["key"] for note in notes() if note.tool == "delete_drawer"}
    answering = {key for question in ABOUT_TIME for key in question.relevant}
    assert len(gone) >= 8
    assert gone <= answering
    assert not {evaluated.drawers[key] for key in gone} & listed()
