"""How good a ranking is: the share of right answers among the first k, and where the first stands.

Protects comparisons: every ranking is asked the same questions of the same palaces at the same
moments, and a question counts once however many answers it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from domain.errors import Unusable
from palacelog.palace import Palace
from projections.meaning import Steps

DEPTH: Final = 50
CUTS: Final = (5, 10)
RANKINGS: Final = ("lexical", "semantic", "hybrid")


@dataclass(frozen=True)
class Asked:
    """A question as it is scored.

    Attributes:
        arguments: of `search`.
        relevant: the drawers that answer it.
        kind: what makes it hard.
    """

    arguments: Mapping[str, Any]
    relevant: frozenset[str]
    kind: str = ""


@dataclass
class Score:
    """The sums over some questions."""

    questions: int = 0
    reciprocal: float = 0.0
    recalled: dict[int, float] = field(default_factory=lambda: dict.fromkeys(CUTS, 0.0))

    def add(self, found: Sequence[str], relevant: frozenset[str]) -> None:
        """Count one question's answer, best first."""
        self.questions += 1
        for cut in CUTS:
            self.recalled[cut] += len(relevant & set(found[:cut])) / len(relevant)
        first = next((place for place, one in enumerate(found, 1) if one in relevant), None)
        self.reciprocal += 0.0 if first is None else 1 / first

    def figures(self) -> dict[str, float]:
        """`recall@5`, `recall@10` and `mrr`."""
        count = max(1, self.questions)
        recalls = {f"recall@{cut}": round(self.recalled[cut] / count, 4) for cut in CUTS}
        return recalls | {"mrr": round(self.reciprocal / count, 4)}


def variants() -> dict[str, tuple[str, Steps]]:
    """What is scored: a line's name to the ranking, and the steps that a hybrid one takes."""
    plain = {name: (name, Steps()) for name in RANKINGS}
    return plain | {
        f"hybrid without {step}": ("hybrid", Steps()._replace(**{step: False}))
        for step in Steps._fields
    }


def score(
    palace: Palace, questions: Iterable[Asked], into: Mapping[str, Mapping[str, Score]]
) -> None:
    """Ask a palace everything in every variant; a question counts into its kind, where that is
    counted, and into `""`.
    """
    assert palace.embedding is not None
    for question in questions:
        for name, (ranking, steps) in variants().items():
            palace.embedding.steps = steps
            found = _found(palace, {**question.arguments, "ranking": ranking, "limit": DEPTH})
            for kind in dict.fromkeys(("", question.kind)):
                if kind in into[name]:
                    into[name][kind].add(found, question.relevant)


def _found(palace: Palace, asked: Mapping[str, Any]) -> list[str]:
    """The drawers found, best first; none where a question cannot be asked by meaning."""
    try:
        return [hit["drawer_id"] for hit in palace.call("search", asked)["hits"]]
    except Unusable:
        return []
