"""Groups of drawers that are near to each other.

Protects a large palace: comparing all with all grows with the square of it, so that one answer
looks at a number of drawers, from the newest back, and the next goes on from there. A group is told
where its newest drawer stands, once; it is what nearness leads to from there, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, select

from projections import tables
from projections.meaning import Alike, Group, Showing
from projections.reading import Reading
from projections.tables import Prepared
from projections.vectors.nearness import Nearness, Neighbour, Read
from projections.vectors.vector_index import VectorIndex

LOOKED_AT_MAX: Final = 512
"""How many drawers one answer looks at, at 100,000 drawers about two seconds."""
GROUP_MAX: Final = 100
"""How many drawers of a group are told, and how many near ones of a drawer are followed."""
_AT_ONCE: Final = 64

_B: Any = bindparam
_numbered = tables.numbered
_BACK = Prepared(
    select(_numbered.c.number, _numbered.c.digest)
    .where(_numbered.c.number < _B("before"), _numbered.c.position <= _B("position"))
    .order_by(_numbered.c.number.desc())
    .limit(_B("limit"))
)
_DIGESTS = "SELECT number, digest FROM numbered WHERE number IN ({})"


class Walked(NamedTuple):
    """What a walk found, and the number of the drawer that it ended at; None at the end of all."""

    groups: Sequence[Group]
    last: int | None


class _Walk:
    def __init__(self, reading: Reading, index: VectorIndex, shown: Showing, least: int) -> None:
        self._reading, self._shown = reading, shown
        self._nearness = Nearness(reading, index, shown, least)
        self._known: dict[int, list[Neighbour]] = {}
        self.looked_at = 0

    def back(self, before: int) -> list[tuple[int, str]]:
        """The next texts from the newest on, (number, drawer), drawer "" where it is not shown."""
        rows = self._reading.rows(_BACK, before=before, limit=_AT_ONCE)
        digests = dict(rows)
        shown = self._shown.of(list(digests))
        self._look({number: (drawer, digests[number]) for number, drawer in shown.items()})
        self.looked_at += len(rows)
        return [(number, shown.get(number, "")) for number, _ in rows]

    def group(self, number: int, drawer: str) -> Group | None:
        """What hangs together with a drawer; None where that is nothing, or has a newer drawer."""
        found: dict[int, Alike] = {}
        step, complete = {number: drawer}, True
        while step:
            self._look_at(step)
            behind: dict[int, str] = {}
            for own, id in step.items():
                near = [one for one in self._known[own] if one.number != own]
                if near:
                    found[own] = Alike(id, near[0].cosine)
                behind |= {one.number: one.drawer_id for one in near}
            if any(one > number for one in behind):
                return None
            further = sorted(set(behind) - set(found), reverse=True)
            left = GROUP_MAX - len(found)
            complete = complete and len(further) <= left
            step = {one: behind[one] for one in further[:left]}
        drawers = [found[one] for one in sorted(found)]
        return Group(number, drawers, complete) if drawers else None

    def _look_at(self, drawers: dict[int, str]) -> None:
        unknown = {number: id for number, id in drawers.items() if number not in self._known}
        if unknown:
            marks = ",".join("?" * len(unknown))
            rows = self._reading.cursor.execute(_DIGESTS.format(marks), list(unknown)).fetchall()
            self._look({number: (unknown[number], digest) for number, digest in rows})
            self.looked_at += len(unknown)

    def _look(self, drawers: dict[int, tuple[str, bytes]]) -> None:
        reads: dict[str, Read] = self._nearness.read_drawers(dict(drawers.values()))
        asked = [number for number, (drawer, _) in drawers.items() if drawer in reads]
        texts = [reads[drawers[number][0]] for number in asked]
        near = self._nearness.neighbours(texts, GROUP_MAX)
        self._known |= {number: [] for number in drawers}
        self._known |= dict(zip(asked, near, strict=True))


def walked(
    reading: Reading, index: VectorIndex, shown: Showing, least: int, before: int, count: int
) -> Walked:
    """The next groups from the newest drawer below a number on.

    Args:
        least: the cosine in millionths from which texts are near.
        count: at most so many groups.
    """
    walk, groups = _Walk(reading, index, shown, least), list[Group]()
    while walk.looked_at < LOOKED_AT_MAX:
        drawers = walk.back(before)
        if not drawers:
            return Walked(groups, None)
        for number, drawer in drawers:
            before = number
            found = walk.group(number, drawer) if drawer else None
            if found is not None:
                groups.append(found)
            if len(groups) == count:
                return Walked(groups, before)
    return Walked(groups, before)
