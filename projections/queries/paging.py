"""Cursors: where a list goes on, and at which moment it was begun.

Protects stable paging: a cursor pins the position and the instants of the first page, so that what
is written meanwhile neither repeats nor hides a line. Opaque to callers; a foreign or altered one
is refused.
"""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from typing import Any, Final

import orjson

from domain.canonical import INTEGER_MAX
from domain.errors import invalid
from domain.instants import EARLIEST, LATEST
from projections.reading import Reading

_SEAL_BYTES: Final = 6


def cursor_text(tool: str, reading: Reading, last: list[Any]) -> str:
    """The cursor after a line that `last` identifies; bytes are allowed in it."""
    moment = reading.moment
    marks = [mark.hex() if isinstance(mark, bytes) else mark for mark in last]
    raw = orjson.dumps(
        [tool, reading.checkpoint.log_id, moment.position, moment.as_of, moment.known_at, *marks]
    )
    return base64.urlsafe_b64encode(_seal(raw) + raw).decode().rstrip("=")


def resume(tool: str, reading: Reading, text: str | None, kinds: tuple[type, ...]) -> list[Any]:
    """Go on behind a cursor: pins the reading to its moment and answers with its last line's marks.

    Args:
        kinds: the types that the marks must have: int, str or bytes.

    Returns:
        The marks, empty for a first page.

    Raises:
        InvalidInput: the cursor was not made by this list on this log.
    """
    if text is None:
        return []
    try:
        sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        seal, raw = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        made_by, log_id, position, as_of, known_at, *last = orjson.loads(raw)
        if seal != _seal(raw) or (made_by, log_id) != (tool, reading.checkpoint.log_id):
            raise ValueError
        marks = [_mark(mark, kind) for mark, kind in zip(last, kinds, strict=True)]
        _instant(as_of)
        if known_at is not None:
            _instant(known_at)
        reading.pin(min(_mark(position, int), reading.checkpoint.position), as_of, known_at)
    except (binascii.Error, ValueError, TypeError):
        raise invalid(
            "cursor", "is not one that this list gave", "Leave it out to begin anew."
        ) from None
    return marks


def _seal(raw: bytes) -> bytes:
    """Tells a slip from a cursor; what it holds is checked all the same."""
    return sha256(raw).digest()[:_SEAL_BYTES]


def _instant(value: Any) -> None:
    if not EARLIEST <= _mark(value, int) <= LATEST:
        raise ValueError


def _mark(value: Any, kind: type) -> Any:
    if kind is bytes:
        return bytes.fromhex(value)
    whole = isinstance(value, kind) and not isinstance(value, bool)
    if not whole or (isinstance(value, int) and abs(value) > INTEGER_MAX):
        raise ValueError
    return value
