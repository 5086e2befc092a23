"""The operations that find memory: search, recall, waking up, and looking for the same text twice.

Protects the border of what is found; holds no rules (see `projections.queries`).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from domain.nearness import DEDUP_THRESHOLD
from domain.operations.common import (
    LIMIT_DEFAULT,
    LIMIT_MAX,
    Answers,
    Content,
    Cursor,
    EndTime,
    Id,
    Limit,
    Line,
    Moments,
    Name,
    Paged,
    PlaceName,
    Shown,
    StartTime,
    Tags,
    Windows,
)
from domain.operations.conflicts import ConflictShown
from domain.operations.drawers import Drawer, Provenance
from domain.operations.facts import FactShown

QUERY_CHARACTERS_MAX: Final = 16_384
BLOCK_BYTES_DEFAULT: Final = 8_192
BLOCK_BYTES_MAX: Final = 1_048_576


def _clean_query(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


Query = Annotated[str, Field(max_length=QUERY_CHARACTERS_MAX), AfterValidator(_clean_query)]
BlockBytes = Annotated[int, Field(ge=256, le=BLOCK_BYTES_MAX)]


AUTO: Final = "auto"
LEXICAL: Final = "lexical"
SEMANTIC: Final = "semantic"
HYBRID: Final = "hybrid"


class SearchAsks(Paged, Windows):
    """Find drawers by the words in them and by what they mean."""

    query: Query = Field(description="Words; nothing in it is an operator.")
    limit: Limit = 10
    ranking: Literal["auto", "lexical", "semantic", "hybrid"] = Field(
        AUTO, description="By words, by meaning, or both; auto: both where both can be asked."
    )
    max_distance: float | None = Field(
        None, ge=0, le=2, description="No drawer further from the question: 1 - cosine."
    )
    wing: PlaceName | None = Field(None, description="Only in this wing.")
    room: PlaceName | None = Field(None, description="Only in rooms of this name.")
    tags: Tags = Field(default_factory=list, description="Only drawers that carry all of them.")
    source_file: Line | None = Field(None, description="Only what came from this file.")
    since: StartTime | None = Field(None, description="Recorded then or later.")
    before: EndTime | None = Field(None, description="Recorded before then.")
    expand: bool = Field(
        False,
        description="Also drawers that share an entity with a hit, or are one valid fact or tunnel"
        " away: at most `limit`, in a list of their own.",
    )
    cursor: Cursor | None = None

    @field_validator("max_distance")
    @classmethod
    def _has_a_distance(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("ranking") == LEXICAL:
            raise ValueError("cannot be asked for where words alone rank")
        return value


class FoundLine(Answers):
    """A drawer that was found, with the 200 characters around what was found in it."""

    drawer_id: str
    wing: str
    room: str
    snippet: str
    tags: list[str]
    source_file: str | None
    valid_from: str
    valid_to: str | None
    state: str
    current: bool = Field(description="Whether it is true at `as_of`, else now.")
    recorded_at: str
    provenance: Provenance


class Hit(FoundLine):
    """A drawer that answers the question."""

    score: float = Field(description="More is better; of `ranking`, not to be compared across.")
    signals: dict[str, float] = Field(description="What the score is made of.")


class Expanded(FoundLine):
    """A drawer beside a hit: one that shares an entity with it, or is one fact or tunnel away."""

    why: Literal["entity", "fact", "tunnel"]
    through: str = Field(description="The entity's name, or the id of the fact or tunnel.")
    hit: str = Field(description="The first hit that leads to it.")


class DegradedShown(Answers):
    """Why an answer is less than it could be."""

    reason: str
    lag: int = Field(description="Texts that have no vectors yet.")
    help: str


class SearchAnswers(Shown):
    """One page of what was found, best first, equal scores by id."""

    hits: list[Hit]
    total: int = Field(description="On all pages; not counted beyond 200.")
    total_is_exact: bool
    words: list[str] = Field(description="What was looked for; common words are passed over.")
    ranking: str = Field(description="What ranked: lexical, semantic or hybrid.")
    embedder: str | None = Field(description="Whose vectors were asked.")
    degraded: DegradedShown | None
    expanded: list[Expanded] = Field(
        description="With `expand`, what lies beside the hits of this page, none of them a hit."
    )
    cursor: str | None


class RecallAsks(Moments):
    """What memory holds on a question, as one block of text."""

    query: Query = Field(description="The question, in any words.")
    max_bytes: BlockBytes = Field(BLOCK_BYTES_DEFAULT, description="How long the block may be.")
    wing: PlaceName | None = Field(None, description="Of the drawers; facts come from all.")


class RecallAnswers(Shown):
    """The block, and the drawers and facts that are in it."""

    block: str
    hits: list[Hit]
    facts: list[FactShown]
    entities: list[str] = Field(description="The names in the question that facts are known of.")
    left_out: int = Field(description="Items found that did not fit whole.")


class WakeUpAsks(Moments):
    """What to know at the start of a session."""

    agent_name: Name | None = Field(None, description="Whose diary; default anybody's.")
    wing: PlaceName | None = Field(None, description="Of the drawers; a diary has its own wing.")
    max_items: int = Field(10, ge=1, le=LIMIT_MAX, description="At most so many drawers.")
    max_bytes: BlockBytes = Field(BLOCK_BYTES_DEFAULT, description="How long the block may be.")


class Waiting(Answers):
    """What no primary has acknowledged yet."""

    pending: int


class OpenConflicts(Answers):
    """How many conflicts nobody has resolved, and the newest of them."""

    open: int
    newest: list[ConflictShown]


class WakeUpAnswers(Shown):
    """The block, and the items that are in it."""

    block: str
    diary: Drawer | None
    drawers: list[Drawer]
    conflicts: OpenConflicts
    outbox: Waiting
    withheld: int = Field(description="Items of devices that this one does not trust.")
    left_out: int = Field(description="Items that did not fit whole.")


Threshold = Annotated[float, Field(ge=0, le=1)]


class CheckDuplicateAsks(Moments):
    """Whether a text is held already: exactly, but for line ends, composition and blank ends, or
    nearly, by meaning.
    """

    content: Content
    wing: PlaceName | None = None
    room: PlaceName | None = None
    threshold: Threshold = Field(
        DEDUP_THRESHOLD, description="How near two texts are to be nearly the same: a cosine."
    )


class Twin(Answers):
    """A live drawer with the same text, or nearly. `exact`: to the last character."""

    drawer_id: str
    wing: str
    room: str
    exact: bool
    cosine: float | None = Field(description="How near it is; null where the text is the same.")
    state: str
    recorded_at: str


class CheckDuplicateAnswers(Shown):
    """The live drawers that hold the text, exact ones first, then the 50 nearest that nearly do."""

    is_duplicate: bool
    matches: list[Twin]
    embedder: str | None = Field(description="Whose vectors were asked.")
    degraded: DegradedShown | None


class DuplicatesAsks(Paged, Moments):
    """Texts that several live drawers hold, exactly or nearly."""

    wing: PlaceName | None = None
    near: bool = Field(
        False, description="Group what is near by meaning, instead of what is the same text."
    )
    threshold: Threshold = Field(
        DEDUP_THRESHOLD, description="With near: from which cosine on texts are near."
    )
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class Duplicate(Answers):
    """One text and the live drawers that hold it, in the order in which they arrived."""

    preview: str
    drawers: list[Twin]
    complete: bool = Field(description="Whether all are listed; of near ones at most 100 are.")


class DuplicatesAnswers(Shown):
    """One page of groups, the one that grew last first.

    Of near ones a page looks at some hundred drawers, from the newest back: it may hold fewer
    groups than asked for, or none, and still have a cursor.
    """

    groups: list[Duplicate]
    total: int | None = Field(description="On all pages; of near ones nobody counts them.")
    cursor: str | None
    embedder: str | None = Field(description="Whose vectors were asked.")
    degraded: DegradedShown | None


class GetDrawersAsks(Moments):
    """Read several drawers; old ids lead to the newest texts."""

    drawer_ids: list[Id] = Field(min_length=1, max_length=LIMIT_MAX)


class GetDrawersAnswers(Shown):
    """The drawers in the order asked for, each once, and the ids that nothing is known of."""

    drawers: list[Drawer]
    missing: list[str]
