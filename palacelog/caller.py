"""What every surface talks to, without the engine behind it.

Protects quick answers: a surface that only lists what can be asked need not load a palace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from domain.operation import Context

Report = Callable[[int, int], None]
"""Told how much of the work is done, and how much there is; both may be of any unit."""


def silent(done: int, total: int) -> None:
    """A report to nobody."""


class Caller(Protocol):
    """Who does operations."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: Context | None = None,
        report: Report = silent,
    ) -> dict[str, Any]:
        """Do one operation."""
        ...
