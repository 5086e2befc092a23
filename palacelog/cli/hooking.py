"""The command that agent hosts run at an event of a session, as the command line reads it.

Protects the host's session: options that it does not know are no error, because a host's
configuration may be older or newer than this command. What comes of it stands in
`palacelog.hosts.running`, which the words that we write ourselves reach without a command line.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from palacelog.cli.invocation import asked

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
    from palacelog.hosts.running import Event, run

    invocation = asked(context)
    run(Event(invocation.palace, event, host, label, invocation.who["session_mode"]))
