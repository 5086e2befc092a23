"""The commands that hide drawers and take operations out again.

Protects memory from a slip: what goes by file, wing, room, session or device is shown first and
asked about at a terminal, and in a pipe it is only shown unless --yes is given.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer

from domain.errors import InvalidInput, Refused
from palacelog.cli import output
from palacelog.cli.from_models import Form, Given, Run, add
from palacelog.cli.invocation import asked, asked_now
from palacelog.cli.memory import done, show

Yes = Annotated[
    bool, typer.Option("--yes", help="Do it without asking. In a pipe, nothing is done without it.")
]
_OP_ID_DIGITS: Final = 64


def _delete(context: typer.Context, given: Given, yes: Yes = False) -> None:
    """Hide drawers on every device: some by their ids, or all of a file, a wing or a room.

    What is hidden stays in the log, and `palacelog undo` brings it back. A file, a wing or a room
    is shown first, and asked about.

    Examples:
      palacelog delete drawer_home_notes_1ce4832ba1e386525d79a021
      palacelog delete --source old.md
      palacelog delete --wing atlas --room drafts --yes
    """
    asked_now(context)
    ids = given.pop("drawer_ids", [])
    if ids and given.keys() & {"source_file", "wing", "room"}:
        raise InvalidInput(
            "input::usage", "Drawers are named beside a file or a place.", "Name one or the other."
        )
    if len(ids) == 1:
        done(context, "delete_drawer", given | {"drawer_id": ids[0]}, "written")
    elif ids:
        done(context, "delete_drawers", given | {"drawer_ids": ids}, "written")
    elif "source_file" in given:
        _tried_first(context, "delete_by_source", given, yes, "hidden")
    elif "room" in given:
        _tried_first(context, "delete_room", given, yes, "hidden")
    elif "wing" in given:
        _tried_first(context, "delete_wing", given, yes, "hidden")
    else:
        raise InvalidInput(
            "input::usage",
            "Nothing to delete is named.",
            "Name drawers by their ids, or give --source, or --wing with or without --room.",
        )


def _undo(context: typer.Context, given: Given, yes: Yes = False) -> None:
    """Take operations out again: one, or those of a session or device.

    OP_ID may be a position too. What would be undone is shown first, and asked about; what others
    built on stays, and is named.

    Examples:
      palacelog undo 12
      palacelog undo --session afternoon
      palacelog undo --device laptop --from 2026-03-01 --until 2026-03-02 --yes
    """
    invocation = asked_now(context)
    named = str(given.get("op_id", "")).removeprefix("@")
    if named.isdecimal() and len(named) < _OP_ID_DIGITS:
        found = invocation.call("show_operation", {"position": int(named)})
        given["op_id"] = found["operation"]["op_id"]
    _tried_first(context, "undo", given, yes, "undone")


def _tried_first(context: typer.Context, tool: str, given: Given, yes: bool, what: str) -> None:
    """Do an operation that can be tried, once it was shown what it would do."""
    invocation = asked(context)
    if not yes:
        tried = invocation.call(tool, given | {"dry_run": True})
        show(context, tried, "would_undo" if what == "undone" else "would_hide")
        if not tried[what] or not _somebody_answers(invocation.as_json):
            return
        _ask(tried, what)
    done(context, tool, given | {"dry_run": False}, "written")


def _somebody_answers(as_json: bool) -> bool:
    return not as_json and output.at_terminal(sys.stdin)


def _ask(tried: dict[str, Any], what: str) -> None:
    thing, verb = ("drawer", "Hide") if what == "hidden" else ("operation", "Undo")
    if not typer.confirm(f"{verb} {output.counted(len(tried[what]), thing)}?"):
        raise Refused(
            "cli::declined", "Nothing was changed.", "Run the command again to be asked again."
        )


FORMS: Final[dict[str, tuple[Run, Form]]] = {
    "delete": (
        _delete,
        Form(
            ("delete_drawers", "delete_by_source", "delete_room"),
            ("drawer_ids",),
            also={"source_file": ("--source",)},
        ),
    ),
    "undo": (_undo, Form(("undo",), ("op_id",))),
}


def add_to(app: typer.Typer, panel: str) -> None:
    """Add these commands."""
    for name, (run, form) in FORMS.items():
        add(app, name, run, form, panel=panel)
