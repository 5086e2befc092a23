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
    from rich.progress import Progress, ProgressColumn, Task, TaskID


class Report(Protocol):
    """How work tells how far it is."""

    def __call__(self, done: int, total: int | None = None, /) -> None:
        """So much is done, of so much where that is known."""
        ...


@contextmanager
def bar(title: str, unit: str | None = None) -> Iterator[Report]:
    """A bar that appears with the first report and leaves nothing behind.

    Args:
        unit: what is counted; then how many a second, and the time that is left, are shown too.
    """
    if not at_terminal(sys.stderr):
        yield _nowhere
        return
    shown = _Bar(title, unit)
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
    def __init__(self, title: str, unit: str | None) -> None:
        self._title, self._unit = visible(title), unit
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

            columns = [
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                *self._of_time(),
            ]
            progress = Progress(*columns, console=console(to_stderr=True), transient=True)
            progress.start()
            self._shown = progress, progress.add_task(self._title, total=None)
        return self._shown

    def _of_time(self) -> list[ProgressColumn]:
        """How many a second, and the time that is left."""
        if self._unit is None:
            return []
        from rich.progress import ProgressColumn, TimeRemainingColumn
        from rich.text import Text

        unit = self._unit

        class Rate(ProgressColumn):
            """How many a second."""

            def render(self, task: Task) -> Text:
                """The rate so far; nothing before it is known."""
                return Text("" if task.speed is None else f"{task.speed:,.0f} {unit}/s")

        return [Rate(), TimeRemainingColumn()]
