"""The building blocks of the operations' models: names, times, moments, envelopes.

Protects the border: what passes these types is well formed, so that the rules behind them need not
check again. Times are texts outside and microseconds inside; the reading of `now` and the
configured zone come as validation context (`Clock`), so that nothing here reads a clock.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from domain.canonical import NotStorable, read_json
from domain.identity import NAME_CHARACTERS_MAX
from domain.instants import (
    EARLIEST,
    LATEST,
    AtInstant,
    InstantError,
    KnownAt,
    Reach,
    parse,
    parse_known_at,
)
from domain.operation import CONTENT_BYTES_MAX

KEY_CHARACTERS_MAX: Final = 128
TAGS_MAX: Final = 64
LIMIT_DEFAULT: Final = 20
LIMIT_MAX: Final = 200

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINES = re.compile(r"[\t\n\r]")


@dataclass(frozen=True, slots=True)
class Clock:
    """What a text about time is read by: the configured zone and the present, microseconds UTC."""

    zone: str
    now: int


class Decided(NamedTuple):
    """What a decision records.

    Attributes:
        payload: the resolved arguments.
        target: `known` or `unverified` where the operation needs something to exist.
    """

    payload: dict[str, Any]
    target: str | None = None


class Asks(BaseModel):
    """The arguments of an operation; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Writes(Asks):
    """The arguments that every write takes."""

    idempotency_key: str | None = Field(
        None,
        min_length=1,
        max_length=KEY_CHARACTERS_MAX,
        description="A call repeated with its key gives the same answer and writes nothing.",
    )


class Records(BaseModel):
    """The payload of an event: what its asks resolved to. Judged at receipt, so form only."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Answers(BaseModel):
    """What an operation answers."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class WriteAnswers(Answers):
    """The envelope that every write answers with."""

    op_id: str
    origin_device: str
    stream: str
    local_seq: int
    position: int
    duplicate: bool = Field(
        description="What was written was held already; the call is an event all the same."
    )


class DryRunAnswers(Answers):
    """The envelope of a write that can be tried first; of a dry run it names no event."""

    dry_run: bool
    op_id: str | None
    origin_device: str | None
    stream: str | None
    local_seq: int | None
    position: int | None
    duplicate: bool


def _clean_name(text: str) -> str:
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise ValueError("is empty")
    if len(name) > NAME_CHARACTERS_MAX:
        raise ValueError(f"is longer than {NAME_CHARACTERS_MAX} characters")
    return _without_control(name)


def _without_control(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("contains a control character")
    return text


def _clean_place(text: str) -> str:
    name = _clean_name(text)
    if "/" in name or "\\" in name or ".." in name:
        raise ValueError("contains one of: / \\ ..")
    return name


def _clean_object(text: str) -> str:
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise ValueError("is empty")
    _without_control(_LINES.sub(" ", name))
    return _within_bytes(name)


def _within_bytes(text: str) -> str:
    if len(text) > CONTENT_BYTES_MAX // 4 and len(text.encode()) > CONTENT_BYTES_MAX:
        raise ValueError(f"is larger than {CONTENT_BYTES_MAX} bytes")
    return text


def _clean_content(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return _within_bytes(text)


def _tag_list(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return read_json(value)
        except NotStorable as error:
            raise ValueError(f"is no list of tags: {error}") from None
    return [part for part in (tag.strip() for tag in value.split(",")) if part]


def _no_repeats(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


Name = Annotated[str, AfterValidator(_clean_name)]
PlaceName = Annotated[str, AfterValidator(_clean_place)]
ObjectName = Annotated[str, AfterValidator(_clean_object)]
Content = Annotated[str, AfterValidator(_clean_content)]
Id = Annotated[str, Field(min_length=1, max_length=512)]
Line = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_without_control)]


def _as_recorded(clean: Callable[[str], str]) -> AfterValidator:
    """What is recorded was cleaned at its origin; from elsewhere it may not have been."""

    def check(text: str) -> str:
        if clean(text) != text:
            raise ValueError("is not in the form in which names are recorded")
        return text

    return AfterValidator(check)


RecordedName = Annotated[str, _as_recorded(_clean_name)]
RecordedPlace = Annotated[str, _as_recorded(_clean_place)]
RecordedObject = Annotated[str, _as_recorded(_clean_object)]
RecordedId = Annotated[str, Field(min_length=1)]
RecordedInstant = Annotated[int, Field(ge=EARLIEST, le=LATEST + 1)]
Tags = Annotated[
    list[Name], Field(max_length=TAGS_MAX), BeforeValidator(_tag_list), AfterValidator(_no_repeats)
]
Limit = Annotated[
    int, Field(ge=1, le=LIMIT_MAX, description=f"At most so many, up to {LIMIT_MAX}.")
]
Cursor = Annotated[Line, Field(description="Where the page before this one ended.")]


def clock_of(info: ValidationInfo) -> Clock:
    """The clock that a call was validated with."""
    if not isinstance(info.context, Clock):
        raise RuntimeError("the arguments of a call are validated with a Clock as context")
    return info.context


def _reader(reach: Reach) -> Callable[[Any, ValidationInfo], int]:
    def read(value: Any, info: ValidationInfo) -> int:
        if not isinstance(value, str):
            raise ValueError("is not a text that names a time")
        clock = clock_of(info)
        try:
            return parse(value, zone=clock.zone, now=clock.now, reach=reach)
        except InstantError as error:
            raise ValueError(str(error)) from None

    return read


def _read_known_at(value: Any, info: ValidationInfo) -> KnownAt:
    if not isinstance(value, str):
        raise ValueError("is not a text that names a time or a position")
    clock = clock_of(info)
    try:
        return parse_known_at(value, clock.zone, clock.now)
    except InstantError as error:
        raise ValueError(str(error)) from None


TIME_WORDS: Final = "RFC 3339, a date, a month, a year, now, today, -2h ..."
_TIME_SCHEMA = {"type": "string", "description": TIME_WORDS}
StartTime = Annotated[int, BeforeValidator(_reader(Reach.START)), WithJsonSchema(_TIME_SCHEMA)]
EndTime = Annotated[int, BeforeValidator(_reader(Reach.END)), WithJsonSchema(_TIME_SCHEMA)]
PointTime = Annotated[int, BeforeValidator(_reader(Reach.POINT)), WithJsonSchema(_TIME_SCHEMA)]
KnownTime = Annotated[
    Any,
    BeforeValidator(_read_known_at),
    WithJsonSchema({"type": "string", "description": "A time, `@position` or `@primary:position`"}),
]


class KnownThen(Asks):
    """For reads of what the log recorded: `known_at` alone."""

    known_at: KnownTime | None = Field(None, description="What this log had recorded by then.")


class Paged(Asks):
    """For lists in pages: what a cursor is bound to."""

    _as_said: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_what_was_said(cls, said: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        asked = handler(said)
        asked._as_said = dict(said) if isinstance(said, Mapping) else {}
        return asked

    def question(self) -> dict[str, Any]:
        """What is asked, without the page: a time as it was said, since `-7d` means another instant
        on each page.
        """
        held = self.model_dump(by_alias=True, exclude={"limit", "cursor"}, exclude_none=True)
        return {
            name: said if isinstance(said := self._as_said.get(name), str) else value
            for name, value in held.items()
        }


class Moments(KnownThen):
    """For reads of what is true: both axes."""

    as_of: PointTime | None = Field(None, description="What was true then, with all that is known.")


class Windows(Moments):
    """For lists that can also look at a window of valid time, or at everything."""

    from_: StartTime | None = Field(
        None, alias="from", description="True at some time from then on."
    )
    until: EndTime | None = Field(None, description="True at some time before then.")
    include_historical: bool = Field(False, description="Also what is no longer or not yet true.")

    @model_validator(mode="after")
    def _one_way_to_choose(self) -> Windows:
        chosen = [
            self.as_of is not None,
            self.from_ is not None or self.until is not None,
            self.include_historical,
        ]
        if sum(chosen) > 1:
            raise ValueError("as_of, from with until, and include_historical exclude each other")
        return self


class Shown(Answers):
    """What every read answers beside its own: the log and the moment that it was read at."""

    log_id: str
    position: int = Field(description="The log was read up to this position.")
    as_of: str | None = Field(
        description="The instant understood; null where all of time was asked for."
    )
    known_at: str | None = Field(description="The instant understood; null for the present.")


def default_as_of(known_at: KnownAt | None, now: int, logged_at: Callable[[int], int]) -> int:
    """The `as_of` of a read that names none: the present, or the instant that `known_at` means.

    Args:
        logged_at: when a position of this log was recorded, in microseconds.
    """
    if known_at is None:
        return now
    if isinstance(known_at, AtInstant):
        return known_at.instant
    return logged_at(known_at.position)
