"""The audit copy written out as files that other tools open: Parquet or CSV, one for each table.

Protects the reader: a folder is written whole or not at all. Takes no SQL from anybody.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from duckdb import DuckDBPyConnection

from domain.errors import invalid
from projections.audit.copy import quoted
from projections.audit.schema import tables

PARQUET: Final = "parquet"
CSV: Final = "csv"
_OPTIONS: Final = {PARQUET: "FORMAT parquet, COMPRESSION zstd", CSV: "FORMAT csv, HEADER true"}


def check_target(folder: Path) -> None:
    """That a folder can be written.

    Raises:
        InvalidInput: it exists and is not an empty folder, or there is no folder to make it in.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise invalid("folder", f"names {folder}, which is there already", "Name a new folder.")
    if not folder.absolute().parent.is_dir():
        raise invalid("folder", f"is to be made in {folder.parent}, which is no folder")


def export(connection: DuckDBPyConnection, folder: Path, form: str) -> list[dict[str, Any]]:
    """Write every table to `<folder>/<table>.<form>`.

    Args:
        form: `parquet` or `csv`.

    Returns:
        `{table, file, rows}` for each.
    """
    target = folder.absolute()
    staged = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        written = []
        for name in tables():
            file = f"{name}.{form}"
            where = quoted(str(staged / file))
            done = connection.execute(f"COPY (FROM {name}) TO {where} ({_OPTIONS[form]})")
            [(rows,)] = done.fetchall()
            written.append({"table": name, "file": file, "rows": rows})
        staged.replace(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return written
