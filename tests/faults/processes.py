"""Child processes that work on a palace, tell what was acknowledged, and die when told to.

A child is forked from a server that has imported everything already, so that hundreds of them can
be killed in a test. What it reports comes over a pipe; what it reported before it died is kept.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from replay import crash_points

PATIENCE_SECONDS = 120.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.faults.work"])


class Report:
    """The child's end of the pipe; any thread may report."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def __call__(self, *what: Any) -> None:
        with self._lock:
            self._connection.send(what)

    def acknowledge(self, answer: dict[str, Any]) -> None:
        self("acknowledged", answer["op_id"])

    def die(self, where: str) -> None:
        """Say where, then be killed there."""
        self("died at", where)
        os.kill(os.getpid(), signal.SIGKILL)

    def die_at(self, point: str, passes: int = 1) -> None:
        """Be killed when a crash point is passed for the `passes`-th time."""
        left = [passes]

        def happens() -> None:
            left[0] -= 1
            if not left[0]:
                self.die(point)

        crash_points.armed[point] = happens


class Child:
    """A process that runs `work(report, *arguments)`."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self._connection, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run, args=(work, theirs, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def reports(self) -> Iterator[tuple[Any, ...]]:
        """What it reports, as it comes, until it has ended."""
        while self._connection.poll(PATIENCE_SECONDS):
            try:
                yield self._connection.recv()
            except (EOFError, OSError):
                return
        raise AssertionError(f"nothing was reported for {PATIENCE_SECONDS:g} s")

    def wait_for(self, what: str) -> tuple[Any, ...]:
        """Read until it reports `what`; the rest of that report."""
        for first, *rest in self.reports():
            if first == what:
                return tuple(rest)
        raise AssertionError(f"it ended before it reported {what!r}")

    def signal(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.ended(-signal.SIGKILL)

    def ended(self, code: int) -> None:
        """That it ends by itself, with this exit code."""
        self._process.join(PATIENCE_SECONDS)
        assert self._process.exitcode == code

    def finishes(self) -> list[tuple[Any, ...]]:
        """What it reports until it ends well."""
        reported = list(self.reports())
        self.ended(0)
        return reported

    def dies(self) -> tuple[list[str], str]:
        """The operations that it saw acknowledged, and where it was killed."""
        reported = list(self.reports())
        self.ended(-signal.SIGKILL)
        assert reported, "it died before it reported anything"
        last, where = reported.pop()
        assert last == "died at", reported
        return acknowledged(reported), where

    def close(self) -> None:
        """Kill it if it is still there, and give the pipe back."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join(PATIENCE_SECONDS)
        self._process.close()
        self._connection.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def acknowledged(reported: list[tuple[Any, ...]]) -> list[str]:
    """The op_ids among reports."""
    return [one[1] for one in reported if one[0] == "acknowledged"]


def _run(work: Callable[..., None], connection: Connection, arguments: tuple[Any, ...]) -> None:
    work(Report(connection), *arguments)
