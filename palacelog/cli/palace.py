"""The commands about a palace as a whole: make it, look at it, make its views again.

Protects nothing by itself: the rules are in `bootstrap`, `doctor` and `replay.rebuild`. May not
open a file of the palace.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from palacelog.cli import output
from palacelog.cli.failing import exit_code
from palacelog.cli.invocation import asked_now
from palacelog.cli.progress import bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from palacelog.checking import Check


def init(
    context: typer.Context,
    device: Annotated[
        str | None,
        typer.Option(help="The device's name; default: the host's name and four characters."),
    ] = None,
    role: Annotated[
        Literal["primary", "edge"] | None,
        typer.Option(help="primary (default), or edge: what is missing here may exist elsewhere."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also on a network or cloud-synced file system.")
    ] = False,
) -> None:
    """Make a new palace.

    It is one folder, private to you: a log, its views and a small palace.toml.

    Example:
      palacelog --palace ~/memory init --device laptop
    """
    invocation = asked_now(context)
    from palacelog.bootstrap import create_palace
    from palacelog.settings import SETTINGS_FILE
    from replay.log import Log

    folder = create_palace(invocation.folder, device, force=force)
    if role is not None:
        settings = folder.path / SETTINGS_FILE
        settings.write_text(f'role = "{role}"\n')
        settings.chmod(0o600)
    with closing(Log(folder.log)) as log:
        about = {"palace": str(folder.path), "device": log.about.device, "log_id": log.log_id}
    output.show(invocation.as_json, about)


def status(context: typer.Context) -> None:
    """Show how the palace is: totals, states and versions, never content.

    Example:
      palacelog status
    """
    invocation = asked_now(context)
    document = invocation.call("status", {})
    output.show(invocation.as_json, document, lambda: _status_view(invocation.folder, document))


def doctor(context: typer.Context) -> None:
    """Look for what could harm the palace: settings, folder, file system, locks, views, space.

    Changes nothing. The exit code is 0 unless a check fails; then it is that of the failure.

    Example:
      palacelog doctor
    """
    invocation = asked_now(context)
    from palacelog.doctor import examine

    checks = examine(invocation.folder, invocation.who)
    document = {"checks": [check.as_answer() for check in checks]}
    output.show(invocation.as_json, document, lambda: _checks_view(checks))
    failures = [check.failure for check in checks if check.failure is not None]
    if failures:
        raise typer.Exit(exit_code(failures[0]))


def digest(context: typer.Context) -> None:
    """Print the digests of the views, as JSON.

    Two palaces with the same shared events have the same `state`; views and their rebuild have the
    same `full`.

    Example:
      palacelog digest
    """
    invocation = asked_now(context)
    from projections.digests import digests

    with invocation.house() as house, house.palace.reading() as reading:
        output.emit(digests(reading.cursor))


def rebuild(context: typer.Context) -> None:
    """Make every view again from the log; the old ones answer meanwhile.

    Example:
      palacelog rebuild
    """
    invocation = asked_now(context)
    from replay import rebuild as rebuilding

    with invocation.parts() as parts, bar("Folding the log") as report:
        position = rebuilding.rebuild(parts.log, parts.generations, parts.lock, report)
        document = {"log_id": parts.log.log_id, "position": position}
    output.show(invocation.as_json, document)


def _status_view(folder: Path, document: dict[str, Any]) -> RenderableType:
    from palacelog.cli.overview import status_panel

    return status_panel(folder, document)


def _checks_view(checks: Sequence[Check]) -> RenderableType:
    from palacelog.cli.overview import check_list

    return check_list(checks)
