"""The ways in: one call by each of them, the start, and what a host waits for over its pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from itertools import count, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from palacelog.bootstrap import create_palace, open_palace
from tests.benchmarks.meaning import made_up, palace_of
from tests.benchmarks.measuring import (
    Figure,
    Goal,
    Report,
    Sizes,
    milliseconds,
    percentile,
    timed,
)
from tests.benchmarks.searching import Texts
from tests.hosting import HANDSHAKE, Host, end_owner, owner

EMPTY_SERVER: Final = """
import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult

async def listed(asked, given):
    return ListToolsResult(tools=[])

async def main():
    server = Server("empty", on_list_tools=listed)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
ENVELOPE: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
WITHOUT: Final = {"PALACELOG_VECTORS__EMBEDDER": "none"}
WITH: Final = {"PALACELOG_VECTORS__EMBEDDER": "minilm"}
ROUNDS: Final = 5
SESSIONS: Final = 6
WARM: Final = 10

Call = Callable[[str, Mapping[str, Any]], Any]


def one_call_by_each_way(folder: Path, sizes: Sizes) -> Report:
    """`kg_add` and `kg_query` by each way in, the ways in turns, one caller."""
    calls = sizes.of(200, 20)
    numbers = count()
    seconds: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as opened:
        ways = {name: opened.enter_context(way(folder / name)) for name, way in WAYS.items()}
        for turn in range(calls + WARM):
            for name, call in ways.items():
                fact = {"subject": f"s{next(numbers)}", "predicate": "is", "object": "there"}
                for tool, given in (("kg_add", fact), ("kg_query", {"entity": fact["subject"]})):
                    took = timed(lambda: call(tool, given))  # noqa: B023
                    if turn >= WARM:
                        seconds.setdefault(tool, {}).setdefault(name, []).append(took)
    figures = []
    for tool, ways_of in seconds.items():
        bare = median(ways_of["Palace.call"])
        for name, found in ways_of.items():
            found.sort()
            note = (
                f"p99 {milliseconds(percentile(found, 0.99))} ms; "
                f"{median(found) / bare:.1f} times Palace.call; {calls} calls"
            )
            value = milliseconds(percentile(found, 0.5))
            figures.append(Figure(f"{tool} by {name}, p50", value, "ms", note))
    return Report([], figures)


def start_against_the_empty_server(folder: Path, sizes: Sizes) -> Report:
    """Goal 16: from the start of the process to the answer of `tools/list` / the same of a server
    of the SDK that offers nothing.
    """
    path = folder / "palace"
    create_palace(path, "desk", force=True)
    own = [sys.executable, "-m", "palacelog", "--palace", str(path), "mcp"]

    def first() -> float:
        end_owner(path)
        return _start(own)

    sides: dict[str, Callable[[], float]] = {
        "empty server": lambda: _start([sys.executable, "-c", EMPTY_SERVER]),
        "in process": lambda: _start([*own, "--in-process"]),
        "first session": first,
        "next session": lambda: _start(own),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(sizes.of(ROUNDS * 2, 2) + 1):
        for name, side in sides.items():
            took = side()
            if number:
                seconds[name].append(took)
    end_owner(path)
    ratios = {
        name: median(a / b for a, b in zip(found, seconds["empty server"], strict=True))
        for name, found in seconds.items()
    }
    goal = Goal(
        number=16,
        name="start",
        compares="start to tools/list in process / the same of the SDK's empty server",
        ratio=ratios["in process"],
        bound=1.5,
        at_least=False,
        absolute={f"{name} s": round(median(found), 2) for name, found in seconds.items()}
        | {f"{name} ratio": round(ratios[name], 2) for name in ("first session", "next session")},
        reasons="a session's pipe is faster where the palace has an owner already",
    )
    return Report([goal])


def over_standard_input(folder: Path, sizes: Sizes) -> Report:
    """What a host waits for: writes and searches over `palacelog mcp`, alone and beside a session
    that stores texts without a pause.
    """
    figures: list[Figure] = []
    for drawers in (sizes.of(1_000, 200), sizes.of(5_000, 400)):
        path = folder / f"palace-{drawers}"
        writer = Texts(drawers)
        with palace_of(path, [writer.text(30, 60) for _ in range(drawers)]) as house:
            made_up(house)
        with Host(path, **WITH) as host:
            host.begin()
            host.call("search", {"query": writer.text(2, 8)})
            figures += _waits(host, writer, sizes, f"{drawers:,} drawers")
            with _bulk_writer(path):
                figures += _waits(host, writer, sizes, f"{drawers:,} drawers, beside a writer")
        end_owner(path)
    return Report([], figures)


def _waits(host: Host, writer: Texts, sizes: Sizes, where: str) -> list[Figure]:
    def place(text: str) -> dict[str, Any]:
        return {"wing": "w", "room": "r", "content": text}

    numbers = count()
    kinds: dict[str, tuple[str, Callable[[], Mapping[str, Any]]]] = {
        "kg_add": (
            "kg_add",
            lambda: {"subject": writer.text(2, 2), "predicate": "is", "object": f"{next(numbers)}"},
        ),
        "add_drawer": ("add_drawer", lambda: place(writer.text(30, 60))),
        "checkpoint of 10": (
            "checkpoint",
            lambda: {"items": [place(writer.text(30, 60)) for _ in range(10)]},
        ),
        "search": ("search", lambda: {"query": writer.text(2, 8)}),
    }
    figures = []
    for name, (tool, given) in kinds.items():
        calls = sizes.of(20 if tool == "checkpoint" else 100, 10)
        found = sorted(_timed(host, tool, given()) for _ in range(calls))
        note = f"p99 {milliseconds(percentile(found, 0.99))} ms; {where}; {calls} calls"
        figures.append(Figure(f"{name}, p50", milliseconds(percentile(found, 0.5)), "ms", note))
    return figures


def _timed(host: Host, tool: str, given: Mapping[str, Any]) -> float:
    return timed(lambda: host.call(tool, given))


@contextmanager
def _bulk_writer(path: Path) -> Iterator[None]:
    """A session that stores texts, each as soon as the one before is acknowledged."""
    stop = threading.Event()
    writer = Texts(99)

    def write() -> None:
        with Host(path, **WITH) as host:
            host.begin()
            while not stop.is_set():
                text = writer.text(30, 60)
                host.call("add_drawer", {"wing": "bulk", "room": "r", "content": text})

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def memory_of_six_sessions(folder: Path, sizes: Sizes) -> Report:
    """What six sessions on one palace take together, each page of memory counted once."""
    drawers = sizes.of(5_000, 200)
    path = folder / "palace"
    writer = Texts(17)
    with palace_of(path, [writer.text(30, 60) for _ in range(drawers)]) as house:
        made_up(house)
    figures = []
    with ExitStack() as opened:
        hosts = [opened.enter_context(Host(path, **WITH)) for _ in range(SESSIONS)]
        for tool, when in (("status", "before the first search"), ("search", "after it")):
            for host in hosts:
                if tool == "status":
                    host.begin()
                host.call(tool, {"query": writer.text(2, 8)} if tool == "search" else {})
            process = owner(path)
            assert process is not None
            pipes = [_megabytes(host.process.pid) for host in hosts]
            whole = _megabytes(process) + sum(pipes)
            note = f"a pipe {max(pipes):.0f} MB at most; {drawers:,} drawers"
            figures.append(Figure(f"memory of six sessions {when}", round(whole), "MB", note))
    end_owner(path)
    return Report([], figures)


def _megabytes(process: int) -> float:
    """Its share of the memory that it has mapped."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ValueError(process)


def _start(command: Sequence[str]) -> float:
    """Seconds from the start of a server to its answer of `tools/list`."""
    asked = [
        {"id": 1, "method": "initialize", "params": HANDSHAKE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    started = perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | WITHOUT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for one in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | one).encode() + b"\n")
        process.stdin.flush()
        for _ in range(2):
            assert b"result" in process.stdout.readline()
        took = perf_counter() - started
        process.stdin.close()
    return took


@contextmanager
def _by_call(path: Path) -> Iterator[Call]:
    create_palace(path, "desk", force=True)
    with open_palace(path) as house:
        yield house.palace.call


@contextmanager
def _by_stdio(path: Path) -> Iterator[Call]:
    create_palace(path, "desk", force=True)
    with Host(path, "--in-process", **WITHOUT) as host:
        host.begin()
        yield host.call


@contextmanager
def _by_pipe(path: Path) -> Iterator[Call]:
    create_palace(path, "desk", force=True)
    with Host(path, **WITHOUT) as host:
        host.begin()
        yield host.call
    end_owner(path)


@contextmanager
def _served(path: Path) -> Iterator[HTTPConnection]:
    create_palace(path, "desk", force=True)
    command = [sys.executable, "-m", "palacelog", "--palace", str(path), "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | WITHOUT
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, b"")
            [told] = islice((line for line in lines if b"url" in line), 1)
            url = urlsplit(told.decode().split('"')[3])
            with closing(HTTPConnection(url.hostname or "", url.port)) as connection:
                yield connection
        finally:
            process.terminate()


@contextmanager
def _by_http(path: Path) -> Iterator[Call]:
    with _served(path) as connection:

        def call(tool: str, given: Mapping[str, Any]) -> Any:
            asked = {"name": tool, "arguments": given, "_meta": ENVELOPE}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
            headers = {
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": tool,
            }
            return _answer(connection, "/mcp", body, headers)["result"]

        yield call


@contextmanager
def _by_rest(path: Path) -> Iterator[Call]:
    with _served(path) as connection:
        yield lambda tool, given: _answer(connection, f"/api/call/{tool}", given, {})


def _answer(
    connection: HTTPConnection, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Any:
    whole = {"content-type": "application/json"} | dict(headers)
    connection.request("POST", path, json.dumps(body), whole)
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    return answer


WAYS: Final = {
    "Palace.call": _by_call,
    "stdio, in process": _by_stdio,
    "stdio, through the pipe": _by_pipe,
    "HTTP": _by_http,
    "REST": _by_rest,
}
