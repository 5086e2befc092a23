"""SQL of a person, on a connection that can read the copy and do nothing else.

Protects the copy and the machine: one SELECT at a time and no other statement, because a read-only
transaction could simply be committed; what the connection itself may not do stands in `copy`.
Protects pipes: every value becomes what JSON can hold, times in RFC 3339.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import duckdb
from duckdb import DuckDBPyConnection, StatementType

from domain.errors import InvalidInput

ROWS_MAX: Final = 10_000
_CURE: Final = "`palacelog audit sql 'SHOW TABLES'` lists what can be asked; see docs/audit.md."
_WRONG: Final = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.NotSupportedError,
    duckdb.PermissionException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
)


def select(connection: DuckDBPyConnection, text: str, limit: int) -> dict[str, Any]:
    """The rows that a SELECT gives.

    Args:
        limit: at most so many rows; `more` says whether there are others.

    Raises:
        InvalidInput: `palacelog::audit::sql`, it is no single SELECT, or fails.
    """
    try:
        statements = connection.extract_statements(text)
        if [one.type for one in statements] != [StatementType.SELECT]:
            raise InvalidInput("audit::sql", "Only one SELECT can be asked at a time.", _CURE)
        found = connection.execute(text)
        columns = [column[0] for column in found.description]
        rows = found.fetchmany(limit + 1)
    except _WRONG as error:
        first, _, _ = str(error).strip().partition("\n")
        raise InvalidInput("audit::sql", f"{first.rstrip('.')}.", _CURE) from error
    return {
        "columns": columns,
        "rows": [[plain(value) for value in row] for row in rows[:limit]],
        "more": len(rows) > limit,
    }


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.isoformat() if isinstance(value, date) else str(value)


def _time(value: datetime) -> str:
    """RFC 3339 with `Z`; a time without a zone stays without one."""
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
