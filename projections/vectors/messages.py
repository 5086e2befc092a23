"""What sets messages apart from documents: they answer each other.

Protects documents: what helps in a conversation (the message before, who said it) misleads where
texts stand for themselves, so it counts only among records that are recognised as messages.
Recognised are they by how they stand around a record: short, each with an author, authors in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Final

from projections.vectors.records import Record

BESIDE: Final = 3
"""How far before and behind a record its neighbours stand."""
MESSAGES_MIN: Final = 4
TURNS_PART: Final = 3
MESSAGE_CHARACTERS_MAX: Final = 600
ASKING_CHARACTERS_MAX: Final = 300

_TELLING: Final = re.compile("[\\w.!?\u2026\u3002\uff01\uff1f\u061f]")
_ASKS: Final = frozenset("?\uff1f\u061f")


def numbers_beside(records: Iterable[Record]) -> set[int]:
    """The numbers that stand beside those records that may be messages: what comes from one source
    arrives one after the other.
    """
    return {
        one.number + by
        for one in records
        if one.source and one.author
        for by in range(-BESIDE, BESIDE + 1)
        if one.number + by > 0
    }


def around(record: Record, known: Mapping[int, Record]) -> Sequence[Record]:
    """A record and those beside it that came from the same source, in the order of arrival."""
    if not (record.source and record.author):
        return [record]
    beside = (known.get(record.number + by) for by in range(-BESIDE, BESIDE + 1))
    return [one for one in beside if one is not None and one.source == record.source]


def are_messages(records: Sequence[Record]) -> bool:
    """Whether records that stand together are messages."""
    authors = [one.author for one in records]
    if len(records) < MESSAGES_MIN or not all(authors) or len(set(authors)) < 2:
        return False
    turns = sum(one != other for one, other in pairwise(authors))
    short = median(one.length for one in records) <= MESSAGE_CHARACTERS_MAX
    return short and TURNS_PART * turns >= len(records) - 1


def only_asks(record: Record) -> bool:
    """Whether a short record ends with a question."""
    return record.length <= ASKING_CHARACTERS_MAX and _ends_asking(record.ending)


@lru_cache(maxsize=16_384)
def _ends_asking(ending: str) -> bool:
    told = _TELLING.findall(ending)
    return bool(told) and told[-1] in _ASKS
