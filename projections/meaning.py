"""What searches ask of an index of meaning, wherever it is: the border between words and vectors.

Protects the palace from needing vectors: queries know this border alone, so that a palace without
an embedder loads none, and answers by words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from domain.nearness import NO_EMBEDDER

if TYPE_CHECKING:
    from projections.reading import Reading

SCORE_UNIT: Final = 1_000_000_000
"""Scores are compared as whole billionths: equal ones are equal on every machine."""

LAGGING: Final = "lagging"
TEXTS_FAILED: Final = "texts_failed"
"""Some texts could not be embedded; all others are compared."""
UNAVAILABLE: Final = "unavailable"
DAMAGED: Final = "damaged"
OTHER_EMBEDDER: Final = "other_embedder"
UNREADABLE: Final = "unreadable_question"


class Steps(NamedTuple):
    """Which steps a hybrid ranking takes beside the sum of words and meaning.

    Attributes:
        tokens: match token by token (MaxSim).
        dates: the dates that a question names.
        sources: the best record of the same source or session.
        neighbours: the messages before and behind.
        authors: who said it, where the question names exactly one known author.
        asking: records that only ask.
    """

    tokens: bool = True
    dates: bool = True
    sources: bool = True
    neighbours: bool = True
    authors: bool = True
    asking: bool = True

    @property
    def beside(self) -> bool:
        """Whether what stands beside a record matters."""
        return self.neighbours or self.authors


class Found(NamedTuple):
    """A drawer and how well it answers, in billionths.

    Attributes:
        signals: what the score was made of, by name.
    """

    drawer_id: str
    score: int
    signals: Mapping[str, float]


class Degraded(NamedTuple):
    """Why an answer is not what it could be.

    Attributes:
        lag: how many texts nobody tried to embed yet.
        help: what to do about it.
    """

    reason: str
    lag: int
    help: str


WITHOUT_EMBEDDER: Final = Degraded(NO_EMBEDDER, 0, "Set `vectors.embedder`.")


class Ranked(NamedTuple):
    """What a question found by meaning, best first, equal scores by id.

    Attributes:
        embedder: the short form of its identity.
    """

    found: Sequence[Found]
    embedder: str
    degraded: Degraded | None


class Showing(Protocol):
    """Which of some drawers an answer may show."""

    def of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Those of some numbered texts that may be shown, with their drawer ids."""
        ...


class Shown(Showing, Protocol):
    """Which drawers an answer may show."""

    def digests(self) -> Sequence[bytes]:
        """The digests of all texts that may be shown."""
        ...


class Wish(NamedTuple):
    """What a search wants ranked.

    Attributes:
        query: without the authors that it names.
        authors: these, in comparable form.
        by_words: looks up what words found, best first; in the thread of the reading.
        rarity: how rare each word of the question is, by its stem; see `queries.ranking`.
        max_distance: 1 - cosine that a hit may have; None for any.
    """

    query: str
    authors: Sequence[str]
    by_words: Callable[[], Sequence[Found]]
    rarity: Mapping[str, float]
    shown: Shown
    max_distance: float | None


class Alike(NamedTuple):
    """A drawer and how near its text is to another, as a cosine in millionths."""

    drawer_id: str
    cosine: int


class NearTo(NamedTuple):
    """The drawers near to a text, nearest first, equal ones by id.

    Attributes:
        embedder: the short form of its identity.
    """

    found: Sequence[Alike]
    embedder: str
    degraded: Degraded | None


class Group(NamedTuple):
    """Drawers that hang together by nearness, in the order in which they arrived.

    Attributes:
        number: of the newest of them, by arrival.
        drawers: each with how near it is to the nearest other one.
        complete: whether all of them are here.
    """

    number: int
    drawers: Sequence[Alike]
    complete: bool


class Groups(NamedTuple):
    """A stretch of the groups, the one whose newest drawer arrived last first.

    Attributes:
        last: the number of the oldest drawer looked at; None where there are no more.
    """

    found: Sequence[Group]
    last: int | None
    embedder: str
    degraded: Degraded | None


class Meaning(Protocol):
    """An index of meaning."""

    def hybrid(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By words and by meaning; Degraded where it cannot be asked now."""
        ...

    def semantic(self, reading: Reading, wish: Wish) -> Ranked | Degraded:
        """By meaning alone."""
        ...

    def state(self, reading: Reading) -> list[dict[str, Any]]:
        """Every index there is, how far it has come, and which of them answers."""
        ...

    def near(
        self, reading: Reading, text: str, shown: Showing, least: int, count: int
    ) -> NearTo | Degraded:
        """At most `count` drawers at least as near to a text as a cosine in millionths."""
        ...

    def groups(
        self, reading: Reading, shown: Showing, least: int, before: int, count: int
    ) -> Groups | Degraded:
        """At most `count` groups of drawers near to each other, from the newest drawer whose
        number is below `before` on; as many drawers are looked at as one answer may take.
        """
        ...
