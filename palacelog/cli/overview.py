"""What `status` and `doctor` look like at a terminal.

Protects the reader's first glance: what is wrong stands out, and nothing of the palace's content is
shown. Asks nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from palacelog.cli.output import visible
from palacelog.cli.tables import grid

if TYPE_CHECKING:
    from palacelog.checking import Check

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def status_panel(folder: Path, document: Mapping[str, Any]) -> RenderableType:
    """The answer of `status` in a frame."""
    totals, outbox, versions = document["totals"], document["outbox"], document["versions"]
    views = document["projections"][0]
    shown = grid(
        {
            "device": document["device"],
            "log": f"{document['log_id']}, {document['head']} events",
            "newest event": document["logged_at"],
            "drawers": f"{totals['drawers_live']} live, {totals['drawers_hidden']} hidden",
            "facts": totals["facts"],
            "conflicts": totals["conflicts"],
            "outbox": _outbox(outbox),
            "views": f"{views['state']}, {views['lag']} behind the log",
            **_vectors(document["vectors"]),
            "versions": f"palacelog {versions['product']}, SQLite {versions['sqlite']}, "
            f"schema {document['schema']}",
        }
    )
    title = Text(visible(_short(folder)))
    return Panel(shown, title=title, title_align="left", box=box.ROUNDED, expand=False)


def check_list(checks: Sequence[Check]) -> RenderableType:
    """The checks of `doctor`, one a line, each with its cure where it needs one."""
    made = Table.grid(padding=(0, 2))
    for check in checks:
        said: RenderableType = Text(visible(check.message))
        if check.help:
            said = Group(said, Text(visible(check.help), style="dim"))
        made.add_row(Text(check.state, style=_COLOURS[check.state]), Text(check.name), said)
    return made


def _short(folder: Path) -> str:
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _outbox(outbox: Mapping[str, Any]) -> str:
    if not outbox["pending"]:
        return "empty"
    age = _age(outbox["oldest_age_seconds"] or 0)
    return f"{outbox['pending']} not acknowledged, the oldest {age} old"


def _vectors(indexes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The line about the embedder that searches go by, where there is one."""
    for one in indexes:
        if one["counts"]:
            failed = f", {one['failed']} failed" if one["failed"] else ""
            return {
                "vectors": f"{one['embedder']}, {one['embedded']} of {one['texts']} texts{failed}"
            }
    return {}


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
