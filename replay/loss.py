"""Accepting a loss: going on from where a log ends, when more of it was seen than is left.

Protects the fleet from two histories under one name: the log gets a new identity that names the old
one, and the device goes on as its next incarnation, so that a number which may be known elsewhere
is never used twice.
"""

from __future__ import annotations

from typing import NamedTuple

from domain.errors import Refused
from projections.generations import Generations
from projections.views import Checkpoint, Views
from replay.crash_points import reach
from replay.incarnation import next_life
from replay.log import Log
from replay.rebuild import Progress, rebuild
from replay.storage_errors import in_words
from replay.write_lock import WriteLock


class AcceptedLoss(NamedTuple):
    """What was given up, and who the palace is from now on.

    Attributes:
        first, last: the lost positions.
    """

    first: int
    last: int
    log_id: str
    device: str


@in_words()
def accept_loss(
    log: Log, generations: Generations, lock: WriteLock, log_id: str, progress: Progress
) -> AcceptedLoss:
    """Go on without what is lost.

    Args:
        log_id: the log's new identity.

    Raises:
        Refused: `palacelog::log::whole`, nothing is lost.
    """
    with lock.held():
        seen = _seen(generations)
        position = log.position()
        if seen.log_id != log.log_id or seen.position <= position:
            raise Refused(
                "log::whole",
                f"The log holds all {position} positions that were seen; nothing is lost.",
                "Go on as you are; `palacelog log verify` looks for damage.",
            )
        with log.writing():
            log.save_about(next_life(log, log_id))
            log.commit()
        reach("accept_loss.recorded")
    rebuild(log, generations, lock, progress)
    return AcceptedLoss(position + 1, seen.position, log_id, log.about.device)


def _seen(generations: Generations) -> Checkpoint:
    views = generations.opened(Views)
    try:
        return views.checkpoint()
    finally:
        views.close()
