"""Whatever stops a command is one message with a code and the cure, and nothing has changed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from palacelog.cli import operations
from palacelog.folder import PALACE_FILE
from replay.write_lock import WriteLock
from tests.command_line import ROOT, CommandLine, new_line

NOTE = '{"wing": "home", "room": "notes", "content": "Tea at four."}'


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    made("call", "add_drawer", NOTE)
    return made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"wing": "home"', "not JSON"),
        ("[1]", "not an object"),
        ("null", "not an object"),
        ('"text"', "not an object"),
        ('{"wing": "a", "wing": "b"}', "twice"),
        ('{"confidence": NaN}', "NaN"),
        ('{"confidence": -Infinity}', "Infinity"),
        ('{"limit": 99999999999999999999}', "64 bits"),
        ('{"limit": ' + "9" * 5_000 + "}", "number"),
        ('{"content": "\\ud800"}', "surrogate"),
        ('{"content": "\\u0000"}', "NUL"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
    ],
)
def test_json_is_read_strictly(line: CommandLine, given: str, says: str) -> None:
    with line.stops(2, "input::invalid", names=says):
        line("call", "add_drawer", "-", stdin=given.encode())


@pytest.mark.parametrize("given", [b"\xff\xfe\x00", b'{"a": "\xff"}', '{"a": 1}'.encode("utf-16")])
def test_what_is_not_utf_8_is_refused(line: CommandLine, given: bytes) -> None:
    with line.stops(2, "input::invalid", names="UTF-8"):
        line("call", "add_drawer", "-", stdin=given)


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("add_drawer", '{"wing": "home", "room": "notes"}', "content"),
        ("add_drawer", '{"wing": 5, "room": "notes", "content": "x"}', "wing"),
        ("add_drawer", '{"wing": "../x", "room": "notes", "content": "x"}', "wing"),
        ("list_drawers", '{"colour": "red"}', "colour"),
        ("list_drawers", '{"limit": 0}', "limit"),
        ("list_drawers", '{"cursor": "nonsense"}', "cursor"),
        ("kg_query", '{"entity": "x", "as_of": "Jan 2026"}', "as_of"),
    ],
)
def test_an_argument_that_cannot_be_is_named(
    line: CommandLine, tool: str, arguments: str, field: str
) -> None:
    with line.stops(2, "input::invalid", names=f"`{field}`"):
        line("call", tool, arguments)


def test_files_that_are_not_there_are_named(line: CommandLine, tmp_path: Path) -> None:
    with line.stops(2, "input::file", names="nowhere.json"):
        line("call", "add_drawer", f"@{tmp_path}/nowhere.json")
    with line.stops(2, "input::invalid", names="nowhere"):
        line("outbox", "export", tmp_path / "nowhere" / "file")
    with line.stops(2, "input::invalid", names="nowhere"):
        line("log", "export", tmp_path / "nowhere" / "file")
    with line.stops(2, "input::file"):
        line("log", "export", tmp_path)
    with line.stops(1, "backup::exists"):
        line("backup", tmp_path)
    with line.stops(2, "backup::none"):
        line("restore", tmp_path, "--replace")
    with line.stops(2, "outbox::no_such_part"):
        line("outbox", "export", tmp_path / "file", "--device", "desktop")
    with line.stops(2, "outbox::no_such_part"):
        line("outbox", "export", tmp_path / "file", "--from", "9")


@pytest.mark.parametrize(
    "words",
    [
        "frob",
        "log frob",
        "call",
        "replay",
        "restore",
        "log show",
        "init --device",
        "init --role queen",
        "outbox list --limit 0",
        "outbox list --limit many",
        "status now",
        "log list --frob",
        "--frob status",
    ],
)
def test_usage_is_explained(line: CommandLine, words: str) -> None:
    with line.stops(2, "input::usage"):
        line(*words.split())
    assert "--help" in line.stopped["help"]


def test_an_option_in_the_wrong_place_says_where_it_belongs(line: CommandLine) -> None:
    with line.stops(2, "input::usage", names="--json"):
        line("status", "--json")
    assert "`palacelog --json status`" in line.stopped["help"]
    with line.stops(2, "input::usage", names="--at"):
        line("log", "list", "--at", "today")
    assert "`palacelog --at VALUE log list`" in line.stopped["help"]


def test_what_the_log_does_not_hold_is_refused(line: CommandLine) -> None:
    for which in (0, 2, 10**17, "0" * 64, "nonsense"):
        code, name = (2, "input::invalid") if which == 0 else (1, "operations::unknown")
        with line.stops(code, name):
            line("log", "show", which)
    with line.stops(2, "input::invalid"):
        line("log", "show", "9" * 40)
    with line.stops(2, "input::unknown_tool"):
        line("call", "format_disk")
    with line.stops(1, "facts::unknown"):
        line.call("kg_invalidate", subject="Kiran", predicate="city", object="Lyon")
    with line.stops(1, "log::whole"):
        line("accept-loss", "--yes")


@pytest.mark.parametrize("words", ["status", "call list_drawers", "log list", "log verify",
                                   "rebuild", "digest", "outbox list", "backup x", "replay x",
                                   "accept-loss --yes"])  # fmt: skip
def test_a_folder_that_is_no_palace_is_not_touched(tmp_path: Path, words: str) -> None:
    (tmp_path / "file").write_text("somebody's")
    for path in (tmp_path, tmp_path / "nowhere"):
        line = CommandLine(path)
        with line.stops(3, "palace::none", names=str(path)):
            line(*words.split())
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_folder_above_or_below_a_palace_names_the_palace(line: CommandLine) -> None:
    (line.palace / "inner").mkdir()
    for path in (line.palace.parent, line.palace / "inner", line.palace / "views"):
        other = CommandLine(path)
        with other.stops(3, "palace::none", names=str(line.palace)):
            other("status")
        assert str(line.palace) in other.stopped["help"]
        with other.stops(1, "palace::nested", names=str(line.palace)):
            other("init")


@pytest.mark.parametrize("device", ["", "Laptop", "lap top", "a~2", "x" * 65, "lap/top"])
def test_a_device_name_that_cannot_be_makes_no_palace(tmp_path: Path, device: str) -> None:
    line = CommandLine(tmp_path / "palace")
    if not device:
        assert line("init", "--device", device)["device"]
        return
    with line.stops(2, "input::invalid", names="`device`"):
        line("init", "--device", device)
    assert not line.palace.exists()


def test_init_does_not_touch_what_is_there(line: CommandLine, tmp_path: Path) -> None:
    with line.stops(1, "palace::exists"):
        line("init")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("somebody's")
    for path in (tmp_path / "full", tmp_path / "full" / "file"):
        other = CommandLine(path)
        with other.stops(1, "palace::not_empty"):
            other("init")


def test_settings_that_cannot_be_are_named(line: CommandLine) -> None:
    for text, named in (
        ("zone = 'Europe/Nowhere'", "zone"),
        ("colour = 'red'", "colour"),
        ("role = 'queen'", "role"),
        ("lock_timeout_seconds = 0", "lock_timeout_seconds"),
        ("zone = ", "TOML"),
    ):
        (line.palace / "settings.toml").write_text(text)
        ended = line.run("status")
        assert ended.code == 2
        assert ended.errors[0]["code"] == "palacelog::settings::invalid"
        assert named in ended.errors[0]["error"]


def test_a_palace_of_a_newer_schema_is_left_alone(line: CommandLine) -> None:
    about = line.palace / PALACE_FILE
    about.write_text(about.read_text().replace("schema = 1", "schema = 2"))
    for words in ("status", "log verify", "rebuild", "doctor"):
        ended = line.run(*words.split())
        assert ended.code == 3
        if words != "doctor":
            assert ended.errors[0]["code"] == "palacelog::palace::newer_schema"


def test_a_lock_that_is_held_too_long_is_told(line: CommandLine) -> None:
    line.environment["PALACELOG_LOCK_TIMEOUT_SECONDS"] = "0.2"
    lock = WriteLock(line.palace, 1.0)
    with lock.held():
        ended = line.run("call", "add_drawer", NOTE)
        assert line.run("call", "list_drawers").code == 0
        checks = {one["name"]: one["state"] for one in line.run("doctor").answer["checks"]}
        assert checks["write lock"] == "warn"
    lock.close()
    assert ended.code == 3
    assert ended.errors[0]["code"] == "palacelog::palace::locked"


def test_an_interrupted_command_says_so(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(operations, "_read", interrupted)
    ended = line.run("call", "add_drawer", NOTE)
    assert ended.code == 130
    assert [one["code"] for one in ended.errors] == ["palacelog::cli::interrupted"]


def test_what_a_database_says_is_translated(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: str) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(operations, "_read", failing)
    with line.stops(3, "storage::full"):
        line("call", "add_drawer", NOTE)


def test_the_installed_command_answers() -> None:
    command = Path(sys.executable).with_name("palacelog")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("palacelog ")
    assert (ROOT / "pyproject.toml").read_text().count(f'"{done.stdout.split()[1]}"') == 1


@pytest.mark.parametrize(("value", "named"), [("x", "vectors.steps.tokens"), ("", "vectors.steps")])
def test_a_step_of_the_ranking_that_cannot_be_is_named(
    tmp_path: Path, value: str, named: str
) -> None:
    line = new_line(tmp_path / "palace")
    name = "TOKENS" if value else "TOKENZ"
    line.environment[f"PALACELOG_VECTORS__STEPS__{name}"] = value or "false"
    with line.stops(2, "settings::invalid", names=named):
        line("status")
    line.environment.clear()
    line.environment["PALACELOG_VECTORS__STEPS__TOKENS"] = "false"
    line("status")
