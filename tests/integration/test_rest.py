"""The palace as plain requests: every operation, in the same words as everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema
import pytest

from domain.catalog import CATALOG
from domain.gate import CONTROL, READ
from palacelog.rest.app import make_app
from tests.palaces import Device, Fleet, checked, fingerprint, new_palace
from tests.samples import SAMPLES, Known, furnished
from tests.served import Served, error_of, serving

PLACE = {"wing": "home", "room": "notes"}
WITH_A_ROUTE = sorted(set(CATALOG) - {"set_mode"})


@pytest.fixture
def served(ada: Device) -> Iterator[Served]:
    with serving(ada.house) as served:
        yield served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Device, Known, Served]]:
    """A furnished palace for what changes nothing."""
    fleet = Fleet(tmp_path_factory.mktemp("shared"))
    device = fleet.device("ada")
    known = furnished(device)
    with serving(device.house) as served:
        yield device, known, served
    fleet.close()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with new_palace(tmp_path_factory.mktemp("described")) as house:
        yield make_app(house).openapi()


def route_of(document: dict[str, Any], tool: str) -> tuple[str, str, dict[str, Any]]:
    """Method, path and description of an operation's own route."""
    return next(
        (method, path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        if about["operationId"] == tool
    )


def valid(document: dict[str, Any], schema: dict[str, Any], answer: Any) -> None:
    whole = schema | {"components": document["components"]}
    faults = jsonschema.Draft202012Validator(whole).iter_errors(answer)
    assert [fault.message[:200] for fault in faults] == []


def asked(served: Served, route: tuple[str, str, Any], given: dict[str, Any]) -> httpx2.Response:
    """Call an operation over its own route."""
    method, path, _ = route
    rest = dict(given)
    for name in list(rest):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", rest.pop(name))
    if method == "get":
        return served.get(path, params=rest)
    return served.request(method.upper(), path, json=rest)


@pytest.mark.parametrize("tool", WITH_A_ROUTE)
def test_every_operation_answers_over_its_route_as_its_schema_says(
    ada: Device, served: Served, document: dict[str, Any], tool: str
) -> None:
    given = SAMPLES[tool](furnished(ada))
    route = route_of(document, tool)
    answer = asked(served, route, given)
    assert answer.status_code == 200, answer.text
    checked(tool, answer.json())
    for about in (route[2], document["paths"]["/api/call/{tool}"]["post"]):
        [described] = about["responses"]["200"]["content"].values()
        valid(document, described["schema"], answer.json())
    assert "error" not in answer.json()


@pytest.mark.parametrize("tool", WITH_A_ROUTE)
def test_a_disabled_request_gets_ids_and_counts_or_a_refusal_and_never_an_empty_answer(
    shared: tuple[Device, Known, Served], tool: str
) -> None:
    ada, known, served = shared
    before = fingerprint(ada.house)
    answer = served.call(tool, SAMPLES[tool](known), headers={"X-Palacelog-Mode": "disabled"})
    if CATALOG[tool].operation_class == CONTROL:
        assert answer.status_code == 200
        for content in ("tea", "coffee", "home", "notes", "desk", "Kiran", "Lyon", "Ana", "attic"):
            assert content not in answer.text
    else:
        error_of(answer, 403, "mode::forbidden")
    assert fingerprint(ada.house) == before


def test_a_read_only_request_reads_and_does_not_write(ada: Device, served: Served) -> None:
    mode = {"X-MemCastle-Mode": "read_only"}
    before = fingerprint(ada.house)
    write = served.call("add_drawer", PLACE | {"content": "tea"}, headers=mode)
    error_of(write, 403, "mode::forbidden")
    assert fingerprint(ada.house) == before
    assert served.get("/api/list_drawers", headers=mode).json()["drawers"] == []
    assert CATALOG["list_drawers"].operation_class == READ
