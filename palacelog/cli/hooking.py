"""The command that agent hosts run at an event of a session.

Protects the host's session: whatever happens here, it ends in time with exit code 0, and what is
wrong goes to standard error alone. Options that it does not know are no error, because a host's
configuration may be older or newer than this command.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Final, NoReturn

import typer

from palacelog.cli.invocation import asked

DEADLINE_VARIABLE: Final = "PALACELOG_HOOK_SECONDS"
DEADLINE_SECONDS: Final = 5.0
LENIENT: Final = {"ignore_unknown_options": True, "allow_extra_args": True}


def hook(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="What happens: session-start or pre-compact.")],
    host: Annotated[str, typer.Option(help="Which host runs this.")],
    label: Annotated[
        str, typer.Option(help="full, read-only or off; anything else is off.")
    ] = "off",
) -> None:
    """Tell an agent host what it puts into a session; `palacelog integrate` has hosts run it.

    Example:
      palacelog hook session-start --host claude-code --label full < event.json
    """
    _end_in_time()
    from palacelog.cli.failing import report
    from palacelog.cli.output import encoded
    from palacelog.hosts.hook import answer, received
    from palacelog.hosts.labels import MODE_VARIABLE, effective

    try:
        invocation = asked(context)
        folder, given = invocation.folder, received(0)
        if (mode := invocation.who["session_mode"]) is not None:
            label = effective(label, {MODE_VARIABLE: mode})
        said = answer(event, host, label, folder, given, os.environ)
        if said:
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - a host's session goes on whatever is wrong here
        from domain.errors import PalaceError

        if isinstance(error, PalaceError):
            report(error, as_json=True)
        else:
            sys.stderr.write(encoded({"error": type(error).__name__}, indented=False).decode())
    signal.setitimer(signal.ITIMER_REAL, 0)


def _end_in_time() -> None:
    """End this process at the deadline, with nothing said."""

    def too_late(*_: object) -> NoReturn:
        os.write(2, b'{"error":"The palace did not answer in time; nothing was told."}\n')
        os._exit(0)

    try:
        seconds = float(os.environ.get(DEADLINE_VARIABLE, ""))
    except ValueError:
        seconds = DEADLINE_SECONDS
    signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, seconds if seconds > 0 else DEADLINE_SECONDS)
