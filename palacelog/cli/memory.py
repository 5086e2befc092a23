"""The commands that a person works with memory by: store, read, find, and keep a diary.

Protects nothing by itself: each does one operation, whose model says what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from palacelog.cli import output
from palacelog.cli.from_models import Form, Given, Run, add
from palacelog.cli.invocation import asked
from palacelog.cli.texts import FromFile, filled

if TYPE_CHECKING:
    from rich.console import RenderableType

View = Callable[[Mapping[str, Any]], "RenderableType"]

diary_app = typer.Typer(help="Write in an agent's diary, and read it.", no_args_is_help=True)


def done(context: typer.Context, tool: str, given: Given, view: str | None = None) -> None:
    """Do one operation and show its answer.

    Args:
        view: the function of `found` that shows it; default the table that suits any answer.
    """
    invocation = asked(context)
    show(context, invocation.call(tool, given), view)


def show(context: typer.Context, answer: dict[str, Any], view: str | None = None) -> None:
    """Show the answer of an operation."""

    def seen() -> RenderableType:
        from palacelog.cli import found

        shown: View = getattr(found, view or "written")
        return shown(answer)

    output.show(asked(context).as_json, answer, None if view is None else seen)


def _add(context: typer.Context, given: Given, file: FromFile = None) -> None:
    """Store a text in a room of a wing. Without a text, the editor opens.

    Examples:
      palacelog add "Tea at four." --wing home --room notes
      palacelog add --wing atlas --room plans --file plan.md --tags plan,2026
      git log -1 --format=%B | palacelog add - --wing atlas --room commits
    """
    with filled(asked(context), "add_drawer", "content", given, file) as whole:
        done(context, "add_drawer", whole, "written")


def _note(context: typer.Context, given: Given, file: FromFile = None) -> None:
    """Store a text where notes of this folder go. Without a text, the editor opens.

    The wing is that of the nearest palacelog.toml, else the folder's name.

    Examples:
      palacelog note "The tests need Redis."
      palacelog note -- "- a text that begins with a dash"
    """
    with filled(asked(context), "note", "content", given, file) as whole:
        done(context, "note", whole, "written")


def _get(context: typer.Context, given: Given) -> None:
    """Read a drawer; an old id leads to the newest text.

    Examples:
      palacelog get drawer_home_notes_1ce4832ba1e386525d79a021
      palacelog --at yesterday get drawer_home_notes_1ce4832ba1e386525d79a021
    """
    done(context, "get_drawer", given, "drawer")


def _list(context: typer.Context, given: Given) -> None:
    """List drawers, newest first.

    Examples:
      palacelog list --wing atlas --tag plan --limit 50
      palacelog --as-of 2026-03 list
    """
    done(context, "list_drawers", given, "drawers")


def _search(context: typer.Context, given: Given) -> None:
    """Find drawers by their words and meaning, best first.

    Examples:
      palacelog search "cache decision" --wing atlas
      palacelog --known-at @10 search cache
    """
    done(context, "search", given, "hits")


def _history(context: typer.Context, given: Given) -> None:
    """Show all versions of a drawer and the events behind them.

    Example:
      palacelog history drawer_home_notes_1ce4832ba1e386525d79a021
    """
    done(context, "history", given)


def _recall(context: typer.Context, given: Given) -> None:
    """Show what memory holds on a question, as one block of text.

    Example:
      palacelog recall "Which cache does atlas use?"
    """
    done(context, "recall", given, "block")


def _wake_up(context: typer.Context, given: Given) -> None:
    """Show what to know at the start of a session, as one block of text.

    Example:
      palacelog wake-up --wing atlas --agent-name scribe
    """
    done(context, "wake_up", given, "block")


def _diary_write(context: typer.Context, given: Given, file: FromFile = None) -> None:
    """Write an entry in an agent's diary. Without a text, the editor opens.

    Example:
      palacelog diary write scribe "Found why the cache was cold." --topic atlas
    """
    with filled(asked(context), "diary_write", "entry", given, file) as whole:
        done(context, "diary_write", whole, "written")


def _diary_read(context: typer.Context, given: Given) -> None:
    """Read an agent's diary, newest first.

    Example:
      palacelog diary read scribe --last-n 3
    """
    done(context, "diary_read", given, "entries")


def _checkpoint(
    context: typer.Context,
    given: Given,
    file: Annotated[
        Path, typer.Argument(help="JSON or lines of JSON; - for standard input.", metavar="FILE")
    ],
) -> None:
    """Store many texts, and a diary entry, in one operation.

    The file holds an object with `items` and `diary`, a list of items, or one item a line. An item
    has a wing, a room and a content, and may have what `palacelog add` takes.

    Examples:
      palacelog checkpoint session.json
      palacelog checkpoint --drop-duplicates - < items.ndjson
    """
    from palacelog.cli.items import read_items

    done(context, "checkpoint", read_items(file) | given, "written")


_TEXT: Final = frozenset({"content", "entry"})
FORMS: Final[dict[str, tuple[Run, Form]]] = {
    "add": (_add, Form(("add_drawer",), ("content",), _TEXT)),
    "get": (_get, Form(("get_drawer",), ("drawer_id",))),
    "list": (_list, Form(("list_drawers",))),
    "search": (_search, Form(("search",), ("query",))),
    "history": (_history, Form(("history",), ("drawer_id",))),
    "note": (_note, Form(("note",), ("content",), _TEXT)),
    "recall": (_recall, Form(("recall",), ("query",))),
    "wake-up": (_wake_up, Form(("wake_up",))),
    "checkpoint": (
        _checkpoint,
        Form(("checkpoint",), left_out=frozenset({"items", "diary"})),
    ),
}
DIARY_FORMS: Final[dict[str, tuple[Run, Form]]] = {
    "write": (_diary_write, Form(("diary_write",), ("agent_name", "entry"), _TEXT)),
    "read": (_diary_read, Form(("diary_read",), ("agent_name",))),
}


def add_to(app: typer.Typer, panel: str) -> None:
    """Add these commands."""
    for name, (run, form) in FORMS.items():
        add(app, name, run, form, panel=panel)
    for name, (run, form) in DIARY_FORMS.items():
        add(diary_app, name, run, form)
    app.add_typer(diary_app, name="diary", rich_help_panel=panel)
