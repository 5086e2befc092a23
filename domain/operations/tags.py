"""The operations on tags: what they ask and answer.

Protects the border; a drawer's tags are those of its newest support.
"""

from __future__ import annotations

from pydantic import Field

from domain.operations.common import Answers, Moments, PlaceName, Shown


class ListTagsAsks(Moments):
    """The tags of drawers that are live and true at the moment."""

    wing: PlaceName | None = Field(None, description="Only drawers of this wing.")


class TagLine(Answers):
    """A tag; tags are compared without regard to case and spacing."""

    tag: str
    drawers: int


class ListTagsAnswers(Shown):
    """The tags, the most used first, equal ones by name."""

    tags: list[TagLine]
    total: int
