"""Comparing the texts of a checkpoint by meaning, before it is decided.

Protects the decision from a model: what is near to what goes on as numbers. May not decide: which
of these drawers is still live, and which item is stored, is known under the write lock alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import orjson
from sqlalchemy import bindparam, func, literal_column, select

from domain.canonical import comparable
from domain.nearness import COSINE_UNIT, Comparison, Neighbours, ToStore
from domain.places import Place
from domain.travel import LOCAL, REPLICATED
from projections import tables
from projections.meaning import LAGGING
from projections.queries.drawer_lists import held
from projections.reading import Reading
from projections.sqlite import digest_of
from projections.tables import Prepared
from projections.vectors.nearness import Nearness, Read, alike
from projections.vectors.vector_index import VectorIndex

DRAWERS_MAX: Final = 16
"""So many drawers are told for an item: some may be gone by the time it is decided."""

_B: Any = bindparam
_numbered = tables.numbered


def _listed(name: str) -> Any:
    return select(func.json_each(_B(name)).table_valued("value").c.value)


_each = func.json_each(_B("numbers")).table_valued("value", name="each")
_number: Any = literal_column("each.value").label("number")
_asked = select(_number).select_from(_each).cte("asked").prefix_with("MATERIALIZED")
_COMPARABLE = Prepared(
    select(_numbered.c.number, _numbered.c.drawer_id)
    .select_from(_asked.join(_numbered, _numbered.c.number == _asked.c.number))
    .where(
        _numbered.c.wing_key.not_in(_listed("wings")),
        held(_numbered.c.drawer_id, timed=True),
    )
)


class Comparable:
    """The drawers that an item may be compared with (see `projections.meaning.Showing`): live, true
    when it begins to be true, and none that stays on this machine where the item travels.
    """

    def __init__(self, reading: Reading, item: ToStore, local: set[str]) -> None:
        """Look in a snapshot; `local` are the wings that stay, in comparable form."""
        kept_out = [] if comparable(item.wing) in local else sorted(local)
        self._reading = reading
        self._given = {
            "begin": item.valid_from,
            "end": item.valid_from + 1,
            "wings": orjson.dumps(kept_out).decode(),
        }

    def of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Those of some numbered texts that an item may be compared with."""
        asked = orjson.dumps(list(numbers)).decode()
        return dict(self._reading.rows(_COMPARABLE, numbers=asked, **self._given))


def compare(
    reading: Reading, index: VectorIndex, items: Sequence[ToStore], least: int
) -> Comparison:
    """What is near to each of some texts, all of which were embedded where they could be.

    Args:
        least: the cosine in millionths from which texts are near.
    """
    digests = [digest_of(one.content) for one in items]
    passages = index.cache.passages(list(dict.fromkeys(digests)))
    local = _local_wings(reading)
    asked: dict[tuple[int, bool], list[int]] = {}
    for place, one in enumerate(items):
        stays = comparable(one.wing) in local
        asked.setdefault((one.valid_from, stays), []).append(place)
    drawers: dict[int, list[tuple[str, int]]] = {}
    reads: dict[int, Read] = {}
    for places in asked.values():
        shown = Comparable(reading, items[places[0]], local)
        nearness = Nearness(reading, index, shown, least)
        there = [place for place in places if digests[place] in passages]
        reads |= {
            place: nearness.read(items[place].content, passages[digests[place]]) for place in there
        }
        found = nearness.neighbours([reads[place] for place in there], DRAWERS_MAX)
        for place, near in zip(there, found, strict=True):
            drawers[place] = [(one.drawer_id, one.cosine) for one in near[:DRAWERS_MAX]]
    earlier = _earlier(reads, least)
    lacking = any(one not in passages for one in digests)
    return Comparison(
        [Neighbours(drawers.get(place, ()), earlier.get(place, ())) for place in range(len(items))],
        LAGGING if lacking else None,
    )


def _local_wings(reading: Reading) -> set[str]:
    policies: dict[str, set[str | None]] = {}
    for place in reading.all(Place):
        policies.setdefault(place.wing_key, set()).add(place.policy)
    return {wing for wing, said in policies.items() if LOCAL in said and REPLICATED not in said}


def _earlier(reads: dict[int, Read], least: int) -> dict[int, list[tuple[int, int]]]:
    """For each text the ones before it that are near, nearest first.

    The first chunk of one must match some chunk of the other; those that do are compared whole.
    """
    places = sorted(place for place, one in reads.items() if one.unknown is not None)
    if not places:
        return {}
    first = np.stack([reads[place].chunks[0] for place in places])
    chunks = np.concatenate([reads[place].chunks for place in places])
    owners = np.repeat(places, [len(reads[place].chunks) for place in places])
    found: dict[int, list[tuple[int, int]]] = {}
    for place, cosines in zip(places, first @ chunks.T, strict=True):
        may = (cosines * COSINE_UNIT >= least - 1) & (owners < place)
        for other in dict.fromkeys(owners[may].tolist()):
            cosine = alike(reads[place], reads[other])
            if cosine >= least:
                found.setdefault(place, []).append((other, cosine))
    return {place: sorted(near, key=lambda one: (-one[1], one[0])) for place, near in found.items()}
