"""How the demo tells its story: chapters, tables, and claims that are checked.

Protects the demo from promising: a claim is printed with a mark that says whether it holds, and one
that does not hold fails the whole. Knows nothing of palaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.padding import Padding
from rich.text import Text

from domain.errors import Damaged
from palacelog.cli.output import visible
from palacelog.cli.tables import grid, table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Claim(NamedTuple):
    """Something that the story says, and whether it turned out so."""

    claim: str
    holds: bool


class Story:
    """A story as it is told."""

    def __init__(self, console: Console) -> None:
        """Tell it to a console; a quiet one hears nothing, and the claims are checked all the
        same.
        """
        self._console = console
        self._chapters = 0
        self.claims: list[Claim] = []

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self._console.print(Text(f"\n{self._chapters}. {title}", style="bold cyan"))

    def say(self, text: str) -> None:
        """Say something."""
        self._show(Text(visible(text)))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show rows."""
        self._show(table(columns, rows))

    def grid(self, pairs: dict[str, Any]) -> None:
        """Show names with their values."""
        self._show(grid(pairs))

    def claim(self, text: str, holds: bool) -> None:
        """Say what must be so, and note whether it is."""
        self.claims.append(Claim(text, holds))
        mark, style = ("✓", "green") if holds else ("✗", "bold red")
        self._console.print(
            Padding(Text(f"{mark} {text}", style=style), (0, 0, 0, 3), expand=False)
        )

    def must_hold(self) -> None:
        """End the story.

        Raises:
            Damaged: `palacelog::demo::claim`, something did not turn out as it was told.
        """
        broken = [one.claim for one in self.claims if not one.holds]
        if broken:
            raise Damaged(
                "demo::claim",
                f"{len(broken)} of {len(self.claims)} claims do not hold; the first: {broken[0]}.",
                "This is a fault of palacelog: please report it with the output above.",
            )
        self._console.print(Text(f"\nAll {len(self.claims)} claims were checked and hold."))

    def _show(self, part: RenderableType) -> None:
        self._console.print(Padding(part, (0, 0, 0, 3), expand=False))
