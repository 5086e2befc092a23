"""Which embedder this device's search goes by, as recorded.

Protects vectors from meeting others: what a search goes by is what the log says last, never what a
settings file says. Events of this area are local: what a machine embeds with is its own matter.
Pure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from domain.belief import Event, Finds, Fold, Held
from domain.canonical import canonical

EMBEDDER_CHANGED: Final = "embedder_changed"
_EMBEDDER: Final = "embedder"


class Embedding(NamedTuple):
    """The embedder that counts.

    Attributes:
        id: always `embedder`: there is one at a time.
        short: of its identity, as folders are named.
        identity: canonical JSON (see `projections.vectors.embedder.Identity`).
        previous: short form of the one before; None of the first.
    """

    id: str
    short: str
    identity: str
    previous: str | None
    recorded_at: int
    rank: bytes
    op_id: str


def changed(held: Held, event: Event) -> Held:
    """embedder_changed: from now on this one counts."""
    payload = event.payload
    held.find(Embedding, "id", _EMBEDDER)
    held.put(
        Embedding(
            _EMBEDDER,
            payload["short"],
            canonical(payload["embedder"]).decode(),
            payload.get("previous"),
            event.recorded_at,
            event.rank,
            event.op_id,
        )
    )
    return held


_EVOLVE: Final = {EMBEDDER_CHANGED: changed}

EMBEDDERS: Final = Fold(
    name="embedders",
    kinds=(Embedding,),
    indexes={Embedding: ("id",)},
    members=lambda event: (_EMBEDDER,),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
)


def counting(rows: Finds) -> Embedding | None:
    """The embedder that counts; None before the first text was embedded."""
    found = rows.find(Embedding, "id", _EMBEDDER)
    return found[-1] if found else None


def identity_told(embedding: Embedding) -> dict[str, Any]:
    """The fields of its identity."""
    told: dict[str, Any] = orjson.loads(embedding.identity)
    return told
