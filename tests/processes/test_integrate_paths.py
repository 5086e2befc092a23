"""Every injection path, as the host goes it: with memory on the planted text comes in, with memory
off nothing does, and the palace is not even opened. Case W18.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from palacelog.bootstrap import open_palace
from palacelog.hosts.contract import PATHS
from palacelog.hosts.hook import BEFORE_COMPACTION, REMINDER
from tests.hosts import Home, Watched
from tests.palaces import fingerprint
from tests.served import serving

PLANTED = "The marker is a heron on a roof."
NODE = shutil.which("node")
DRIVERS = Path(__file__).resolve().parents[1] / "node"
HURRIED = {"PALACELOG_HOOK_SECONDS": "60"}
"""Machines on which tests run may be slow; that the deadline holds has a test of its own."""


class Sessions:
    """Hosts that were set up, and sessions of theirs in the project."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.line("add", PLANTED, "--wing", self.home.project.name, "--room", "notes")
        self.watched = Watched(folder / "bin", self.home.palace)
        self.gone: dict[tuple[str, str], Any] = {}
        """What a driver in Node said, by host and label: it goes all ways of its host at once."""

    def install(self, host: str, label: str, *more: str) -> None:
        self.home("install", host, "--label", label, "--command", self.watched.command, *more)
        self.watched.forget()

    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "PALACELOG" not in name}
        return kept | self.watched.env | HURRIED | {"PALACELOG_VECTORS__EMBEDDER": "none"}

    def hook(self, settings: str, **given: Any) -> str:
        """What the hook of a session's start says, run as its host runs it."""
        [group] = json.loads(self.home.read(settings))["hooks"]["SessionStart"]
        [handler] = group["hooks"]
        given = {"session_id": "s1", "cwd": str(self.home.project)} | given
        done = subprocess.run(
            ["sh", "-c", handler["command"]],
            input=json.dumps(given).encode(),
            capture_output=True,
            env=self.env(),
            cwd="/",
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    def node(self, driver: str, installed: str, *arguments: str, **env: str) -> Any:
        """What a driver in Node says of a file that was installed."""
        assert NODE is not None, "these tests need Node"
        # As both hosts do, whatever the ending: the file is loaded as a module.
        module = self.home.palace.parent / f"{Path(installed).stem}.mjs"
        shutil.copy(self.home.path / installed, module)
        command = [NODE, str(DRIVERS / driver), str(module), str(self.home.project), *arguments]
        done = subprocess.run(command, capture_output=True, env=self.env() | env, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def palace_files(self) -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted(self.home.palace.rglob("*"))
            if path.is_file()
        }

    def server(self, words: list[str]) -> str:
        """What a server that a host would start answers to wake_up."""
        return anyio.run(woken, words, self.env())


async def woken(words: list[str], env: dict[str, str]) -> str:
    server = StdioServerParameters(command=words[0], args=words[1:], env=env)
    async with Client(server, read_timeout_seconds=60) as client:
        assert "wake_up" in {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("wake_up", {})
        assert not result.is_error
        return str((result.structured_content or {})["block"])


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    made = Sessions(tmp_path_factory.mktemp("paths"))
    # The process that has the palace open, as in a person's day; hooks go to it where they can.
    command = [sys.executable, "-P", "-m", "palacelog.owner.process", str(made.home.palace)]
    env = {name: value for name, value in made.env().items() if name != "PYTHONPATH"}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as owner:
        yield made
        owner.terminate()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    """The same with a palace that nobody has open."""
    return Sessions(tmp_path_factory.mktemp("quiet"))


def entry_of(sessions: Sessions, host: str) -> list[str]:
    """The command of the server that a host starts; empty where it starts none."""
    if host == "claude-code":
        if ".claude.json" not in sessions.home.files():
            return []
        entry = json.loads(sessions.home.read(".claude.json"))["mcpServers"]["palacelog"]
    elif host == "codex":
        text = sessions.home.read(".codex/config.toml")
        entry = tomllib.loads(text)["mcp_servers"]["palacelog"]
    else:
        entry = json.loads(sessions.home.read(".config/opencode/opencode.json"))["mcp"]["palacelog"]
        return list(entry["command"]) if entry["enabled"] else []
    return [entry["command"], *entry["args"]] if entry.get("enabled", True) else []


def server_of(host: str) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        sessions.install(host, label)
        words = entry_of(sessions, host)
        return sessions.server(words) if words else ""

    return drive


def snippet_of(host: str) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        printed = sessions.home(
            "print", host, "--label", label, "--command", sessions.watched.command
        )
        [servers] = printed.values()
        return "".join(sessions.server([one["command"], *one["args"]]) for one in servers.values())

    return drive


def hook_of(host: str, settings: str, **given: Any) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        sessions.install(host, label)
        return sessions.hook(settings, **given)

    return drive


def skill_of(host: str, path: str) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        sessions.install(host, label)
        return sessions.home.files().get(path, b"").decode()

    return drive


def opencode(version: str, part: str) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        if ("opencode", label) not in sessions.gone:
            sessions.install("opencode", label)
            told = sessions.node("opencode.mjs", ".config/opencode/plugins/palacelog.js")
            sessions.gone["opencode", label] = told
        return "\n".join(sessions.gone["opencode", label][version][part])

    return drive


def pi(part: str) -> Callable[[Sessions, str], str]:
    def drive(sessions: Sessions, label: str) -> str:
        if ("pi", label) not in sessions.gone:
            sessions.install("pi", label)
            calls = json.dumps([["palacelog_wake_up", {}]] if label != "off" else [])
            told = sessions.node("pi.mjs", ".pi/agent/extensions/palacelog.ts", calls)
            sessions.gone["pi", label] = told
        told = sessions.gone["pi", label]
        if part == "called":
            assert bool(told["tools"]) == (label != "off")
            return "".join(one["text"] for one in told["called"])
        return str((told[part] or {}).get("content", ""))

    return drive


CLAUDE, CODEX = ".claude/settings.json", ".codex/hooks.json"
SKILL = "name: palacelog\n"
GO: dict[tuple[str, str], tuple[Callable[[Sessions, str], str], list[str]]] = {
    ("claude-code", "MCP server"): (server_of("claude-code"), [PLANTED]),
    ("claude-code", "SessionStart"): (
        hook_of("claude-code", CLAUDE, source="startup", hook_event_name="SessionStart"),
        [PLANTED],
    ),
    ("claude-code", "SessionStart, source compact"): (
        hook_of("claude-code", CLAUDE, source="compact"),
        [PLANTED, REMINDER],
    ),
    ("claude-code", "skill"): (
        skill_of("claude-code", ".claude/skills/palacelog/SKILL.md"),
        [SKILL],
    ),
    ("codex", "MCP server"): (server_of("codex"), [PLANTED]),
    ("codex", "SessionStart"): (hook_of("codex", CODEX, source="startup"), [PLANTED]),
    ("codex", "SessionStart, source compact"): (
        hook_of("codex", CODEX, source="compact", transcript_path=None),
        [PLANTED, REMINDER],
    ),
    ("codex", "skill"): (skill_of("codex", ".agents/skills/palacelog/SKILL.md"), [SKILL]),
    ("opencode", "MCP server"): (server_of("opencode"), [PLANTED]),
    ("opencode", "V1 experimental.chat.system.transform"): (
        opencode("first", "system"),
        [PLANTED],
    ),
    ("opencode", "V1 experimental.session.compacting"): (
        opencode("first", "context"),
        [BEFORE_COMPACTION],
    ),
    ("opencode", "V2 session context"): (opencode("second", "system"), [PLANTED]),
    ("opencode", "V2 session compaction"): (
        opencode("second", "context"),
        [BEFORE_COMPACTION],
    ),
    ("opencode", "skill"): (
        skill_of("opencode", ".config/opencode/skills/palacelog/SKILL.md"),
        [SKILL],
    ),
    ("pi", "registered tools"): (pi("called"), [PLANTED]),
    ("pi", "before_agent_start"): (pi("start"), [PLANTED]),
    ("pi", "before_agent_start after session_compact"): (pi("compacted"), [PLANTED, REMINDER]),
    ("pi", "skill"): (skill_of("pi", ".pi/agent/skills/palacelog/SKILL.md"), [SKILL]),
    ("claude-desktop", "MCP server"): (snippet_of("claude-desktop"), [PLANTED]),
    ("cursor", "MCP server"): (snippet_of("cursor"), [PLANTED]),
    ("cursor", "sessionStart, by Claude Code's settings"): (
        hook_of("claude-code", CLAUDE, cursor_version="3.1.0", conversation_id="c1"),
        [PLANTED, '{"additional_context": '],
    ),
    ("vscode", "MCP server"): (snippet_of("vscode"), [PLANTED]),
    ("vscode", "SessionStart, by Claude Code's settings"): (
        hook_of("claude-code", CLAUDE, sessionId="v1", hookEventName="SessionStart", source="new"),
        [PLANTED],
    ),
}


def test_every_path_of_the_contract_is_gone_here() -> None:
    assert GO.keys() == {(one.host, one.event) for one in PATHS}


@pytest.mark.parametrize(("host", "event"), GO)
def test_with_full_the_planted_text_comes_in(sessions: Sessions, host: str, event: str) -> None:
    drive, expected = GO[host, event]
    told = drive(sessions, "full")
    for text in expected:
        assert text in told
    limit = next(one.bytes_max for one in PATHS if (one.host, one.event) == (host, event))
    assert limit is None or len(told.encode()) <= limit + 200, "the shape around it included"


@pytest.mark.parametrize(("host", "event"), GO)
def test_with_off_nothing_comes_in_and_the_palace_is_not_opened(
    quiet: Sessions, host: str, event: str
) -> None:
    files = quiet.palace_files()
    quiet.watched.forget()
    drive, _ = GO[host, event]
    assert drive(quiet, "off") == ""
    assert quiet.watched.opens() == []
    if host in ("opencode", "pi") or event in ("MCP server", "skill"):
        assert quiet.watched.runs() == []
    assert quiet.palace_files() == files


@pytest.mark.parametrize(("host", "event"), GO)
def test_with_read_only_what_can_be_read_comes_in_and_nobody_is_told_to_write(
    sessions: Sessions, host: str, event: str
) -> None:
    drive, expected = GO[host, event]
    told = drive(sessions, "read-only")
    assert REMINDER not in told
    assert BEFORE_COMPACTION not in told
    assert (PLANTED in told) == (PLANTED in expected)


def test_the_watch_sees_a_palace_that_is_opened(tmp_path: Path) -> None:
    alone = Sessions(tmp_path)
    alone.install("codex", "full")
    with open_palace(alone.home.palace) as house:
        before = fingerprint(house)
    assert PLANTED in alone.hook(CODEX, source="startup")
    assert "sqlite3.connect" in alone.watched.opens()
    [run] = alone.watched.runs()
    assert run.endswith("hook session-start --host codex --label full")
    with open_palace(alone.home.palace) as house:
        assert fingerprint(house) == before
    noted = alone.home.line("log", "list", "--reads")["operations"]
    [read] = [one for one in noted if one["tool"] == "wake_up"]
    assert (read["client"], read["session"]) == ("codex", "s1")


def test_opencode_asks_once_for_a_session_and_again_after_a_compaction(
    sessions: Sessions,
) -> None:
    sessions.install("opencode", "full")
    told = sessions.node("opencode.mjs", ".config/opencode/plugins/palacelog.js")
    assert len(told["first"]["system"]) == 2
    assert len(set(told["first"]["system"])) == 1
    asked = [run.split(" hook ")[1].split()[0] for run in sessions.watched.runs()]
    assert asked == ["session-start", "pre-compact"] * 2


def test_opencode_turned_off_meanwhile_forgets_what_it_had_fetched(sessions: Sessions) -> None:
    sessions.install("opencode", "full")
    plugin = ".config/opencode/plugins/palacelog.js"
    told = sessions.node("opencode.mjs", plugin, "off")
    assert told["meanwhile"] == {"system": [], "context": []}
    assert PLANTED in told["afterwards"]["system"][0]
    runs = sessions.watched.runs()
    assert sum("session-start" in run for run in runs) == 3
    for env in ({"PALACELOG_LABEL": "nonsense"}, {"PALACELOG_MODE": "disabled"}):
        told = sessions.node("opencode.mjs", plugin, **env)
        assert told["first"] == told["second"] == {"system": [], "context": []}
    assert sessions.watched.runs() == []


def test_pi_is_told_once_and_its_tools_write(sessions: Sessions) -> None:
    sessions.install("pi", "full")
    calls = [
        ["palacelog_add_drawer", {"wing": "pi", "room": "notes", "content": "From pi."}],
        ["palacelog_recall", {"query": "From pi", "wing": "pi"}],
        ["palacelog_get_drawer", {"drawer_id": "no"}],
    ]
    told = sessions.node("pi.mjs", ".pi/agent/extensions/palacelog.ts", json.dumps(calls))
    assert told["again"] is None
    assert told["start"]["display"] is False
    assert json.loads(told["called"][0]["text"])["duplicate"] is False
    assert "From pi." in told["called"][1]["text"]
    error = json.loads(told["called"][2]["error"])
    assert error["code"].startswith("palacelog::")
    assert error["help"]
    [wrote] = [
        one
        for one in sessions.home.line("log", "list")["operations"]
        if one["tool"] == "add_drawer" and one["agent"] == "pi"
    ]
    assert wrote["session"] == "s1"


def test_pi_may_not_write_with_read_only(sessions: Sessions) -> None:
    sessions.install("pi", "read-only")
    told = sessions.node("pi.mjs", ".pi/agent/extensions/palacelog.ts", "[]")
    assert "palacelog_search" in told["tools"]
    assert not {"palacelog_add_drawer", "palacelog_delete_drawer", "palacelog_kg_add"} & set(
        told["tools"]
    )


def test_pi_turned_off_for_a_session_takes_out_what_it_was_told(sessions: Sessions) -> None:
    sessions.install("pi", "full")
    calls = json.dumps([["palacelog_wake_up", {}]])
    extension = ".pi/agent/extensions/palacelog.ts"
    told = sessions.node("pi.mjs", extension, calls, "off")
    assert told["context"] is None
    assert told["chosen"]["start"] is None
    assert told["chosen"]["called"] == {"error": "Memory is off for this session."}
    assert [one["content"] for one in told["chosen"]["context"]["messages"]] == ["hi"]
    runs = len(sessions.watched.runs())
    assert runs == 3, "at the start, after the compaction, and the tool; nothing afterwards"
    lower = sessions.node("pi.mjs", extension, calls, "full", PALACELOG_LABEL="read-only")
    assert "palacelog_add_drawer" not in lower["tools"]


def test_pi_reaches_a_palace_that_is_served(tmp_path: Path) -> None:
    remote = Sessions(tmp_path)
    with open_palace(remote.home.palace) as house, serving(house) as served:
        url = f"{str(served.base_url).rstrip('/')}/mcp"
        remote.install("pi", "read-only", "--transport", "http", "--url", url)
        calls = [["palacelog_wake_up", {}], ["palacelog_get_drawer", {"drawer_id": "no"}]]
        told = remote.node("pi.mjs", ".pi/agent/extensions/palacelog.ts", json.dumps(calls))
        noted = house.palace.call("list_operations", {"include_reads": True, "tool": "wake_up"})
    assert json.loads(told["called"][1]["error"])["code"].startswith("palacelog::")
    assert PLANTED in told["called"][0]["text"]
    by = {(one["agent"], one["session"], one["client"]) for one in noted["operations"]}
    assert ("pi", "s1", "rest") in by
    assert not [run for run in remote.watched.runs() if " call " in run]
