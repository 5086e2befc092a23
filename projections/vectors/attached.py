"""Vectors that were given to the palace: what the log says of them, and what of it a cache lacks.

Protects what was given from being lost: it stands in the log, so that a cache which was thrown away
takes it again. May not write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from sqlalchemy import bindparam, func, select

from domain.embedders import Attached
from projections import tables
from projections.tables import BELIEFS, STILL_BELIEVED, Prepared
from projections.vectors.embedder import Passage

_B: Any = bindparam
_numbered, _attached = tables.numbered, BELIEFS[Attached]
_joined = _attached.join(_numbered, _numbered.c.drawer_id == _attached.c.drawer_id)
_held = (_attached.c.embedder == _B("embedder"), _attached.c.believed_until == STILL_BELIEVED)
_WANTED = Prepared(
    select(_numbered.c.digest, _attached.c.op_id)
    .select_from(_joined)
    .where(*_held)
    .order_by(_attached.c.rank)
)
_VECTORS = Prepared(
    select(_attached.c.vectors)
    .select_from(_joined)
    .where(*_held, _numbered.c.digest == _B("digest"), _attached.c.op_id == _B("op_id"))
)
_OPENED = Prepared(select(func.max(_attached.c.believed_from)))
_CLOSED = Prepared(
    select(func.max(_attached.c.believed_until)).where(_attached.c.believed_until < STILL_BELIEVED)
)
NUMBER: Final = "<f4"

Marks = tuple[int | None, int | None]


def marks(cursor: sqlite3.Cursor) -> Marks:
    """Two numbers that change with what is attached; found without a look at all of it."""
    opened, closed = _OPENED(cursor).fetchone(), _CLOSED(cursor).fetchone()
    return opened[0], closed[0]


def wanted(cursor: sqlite3.Cursor, short: str) -> dict[bytes, str]:
    """The digests of texts that vectors were given for, with the op_id of the newest."""
    return dict(_WANTED(cursor, embedder=short).fetchall())


def given(
    cursor: sqlite3.Cursor, short: str, digest: bytes, op_id: str, dimension: int
) -> Sequence[Passage]:
    """The vectors of a text, chunk by chunk; they come without tokens."""
    [(raw,), *_] = _VECTORS(cursor, embedder=short, digest=digest, op_id=op_id).fetchall()
    vectors = np.frombuffer(raw, dtype=NUMBER).astype(np.float32).reshape(-1, dimension)
    no_bits = np.empty((0, (dimension + 7) // 8), dtype=np.uint8)
    return [Passage(vector, no_bits) for vector in vectors]
