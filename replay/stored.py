"""The events of a log as they lie in the file: quickly, for a copy that is thrown away.

Protects speed without giving up honesty: the library and the decoding into an `Operation` are left
out, and a payload that has not the digest that its header names is still refused. May not be used
to decide or to fold anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import orjson

from domain.errors import Damaged
from projections.audit.sources import StoredEvent
from replay.log import AT_ONCE, Log

_PAGE: Final = (
    "SELECT rowid, state FROM stored_events WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?"
)


def stored_events(log: Log, after: int, upto: int) -> Iterator[StoredEvent]:
    """The events behind a position up to another one, in order of arrival.

    Raises:
        Damaged: `palacelog::log::undecodable` or `palacelog::log::payload`, naming the position.
    """
    while after < upto:
        with log.app.datastore.transaction(commit=False) as cursor:
            cursor.execute(_PAGE, (after, upto, AT_ONCE))
            rows = cursor.fetchall()
        if not rows:
            return
        for position, state in rows:
            yield _event(position, state)
        after = rows[-1][0]


def _event(position: int, stored: bytes) -> StoredEvent:
    try:
        state: dict[str, Any] = orjson.loads(stored)
        header: dict[str, Any] = orjson.loads(state["header"])
        payload: str | None = state["payload"]
        if payload is not None and not _fits(payload, state["nonce"], header["payload_digest"]):
            raise _damaged("log::payload", "is not what was written", position)
        return StoredEvent(position, header, payload, state["logged_at"], state["order_hlc"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged("log::undecodable", "cannot be decoded", position) from error


def _fits(payload: str, nonce: str, digest: str) -> bool:
    """Whether a payload has its digest; `domain.canonical.digest` written out, as it is the half
    of the time that an event takes.
    """
    told, hidden = payload.encode(), bytes.fromhex(nonce)
    framed = b"%d:%b%d:%b" % (len(hidden), hidden, len(told), told)
    return sha256(framed).hexdigest() == digest


def _damaged(code: str, what: str, position: int) -> Damaged:
    return Damaged(
        code,
        f"The event at position {position} {what}.",
        "Run `palacelog log verify`, and restore from a backup.",
        position,
    )
