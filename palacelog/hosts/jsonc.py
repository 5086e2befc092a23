"""Entries in a JSON file that a person keeps: put in and taken out, and all else left as it stands.

Protects every byte that is not ours: comments, order, indentation and line ends. Comments and
trailing commas are blanked out, the standard library reads what is left, and the text is cut where
it says a value begins and ends. May not touch a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

Step = str | Callable[[Any], bool]
"""Where to go from a value: to the member of that name, or to the item that a test finds."""

_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.S)
_TRAILING: Final = re.compile(rf"{_STRING}|,(?=\s*[\]}}])", re.S)
_REST_OF_LINE: Final = re.compile(r"[ \t]*,?[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n)")
_INDENT: Final = re.compile(r'^([ \t]+)"', re.M)
_DECODER: Final = json.JSONDecoder()


class NotEditable(ValueError):
    """The text is no JSON with comments, or its shape leaves no place for an entry."""


class _Element(NamedTuple):
    """A member or an item, from its key or value to the end of its value."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: Any


def read(text: str) -> Any:
    """What a text says; an empty one says `{}`.

    Raises:
        NotEditable: it is no JSON with comments.
    """
    plain = _plain(text)
    try:
        return json.loads(plain) if plain.strip() else {}
    except (ValueError, RecursionError) as error:
        raise NotEditable(str(error)) from None


def get(text: str, path: Sequence[Step]) -> Any:
    """The value at a path; None where there is none.

    Raises:
        NotEditable: no JSON with comments.
    """
    read(text)
    found = _find(_plain(text), path)
    return None if found is None else found[-1].value


def put(text: str, path: Sequence[Step], value: Any) -> str:
    """The text with a value at a path, in the place of the one that stands there.

    Args:
        path: what is missing on the way is made; a test that finds nothing adds an item.

    Raises:
        NotEditable: no JSON with comments, or what is on the way is no object or list.
    """
    if not isinstance(read(text), dict):
        raise NotEditable("the file is not a JSON object")
    if not _plain(text).strip():
        line_end = "\r\n" if "\r\n" in text else "\n"
        text = f"{text}{{}}{line_end}"
    plain = _plain(text)
    at = plain.index("{")
    for depth, step in enumerate(path):
        _expect(plain, at, step)
        element = _chosen(plain, at, step)
        if element is None:
            return _inserted(text, at, depth, step, _nested(path[depth + 1 :], value))
        if depth == len(path) - 1:
            told = _told(text, value, _indent_at(text, element.start))
            return text[: element.value_start] + told + text[element.end :]
        at = element.value_start
    raise NotEditable("no path was given")


def drop(text: str, path: Sequence[Step], keeps: Callable[[int], bool]) -> str:
    """The text without the value at a path, and without what is empty on the way to it then.

    Args:
        keeps: whether what the first so many steps lead to stays though it is empty.

    Raises:
        NotEditable: no JSON with comments.
    """
    read(text)
    for length in range(len(path), 0, -1):
        plain = _plain(text)
        found = _find(plain, path[:length])
        if found is None:
            return text
        if length < len(path) and (found[-1].value or keeps(length)):
            return text
        at = found[-2].value_start if length > 1 else plain.index("{")
        text = _without(text, plain, at, found[-1])
    return text


def only_braces(text: str) -> bool:
    """Whether a text is an empty object, without a comment."""
    return "".join(text.split()) in ("", "{}")


def _plain(text: str) -> str:
    """The text with a space for each character of a comment, a trailing comma or a byte order
    mark: strict JSON, in which every value stands where it stood.
    """

    return text if _strict(text) else _TRAILING.sub(_blank, _bare(text))


def _bare(text: str) -> str:
    """The text with a space for each character of a comment or a byte order mark."""
    return text if _strict(text) else _COMMENT.sub(_blank, text).replace("\ufeff", " ", 1)


@lru_cache(maxsize=4)
def _strict(text: str) -> bool:
    """Whether a text is JSON as it stands; some that hosts keep are of many megabytes."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _blank(found: re.Match[str]) -> str:
    whole = found[0]
    return whole if whole.startswith('"') else re.sub(r"[^\r\n]", " ", whole)


def _elements(plain: str, at: int) -> list[_Element]:
    """The members of the object, or the items of the list, that begins at a place."""
    found: list[_Element] = []
    place = _next(plain, at + 1)
    while plain[place] not in "]}":
        start, key = place, None
        if plain[at] == "{":
            key, place = _DECODER.raw_decode(plain, place)
            place = _next(plain, _next(plain, place) + 1)
        value, end = _DECODER.raw_decode(plain, place)
        found.append(_Element(key, start, place, end, value))
        place = _next(plain, end)
        if plain[place] == ",":
            place = _next(plain, place + 1)
    return found


def _next(plain: str, place: int) -> int:
    """Where the next character is that is no white space."""
    while plain[place].isspace():
        place += 1
    return place


def _chosen(plain: str, at: int, step: Step) -> _Element | None:
    """The element that a step leads to; of members with one name the last, as readers take it."""
    elements = _elements(plain, at)
    if isinstance(step, str):
        return next((one for one in reversed(elements) if one.key == step), None)
    return next((one for one in elements if step(one.value)), None)


def _find(plain: str, path: Sequence[Step]) -> list[_Element] | None:
    """The elements on a path; None where it leads nowhere."""
    if not plain.strip():
        return None
    found: list[_Element] = []
    at = _next(plain, 0)
    for step in path:
        if plain[at] != ("{" if isinstance(step, str) else "["):
            return None
        element = _chosen(plain, at, step)
        if element is None:
            return None
        found.append(element)
        at = element.value_start
    return found


def _expect(plain: str, at: int, step: Step) -> None:
    kind, bracket = ("an object", "{") if isinstance(step, str) else ("a list", "[")
    if plain[at] != bracket:
        raise NotEditable(f"the place for the entry is not {kind}")


def _nested(path: Sequence[Step], value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _inserted(text: str, at: int, depth: int, step: Step, value: Any) -> str:
    """The text with one more element, after the last of the container that begins at `at`."""
    plain = _plain(text)
    elements = _elements(plain, at)
    last = elements[-1] if elements else None
    outer = _indent_at(text, at)
    line_end = _line_end(text)
    indent = _indent_at(text, last.start) if last else outer + _unit(text)
    told = f"{json.dumps(step)}: " if isinstance(step, str) else ""
    told += _told(text, value, indent)
    if last is not None:
        return text[: last.end] + _after(text, last, f"{indent}{told}", line_end, at)
    close = _next(plain, at + 1)
    if line_end is None:
        return text[: at + 1] + told + text[at + 1 :]
    inner = text[at + 1 : close].rstrip()
    closing = f"{line_end}{outer}"
    return f"{text[: at + 1]}{line_end}{indent}{told}{inner}{closing}{text[close:]}"


def _after(text: str, last: _Element, told: str, line_end: str | None, at: int) -> str:
    """What stands behind the last element, with one more: on a line of its own where that one has
    one, behind the comment of that one, and with a comma behind it where that one has one.
    """
    on_lines = line_end is not None and "\n" in text[at : last.start]
    rest = _REST_OF_LINE.match(text, last.end) if on_lines else None
    if rest is None:
        return f", {told.strip()}{text[last.end :]}"
    if "," in _bare(rest[0]):
        return f"{rest[0]}{line_end}{told},{text[rest.end() :]}"
    return f",{rest[0]}{line_end}{told}{text[rest.end() :]}"


def _without(text: str, plain: str, at: int, gone: _Element) -> str:
    """The text without one element, its line and one comma."""
    bare = _bare(text)
    elements = _elements(plain, at)
    number = next(number for number, one in enumerate(elements) if one.start == gone.start)
    before = elements[number - 1].end if number else at + 1
    start = before + len(text[before : gone.start].rstrip())
    comma = _next(bare, gone.end)
    if bare[comma] == ",":
        return text[:start] + text[gone.end : comma] + text[comma + 1 :]
    kept = text[:start]
    if number:
        comma = bare.index(",", before)
        kept = text[:comma] + text[comma + 1 : start]
    rest = text[gone.end :]
    if len(elements) == 1 and not text[at + 1 : start].strip():
        rest = rest.lstrip()
    return kept + rest


def _told(text: str, value: Any, indent: str) -> str:
    """A value as it is written in this file."""
    line_end = _line_end(text)
    if line_end is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).splitlines()
    return f"{line_end}{indent}".join(lines)


def _line_end(text: str) -> str | None:
    """How lines end in a file; None where all of it stands in one."""
    if "\n" not in text.strip() and text.strip() not in ("", "{}"):
        return None
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _indent_at(text: str, place: int) -> str:
    """The white space at the beginning of a place's line."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
