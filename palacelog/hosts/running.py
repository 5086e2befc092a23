"""The command that agent hosts run at an event of a session, from its words to its end.

Protects the host's session: whatever happens here, it ends in time with exit code 0, and what is
wrong goes to standard error alone. Protects the host's start: where another process has the palace
open, or memory is off, nothing is loaded but the standard library; a test holds it to that.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

DEADLINE_VARIABLE: Final = "PALACELOG_HOOK_SECONDS"
DEADLINE_SECONDS: Final = 5.0
DEADLINE_SECONDS_MAX: Final = 3600.0


class Event(NamedTuple):
    """What happens in a session.

    Attributes:
        folder: the palace's; None for where it is when nobody says.
        name: `session-start` or `pre-compact`.
        host: which host says so.
        label: how much memory it may use.
        mode: the session mode that it was started with, where it was.
    """

    folder: Path | None
    name: str
    host: str
    label: str
    mode: str | None = None


def as_written(words: Sequence[str]) -> Event | None:
    """The event of a command line as `palacelog integrate` writes it; None for any other, which is
    for the whole command line to read.
    """
    match list(words):
        case ["--palace", folder, "hook", name, "--host", host, "--label", label]:
            return Event(Path(folder), name, host, label)
    return None


def run(event: Event) -> None:
    """Tell the host what it puts into the session."""
    _end_in_time()
    try:
        said = _said(event)
        if said:
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a host's session goes on whatever is wrong here
        _complain(error)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _said(event: Event) -> str:
    from palacelog.hosts.hook import answer, received
    from palacelog.hosts.labels import MODE_VARIABLE, effective
    from palacelog.places import default_folder

    label = event.label
    if event.mode is not None:
        label = effective(label, {MODE_VARIABLE: event.mode})
    folder = (event.folder or default_folder()).expanduser().resolve()
    return answer(event.name, event.host, label, folder, received(0), os.environ)


def _complain(error: Exception) -> None:
    from domain.errors import PalaceError
    from palacelog.cli.failing import report
    from palacelog.cli.output import encoded

    if isinstance(error, PalaceError):
        report(error, as_json=True)
    else:
        sys.stderr.write(encoded({"error": type(error).__name__}, indented=False).decode())


def _end_in_time() -> None:
    """End this process at the deadline, with nothing said."""

    def too_late(*_: object) -> NoReturn:
        os.write(2, b'{"error":"The palace did not answer in time; nothing was told."}\n')
        os._exit(0)

    try:
        seconds = min(float(os.environ.get(DEADLINE_VARIABLE, "")), DEADLINE_SECONDS_MAX)
    except ValueError:
        seconds = DEADLINE_SECONDS
    signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, seconds if seconds > 0 else DEADLINE_SECONDS)
