"""Tables and grids for a person at a terminal.

Protects legibility: a table shows the columns that a person looks for, and --json everything.
Knows the shape of answers, and nothing of how they come about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from palacelog.cli.output import encoded, visible

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)T((\d\d:\d\d:\d\d)\.\d{6})Z")
_HIGHLIGHTER: Final = JSONHighlighter()
_MOMENT: Final = ("log_id", "position", "as_of", "known_at", "total", "cursor")
_BAR_CHARACTERS: Final = 40
_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "drawers": ("wing", "room", "preview", "valid_from", "state", "id"),
    "versions": ("id", "content", "valid_from", "valid_to", "state"),
    "facts": ("subject", "predicate", "object", "valid_from", "valid_to", "current", "conflict"),
    "assertions": ("object", "valid_from", "valid_to", "superseded_by", "fact_id"),
    "events": ("position", "recorded_at", "device", "agent", "tool"),
    "operations": ("position", "recorded_at", "device", "agent", "tool", "session"),
    "conflicts": ("kind", "about", "left", "right", "id"),
    "effects": ("kind", "change", "id"),
    "jobs": ("state", "path", "wing", "found", "filed", "updated", "skipped", "failed", "id"),
    "files": ("path", "outcome", "reason", "drawer_id"),
    "pending": ("device", "local_seq", "tool", "recorded_at", "position"),
    "kept": ("op_id", "reason", "by"),
    "streams": ("device", "head", "acknowledged", "pending"),
}


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None
) -> RenderableType:
    """A table; what is None shows as a dash."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(cell(value) for value in row))
    return made


def bars(lists: Mapping[str, Sequence[Mapping[str, Any]]], counted: str) -> RenderableType:
    """For each list a bar a row, as long as its count is to the largest of the list.

    Args:
        lists: by the name of the field that a row is called by.
        counted: the field that is drawn.
    """
    parts: list[RenderableType] = []
    for name, rows in lists.items():
        most = max((row[counted] for row in rows), default=1)
        drawn = [
            (row[name], row[counted], "█" * max(1, round(row[counted] / most * _BAR_CHARACTERS)))
            for row in rows
        ]
        parts.append(table([name, counted, ""], drawn))
    return Group(*parts)


def grid(pairs: Mapping[str, Any]) -> RenderableType:
    """Names with their values, one a line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    for name, value in pairs.items():
        made.add_row(Text(name.replace("_", " ")), cell(value))
    return made


def cell(value: Any) -> RenderableType:
    """A value as a person reads it: times to the second or day, yes and no, a dash for nothing."""
    if value is None or value == [] or value == {}:
        return Text("-", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, dict | list):
        return _nested(value)
    return Text(visible(short_time(str(value))))


def answer(document: Mapping[str, Any]) -> RenderableType:
    """Any operation's answer: a grid, its lists as tables, and the moment that it was read at."""
    lists = {name: value for name, value in document.items() if _is_table(name, value)}
    rest = {name: value for name, value in document.items() if name not in lists}
    moment: dict[str, Any] = {}
    if "as_of" in rest:
        moment = {name: rest.pop(name) for name in _MOMENT if name in rest}
    parts: list[RenderableType] = [grid(rest)] if rest else []
    for name, rows in lists.items():
        if rows:
            parts.append(rows_of(name, rows))
        else:
            parts.append(Text(f"{name.replace('_', ' ')}: none", style="dim"))
    if moment:
        parts.append(Text(moment_line(moment), style="dim"))
    return Group(*parts)


def rows_of(name: str, rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The table of a list that an answer has under a name."""
    columns = _COLUMNS.get(name, tuple(rows[0]))
    return table(
        [column.replace("_", " ") for column in columns],
        ([row.get(column) for column in columns] for row in rows),
    )


def moment_line(moment: Mapping[str, Any]) -> str:
    """The moment that an answer was read at, how much there is in all, and the next page."""
    said = [f"{moment['total']} in all"] if "total" in moment else []
    said.append(f"position {moment['position']}")
    said += [
        f"{name.replace('_', ' ')} {short_time(moment[name])}"
        for name in ("as_of", "known_at")
        if moment[name] is not None
    ]
    if moment.get("cursor") is not None:
        said.append(f"more with the cursor {moment['cursor']}")
    return ", ".join(said)


def short_time(text: str) -> str:
    """A text whose times go to the second, or to the day."""
    return _TIME.sub(lambda at: at[1] if at[2] == "00:00:00.000000" else f"{at[1]} {at[3]}", text)


def _is_table(name: str, value: Any) -> bool:
    rows = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return rows and (bool(value) or name in _COLUMNS)


def _nested(value: Any) -> RenderableType:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return Text(visible(", ".join(value)))
    if isinstance(value, dict) and {"device", "tool", "position"} <= value.keys():
        who = value["agent"] or value["device"]
        return Text(visible(f"{value['tool']} by {who} on {value['device']}, @{value['position']}"))
    return _HIGHLIGHTER(Text(visible(encoded(value).decode().rstrip())))
