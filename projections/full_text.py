"""Keeping the full text index: what is written to it, and what it says of itself.

Protects promise 6: texts are numbered as they arrived and never taken out, so that what the index
knew at any position can be told from what came later. Hidden texts are left out by who reads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from projections.tables import WORD_PLACES, WORDS

_LAST: Final = "SELECT number, words_upto FROM numbered ORDER BY number DESC LIMIT 1"
_TAKE_IN: Final = (
    f"INSERT INTO {WORDS} (rowid, body)"
    " SELECT rowid, searchable(content) FROM texts WHERE rowid > ? ORDER BY rowid"
)
_NUMBER: Final = (
    "INSERT INTO numbered"
    " (number, drawer_id, wing_key, room_key, position, words, words_upto, digest)"
    " SELECT texts.rowid, drawer_id, wing_key, room_key, position, words_in(size.sz),"
    " ? + sum(words_in(size.sz)) OVER (ORDER BY texts.rowid), digest_of(content)"
    f" FROM texts JOIN {WORDS}_docsize size ON size.id = texts.rowid WHERE texts.rowid > ?"
)
_HELD: Final = (
    # Each word with where it stands, as sums that any wrong place would change.
    'SELECT term, count(*), sum(doc), sum(doc * 1000003 % ("offset" + 7919)), sum("offset")'
    f" FROM {WORD_PLACES} GROUP BY term",
    f"SELECT id, sz FROM {WORDS}_docsize",
    f"SELECT k, v FROM {WORDS}_config",
    f"SELECT id, block FROM {WORDS}_data WHERE id = 1",
)


def take_in(cursor: sqlite3.Cursor) -> None:
    """Index the texts that arrived since the last time."""
    last, words = cursor.execute(_LAST).fetchone() or (0, 0)
    cursor.execute(_TAKE_IN, (last,))
    cursor.execute(_NUMBER, (words, last))


def held(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    """What the index holds, however it is laid out: equal to that of a rebuild."""
    for statement in _HELD:
        yield from cursor.execute(statement)
