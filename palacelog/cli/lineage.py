"""What `why` and `diff` answer, for a person at a terminal.

Protects legibility: every operation with the reads that its session made before it, and every
change with a sign. Knows the shape of answers, and nothing of how they come about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from palacelog.cli.output import encoded, visible
from palacelog.cli.tables import grid, table

_SIGNS: Final = {"added": "+", "gained": "+", "hidden": "-", "lost": "-", "changed": "~"}


def why_view(document: Mapping[str, Any]) -> RenderableType:
    """The thing, and a line for each operation, the reads before it below."""
    about = {name: document[name] for name in ("id", "kind", "rests_on")}
    rows = [row for operation in document["operations"] for row in _made(operation)]
    left = document["total"] - len(document["operations"])
    columns = ["position", "recorded at", "who", "did, and had read before", "and had seen"]
    parts = [grid(about), table(columns, rows)]
    if left > 0:
        parts.append(Text(f"{left} more, see --limit", style="dim"))
    return Group(*parts)


def diff_view(document: Mapping[str, Any]) -> RenderableType:
    """A table of drawers and one of facts: gained, lost, changed."""
    drawers = [
        (sign, one["preview"], ", ".join(one["changed"]) or None, one["id"])
        for sign, one in _changes(document["drawers"])
    ]
    facts = [
        (sign, f"{one['subject']} {one['predicate']} {one['object']}", one["valid_from"],
         one["valid_to"], ", ".join(one["changed"]) or None)
        for sign, one in _changes(document["facts"])
    ]  # fmt: skip
    a, b = (document[name]["position"] for name in ("a", "b"))
    parts: list[RenderableType] = [Text(f"position {a} to {b}", style="dim")]
    if drawers:
        parts.append(table(["", "drawer", "changed", "id"], drawers))
    if facts:
        parts.append(table(["", "fact", "valid from", "valid to", "changed"], facts))
    if not drawers and not facts:
        parts.append(Text("Nothing changed.", style="dim"))
    shown = len(drawers) + len(facts)
    left = sum(one["total"] for area in ("drawers", "facts") for one in document[area].values())
    if left > shown:
        parts.append(Text(f"{left - shown} more, see --limit", style="dim"))
    return Group(*parts)


def _made(operation: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    who = operation["agent"] or operation["device"]
    yield operation["position"], operation["recorded_at"], who, operation["tool"], None
    for read in operation["read_before"]:
        asked = "" if read["asked"] is None else encoded(read["asked"], indented=False).decode()
        said = visible(f"{read['tool']} {asked.strip()}")
        yield None, read["recorded_at"], f"  {read['agent'] or ''}", f"  {said}", read["showed"]


def _changes(area: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, found in area.items():
        for line in found["lines"]:
            yield _SIGNS[name], line
