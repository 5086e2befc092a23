"""The hook as a process: it always ends in time with exit code 0, whatever is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palacelog import bootstrap
from palacelog.hosts import asking
from palacelog.hosts.asking import ask
from palacelog.hosts.running import Event, as_written
from palacelog.owner.frames import SOCKET_FILE
from tests.command_line import CommandLine, new_line, what_is_there

PLANTED = "The marker is a heron on a roof."
HURRIED = {"PALACELOG_HOOK_SECONDS": "60", "PALACELOG_VECTORS__EMBEDDER": "none"}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    made = new_line(tmp_path_factory.mktemp("hook") / "palace", **HURRIED)
    made("add", PLANTED, "--wing", "project", "--room", "notes")
    return made


def hooked(line: CommandLine, *words: str, sent: bytes = b'{"cwd": "/a/project"}') -> Any:
    """What the hook says on both streams; it ends with 0."""
    ended = line.process("hook", *words, stdin=sent)
    assert ended.code == 0, ended.err
    return ended


def test_a_session_is_told_and_nothing_is_written(line: CommandLine) -> None:
    before = what_is_there(line.palace)
    ended = hooked(line, "session-start", "--host", "pi", "--label", "read-only")
    assert PLANTED in ended.out.decode()
    assert ended.err == b""
    assert what_is_there(line.palace) == before


def test_the_mode_before_the_command_is_heard(line: CommandLine) -> None:
    words = ("hook", "session-start", "--host", "pi", "--label", "full")
    for mode, told in (("disabled", False), ("read_only", True)):
        sent = b'{"cwd": "/a/project", "source": "compact"}'
        ended = line.process(*words, before=("--mode", mode), stdin=sent)
        assert (PLANTED.encode() in ended.out) == told
        assert b"compacted" not in ended.out


def test_the_words_that_we_write_say_what_the_whole_command_line_says(line: CommandLine) -> None:
    for host, label in (("codex", "full"), ("pi", "read-only"), ("pi", "off"), ("another", "full")):
        words = ("hook", "session-start", "--host", host, "--label", label)
        written = hooked(line, *words)
        for around in ((*words, "--shiny", "new"), (*words[:2], *words[4:], *words[2:4])):
            read = hooked(line, *around)
            assert (read.out, read.err) == (written.out, written.err)


def test_only_the_words_that_we_write_need_no_command_line() -> None:
    written = ["--palace", "/p", "hook", "session-start", "--host", "codex", "--label", "full"]
    assert as_written(written) == Event(Path("/p"), "session-start", "codex", "full")
    for other in (written[2:], [*written, "--shiny"], written[:-2], ["--mode", "full", *written]):
        assert as_written(other) is None


OURS = {"domain", "palacelog", "sitecustomize"}
LOADED = """
import sys
from palacelog.__main__ import run
from palacelog.hosts import asking
asking.OWNER_SECONDS = 60.0
run()
names = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(name for name in names if not name.startswith("_")), file=sys.stderr)
"""


def loaded(line: CommandLine, label: str) -> tuple[str, set[str]]:
    """What the hook says, and the packages that it loads for it."""
    words = ("hook", "session-start", "--host", "pi", "--label", label)
    command = [sys.executable, "-c", LOADED, "--palace", str(line.palace), *words]
    done = subprocess.run(
        command,
        input=json.dumps({"cwd": "/a/project", "session_id": "s1"}),
        capture_output=True,
        text=True,
        env=line.env(),
        check=True,
    )
    return done.stdout, set(done.stderr.split())


def test_what_nobody_knows_is_no_usage_error(line: CommandLine) -> None:
    for words in (
        ("session-start", "--host", "codex", "--label", "full", "--shiny", "new"),
        ("session-start", "--host", "another"),
        ("session-end", "--host", "codex", "--label", "full"),
        ("session-start", "--host", "codex", "--label", "sometimes"),
    ):
        told = hooked(line, *words).out
        assert (PLANTED.encode() in told) == ("--shiny" in words)


@pytest.mark.parametrize("sent", [b"", b"garbage", b"[]", b'{"cwd": 5, "session_id": {}}'])
def test_garbage_on_standard_input_is_nothing(line: CommandLine, sent: bytes) -> None:
    ended = hooked(line, "session-start", "--host", "codex", "--label", "full", sent=sent)
    assert ended.err == b""
    assert json.loads(ended.out).keys() == {"hookSpecificOutput"}


def test_where_no_palace_is_the_host_is_told_nothing(tmp_path: Path) -> None:
    nowhere = CommandLine(tmp_path / "nowhere", **HURRIED)
    ended = hooked(nowhere, "session-start", "--host", "codex", "--label", "full")
    assert ended.out == b""
    [error] = ended.errors
    assert error["code"] == "palacelog::palace::none"
    assert list(tmp_path.iterdir()) == []


def test_a_palacelog_toml_that_cannot_be_read_is_told_on_standard_error(
    line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "palacelog.toml").write_text("wing = ")
    sent = json.dumps({"cwd": str(tmp_path)}).encode()
    ended = hooked(line, "session-start", "--host", "codex", "--label", "full", sent=sent)
    assert ended.out == b""
    assert ended.errors[0]["code"] == "palacelog::input::invalid"


def test_at_the_deadline_it_ends_with_nothing_said(line: CommandLine) -> None:
    """Standard input that never ends would hold it for ever, were there no deadline."""
    hasty = CommandLine(line.palace, **HURRIED | {"PALACELOG_HOOK_SECONDS": "0.001"})
    command = hasty.command("hook", "session-start", "--host", "codex", "--label", "full")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=hasty.env(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b""
        assert b"in time" in process.stderr.read()
        assert process.wait() == 0


@pytest.mark.parametrize("seconds", ["inf", "1e300", "nan", "-1", "soon"])
def test_a_deadline_that_no_clock_can_keep_is_no_reason_to_fail(
    line: CommandLine, seconds: str
) -> None:
    patient = CommandLine(line.palace, **HURRIED | {"PALACELOG_HOOK_SECONDS": seconds})
    assert hooked(patient, "session-start", "--host", "another", "--label", "full").err == b""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[tuple[CommandLine, subprocess.Popen[bytes]]]:
    made = new_line(tmp_path / "palace", **HURRIED)
    made("add", PLANTED, "--wing", "project", "--room", "notes")
    command = [sys.executable, "-P", "-m", "palacelog.owner.process", str(made.palace)]
    with subprocess.Popen(command, env=made.env(), stderr=subprocess.PIPE) as process:
        # It says nothing, and closes standard error once it serves.
        assert process.stderr is not None
        assert process.stderr.read() == b""
        yield made, process
        process.send_signal(signal.SIGCONT)
        process.terminate()


def asked(palace: Path) -> dict[str, Any]:
    return ask(palace, "wake_up", {"wing": "project"}, client="codex", session="s1")


def opened_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes whether this process opens the palace itself."""
    noted: list[str] = []
    real = bootstrap.open_palace

    def opening(*arguments: Any, **given: Any) -> Any:
        noted.append("opened")
        return real(*arguments, **given)

    monkeypatch.setattr(bootstrap, "open_palace", opening)
    return noted


def test_who_has_the_palace_open_is_asked(
    owner: tuple[CommandLine, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line, process = owner
    monkeypatch.setattr(asking, "OWNER_SECONDS", 60.0)
    opened = opened_here(monkeypatch)
    assert PLANTED in asked(line.palace)["block"]
    assert opened == []
    process.terminate()
    process.wait()
    [read] = [one for one in line("log", "list", "--reads")["operations"] if one["session"]]
    assert (read["tool"], read["client"], read["session"]) == ("wake_up", "codex", "s1")


def test_a_hook_that_need_not_open_the_palace_loads_no_package(
    owner: tuple[CommandLine, subprocess.Popen[bytes]],
) -> None:
    line, process = owner
    nothing, packages = loaded(line, "off")
    assert (nothing, packages - OURS) == ("", set())
    told, packages = loaded(line, "full")
    assert PLANTED in told
    assert packages - OURS == set()
    process.terminate()
    process.wait()
    alone, packages = loaded(line, "full")
    assert alone == told
    assert "sqlalchemy" in packages
    assert not packages & {"faiss", "mcp", "numpy", "onnxruntime", "rich", "typer"}


def test_one_that_hangs_is_left_alone_and_the_palace_opened_here(
    owner: tuple[CommandLine, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line, process = owner
    monkeypatch.setattr(asking, "OWNER_SECONDS", 0.1)
    os.kill(process.pid, signal.SIGSTOP)
    opened = opened_here(monkeypatch)
    assert PLANTED in asked(line.palace)["block"]
    assert opened == ["opened"]
    assert process.poll() is None


@pytest.mark.parametrize(
    "said", [b"", b"no json\n", b'{"retired":true}\n', b'{"ready":true}\n', b"[]\n"]
)
def test_one_that_answers_nonsense_is_passed_over(
    line: CommandLine, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_here(monkeypatch)
    path = line.palace / SOCKET_FILE
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        pid = os.fork()
        if pid == 0:  # pragma: no cover - the other process
            served, _ = listening.accept()
            served.recv(65_536)
            served.sendall(said)
            os._exit(0)
        try:
            assert PLANTED in asked(line.palace)["block"]
        finally:
            os.waitpid(pid, 0)
            path.unlink()
    assert opened == ["opened"]
