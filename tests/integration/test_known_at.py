"""What was known then never changes: promise 6 and case L28, on real files."""

from __future__ import annotations

import os
from typing import Any

import orjson
import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.instants import show
from tests.palaces import Fleet, operations
from tests.stories import Story, ask

SEEDS = range(150 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_known_at_answer_is_the_same_byte_for_byte_whatever_comes_later(
    fleet: Fleet, clock: FrozenDateTimeFactory, seed: int
) -> None:
    """L28"""
    story = Story(fleet, seed, clock)
    story.goes_on(40)
    events = operations(story.reader.house)
    positions = story.draw.sample(range(len(events) + 1), 3)
    instant = story.draw.choice(events).logged_at
    moments = [
        *({"known_at": f"@{position}"} for position in positions),
        {"known_at": f"@{positions[0]}", "as_of": "2026-03-20"},
        {"known_at": show(instant)},
    ]
    questions = list(story.questions())
    before = [answers(story, questions, moment) for moment in moments]

    story.goes_on(50)
    story.reader.reopen()

    for moment, answered in zip(moments, before, strict=True):
        assert answers(story, questions, moment) == answered, moment


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_known_at_a_position_is_what_the_palace_answered_there(
    fleet: Fleet, clock: FrozenDateTimeFactory, seed: int
) -> None:
    """L28"""
    story = Story(fleet, 100 + seed, clock)
    then: list[tuple[int, list[Any], dict[str, Any]]] = []
    as_of = {"as_of": "2026-03-20T12:00:00Z"}
    for _ in range(4):
        story.goes_on(15)
        questions = list(story.questions())
        then.append((story.reader.position(), questions, answers(story, questions, as_of)))
    for position, questions, answered in then:
        again = answers(story, questions, as_of | {"known_at": f"@{position}"})
        assert {key: without_moment(value) for key, value in again.items()} == {
            key: without_moment(value) for key, value in answered.items()
        }


def answers(story: Story, questions: list[Any], moment: dict[str, str]) -> dict[str, bytes]:
    return ask(story.reader, iter(questions), moment)


def without_moment(answer: bytes) -> dict[str, Any]:
    """An answer without how its moment was asked for; a cursor holds that too."""
    shown = orjson.loads(answer)
    for name in ("as_of", "known_at", "cursor"):
        shown.pop(name, None)
    if isinstance(shown.get("facts"), list):
        # Whether a fact is current depends on as_of, which a question may leave to its default.
        shown["facts"] = [{**fact, "current": None} for fact in shown["facts"]]
    return shown
