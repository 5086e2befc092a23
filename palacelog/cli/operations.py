"""The commands that reach the catalog: call any operation, and look up what there is.

Protects the border: JSON from a person is read strictly before it goes anywhere. Knows no operation
by name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import InvalidInput, invalid
from palacelog.cli import output
from palacelog.cli.invocation import asked, asked_now

if TYPE_CHECKING:
    from rich.console import RenderableType

    from domain.catalog import Entry


def _tool_names(incomplete: str) -> list[str]:
    from domain.catalog import CATALOG

    return [name for name in CATALOG if name.startswith(incomplete)]


def call(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="An operation's name.", autocompletion=_tool_names)],
    arguments: Annotated[
        str,
        typer.Argument(help="Its arguments: a JSON object, - for standard input, or @file."),
    ] = "{}",
) -> None:
    """Do one operation. `palacelog tools` lists them all.

    Examples:
      palacelog call add_drawer '{"wing": "home", "room": "notes", "content": "Tea at four."}'
      palacelog --as-of 2026-03 call kg_query '{"entity": "atlas"}'
      palacelog call add_drawer @drawer.json
    """
    invocation = asked(context)
    answer = invocation.call(tool, _read(arguments))
    output.show(invocation.as_json, answer)


def tools(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="One operation, with its arguments.", autocompletion=_tool_names),
    ] = None,
) -> None:
    """List the operations, or show what one of them takes.

    Examples:
      palacelog tools
      palacelog tools kg_supersede
    """
    invocation = asked_now(context)
    from domain.catalog import CATALOG

    if name is None:
        entries = [_line(entry) for entry in CATALOG.values()]
        output.show(invocation.as_json, {"tools": entries}, lambda: _list(entries))
        return
    if name not in CATALOG:
        raise InvalidInput(
            "input::unknown_tool", f"There is no tool {name!r}.", "`palacelog tools` lists them."
        )
    entry = CATALOG[name]
    schema = entry.asks.model_json_schema()
    document = _line(entry) | {"asks": schema, "answers": entry.answers.model_json_schema()}
    output.show(invocation.as_json, document, lambda: _described(entry, schema))


def _read(given: str) -> dict[str, Any]:
    """The arguments, read strictly.

    Raises:
        InvalidInput: no JSON object, or one that no log could hold.
    """
    from domain.canonical import NotStorable, read_json

    text: str | bytes = given
    if given == "-":
        text = sys.stdin.buffer.read()
    elif given.startswith("@"):
        text = Path(given[1:]).read_bytes()
    try:
        value = read_json(text)
    except NotStorable as error:
        raise invalid(
            "JSON", f"cannot be read: {error}", "Give one JSON object, in single quotes."
        ) from None
    if not isinstance(value, dict):
        raise invalid("JSON", "is not an object", """Give one, such as '{"limit": 5}'.""")
    return value


def _line(entry: Entry) -> dict[str, str]:
    return {"name": entry.name, "class": entry.operation_class, "summary": entry.summary}


def _list(entries: list[dict[str, str]]) -> RenderableType:
    from palacelog.cli.tables import table

    return table(["operation", "class", "what it does"], [list(one.values()) for one in entries])


def _described(entry: Entry, schema: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from palacelog.cli.tables import table

    needed = schema.get("required", [])
    rows = [
        (name, _kind(part), "yes" if name in needed else "", part.get("description", ""))
        for name, part in schema.get("properties", {}).items()
    ]
    arguments = table(["argument", "type", "required", "meaning"], rows)
    return Group(Text(f"{entry.name} ({entry.operation_class}): {entry.summary}\n"), arguments)


def _kind(part: dict[str, Any]) -> str:
    kinds = [one.get("type", "") for one in part.get("anyOf", [part])]
    choices = part.get("enum")
    named = " or ".join(map(str, choices)) if choices else ", ".join(kinds)
    return named.replace(", null", "")
