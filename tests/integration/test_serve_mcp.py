"""The Model Context Protocol over HTTP, through the SDK's client, in both eras."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import orjson
import pytest
from mcp.client.client import Client
from mcp.client.session import DEFAULT_CLIENT_INFO
from mcp.shared.exceptions import MCPError

from palacelog.http.visitors import MODE_HEADER
from palacelog.mcp.tools import tools
from tests.mcp_clients import ERAS, LEGACY, MODERN, refused
from tests.palaces import Device, Fleet, checked, fingerprint
from tests.samples import SAMPLES, Known, furnished
from tests.served import Served, bearer, connected, error_of, serving, token_file

pytestmark = pytest.mark.anyio
PLACE = {"wing": "home", "room": "notes"}
NAMES = ("home", "notes", "desk", "attic", "tea", "coffee", "Kiran", "Lyon", "Ana")
TEXT = "application/json, text/event-stream"


@pytest.fixture
def served(ada: Device) -> Iterator[Served]:
    with serving(ada.house, "mempalace_") as served:
        yield served


@pytest.fixture
def with_tokens(fleet: Fleet) -> Iterator[tuple[Device, Served]]:
    ada = fleet.device("ada")
    ada.reopen(serve={"token_file": token_file(ada.folder.parent)})
    with serving(ada.house) as served:
        yield ada, served


async def structured(client: Client, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    [text] = result.content
    assert orjson.loads(text.text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content


@pytest.mark.parametrize("era", ERAS)
async def test_answers_are_as_the_tools_schema_says(fleet: Fleet, era: str) -> None:
    ada = fleet.device("ada")
    known = furnished(ada)
    schemas = {tool.name: tool.output_schema for tool in tools("all")}
    with serving(ada.house) as served:
        async with connected(served, era) as client:
            for tool in ("status", "search", "get_drawer", "kg_query", "list_operations", "audit"):
                answer = await structured(client, tool, SAMPLES[tool](known))
                checked(tool, answer)
                jsonschema.validate(answer, schemas[tool])


async def test_a_session_remembers_the_mode_that_it_chose(ada: Device, served: Served) -> None:
    async with connected(served, LEGACY) as client, connected(served, LEGACY) as other:
        chosen = await structured(client, "set_mode", {"mode": "read_only"})
        assert chosen == {"session_mode": "read_only", "ceiling": "full"}
        before = fingerprint(ada.house)
        write = await client.call_tool("add_drawer", PLACE | {"content": "tea"})
        assert refused(write)["code"] == "palacelog::mode::forbidden"
        assert fingerprint(ada.house) == before
        await structured(other, "add_drawer", PLACE | {"content": "tea"})
        await structured(client, "set_mode", {"mode": "full"})
        await structured(client, "add_drawer", PLACE | {"content": "milk"})


@pytest.mark.parametrize("mode", ["off", "read-only", "FULL", ""])
async def test_a_mode_that_is_none_changes_nothing(served: Served, mode: str) -> None:
    async with connected(served, LEGACY) as client:
        await structured(client, "set_mode", {"mode": "read_only"})
        refused(await client.call_tool("set_mode", {"mode": mode}))
        write = await client.call_tool("add_drawer", PLACE | {"content": "tea"})
        assert refused(write)["code"] == "palacelog::mode::forbidden"


async def test_where_there_is_no_session_no_mode_is_remembered(served: Served) -> None:
    async with connected(served, MODERN) as client:
        told = refused(await client.call_tool("set_mode", {"mode": "read_only"}))
        assert told["code"] == "palacelog::mode::no_session"
        await structured(client, "add_drawer", PLACE | {"content": "tea"})


@pytest.mark.parametrize("era", ERAS)
async def test_the_header_is_the_most_that_a_session_can_choose(
    ada: Device, served: Served, era: str
) -> None:
    async with connected(served, era, x_palacelog_mode="read_only") as client:
        before = fingerprint(ada.house)
        write = await client.call_tool("add_drawer", PLACE | {"content": "tea"})
        assert refused(write)["code"] == "palacelog::mode::forbidden"
        code = "above_ceiling" if era == LEGACY else "no_session"
        told = refused(await client.call_tool("set_mode", {"mode": "full"}))
        assert told["code"] == f"palacelog::mode::{code}"
        write = await client.call_tool(
            "add_drawer", PLACE | {"content": "tea"}, meta={"palacelog/mode": "full"}
        )
        assert refused(write)["code"] == "palacelog::mode::above_ceiling"
        assert fingerprint(ada.house) == before
        await structured(client, "list_drawers", {})


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_is_the_most_that_its_calls_can_use(
    with_tokens: tuple[Device, Served], era: str
) -> None:
    ada, served = with_tokens
    async with connected(served, era, **bearer("ada")) as client:
        written = await structured(client, "add_drawer", PLACE | {"content": "tea"})
    shown = ada.show_operation(op_id=written["op_id"])["operation"]
    assert shown["principal"] == "ada"
    before = fingerprint(ada.house)
    async with connected(served, era, **bearer("bob"), x_palacelog_mode="full") as client:
        told = refused(await client.call_tool("add_drawer", PLACE | {"content": "milk"}))
        assert told["code"] == "palacelog::mode::forbidden"
        refused(await client.call_tool("set_mode", {"mode": "full"}))
        await structured(client, "list_drawers", {})
    async with connected(served, era, **bearer("eve")) as client:
        told = refused(await client.call_tool("list_drawers", {}))
        assert told["code"] == "palacelog::mode::forbidden"
    assert fingerprint(ada.house) == before


def begun(served: Served, **headers: str) -> str:
    """A session by hand; its id."""
    answer = served.post("/mcp", json=_initialize(), headers={"accept": TEXT, **headers})
    assert answer.status_code == 200, answer.text
    return str(answer.headers["mcp-session-id"])


def _initialize() -> dict[str, Any]:
    about = {"name": "by hand", "version": "1"}
    return _request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)


def _request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_session_is_of_the_token_that_began_it(with_tokens: tuple[Device, Served]) -> None:
    _, served = with_tokens
    id = begun(served, **bearer("ada"))
    as_ada = {"accept": TEXT, "mcp-session-id": id, **bearer("ada")}
    as_bob = as_ada | bearer("bob")
    assert served.post("/mcp", json=_request("ping"), headers=as_bob).status_code == 404
    assert served.post("/mcp", json=_request("ping"), headers=as_ada).status_code == 200


def test_a_notification_is_taken_with_an_empty_body(served: Served) -> None:
    session = {"accept": TEXT, "mcp-session-id": begun(served)}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = served.post("/mcp", json=told, headers=session)
    assert (answer.status_code, answer.content) == (202, b"")


def test_a_session_that_ended_or_was_lost_is_not_found(served: Served) -> None:
    session = {"accept": TEXT, "mcp-session-id": begun(served)}
    call = _request("tools/call", name="set_mode", arguments={"mode": "disabled"})
    assert served.post("/mcp", json=call, headers=session).status_code == 200
    assert served.delete("/mcp", headers=session).status_code == 200
    assert served.post("/mcp", json=_request("ping"), headers=session).status_code == 404
    lost = {"accept": TEXT, "mcp-session-id": "0" * 32}
    assert served.post("/mcp", json=_request("ping"), headers=lost).status_code == 404


def test_a_header_that_is_no_mode_is_an_error(served: Served) -> None:
    for mode in ("off", "read-only", "FULL", ""):
        answer = served.post("/mcp", json=_initialize(), headers={MODE_HEADER: mode})
        error_of(answer, 400, "input::invalid")


@pytest.mark.parametrize("era", ERAS)
async def test_a_write_that_is_repeated_with_its_key_is_done_once(
    ada: Device, served: Served, era: str
) -> None:
    given = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    async with connected(served, era) as client:
        first = await structured(client, "add_drawer", given)
        assert await structured(client, "add_drawer", given) == first
    assert ada.tools() == ["add_drawer"]


@pytest.fixture
def known(ada: Device) -> Known:
    return furnished(ada)


@pytest.mark.parametrize("era", ERAS)
async def test_status_by_another_servers_name_shows_no_names_in_a_disabled_session(
    known: Known, served: Served, era: str
) -> None:
    async with connected(served, era, x_palacelog_mode="disabled") as client:
        result = await client.call_tool("mempalace_status", {})
    assert not result.is_error
    assert not [name for name in NAMES if name in str(result.content)]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_client_gave_up_happens_once(
    ada: Device, served: Served, era: str
) -> None:
    given = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    async with connected(served, era) as client:
        with ada.house.lock.held(), pytest.raises(MCPError):
            await client.call_tool("add_drawer", given, read_timeout_seconds=0.3)
        again = await structured(client, "add_drawer", given)
    assert ada.tools() == ["add_drawer"]
    assert again["position"] == 1


@pytest.mark.parametrize("era", ERAS)
async def test_an_operation_names_the_client_and_the_session_that_asked(
    ada: Device, served: Served, era: str
) -> None:
    async with connected(served, era) as client:
        written = await structured(client, "add_drawer", PLACE | {"content": "tea"})
    shown = ada.show_operation(op_id=written["op_id"])["operation"]
    assert shown["client"] == f"{DEFAULT_CLIENT_INFO.name}/{DEFAULT_CLIENT_INFO.version}"
    assert (shown["session"] is not None) == (era == LEGACY)


async def test_a_lower_header_holds_for_its_request_alone(served: Served) -> None:
    session = {"accept": TEXT, "mcp-session-id": begun(served)}
    call = _request("tools/call", name="create_wing", arguments={"wing": "attic"})
    low = served.post("/mcp", json=call, headers=session | {MODE_HEADER: "read_only"})
    assert "palacelog::mode::forbidden" in low.text
    assert "op_id" in served.post("/mcp", json=call, headers=session).text


@pytest.mark.parametrize("era", ERAS)
async def test_resources_are_refused_in_a_disabled_session(
    known: Known, served: Served, era: str
) -> None:
    async with connected(served, era, x_palacelog_mode="disabled") as client:
        for uri in ("palacelog://log/1", f"palacelog://drawer/{known.drawer}"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert "palacelog::mode::forbidden" in str(caught.value)


def test_a_header_of_the_beginning_is_the_ceiling_of_the_whole_session(
    ada: Device, served: Served
) -> None:
    session = {"accept": TEXT, "mcp-session-id": begun(served, **{MODE_HEADER: "read_only"})}
    before = fingerprint(ada.house)
    create = _request("tools/call", name="create_wing", arguments={"wing": "attic"})
    choose = _request("tools/call", name="set_mode", arguments={"mode": "full"})
    for more in ({}, {MODE_HEADER: "full"}):
        served.post("/mcp", json=_initialize(), headers=session | more)
        written = served.post("/mcp", json=create, headers=session | more)
        assert "palacelog::mode::forbidden" in written.text
        chosen = served.post("/mcp", json=choose, headers=session | more)
        assert "palacelog::mode::above_ceiling" in chosen.text
    assert fingerprint(ada.house) == before


@pytest.mark.parametrize("era", ERAS)
async def test_headers_name_the_agent_and_its_session(
    ada: Device, served: Served, era: str
) -> None:
    who = {"x_palacelog_agent": "scribe", "x_palacelog_session": "s-7"}
    async with connected(served, era, **who) as client:
        written = await structured(client, "add_drawer", PLACE | {"content": "tea"})
    shown = ada.show_operation(op_id=written["op_id"])["operation"]
    assert (shown["agent"], shown["session"]) == ("scribe", "s-7")


@pytest.mark.parametrize("era", ERAS)
async def test_a_mode_above_the_ceiling_in_a_request_is_noted_as_a_refusal(
    fleet: Fleet, era: str
) -> None:
    ada = fleet.device("ada", session_mode="read_only")
    with serving(ada.house) as served:
        async with connected(served, era) as client:
            for mode in ("full", "sometimes", {"a": 1}):
                refused(await client.call_tool("status", {}, meta={"palacelog/mode": mode}))
        ada.house.palace.trail.flush()
        noted = ada.list_operations(outcome="refused")["operations"]
    told = {one["code"] for one in noted}
    assert told == {"palacelog::input::invalid", "palacelog::mode::above_ceiling"}


NEWER = {"mcp-protocol-version": MODERN}
PLAIN = {"content-type": "text/x-secret"}


@pytest.mark.parametrize("era", [{}, NEWER], ids=ERAS)
@pytest.mark.parametrize(
    ("head", "body", "status", "code"),
    [
        ({MODE_HEADER: "secret"}, b"{}", 400, "input::invalid"),
        ({"x-palacelog-agent": "secret" * 30}, b"{}", 400, "input::invalid"),
        ({}, b"secret", 400, "http::malformed"),
        ({}, b"[]", 400, "http::malformed"),
        ({}, b'{"id": "secret"}', 400, "http::malformed"),
        (PLAIN, b"{}", 415, "http::content_type"),
        ({"accept": "text/x-secret"}, b"{}", 406, "http::accept"),
    ],
)
def test_a_request_that_is_none_of_the_protocol_is_noted_without_what_it_held(
    ada: Device, served: Served, era: dict[str, str], head: dict[str, str], body: bytes,
    status: int, code: str,
) -> None:  # fmt: skip
    about = {"accept": TEXT, "content-type": "application/json"} | era | head
    before = fingerprint(ada.house)
    assert served.post("/mcp", content=body, headers=about).status_code == status
    ada.house.palace.trail.flush()
    [line] = ada.list_operations(outcome="refused")["operations"]
    assert (line["tool"], line["code"]) == ("unknown_tool", f"palacelog::{code}")
    assert "secret" not in str(ada.show_operation(op_id=line["op_id"]))
    assert fingerprint(ada.house) == before


@pytest.mark.parametrize("era", ERAS)
async def test_a_refusal_of_the_palace_is_noted_once(ada: Device, served: Served, era: str) -> None:
    async with connected(served, era) as client:
        with pytest.raises(MCPError):
            await client.read_resource("palacelog://log/secret")
        with pytest.raises(MCPError):
            await client.read_resource("palacelog://drawer/none")
    ada.house.palace.trail.flush()
    noted = ada.list_operations(outcome="refused")["operations"]
    assert {one["tool"] for one in noted} == {"get_drawer"}
