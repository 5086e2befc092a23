"""The group of all commands: what stops one of them ends here.

Protects the exit codes: they come from the class of the error and from nothing else. A fault of the
program itself is not caught; its traceback is what a report needs.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from domain.errors import InvalidInput, PalaceError
from palacelog.cli.failing import (
    INTERRUPTED,
    READER_GONE,
    exit_code,
    in_the_callers_words,
    interrupted,
    report,
)
from palacelog.cli.invocation import Invocation
from palacelog.cli.output import at_terminal, silence

BEFORE = ("--palace", "--json", "--as-of", "--known-at", "--at", "--mode", "--agent", "--session")


class PalaceGroup(TyperGroup):
    """Runs a command and turns what stops it into a message and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; usage errors end here."""
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given or not at_terminal(sys.stdout)
        try:
            code = super().main(given, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.TyperException as error:
            # A group that was named without a command has shown its help already.
            if type(error).__name__ != "NoArgsIsHelpError":
                report(_usage(error), as_json=as_json)
            sys.exit(2)
        except typer.Abort:
            code = INTERRUPTED
        if code == INTERRUPTED:
            report(interrupted(), as_json=as_json)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; its own errors end here."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            silence(sys.stdout)
            raise typer.Exit(READER_GONE) from None
        except (PalaceError, sqlite3.Error, OSError) as error:
            invocation = ctx.obj
            assert isinstance(invocation, Invocation)
            told = in_the_callers_words(error, invocation.folder)
            report(told, as_json=invocation.as_json)
            raise typer.Exit(exit_code(told)) from None


def _usage(error: typer.TyperException) -> InvalidInput:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "palacelog"
    named = getattr(error, "option_name", None)
    cure = f"See `{path} --help`."
    if type(error).__name__ == "NoSuchOption":
        cure += " What begins with a dash and is no option goes after `--`."
    if named in BEFORE:
        value = "" if named == "--json" else "VALUE "
        cure = f"Write it before the command: `palacelog {named} {value}{path.partition(' ')[2]}`."
    said = error.format_message().replace(": Value error, ", ": ")
    return InvalidInput("input::usage", said, cure)
