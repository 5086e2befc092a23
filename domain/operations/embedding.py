"""The operations on vectors: what they ask, what they record, what they answer.

Protects the border; what a machine embeds with is its own matter, so these events never travel.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from domain.operations.common import Answers, Id, Line, Records, WriteAnswers, Writes

FAILED_MAX: Final = 1_000
NUMBER_BYTES: Final = 4
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _check_base64(text: str) -> str:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("is not base64") from None
    if not raw or len(raw) % NUMBER_BYTES:
        raise ValueError("is no list of float32")
    return text


class EmbedAsks(Writes):
    """Embed the texts that have no vectors yet."""

    limit: int | None = Field(None, ge=1, description="At most so many texts.")
    retry_failed: bool = Field(True, description="Also texts that could not be embedded before.")


class NotEmbedded(Records):
    """A text that the embedder could not take, by one of its drawers."""

    drawer_id: str
    reason: str


class EmbedRecords(Records):
    """What came of embedding.

    Attributes:
        embedder: the short form of its identity.
        embedded: how many texts have vectors now that had none.
        failed: texts that could not be embedded, in this run or before; at most `FAILED_MAX`.
        remaining: how many texts have no vectors, those that failed included.
    """

    embedder: str = Field(min_length=1)
    embedded: int = Field(ge=0)
    failed: list[NotEmbedded] = Field(default_factory=list)
    remaining: int = Field(ge=0)
    duplicate: bool = False


class EmbedRun(EmbedAsks):
    """What was asked, with what came of it; the work is done before anything is decided."""

    run: EmbedRecords


class NotEmbeddedLine(Answers):
    """A text that the embedder could not take, by one of its drawers."""

    drawer_id: str
    reason: str


class EmbedAnswers(WriteAnswers):
    """What was embedded, and what could not be."""

    embedder: str = Field(description="The embedder that search goes by.")
    embedded: int = Field(description="How many texts have vectors now that had none.")
    failed: list[NotEmbeddedLine] = Field(description=f"At most {FAILED_MAX}.")
    remaining: int = Field(description="How many texts have no vectors, failed ones included.")


class AttachEmbeddingAsks(Writes):
    """Take vectors that somebody made of a text with the embedder that search goes by."""

    drawer_id: Id = Field(description="A drawer with the text.")
    embedder: Line = Field(description="The embedder they are of, as answers name it.")
    vectors: list[list[_Number]] = Field(
        min_length=1, description="One list of numbers for each chunk of the text, in order."
    )


class CutText(AttachEmbeddingAsks):
    """What was asked, with how many chunks the embedder cuts the text into; None where the text or
    the embedder is not there to ask.
    """

    chunks: int | None


class AttachEmbeddingRecords(Records):
    """Vectors of a text.

    Attributes:
        vectors: the numbers of all chunks in a row, float32, little endian, in base64; each vector
            of length 1.
    """

    drawer_id: str = Field(min_length=1)
    embedder: str = Field(min_length=1)
    chunks: int = Field(ge=1)
    vectors: Annotated[str, AfterValidator(_check_base64)]
    duplicate: bool = False


class AttachEmbeddingAnswers(WriteAnswers):
    """What the vectors are of."""

    drawer_id: str
    embedder: str
    chunks: int


def vector_bytes(payload: dict[str, Any]) -> bytes:
    """The numbers of an `attach_embedding` event as they are kept."""
    return base64.b64decode(payload["vectors"])
