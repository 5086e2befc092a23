"""How a write on vectors is decided.

Protects vectors from meeting those of another embedder, and search from numbers that no embedder
could have made. Pure: what was embedded comes in with what was asked.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Sequence
from typing import Any, Final

from domain.embedders import EMBEDDER, EMBEDDERS, Attached, attached_id, counting, identity_told
from domain.errors import PalaceError, Refused, Unusable, invalid
from domain.operations.common import Decided
from domain.operations.embedding import CutText, EmbedRun, vector_bytes
from domain.ports import Known


def decide_embed(asked: EmbedRun, known: Known, now: int) -> Decided:
    """What came of embedding is recorded as it is."""
    return Decided(asked.run.model_dump())


def decide_attach(asked: CutText, known: Known, now: int) -> Decided:
    """Resolve vectors of a text: of length 1, of the embedder that counts, one for each chunk."""
    said = counting(known.held(EMBEDDERS, EMBEDDER))
    if said is None or said.short != asked.embedder:
        raise _not_counting(asked.embedder, None if said is None else said.short)
    if known.text(asked.drawer_id) is None:
        raise Refused(
            "drawers::unknown",
            f"{asked.drawer_id} is not known here.",
            "Look it up with list_drawers; ids are complete, with wing, room and hash.",
        )
    if len(asked.vectors) != asked.chunks:
        raise invalid(
            "vectors",
            f"are {len(asked.vectors)}, and {said.short} cuts the text into {asked.chunks} chunks",
            "Give one list of numbers for each chunk, in order.",
        )
    dimension = identity_told(said)["dimension"]
    packed = b"".join(_packed(one, place, dimension) for place, one in enumerate(asked.vectors))
    payload: dict[str, Any] = {
        "drawer_id": asked.drawer_id,
        "embedder": said.short,
        "chunks": len(asked.vectors),
        "vectors": base64.b64encode(packed).decode(),
    }
    id = attached_id(said.short, asked.drawer_id)
    standing = known.held(EMBEDDERS, id).find(Attached, "id", id)
    same = bool(standing) and standing[-1].vectors == vector_bytes(payload)
    return Decided(payload | {"duplicate": same}, "known")


def no_embedder() -> PalaceError:
    """The refusal of a palace in which nothing is embedded."""
    return Unusable(
        "vectors::no_embedder",
        "This palace has no embedder.",
        "Set `vectors.embedder` in its settings: `minilm`, `wordllama`, or a folder with a model.",
    )


def _packed(vector: Sequence[float], place: int, dimension: int) -> bytes:
    field = f"vectors.{place}"
    if len(vector) != dimension:
        raise invalid(field, f"has {len(vector)} numbers, and the embedder's have {dimension}")
    largest = max(map(abs, vector))
    if largest == 0:
        raise invalid(field, "is all zero, which points nowhere")
    # Scaled first, so that no square of a huge or tiny number is lost.
    scaled = [number / largest for number in vector]
    length = math.hypot(*scaled)
    return struct.pack(f"<{dimension}f", *(number / length for number in scaled))


def _not_counting(given: str, counts: str | None) -> Refused:
    if counts is None:
        return Refused(
            "vectors::not_counting",
            f"No embedder counts yet, so vectors of {given[:80]} cannot be taken.",
            "Run `palacelog embed` first.",
        )
    return Refused(
        "vectors::not_counting",
        f"Search goes by {counts}; vectors of {given[:80]} would never meet its own.",
        f"Give vectors of {counts}.",
    )


def answer_embed(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What was embedded, and what could not be."""
    return {name: payload[name] for name in _TOLD}


def answer_attach(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What the vectors are of."""
    return {name: payload[name] for name in ("drawer_id", "embedder", "chunks")}


_TOLD: Final = ("embedder", "embedded", "failed", "remaining")
