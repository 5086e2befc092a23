"""Cursors: where a list goes on, and at which moment it was begun.

Protects stable paging: a cursor pins the position and the instants of the first page, so that what
is written meanwhile neither repeats nor hides a line; and it belongs to the filters that it was
given for. Opaque to callers; a foreign or altered one is refused.
"""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from typing import Any, Final

import orjson

from domain.canonical import INTEGER_MAX, canonical, digest
from domain.errors import invalid
from domain.instants import EARLIEST, LATEST
from domain.operations.common import Paged
from projections.reading import Reading

_SEAL_BYTES: Final = 6
_QUESTION_DIGITS: Final = 12
_MOMENT: Final = ("as_of", "known_at")


def cursor_text(tool: str, reading: Reading, asked: Paged, last: list[Any]) -> str:
    """The cursor after a line that `last` identifies; bytes are allowed in it."""
    moment = reading.moment
    marks = [mark.hex() if isinstance(mark, bytes) else mark for mark in last]
    filters, said = _question(asked)
    begun = [tool, reading.checkpoint.log_id, filters, said]
    raw = orjson.dumps([*begun, moment.position, moment.as_of, moment.known_at, *marks])
    return base64.urlsafe_b64encode(_seal(raw) + raw).decode().rstrip("=")


def resume(
    tool: str, reading: Reading, asked: Paged, cursor: str | None, kinds: tuple[type, ...]
) -> list[Any]:
    """Go on behind a cursor: pins the reading to its moment and answers with its last line's marks.

    Args:
        asked: its filters must be those of the first page; its moment too, or left out.
        kinds: the types that the marks must have: int, str or bytes.

    Returns:
        The marks, empty for a first page.

    Raises:
        InvalidInput: the cursor was not made by this list on this log, or for another question.
    """
    if cursor is None:
        return []
    filters, said = _question(asked)
    try:
        raw = _unsealed(cursor)
        made_by, log_id, made_for, made_at, position, as_of, known_at, *last = orjson.loads(raw)
        if (made_by, log_id) != (tool, reading.checkpoint.log_id):
            raise ValueError
        marks = [_mark(mark, kind) for mark, kind in zip(last, kinds, strict=True)]
        _instant(as_of)
        if known_at is not None:
            _instant(known_at)
        position = min(_mark(position, int), reading.checkpoint.position)
    except (binascii.Error, ValueError, TypeError):
        raise invalid(
            "cursor", "is not one that this list gave", "Leave it out to begin anew."
        ) from None
    if made_for != filters or (said and made_at != said):
        raise invalid(
            "cursor",
            "was given for another question",
            "Ask with the filters of the first page, or leave it out to begin anew.",
        )
    reading.pin(position, as_of, known_at)
    return marks


def _question(asked: Paged) -> tuple[str, str]:
    """What tells the filters of a question from others, and its moment; "" where it names none."""
    filters = asked.question()
    moment: dict[str, Any] = {name: filters.pop(name) for name in _MOMENT if name in filters}
    return _short(filters), _short(moment) if moment else ""


def _short(said: dict[str, Any]) -> str:
    return digest(canonical(said)).hex()[:_QUESTION_DIGITS]


def _unsealed(text: str) -> bytes:
    sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    seal, raw = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    if seal != _seal(raw):
        raise ValueError
    return raw


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
