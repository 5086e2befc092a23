"""The OpenAPI document against the server itself: no fault, and nothing that it does not describe.

`OPENAPI_EXAMPLES=200` draws more requests for each route than the few of every day.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi

from domain.catalog import CATALOG
from domain.gate import SET_MODE
from tests.palaces import Fleet
from tests.samples import WITH_EMBEDDER, furnished
from tests.served import serving

EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES", "4"))
CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
]
OPERATIONS = sorted({*CATALOG, "call", "log_entries"} - {SET_MODE})
"""All but the live stream, which has no end."""
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Each operation as the document that the server gives describes it, with the server behind."""
    fleet = Fleet(tmp_path_factory.mktemp("openapi"))
    device = fleet.device("ada", serve={"calls_per_minute": 1_000_000}, **WITH_EMBEDDER)
    furnished(device)
    with serving(device.house) as served:
        schema = schemathesis.openapi.from_url(f"{served.url}/api/openapi.json")
        found = [one.ok() for one in schema.get_all_operations()]
        yield {one.definition.raw["operationId"]: one for one in found}
    fleet.close()


@pytest.fixture(scope="module")
def connection() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def test_every_operation_is_described(described: dict[str, Any]) -> None:
    assert sorted(described) == sorted([*OPERATIONS, "log_stream"])


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_server_does_what_its_document_says(
    described: dict[str, Any], connection: requests.Session, operation: str, mode: GenerationMode
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[operation].as_strategy(generation_mode=mode))
    def holds(case: Any) -> None:
        case.call_and_validate(session=connection, checks=CHECKS)

    holds()
