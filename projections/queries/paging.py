"""Cursors: where a list goes on, and at which moment it was begun.

Protects stable paging: a cursor pins the position and the instant of the first page, so that what
is written meanwhile neither repeats nor hides a line. Opaque to callers; a foreign or altered one
is refused.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from domain.errors import invalid
from projections.reading import Reading


def cursor_text(tool: str, reading: Reading, last: list[Any]) -> str:
    """The cursor after a line that `last` identifies."""
    moment = reading.moment
    raw = orjson.dumps([tool, reading.checkpoint.log_id, moment.position, moment.as_of, *last])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def resume(tool: str, reading: Reading, text: str | None, kinds: tuple[type, ...]) -> list[Any]:
    """Go on behind a cursor: pins the reading to its moment and answers with its last line's marks.

    Args:
        kinds: the types that the marks must have.

    Returns:
        The marks, empty for a first page.

    Raises:
        InvalidInput: the cursor was not made by this list on this log.
    """
    if text is None:
        return []
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        made_by, log_id, position, as_of, *last = orjson.loads(raw)
    except (binascii.Error, ValueError, TypeError):
        raise _foreign() from None
    whole = type(position) is int and type(as_of) is int and tuple(map(type, last)) == kinds
    if (made_by, log_id) != (tool, reading.checkpoint.log_id) or not whole:
        raise _foreign()
    reading.pin(min(position, reading.checkpoint.position), as_of)
    return list(last)


def _foreign() -> Exception:
    return invalid("cursor", "is not one that this list gave", "Leave it out to begin anew.")
