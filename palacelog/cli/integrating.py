"""The commands that set agent hosts up, and take all of it out again.

Protects a person's configuration: what would be changed can be seen before, and each answer names
every file. The rules are in `palacelog.hosts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from palacelog.cli import output
from palacelog.cli.invocation import Invocation, asked_now

if TYPE_CHECKING:
    from rich.console import RenderableType

    from palacelog.hosts.installing import Change
    from palacelog.hosts.parts import Part
    from palacelog.hosts.wanted import Wanted

MODULES: Final = {
    "claude-code": "claude_code",
    "codex": "codex",
    "opencode": "opencode",
    "pi": "pi",
}
_NEXT: Final = {
    "claude-code": "New sessions have it; Claude Code asks for a folder's trust once.",
    "codex": "Trust the hook once in /hooks: Codex skips hooks that nobody looked at.",
    "opencode": "Start opencode again.",
    "pi": "Start pi again, or type /reload.",
}

_ASKS: Final = "Claude Code asks before it uses a server from .mcp.json"
_FOUND: Final = ", which names palacelog on the PATH"

Host = Annotated[
    Literal["claude-code", "codex", "opencode", "pi"], typer.Argument(help="Which host.")
]
Label = Annotated[
    str, typer.Option(help="How much memory: full, read-only or off; anything else is off.")
]
Scope = Annotated[
    Literal["user", "project"],
    typer.Option(help="For all of your work, or for the folder that you are in."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be changed.")]
Transport = Annotated[
    Literal["stdio", "http"], typer.Option(help="A command that the host starts, or an address.")
]
Url = Annotated[str | None, typer.Option(help="The address, as http://127.0.0.1:8377/mcp.")]
TokenVariable = Annotated[
    str | None, typer.Option(help="The variable of the environment that holds its token.")
]
Command = Annotated[
    Path | None, typer.Option(help="The palacelog command. Default: the one that runs.")
]

app = typer.Typer(
    help="Set agent hosts up to use the palace, and take that out again.", no_args_is_help=True
)


@app.command()
def install(
    context: typer.Context,
    host: Host,
    label: Label = "full",
    scope: Scope = "user",
    dry_run: DryRun = False,
    transport: Transport = "stdio",
    url: Url = None,
    token_variable: TokenVariable = None,
    command: Command = None,
) -> None:
    """Give a host the palace: its tools, a hook for the start of sessions, and a skill.

    Files keep all that is in them; before its first change each is copied beside.

    Examples:
      palacelog integrate install claude-code
      palacelog integrate install codex --label read-only --dry-run
      palacelog integrate install opencode --scope project
    """
    from palacelog.hosts.installing import carry_out, to_install

    invocation = asked_now(context)
    wanted = _wanted(invocation, label, scope, transport, url, token_variable, command)
    if wanted.url is None:
        from palacelog.folder import existing

        existing(wanted.palace)
    changes = to_install(_parts(host, wanted))
    if not dry_run:
        carry_out(changes)
    asks = host == "claude-code" and scope == "project" and not wanted.off
    found = wanted.url is None and not wanted.named
    then = f"{_ASKS}{_FOUND if found else ''}." if asks else _NEXT[host]
    _show(invocation, host, wanted, changes, dry_run=dry_run, then=then)


@app.command()
def remove(
    context: typer.Context, host: Host, scope: Scope = "user", dry_run: DryRun = False
) -> None:
    """Take out of a host what was put in; a file that only we changed is what it was, to the byte.

    Examples:
      palacelog integrate remove claude-code
      palacelog integrate remove pi --scope project --dry-run
    """
    from palacelog.hosts.installing import carry_out, to_remove

    invocation = asked_now(context)
    wanted = _wanted(invocation, "full", scope)
    changes = to_remove(_parts(host, wanted))
    if not dry_run:
        carry_out(changes)
    _show(invocation, host, wanted, changes, dry_run=dry_run)


@app.command()
def status(
    context: typer.Context, host: Host, scope: Scope = "user", command: Command = None
) -> None:
    """Tell which parts of an integration stand, and whether they are what would be put in today.

    Examples:
      palacelog integrate status claude-code
      palacelog integrate status opencode --scope project
    """
    from palacelog.hosts.installed import as_installed
    from palacelog.hosts.installing import ABSENT, FOREIGN, standing

    invocation = asked_now(context)
    wanted = _wanted(invocation, "full", scope, command=command)
    there = standing(_parts(host, wanted))
    wanted = as_installed(wanted, [one.found for one in there])
    there = standing(_parts(host, wanted))
    parts = [
        {"part": one.part.name, "file": str(one.part.path), "state": one.state} for one in there
    ]
    stands = any(one.state not in (ABSENT, FOREIGN) for one in there)
    document = {
        "host": host,
        "scope": scope,
        "label": wanted.label if stands else None,
        "installed": stands,
        "current": stands and all(one.found == one.part.value for one in there),
        "parts": parts,
    }
    columns = ("part", "state", "file")
    output.show(invocation.as_json, document, lambda: _table(columns, parts))


@app.command("print")
def print_(
    context: typer.Context,
    host: Annotated[
        Literal["claude-desktop", "cursor", "vscode"], typer.Argument(help="Which host.")
    ],
    label: Label = "full",
    transport: Transport = "stdio",
    url: Url = None,
    token_variable: TokenVariable = None,
    command: Command = None,
) -> None:
    """Print what you paste into the configuration of a host that is not set up by a command.

    Examples:
      palacelog integrate print cursor
      palacelog integrate print vscode --label read-only > .vscode/mcp.json
    """
    from palacelog.hosts.snippets import TARGETS, snippet

    invocation = asked_now(context)
    wanted = _wanted(invocation, label, "user", transport, url, token_variable, command)
    made = snippet(host, wanted)

    def seen() -> RenderableType:
        from rich.text import Text

        told = output.encoded(made).decode().rstrip("\n")
        return Text(f"Into {TARGETS[host].file}:\n\n{told}")

    output.show(invocation.as_json, made, seen)


def _wanted(
    invocation: Invocation,
    label: str,
    scope: Literal["user", "project"],
    transport: Literal["stdio", "http"] = "stdio",
    url: str | None = None,
    token_variable: str | None = None,
    command: Path | None = None,
) -> Wanted:
    from palacelog.hosts import labels, wanted

    return wanted.Wanted(
        command=wanted.our_command(command),
        palace=invocation.folder,
        label=labels.known(label),
        home=Path.home(),
        project=Path.cwd(),
        scope=scope,
        url=wanted.url(transport, url),
        token_variable=token_variable,
        named=command is not None,
    )


def _parts(host: str, wanted: Wanted) -> Sequence[Part]:
    found: Sequence[Part] = import_module(f"palacelog.hosts.{MODULES[host]}").parts(wanted)
    return found


def _show(
    invocation: Invocation,
    host: str,
    wanted: Wanted,
    changes: Sequence[Change],
    *,
    dry_run: bool,
    then: str | None = None,
) -> None:
    told = [one.told() for one in changes]
    document: dict[str, Any] = {"host": host, "scope": wanted.scope}
    if then is not None:
        document |= {"label": wanted.label, "next": then}
    document |= {"dry_run": dry_run, "changes": told}

    def seen() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        table = _table(("part", "action", "file"), told)
        lines = [Text("Nothing was changed: --dry-run.")] if dry_run else []
        if then is not None and not dry_run:
            lines = [Text(then)]
        lines += [
            Text(f"{one['part']} was left: {one['help']} [{one['code']}]")
            for one in told
            if "code" in one
        ]
        return Group(table, *lines)

    output.show(invocation.as_json, document, seen)


def _table(columns: Sequence[str], rows: Sequence[dict[str, str]]) -> RenderableType:
    from palacelog.cli.tables import table

    home = f"{Path.home()}/"
    told = [row | {"file": row["file"].replace(home, "~/", 1)} for row in rows]
    return table(list(columns), [[row[name] for name in columns] for row in told])
