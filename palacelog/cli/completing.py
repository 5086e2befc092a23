"""What a shell may complete from the palace: the names of wings and rooms.

Protects the person at the prompt: where the palace cannot be read there is nothing to complete, and
no message. A read like any other for the gate.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import typer

from domain.errors import PalaceError
from domain.gate import READ
from palacelog.cli.invocation import Invocation


def wings(context: typer.Context, incomplete: str) -> list[str]:
    """The wings whose names begin like this."""
    return _beginning(_names(context, "list_wings", "wings", "wing", {}), incomplete)


def rooms(context: typer.Context, incomplete: str) -> list[str]:
    """The rooms of the wing that stands in the line, else of all, whose names begin like this."""
    wing = context.params.get("wing")
    chosen = {} if wing is None else {"wing": wing}
    return _beginning(_names(context, "list_rooms", "rooms", "room", chosen), incomplete)


def _names(
    context: typer.Context, tool: str, lines: str, name: str, chosen: dict[str, Any]
) -> list[str]:
    before = context.find_root().params
    invocation = Invocation(
        palace=before.get("palace"),
        as_json=True,
        json_asked=False,
        as_of=None,
        known_at=None,
        at=None,
        who={"session_mode": before.get("mode")},
    )
    try:
        invocation.gate("completion", READ)
        from domain.catalog import CATALOG
        from projections.queries import QUERIES

        with (
            invocation.house() as house,
            house.palace.reading() as reading,
            invocation.noting(house.palace.trail, "completion", tool=tool, **chosen) as seen,
        ):
            found = QUERIES[tool](reading, CATALOG[tool].asks.model_validate(chosen))
            seen.update(found)
    except (PalaceError, sqlite3.Error, OSError, ValueError):
        return []
    return sorted({line[name] for line in found[lines]})


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
