"""Whose an entry of a server is that goes by our name.

Protects what a person set up by hand: it is taken out only where it runs our command, or was
written by us for an address.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final

from palacelog.hosts.labels import MODES
from palacelog.hosts.wanted import MODE_HEADER, NAME, SERVE

_CEILINGS: Final = frozenset(("--mode", mode) for mode in MODES.values())
"""Behind a command of any name: what we always write of it."""


def is_ours(entry: Any) -> bool:
    """Whether a host's entry starts `palacelog mcp`, or names an address as we write it."""
    if not isinstance(entry, dict):
        return False
    headers = entry.get("headers") or entry.get("http_headers")
    if "url" in entry:
        return isinstance(headers, dict) and MODE_HEADER in headers
    words = _words(entry)
    if SERVE not in words:
        return False
    before = words[: words.index(SERVE)]
    named = any(PurePath(word).name == NAME for word in before)
    return named or not _CEILINGS.isdisjoint(pairwise(before))


def _words(entry: dict[str, Any]) -> list[str]:
    """The command and its arguments, in one list or in two."""
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [word for word in words if isinstance(word, str)]
