"""How answers are scored, and how conversations are read."""

from __future__ import annotations

from pathlib import Path

import orjson

from tests.evaluation.conversations import conversations
from tests.evaluation.scores import Score, variants

TOLD = {
    "sample_id": "c1",
    "conversation": {
        "speaker_a": "Kim",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Kim", "dia_id": "D1:1", "text": "Hello."},
            {"speaker": "Lee", "dia_id": "D1:2", "text": "Look.", "blip_caption": "a cat"},
        ],
    },
    "qa": [
        {"question": "Who has a cat?", "category": 1, "evidence": ["D1:2; D1:1", "D9:9"]},
        {"question": "Unanswerable", "category": 5, "evidence": ["D1:1"]},
        {"question": "Evidence names no turn", "category": 2, "evidence": ["D:3"]},
    ],
}


def test_a_score_is_the_share_of_right_answers_and_where_the_first_stands() -> None:
    score = Score()
    score.add([*"abcdefghij"], frozenset("bf"))
    score.add([*"xyz"], frozenset("a"))
    assert score.figures() == {"recall@5": 0.25, "recall@10": 0.5, "mrr": 0.25}


def test_no_question_scores_nothing() -> None:
    assert set(Score().figures().values()) == {0.0}


def test_each_step_is_switched_off_once() -> None:
    hybrid = [steps for ranking, steps in variants().values() if ranking == "hybrid"]
    assert sorted(sum(not on for on in steps) for steps in hybrid) == [0] + [1] * len(hybrid[0])


def test_a_conversation_is_read_with_its_captions_dates_and_evidence(tmp_path: Path) -> None:
    path = tmp_path / "told.json"
    path.write_bytes(orjson.dumps([TOLD]))
    [one] = conversations(path)
    assert one.turns["D1:2"] == {
        "wing": "conversation",
        "room": "session_1",
        "content": "Look. a cat",
        "added_by": "Lee",
        "source_file": "session_1",
        "valid_from": "2023-05-08",
    }
    assert one.questions == [("Who has a cat?", frozenset({"D1:1", "D1:2"}))]
