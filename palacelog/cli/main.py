"""The command `palacelog`: the options that stand before every command, and the list of commands.

Protects quick answers: only the parser is loaded here; each command imports what it needs when it
runs. Holds no rule of the palace.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

import typer

from palacelog.cli import (
    audit,
    backups,
    demo,
    facts,
    hooking,
    integrating,
    jobs,
    log,
    memory,
    operations,
    outbox,
    palace,
    reindexing,
    removing,
    replay,
    serving,
    tail,
    vectors,
)
from palacelog.cli.group import PalaceGroup
from palacelog.cli.invocation import Invocation
from palacelog.cli.output import at_terminal

HELP = (
    "An event-sourced operation log for agent memory.\n\n"
    "Every call is one event in a log that is only ever appended to. Everything that can be looked "
    "at is made from that log: for any moment, on any machine, as often as you like."
)

EPILOG = r"""[bold]First steps[/bold]
  palacelog demo             see what it does; nothing is left behind
  palacelog init             make a palace in ~/.palacelog
  palacelog add "Tea at four." --wing home --room notes
  palacelog search tea
  palacelog --at yesterday list
  palacelog tail             who does what, as it happens
  palacelog tools            all that can be asked and recorded
  palacelog call kg_add '{"subject": "tea", "predicate": "at", "object": "four"}'

[bold]Output[/bold]
  At a terminal answers are tables; in a pipe, or with --json, one JSON
  document. Errors go to standard error, with a code and the cure.

[bold]Exit codes[/bold]
  0  done
  1  refused: the session mode, a rule or a conflict said no
  2  bad input or usage
  3  the palace cannot be used: none there, locked, truncated, newer schema
  4  damage was found
  5  a replay, rebuild or embedding stopped part of the way
"""

app = typer.Typer(
    name="palacelog",
    cls=PalaceGroup,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"palacelog {version('palacelog')}")
        raise typer.Exit


@app.callback()
def before(
    context: typer.Context,
    palace: Annotated[
        Path | None,
        typer.Option(envvar="PALACELOG_PALACE", help="The palace's folder. Default: ~/.palacelog."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON, as always in a pipe.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(help="Read as things were, and as they were known, at this moment."),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Read what was true then, with all that is known today.")
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option(help="Read what the log had recorded by then: a time or @position."),
    ] = None,
    mode: Annotated[
        Literal["full", "read_only", "disabled"] | None,
        typer.Option(help="Session mode. \\[env var: PALACELOG_MODE]"),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Who asks. \\[env var: PALACELOG_AGENT]")
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="In which session. \\[env var: PALACELOG_SESSION]")
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """An event-sourced operation log for agent memory."""
    context.obj = Invocation(
        palace=palace,
        as_json=json or not at_terminal(sys.stdout),
        json_asked=json,
        as_of=as_of,
        known_at=known_at,
        at=at,
        who={"session_mode": mode, "agent": agent, "session": session},
    )


memory.add_to(app, "Memory")
removing.add_to(app, "Memory")
vectors.add_to(app, "Memory")
jobs.add_to(app, "Memory")
for _function, _panel in (
    (palace.init, "Palace"),
    (palace.status, "Palace"),
    (palace.doctor, "Palace"),
    (demo.demo, "Palace"),
    (operations.call, "Memory"),
    (operations.tools, "Memory"),
    (serving.mcp, "Ways in"),
    (serving.serve, "Ways in"),
    (replay.replay, "Between devices"),
    (palace.digest, "Between devices"),
    (palace.rebuild, "Safety"),
    (reindexing.reindex, "Safety"),
    (backups.backup, "Safety"),
    (backups.restore, "Safety"),
    (backups.accept_loss, "Safety"),
):
    app.command(rich_help_panel=_panel)(_function)
app.command(rich_help_panel="Memory")(tail.tail)
app.command(hidden=True, context_settings=hooking.LENIENT)(hooking.hook)
app.add_typer(integrating.app, name="integrate", rich_help_panel="Ways in")
app.add_typer(facts.app, name="kg", rich_help_panel="Memory")
app.add_typer(log.app, name="log", rich_help_panel="Memory")
app.add_typer(audit.app, name="audit", rich_help_panel="Memory")
app.add_typer(outbox.app, name="outbox", rich_help_panel="Between devices")


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    run()
