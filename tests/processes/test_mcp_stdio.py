"""`palacelog mcp` as a process: through the pipe and in the session's own process."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from palacelog.bootstrap import open_palace
from palacelog.mcp.tools import CORE
from replay.write_lock import WriteLock
from tests.command_line import CommandLine, new_line
from tests.hosting import ENVELOPE, HANDSHAKE, WAYS, end_owner
from tests.mcp_clients import ERAS, LEGACY, SECONDS_MAX, answered, over_stdio, refused

pytestmark = pytest.mark.anyio

PLACE = {"wing": "home", "room": "notes"}
TOOLS_BYTES_MAX = 16_384
SERVERS, IN_FLIGHT = 4, 20
PAIRED = pytest.mark.parametrize(
    ("way", "era"), list(zip(WAYS, reversed(ERAS), strict=True)), ids=["pipe", "in process"]
)
"""Each way and each era, where they have nothing to do with each other."""
LOUD = """
import importlib.abc, os, subprocess, sys

class Loud(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "palacelog.prepare":
            noise()

def noise():
    print("noise of a library")
    os.write(1, b"noise below Python\\n")
    subprocess.run([sys.executable, "-S", "-c", "print('noise of a child')"])

if "mcp" in sys.orig_argv or "palacelog.owner.process" in sys.orig_argv:
    import atexit
    atexit.register(print, "noise at the end")
    sys.meta_path.insert(0, Loud())
    import threading
    threading.Thread.start = (lambda start: lambda self: (noise(), start(self)))(
        threading.Thread.start
    )
"""
"""Prints while palacelog is loaded, whenever a thread starts, and at the end."""


@pytest.fixture(params=WAYS, ids=["pipe", "in process"])
def way(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(request.param)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[CommandLine]:
    line = new_line(tmp_path / "palace", PALACELOG_VECTORS__EMBEDDER="none")
    yield line
    end_owner(line.palace)


class Raw:
    """A host that speaks line by line."""

    def __init__(self, line: CommandLine, *arguments: str, before: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            line.command("mcp", *arguments, before=before),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=line.env(),
        )

    def asks(self, number: int, method: str, **params: Any) -> bytes:
        """One request; the line that answers it."""
        self.tells(method, id=number, **params)
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tells(self, method: str, id: int | None = None, **params: Any) -> None:
        """One line, not answered."""
        told = {"jsonrpc": "2.0", "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(
            json.dumps(told if id is None else told | {"id": id}).encode() + b"\n"
        )
        self.process.stdin.flush()

    def ends(self) -> tuple[bytes, bytes]:
        """Close its side; what else came on standard output, and all of standard error."""
        return self.process.communicate(timeout=60)


def test_a_host_may_discover_and_then_initialize(line: CommandLine, way: tuple[str, ...]) -> None:
    host = Raw(line, *way)
    found = json.loads(host.asks(1, "server/discover", _meta=ENVELOPE))
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert found["result"]["instructions"]
    begun = json.loads(host.asks(2, "initialize", **HANDSHAKE))
    assert begun["result"]["protocolVersion"] == "2025-11-25"
    host.tells("notifications/initialized")
    for number, params in ((3, {}), (4, {"_meta": ENVELOPE})):
        listed = json.loads(host.asks(number, "tools/list", **params))
        assert [tool["name"] for tool in listed["result"]["tools"]] == list(CORE)
    rest, _ = host.ends()
    assert rest == b""


@pytest.mark.parametrize("prefix", ["", "mempalace_", "memcastle_"])
def test_the_list_of_core_tools_is_small_on_the_wire(
    line: CommandLine, way: tuple[str, ...], prefix: str
) -> None:
    host = Raw(line, *way, "--tool-prefix", prefix)
    host.asks(1, "initialize", **HANDSHAKE)
    host.tells("notifications/initialized")
    assert len(host.asks(2, "tools/list")) <= TOOLS_BYTES_MAX
    assert len(host.asks(3, "tools/list", _meta=ENVELOPE)) <= TOOLS_BYTES_MAX
    host.ends()


def test_an_answer_has_no_error_beside_it(line: CommandLine, way: tuple[str, ...]) -> None:
    host = Raw(line, *way)
    host.asks(1, "initialize", **HANDSHAKE)
    host.tells("notifications/initialized")
    answer = json.loads(host.asks(2, "tools/call", name="status", arguments={}))
    assert answer.keys() == {"jsonrpc", "id", "result"}
    host.ends()


def test_standard_output_carries_the_protocol_alone(
    tmp_path: Path, line: CommandLine, way: tuple[str, ...]
) -> None:
    (tmp_path / "loud").mkdir()
    (tmp_path / "loud" / "sitecustomize.py").write_text(LOUD, "utf-8")
    environment = line.env()
    line.environment |= {"PYTHONPATH": f"{tmp_path / 'loud'}:{environment['PYTHONPATH']}"}
    host = Raw(line, *way)
    assert json.loads(host.asks(1, "initialize", **HANDSHAKE))["id"] == 1
    host.tells("notifications/initialized")
    called = host.asks(2, "tools/call", name="add_drawer", arguments=PLACE | {"content": "tea"})
    assert json.loads(called)["id"] == 2
    rest, errors = host.ends()
    assert rest == b""
    if way:
        for noise in (b"of a library", b"below Python", b"of a child", b"at the end"):
            assert b"noise " + noise in errors


@pytest.mark.parametrize("era", ERAS)
async def test_writes_in_flight_from_several_servers_are_all_kept(
    line: CommandLine, way: tuple[str, ...], era: str
) -> None:
    async def write(number: int) -> list[int]:
        async with over_stdio(line, era, *way) as client:
            calls = [
                client.call_tool("add_drawer", PLACE | {"content": f"Note {number}.{count}"})
                for count in range(IN_FLIGHT)
            ]
            return [answered(one)["position"] for one in await asyncio.gather(*calls)]

    written = await asyncio.gather(*(write(number) for number in range(SERVERS)))
    positions = sorted(position for one in written for position in one)
    assert positions == list(range(1, SERVERS * IN_FLIGHT + 1))
    with open_palace(line.palace) as house:
        listed = house.palace.call("list_drawers", {"limit": 200})
    texts = {one["preview"] for one in listed["drawers"]}
    assert texts == {f"Note {one}.{two}" for one in range(SERVERS) for two in range(IN_FLIGHT)}


@PAIRED
async def test_the_mode_of_the_command_is_the_most_that_a_session_has(
    line: CommandLine, way: tuple[str, ...], era: str
) -> None:
    async with over_stdio(line, era, *way, before=("--mode", "read_only")) as client:
        told = refused(await client.call_tool("set_mode", {"mode": "full"}))
        assert told["code"] == "palacelog::mode::above_ceiling"
        write = PLACE | {"content": "tea"}
        told = refused(await client.call_tool("add_drawer", write))
        assert told["code"] == "palacelog::mode::forbidden"
        told = refused(await client.call_tool("add_drawer", write, meta={"palacelog/mode": "full"}))
        assert told["code"] == "palacelog::mode::above_ceiling"
        answered(await client.call_tool("list_wings"))
        answered(await client.call_tool("set_mode", {"mode": "disabled"}))
        told = refused(await client.call_tool("list_wings"))
        assert told["code"] == "palacelog::mode::forbidden"
        answered(await client.call_tool("set_mode", {"mode": "read_only"}))
        answered(await client.call_tool("list_wings"))


async def test_one_session_does_not_choose_for_another(
    line: CommandLine, way: tuple[str, ...]
) -> None:
    async with over_stdio(line, LEGACY, *way) as one, over_stdio(line, LEGACY, *way) as other:
        answered(await one.call_tool("set_mode", {"mode": "disabled"}))
        refused(await one.call_tool("list_wings"))
        answered(await other.call_tool("list_wings"))


@PAIRED
async def test_the_prefix_of_another_server_is_taken_over_stdio(
    line: CommandLine, way: tuple[str, ...], era: str
) -> None:
    async with over_stdio(line, era, *way, "--tool-prefix", "mempalace_") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == [f"mempalace_{name}" for name in CORE]
        entry = {"agent_name": "scribe", "content": "Rain."}
        answered(await client.call_tool("mempalace_diary_write", entry))
        read = answered(await client.call_tool("mempalace_diary_read", {"agent_name": "scribe"}))
        assert [one["content"] for one in read["entries"]] == ["Rain."]


@PAIRED
async def test_progress_comes_through(line: CommandLine, way: tuple[str, ...], era: str) -> None:
    line.environment |= {
        "PALACELOG_VECTORS__EMBEDDER": "wordllama",
        "PALACELOG_VECTORS__WAIT_SECONDS": "60",
    }
    ended = asyncio.Event()

    async def hear(done: float, total: float | None, message: str | None) -> None:
        if done == total:
            ended.set()

    items = [PLACE | {"content": f"Note {number}"} for number in range(20)]
    async with over_stdio(line, era, *way) as client:
        answered(await client.call_tool("checkpoint", {"items": items}, progress_callback=hear))
        await asyncio.wait_for(ended.wait(), SECONDS_MAX)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_was_given_up_has_happened_once_whoever_repeats_it(
    line: CommandLine, way: tuple[str, ...], era: str
) -> None:
    write = PLACE | {"content": "tea", "idempotency_key": "k-1"}
    async with over_stdio(line, era, *way) as client:
        answered(await client.call_tool("status"))
        with closing(WriteLock(line.palace, SECONDS_MAX)) as lock:
            with lock.held(), pytest.raises(MCPError):
                await client.call_tool("add_drawer", write, read_timeout_seconds=0.2)
            again = answered(await client.call_tool("add_drawer", write))
        assert answered(await client.call_tool("add_drawer", write)) == again
        assert answered(await client.call_tool("status"))["head"] == 1
