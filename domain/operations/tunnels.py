"""The operations on tunnels, and the walks through them: what they ask, record and answer.

Protects the border; what a tunnel is stands in `tunnels`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from domain.operations.common import (
    LIMIT_DEFAULT,
    LIMIT_MAX,
    Answers,
    Id,
    Limit,
    Line,
    Moments,
    Paged,
    PlaceName,
    RecordedPlace,
    Records,
    Shown,
    WriteAnswers,
    Writes,
)

HOPS_DEFAULT = 2
HOPS_MAX = 5


class CreateTunnelAsks(Writes):
    """Link two rooms; the same tunnel from its other end, or on another device, is the same."""

    source_wing: PlaceName
    source_room: PlaceName
    target_wing: PlaceName
    target_room: PlaceName
    label: Line | None = Field(None, description="Why the two belong together.")
    source_drawer_id: Id | None = Field(None, description="The drawer that it begins at.")
    target_drawer_id: Id | None = Field(None, description="The drawer that it leads to.")


class CreateTunnelRecords(Records):
    """The tunnel, its ends in the spelling in use."""

    tunnel_id: str
    source_wing: RecordedPlace
    source_room: RecordedPlace
    target_wing: RecordedPlace
    target_room: RecordedPlace
    label: str | None = None
    source_drawer_id: str | None = None
    target_drawer_id: str | None = None
    duplicate: bool = False


class CreateTunnelAnswers(WriteAnswers):
    """The tunnel's id."""

    tunnel_id: str


class DeleteTunnelAsks(Writes):
    """Close a tunnel everywhere, until somebody makes it again. No drawer is touched."""

    tunnel_id: Id
    reason: Line | None = Field(None, description="Why.")


class DeleteTunnelRecords(Records):
    """The tunnel that is closed, and the wings that it joined, where it was known."""

    tunnel_id: str
    wings: list[RecordedPlace] = Field(default_factory=list)
    reason: str | None = None
    duplicate: bool = False


class DeleteTunnelAnswers(WriteAnswers):
    """The tunnel that is closed now."""

    tunnel_id: str


class TunnelEnd(Answers):
    """A room at the end of a tunnel."""

    wing: str
    room: str
    drawers: int = Field(description="Drawers that are live and true at the moment asked.")
    drawer_id: str | None = Field(description="The drawer named; null where it is hidden.")


class TunnelShown(Answers):
    """A tunnel; `implied` where nobody dug it and two wings have a room of the same name."""

    tunnel_id: str | None = Field(description="Null where it is implied.")
    implied: bool
    label: str | None
    source: TunnelEnd
    target: TunnelEnd
    device: str | None
    agent: str | None
    recorded_at: str | None


class ListTunnelsAsks(Paged, Moments):
    """The tunnels that somebody made, by their ends."""

    wing: PlaceName | None = Field(None, description="Only those that begin or end in it.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None


class ListTunnelsAnswers(Shown):
    """One page of tunnels; `total` counts all pages."""

    tunnels: list[TunnelShown]
    total: int
    cursor: str | None


class FindTunnelsAsks(Paged, Moments):
    """What connects wings: tunnels that somebody made, then rooms of the same name."""

    wing_a: PlaceName | None = Field(None, description="Only what connects this wing.")
    wing_b: PlaceName | None = Field(None, description="And only with this one.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Line | None = None

    @model_validator(mode="after")
    def _from_one_to_the_other(self) -> FindTunnelsAsks:
        if self.wing_a is None and self.wing_b is not None:
            raise ValueError("give wing_a as well as wing_b")
        return self


class FindTunnelsAnswers(ListTunnelsAnswers):
    """One page of tunnels between different wings; `total` counts all pages."""


class FollowTunnelsAsks(Moments):
    """The rooms that a room is connected with."""

    wing: PlaceName
    room: PlaceName
    limit: Limit = LIMIT_DEFAULT


class Preview(Answers):
    """A drawer of a room, with the first 200 characters of its text."""

    id: str
    preview: str
    recorded_at: str


class Connected(Answers):
    """A room at the other end, with its newest drawers."""

    wing: str
    room: str
    drawers: int
    tunnel_id: str | None = Field(description="Null where it is implied.")
    implied: bool
    label: str | None
    previews: list[Preview]


class FollowTunnelsAnswers(Shown):
    """The rooms connected: by tunnels first, then by their name; `total` counts all."""

    wing: str
    room: str
    connected: list[Connected]
    total: int


class TraverseAsks(Moments):
    """Walk from a room through tunnels and rooms of the same name, the nearest first."""

    start_wing: PlaceName
    start_room: PlaceName
    max_hops: Annotated[int, Field(ge=1, le=HOPS_MAX)] = HOPS_DEFAULT
    limit: Limit = LIMIT_MAX


class Reached(Answers):
    """A room, and how it was reached: from which room, and through what."""

    wing: str
    room: str
    drawers: int
    hops: int
    by: Literal["start", "tunnel", "same_name"]
    tunnel_id: str | None
    from_wing: str | None
    from_room: str | None


class TraverseAnswers(Shown):
    """The rooms by hops, wing and room, the start first; `total` counts all."""

    rooms: list[Reached]
    total: int


class GraphStatsAsks(Moments):
    """How rooms and wings are connected; counts only."""


class GraphStatsAnswers(Shown):
    """Counts of rooms, of tunnels, and of what they connect."""

    wings: int
    rooms: int
    tunnels: int = Field(description="Made by somebody.")
    shared_room_names: int = Field(description="Names that rooms of several wings have.")
    wings_connected: int = Field(description="Wings that a tunnel or a room's name connects.")
    rooms_connected: int
