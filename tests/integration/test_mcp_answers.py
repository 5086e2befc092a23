"""What tools answer over the protocol: their own schemas, times, modes and keys."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError

from domain.catalog import CATALOG
from domain.gate import CONTROL, SET_MODE
from domain.jobs import STEERING
from domain.operation import Context
from palacelog.mcp.server import CALLS_AT_ONCE_MAX
from palacelog.mcp.tools import CORE, tools
from palacelog.palace import Palace
from palacelog.sessions import Session
from tests.mcp_clients import ERAS, LEGACY, answered, in_memory, over_streams, refused, session_of
from tests.palaces import Device, Fleet, checked
from tests.samples import SAMPLES, Known, furnished

pytestmark = pytest.mark.anyio

PLACE = {"wing": "home", "room": "notes"}
MARKER = "zanzibar"
WHOLE = {tool.name: tool.output_schema for tool in tools("all")}
BRIEF = {tool.name: tool.output_schema for tool in tools("core")}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Device, Known]]:
    """A furnished palace for what changes nothing."""
    fleet = Fleet(tmp_path_factory.mktemp("shared"))
    device = fleet.device("ada")
    yield device, furnished(device)
    fleet.close()


@pytest.fixture
def furnished_for(tool: str, request: pytest.FixtureRequest) -> tuple[Device, Known]:
    """A furnished palace; one of its own for an operation that writes."""
    if not CATALOG[tool].writes:
        device, known = request.getfixturevalue("shared")
        return device, known
    device = request.getfixturevalue("ada")
    return device, furnished(device)


@pytest.mark.parametrize("tool", sorted(SAMPLES))
async def test_every_answer_is_as_its_tool_declares_with_times_in_one_form(
    furnished_for: tuple[Device, Known], tool: str
) -> None:
    ada, known = furnished_for
    arguments = SAMPLES[tool](known)
    async with in_memory(session_of(ada), LEGACY, "all") as client:
        answer = answered(await client.call_tool(tool, arguments))
    checked(tool, answer)
    jsonschema.validate(answer, WHOLE[tool])
    if tool in CORE:
        jsonschema.validate(answer, BRIEF[tool])


def test_the_schema_of_an_answer_can_say_no(ada: Device) -> None:
    answer = ada.list_wings()
    for schema in (WHOLE["list_wings"], BRIEF["list_wings"]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: answer[key] for key in answer if key != "wings"}, schema)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", ["off", "read-only", "FULL", ""])
async def test_a_mode_that_is_none_is_an_error_and_nothing_changes(
    ada: Device, era: str, mode: str
) -> None:
    async with in_memory(session_of(ada), era) as client:
        told = refused(await client.call_tool("set_mode", {"mode": mode}))
        assert told["code"] == "palacelog::input::invalid"
        told = refused(await client.call_tool("status", meta={"palacelog/mode": mode}))
        assert told["code"] == "palacelog::input::invalid"
        answered(await client.call_tool("add_drawer", PLACE | {"content": "tea"}))


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_session_no_mode_is_remembered(ada: Device, era: str) -> None:
    session = Session(ada.house.palace, Context(), remembers=False)
    async with in_memory(session, era) as client:
        told = refused(await client.call_tool("set_mode", {"mode": "disabled"}))
        assert told["code"] == "palacelog::mode::no_session"
        answered(await client.call_tool("list_wings"))
        told = refused(await client.call_tool("list_wings", meta={"palacelog/mode": "disabled"}))
        assert told["code"] == "palacelog::mode::forbidden"


@pytest.mark.parametrize("era", ERAS)
async def test_tags_are_taken_in_every_documented_form(ada: Device, era: str) -> None:
    forms = {"one": "a", "json": '["a","b"]', "commas": "a,b", "list": ["a"]}
    async with in_memory(session_of(ada), era) as client:
        for name, tags in forms.items():
            place = PLACE | {"content": name}
            made = answered(await client.call_tool("add_drawer", place | {"tags": tags}))
            read = answered(await client.call_tool("get_drawer", {"drawer_id": made["drawer_id"]}))
            again = ada.add_drawer(**PLACE, content=f"{name} again", tags=tags)
            there = ada.get_drawer(drawer_id=again["drawer_id"])
            assert read["drawer"]["tags"] == there["drawer"]["tags"], name
        told = refused(await client.call_tool("add_drawer", PLACE | {"content": "5", "tags": 5}))
    assert told["code"] == "palacelog::input::invalid"
    assert "`tags`" in told["error"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("prefix", "tool"), [("", "audit"), ("", "status"), ("mempalace_", "status")]
)
async def test_a_disabled_session_sees_counts_and_no_names(
    ada: Device, era: str, prefix: str, tool: str
) -> None:
    ada.add_drawer(wing=f"{MARKER} wing", room=f"{MARKER} room", content=f"{MARKER} text")
    ada.kg_add(subject=MARKER, predicate="is", object="there")
    async with in_memory(session_of(ada, "disabled"), era, prefix=prefix) as client:
        answer = answered(await client.call_tool(prefix + tool))
        assert answer
        assert MARKER not in str(answer)
        refused(await client.call_tool(f"{prefix}list_wings"))


@pytest.mark.parametrize("era", ERAS)
async def test_a_disabled_session_is_refused_every_tool_that_shows_or_changes_memory(
    ada: Device, era: str
) -> None:
    known = furnished(ada)
    before = ada.position()
    async with in_memory(session_of(ada, "disabled"), era, "all") as client:
        for tool, entry in CATALOG.items():
            if tool == SET_MODE:
                continue
            result = await client.call_tool(tool, SAMPLES[tool](known))
            if entry.operation_class == CONTROL:
                answered(result)
            else:
                assert refused(result)["code"] == "palacelog::mode::forbidden", tool
    # Jobs can be steered by whoever asks, and that is recorded.
    assert ada.position() == before + len(STEERING)


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_of_another_server_is_gated_and_then_refused_with_ours(
    ada: Device, era: str
) -> None:
    async with in_memory(session_of(ada), era, prefix="mempalace_") as client:
        told = refused(await client.call_tool("mempalace_sync", {"source": "/tmp"}))
        assert told["code"] == "palacelog::input::unknown_tool"
        assert "mempalace_mine" in told["help"]
        told = refused(await client.call_tool("mempalace_list_drawers", {"offset": 20}))
        assert "`cursor`" in told["help"]
        answered(await client.call_tool("set_mode", {"mode": "disabled"}))
        told = refused(await client.call_tool("mempalace_sync", {"source": "/tmp"}))
        assert told["code"] == "palacelog::mode::forbidden"


class Gate:
    """Holds calls of one tool, before they are done or after."""

    def __init__(self, before: bool) -> None:
        self.before = before
        self.open = threading.Event()
        self.done = threading.Event()

    def put(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Palace.call

        def call(palace: Palace, tool: str, *given: Any) -> Any:
            if self.before:
                self.open.wait(60)
            answer = real(palace, tool, *given)
            self.done.set()
            if not self.before:
                self.open.wait(60)
            return answer

        monkeypatch.setattr(Palace, "call", call)


@pytest.fixture(params=[True, False], ids=["before it is done", "after it is done"])
def gate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(request.param)
    gate.put(monkeypatch)
    yield gate
    gate.open.set()


async def nobody_hears(done: float, total: float | None, message: str | None) -> None:
    return None


@pytest.mark.parametrize("progress", [None, nobody_hears], ids=["silent", "with progress"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_was_given_up_has_happened_once_whoever_repeats_it(
    ada: Device, gate: Gate, era: str, progress: Any
) -> None:
    write = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    async with over_streams(session_of(ada), era) as client:
        with pytest.raises(MCPError):
            await client.call_tool(
                "add_drawer", write, read_timeout_seconds=0.05, progress_callback=progress
            )
        gate.open.set()
        again = answered(await client.call_tool("add_drawer", write))
        answered(await client.call_tool("status"))
    assert gate.done.is_set()
    assert ada.tools() == ["add_drawer"]
    assert again["position"] == 1
    told = ada.house.palace.call("add_drawer", write)
    assert told["op_id"] == again["op_id"]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(before=True)
    gate.put(monkeypatch)
    yield gate
    gate.open.set()


async def writing(client: Any, count: int) -> list[asyncio.Task[Any]]:
    """Writes that have been taken by the server, and that a gate holds."""
    calls = [
        asyncio.create_task(client.call_tool("add_drawer", PLACE | {"content": f"Note {number}"}))
        for number in range(count)
    ]
    await asyncio.sleep(0)
    await client.list_tools()
    return calls


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_was_given_up_while_it_waited_for_others_has_not_happened(
    ada: Device, held: Gate, era: str
) -> None:
    late = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    async with over_streams(session_of(ada), era) as client:
        calls = await writing(client, CALLS_AT_ONCE_MAX)
        with pytest.raises(MCPError):
            await client.call_tool("add_drawer", late, read_timeout_seconds=0.05)
        await client.list_tools()
        held.open.set()
        for one in await asyncio.gather(*calls):
            answered(one)
        assert len(ada.tools()) == CALLS_AT_ONCE_MAX
        made = answered(await client.call_tool("add_drawer", late))
    assert made["position"] == CALLS_AT_ONCE_MAX + 1


async def test_a_session_does_not_wait_for_the_calls_of_another(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, opened = Palace.call, threading.Event()

    def call(palace: Palace, tool: str, *given: Any) -> Any:
        if tool == "add_drawer":
            opened.wait(60)
        return real(palace, tool, *given)

    monkeypatch.setattr(Palace, "call", call)
    async with (
        over_streams(session_of(ada), LEGACY) as busy,
        over_streams(session_of(ada), LEGACY) as other,
    ):
        try:
            calls = await writing(busy, CALLS_AT_ONCE_MAX + 1)
            answered(await other.call_tool("status", read_timeout_seconds=10))
        finally:
            opened.set()
        for one in await asyncio.gather(*calls):
            answered(one)
