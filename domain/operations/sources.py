"""The operations on sources: the files that drawers came from.

Protects the border; holds no rules.
"""

from __future__ import annotations

from pydantic import Field

from domain.operations.common import (
    LIMIT_DEFAULT,
    Answers,
    Cursor,
    Limit,
    Line,
    Moments,
    Paged,
    PlaceName,
    Shown,
)


class ListSourcesAsks(Paged, Moments):
    """The files that live drawers came from, by name."""

    wing: PlaceName | None = Field(None, description="Only of drawers in this wing.")
    prefix: Line | None = Field(None, description="Only names that begin so, such as a folder.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class SourceLine(Answers):
    """A file that drawers came from."""

    source_file: str
    drawers: int
    wings: list[str]
    newest: str = Field(description="When the newest of them was recorded.")


class ListSourcesAnswers(Shown):
    """One page of sources; `total` counts all pages."""

    sources: list[SourceLine]
    total: int
    cursor: str | None


class ShowSourceAsks(Paged, Moments):
    """The live drawers that came from a file."""

    source_file: Line = Field(description="The file, as its drawers name it.")
    wing: PlaceName | None = Field(None, description="Only in this wing.")
    limit: Limit = LIMIT_DEFAULT
    cursor: Cursor | None = None


class SourceDrawer(Answers):
    """A drawer of a source, with the first 200 characters of its text."""

    id: str
    wing: str
    room: str
    preview: str
    recorded_at: str


class ShowSourceAnswers(Shown):
    """One page of drawers, newest first; `total` counts all pages."""

    source_file: str
    drawers: list[SourceDrawer]
    total: int
    cursor: str | None
