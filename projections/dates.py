"""The dates that a question names, as far as they tell a record from others.

Protects questions of when: a record's date stands beside its text, not in it. Days count only
beside a month; a month that is a common word too counts only as a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_MONTH_NAMES: Final = (
    "january jan januar janvier enero",
    "february feb februar f\u00e9vrier febrero",
    "march mar m\u00e4rz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug ao\u00fbt agosto",
    "september sep sept septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez d\u00e9cembre diciembre",
)
MONTHS: Final = {
    name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()
}
_WORDS_TOO: Final = frozenset({"may", "march", "mar", "mars", "jan", "dec"})
_ISO: Final = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_WORD: Final = re.compile(r"[^\W_]+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR_WEIGHT: Final = math.log(2)
_MONTH_WEIGHT: Final = math.log(12)
_DAY_WEIGHT: Final = math.log(30)
"""What a match is worth, in standard deviations: how many it tells one from."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Dated(NamedTuple):
    """What a question says of when."""

    years: frozenset[int]
    months: frozenset[int]
    days: frozenset[int]

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.years or self.months)

    def match(self, instant: int) -> float:
        """How well a record of an instant (microseconds UTC) meets it, in standard deviations."""
        try:
            date = _EPOCH + timedelta(microseconds=instant)
        except OverflowError:
            return 0.0
        month = date.month in self.months
        year = date.year in self.years and (month or not self.months)
        day = month and date.day in self.days
        return _YEAR_WEIGHT * year + _MONTH_WEIGHT * month + _DAY_WEIGHT * day


def dated(question: str) -> Dated:
    """What a question says of when."""
    years, months, days = set(), set(), set()
    for year, month, day in _ISO.findall(question):
        years.add(int(year))
        months.add(int(month))
        days |= {int(day)} if day else set()
    for kind, number in _spoken(_ISO.sub(" ", question)):
        {"year": years, "month": months, "day": days}[kind].add(number)
    return Dated(frozenset(years), frozenset(months), frozenset(days if months else ()))


def _spoken(question: str) -> Iterator[tuple[str, int]]:
    for place, word in enumerate(_WORD.findall(question)):
        small = word.lower()
        if small in MONTHS:
            if small not in _WORDS_TOO or (word[0].isupper() and place):
                yield "month", MONTHS[small]
        elif _YEAR.fullmatch(small):
            yield "year", int(small)
        elif (day := _DAY.fullmatch(small)) and 1 <= int(day[1]) <= 31:
            yield "day", int(day[1])
