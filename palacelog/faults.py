"""How a fault of this program is told in its own log.

Protects content: the text of a fault may hold anything, so only its kind and its place are told.
"""

from __future__ import annotations

import traceback


def where(fault: Exception) -> str:
    """The kind of a fault and where it came up; its text may hold anything."""
    while isinstance(fault, ExceptionGroup):
        [fault, *_] = fault.exceptions
    frames = traceback.extract_tb(fault.__traceback__)
    last = frames[-1] if frames else None
    place = "?" if last is None else f"{last.name}:{last.lineno}"
    return f"{type(fault).__name__} in {place}"
