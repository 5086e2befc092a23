"""Sentence models of the BERT family on onnxruntime.

Protects determinism: the graph's optimisation is pinned, a session works on one thread, and what a
text becomes does not depend on the texts beside it. Protects privacy: the library is told to count
and to send nothing. Speed comes from two threads that share a session. May not look for files (see
`projections.vectors.models`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from projections.vectors.embedder import (
    Chunk,
    Identity,
    Passage,
    Question,
    Vectors,
    Vocabulary,
    batches,
    cut,
    of_length_one,
    signs,
)

# On Linux the library counts what it does and sends it away, and keeps an identity of this machine
# in the home folder, unless it is told not to before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

onnxruntime.disable_telemetry_events()

BATCH: Final = 8
THREADS: Final = 2
_SPECIAL: Final = 2
_REQUIRED: Final = frozenset({"input_ids", "attention_mask"})
_KNOWN: Final = _REQUIRED | {"token_type_ids"}


class OnnxEmbedder:
    """A model and its tokenizer, loaded.

    The vector of a chunk is the mean of its tokens' last hidden states, [CLS] and [SEP] included,
    scaled to length 1 (as sentence-transformers does it).
    """

    def __init__(self, identity: Identity, model: bytes, tokenizer: bytes) -> None:
        """Load a model; the dimension of the identity is taken from it where it is 0.

        Raises:
            ValueError: it is no sentence model of the BERT family.
        """
        self._vocabulary = Vocabulary(tokenizer)
        self._first = self._vocabulary.special("[CLS]")
        self._last = self._vocabulary.special("[SEP]")
        self.session: Any = onnxruntime.InferenceSession(
            model, _options(), providers=["CPUExecutionProvider"]
        )
        self._inputs = {one.name for one in self.session.get_inputs()}
        shape = self.session.get_outputs()[0].shape
        if not _REQUIRED <= self._inputs <= _KNOWN:
            raise ValueError(f"it asks for {', '.join(sorted(self._inputs))}")
        if len(shape) != 3 or not isinstance(shape[-1], int):
            raise ValueError("it does not answer with a vector for each token")
        self.identity = replace(identity, dimension=identity.dimension or shape[-1])
        self._pool = ThreadPoolExecutor(THREADS, "palacelog-embedder")

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def chunks(self, text: str) -> list[Chunk]:
        """The stretches in which a text is embedded."""
        return cut(self._vocabulary.ids(text), self.identity.tokens_max - _SPECIAL)

    def passages(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        """What it makes of each chunk, with its place, as batches come back."""
        planned = batches((len(one.ids) for one in chunks), BATCH)
        if len(planned) == 1:
            yield from self._batch(chunks, planned[0])
            return
        for done in self._pool.map(lambda places: list(self._batch(chunks, places)), planned):
            yield from done

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[n, dimension]: the vector of each text's first chunk."""
        found = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for place, passage in self.passages([self.chunks(text)[0] for text in texts]):
            found[place] = passage.vector
        return found

    def question(self, text: str) -> Question:
        """What it makes of a question; only its first chunk counts."""
        spans = self._vocabulary.spans(text)[: self.identity.tokens_max - _SPECIAL]
        [states] = self._states([[one for one, _, _ in spans]])
        return self._vocabulary.question(spans, _pooled(states), states[1:-1])

    def readable(self, text: str) -> bool:
        """Whether it knows the words of a text, or at least of its beginning."""
        return self._vocabulary.knows(self.chunks(text)[0].ids)

    def unknown(self, text: str) -> str:
        """What of a text it does not know."""
        return self._vocabulary.unknown(text)

    def _batch(
        self, chunks: Sequence[Chunk], places: Sequence[int]
    ) -> Iterator[tuple[int, Passage]]:
        states = self._states([chunks[place].ids for place in places])
        for place, own in zip(places, states, strict=True):
            tells = self._vocabulary.telling(chunks[place].ids)
            yield place, Passage(_pooled(own), signs(own[1:-1][tells]))

    def _states(self, texts: Sequence[Sequence[int]]) -> list[Vectors]:
        """The last hidden states of each text's tokens: [tokens, dimension]."""
        longest = max(len(ids) for ids in texts) + _SPECIAL
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(texts):
            whole = [self._first, *own, self._last]
            ids[row, : len(whole)] = whole
            mask[row, : len(whole)] = 1
        given: dict[str, NDArray[np.int64]] = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            given["token_type_ids"] = np.zeros_like(ids)
        hidden: Vectors = self.session.run(None, given)[0]
        return [hidden[row, : len(own) + _SPECIAL] for row, own in enumerate(texts)]


def _pooled(states: Vectors) -> Vectors:
    """The mean over the tokens, summed in double precision so that no order shows, scaled to 1."""
    mean: Vectors = states.mean(axis=0, dtype=np.float64).astype(np.float32)
    return of_length_one(mean)


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    # An arena keeps the largest batch's memory for ever.
    options.enable_cpu_mem_arena = False
    return options
