"""Names in texts, found by rules alone: the same answer on every machine, and no model.

Protects readers from guesses: each name comes with the rule that found it. Scripts that write no
spaces (Chinese, Japanese, Thai ...) and Korean, which hangs particles on names, have no word
borders and no capitals; there, only names that are known already are found. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from domain.canonical import comparable

NAME_CHARACTERS_MIN: Final = 2
NAME_CHARACTERS_MAX: Final = 64

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_BORDERED: Final = f"[^\\W{_UNSPACED}]"
"""A character of a word that ends where another character stands."""
_IS_BORDERED = re.compile(_BORDERED)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

_CODE = re.compile(r"`([^`\n]+)`")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»")
_HANDLE = re.compile(r"(?<![\w@./])@[A-Za-z0-9_](?:[\w.-]*\w)")
_WORD = r"[^\W\d_][\w\u2019'-]*"
_RUN = re.compile(rf"{_WORD}(?:[ \t]{_WORD})*")
_WORDS = re.compile(_WORD)
_SENTENCE_START = re.compile(
    r"(?:^|[.!?…:;]|\n)[\s\"'“„«(\[*#>-]*(?:\d+[.)][ \t]+)?\Z",
)
_POSSESSIVE = re.compile(r"(?:['\u2019]s|['\u2019-]+)\Z")
_QUOTED_WORDS_MAX: Final = 6


class Found(NamedTuple):
    """A name in a text, and the character that it begins at."""

    at: int
    name: str
    rule: str


def whole_words(name: str) -> re.Pattern[str]:
    """What finds a name (in comparable form) in a text (in comparable form) as whole words."""
    before = f"(?<!{_BORDERED})" if _IS_BORDERED.match(name[0]) else ""
    after = f"(?!{_BORDERED})" if _IS_BORDERED.match(name[-1]) else ""
    return re.compile(f"{before}{re.escape(name)}{after}")


def names_in(text: str, names: Iterable[str]) -> Iterator[tuple[int, str, int]]:
    """(where, name, how often) of the names that a text holds as whole words; all in comparable
    form. Names of one character, and numbers, say too little and are passed over.
    """
    for name in names:
        if len(name) >= NAME_CHARACTERS_MIN and not name.isdigit() and name in text:
            places = [one.start() for one in whole_words(name).finditer(text)]
            if places:
                yield places[0], name, len(places)


def guessed(text: str) -> Iterator[Found]:
    """Names that need not be known: `code`, quoted, @handles, and capitalised words that do not
    begin a sentence.
    """
    for one in _CODE.finditer(text):
        yield Found(one.start(), one[1], "code")
    for one in _QUOTED.finditer(text):
        inside = next(part for part in one.groups() if part)
        if len(inside.split()) <= _QUOTED_WORDS_MAX:
            yield Found(one.start(), inside.rstrip(".,;:!?"), "quoted")
    for one in _HANDLE.finditer(text):
        yield Found(one.start(), one[0], "handle")
    yield from _capitalised(_CODE.sub(lambda one: "_" * len(one[0]), text))


def is_name(name: str) -> bool:
    """Whether what a rule guessed can be a name: not too short or long, and of a script in which
    rules can tell.
    """
    within = NAME_CHARACTERS_MIN <= len(comparable(name)) <= NAME_CHARACTERS_MAX
    return within and not _IS_UNSPACED.search(name) and any(one.isalnum() for one in name)


def _capitalised(text: str) -> Iterator[Found]:
    """Runs of capitalised words; the first word of a sentence begins none."""
    for run in _RUN.finditer(text):
        name: list[re.Match[str]] = []
        for word in _WORDS.finditer(text, run.start(), run.end()):
            first = word.start() == run.start() and _begins_sentence(text, word.start())
            if word[0][0].isupper() and not first:
                name.append(word)
            elif name:
                yield _joined(text, name)
                name = []
        if name:
            yield _joined(text, name)


def _begins_sentence(text: str, at: int) -> bool:
    return _SENTENCE_START.search(text, max(0, at - 40), at) is not None


def _joined(text: str, words: list[re.Match[str]]) -> Found:
    start = words[0].start()
    return Found(start, _POSSESSIVE.sub("", text[start : words[-1].end()]), "capitalised")
