"""The ready-made questions: who was active when and with what, summed over the whole log.

Protects what a disabled session may see: names of devices and tools, and counts; agents are asked
for apart. Never a name out of a memory, never content. May not write. Days are UTC's.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from duckdb import DuckDBPyConnection

from domain.instants import EARLIEST, LATEST

TOP: Final = 10
_CHOSEN: Final = "FROM stored.operations WHERE recorded_at >= $since AND recorded_at < $before"
_DAY: Final = "strftime(make_timestamp(recorded_at), '%Y-%m-%d') AS day"
_DEVICES: Final = f"""
SELECT device, count(*) AS operations, instant(min(recorded_at)) AS first,
    instant(max(recorded_at)) AS last
{_CHOSEN} GROUP BY device ORDER BY operations DESC, device"""
_TOOLS: Final = f"""
SELECT tool, count(*) AS operations
{_CHOSEN} GROUP BY tool ORDER BY operations DESC, tool"""
_DAYS: Final = f"SELECT {_DAY}, count(*) AS operations {_CHOSEN} GROUP BY day ORDER BY day"
_DAYS_OF_DEVICES: Final = f"""
SELECT {_DAY}, device, count(*) AS operations
{_CHOSEN} GROUP BY day, device ORDER BY day, device"""
_AGENTS: Final = f"""
SELECT agent, count(*) AS operations, count(DISTINCT session) AS sessions
{_CHOSEN} AND agent IS NOT NULL
GROUP BY agent ORDER BY operations DESC, agent LIMIT {TOP}"""


class Window(NamedTuple):
    """When it was recorded: half-open, microseconds UTC."""

    since: int = EARLIEST
    before: int = LATEST + 1


def activity(connection: DuckDBPyConnection, window: Window) -> dict[str, Any]:
    """How many operations were recorded on each day, on each device and with each tool."""
    return {
        "days": _rows(connection, _DAYS, window),
        "devices": _rows(connection, _DEVICES, window),
        "tools": _rows(connection, _TOOLS, window),
    }


def days_of_devices(connection: DuckDBPyConnection, window: Window) -> dict[str, Any]:
    """How many operations were recorded on each day on each device."""
    return {"days": _rows(connection, _DAYS_OF_DEVICES, window)}


def agents(connection: DuckDBPyConnection, window: Window) -> dict[str, Any]:
    """The most active agents, with how many sessions they had."""
    return {"agents": _rows(connection, _AGENTS, window)}


def _rows(connection: DuckDBPyConnection, query: str, window: Window) -> list[dict[str, Any]]:
    found = connection.execute(query, window._asdict())
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
