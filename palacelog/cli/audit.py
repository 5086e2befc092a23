"""The commands of the audit: who was active, who did what, and any question in SQL.

Protects the session mode: the report is ids and counts and is always answered; everything that can
show content passes the gate as a read. Knows no SQL of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from domain.errors import invalid
from domain.gate import DISABLED, READ
from palacelog.cli import output
from palacelog.cli.invocation import Invocation, asked, asked_now
from palacelog.cli.progress import busy

if TYPE_CHECKING:
    from rich.console import RenderableType

    from palacelog.auditing import Audit
    from projections.audit.questions import Window

app = typer.Typer()
_SHOWN: Final = ("devices", "tools", "agents", "refusals", "days")
_Since = Annotated[str | None, typer.Option(help="Recorded then or later.")]
_Before = Annotated[str | None, typer.Option(help="Recorded before then.")]


@app.callback(invoke_without_command=True)
def report(context: typer.Context, since: _Since = None, before: _Before = None) -> None:
    """Show who was active on which device and day, what was refused, and whether all is whole.

    Ids and counts only, so it is answered in every session mode; agents are named where reading is
    allowed. The commands of the group ask for more.

    Examples:
      palacelog audit
      palacelog audit --since -7d
    """
    given = {name: text for name, text in (("since", since), ("before", before)) if text}
    if context.invoked_subcommand is not None:
        if given:
            raise invalid("--since, --before", "stand before the command", "Write them behind it.")
        return
    invocation = asked_now(context)
    with _audit(invocation) as audit:
        named = invocation.settings().session_mode != DISABLED
        document = audit.report(_window(invocation, since, before), given, agents=named)
    output.show(invocation.as_json, document, lambda: _report_view(document))


@app.command()
def trail(
    context: typer.Context,
    device: Annotated[str | None, typer.Option(help="Of this device.")] = None,
    tool: Annotated[str | None, typer.Option(help="Of this operation.")] = None,
    agent: Annotated[str | None, typer.Option(help="Of this agent.")] = None,
    session: Annotated[str | None, typer.Option(help="Of this session.")] = None,
    wing: Annotated[str | None, typer.Option(help="About this wing.")] = None,
    outcome: Annotated[str, typer.Option(help="accepted, refused or all.")] = "all",
    reads: Annotated[bool, typer.Option(help="Reads as well.")] = True,
    since: _Since = None,
    before: _Before = None,
    limit: Annotated[int, typer.Option(help="At most so many, up to 200.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on where a page ended.")] = None,
) -> None:
    """List who did what, newest first: what was written, read and refused.

    Examples:
      palacelog audit trail --agent scribe --since yesterday
      palacelog audit trail --outcome refused --no-reads
    """
    chosen = {
        "device": device, "tool": tool, "agent": agent, "session": session, "wing": wing,
        "outcome": outcome, "include_reads": reads, "since": since, "before": before,
        "limit": limit, "cursor": cursor,
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
      palacelog audit show 12
    """
    from palacelog.cli.log import show_operation

    show_operation(asked(context), operation)


@app.command()
def why(
    context: typer.Context,
    thing: Annotated[str, typer.Argument(help="The id of a drawer or a fact.", metavar="ID")],
    limit: Annotated[int, typer.Option(help="At most so many operations, up to 200.")] = 20,
) -> None:
    """Show why a drawer or a fact is there: who made it, and what they had read before.

    Example:
      palacelog audit why fact_1a34f028a3a1803bc1c5008a
    """
    invocation = asked(context)
    document = invocation.call("why", {"id": thing, "limit": limit})
    output.show(invocation.as_json, document, lambda: _lineage().why_view(document))


@app.command()
def diff(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="After this moment: a time or @position.")],
    b: Annotated[str | None, typer.Argument(help="Up to this moment; else the present.")] = None,
    limit: Annotated[int, typer.Option(help="Of each list, up to 200.")] = 20,
) -> None:
    """Show what memory gained, lost and changed between two moments of the log.

    Examples:
      palacelog audit diff yesterday
      palacelog audit diff @10 @20
    """
    invocation = asked_now(context)
    given = {"a": a, "b": b, "limit": limit}
    stated = {name: value for name, value in given.items() if value is not None}
    document = invocation.call("diff", stated)
    output.show(invocation.as_json, document, lambda: _lineage().diff_view(document))


@app.command()
def sql(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="One SELECT, in the SQL of DuckDB.")],
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 1_000,
) -> None:
    """Ask one SELECT of a copy of log and trail; it can neither write nor read anything else.

    Tables: operations, trail, texts, facts, supports, tombstones and others (SHOW TABLES).
    Moments: drawers_as_of(ts), facts_as_of(ts), operations_between(a, b).

    Examples:
      palacelog audit sql "SELECT agent, count(*) FROM operations GROUP BY agent"
      palacelog audit sql "SELECT room, content FROM drawers_as_of('2026-03-01')"
    """
    invocation = asked_now(context)
    invocation.gate("audit sql", READ)
    with _audit(invocation) as audit:
        document = audit.sql(query, limit)
    output.show(invocation.as_json, document, lambda: _rows_view(document))


@app.command()
def export(
    context: typer.Context,
    parquet: Annotated[
        Path | None, typer.Option(help="Make this folder, with a Parquet file for each table.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Make this folder, with a CSV file for each table.")
    ] = None,
) -> None:
    """Write the copy out for other tools: one file for each table.

    Example:
      palacelog audit export --parquet palace-tables
    """
    invocation = asked_now(context)
    invocation.gate("audit export", READ)
    given = {form: folder for form, folder in (("parquet", parquet), ("csv", csv)) if folder}
    if len(given) != 1:
        raise invalid("--parquet, --csv", "are two ways to say where to", "Give one of them.")
    [(form, folder)] = given.items()
    with _audit(invocation) as audit:
        document = audit.export(folder, form)
    output.show(invocation.as_json, document)


@app.command()
def plot(
    context: typer.Context,
    png: Annotated[Path | None, typer.Option(help="Draw a picture into this file instead.")] = None,
    since: _Since = None,
    before: _Before = None,
) -> None:
    """Draw the activity over time and per device, in the terminal or as a picture.

    A picture needs matplotlib, which comes with `palacelog[plot]`.

    Examples:
      palacelog audit plot --since -30d
      palacelog audit plot --png activity.png
    """
    invocation = asked_now(context)
    from palacelog import picture

    window = _window(invocation, since, before)
    if png is None:
        with _audit(invocation) as audit:
            document = audit.activity(window)
        output.show(invocation.as_json, document, lambda: _bars(document))
        return
    picture.check(png)
    with _audit(invocation) as audit:
        picture.draw(audit.days_of_devices(window)["days"], png)
    output.show(invocation.as_json, {"file": str(png)})


@contextmanager
def _audit(invocation: Invocation) -> Iterator[Audit]:
    from palacelog.auditing import Audit

    with invocation.house() as house, busy("Catching up"):
        yield Audit(house, invocation.context())


def _lineage() -> ModuleType:
    from palacelog.cli import lineage

    return lineage


def _window(invocation: Invocation, since: str | None, before: str | None) -> Window:
    from domain.instants import InstantError, Reach, parse
    from palacelog.system import System
    from projections.audit.questions import Window

    given: dict[str, int] = {}
    zone, now = invocation.settings().zone, System().now()
    for name, text, reach in (("since", since, Reach.START), ("before", before, Reach.END)):
        if text is not None:
            try:
                given[name] = parse(text, zone=zone, now=now, reach=reach)
            except InstantError as error:
                raise invalid(f"--{name}", f"is no time: {error}", error.hint) from None
    return Window(**given)


def _report_view(document: dict[str, Any]) -> RenderableType:
    from rich.console import Group

    from palacelog.cli.tables import grid, rows_of

    lists = {name: document.get(name, []) for name in _SHOWN} | {"days": document["days"][-14:]}
    parts = [rows_of(name, rows) for name, rows in lists.items() if rows]
    whole = all(one["whole"] for one in document["chains"])
    [views] = document["projections"]
    about = {
        "position": document["position"],
        "log": document["log"]["state"],
        "chains": f"{len(document['chains'])}, {'whole' if whole else 'NOT whole'}",
        "views": f"{views['state']}, {views['lag']} behind the log",
        "facts without their source": document["orphans"]["facts"],
        "trail": f"{document['trail']['noted']} noted, {document['trail']['lost']} lost",
    }
    return Group(*parts, grid(about))


def _rows_view(document: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from palacelog.cli.tables import table

    shown = len(document["rows"])
    said = f"{shown} {'row' if shown == 1 else 'rows'}, position {document['position']}"
    more = "; there are more, see --limit" if document["more"] else ""
    return Group(table(document["columns"], document["rows"]), Text(said + more, style="dim"))


def _bars(document: dict[str, Any]) -> RenderableType:
    from palacelog.cli.tables import bars

    return bars({"day": document["days"], "device": document["devices"]}, "operations")
