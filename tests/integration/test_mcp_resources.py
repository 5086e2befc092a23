"""Resources, completion and prompts, through the SDK's client in both eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from mcp.client.client import Client
from mcp_types import INVALID_PARAMS, PromptReference, ResourceTemplateReference

from tests.mcp_clients import ERAS, LEGACY, fails, in_memory, session_of
from tests.palaces import Device

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

PLACE = {"wing": "home base", "room": "notes"}
DRAWER = ResourceTemplateReference(uri="palacelog://drawer/{drawer_id}")
ENTRY = ResourceTemplateReference(uri="palacelog://log/{position}")


@pytest.fixture
def drawer(ada: Device) -> str:
    return str(ada.add_drawer(**PLACE, content="green tea")["drawer_id"])


@pytest.fixture
async def client(ada: Device, drawer: str, era: str) -> AsyncIterator[Client]:
    async with in_memory(session_of(ada), era) as client:
        yield client


@pytest.fixture
async def closed(ada: Device, drawer: str, era: str) -> AsyncIterator[Client]:
    async with in_memory(session_of(ada, "disabled"), era) as client:
        yield client


async def read(client: Client, uri: str) -> Any:
    [content] = (await client.read_resource(uri)).contents
    assert content.uri == uri
    return orjson.loads(content.text)


async def test_a_drawer_is_read_by_its_address(client: Client, drawer: str) -> None:
    answer = await read(client, f"palacelog://drawer/{quote(drawer)}")
    assert answer["drawer"]["content"] == "green tea"


async def test_a_log_entry_is_read_by_its_position(client: Client) -> None:
    answer = await read(client, "palacelog://log/1")
    assert answer["operation"]["tool"] == "add_drawer"


async def test_the_overview_is_listed_and_tells_what_lies_where(client: Client) -> None:
    [listed] = (await client.list_resources()).resources
    answer = await read(client, listed.uri)
    assert answer["taxonomy"]["taxonomy"] == {"home base": {"notes": 1}}
    assert answer["status"]["head"] == 1


async def test_reading_a_resource_is_noted_in_the_trail(client: Client, ada: Device) -> None:
    await read(client, "palacelog://log/1")
    listed = ada.list_operations(include_reads=True, tool="show_operation")
    assert [one["session"] for one in listed["operations"]] == ["s-1"]


@pytest.mark.parametrize(
    "uri",
    [
        "palacelog://drawer/drawer_of_nobody",
        "palacelog://log/99",
        "palacelog://log/0",
        "palacelog://log/99999999999999999999",
        "palacelog://log/" + "9" * 5_000,
        "palacelog://log/first",
        "palacelog://nothing",
        "file:///etc/passwd",
    ],
)
async def test_an_unknown_address_is_the_error_of_its_era(
    client: Client, uri: str, era: str
) -> None:
    async with fails(-32002 if era == LEGACY else INVALID_PARAMS) as told:
        await client.read_resource(uri)
    assert told["uri"] == uri
    assert told["help"]


async def test_ids_and_positions_are_completed(client: Client, drawer: str) -> None:
    ids = await client.complete(DRAWER, {"name": "drawer_id", "value": "drawer_home"})
    assert ids.completion.values == [drawer]
    positions = await client.complete(ENTRY, {"name": "position", "value": "1"})
    assert positions.completion.values == ["1"]
    none = await client.complete(DRAWER, {"name": "drawer_id", "value": "x"})
    assert none.completion.values == []


async def test_the_wing_of_a_prompt_is_completed(client: Client) -> None:
    prompt = PromptReference(name="file_memories")
    wings = await client.complete(prompt, {"name": "wing", "value": "ho"})
    assert wings.completion.values == ["home base"]


async def test_many_completions_are_cut_and_say_so(client: Client, ada: Device) -> None:
    for number in range(101):
        ada.add_drawer(**PLACE, content=f"Note {number}")
    found = await client.complete(DRAWER, {"name": "drawer_id", "value": "drawer"})
    assert len(found.completion.values) == 100
    assert found.completion.has_more


async def test_what_is_not_listed_is_not_completed(client: Client) -> None:
    async with fails("input::unknown_reference"):
        await client.complete(PromptReference(name="nobody"), {"name": "wing", "value": ""})


@pytest.mark.parametrize(
    "uri", ["palacelog://overview", "palacelog://log/1", "palacelog://drawer/{drawer}"]
)
async def test_a_disabled_session_reads_no_resource(closed: Client, drawer: str, uri: str) -> None:
    async with fails("mode::forbidden") as told:
        await closed.read_resource(uri.format(drawer=quote(drawer)))
    assert "tea" not in str(told)


@pytest.mark.parametrize(
    ("ref", "argument"),
    [(DRAWER, "drawer_id"), (ENTRY, "position"), (PromptReference(name="file_memories"), "wing")],
    ids=["drawer", "entry", "prompt"],
)
async def test_a_disabled_session_completes_nothing(
    closed: Client, ref: Any, argument: str
) -> None:
    async with fails("mode::forbidden"):
        await closed.complete(ref, {"name": argument, "value": ""})


async def test_the_mode_of_a_request_holds_for_resources(client: Client) -> None:
    async with fails("mode::forbidden"):
        await client.read_resource("palacelog://log/1", meta={"palacelog/mode": "disabled"})
    assert await read(client, "palacelog://log/1")


async def test_prompts_teach_a_disabled_session_too_and_show_nothing(closed: Client) -> None:
    for listed in (await closed.list_prompts()).prompts:
        [message] = (await closed.get_prompt(listed.name)).messages
        assert "home base" not in message.content.text
        assert "{" not in message.content.text


async def test_prompts_name_the_tools_as_they_are_listed(ada: Device, era: str) -> None:
    async with in_memory(session_of(ada), era, prefix="mempalace_") as client:
        prompt = await client.get_prompt("search_before_answering", {"question": "Which tea?"})
    [message] = prompt.messages
    assert "mempalace_recall" in message.content.text
    assert message.content.text.endswith("The question: Which tea?")


async def test_an_unknown_prompt_is_an_error_that_names_those_there_are(client: Client) -> None:
    async with fails("input::unknown_prompt") as told:
        await client.get_prompt("nobody")
    assert "file_memories" in told["help"]
    assert told["protocol_code"] == INVALID_PARAMS


async def test_lists_may_be_kept_and_content_may_not(client: Client, era: str) -> None:
    lists = (
        await client.list_tools(),
        await client.list_prompts(),
        await client.list_resources(),
        await client.list_resource_templates(),
    )
    content = await client.read_resource("palacelog://log/1")
    assert (content.ttl_ms, content.cache_scope) == (0, "private")
    if era != LEGACY:
        assert {(one.ttl_ms, one.cache_scope) for one in lists} == {(3_600_000, "public")}
