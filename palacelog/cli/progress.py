"""Progress of what may take longer than a second: on standard error, and only for a person.

Protects pipes and logs from bars. May not slow down the work: a bar is drawn at most ten times a
second, whatever is reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from palacelog.cli.output import at_terminal, console, visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Report(Protocol):
    """How work tells how far it is."""

    def __call__(self, done: int, total: int | None = None, /) -> None:
        """So much is done, of so much where that is known."""
        ...


@contextmanager
def bar(title: str) -> Iterator[Report]:
    """A bar that appears with the first report and leaves nothing behind."""
    if not at_terminal(sys.stderr):
        yield _nowhere
        return
    shown = _Bar(title)
    try:
        yield shown
    finally:
        shown.stop()


@contextmanager
def busy(title: str) -> Iterator[None]:
    """A sign of life, for work that cannot say how far it is."""
    if not at_terminal(sys.stderr):
        yield
        return
    with console(to_stderr=True).status(title):
        yield


def _nowhere(done: int, total: int | None = None, /) -> None:
    return None


class _Bar:
    def __init__(self, title: str) -> None:
        self._title = visible(title)
        self._shown: tuple[Progress, TaskID] | None = None

    def __call__(self, done: int, total: int | None = None, /) -> None:
        progress, task = self._started()
        progress.update(task, completed=done, total=total)

    def stop(self) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def _started(self) -> tuple[Progress, TaskID]:
        if self._shown is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            said = TextColumn("{task.description}", markup=False)
            screen = console(to_stderr=True)
            progress = Progress(
                said, BarColumn(), MofNCompleteColumn(), console=screen, transient=True
            )
            progress.start()
            self._shown = progress, progress.add_task(self._title, total=None)
        return self._shown
