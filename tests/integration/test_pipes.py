"""One process per palace: sessions share it, stay apart from each other, and outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from palacelog.bootstrap import create_palace
from palacelog.owner.frames import LOG_FILE, SOCKET_FILE
from tests.hosting import Host, end_owner, owner
from tests.mcp_clients import WAYS

PIPE_MEGABYTES_MAX = 30
LONG = "tea " * 100_000
FACT = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}


@pytest.fixture
def palace(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "palace"
    create_palace(path, "desk", force=True)
    yield path
    end_owner(path)


def drawers(host: Host) -> int:
    return int(host.call("status")["totals"]["drawers_live"])


def memory_megabytes(process: int) -> float:
    [line] = [
        line
        for line in Path(f"/proc/{process}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 1024


def test_sessions_share_one_process_and_none_sees_the_mode_of_another(palace: Path) -> None:
    with Host(palace) as one:
        one.begin()
        process = owner(palace)
        with Host(palace) as two:
            two.begin()
            assert owner(palace) == process
            assert two.call("set_mode", {"mode": "disabled"})["session_mode"] == "disabled"
            assert two.call("list_wings")["code"] == "palacelog::mode::forbidden"
            assert one.call("list_wings")["wings"] == []
    assert (palace / SOCKET_FILE).stat().st_mode & 0o777 == 0o600
    assert (palace / LOG_FILE).read_text() == ""


def test_a_pipe_stays_small_and_needs_no_package(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        host.call("add_drawer", {"wing": "w", "room": "r", "content": LONG})
        assert memory_megabytes(host.process.pid) < PIPE_MEGABYTES_MAX
    script = "import sys, palacelog.owner.pipe; print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    foreign = {name.partition(".")[0] for name in ran.stdout.split()} - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith("_")} == {"palacelog"}


def test_long_lines_pass_both_ways(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        made = host.call("add_drawer", {"wing": "w", "room": "r", "content": LONG})
        found = host.call("get_drawer", {"drawer_id": made["drawer_id"]})
    assert found["drawer"]["content"] == LONG


def test_a_session_goes_on_with_its_mode_when_its_owner_ends(palace: Path) -> None:
    with Host(palace) as one, Host(palace) as two:
        one.begin()
        two.begin()
        one.call("set_mode", {"mode": "read_only"})
        first = owner(palace)
        assert first is not None
        os.kill(first, signal.SIGTERM)
        made = two.call("add_drawer", {"wing": "w", "room": "r", "content": "tea"})
        assert made["local_seq"] == 1
        refused = one.call("add_drawer", {"wing": "w", "room": "r", "content": "milk"})
        assert refused["code"] == "palacelog::mode::forbidden"
        assert drawers(one) == 1
        assert owner(palace) not in (None, first)


def test_what_was_asked_before_the_host_closes_is_answered(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        asked = [
            host.calling("add_drawer", {"wing": "w", "room": "r", "content": f"tea {number}"})
            for number in range(20)
        ]
        assert host.close() == 0
        assert all("result" in host.answer(one, 0) for one in asked)
    with Host(palace) as host:
        host.begin()
        assert drawers(host) == 20


def test_a_host_may_ask_what_there_is_before_it_shakes_hands(palace: Path) -> None:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with Host(palace) as host:
        told = host.answer(host.send("server/discover", {"_meta": envelope}))
        assert "2026-07-28" in told["result"]["supportedVersions"]
        assert host.begin()["protocolVersion"] == "2025-11-25"
        end_owner(palace)
        assert len(host.answer(host.send("tools/list"))["result"]["tools"]) == 20
        tools = host.answer(host.send("tools/list", {"_meta": envelope}))["result"]
        assert (len(tools["tools"]), tools["cacheScope"]) == (20, "public")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variable", [("PALACELOG_MODE", "disabled"), ("PALACELOG_LABEL", "off")])
def test_the_environment_turns_a_session_down_that_a_host_starts_with_more(
    palace: Path, way: tuple[str, ...], variable: tuple[str, str]
) -> None:
    name, said = variable
    with Host(palace, *way, before=("--mode", "full"), **{name: said}) as host:
        host.begin()
        assert host.call("list_wings")["code"] == "palacelog::mode::forbidden"
        assert host.call("set_mode", {"mode": "full"})["code"] == "palacelog::mode::above_ceiling"
    with Host(palace, *way, before=("--mode", "read_only"), PALACELOG_MODE="full") as host:
        host.begin()
        assert host.call("list_wings")["wings"] == []
        assert host.call("create_wing", {"wing": "w"})["code"] == "palacelog::mode::forbidden"


@pytest.mark.parametrize("way", WAYS)
def test_the_environment_never_turns_the_settings_up(palace: Path, way: tuple[str, ...]) -> None:
    (palace / "settings.toml").write_text('session_mode = "read_only"\n')
    for environment in ({"PALACELOG_LABEL": "full"}, {}):
        with Host(palace, *way, **environment) as host:
            host.begin()
            assert host.call("create_wing", {"wing": "w"})["code"] == "palacelog::mode::forbidden"


@pytest.mark.parametrize(
    ("mode", "code", "error"),
    [("full", 3, "palacelog::palace::none"), ("off", 2, "palacelog::input::invalid")],
)
def test_a_session_that_cannot_be_served_says_why(
    palace: Path, tmp_path: Path, mode: str, code: int, error: str
) -> None:
    where = palace if mode == "off" else tmp_path / "nowhere"
    with Host(where, PALACELOG_MODE=mode) as host:
        asked = host.send("tools/list")
        with pytest.raises(AssertionError, match=error):
            host.answer(asked)
        assert host.process.wait() == code
    assert not (tmp_path / "nowhere").exists()


def test_a_palace_with_a_long_path_has_an_owner_too(tmp_path: Path) -> None:
    path = tmp_path / ("deep-" * 20) / ("deeper-" * 20)
    create_palace(path, "desk", force=True)
    with Host(path) as host:
        host.begin()
        assert drawers(host) == 0
        assert owner(path) is not None
    end_owner(path)


def test_an_owner_of_another_version_makes_way_and_serves_the_sessions_that_it_has(
    palace: Path,
) -> None:
    with Host(palace) as old:
        old.begin()
        first = owner(palace)
        greeting = {"version": "0.0.1", "session": "s-1"}
        script = (
            "import sys; from pathlib import Path; from palacelog.owner import pipe\n"
            "try: pipe.Owner(Path(sys.argv[1]), eval(sys.argv[2]))\n"
            "except pipe.Ended: print('ended')"
        )
        command = [sys.executable, "-c", script, str(palace), repr(greeting)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ran.stdout == "ended\n"
        with Host(palace) as new:
            new.begin()
            assert owner(palace) not in (None, first)
            new.call("add_drawer", {"wing": "w", "room": "r", "content": "tea"})
            assert drawers(old) == 1


def test_an_owner_ends_when_nobody_came_for_a_while(palace: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from palacelog.owner import process\n"
        "process.IDLE_SECONDS = 0.1\n"
        "sys.exit(process.main(Path(sys.argv[1])))"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(palace)], timeout=60, check=False)
    assert ran.returncode == 0
    assert not (palace / SOCKET_FILE).exists()
    assert owner(palace) is None


def test_nobody_else_owns_a_palace_that_has_an_owner(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        first = owner(palace)
        command = [sys.executable, "-m", "palacelog.owner.process", str(palace)]
        assert subprocess.run(command, timeout=60, check=False).returncode == 0
        assert owner(palace) == first


def test_a_write_that_brings_no_key_takes_one_of_its_session_and_line(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        made = host.call("diary_write", {"agent_name": "scribe", "entry": "Rain."})
        kept = host.call("kg_add", FACT | {"idempotency_key": "mine"})
        shown = [
            host.call("show_operation", {"op_id": one["op_id"]})["operation"]
            for one in (made, kept)
        ]
    assert shown[0]["idempotency_key"] == f"{shown[0]['session']}:3"
    assert shown[1]["idempotency_key"] == "mine"
