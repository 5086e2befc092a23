"""Static embedders: a table of one vector a token, of which a text's vector is the mean.

Protects small machines: no model runs, and what comes out is bit for bit the same on every machine.
May not look for files (see `projections.vectors.models`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from safetensors.numpy import load

from projections.vectors.embedder import (
    Chunk,
    Identity,
    Passage,
    Question,
    Vectors,
    Vocabulary,
    cut,
    of_length_one,
    signs,
)


class StaticEmbedder:
    """A table and its tokenizer, loaded."""

    def __init__(self, identity: Identity, model: bytes, tokenizer: bytes) -> None:
        """Load the only tensor of a safetensors file: [tokens, dimension]; the dimension of the
        identity is taken from it where it is 0.

        Raises:
            ValueError: the file holds something else.
        """
        self._vocabulary = Vocabulary(tokenizer)
        tensors = list(load(model).values())
        if len(tensors) != 1 or tensors[0].ndim != 2:
            raise ValueError("it does not hold one table of vectors")
        self._table: Vectors = tensors[0].astype(np.float32)
        dimension = identity.dimension or self._table.shape[1]
        self.identity = replace(identity, dimension=dimension)

    def close(self) -> None:
        """Nothing is held."""

    def chunks(self, text: str) -> list[Chunk]:
        """The stretches in which a text is embedded."""
        return cut(self._vocabulary.ids(text), self.identity.tokens_max)

    def passages(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        """What it makes of each chunk, with its place."""
        for place, chunk in enumerate(chunks):
            rows = self._rows(chunk.ids)
            yield place, Passage(_pooled(rows), signs(rows[self._vocabulary.telling(chunk.ids)]))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[n, dimension]: the vector of each text's first chunk."""
        found = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            found[place] = _pooled(self._rows(self.chunks(text)[0].ids))
        return found

    def question(self, text: str) -> Question:
        """What it makes of a question."""
        spans = self._vocabulary.spans(text)[: self.identity.tokens_max]
        rows = self._rows([one for one, _, _ in spans])
        return self._vocabulary.question(spans, _pooled(rows), rows)

    def readable(self, text: str) -> bool:
        """Whether it knows the words of a text."""
        return self._vocabulary.knows(self.chunks(text)[0].ids)

    def unknown(self, text: str) -> str:
        """What of a text it does not know."""
        return self._vocabulary.unknown(text)

    def _rows(self, ids: Sequence[int]) -> Vectors:
        return self._table[np.minimum(np.asarray(ids, dtype=np.int64), len(self._table) - 1)]


def _pooled(rows: Vectors) -> Vectors:
    if not len(rows):
        return np.zeros(rows.shape[1], dtype=np.float32)
    mean: Vectors = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    return of_length_one(mean)
