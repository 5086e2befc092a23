"""The commands about the log itself: who did what, and whether it is whole.

Protects a damaged palace's last resort: `verify` works on the files, where nothing else opens any
more. May not repair anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import Damaged, Unusable
from domain.gate import READ
from palacelog.cli import output
from palacelog.cli.failing import report
from palacelog.cli.invocation import Invocation, asked, asked_now
from palacelog.cli.progress import bar, busy

if TYPE_CHECKING:
    from palacelog.folder import PalaceFolder
    from replay.verify import Finding

app = typer.Typer(help="Look at the log: who did what, and whether it is whole.",
                  no_args_is_help=True)  # fmt: skip
_Text = Annotated[str | None, typer.Option()]


@app.command("list")
def list_(
    context: typer.Context,
    device: Annotated[str | None, typer.Option(help="Of this device.")] = None,
    tool: Annotated[str | None, typer.Option(help="Of this operation.")] = None,
    agent: Annotated[str | None, typer.Option(help="Of this agent.")] = None,
    session: Annotated[str | None, typer.Option(help="Of this session.")] = None,
    wing: Annotated[str | None, typer.Option(help="About this wing.")] = None,
    drawer: Annotated[str | None, typer.Option(help="About this drawer.")] = None,
    entity: Annotated[str | None, typer.Option(help="About this entity.")] = None,
    since: Annotated[str | None, typer.Option(help="Recorded then or later.")] = None,
    before: Annotated[str | None, typer.Option(help="Recorded before then.")] = None,
    outcome: Annotated[str | None, typer.Option(help="accepted, refused or all.")] = None,
    reads: Annotated[bool, typer.Option("--reads", help="Reads as well.")] = False,
    limit: Annotated[int, typer.Option(help="At most so many, up to 200.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on where a page ended.")] = None,
) -> None:
    """List operations, newest first: who did what, when, on which device.

    Examples:
      palacelog log list --device laptop --since yesterday
      palacelog log list --outcome refused --reads
      palacelog --known-at @10 log list
    """
    chosen = {
        "device": device, "tool": tool, "agent": agent, "session": session, "wing": wing,
        "drawer_id": drawer, "entity": entity, "since": since, "before": before,
        "outcome": outcome, "include_reads": reads or None, "limit": limit, "cursor": cursor,
    }  # fmt: skip
    invocation = asked(context)
    given = {name: value for name, value in chosen.items() if value is not None}
    output.show(invocation.as_json, invocation.call("list_operations", given))


@app.command()
def show(
    context: typer.Context,
    operation: Annotated[
        str, typer.Argument(help="Its position in this log, or its op_id.", metavar="WHICH")
    ],
) -> None:
    """Show one operation: who did it, its payload, what proves it and what it changed.

    Example:
      palacelog log show 12
    """
    show_operation(asked(context), operation)


def show_operation(invocation: Invocation, operation: str) -> None:
    """Put out one operation, named by position or op_id."""
    # An op_id has 64 hex digits; they may by chance all be decimal.
    by_position = operation.isdecimal() and len(operation) < 64
    which = {"position": int(operation)} if by_position else {"op_id": operation}
    answer = invocation.call("show_operation", which)
    shown = answer["operation"]
    output.show(invocation.as_json, answer, lambda: _operation_view(shown))


@app.command()
def verify(context: typer.Context) -> None:
    """Read every event again, and compare it with all that ties it to the others.

    Works on the files, so also where the palace cannot be opened. Damage gives exit code 4.

    Example:
      palacelog log verify
    """
    invocation = asked_now(context)
    from replay import verify as verifying

    folder = _verifiable(invocation.folder)
    with bar("Verifying") as progress:
        found = verifying.verify(folder.log, folder.views, progress)
    document = {
        "events": found.events,
        "sound": not found.findings,
        "first_bad": found.first_bad,
        "findings": [one._asdict() for one in found.findings],
    }
    output.show(invocation.as_json, document)
    if found.findings:
        damage = _damage(found.findings[0], len(found.findings))
        report(damage, as_json=invocation.as_json)
        raise typer.Exit(4)


@app.command()
def export(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="Written whole or not at all; - for standard output.")
    ],
) -> None:
    """Write the whole log to a file, every stream, as lines of JSON.

    Example:
      palacelog log export palace.ndjson
    """
    invocation = asked_now(context)
    invocation.gate("log export", READ)
    from replay.outbox import export_log

    with (
        invocation.parts() as parts,
        output.written_to(file, parts.folder.path) as path,
        busy("Exporting"),
    ):
        with invocation.noting(parts.trail, "log export", file=file) as seen:
            events = export_log(parts.log, path)
            about = {"log_id": parts.log.log_id, "events": events}
            seen.update(about, position=events, total=events)
        document = {"file": str(file)} | about
    output.show_export(invocation.as_json, document, file)


def _verifiable(path: Path) -> PalaceFolder:
    """The palace's folder, also where its `palace.toml` cannot be read any more."""
    from palacelog import folder as folders

    folder = folders.PalaceFolder(path)
    try:
        folders.existing(path)
    except Unusable as error:
        if not folder.log.is_file() or error.code.endswith("newer_schema"):
            raise
    if not folder.log.is_file():
        raise Damaged(
            "log::missing",
            f"{folder.log.name} is not there.",
            "Restore a backup with `palacelog restore --replace`.",
        )
    return folder


def _damage(first: Finding, count: int) -> Damaged:
    where = "" if first.position is None else f"At position {first.position}: "
    more = "" if count == 1 else f" ({count} findings in all)"
    views = first.code.startswith("views::")
    cure = "palacelog rebuild" if views else "palacelog restore BACKUP --replace"
    return Damaged(first.code, f"{where}{first.message}{more}.", f"Run `{cure}`.", first.position)


def _operation_view(operation: dict[str, Any]) -> Any:
    from palacelog.cli.tables import answer

    payload, effects = operation["payload"], operation["effects"]
    header = {
        name: value
        for name, value in operation.items()
        if name not in ("payload", "effects") and value is not None
    }
    return answer(header | {"payload": payload, "effects": effects})
