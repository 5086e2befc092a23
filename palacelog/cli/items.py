"""The file of a checkpoint: an object, a list of items, or one item a line.

Protects the border: JSON from a file is read strictly, and a fault names its line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from domain.canonical import NotStorable, read_json
from domain.errors import invalid
from palacelog.cli.texts import read

_CURE = "Give an object with `items`, a list of items, or one item a line."


def read_items(file: Path) -> dict[str, Any]:
    """The arguments of a checkpoint.

    Raises:
        InvalidInput: it is no JSON, or neither of the three.
    """
    raw = read(file, "FILE")
    if not raw.strip():
        raise invalid("FILE", "is empty", _CURE)
    try:
        whole = read_json(raw)
    except NotStorable as error:
        lines = [(number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip()]
        if len(lines) == 1:
            raise invalid("FILE", f"is no JSON: {error}", _CURE) from None
        return {"items": [_line(number, line) for number, line in lines]}
    if isinstance(whole, list):
        return {"items": whole}
    if not isinstance(whole, dict):
        raise invalid("FILE", "holds neither an object nor a list", _CURE)
    return {"items": [whole]} if "content" in whole else whole


def _line(number: int, line: bytes) -> Any:
    try:
        return read_json(line)
    except NotStorable as error:
        raise invalid("FILE", f"is no JSON in line {number}: {error}", _CURE) from None
