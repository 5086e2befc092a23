"""The one reading of time: text to instants, instants to text.

Protects: every surface understands a time the same way, on every machine. A text without a zone is
read in the zone the caller configured, never in the host's; nothing is guessed or silently rounded.

May not: read a clock (`now` is an argument), consult the host's zone or environment, or know which
field a text came from (the caller adds that to an error).

An instant is an `int`: microseconds since 1970-01-01T00:00:00Z. `ENDLESS` stands for "no end".

Rules where local calendars are irregular (PEP 495):

* A local time that happens twice means the first of the two (fold=0).
* A local time that a clock change skipped moves forward by the length of the gap: with 02:00 to
  03:00 skipped, 02:30 means 03:30.
* A day starts at the first instant whose local date is that day or a later one, so also where
  midnight is skipped or happens twice. A day ends where the next one starts: days of 23 or 25 hours
  come out right, days never overlap or leave a hole, and a day that a zone skipped is empty.
* The end of year 9999 is `LATEST + 1`, the only accepted instant that is not in a year a date can
  show; `show` gives the last microsecond before it. All other results lie in EARLIEST..LATEST.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import Enum
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_LAST_WALL: Final = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
_LAST_DAY: Final = _LAST_WALL.toordinal()

ENDLESS: Final = 2**63 - 1
"""Stands for "no end". Later than every instant, and not showable."""
EARLIEST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""0001-01-01T00:00:00.000000Z, in microseconds."""
LATEST: Final = (_LAST_WALL - _EPOCH) // _MICROSECOND
"""9999-12-31T23:59:59.999999Z, in microseconds."""
_AFTER_LATEST: Final = LATEST + 1

INSTANT_FORMS: Final = (
    "Accepted: 2026-07-26T23:59:59.999999Z (seconds and fraction optional; an offset such as +02:00"
    " instead of Z; with neither, the configured zone), 2026-07-26, 20260726, 2026-07, 2026,"
    " now, today, yesterday, -30m, -2h, -7d."
)
KNOWN_AT_FORMS: Final = f"{INSTANT_FORMS[:-1]}, @123, @primary:123."
ZONE_FORMS: Final = "Accepted: an IANA zone name such as UTC, Europe/Paris or America/New_York."

# [0-9] and not \d: \d also matches the digits of other scripts.
_DATE_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"([Zz]|([+-])([0-9]{2}):([0-9]{2}))?"
)
_DATE: Final = re.compile(r"([0-9]{4})(?:([0-9]{2})([0-9]{2})|-([0-9]{2})(?:-([0-9]{2}))?)?")
_AGO: Final = re.compile(r"-([0-9]+)([mhd])")
_POSITION: Final = re.compile(r"@(primary:)?([0-9]{1,18})")

_DAYS_BACK: Final = {"today": 0, "yesterday": 1}
_UNIT: Final = {"m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
# Enough digits for every reachable minute; a longer number is not worth an int of its size.
_AGO_DIGITS: Final = 12
_QUOTED: Final = 64

# zoneinfo finds these on some machines only. The first two are the host's own zone, and the clocks
# under right/ count leap seconds, which instants do not.
_MACHINE_ZONES: Final = ("localtime", "posixrules")
_MACHINE_FOLDERS: Final = ("posix/", "right/")

_NO_FORM: Final = "It is in none of the accepted forms."
_OUT_OF_YEARS: Final = "It lies outside the years 1 to 9999 (UTC)."


class Reach(Enum):
    """Which instant of its period a bare date, month or year means. Other forms ignore it."""

    START = "start"
    """The first instant: `valid_from`, `since`, `from`."""
    END = "end"
    """Exclusive end, the first instant after: `valid_to`, `until`, `before`, `ended`."""
    POINT = "point"
    """The last microsecond: `as_of`, `known_at`."""


class InstantError(ValueError):
    """A text that is no instant, position or zone.

    `text` is the text as given, `reason` a sentence saying what is wrong with it, `hint` a sentence
    listing what is accepted. The message holds all three; a long text is quoted shortened.
    """

    def __init__(self, text: str, reason: str, hint: str = INSTANT_FORMS) -> None:
        super().__init__(text, reason, hint)
        self.text = text
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        text = self.text
        quoted = repr(text) if len(text) <= _QUOTED else f"{text[:_QUOTED]!r}..."
        return f"{quoted} cannot be read. {self.reason} {self.hint}"


@dataclass(frozen=True, slots=True)
class Moment:
    """A point on both time axes, as a read understood it.

    `as_of`: what was true then (instant, microseconds). `position`: the log position up to which
    the log is read. `known_at`: the instant understood, or None when the present was meant.
    """

    as_of: int
    position: int
    known_at: int | None


@dataclass(frozen=True, slots=True)
class AtInstant:
    """`known_at` given as an instant, in microseconds."""

    instant: int


@dataclass(frozen=True, slots=True)
class AtPosition:
    """`known_at` given as a position of this log; 0 is before the first event."""

    position: int


@dataclass(frozen=True, slots=True)
class AtPrimary:
    """`known_at` given as a position of the primary's log; 0 is before the first event."""

    position: int


KnownAt: TypeAlias = AtInstant | AtPosition | AtPrimary


def parse(text: str, *, zone: str | tzinfo, now: int, reach: Reach) -> int:
    """Read `text` as an instant, in microseconds UTC.

    `zone` (a zone name or tzinfo) applies to text that names none; `now` (microseconds) is what
    now, today, yesterday and -30m, -2h, -7d count from; `reach` says which instant of a bare
    date, month or year is meant. A result that was not given as a period end lies in
    EARLIEST..LATEST; a period end may also be LATEST + 1.

    Raises InstantError if the text is in no accepted form, names no real date or time, or lies
    outside years 1 to 9999; also if `zone` names no zone, whatever the text.
    """
    local = _zone(zone)
    trimmed = text.strip()
    if match := _DATE_TIME.fullmatch(trimmed):
        return _bounded(text, _date_time(text, match, local), LATEST)
    if match := _AGO.fullmatch(trimmed):
        return _bounded(text, _ago(text, match, now), LATEST)
    if trimmed.lower() == "now":
        return _bounded(text, now, LATEST)
    first, following = _days(text, trimmed, local, now)
    if reach is Reach.START:
        return _bounded(text, _day_start(first, local), LATEST)
    end = _bounded(text, _day_start(following, local), _AFTER_LATEST)
    # Bounded again: the end of yesterday may be EARLIEST itself.
    return end if reach is Reach.END else _bounded(text, end - 1, LATEST)


def parse_known_at(text: str, zone: str | tzinfo, now: int) -> KnownAt:
    """Read a `known_at`: an instant (as `parse` with Reach.POINT), `@123` or `@primary:123`.

    Positions are 1 to 18 digits without a sign. Raises InstantError, as `parse` does.
    """
    local = _zone(zone)
    trimmed = text.strip()
    if match := _POSITION.fullmatch(trimmed):
        position = int(match[2])
        return AtPrimary(position) if match[1] else AtPosition(position)
    if trimmed.startswith("@"):
        reason = "A position is @ or @primary: and 1 to 18 digits, without sign or spaces."
        raise InstantError(text, reason, KNOWN_AT_FORMS)
    try:
        return AtInstant(parse(text, zone=local, now=now, reach=Reach.POINT))
    except InstantError as error:
        raise InstantError(text, error.reason, KNOWN_AT_FORMS) from None


def show(instant: int) -> str:
    """Give an instant (microseconds) as RFC 3339 with six fraction digits and `Z`.

    `parse` reads it back to the same instant, except LATEST + 1 (the end of year 9999), which RFC
    3339 cannot write and which shows as LATEST. Raises ValueError for ENDLESS (see `shown`) and
    for anything else outside EARLIEST..LATEST + 1.
    """
    if instant == ENDLESS:
        raise ValueError("ENDLESS is no instant and cannot be shown; show None for it")
    if not EARLIEST <= instant <= _AFTER_LATEST:
        raise ValueError(f"instant {instant} lies outside the years 1 to 9999")
    moment = _EPOCH + timedelta(microseconds=min(instant, LATEST))
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def shown(instant: int) -> str | None:
    """Give `show(instant)`, or None for ENDLESS. Raises ValueError as `show` does."""
    return None if instant == ENDLESS else show(instant)


def zone_named(name: str) -> tzinfo:
    """Give the IANA zone of that name.

    Raises InstantError for an unknown name, and for names that mean another zone on another
    machine (`localtime`).
    """
    if name == "UTC":
        return UTC  # the default zone must not depend on an installed zone database
    if name in _MACHINE_ZONES or name.startswith(_MACHINE_FOLDERS):
        reason = "It is no IANA zone name, and its meaning depends on the machine."
        raise InstantError(name, reason, ZONE_FORMS)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # OSError: a folder, or too long a name
        raise InstantError(name, "No time zone has this name.", ZONE_FORMS) from error


def _zone(zone: str | tzinfo) -> tzinfo:
    return zone_named(zone) if isinstance(zone, str) else zone


def _bounded(text: str, instant: int, last: int) -> int:
    if EARLIEST <= instant <= last:
        return instant
    raise InstantError(text, _OUT_OF_YEARS)


def _date_time(text: str, match: re.Match[str], zone: tzinfo) -> int:
    year, month, day, hour, minute, second, fraction, suffix, *offset = match.groups()
    if second == "60":
        raise InstantError(text, "Leap seconds (:60) are not supported.")
    if fraction is not None and len(fraction) > 6:
        raise InstantError(text, "The fraction has more than 6 digits (microseconds).")
    try:
        wall = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0),
            int((fraction or "0").ljust(6, "0")), tzinfo=UTC,
        )  # fmt: skip
    except ValueError as error:
        raise InstantError(text, f"It names no real date or time: {error}.") from None
    shift = _written_offset(text, offset) if suffix else _offset(wall.replace(tzinfo=zone))
    return (wall - _EPOCH) // _MICROSECOND - shift


def _written_offset(text: str, offset: list[str | None]) -> int:
    sign, hours, minutes = offset
    if sign is None or hours is None or minutes is None:
        return 0
    if int(hours) > 23 or int(minutes) > 59:
        raise InstantError(text, "The offset is not within -23:59 to +23:59.")
    size = int(hours) * _UNIT["h"] + int(minutes) * _UNIT["m"]
    return -size if sign == "-" else size


def _ago(text: str, match: re.Match[str], now: int) -> int:
    if len(match[1]) > _AGO_DIGITS:
        raise InstantError(text, f"The number has more than {_AGO_DIGITS} digits.")
    return now - int(match[1]) * _UNIT[match[2]]


def _days(text: str, trimmed: str, zone: tzinfo, now: int) -> tuple[int, int]:
    """First day of the period and first day after it, as ordinals; the latter may be year 10000."""
    back = _DAYS_BACK.get(trimmed.lower())
    if back is not None:
        day = _day_of(text, now, zone) - back
        return day, day + 1
    match = _DATE.fullmatch(trimmed)
    if match is None:
        raise InstantError(text, _NO_FORM)
    year, month, day_of_month = int(match[1]), match[2] or match[4], match[3] or match[5]
    try:
        if day_of_month is not None:
            day = date(year, int(month), int(day_of_month)).toordinal()
            return day, day + 1
        if month is not None:
            return _month_start(year, int(month)), _month_start(year, int(month) + 1)
        return _month_start(year, 1), _month_start(year, 13)
    except ValueError as error:
        raise InstantError(text, f"It names no real date: {error}.") from None


def _month_start(year: int, month: int) -> int:
    """First day of the month as an ordinal; month 13 is the first of the year after."""
    if month == 13:
        year, month = year + 1, 1
    return _LAST_DAY + 1 if year > 9999 else date(year, month, 1).toordinal()


def _day_of(text: str, instant: int, zone: tzinfo) -> int:
    try:
        return _local(instant, zone).toordinal()
    except OverflowError:
        raise InstantError(text, _OUT_OF_YEARS) from None


def _day_start(day: int, zone: tzinfo) -> int:
    if day > _LAST_DAY:
        return _AFTER_LATEST - _offset(_LAST_WALL.replace(tzinfo=zone))
    if day < 1:
        return EARLIEST - 1  # yesterday of the first day; the caller bounds it
    midnight = datetime.fromordinal(day).replace(tzinfo=zone)
    wall = (day - _EPOCH_DAY) * _UNIT["d"]
    usual, other = _offset(midnight), _offset(midnight.replace(fold=1))
    # PEP 495: the two differ only around a clock change. fold=0 is the earlier reading of a
    # midnight that happens twice, but the later one of a midnight in a gap.
    return wall - usual if usual >= other else _gap_end(wall, wall - other, wall - usual, zone)


def _gap_end(wall: int, before: int, after: int, zone: tzinfo) -> int:
    """First instant in (before, after] whose local time is at or past a midnight in a gap.

    Not simply `after`: where 23:30 jumped to 00:30 that would be 01:00, half an hour into the day.
    """
    while after - before > 1:
        middle = (before + after) // 2
        if middle + _offset(_local(middle, zone)) < wall:
            before = middle
        else:
            after = middle
    return after


def _local(instant: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)


def _offset(local: datetime) -> int:
    offset = local.utcoffset()
    if offset is None:
        raise ValueError(f"{local.tzinfo!r} gives no offset from UTC")
    return offset // _MICROSECOND
