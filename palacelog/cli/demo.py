"""The command that shows what palacelog does.

Protects a newcomer's time: nothing must be set up, and nothing is left behind.
"""

from __future__ import annotations

from typing import Annotated

import typer

from palacelog.cli import output
from palacelog.cli.invocation import asked_now


def demo(
    context: typer.Context,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the palaces there, and say where.")
    ] = False,
) -> None:
    """Tell a story of two devices and two primaries, with real palaces and real output.

    It checks everything it claims: the exit code is 4 if a claim does not hold. The story is text
    in a pipe too; with --json there are only the claims.

    Example:
      palacelog demo
    """
    invocation = asked_now(context)
    from palacelog.demo import tell

    story = tell(output.console(quiet=invocation.json_asked), keep=keep)
    if invocation.json_asked:
        output.emit({"claims": [one._asdict() for one in story.claims]})
    story.must_hold()
