"""The page on injection paths says what the code says, and the registry's file fits the package."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from jsonschema import Draft7Validator

from palacelog.cli.integrating import MODULES
from palacelog.hosts.contract import PATHS, table
from palacelog.hosts.hook import BEFORE_COMPACTION, BYTES_MAX
from palacelog.hosts.labels import MODES
from palacelog.hosts.snippets import TARGETS
from palacelog.settings import load
from tests.command_line import COMMAND, ROOT
from tests.readme import server_name

PAGE = (ROOT / "docs" / "integration-contract.md").read_text()
SERVER = json.loads((ROOT / "server.json").read_text())


def test_the_page_lists_the_paths_of_the_code() -> None:
    marked = re.search(r"<!-- injection paths -->\n(.*?)<!-- /injection paths -->", PAGE, re.S)
    assert marked
    assert marked[1] == table()


def test_every_host_has_its_paths() -> None:
    hosts = MODULES.keys() | TARGETS.keys()
    assert {one.host for one in PATHS} == hosts
    assert BYTES_MAX.keys() == hosts - {"claude-desktop"}
    assert len({(one.host, one.event) for one in PATHS}) == len(PATHS)


def test_the_page_lists_every_label() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", PAGE, re.M))
    assert rows == MODES


def test_what_is_told_to_a_summary_is_as_short_as_the_page_says() -> None:
    assert len(BEFORE_COMPACTION.encode()) <= 300


def test_the_registry_s_file_is_of_this_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [package] = SERVER["packages"]
    assert (package["identifier"], package["version"]) == (project["name"], project["version"])
    assert SERVER["version"] == project["version"]
    assert package["transport"] == {"type": "stdio"}
    [words] = [argument["value"] for argument in package["packageArguments"]]
    command: Any = COMMAND
    assert words in command.commands


def kept(**given: Any) -> dict[str, Any]:
    """An object with these members and no other."""
    return {"type": "object", "additionalProperties": False, "properties": given}


TEXT = {"type": "string"}
POSITIONAL = kept(type={"const": "positional"}, value=TEXT) | {"required": ["type", "value"]}
VARIABLE = kept(
    name=TEXT,
    description=TEXT,
    format={"enum": ["string", "number", "boolean", "filepath"]},
    choices={"type": "array", "items": TEXT},
    default=TEXT,
) | {"required": ["name"]}
PACKAGE = kept(
    registryType={"const": "pypi"},
    identifier=TEXT,
    version={"type": "string", "minLength": 1, "not": {"const": "latest"}},
    runtimeHint=TEXT,
    transport=kept(type={"const": "stdio"}) | {"required": ["type"]},
    packageArguments={"type": "array", "items": POSITIONAL},
    environmentVariables={"type": "array", "items": VARIABLE},
) | {"required": ["registryType", "identifier", "transport"]}
REGISTRY = kept(
    **{"$schema": TEXT},
    name={
        "type": "string",
        "minLength": 3,
        "maxLength": 200,
        "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
    },
    title={"type": "string", "minLength": 1, "maxLength": 100},
    description={"type": "string", "minLength": 1, "maxLength": 100},
    version={"type": "string", "maxLength": 255},
    packages={"type": "array", "items": PACKAGE},
) | {"required": ["name", "description", "version"]}
"""What the registry's schema of 2025-12-11 says of the members that our file has."""


def test_the_registry_s_file_fits_the_registry_s_schema() -> None:
    assert SERVER["$schema"].endswith("/2025-12-11/server.schema.json")
    check = Draft7Validator(REGISTRY)
    check.validate(SERVER)
    for wrong in (
        {"name": "palacelog"},
        {"description": "a" * 101},
        {"packages": [SERVER["packages"][0] | {"version": "latest"}]},
        {"repo": "x"},
    ):
        assert not check.is_valid(SERVER | wrong)


def test_the_registry_s_name_is_a_domain_turned_round_and_stands_in_the_readme() -> None:
    namespace, _ = SERVER["name"].split("/")
    assert re.fullmatch(r"[a-z]+(\.[a-zA-Z0-9-]+)+", namespace)
    marks = re.findall(r"^<!-- mcp-name: (.*) -->$", (ROOT / "README.md").read_text(), re.M)
    assert marks == [SERVER["name"]] == [server_name()]


def test_the_registry_s_file_names_variables_that_there_are(monkeypatch: Any) -> None:
    named = {one["name"]: one for one in SERVER["packages"][0]["environmentVariables"]}
    assert named.keys() == {"PALACELOG_PALACE", "PALACELOG_MODE"}
    for mode in named["PALACELOG_MODE"]["choices"]:
        monkeypatch.setenv("PALACELOG_MODE", mode)
        assert load(ROOT).session_mode == mode
