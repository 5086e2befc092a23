"""The witness: what the views' checkpoint proves about the log.

Protects against a lost tail, which SQLite drops without a word when a bit of its WAL is wrong: the
views lie in another file and remember how far the log had come. Nothing is rebuilt over such a loss
until a person says so.
"""

from __future__ import annotations

from domain.errors import Damaged, Unusable
from domain.operation import EMPTY_LOG, Head
from projections.views import Checkpoint
from replay.log import Log


def check(checkpoint: Checkpoint, log: Log) -> None:
    """Compare a checkpoint with the log that it was folded from.

    Raises:
        Unusable: `palacelog::views::other_log` (rebuild); `palacelog::log::replaced`; or
            `palacelog::log::truncated`, naming what is lost.
        Damaged: `palacelog::log::witness`, the log holds another event at the checkpoint's
            position.
    """
    if checkpoint.log_id != log.log_id:
        check_identity(log)
        raise Unusable(
            "views::other_log",
            "The views were made from another log.",
            "Run `palacelog rebuild`; views are made from the log.",
        )
    position = log.position()
    if checkpoint.position > position:
        raise Unusable(
            "log::truncated",
            f"The log ends at {position}, but {checkpoint.position} was seen: "
            f"{_range(position + 1, checkpoint.position)} of it is lost.",
            "Restore a backup with `palacelog restore`, or go on without what is lost with "
            "`palacelog accept-loss`. Until then nothing is written.",
            position + 1,
        )
    if checkpoint.position and _head_at(log, checkpoint.position).link != checkpoint.link:
        raise Damaged(
            "log::witness",
            f"The log's event at {checkpoint.position} is not the one that the views saw.",
            "Run `palacelog log verify`, then restore a backup with `palacelog restore`.",
            checkpoint.position,
        )


def check_identity(log: Log) -> None:
    """That a log is still who it was when it was opened.

    Raises:
        Unusable: `palacelog::log::replaced`, another process has accepted a loss.
    """
    if log.read_about() != log.about:
        raise Unusable(
            "log::replaced",
            "The palace's log took another identity while it was open.",
            "Close the palace and open it again.",
        )


def _head_at(log: Log, position: int) -> Head:
    if position == log.written_head.position:
        return log.written_head
    for operation in log.after(position - 1, 1):
        return Head(operation.position, operation.link, operation.logged_at)
    return EMPTY_LOG


def _range(first: int, last: int) -> str:
    return f"position {first}" if first == last else f"positions {first} to {last}"
