"""How a person reads memory at a terminal: texts in full, what was found, and what was written.

Protects legibility: a text keeps its lines and is wrapped, and what a machine needs (operation ids,
digests) is left to --json. Knows the shape of answers, and nothing of how they come about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from palacelog.cli.output import counted, visible
from palacelog.cli.tables import answer, grid, moment_line, short_time

_ENVELOPE: Final = ("op_id", "origin_device", "stream", "local_seq", "dry_run")
_INDENT: Final = (0, 0, 0, 3)
SHOWN_MAX: Final = 20


def written(document: Mapping[str, Any]) -> RenderableType:
    """What a write did: its own answer first, then its position."""
    own = {name: value for name, value in document.items() if name not in _ENVELOPE}
    last = {name: own.pop(name) for name in ("position", "duplicate")}
    kept = {name: _in_part(value) for name, value in own.items() if value not in (None, [])}
    return answer(kept | last)


def drawer(document: Mapping[str, Any]) -> RenderableType:
    """One drawer: where it is and what is known of it, then its text."""
    shown = document["drawer"]
    who = shown["provenance"]
    about = {
        "id": shown["id"],
        "where": _where(shown),
        "state": shown["state"],
        "valid from": shown["valid_from"],
        "valid to": shown["valid_to"],
        "tags": shown["tags"],
        "source file": shown["source_file"],
        "added by": shown["added_by"],
        "metadata": shown["metadata"],
        "superseded by": shown["superseded_by"],
        "recorded": f"{who['recorded_at']} by {who['agent'] or '-'} on {who['device']}, "
        f"@{who['position']}",
    }
    kept = {name: value for name, value in about.items() if value not in (None, [], {})}
    text = "(hidden)" if shown["content"] is None else shown["content"]
    return Group(grid(kept), "", Text(visible(text)), _moment(document))


def hits(document: Mapping[str, Any]) -> RenderableType:
    """What a search found: where and when, the text around it, and the id."""
    parts: list[RenderableType] = []
    for number, hit in enumerate(document["hits"], 1):
        snippet = Text(visible(hit["snippet"]))
        snippet.highlight_words(document["words"], "bold cyan", case_sensitive=False)
        parts += _entry(f"{number}. ", hit, snippet, hit["drawer_id"])
    for one in document["expanded"]:
        text = Text(visible(f"by {one['why']} {one['through']}: "), style="dim")
        text.append(visible(one["snippet"]), style="not dim")
        parts += _entry("+ ", one, text, one["drawer_id"])
    return Group(*parts, _moment(document)) if parts else _none("Nothing was found.", document)


def drawers(document: Mapping[str, Any]) -> RenderableType:
    """A list of drawers: where and when, how the text begins, and the id."""
    parts: list[RenderableType] = []
    for line in document["drawers"]:
        parts += _entry("", line, Text(visible(line["preview"])), line["id"])
    return Group(*parts, _moment(document)) if parts else _none("No drawers.", document)


def _entry(before: str, line: Mapping[str, Any], text: Text, id: str) -> list[RenderableType]:
    head = Text(before).append(visible(_where(line)), style="bold")
    head.append(f"  {short_time(line['recorded_at'])}")
    if line["tags"]:
        head.append(visible(f"  {', '.join(line['tags'])}"), style="dim")
    if not line["current"]:
        state = "not current" if line["state"] == "current" else line["state"]
        head.append(f"  {state}", style="yellow")
    name = Text(visible(id), style="dim", no_wrap=True, overflow="ignore")
    return [head, Padding(text, _INDENT), Padding(name, _INDENT), ""]


def entries(document: Mapping[str, Any]) -> RenderableType:
    """A diary, newest first."""
    parts: list[RenderableType] = []
    for entry in document["entries"]:
        head = Text(short_time(entry["written_at"]), style="bold")
        head.append(visible(f"  {entry['topic']}, on {entry['device']}"), style="dim")
        parts += [head, Padding(Text(visible(entry["content"])), _INDENT), ""]
    return Group(*parts, _moment(document)) if parts else _none("No entries.", document)


def block(document: Mapping[str, Any]) -> RenderableType:
    """A block of text as an agent would get it."""
    return Group(Text(visible(document["block"].rstrip("\n"))), "", _moment(document))


def would_hide(document: Mapping[str, Any]) -> RenderableType:
    """What a dry run says would be hidden."""
    return _listed("Would hide", "drawer", document["hidden"])


def would_undo(document: Mapping[str, Any]) -> RenderableType:
    """What a dry run says would be undone, and what would stay."""
    parts = [_listed("Would undo", "operation", document["undone"])]
    if document["kept"]:
        parts.append(answer({"kept": document["kept"]}))
    return Group(*parts)


def event_line(line: Mapping[str, Any], about: str) -> Text:
    """An operation in one line."""
    text = Text(f"{line['position']:>6}  ", style="dim")
    text.append(f"{line['recorded_at'][:19].replace('T', ' ')}  ", style="not dim")
    who = f"{line['agent'] or '-'}@{line['device']}"
    text.append(visible(f"{who}  "), style="not dim cyan")
    text.append(f"{line['tool']}  ", style="not dim bold")
    return text.append(visible(" ".join(about.split())), style="not dim")


def _in_part(value: Any) -> Any:
    if not isinstance(value, list) or len(value) <= SHOWN_MAX or isinstance(value[0], dict):
        return value
    return [*value[:SHOWN_MAX], f"and {len(value) - SHOWN_MAX} more"]


def _listed(what: str, thing: str, ids: Sequence[str]) -> RenderableType:
    end = ":" if ids else "."
    lines = [Text(f"{what} {counted(len(ids), thing)}{end}", style="bold")]
    lines += [Text(f"  {visible(one)}") for one in ids[:SHOWN_MAX]]
    if len(ids) > SHOWN_MAX:
        lines.append(Text(f"  and {len(ids) - SHOWN_MAX} more", style="dim"))
    return Group(*lines)


def _where(place: Mapping[str, Any]) -> str:
    return f"{place['wing']}/{place['room']}"


def _moment(document: Mapping[str, Any]) -> Text:
    return Text(moment_line(document), style="dim")


def _none(said: str, document: Mapping[str, Any]) -> RenderableType:
    return Group(Text(said), _moment(document))
