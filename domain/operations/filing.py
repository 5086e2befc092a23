"""The operations that file many texts or texts of a kind: checkpoint, diary, note, bulk deletes.

Protects the border of the drawers, as `operations.drawers` does for one; holds no rules.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from domain.identity import is_diary_id
from domain.nearness import DEDUP_THRESHOLD, NOT_COMPARED, Comparison
from domain.operations.common import (
    Answers,
    Asks,
    Content,
    DryRunAnswers,
    EndTime,
    Id,
    Limit,
    Line,
    Moments,
    Name,
    PlaceName,
    RecordedId,
    RecordedInstant,
    RecordedName,
    RecordedPlace,
    Records,
    Shown,
    StartTime,
    Tags,
    WriteAnswers,
    Writes,
)
from domain.operations.drawers import AddDrawerAnswers, AddDrawerRecords

ITEMS_MAX = 1_000
IDS_MAX = 10_000


class NoteAsks(Writes):
    """Store a text where notes of this folder go."""

    content: Content = Field(description="The text.")
    wing: PlaceName | None = Field(
        None, description="Default: of the nearest palacelog.toml, else the folder's name."
    )
    room: PlaceName | None = Field(None, description="Default: of palacelog.toml, else `notes`.")
    tags: Tags = Field(default_factory=list, description="Words to find it by: one,two.")
    source_file: Line | None = Field(None, description="The file that it came from.")
    added_by: Name | None = Field(None, description="Who added it, where that is not who asks.")


class NoteRecords(AddDrawerRecords):
    """A text with its place resolved."""


class NoteAnswers(AddDrawerAnswers):
    """Where the text is."""

    wing: str
    room: str


class DiaryWriteAsks(Writes):
    """Write an entry in an agent's diary."""

    agent_name: Name = Field(description="Whose diary.")
    entry: Content = Field(description="The entry.")
    topic: Name = Field("general", description="What it is about.")
    wing: PlaceName | None = Field(None, description="Default: `wing_` and the agent's name.")


class EntryMetadata(Records):
    """What an entry says beside its text."""

    topic: RecordedName | None = None


class DiaryWriteRecords(Records):
    """An entry with its id and place resolved; `valid_from` is when it was written."""

    drawer_id: str
    wing: RecordedPlace
    room: Literal["diary"]
    content: str
    added_by: RecordedName
    valid_from: RecordedInstant
    metadata: EntryMetadata = Field(default_factory=EntryMetadata)
    revives: list[str] = Field(default_factory=list)
    duplicate: bool = False

    @model_validator(mode="after")
    def _is_an_entry(self) -> Self:
        if not is_diary_id(self.drawer_id, self.wing, self.content):
            raise ValueError("drawer_id is not that of this entry")
        return self


class DiaryWriteAnswers(WriteAnswers):
    """The entry; where it equals the agent's newest, that one."""

    drawer_id: str
    agent: str
    topic: str


class DiaryReadAsks(Moments):
    """An agent's diary, newest first."""

    agent_name: Name = Field(description="Whose diary.")
    last_n: Limit = Field(10, description="So many of the newest, up to 200.")
    wing: PlaceName | None = Field(None, description="Only in this wing.")


class DiaryEntry(Answers):
    """One entry."""

    drawer_id: str
    written_at: str
    topic: str
    content: str
    device: str
    op_id: str


class DiaryReadAnswers(Shown):
    """The newest entries, and how many there are."""

    agent: str
    entries: list[DiaryEntry]
    total: int


class CheckpointItem(Asks):
    """One text of a checkpoint."""

    wing: PlaceName
    room: PlaceName
    content: Content
    source_file: Line | None = None
    added_by: Name | None = None
    tags: Tags = Field(default_factory=list)
    valid_from: StartTime | None = None
    valid_to: EndTime | None = None
    supersedes: Id | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class CheckpointDiary(Asks):
    """The diary entry that goes with a checkpoint."""

    agent_name: Name
    entry: Content
    topic: Name = "general"
    wing: PlaceName | None = None


class CheckpointAsks(Writes):
    """Store many texts, and a diary entry, in one operation."""

    items: Annotated[list[CheckpointItem], Field(max_length=ITEMS_MAX)] = Field(
        default_factory=list, description="The texts, each with its wing and room."
    )
    diary: CheckpointDiary | None = Field(None, description="An entry that goes with them.")
    dedup_threshold: float = Field(
        DEDUP_THRESHOLD, ge=0, le=1, description="How near two texts are to be named as duplicates."
    )
    drop_duplicates: bool = Field(
        False, description="Do not store what is held already, or nearly; the answer names it."
    )

    @model_validator(mode="after")
    def _something_to_store(self) -> Self:
        if not self.items and self.diary is None:
            raise ValueError("there are neither items nor a diary entry")
        return self


class ComparedCheckpoint(CheckpointAsks):
    """A checkpoint whose texts were compared by meaning, before it is decided."""

    comparison: Comparison = NOT_COMPARED


Cosine = Annotated[float, Field(ge=0, le=1)]


class CheckpointItemRecords(AddDrawerRecords):
    """An item as it was stored, with its number in what was asked.

    Attributes:
        near: the drawer that holds the same text or, with a cosine, nearly the same.
    """

    item: int
    near: str | None = None
    cosine: Cosine | None = None


class Dropped(Records):
    """An item that was not stored, as the caller wanted, and the drawer that holds its text."""

    item: int
    wing: RecordedPlace | None = None
    near: str
    cosine: Cosine | None = None


class CheckpointRecords(Records):
    """All items and the decisions about duplicates.

    Attributes:
        compared: whether all texts were compared by meaning.
    """

    items: list[CheckpointItemRecords]
    diary: DiaryWriteRecords | None = None
    dropped: list[Dropped] = Field(default_factory=list)
    dedup_threshold: float
    compared: bool = False
    duplicate: bool = False


class CheckpointLine(Answers):
    """What became of one item, in the order asked."""

    drawer_id: str
    duplicate: bool = Field(description="The same text was held, or stands earlier in the list.")
    near: str | None = Field(description="The drawer that holds the same or nearly the same text.")
    cosine: float | None = Field(description="How near it is; null where the text is the same.")
    dropped: bool


class CheckpointAnswers(WriteAnswers):
    """Every item, so that nothing vanishes silently."""

    items: list[CheckpointLine]
    stored: int
    dropped: int
    diary_id: str | None
    compared: bool = Field(
        description="All texts were compared by meaning; else only what is the same was found."
    )


class DeleteDrawersAsks(Writes):
    """Hide many drawers in one operation."""

    drawer_ids: Annotated[list[Id], Field(min_length=1, max_length=IDS_MAX)] = Field(
        description="The drawers."
    )
    reason: Line | None = Field(None, description="Why, in one line.")


class DeleteDrawersRecords(Records):
    """The drawers that are hidden."""

    drawer_ids: list[RecordedId]
    hidden: list[RecordedId] = Field(default_factory=list)
    reason: str | None = None
    duplicate: bool = False


class DeleteDrawersAnswers(WriteAnswers):
    """What is hidden now."""

    hidden: list[str]
    count: int


class DeleteBySourceAsks(Writes):
    """Hide all drawers that came from one file."""

    source_file: Line = Field(description="The file that they came from.")
    wing: PlaceName | None = Field(None, description="Only in this wing.")
    reason: Line | None = Field(None, description="Why, in one line.")
    dry_run: bool = Field(True, description="Only say what would be hidden.")


class DeleteBySourceRecords(DeleteDrawersRecords):
    """The drawers of that file when it was asked."""

    source_file: str


class DeleteBySourceAnswers(DryRunAnswers):
    """What is hidden now."""

    source_file: str
    hidden: list[str]
    count: int
