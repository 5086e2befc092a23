"""The operations on drawers: what they ask, what they record, what they answer.

Protects the border of the drawers; holds no rules (see `decisions.drawers` and `drawers`).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from domain.operations.common import (
    LIMIT_DEFAULT,
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
    RecordedInstant,
    RecordedPlace,
    Records,
    Shown,
    StartTime,
    Tags,
    Windows,
    WriteAnswers,
    Writes,
)


class AddDrawerAsks(Writes):
    """Store a text."""

    wing: PlaceName = Field(description="The wing that it goes to.")
    room: PlaceName = Field(description="The room in that wing.")
    content: Content = Field(description="The text.")
    source_file: Line | None = Field(None, description="The file that it came from.")
    added_by: Name | None = Field(None, description="Who added it, where that is not who asks.")
    tags: Tags = Field(default_factory=list, description="Words to find it by: one,two.")
    valid_from: StartTime | None = Field(None, description="From when it is true; default now.")
    valid_to: EndTime | None = Field(None, description="Until when; a bare date counts whole.")
    supersedes: Id | None = Field(None, description="A drawer that this one takes the place of.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Kept as given, never obeyed."
    )


class AddDrawerRecords(Records):
    """A text with its place and valid time resolved."""

    drawer_id: str
    wing: RecordedPlace
    room: RecordedPlace
    content: str
    source_file: str | None = None
    added_by: str | None = None
    tags: list[str] = Field(default_factory=list)
    valid_from: RecordedInstant
    valid_to: RecordedInstant | None = None
    supersedes: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    revives: list[str] = Field(default_factory=list)
    duplicate: bool = False


class AddDrawerAnswers(WriteAnswers):
    """Where the text is."""

    drawer_id: str
    hidden_by: list[str] = Field(description="Tombstones of it that the writer did not know.")


class UpdateDrawerAsks(Writes):
    """Change a drawer's text, place or tags; its supports carry on."""

    drawer_id: Id = Field(description="The drawer.")
    content: Content | None = Field(None, description="Another text for it.")
    wing: PlaceName | None = Field(None, description="Another wing for it.")
    room: PlaceName | None = Field(None, description="Another room for it.")
    tags: Tags | None = Field(None, description="Other tags for it: one,two.")


class UpdateDrawerRecords(Records):
    """The new text in full, and the drawer whose supports it carries on."""

    drawer_id: str
    previous: str
    wing: RecordedPlace
    room: RecordedPlace
    content: str
    tags: list[str] | None = None
    revives: list[str] = Field(default_factory=list)
    duplicate: bool = False


class UpdateDrawerAnswers(WriteAnswers):
    """The new id and the one before it."""

    drawer_id: str
    previous: str


class SupersedeDrawerAsks(Writes):
    """End a drawer, for a new text or for none."""

    drawer_id: Id = Field(description="The drawer that ends.")
    content: Content | None = Field(
        None, description="The text that takes its place; without it, it only ends."
    )
    valid_from: StartTime | None = Field(None, description="From when; default now.")
    tags: Tags | None = Field(None, description="Tags of the new text: one,two.")


class SupersedeDrawerRecords(Records):
    """What ends, from when, and the text that opens from there."""

    supersedes: str
    valid_from: RecordedInstant
    drawer_id: str | None = None
    wing: RecordedPlace | None = None
    room: RecordedPlace | None = None
    content: str | None = None
    tags: list[str] = Field(default_factory=list)
    revives: list[str] = Field(default_factory=list)
    duplicate: bool = False

    @model_validator(mode="after")
    def _a_whole_text_or_none(self) -> SupersedeDrawerRecords:
        text = (self.drawer_id, self.wing, self.room, self.content)
        if len({part is None for part in text}) > 1:
            raise ValueError("drawer_id, wing, room and content come together or not at all")
        return self


class SupersedeDrawerAnswers(WriteAnswers):
    """The drawer that now shows (null where the old one only ended)."""

    drawer_id: str | None
    superseded: str


class DeleteDrawerAsks(Writes):
    """Hide a drawer everywhere; its text stays in the log until it is redacted."""

    drawer_id: Id = Field(description="The drawer.")
    reason: Line | None = Field(None, description="Why, in one line.")


class DeleteDrawerRecords(Records):
    """The drawer that is hidden."""

    drawer_id: str
    reason: str | None = None
    hidden: list[str] = Field(default_factory=list)
    duplicate: bool = False


class DeleteDrawerAnswers(WriteAnswers):
    """What is hidden now."""

    drawer_id: str
    hidden: list[str] = Field(
        description="The drawers that the delete hid: where updates had taken it, the new one."
    )


class GetDrawerAsks(Moments):
    """Read one drawer; an old id leads to where updates took it."""

    drawer_id: Id = Field(description="The drawer; an old id will do.")


class Provenance(Answers):
    """Who wrote it, where and when."""

    device: str
    host: str | None
    agent: str | None
    op_id: str
    position: int
    recorded_at: str


class Drawer(Answers):
    """A drawer in full. `content` is null where it is hidden."""

    id: str
    asked: str = Field(description="The id asked for; differs where updates moved the text on.")
    wing: str
    room: str
    content: str | None
    tags: list[str]
    source_file: str | None
    added_by: str | None
    metadata: dict[str, Any]
    valid_from: str | None
    valid_to: str | None
    supersedes: list[str]
    superseded_by: list[str]
    state: str = Field(description="current, superseded or hidden")
    current: bool = Field(description="Whether it is true at `as_of`.")
    hidden_by: list[str] = Field(description="op_ids of the tombstones that hide it.")
    provenance: Provenance


class GetDrawerAnswers(Shown):
    """The drawer."""

    drawer: Drawer


class ListDrawersAsks(Paged, Windows):
    """List drawers, newest first."""

    wing: PlaceName | None = Field(None, description="Only in this wing.")
    room: PlaceName | None = Field(None, description="Only in rooms of this name.")
    tag: Name | None = Field(None, description="Only with this tag.")
    since: StartTime | None = Field(None, description="Recorded then or later.")
    before: EndTime | None = Field(None, description="Recorded before then.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class DrawerLine(Answers):
    """A drawer in a list, with the first 200 characters of its text."""

    id: str
    wing: str
    room: str
    preview: str
    tags: list[str]
    valid_from: str
    valid_to: str | None
    state: str
    current: bool = Field(description="Whether it is true at `as_of`, else now.")
    recorded_at: str


class ListDrawersAnswers(Shown):
    """One page of drawers; `total` counts all pages."""

    drawers: list[DrawerLine]
    total: int
    cursor: str | None


class HistoryAsks(Moments):
    """All versions of a drawer and the events that touched them."""

    drawer_id: Id = Field(description="The drawer, by any of its ids.")


class HistoryEvent(Answers):
    """An event that touched a version."""

    op_id: str
    position: int
    tool: str
    device: str
    agent: str | None
    recorded_at: str


class HistoryAnswers(Shown):
    """Versions oldest first, and the events in canonical order."""

    versions: list[Drawer]
    events: list[HistoryEvent]
