"""The operations of the catalog as tools of the Model Context Protocol.

Protects one description of each operation: names, schemas, hints and texts come from the catalog
and its models. Schemas are made small, since a model reads them all: what a validator needs stays.
May not call anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from mcp_types import Tool, ToolAnnotations

from domain.catalog import CATALOG, Entry
from domain.gate import CONTROL, DESTRUCTIVE
from domain.operations.common import TIME_WORDS
from palacelog.mcp.foreign import widened

Choice = Literal["core", "all"]

CORE: Final = (
    "search",
    "recall",
    "wake_up",
    "get_drawer",
    "list_wings",
    "list_rooms",
    "add_drawer",
    "update_drawer",
    "delete_drawer",
    "checkpoint",
    "history",
    "diary_read",
    "diary_write",
    "kg_query",
    "kg_timeline",
    "kg_add",
    "kg_invalidate",
    "kg_supersede",
    "why",
    "status",
)
"""What an agent needs from day to day, in the order in which it is listed."""

_REPEATABLE: Final = frozenset({"delete_drawer", "delete_drawers", "delete_by_source", "embed"})
_DROPPED: Final = frozenset({"title", "default"})
_BOUNDS: Final = frozenset(
    {
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "maximum",
        "minimum",
        "pattern",
        "additionalProperties",
    }
)
_PLACE: Final = frozenset({"origin_device", "stream", "local_seq"})
_EVERYWHERE: Final[Mapping[str, Any]] = {
    name: {"type": "string"} for name in ("as_of", "known_at", "idempotency_key", "cursor")
}


@cache
def tools(choice: Choice, prefix: str = "") -> tuple[Tool, ...]:
    """The tools in their fixed order.

    Args:
        choice: the few of every day, their schemas in outline; or all, with whole schemas.
        prefix: put before each name.
    """
    names = CORE if choice == "core" else tuple(CATALOG)
    return tuple(_tool(CATALOG[name], prefix, choice) for name in names)


def _tool(entry: Entry, prefix: str, choice: Choice) -> Tool:
    asks = widened(prefix, entry.name, small(entry.asks.model_json_schema()))
    answers = small(entry.answers.model_json_schema(mode="serialization"))
    return Tool(
        name=prefix + entry.name,
        title=entry.name.replace("_", " ").capitalize(),
        description=entry.summary,
        input_schema=_brief(asks) if choice == "core" else asks,
        output_schema=_outline(answers) if choice == "core" else answers,
        annotations=_hints(entry),
    )


def _hints(entry: Entry) -> ToolAnnotations:
    """All four hints, none left to a default."""
    reads = not entry.writes
    return ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=entry.operation_class == DESTRUCTIVE,
        # To steer a job twice is to steer it once.
        idempotent_hint=entry.operation_class == CONTROL or reads or entry.name in _REPEATABLE,
        open_world_hint=False,
    )


def _outline(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object that has these fields; more may come, as where a write stands in its stream."""
    return {"type": "object", "required": sorted({*schema.get("required", ())} - _PLACE)}


def _brief(part: Any) -> Any:
    """A schema of arguments without bounds, and without what an argument of every tool means: the
    operation itself checks all of it, and the server's instructions tell it once.
    """
    if isinstance(part, list):
        return [_brief(one) for one in part]
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    made = {
        key: (
            {name: _brief(_EVERYWHERE.get(name, one)) for name, one in value.items()}
            if key == "properties"
            else _brief(value)
        )
        for key, value in part.items()
        if key not in _BOUNDS and value != TIME_WORDS
    }
    return made | {"type": kind[0]} if isinstance(kind, list) else made


def small(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema without titles, defaults and references, and with `or null` in one word."""
    definitions = schema.get("$defs", {})
    whole = {key: value for key, value in schema.items() if key not in ("$defs", "description")}
    made: dict[str, Any] = _smaller(whole, definitions)
    return made


def _smaller(part: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_smaller(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        beside = {key: value for key, value in part.items() if key != "$ref"}
        whole = {key: value for key, value in definitions[name].items() if key != "description"}
        return _smaller(whole | beside, definitions)
    made = {
        key: (
            {name: _smaller(one, definitions) for name, one in value.items()}
            if key == "properties"
            else _smaller(value, definitions)
        )
        for key, value in part.items()
        if key not in _DROPPED
    }
    return _without_null(made)


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    """`X or null` told in one line, where X is of one kind."""
    kinds = part.get("anyOf")
    if kinds is None:
        return part
    real: list[dict[str, Any]] = [one for one in kinds if one.get("type") != "null"]
    if len(real) == len(kinds) or len(real) != 1 or not isinstance(real[0].get("type"), str):
        return part
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    return real[0] | {"type": [real[0]["type"], "null"]} | rest
