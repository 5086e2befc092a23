"""How a request becomes the arguments of an operation.

Protects one way to read them: a body is JSON as the operations take it; what stands in an address
is text, and becomes what the operation's schema names. What cannot be read is refused with the
name of the field. Judges no meaning: the call line does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl

from domain.canonical import NotStorable, read_json
from domain.catalog import CATALOG, Entry
from domain.errors import InvalidInput, invalid
from palacelog.http.asgi import Scope, header
from palacelog.http.bodies import check_json
from palacelog.sessions import KEY

KEY_HEADER: Final = "Idempotency-Key"
FLAT: Final = frozenset({"string", "integer", "number", "boolean", "list"})
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_TRUTH: Final = {"true": True, "false": False}


@cache
def kinds(tool: str) -> Mapping[str, str]:
    """The arguments of an operation and what each is: one of `FLAT`, or `json`."""
    schema = CATALOG[tool].asks.model_json_schema()
    return {name: _kind(part) for name, part in schema.get("properties", {}).items()}


def fits_an_address(entry: Entry) -> bool:
    """Whether an operation's arguments can stand in an address; a text of any length cannot."""
    asked = kinds(entry.name)
    return FLAT.issuperset(asked.values()) and "content" not in asked


def from_body(scope: Scope, body: bytes) -> dict[str, Any]:
    """The arguments in a body; none, `null` and `{}` are the same.

    Raises:
        InvalidInput: it is no JSON object, or not said to be JSON.
    """
    if not body:
        return {}
    check_json(scope)
    try:
        found = read_json(body)
    except NotStorable as error:
        raise InvalidInput(
            "input::json", f"The body cannot be read: {error}.", "Send one JSON object."
        ) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput(
            "input::json", "The body is no JSON object.", "Send one: the arguments by name."
        )
    return found


def from_address(entry: Entry | None, scope: Scope) -> dict[str, Any]:
    """The arguments in the query of an address.

    Args:
        entry: whose arguments they are; None where none belong there.
    """
    try:
        pairs = parse_qsl(
            scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict"
        )
    except ValueError:
        raise invalid("query", "is not UTF-8 in percent encoding") from None
    known = {} if entry is None else kinds(entry.name)
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name not in known:
            raise invalid(name, "is not an argument here", "See the OpenAPI document.")
        if known[name] == "list":
            found.setdefault(name, []).append(text)
        elif name in found:
            raise invalid(name, "is given more than once", "Give it once.")
        else:
            found[name] = _read(name, known[name], text)
    return found


def key_of(scope: Scope, arguments: Mapping[str, Any]) -> str | None:
    """The idempotency key in the headers.

    Raises:
        InvalidInput: there are several, or another one among the arguments.
    """
    said = header(scope, KEY_HEADER.lower().encode())
    if not said:
        return None
    if any(other != said[0] for other in (*said, arguments.get(KEY, said[0]))):
        raise invalid(KEY_HEADER, "is given more than once, and differs", "Send one key.")
    return said[0]


def _kind(part: Mapping[str, Any]) -> str:
    inner = [one for one in part.get("anyOf", [part]) if one.get("type") != "null"]
    if len(inner) != 1:
        return "json"
    kind = inner[0].get("type")
    if kind == "array" and inner[0]["items"].get("type") == "string":
        return "list"
    return kind if kind in FLAT else "json"


def _read(name: str, kind: str, text: str) -> Any:
    if kind == "integer":
        if not _INTEGER.fullmatch(text):
            raise invalid(name, "is no integer")
        return int(text)
    if kind == "boolean":
        if text not in _TRUTH:
            raise invalid(name, "is neither true nor false")
        return _TRUTH[text]
    if kind == "number":
        return _number(name, text)
    return text


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise invalid(name, "is no number")
    return number
