"""The command that embeds what has no vectors yet.

Protects completeness: a text that could not be embedded is named, and the exit code says so.
"""

from __future__ import annotations

from typing import Any, Final

import typer

from domain.errors import Incomplete
from palacelog.cli.failing import exit_code, report
from palacelog.cli.from_models import Form, Given, Run, add
from palacelog.cli.invocation import asked_now
from palacelog.cli.memory import show
from palacelog.cli.output import counted
from palacelog.cli.progress import bar

_NAMED_MAX: Final = 3


def _embed(context: typer.Context, given: Given) -> None:
    """Embed the texts that have no vectors yet, so that they are found by their meaning.

    Searches do this by themselves as far as they can wait for it. What was embedded is kept when
    the command is stopped; the next run goes on. A text that cannot be embedded is named, gives
    exit code 5, and is tried again by the next run.

    Examples:
      palacelog embed
      palacelog embed --limit 1000
    """
    invocation = asked_now(context)
    with bar("Embedding", unit="texts") as progress, invocation.house() as house:
        answer = house.palace.call("embed", given, invocation.context(), progress)
    show(context, answer, "written")
    if answer["failed"]:
        error = _incomplete(answer)
        report(error, as_json=invocation.as_json)
        raise typer.Exit(exit_code(error))


def _incomplete(answer: dict[str, Any]) -> Incomplete:
    failed = answer["failed"]
    named = "; ".join(f"{one['drawer_id']}: {one['reason']}" for one in failed[:_NAMED_MAX])
    more = f"; and {len(failed) - _NAMED_MAX} more" if len(failed) > _NAMED_MAX else ""
    return Incomplete(
        "vectors::not_embedded",
        f"{counted(len(failed), 'text')} could not be embedded ({named}{more}).",
        "They are found by their words alone. Run `palacelog embed` again to try them again.",
    )


FORMS: Final[dict[str, tuple[Run, Form]]] = {"embed": (_embed, Form(("embed",)))}


def add_to(app: typer.Typer, panel: str) -> None:
    """Add these commands."""
    for name, (run, form) in FORMS.items():
        add(app, name, run, form, panel=panel)
