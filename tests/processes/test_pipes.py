"""One process per palace: sessions share it, stay apart from each other, and outlive it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from palacelog.bootstrap import create_palace
from palacelog.owner.frames import LOG_FILE, PING, PONG, SOCKET_FILE, connected
from palacelog.owner.lock import holder, take_lock
from palacelog.owner.pipe import Owner
from palacelog.settings import SETTINGS_FILE
from tests.hosting import ENVELOPE, SECONDS_MAX, WAYS, Host, end_owner, owner, told

PIPE_MEGABYTES_MAX = 30
LONG = "tea " * 100_000
FACT = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
NOTE = {"agent_name": "scribe", "entry": "Rain."}
GREETING = {"version": version("palacelog"), "pipe": "p-1", "session": "s-1"}
MEGABYTE = 1024 * 1024


@pytest.fixture
def palace(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "palace"
    create_palace(path, "desk", force=True)
    yield path
    end_owner(path)


@pytest.fixture(params=WAYS, ids=["pipe", "in process"])
def way(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(request.param)


def recorded(host: Host, answer: dict[str, Any]) -> dict[str, Any]:
    """The operation that a write answered with."""
    shown: dict[str, Any] = host.call("show_operation", {"op_id": answer["op_id"]})["operation"]
    return shown


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


def test_what_was_asked_before_the_host_closes_is_answered(
    palace: Path, way: tuple[str, ...]
) -> None:
    with Host(palace, *way) as host:
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
    with Host(palace) as host:
        found = host.answer(host.send("server/discover", {"_meta": ENVELOPE}))
        assert "2026-07-28" in found["result"]["supportedVersions"]
        assert host.begin()["protocolVersion"] == "2025-11-25"
        end_owner(palace)
        assert len(host.answer(host.send("tools/list"))["result"]["tools"]) == 20
        tools = host.answer(host.send("tools/list", {"_meta": ENVELOPE}))["result"]
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
    [
        ("full", 3, "palacelog::palace::none"),
        ("off", 2, "palacelog::input::invalid"),
    ],
)
def test_a_session_that_cannot_be_served_says_why(
    palace: Path, tmp_path: Path, mode: str, code: int, error: str
) -> None:
    where = tmp_path / "nowhere" if mode == "full" else palace
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
        greeting = GREETING | {"version": "9.0.0", "newer": "yes"}
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
        made = recorded(host, host.call("diary_write", NOTE))
        kept = recorded(host, host.call("kg_add", FACT | {"idempotency_key": "mine"}))
    assert made["idempotency_key"].endswith(":3")
    assert kept["idempotency_key"] == "mine"


def test_what_a_session_writes_after_it_was_resumed_is_no_repetition(palace: Path) -> None:
    made = []
    for entry in ("Rain.", "Rain.", "Sun."):
        with Host(palace, PALACELOG_SESSION="s-1") as host:
            host.begin()
            made.append(host.call("diary_write", NOTE | {"entry": entry}))
            assert recorded(host, made[-1])["session"] == "s-1"
    assert [one["local_seq"] for one in made] == [1, 2, 3]


def test_a_session_has_a_name_of_its_own(palace: Path, way: tuple[str, ...]) -> None:
    named = []
    for _ in range(2):
        with Host(palace, *way) as host:
            host.begin()
            named += [recorded(host, host.call("kg_add", FACT))["session"] for _ in range(2)]
    assert all(named)
    assert named[0] == named[1] != named[2] == named[3]


@pytest.mark.parametrize("meta", [{}, ENVELOPE], ids=["legacy", "2026-07-28"])
def test_what_a_session_does_names_the_program_that_asked(
    palace: Path, way: tuple[str, ...], meta: dict[str, Any]
) -> None:
    with Host(palace, *way) as host:
        if not meta:
            host.begin()
        for again in range(2):
            asked = {"name": "diary_write", "arguments": NOTE, "_meta": meta}
            made = told(host.answer(host.send("tools/call", asked)))
            with Host(palace) as other:
                other.begin()
                assert recorded(other, made)["client"] == "test-host/1"
            if not again:
                end_owner(palace)


def test_a_new_session_has_the_mode_that_the_settings_say_now(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        host.call("set_mode", {"mode": "full"})
        settings = palace / SETTINGS_FILE
        settings.write_text('session_mode = "read_only"\n')
        with Host(palace) as other:
            other.begin()
            assert other.call("diary_write", NOTE)["code"] == "palacelog::mode::forbidden"
        end_owner(palace)
        assert host.call("diary_write", NOTE)["code"] == "palacelog::mode::forbidden"
        assert host.call("set_mode", {"mode": "full"})["code"] == "palacelog::mode::above_ceiling"
        assert host.call("diary_read", {"agent_name": "scribe"})["total"] == 0
        settings.write_text("session_mode = 5\n")
        with Host(palace) as other:
            asked = other.send("tools/list")
            with pytest.raises(AssertionError, match="palacelog::settings::invalid"):
                other.answer(asked)


def test_an_owner_that_runs_an_older_version_than_is_installed_makes_way(palace: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from palacelog.owner import process\n"
        "process.version = lambda name: '0.0.1'\n"
        "sys.exit(process.main(Path(sys.argv[1])))"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(palace)]) as old:
        while owner(palace) is None:
            assert old.poll() is None
        with Host(palace) as host:
            host.begin()
            assert owner(palace) not in (None, old.pid)
        assert old.wait(SECONDS_MAX) == 0


def test_a_session_of_another_version_than_is_installed_ends_at_once(palace: Path) -> None:
    greeting = json.dumps(GREETING | {"version": "0.0.1"})
    command = [sys.executable, "-m", "palacelog.owner.pipe", str(palace), greeting]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert ran.returncode == 3
    assert b"begin it again" in ran.stderr


def test_who_owns_a_palace_is_told_while_it_does(palace: Path) -> None:
    assert holder(palace) is None
    with Host(palace) as host:
        host.begin()
        assert holder(palace) == (owner(palace), version("palacelog"))
        command = [sys.executable, "-m", "palacelog", "--palace", str(palace), "doctor"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        checks = {one["name"]: one for one in json.loads(ran.stdout)["checks"]}
        assert f"process {owner(palace)} of palacelog" in checks["owner"]["message"]
        end_owner(palace)
    assert holder(palace) is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the pipe begins the owner")
def test_the_first_session_begins_an_owner_that_has_nothing_of_it(palace: Path) -> None:
    theirs, ours = os.pipe()
    os.set_inheritable(ours, True)
    with Host(palace, fds=(ours,), PALACELOG_AGENT="scribe") as host:
        os.close(ours)
        host.begin()
        process = Path(f"/proc/{owner(palace)}")
        assert b"mcp" in (process / "cmdline").read_bytes().split(b"\0")
        [parent] = re.findall(r"PPid:\s*(\d+)", (process / "status").read_text())
        assert int(parent) != host.process.pid
        held = [os.readlink(one) for one in (process / "fd").iterdir()]
        assert not any(one.startswith("pipe:") for one in held)
        assert held.count(os.devnull) == 2
        assert recorded(host, host.call("kg_add", FACT))["agent"] == "scribe"
        with Host(palace) as other:
            other.begin()
            assert recorded(other, other.call("kg_add", FACT))["agent"] is None
    assert os.read(theirs, 1) == b""
    os.close(theirs)


def test_a_note_goes_where_its_session_works(palace: Path, tmp_path: Path) -> None:
    for name in ("atlas", "borealis"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "palacelog.toml").write_text(f'room = "of {name}"\n')
    with (
        Host(palace, folder=tmp_path / "atlas") as one,
        Host(palace, folder=tmp_path / "borealis") as two,
    ):
        for host, name in ((one, "atlas"), (two, "borealis")):
            host.begin()
            made = host.call("note", {"content": f"Of {name}."})
            drawer = host.call("get_drawer", {"drawer_id": made["drawer_id"]})["drawer"]
            assert (drawer["wing"], drawer["room"]) == (name, f"of {name}")


def test_a_folder_without_a_palace_is_left_as_it_is(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        asked = host.send("tools/list")
        with pytest.raises(AssertionError, match="palacelog::palace::"):
            host.answer(asked)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_socket_is_told_in_words(palace: Path) -> None:
    (palace / SOCKET_FILE).mkdir()
    with Host(palace) as host:
        asked = host.send("tools/list")
        with pytest.raises(AssertionError, match="palacelog::storage::"):
            host.answer(asked)


def test_an_owner_that_cannot_write_its_log_leaves_the_host_to_one_pipe(palace: Path) -> None:
    (palace / LOG_FILE).mkdir()
    with Host(palace) as host:
        asked = host.send("tools/list")
        with pytest.raises(AssertionError, match="palacelog::storage::") as told_once:
            host.answer(asked)
        assert str(told_once.value).count("palacelog::storage::") == 1
        assert host.process.wait() == 3


def test_a_pipe_that_goes_without_leave_is_nothing_to_log(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        made = host.call("add_drawer", {"wing": "w", "room": "r", "content": LONG})
    read = {"name": "get_drawer", "arguments": {"drawer_id": made["drawer_id"]}, "_meta": ENVELOPE}
    asked = {"jsonrpc": "2.0", "method": "tools/call", "params": read}
    with connected(palace, SECONDS_MAX) as joined:
        joined.sendall(json.dumps(GREETING).encode() + b"\n")
        for number in range(1, 9):
            joined.sendall(b"%d %s\n" % (number, json.dumps(asked | {"id": number}).encode()))
        assert joined.recv(MEGABYTE)
        assert joined.recv(MEGABYTE)
    end_owner(palace, signal.SIGTERM)
    assert "Traceback" not in (palace / LOG_FILE).read_text()


LEAVING = """
import socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
print("there", flush=True)
joined, _ = listening.accept()
joined.makefile("rb").readline()
joined.sendall(b'{"ready":true}\\n1 {}\\n')
joined.shutdown(socket.SHUT_RDWR)
joined.close()
print("left", flush=True)
sys.stdin.read()
"""


def test_an_owner_that_let_a_session_go_is_not_killed(palace: Path) -> None:
    command = [sys.executable, "-c", LEAVING, str(palace / SOCKET_FILE)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as leaving:
        assert leaving.stdout.readline() == b"there\n"  # type: ignore[union-attr]
        found = Owner(palace, GREETING)
        assert leaving.stdout.readline() == b"left\n"  # type: ignore[union-attr]
        found.kill()
        leaving.communicate(timeout=SECONDS_MAX)
        assert leaving.returncode == 0
    (palace / SOCKET_FILE).unlink()


def test_a_host_that_asks_much_at_once_waits_and_its_pipe_stays_small(palace: Path) -> None:
    lines_max, count = 6, 40
    lock = take_lock(palace)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(palace / SOCKET_FILE))
    listening.listen()
    with listening, Host(palace) as host:
        joined, _ = listening.accept()
        with joined, joined.makefile("rb") as frames:
            frames.readline()
            joined.sendall(b'{"ready":true}\n')
            text = {"text": "a" * MEGABYTE}
            asking = threading.Thread(target=lambda: [host.send("x", text) for _ in range(count)])
            asking.start()
            # Seconds later, when all could have come, it asks for a sign of life.
            first = list(iter(frames.readline, PING))
            assert 0 < len(first) <= lines_max
            joined.sendall(PONG)
            for number in range(1, count + 1):
                joined.sendall(b'%d {"jsonrpc":"2.0","id":%d,"result":{}}\n' % (number, number))
                frame = b"" if number + len(first) > count else frames.readline()
                while frame == PING:
                    joined.sendall(PONG)
                    frame = frames.readline()
            asking.join()
            for number in range(1, count + 1):
                assert host.answer(number)["result"] == {}
            assert memory_megabytes(host.process.pid) < PIPE_MEGABYTES_MAX
            host.close()
    assert lock is not None
    os.close(lock)
    (palace / SOCKET_FILE).unlink()
