"""The words that SQLite's tokenizer makes of a text, asked of a database in memory.

Protects agreement: what the index splits and stems is split and stemmed by the same code here, so
that statistics can be looked up by the very words that the index holds.
"""

from __future__ import annotations

import sqlite3
import threading
from functools import cache, lru_cache
from typing import Final

_SPLIT: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
TOKENIZER: Final = f"porter {_SPLIT}"
_STEMS_KEPT: Final = 4_096


class _Tokenizer:
    """One way to cut texts."""

    def __init__(self, how: str) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute(f'CREATE VIRTUAL TABLE one USING fts5(body, tokenize="{how}")')
        self._database.execute("CREATE VIRTUAL TABLE places USING fts5vocab(one, instance)")

    def __call__(self, text: str) -> list[str]:
        """The words in their order."""
        with self._lock:
            self._database.execute("BEGIN")
            try:
                self._database.execute("INSERT INTO one (rowid, body) VALUES (1, ?)", (text,))
                rows = self._database.execute('SELECT term FROM places ORDER BY "offset"')
                return [term for (term,) in rows.fetchall() if term]  # a lone accent is no word
            finally:
                self._database.execute("ROLLBACK")


@cache
def _tokenizer(how: str) -> _Tokenizer:
    return _Tokenizer(how)


def tokens(text: str) -> list[str]:
    """The words of a text as they stand in it, small and without accents."""
    return _tokenizer(_SPLIT)(text)


@lru_cache(maxsize=_STEMS_KEPT)
def stem(token: str) -> str:
    """The word that the index holds for a token."""
    return next(iter(_tokenizer(TOKENIZER)(token)), token)
