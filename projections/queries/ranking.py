"""Which texts hold the words of a question, each with how well it answers it (BM25).

Protects promise 6: SQLite's own ranking weighs words by all texts there are today. Where a past
position is read, the same formula is computed from the texts that had arrived by then, so that
what arrives later changes no answer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Integer, bindparam, cast, column, func, literal_column, select, table

from projections import tables
from projections.meaning import SCORE_UNIT
from projections.reading import Reading
from projections.tables import Prepared
from projections.text import Word
from projections.tokens import stem

_SATURATION: Final = 1.2
_LENGTH_WEIGHT: Final = 0.75
_RARITY_MIN: Final = 1e-6
ALL: Final = -1
_LAST_CHARACTER: Final = "\U0010ffff"

_B: Any = bindparam
_numbered, _texts = tables.numbered, tables.texts
_words = table(tables.WORDS, column("rowid"))
_places = table(tables.WORD_PLACES, column("term"), column("doc"))
_counts = table(tables.WORD_COUNTS, column("term"), column("doc"))
_UPTO = Prepared(
    select(_numbered.c.number, _numbered.c.words_upto)
    .where(_numbered.c.position <= _B("position"))
    .order_by(_numbered.c.position.desc(), _numbered.c.number.desc())
    .limit(1)
)
_HOLDING = Prepared(
    select(_places.c.doc, func.count(), _numbered.c.words)
    .select_from(_places.join(_numbered, _numbered.c.number == _places.c.doc))
    .where(
        _places.c.term >= _B("least"),
        _places.c.term <= _B("most"),
        _places.c.doc <= _B("last"),
    )
    .group_by(_places.c.doc)
)
_HOLDERS = Prepared(select(func.max(_counts.c.doc)).where(_counts.c.term == _B("term")))
_HOLDERS_THEN = Prepared(
    select(func.count(func.distinct(_places.c.doc))).where(
        _places.c.term == _B("term"), _places.c.doc <= _B("last")
    )
)


def by_index() -> Any:
    """The `:most` texts that answer best of those that hold any word of `:expression`, ranked by
    all texts there are, best first; a negative number for all.
    """
    worse = func.bm25(literal_column(tables.WORDS)).label("worse")
    ranked = (
        select(_words.c.rowid.label("number"), worse)
        .where(_matching())
        .order_by(literal_column("worse"))
        # Without a limit SQLite would take an inner order for needless, and drop it.
        .limit(_B("most"))
        .cte("ranked")
        .prefix_with("MATERIALIZED")
    )
    score = cast(func.round(-ranked.c.worse * SCORE_UNIT), Integer)
    return select(ranked.c.number, score.label("score")).subquery("found")


def by_index_unranked() -> Any:
    """The texts that hold any word of `:expression`."""
    return select(_words.c.rowid.label("number")).where(_matching()).subquery("found")


def by_list() -> Any:
    """The texts of `:ranked`, a JSON list of [number, score]."""
    each = func.json_each(_B("ranked")).table_valued("value", name="each")
    value: Any = literal_column("each.value")
    return (
        select(
            func.json_extract(value, "$[0]").label("number"),
            func.json_extract(value, "$[1]").label("score"),
        )
        .select_from(each)
        .cte("found")
        .prefix_with("MATERIALIZED")
    )


def by_characters() -> Any:
    """The texts in which `:literal` stands, all of the same score."""
    return (
        select(_numbered.c.number.label("number"), literal_column("0").label("score"))
        .select_from(_numbered.join(_texts, _texts.c.drawer_id == _numbered.c.drawer_id))
        .where(
            func.instr(_texts.c.content, _B("literal")) > 0,
            _numbered.c.position <= _B("position"),
        )
        .cte("found")
        .prefix_with("MATERIALIZED")
    )


def ranked_then(reading: Reading, words: Sequence[Word]) -> str:
    """The texts that had arrived by the reading's position and hold any of the words, ranked by
    those texts alone: a JSON list of [number, score], best first.
    """
    [(last, words_upto)] = reading.rows(_UPTO) or [(0, 0)]
    scores: dict[int, float] = defaultdict(float)
    for word in words:
        least = word.text if word.begins else stem(word.text)
        most = least + _LAST_CHARACTER if word.begins else least
        holding = _HOLDING(reading.cursor, least=least, most=most, last=last).fetchall()
        rarity = math.log((last - len(holding) + 0.5) / (len(holding) + 0.5))
        weight = max(rarity, _RARITY_MIN) * (_SATURATION + 1)
        for number, often, length in holding:
            longer = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length * last / words_upto
            scores[number] += weight * often / (often + _SATURATION * longer)
    whole = ((number, round(score * SCORE_UNIT)) for number, score in scores.items())
    return orjson.dumps(sorted(whole, key=lambda one: -one[1])).decode()


def rarities(reading: Reading, words: Sequence[Word]) -> dict[str, float]:
    """How rare each word is among the texts that had arrived by the reading's position, by its
    stem: BM25's weight of it, above 0.
    """
    [(last, _)] = reading.rows(_UPTO) or [(0, 0)]
    newest = reading.position == reading.checkpoint.position
    found = {}
    for word in words:
        asked = stem(word.text)
        [(holding,)] = (_HOLDERS if newest else _HOLDERS_THEN)(
            reading.cursor, term=asked, last=last
        ).fetchall()
        found[asked] = _rarity(holding or 0, last)
    return found


def _rarity(holding: int, all_of_them: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): never below 0, however common a word is."""
    return math.log1p((all_of_them - holding + 0.5) / (holding + 0.5))


def _matching() -> Any:
    return literal_column(tables.WORDS).op("MATCH")(_B("expression"))
