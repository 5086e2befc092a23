"""The commands for bad days: back up, restore, go on without what is lost.

Protects against a second accident: nothing is deleted, and a loss is named before a person accepts
it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from domain.errors import InvalidInput, PalaceError, Refused, Unusable
from domain.gate import READ, WRITE
from palacelog.cli import output
from palacelog.cli.invocation import Parts, asked_now
from palacelog.cli.progress import bar, busy


def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
) -> None:
    """Copy the log to a new folder while the palace is in use.

    Example:
      palacelog backup ~/backups/monday
    """
    invocation = asked_now(context)
    invocation.gate("backup", READ)
    from replay import backup as backing_up

    with (
        invocation.parts() as parts,
        busy("Copying the log"),
        invocation.noting(parts.trail, "backup", folder=folder) as seen,
    ):
        done = backing_up.backup(parts.log, folder)
        seen.update(log_id=done.log_id, position=done.position, total=done.position)
    document = {"backup": str(done.path), "log_id": done.log_id, "position": done.position}
    output.show(invocation.as_json, document)


def restore(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A folder that `palacelog backup` made.")],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="The palace exists: set its log aside, delete nothing."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also on a network or cloud-synced file system.")
    ] = False,
) -> None:
    """Make a palace from a backup. Its log gets an identity of its own and names its parent.

    The device goes on as its next incarnation, so that no number is used twice. What it wrote after
    the backup and sent to a primary comes back when the primary's export of it is replayed here.

    Example:
      palacelog --palace ~/restored restore ~/backups/monday
    """
    invocation = asked_now(context)
    invocation.gate("restore", WRITE)
    from palacelog.bootstrap import restore_palace

    with bar("Making the views") as progress:
        done = restore_palace(
            source, invocation.folder, replace=replace, progress=progress, force=force
        )
    document = {
        "palace": str(done.path),
        "device": done.device,
        "parent": done.parent,
        "position": done.position,
        "set_aside": None if done.aside is None else str(done.aside),
    }
    output.show(invocation.as_json, document)


def accept_loss(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Go on without the end of a log that was lost, after naming what is given up.

    The log gets a new identity and the device a new incarnation, so that no number is used twice.

    Example:
      palacelog accept-loss
    """
    invocation = asked_now(context)
    invocation.gate("accept-loss", WRITE)
    from palacelog.system import System
    from replay import loss

    with invocation.parts() as parts:
        lost = _what_is_lost(parts)
        if lost is not None and not yes:
            _ask(lost)
        with bar("Making the views") as progress:
            new_id = System().log_id()
            done = loss.accept_loss(parts.log, parts.generations, parts.lock, new_id, progress)
    document = {
        "lost": {"first": done.first, "last": done.last},
        "log_id": done.log_id,
        "device": done.device,
    }
    output.show(invocation.as_json, document)


def _what_is_lost(parts: Parts) -> PalaceError | None:
    """The error that names the lost range; None where nothing is lost."""
    from projections.views import Views
    from replay.witness import check

    views = parts.generations.opened(Views)
    try:
        check(views.checkpoint(), parts.log)
    except Unusable as error:
        return error if error.code.endswith("::truncated") else None
    finally:
        views.close()
    return None


def _ask(lost: PalaceError) -> None:
    """Let a person confirm the loss.

    Raises:
        InvalidInput: nobody is there to ask.
        Refused: the answer was no.
    """
    if not (output.at_terminal(sys.stdin) and output.at_terminal(sys.stdout)):
        raise InvalidInput(
            "cli::unconfirmed",
            f"{lost.message} Nobody is here to accept that.",
            "Run it at a terminal, or say `palacelog accept-loss --yes`.",
        )
    output.console(to_stderr=True).print(lost.message)
    if not typer.confirm("Go on without it?", err=True):
        raise Refused("cli::declined", "Nothing was changed.", "Restore a backup instead.")
