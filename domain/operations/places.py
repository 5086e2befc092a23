"""The operations on wings and rooms: what they ask, record and answer.

Protects the border; what a place is stands in `places`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from domain.operations.common import (
    Answers,
    DryRunAnswers,
    Line,
    Moments,
    PlaceName,
    RecordedId,
    RecordedPlace,
    Records,
    Shown,
    WriteAnswers,
    Writes,
)
from domain.operations.drawers import AddDrawerRecords
from domain.operations.entities import AddAliasRecords, LinkDrawerRecords
from domain.operations.facts import KgAddRecords, KgDeclarePredicateRecords
from domain.operations.tunnels import CreateTunnelRecords
from domain.operations.undo import Undone


class CreateWingAsks(Writes):
    """Make a wing before anything lies in it."""

    wing: PlaceName
    description: Line | None = None
    policy: Literal["replicated", "local"] | None = Field(
        None, description="Whether it travels to other devices; fixed once anything named it."
    )


class CreateWingRecords(Records):
    """The wing, in the spelling in use."""

    wing: RecordedPlace
    description: str | None = None
    policy: Literal["replicated", "local"] | None = None
    duplicate: bool = False


class CreateWingAnswers(WriteAnswers):
    """The wing."""

    wing: str
    policy: str | None


class CreateRoomAsks(Writes):
    """Make a room before anything lies in it."""

    wing: PlaceName
    room: PlaceName
    description: Line | None = None


class CreateRoomRecords(Records):
    """The room, in the spelling in use."""

    wing: RecordedPlace
    room: RecordedPlace
    description: str | None = None
    duplicate: bool = False


class CreateRoomAnswers(WriteAnswers):
    """The room."""

    wing: str
    room: str


class PublishWingAsks(Writes):
    """Let a local wing travel from now on, with all that stands in it. Once, and not back."""

    wing: PlaceName


class PublishWingRecords(Records):
    """In the shared stream what stands in the wing, in the local stream what gives way to it."""

    wing: RecordedPlace
    description: str | None = None
    items: list[AddDrawerRecords] = Field(default_factory=list)
    facts: list[KgAddRecords] = Field(default_factory=list)
    declared: list[KgDeclarePredicateRecords] = Field(default_factory=list)
    rooms: list[RecordedPlace] = Field(default_factory=list)
    aliases: list[AddAliasRecords] = Field(default_factory=list)
    links: list[LinkDrawerRecords] = Field(default_factory=list)
    tunnels: list[CreateTunnelRecords] = Field(default_factory=list)
    undone: list[Undone] | None = None
    duplicate: bool = False


class PublishWingAnswers(WriteAnswers):
    """How much travels now."""

    wing: str
    drawers: int
    facts: int
    aliases: int
    links: int
    tunnels: int


class DeleteWingAsks(Writes):
    """Hide a wing with all that lies in it."""

    wing: PlaceName = Field(description="The wing.")
    reason: Line | None = Field(None, description="Why, in one line.")
    dry_run: bool = Field(True, description="Only say what would be hidden.")


class DeleteWingRecords(Records):
    """What lay in the wing when it was hidden."""

    wing: RecordedPlace
    drawer_ids: list[RecordedId]
    rooms: list[RecordedPlace] = Field(default_factory=list)
    reason: str | None = None
    duplicate: bool = False


class DeleteWingAnswers(DryRunAnswers):
    """What is hidden now."""

    wing: str
    hidden: list[str]
    count: int


class DeleteRoomAsks(DeleteWingAsks):
    """Hide a room with all that lies in it."""

    room: PlaceName = Field(description="The room in that wing.")


class DeleteRoomRecords(DeleteWingRecords):
    """What lay in the room when it was hidden."""

    room: RecordedPlace


class DeleteRoomAnswers(DeleteWingAnswers):
    """What is hidden now."""

    room: str


class ListWingsAsks(Moments):
    """All wings."""


class WingLine(Answers):
    """A wing with what lies in it at the moment asked."""

    wing: str
    description: str | None
    policy: str = Field(description="`replicated` or `local`.")
    made: bool = Field(description="It was made by itself, and stays when it is empty.")
    rooms: int
    drawers: int = Field(description="Drawers that are live and true at the moment asked.")


class ListWingsAnswers(Shown):
    """The wings, by name."""

    wings: list[WingLine]
    total: int


class ListRoomsAsks(Moments):
    """The rooms of one wing, or of all."""

    wing: PlaceName | None = None


class RoomLine(Answers):
    """A room with what lies in it at the moment asked."""

    wing: str
    room: str
    description: str | None
    made: bool
    drawers: int


class ListRoomsAnswers(Shown):
    """The rooms, by wing and name."""

    rooms: list[RoomLine]
    total: int


class ShowWingAsks(Moments):
    """One wing with its rooms."""

    wing: PlaceName


class ShowWingAnswers(Shown):
    """The wing and its rooms."""

    wing: WingLine
    rooms: list[RoomLine]


class ShowRoomAsks(Moments):
    """One room."""

    wing: PlaceName
    room: PlaceName


class ShowRoomAnswers(Shown):
    """The room, how its drawers are tagged, and when it last changed."""

    room: RoomLine
    tags: dict[str, int]
    newest: str | None = Field(description="When the newest of its drawers was recorded.")


class GetTaxonomyAsks(Moments):
    """Wings, rooms and counts in one map."""


class GetTaxonomyAnswers(Shown):
    """`{wing: {room: drawers}}`."""

    taxonomy: dict[str, dict[str, int]]
