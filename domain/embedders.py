"""Which embedder this device's search goes by, and vectors that were given to it, as recorded.

Protects vectors from meeting others: what a search goes by is what the log says last, never what a
settings file says. Events of this area are local: what a machine embeds with is its own matter.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from domain.belief import Event, Finds, Fold, Held
from domain.canonical import canonical
from domain.operations.embedding import vector_bytes

EMBEDDER_CHANGED: Final = "embedder_changed"
EMBED: Final = "embed"
ATTACH_EMBEDDING: Final = "attach_embedding"
EMBEDDER: Final = "embedder"
"""The key of the embedder that counts."""
_SEPARATOR: Final = "\x1f"
_SHORT_DIGITS: Final = 10
_NAME_MAX: Final = 64
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


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


class Attached(NamedTuple):
    """Vectors of a text that somebody gave, so that it need not be embedded.

    Attributes:
        embedder: the short form of its identity.
        vectors: the numbers of all chunks in a row, float32, little endian.
    """

    id: str
    drawer_id: str
    embedder: str
    chunks: int
    vectors: bytes
    rank: bytes
    op_id: str


def attached_id(embedder: str, drawer_id: str) -> str:
    """The key of the vectors of a text that are of one embedder."""
    return _SEPARATOR.join(("attached", embedder, drawer_id))


def changed(held: Held, event: Event) -> Held:
    """embedder_changed: from now on this one counts."""
    payload = event.payload
    held.find(Embedding, "id", EMBEDDER)
    held.put(
        Embedding(
            EMBEDDER,
            payload["short"],
            canonical(payload["embedder"]).decode(),
            payload.get("previous"),
            event.recorded_at,
            event.rank,
            event.op_id,
        )
    )
    return held


def attached(held: Held, event: Event) -> Held:
    """attach_embedding: these are the text's vectors, in place of any given before."""
    stated = event.payload
    id = attached_id(stated["embedder"], stated["drawer_id"])
    held.find(Attached, "id", id)
    held.put(
        Attached(
            id,
            stated["drawer_id"],
            stated["embedder"],
            stated["chunks"],
            vector_bytes(stated),
            event.rank,
            event.op_id,
        )
    )
    return held


def _members(event: Event) -> tuple[str, ...]:
    if event.tool == EMBEDDER_CHANGED:
        return (EMBEDDER,)
    return (attached_id(event.payload["embedder"], event.payload["drawer_id"]),)


def _mentions(event: Event) -> tuple[tuple[str, str], ...]:
    drawer_id = event.payload.get("drawer_id")
    return (("drawer", drawer_id),) if drawer_id else ()


_EVOLVE: Final = {EMBEDDER_CHANGED: changed, ATTACH_EMBEDDING: attached}

EMBEDDERS: Final = Fold(
    name="embedders",
    kinds=(Embedding, Attached),
    indexes={Embedding: ("id",), Attached: ("id",)},
    members=_members,
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
    mentions=_mentions,
)


def counting(rows: Finds) -> Embedding | None:
    """The embedder that counts; None before the first text was embedded."""
    found = rows.find(Embedding, "id", EMBEDDER)
    return found[-1] if found else None


def short_of(identity: Mapping[str, Any]) -> str:
    """The short form of an identity: its name, made to fit a folder's, and 10 hex digits of the
    whole. It names the folder, and stands in answers.
    """
    digest = sha256(canonical(dict(identity))).hexdigest()
    name = _UNFIT.sub("-", str(identity["name"])).lstrip(".-")[:_NAME_MAX]
    return f"{name or EMBEDDER}-{digest[:_SHORT_DIGITS]}"


def identity_told(embedding: Embedding) -> dict[str, Any]:
    """The fields of its identity."""
    told: dict[str, Any] = orjson.loads(embedding.identity)
    return told
