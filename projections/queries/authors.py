"""The authors that a question names.

Protects questions about people: an author's name stands in every text that greets that author, so
that it finds what was said to the author rather than by the author. It is left out of what is
looked for, and kept as who is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, func, literal_column, select

from projections import tables
from projections.dates import MONTHS
from projections.reading import Reading
from projections.tables import Prepared
from projections.text import STOP_WORDS, spans

NAME_WORDS_MAX: Final = 4
ROLES: Final = frozenset({"agent", "ai", "assistant", "bot", "human", "system", "tool", "user"})
NOBODY: Final = ROLES | STOP_WORDS | MONTHS.keys()
"""Names that are words of questions too; nobody is meant by them."""

_B: Any = bindparam
_names = tables.names
_each = func.json_each(_B("names")).table_valued("value", name="each")
_name: Any = literal_column("each.value").label("folded")
_asked = select(_name).select_from(_each).cte("asked").prefix_with("MATERIALIZED")
_KNOWN = Prepared(
    select(_names.c.folded)
    .select_from(_asked.join(_names, _names.c.folded == _asked.c.folded))
    .where(_names.c.kind == "author", _names.c.scope == "", _names.c.position <= _B("position"))
)


def named(reading: Reading, query: str) -> list[str]:
    """The authors known at the reading's position whose names stand in a question, in comparable
    form, longest first; a name inside another is not named.
    """
    plain = [one for one in spans(query, NAME_WORDS_MAX) if len(one) > 1 and one not in NOBODY]
    rows = reading.rows(_KNOWN, names=orjson.dumps(plain).decode())
    known = {name for (name,) in rows}
    found: list[str] = []
    for name in plain:
        if name in known and not any(name in one for one in found):
            found.append(name)
    return found


def without(query: str, names: Sequence[str]) -> str:
    """A question without some names; as it is where nothing else would be left to look for."""
    if not names:
        return query
    any_of = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in names)
    cut = re.sub(rf"(?<!\w)(?:{any_of})(?:['\u2019]s)?(?!\w)", " ", query, flags=re.IGNORECASE)
    cut = " ".join(cut.split())
    telling = [one for one in re.findall(r"\w+", cut.lower()) if one not in STOP_WORDS]
    return cut if telling else query
