"""Score search: `python -m tests.evaluation [--data FILE] [--embedder NAME]`.

The last line is one JSON object: recall@5, recall@10 and mrr of the hybrid, the lexical and the
semantic ranking; of the file that was given, else of the set in fixtures/.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from rich.console import Console
from rich.table import Table

from palacelog.bootstrap import create_palace, open_palace
from tests.evaluation import conversations
from tests.evaluation.dataset import Question, filled_palace, questions
from tests.evaluation.scores import RANKINGS, Asked, Score, score, variants

OPTIONAL: Final = Path(__file__).parents[3] / "shared/data/locomo/locomo_dev5.json"
WAIT_SECONDS: Final = 600.0
COLUMNS: Final = ("recall@5", "recall@10", "mrr")

Scores = dict[str, dict[str, Score]]


def score_conversations(path: Path, embedder: str) -> Scores:
    """Every variant over every conversation of a file."""
    found: Scores = {name: {"": Score()} for name in variants()}
    with tempfile.TemporaryDirectory() as folder:
        for number, conversation in enumerate(conversations.conversations(path)):
            at = Path(folder) / str(number)
            create_palace(at, "evaluation")
            with open_palace(at, vectors=_vectors(embedder)) as house:
                score(house.palace, conversations.fill(house.palace, conversation), found)
    return found


def score_own(embedder: str) -> Scores:
    """Every variant over the set in fixtures/; also by what makes a question hard."""
    kinds = dict.fromkeys(["", *(one.kind for one in questions())])
    found: Scores = {name: {kind: Score() for kind in kinds} for name in variants()}
    with (
        tempfile.TemporaryDirectory() as folder,
        filled_palace(Path(folder) / "own", vectors=_vectors(embedder)) as filled,
    ):
        score(filled.house.palace, [_asked(one, filled.drawers) for one in questions()], found)
    return found


def _asked(question: Question, drawers: Mapping[str, str]) -> Asked:
    relevant = frozenset(drawers[key] for key in question.relevant)
    return Asked(question.asked(), relevant, question.kind)


def _vectors(embedder: str) -> dict[str, Any]:
    return {"embedder": embedder, "wait_seconds": WAIT_SECONDS}


def show(console: Console, title: str, found: Scores) -> None:
    """A table, and for each kind of question a line of the three rankings."""
    table = Table(title=f"{title}: {found['hybrid'][''].questions} questions", title_justify="left")
    for column in ("ranking", *COLUMNS):
        table.add_column(column)
    for name, by_kind in found.items():
        figures = by_kind[""].figures()
        table.add_row(name, *(f"{figures[column]:.3f}" for column in COLUMNS))
    console.print(table)
    _show_kinds(console, {name: found[name] for name in RANKINGS})


def _show_kinds(console: Console, found: Scores) -> None:
    kinds = [kind for kind in found["hybrid"] if kind]
    if not kinds:
        return
    table = Table("kind of question", "questions", *(f"{name} recall@5, mrr" for name in found))
    for kind in kinds:
        lines = [by_kind[kind].figures() for by_kind in found.values()]
        shown = [f"{line['recall@5']:.3f}  {line['mrr']:.3f}" for line in lines]
        table.add_row(kind, str(found["hybrid"][kind].questions), *shown)
    console.print(table)


def main(given: Sequence[str] | None = None) -> None:
    """Score and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="conversations in LoCoMo's format")
    parser.add_argument("--embedder", default="minilm")
    asked = parser.parse_args(given)
    console = Console()
    if asked.data is None:
        found = score_own(asked.embedder)
        show(console, "The set in fixtures/", found)
    data = asked.data or (OPTIONAL if OPTIONAL.is_file() else None)
    if data is not None:
        found = score_conversations(data, asked.embedder)
        show(console, data.name, found)
    figures = {name: found[name][""].figures() for name in ("hybrid", "lexical", "semantic")}
    console.file.write(orjson.dumps(figures).decode() + "\n")


if __name__ == "__main__":
    main()
