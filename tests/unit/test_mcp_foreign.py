"""What agents taught another memory server give, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from domain.catalog import CATALOG
from domain.errors import InvalidInput, Refused
from palacelog.mcp.foreign import SERVERS, ours, told, widened
from palacelog.mcp.tools import small

UNKNOWN = InvalidInput("input::unknown_tool", "There is no tool.", "See the list.")


@pytest.mark.parametrize(
    ("prefix", "tool", "given", "taken"),
    [
        ("mempalace_", "kg_query", {"direction": "outgoing"}, {"direction": "out"}),
        ("mempalace_", "kg_query", {"direction": "incoming"}, {"direction": "in"}),
        ("mempalace_", "kg_query", {"direction": "both"}, {"direction": "both"}),
        ("mempalace_", "kg_query", {"direction": "in"}, {"direction": "in"}),
        ("mempalace_", "kg_query", {"direction": ["out"]}, {"direction": ["out"]}),
        ("mempalace_", "search", {"query": "a", "context": "b"}, {"query": "a"}),
        ("mempalace_", "search", {"max_distance": 0.0}, {"max_distance": None}),
        ("mempalace_", "search", {"max_distance": 0.5}, {"max_distance": 0.5}),
        ("mempalace_", "list_drawers", {"offset": 0}, {}),
        ("mempalace_", "list_drawers", {"offset": 20}, {"offset": 20}),
        ("mempalace_", "kg_add", {"source_closet": None}, {}),
        ("mempalace_", "diary_write", {"content": "a"}, {"entry": "a"}),
        ("mempalace_", "diary_write", {"content": "a", "entry": "b"}, {"entry": "b"}),
        ("mempalace_", "mine", {"source": "a"}, {"path": "a"}),
        ("memcastle_", "diary_write", {"agent_identity": "a"}, {"agent_name": "a"}),
        ("memcastle_", "diary_read", {"limit": 5}, {"last_n": 5}),
        ("memcastle_", "wake_up", {"agent_identity": "a"}, {"agent_name": "a"}),
        ("", "diary_read", {"limit": 5}, {"limit": 5}),
        ("team_", "kg_query", {"direction": "outgoing"}, {"direction": "outgoing"}),
    ],
)
def test_arguments_of_another_server_are_taken_as_ours(
    prefix: str, tool: str, given: dict[str, Any], taken: dict[str, Any]
) -> None:
    assert ours(prefix, tool, given) == taken


@pytest.mark.parametrize("prefix", SERVERS)
def test_every_tool_that_differs_is_one_of_ours_and_every_other_is_not(prefix: str) -> None:
    server = SERVERS[prefix]
    assert server.takes.keys() <= CATALOG.keys()
    assert not server.lacking.keys() & CATALOG.keys()
    for tool, takes in server.takes.items():
        known = CATALOG[tool].asks.model_fields
        assert {*takes.renamed.values(), *takes.values} <= known.keys()


@pytest.mark.parametrize("prefix", SERVERS)
def test_a_tool_that_we_have_not_is_refused_with_what_to_do_instead(prefix: str) -> None:
    for tool in SERVERS[prefix].lacking:
        cured = told(prefix, tool, UNKNOWN)
        assert cured.code == "palacelog::input::unknown_tool"
        assert cured.help != UNKNOWN.help
        assert "{}" not in cured.help


def test_the_cure_names_tools_that_there_are() -> None:
    for prefix, server in SERVERS.items():
        for cure in server.lacking.values():
            named = [part.split()[0].rstrip(".,;") for part in cure.split("{}")[1:]]
            assert set(named) <= CATALOG.keys(), (prefix, cure)


def test_an_argument_that_we_have_not_is_refused_with_what_to_give_instead() -> None:
    fault = InvalidInput("input::invalid", "`offset` is not an argument of this operation.", "-")
    assert "cursor" in told("mempalace_", "list_drawers", fault).help
    assert told("memcastle_", "list_drawers", fault).help == "-"


def test_other_errors_stay_as_they_are() -> None:
    refusal = Refused("mode::forbidden", "mine is a write operation.", "Ask.")
    assert told("mempalace_", "sync", refusal) is refusal
    assert told("", "sync", UNKNOWN) is UNKNOWN
    assert told("mempalace_", "nobody", UNKNOWN) is UNKNOWN


def test_their_arguments_stand_in_the_schema_beside_ours() -> None:
    schema = small(CATALOG["diary_write"].asks.model_json_schema())
    wide = widened("memcastle_", "diary_write", schema)
    assert {"agent_identity", "agent_name", "content", "entry"} <= wide["properties"].keys()
    assert wide["required"] == []
    assert schema["required"] == ["agent_name", "entry"], "the schema of others was changed"
    query = widened("mempalace_", "kg_query", small(CATALOG["kg_query"].asks.model_json_schema()))
    assert query["properties"]["direction"]["enum"] == ["out", "in", "both", "outgoing", "incoming"]
