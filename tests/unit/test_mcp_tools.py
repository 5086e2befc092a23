"""The list of tools: what a model reads of it, and what hosts need of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from mcp_types import ListToolsResult
from mcp_types.methods import serialize_server_result

from domain.catalog import CATALOG
from domain.gate import DESTRUCTIVE
from palacelog.mcp.instructions import INSTRUCTIONS
from palacelog.mcp.tools import CORE, Choice, tools

CHOICES: tuple[Choice, ...] = ("core", "all")
PREFIXES = ("", "mempalace_", "memcastle_")
BYTES_MAX = 16_384
NAME_MAX = 64
HOST_PREFIX = "mcp__palacelog__"


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_core_list_is_at_most_16_kb(prefix: str, version: str) -> None:
    result = ListToolsResult(tools=list(tools("core", prefix)), ttl_ms=1, cache_scope="public")
    dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    sent = serialize_server_result("tools/list", version, dumped)
    assert len(orjson.dumps(sent)) <= BYTES_MAX


def test_the_lists_hold_what_they_should_in_a_fixed_order() -> None:
    assert [tool.name for tool in tools("core")] == list(CORE)
    assert [tool.name for tool in tools("all")] == list(CATALOG)


@pytest.mark.parametrize("choice", CHOICES)
def test_all_four_hints_are_explicit(choice: Choice) -> None:
    for tool in tools(choice):
        hints = tool.annotations
        assert hints is not None
        told = hints.model_dump(exclude={"title"})
        assert all(isinstance(hint, bool) for hint in told.values()), tool.name
        kind = CATALOG[tool.name].operation_class
        assert hints.read_only_hint == (not CATALOG[tool.name].writes)
        assert hints.destructive_hint == (kind == DESTRUCTIVE)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_are_short_enough_for_every_host(choice: Choice, prefix: str) -> None:
    for tool in tools(choice, prefix):
        assert len(HOST_PREFIX + tool.name) <= NAME_MAX
        assert tool.title
        assert tool.description


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_schemas_are_plain_objects(choice: Choice, prefix: str) -> None:
    for tool in tools(choice, prefix):
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            assert schema["type"] == "object"
            assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & schema.keys(), tool.name
            arrays_name_their_items(schema)


def arrays_name_their_items(part: Any) -> None:
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        arrays_name_their_items(one)
    if isinstance(part, dict) and part.get("type") == "array":
        assert "items" in part


def test_the_instructions_are_within_what_hosts_show() -> None:
    assert len(INSTRUCTIONS.encode()) <= 2_048
    alone = INSTRUCTIONS[:512]
    for tool in ("wake_up", "search", "recall", "checkpoint", "kg_add", "diary_write"):
        assert tool in alone


def test_every_write_takes_an_idempotency_key() -> None:
    for tool in tools("all"):
        takes = "idempotency_key" in tool.input_schema["properties"]
        assert takes == CATALOG[tool.name].writes
