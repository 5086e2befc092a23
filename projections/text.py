"""How texts and questions are cut into words for full text search.

Protects what can be found: a text and a question go through the same cuts, so that a word is found
in whatever form it was typed (composed or not, full width, any case). Scripts that write no spaces
become pairs of characters, symbols become words, and what is written in one piece (`a/b`, `C++`,
`don't`) is a word beside its parts. Pure; the words themselves are split and stemmed by SQLite.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from domain.canonical import comparable

WORDS_MAX: Final = 64
"""A question's first words count; more would only make it slow."""
SNIPPET_CHARACTERS: Final = 200
_BEFORE: Final = 60
_PIECE_CHARACTERS_MAX: Final = 64
_PARTS_MAX: Final = 6
_LATIN_END: Final = "\u0250"

_CJK: Final = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_UNSPACED = re.compile(f"[{_CJK}]+")
_SIGN = re.compile(r"[^\x00-\x7f\w\s]")
_PART = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[\"'(«“„]*(\S+?)[\"')»”.,;:!?…]*(?:\s|$)")
_SIGNED = re.compile(r"([^\W_]+)(\+\+|#)")
_SIGN_NAMES: Final = {"++": "plusplus", "#": "sharp"}

_COMMON: Final = (  # English, then German and Dutch, then French, Spanish, Portuguese, Italian
    "a about after again all am an and any are as at be because been before being between both but "
    "by can cannot could d did do does doing don down during each few for from further had has "
    "have having he her here hers him his how i if in into is it its just ll m me more most my no "
    "nor not now of off on once only or other our ours out over own re s same she should so some "
    "such t than that the their theirs them then there these they this those through to too under "
    "until up ve very was we were what when where which while who whom why will with would you "
    "your yours "
    "der das dem den des und ist nicht eine einen einem einer ich wir ihr mit auf fur von zu zum "
    "zur im het een niet van voor "
    "le la les du une et est dans pour qui que sur el los las y es por para con os da em um uma il "
    "di che per"
)
STOP_WORDS: Final = frozenset(_COMMON.split())


class Word(NamedTuple):
    """A word of a question.

    Attributes:
        begins: the words of texts need only begin with it.
    """

    text: str
    begins: bool = False


class Sought(NamedTuple):
    """What a question may look like in a text, as `_folded` has it.

    Attributes:
        pieces: those that hold more than letters and digits.
        words: what its words begin with.
    """

    whole: str
    pieces: Sequence[str]
    words: Sequence[str]


def searchable(content: str) -> str:
    """A text as the index takes it in."""
    return _cut(content, question=False)


def asked(query: str) -> str:
    """A question in the same cuts."""
    return _cut(query, question=True)


def chosen(tokens: Iterable[str]) -> list[Word]:
    """The words of a question that are looked for: those that say something, else all of them."""
    found = list(dict.fromkeys(tokens))
    telling = [token for token in found if token not in STOP_WORDS]
    return [Word(token, _is_single(token)) for token in (telling or found)[:WORDS_MAX]]


def expression(words: Sequence[Word]) -> str:
    """The words as a question in FTS5's syntax, of which nothing that was typed becomes a part."""
    return " OR ".join(
        '"' + word.text.replace('"', '""') + '"' + ("*" if word.begins else "") for word in words
    )


def sought(query: str, words: Iterable[tuple[str, str]]) -> Sought:
    """What to look for where a text is shown.

    Args:
        words: each word of the question with its stem.
    """
    whole = _folded(unicodedata.normalize("NFC", query.strip()))
    pieces = [one for one in whole.split() if one not in STOP_WORDS and not one.isalnum()]
    return Sought(whole, pieces, [_folded(_common(word, stem)) for word, stem in words])


def snippet(content: str, looked_for: Sought) -> str:
    """The 200 characters around the first place where a text meets a question."""
    if not content.isascii():
        content = unicodedata.normalize("NFC", content)
    if len(content) <= SNIPPET_CHARACTERS:
        return content
    at = _place(_folded(content), looked_for)
    start = max(0, min(at - _BEFORE, len(content) - SNIPPET_CHARACTERS))
    return content[start : start + SNIPPET_CHARACTERS]


def spans(query: str, most: int) -> list[str]:
    """What in a question may be the name of something, longest first: runs of at most `most` words,
    or of characters where words are not spaced; in comparable form.
    """
    text = comparable(query)
    pieces = [match.span() for match in re.finditer(r"\S+", text)][:WORDS_MAX]
    parts = [match.span() for match in re.finditer(f"[{_CJK}]|[^\\W_{_CJK}]+", text)][:WORDS_MAX]
    bare = [match.span(1) for match in _PIECE.finditer(text)][:WORDS_MAX]
    found = dict.fromkeys(
        text[runs[low][0] : runs[high][1]]
        for runs in (pieces, bare, parts)
        for low in range(len(runs))
        for high in range(low, min(low + most, len(runs)))
    )
    return sorted((one for one in found if one not in STOP_WORDS), key=lambda one: (-len(one), one))


def _cut(text: str, *, question: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    whole = _whole_pieces(text)
    if not text.isascii():
        text = _SIGN.sub(_sign, text)
        text = _UNSPACED.sub(_asked_pairs if question else _pairs, text)
    return f"{text} {' '.join(whole)}" if whole else text


def _pairs(run: re.Match[str]) -> str:
    """Each pair of neighbours, and the last character, so that each begins one."""
    found = run[0]
    return f" {' '.join(found[at : at + 2] for at in range(len(found)))} "


def _asked_pairs(run: re.Match[str]) -> str:
    found = run[0]
    return f" {' '.join(found[at : at + 2] for at in range(max(1, len(found) - 1)))} "


def _sign(found: re.Match[str]) -> str:
    """A symbol as a word; marks stay in their words, punctuation ends them."""
    sign = found[0]
    category = unicodedata.category(sign)
    if category[0] == "M":
        return "" if "\ufe00" <= sign <= "\ufe0f" else sign
    if category[0] == "S" and category != "Sk":
        return f" u{ord(sign):x} "
    return " "


def _whole_pieces(text: str) -> list[str]:
    """The words that are written in one piece of several parts, or with signs behind them."""
    found = []
    for piece in text.split():
        if piece.isalnum():
            continue
        whole = piece.replace("\u2019", "'")
        if len(whole) > _PIECE_CHARACTERS_MAX or max(whole) >= _LATIN_END:
            continue
        parts = _PART.findall(whole)
        if 1 < len(parts) <= _PARTS_MAX:
            found.append("".join(parts))
        found += [f"{word}{_SIGN_NAMES[signs]}" for word, signs in _SIGNED.findall(whole)]
    return found


def _is_single(token: str) -> bool:
    return len(token) == 1 and _UNSPACED.fullmatch(token) is not None


class _Folding(dict[int, int]):
    """Characters as they are compared, one for one: small, without accents."""

    def __missing__(self, code: int) -> int:
        base = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = ord(base) if len(base) == 1 else code
        return self[code]


_FOLDING: Final = _Folding()


def _folded(text: str) -> str:
    """A text of the same length in which places are found."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _place(text: str, looked_for: Sought) -> int:
    """Where the whole question stands, else a piece of it, else one of its words, else 0."""
    if (at := text.find(looked_for.whole)) >= 0:
        return at
    places = [at for one in looked_for.pieces if (at := text.find(one)) >= 0]
    words = [at for one in looked_for.words if (at := _beginning(text, one)) >= 0]
    if not words:
        words = [at for one in looked_for.words if (at := text.find(one)) >= 0]
    return min([*places, *words], default=0)


def _beginning(text: str, word: str) -> int:
    """Where a word begins so, else -1."""
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at


def _common(word: str, stem: str) -> str:
    """What a word and its stem begin with alike."""
    length = 0
    for left, right in zip(word, stem, strict=False):
        if left != right:
            break
        length += 1
    return word[:length] or word
