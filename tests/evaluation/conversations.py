"""Conversations in the format of LoCoMo, each in a palace of its own.

Protects the figures: categories 1 to 4 are asked, the share of the turns that are named as evidence
counts, and evidence that names no turn is left out. The file is never copied. Source of the format:
LoCoMo (CC BY-NC 4.0), as released with the paper "Evaluating Very Long-Term Conversational Memory
of LLM Agents".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from palacelog.caller import Caller
from tests.evaluation.scores import Asked

ASKED: Final = range(1, 5)
_TURN: Final = re.compile(r"D\d+:\d+")
_DATE: Final = re.compile(r"on (\d+ \w+), (\d+)")
ITEMS_MAX: Final = 500


@dataclass(frozen=True)
class Conversation:
    """One conversation.

    Attributes:
        turns: turn id to the item of a checkpoint.
        questions: the question, and the turns that answer it.
    """

    name: str
    turns: dict[str, dict[str, Any]]
    questions: list[tuple[str, frozenset[str]]]


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file, in their order."""
    for number, sample in enumerate(orjson.loads(path.read_bytes())):
        told = sample["conversation"]
        turns = dict(_turns(told))
        questions = [
            (one["question"], found)
            for one in sample["qa"]
            if one["category"] in ASKED and (found := _evidence(one) & turns.keys())
        ]
        yield Conversation(sample.get("sample_id", f"conversation-{number}"), turns, questions)


def fill(palace: Caller, conversation: Conversation) -> list[Asked]:
    """Store the turns; the questions with the drawers that answer them."""
    drawers: dict[str, str] = {}
    turns = list(conversation.turns.items())
    for at in range(0, len(turns), ITEMS_MAX):
        some = turns[at : at + ITEMS_MAX]
        stored = palace.call("checkpoint", {"items": [item for _, item in some]})["items"]
        drawers |= {name: one["drawer_id"] for (name, _), one in zip(some, stored, strict=True)}
    return [
        Asked({"query": query}, frozenset(drawers[turn] for turn in relevant))
        for query, relevant in conversation.questions
    ]


def _turns(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for session, turns in told.items():
        if not isinstance(turns, list):
            continue
        match = _DATE.search(told[f"{session}_date_time"])
        assert match is not None
        date = datetime.strptime(f"{match[1]} {match[2]}", "%d %B %Y").date()  # noqa: DTZ007
        for turn in turns:
            caption = turn.get("blip_caption")
            yield (
                turn["dia_id"],
                {
                    "wing": "conversation",
                    "room": session,
                    "content": f"{turn['text']} {caption}" if caption else turn["text"],
                    "added_by": turn["speaker"],
                    "source_file": session,
                    "valid_from": date.isoformat(),
                },
            )


def _evidence(question: dict[str, Any]) -> frozenset[str]:
    return frozenset(turn for said in question["evidence"] for turn in _TURN.findall(said))
