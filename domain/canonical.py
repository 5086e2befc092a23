"""The one encoding that hashes are taken over, and the forms in which texts are compared.

Protects identity: two machines that hold the same values must arrive at the same bytes, and what
cannot be
encoded the same everywhere must be refused before it is stored. Source of the format: FORMATS,
schema 1: UTF-8, keys sorted by code point, no spaces, shortest round-trip floats, finite numbers,
64-bit integers. Nothing here may be changed without a new schema number and a new golden log.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import orjson

NESTING_LEVELS_MAX: Final = 32
INTEGER_MAX: Final = 2**63 - 1
INTEGER_MIN: Final = -(2**63)
ZERO_HASH: Final = bytes(32)

_SPACES = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotStorable(ValueError):
    """A value that has no canonical form; the text says which part and why."""


def canonical(value: Any) -> bytes:
    """The canonical JSON of `value` as UTF-8 bytes. Call `storable` first on what came from
    outside.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(*parts: str | bytes | int) -> bytes:
    """sha256 over the parts in order, each as `<byte length in decimal>:` and its bytes (32 raw
    bytes).

    Integers count as their decimal text, strings as UTF-8. The lengths keep ("ab", "c") and ("a",
    "bc") apart.
    """
    state = sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode()
        state.update(b"%d:" % len(raw))
        state.update(raw)
    return state.digest()


def storable(value: Any, path: str = "") -> None:
    """Check that `value` has one canonical form.

    Raises:
        NotStorable: NUL or a lone surrogate in a text, a number that is not finite or needs more
            than 64 bits, a key that is no text, more than 32 levels of nesting, or a type that JSON
            lacks.
    """
    _storable(value, path or "value", 0)


def _storable(value: Any, path: str, depth: int) -> None:
    if isinstance(value, str):
        _storable_text(value, path)
    elif value is None or isinstance(value, bool):
        return
    elif isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise NotStorable(f"{path} is an integer beyond 64 bits")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise NotStorable(f"{path} is not a finite number")
    elif isinstance(value, dict | list | tuple):
        if depth >= NESTING_LEVELS_MAX:
            raise NotStorable(f"{path} is nested deeper than {NESTING_LEVELS_MAX} levels")
        _storable_parts(value, path, depth + 1)
    else:
        raise NotStorable(f"{path} is of a type that JSON lacks: {type(value).__name__}")


def _storable_parts(
    value: dict[Any, Any] | list[Any] | tuple[Any, ...], path: str, depth: int
) -> None:
    parts: Iterable[tuple[Any, Any]] = (
        value.items() if isinstance(value, dict) else enumerate(value)
    )
    for key, part in parts:
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise NotStorable(f"{path} has a key that is no text")
            _storable_text(key, f"a key of {path}")
        _storable(part, f"{path}.{key}", depth)


def _storable_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise NotStorable(f"{path} contains a NUL character")
    if not text.isascii() and _SURROGATE.search(text):
        raise NotStorable(f"{path} contains a lone surrogate, which no UTF-8 text can hold")


def read_json(text: str | bytes) -> Any:
    """Read JSON from outside, strictly.

    Raises:
        NotStorable: not JSON, a duplicate key, NaN or Infinity, or anything that `storable`
            refuses.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")  # json would take UTF-16 and UTF-32 as well
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except RecursionError:
        raise NotStorable(f"value is nested deeper than {NESTING_LEVELS_MAX} levels") from None
    except UnicodeDecodeError:
        raise NotStorable("value is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotStorable(f"value is not JSON: {error.msg} at character {error.pos}") from None
    except NotStorable:
        raise
    except ValueError as error:  # an integer of more digits than Python converts
        raise NotStorable(f"value holds a number that cannot be read: {error}") from None
    storable(value)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotStorable(f"value has the key {twice!r} twice")
    return found


def _no_constant(name: str) -> Any:
    raise NotStorable(f"value contains {name}, which is no finite number")


def comparable(name: str) -> str:
    """The form in which names and objects are compared: NFC, whitespace collapsed, case folded."""
    return _folded_name(name) if len(name) <= _NAME_LIKE else _folded(name)


def _folded(name: str) -> str:
    if name.isascii():
        return _SPACES.sub(" ", name).strip().lower()
    folded = unicodedata.normalize("NFC", name).casefold()
    return _SPACES.sub(" ", unicodedata.normalize("NFC", folded)).strip()


# Names come again and again; what is long is a text, which would only fill the memory.
_NAME_LIKE: Final = 128
_folded_name = lru_cache(maxsize=16_384)(_folded)


def twin_form(content: str) -> str:
    """The form in which contents are compared: NFC, CRLF as LF, trailing whitespace off. Case
    matters.
    """
    return unicodedata.normalize("NFC", content).replace("\r\n", "\n").rstrip()


def twin_digest(content: str) -> bytes:
    """sha256 of a content's `twin_form` (32 raw bytes)."""
    return sha256(twin_form(content).encode()).digest()
