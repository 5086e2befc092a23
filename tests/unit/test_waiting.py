"""Waiting for vectors: only as long as the work shows that it can be done in time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from projections.vectors.indexes import VectorIndexes
from projections.vectors.vector_index import Missing

READING: Any = SimpleNamespace(
    cursor=None, position=9, checkpoint=SimpleNamespace(log_id="log_1", position=9)
)
SECONDS = 0.05


class Index:
    """An index that lacks less each time it is asked."""

    def __init__(self, missing: Callable[[int], int]) -> None:
        self.asked = 0
        self._missing = missing

    def missing(self, *_: object) -> Missing:
        self.asked += 1
        return Missing([b"%d" % number for number in range(self._missing(self.asked))], [])


def waited(
    tmp_path: Path, missing: Callable[[int], int], pace_seconds: float | None = None
) -> tuple[int, int]:
    """How often it was asked, and what was lacking in the end.

    Args:
        pace_seconds: how long a text took before; None where none was embedded yet.
    """
    index: Any = Index(missing)
    indexes = VectorIndexes(tmp_path, "minilm")
    if pace_seconds is not None:
        indexes.told(10, 10 * pace_seconds)
    left = indexes.wait(index, READING, SECONDS)
    return index.asked, len(left.digests)


def test_nobody_waits_to_the_end_for_work_that_cannot_be_done_by_then(tmp_path: Path) -> None:
    asked, left = waited(tmp_path, lambda asked: 10_000 - asked)
    assert asked < 6
    assert left > 9_000


def test_work_that_can_be_done_by_then_is_waited_for(tmp_path: Path) -> None:
    assert waited(tmp_path, lambda asked: max(0, 20 - asked))[1] == 0


def test_work_that_has_not_begun_is_waited_for_to_the_end(tmp_path: Path) -> None:
    asked, left = waited(tmp_path, lambda asked: 5)
    assert (asked > 20, left) == (True, 5)


def test_nobody_begins_to_wait_for_more_than_can_be_done_at_the_pace_of_before(
    tmp_path: Path,
) -> None:
    assert waited(tmp_path, lambda asked: max(0, 21 - asked), SECONDS / 10) == (1, 20)


def test_what_can_be_done_at_the_pace_of_before_is_waited_for(tmp_path: Path) -> None:
    assert waited(tmp_path, lambda asked: max(0, 6 - asked), SECONDS / 10)[1] == 0
