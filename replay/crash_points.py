"""Named moments at which a process may die. No-ops, unless a test armed one.

Protects promises 1, 3 and 4: the suite enumerates `POINTS`, kills a process at each and compares
what is left. A new moment goes into the list, and a test fails until it is exercised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

POINTS: Final = (
    "writer.locked",
    "log.appended",
    "views.folded",
    "log.committed",
    "views.committed",
    "writer.before_answer",
    "checkpoint.log_moved",
    "rebuild.folded",
    "rebuild.switched",
    "backup.copied",
    "restore.copied",
    "restore.set_aside",
    "accept_loss.recorded",
    "fork.recorded",
    "outbox.written",
    "reindex.set_aside",
    "texts.embedded",
    "reindex.caught_up",
    "reindex.switched",
    "prune.removed",
    "job.started",
    "job.worked",
    "job.noted",
    "job.ended",
)

armed: dict[str, Callable[[], None]] = {}


def reach(point: str) -> None:
    """Pass a named moment; whatever a test armed there happens."""
    if armed:
        happens = armed.get(point)
        if happens is not None:
            happens()
