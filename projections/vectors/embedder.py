"""What every embedder is: an identity, and texts turned into vectors.

Protects the vectors from meeting others: an identity names the very files and the ways of working
that a vector depends on, so that other weights under the same name are another embedder. A text's
vector is the same whatever batch it was in.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from domain.embedders import short_of
from projections.text import STOP_WORDS

Vectors = NDArray[np.float32]
Bits = NDArray[np.uint8]

OVERLAP_TOKENS: Final = 32
"""How many tokens a chunk repeats of the one before, so that no sentence is cut in all of them."""
POOLING: Final = "mean"
NORMALISATION: Final = "l2"
TOKENS_LEAST: Final = 8
"""A chunk below this would hold hardly a word beside the special tokens."""
_CONTINUES: Final = "##"
_STARTS: Final = "\u2581"


@dataclass(frozen=True)
class Identity:
    """What a vector depends on.

    Attributes:
        name: as people choose it; the rest tells embedders of one name apart.
        model, tokenizer: sha256 of the files, 64 hex digits.
        dimension: of its vectors.
        tokens_max: of one chunk, special tokens included.
    """

    name: str
    model: str
    tokenizer: str
    dimension: int
    pooling: str
    normalisation: str
    tokens_max: int

    def as_json(self) -> dict[str, Any]:
        """The fields by name, as events hold them."""
        return asdict(self)

    @cached_property
    def short(self) -> str:
        """See `domain.embedders.short_of`."""
        return short_of(self.as_json())


class Chunk(NamedTuple):
    """A stretch of a text that is embedded by itself: the token ids, without special ones."""

    ids: tuple[int, ...]


class Passage(NamedTuple):
    """What an embedder makes of a chunk.

    Attributes:
        vector: [dimension], of length 1.
        bits: [tokens that say something, dimension / 8]; a bit is set where a token's vector is
            positive.
    """

    vector: Vectors
    bits: Bits


class AskedToken(NamedTuple):
    """A token of a question that says something.

    Attributes:
        start, end: where it stands in the question, in characters.
        vector: [dimension], of length 1.
    """

    start: int
    end: int
    vector: Vectors


class Question(NamedTuple):
    """What an embedder makes of a question.

    Attributes:
        readable: whether the embedder knows its words; what it does not know looks all the same.
    """

    vector: Vectors
    tokens: Sequence[AskedToken]
    readable: bool


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from any number of threads."""

    @property
    def identity(self) -> Identity:
        """What its vectors depend on."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...

    def chunks(self, text: str) -> list[Chunk]:
        """The stretches in which a text is embedded: one at least, none longer than the limit."""
        ...

    def passages(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        """What it makes of each chunk, with its place in `chunks`, in any order."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[n, dimension]: the vector of each text's first chunk."""
        ...

    def question(self, text: str) -> Question:
        """What it makes of a question."""
        ...

    def readable(self, text: str) -> bool:
        """Whether it knows the words of a text."""
        ...

    def unknown(self, text: str) -> str:
        """What of a text it does not know, and so cannot tell from anything else."""
        ...


class Vocabulary:
    """A tokenizer, and what its tokens are good for."""

    def __init__(self, definition: bytes) -> None:
        """Read a `tokenizer.json`; its own padding and truncation are switched off."""
        self._tokenizer: Any = Tokenizer.from_buffer(definition)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.size: int = self._tokenizer.get_vocab_size()
        words: list[str] = [self._tokenizer.id_to_token(one) or "" for one in range(self.size)]
        self._telling = np.array([_tells(word) for word in words], dtype=bool)
        unknown = [self._tokenizer.token_to_id(word) for word in ("[UNK]", "<unk>")]
        self._unknown = {one for one in unknown if one is not None}

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, without special ones."""
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Each token of a text as (id, start, end) in characters."""
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return [(one, *span) for one, span in zip(encoded.ids, encoded.offsets, strict=True)]

    def question(
        self, spans: Sequence[tuple[int, int, int]], vector: Vectors, rows: Vectors
    ) -> Question:
        """A question out of its tokens, as `spans` has them, and what was made of each."""
        ids = [one for one, _, _ in spans]
        tells = self.telling(ids)
        tokens = [
            AskedToken(start, end, of_length_one(rows[place]))
            for place, (_, start, end) in enumerate(spans)
            if tells[place]
        ]
        return Question(vector, tokens, self.knows(ids))

    def special(self, name: str) -> int:
        """The id of a special token.

        Raises:
            ValueError: there is none of that name.
        """
        found = self._tokenizer.token_to_id(name)
        if found is None:
            raise ValueError(f"the tokenizer has no {name}")
        return int(found)

    def telling(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """Which tokens say something: no special ones, no punctuation, no common words."""
        return self._telling[np.asarray(ids, dtype=np.int64)]

    def knows(self, ids: Sequence[int]) -> bool:
        """Whether at most half of the tokens are unknown ones."""
        return 2 * sum(one in self._unknown for one in ids) <= len(ids)

    def unknown(self, text: str) -> str:
        """The words that it does not know, one beside the other."""
        spans = self.spans(text)
        return "".join(text[start:end] for one, start, end in spans if one in self._unknown)


def cut(ids: Sequence[int], length_max: int) -> list[Chunk]:
    """Token ids in stretches of at most `length_max`; each repeats a little of the one before."""
    if len(ids) <= length_max:
        return [Chunk(tuple(ids))]
    step = length_max - min(OVERLAP_TOKENS, length_max // 2)
    starts = range(0, len(ids) - (length_max - step), step)
    return [Chunk(tuple(ids[at : at + length_max])) for at in starts]


def of_length_one(vector: Vectors) -> Vectors:
    """A vector scaled to length 1; a zero stays."""
    length = np.float32(np.sqrt(np.dot(vector, vector)))
    return vector / length if length > 0 else vector


def signs(tokens: Vectors) -> Bits:
    """[n, dimension] as one bit a number."""
    return np.packbits(tokens > 0, axis=1)


def batches(lengths: Iterable[int], size: int) -> list[list[int]]:
    """Places sorted by length, longest first, in batches: hardly anything is padded."""
    order = sorted(enumerate(lengths), key=lambda one: (-one[1], one[0]))
    places = [place for place, _ in order]
    return [places[at : at + size] for at in range(0, len(places), size)]


def _tells(token: str) -> bool:
    if token.startswith(("[", "<")) and token.endswith(("]", ">")):
        return False
    word = token.removeprefix(_CONTINUES).removeprefix(_STARTS)
    plain = unicodedata.normalize("NFKC", word).casefold()
    # A piece of a longer word may look like a common one.
    begins = not token.startswith(_CONTINUES)
    return any(one.isalnum() for one in plain) and not (begins and plain in STOP_WORDS)
