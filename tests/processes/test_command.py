"""The command as a process: what it loads, what it hears of its surroundings, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.command_line import ROOT, CommandLine, new_line

NOTE = '{"wing": "home", "room": "notes", "content": "Tea at four."}'
ENGINE = ("sqlalchemy", "eventsourcing", "pydantic_settings", "domain.catalog", "palacelog.palace")


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    made("call", "add_drawer", NOTE)
    return made


@pytest.mark.parametrize("words", [["--help"], ["replay", "--help"], ["--version"], ["frob"]])
def test_help_does_not_wait_for_the_engine(words: list[str]) -> None:
    script = (
        "import sys\n"
        "from palacelog.cli.main import run\n"
        f"sys.argv = ['palacelog', *{words!r}]\n"
        "try:\n    run()\n"
        "finally:\n"
        f"    print([name for name in {ENGINE!r} if name in sys.modules], file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[]"


def test_what_every_command_and_the_hook_of_hosts_load_is_little() -> None:
    spared = ("email", "importlib.metadata", "logging", "pydantic", "ssl")
    script = (
        "import sys, palacelog.cli.main, palacelog.hosts.hook\n"
        f"print([name for name in {spared!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_json_is_utf_8_whatever_the_locale_is(line: CommandLine) -> None:
    line("note", "\u00e9\u8336", "--wing", "home")
    line.environment |= {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = line.process("call", "list_drawers")
    assert "\u00e9\u8336".encode() in ended.out
    assert ended.err == b""


@pytest.mark.parametrize("host", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_the_zone_of_the_machine_does_not_matter(tmp_path: Path, host: str) -> None:
    """L1, L4"""
    line = new_line(tmp_path / "palace", TZ=host)
    fact = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
    line.call("kg_add", **fact, valid_from="2025-03-31T15:00", valid_to="2025-04-30")
    asked = orjson.dumps({"entity": "Kiran"}).decode()
    shown = line.process("call", "kg_query", asked, before=("--as-of", "2025-03-31")).answer
    [found] = shown["facts"]
    assert found["valid_from"] == "2025-03-31T15:00:00.000000Z"
    assert found["valid_to"] == "2025-05-01T00:00:00.000000Z"
    assert shown["as_of"] == "2025-03-31T23:59:59.999999Z"


def test_a_command_that_is_interrupted_while_it_loads_says_so_too() -> None:
    script = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from palacelog.__main__ import run\n"
        "run()\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (130, b"")
    [told] = [orjson.loads(one) for one in done.stderr.splitlines()]
    assert told["code"] == "palacelog::cli::interrupted"


@pytest.mark.parametrize("words", ["log list", "demo"])
def test_a_reader_that_has_gone_is_no_error(line: CommandLine, words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = line.command(*words.split())
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, env=line.env(), check=False
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_an_answer_that_cannot_be_written_is_told_and_the_work_is_done(line: CommandLine) -> None:
    with Path("/dev/full").open("wb") as full:
        command = line.command("call", "add_drawer", NOTE)
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=line.env(), check=False
        )
    assert done.returncode == 2
    assert b"palacelog::output::failed" in done.stderr
    assert b"Traceback" not in done.stderr
    assert line("status")["head"] == 2


def test_a_path_of_odd_bytes_is_shown_and_not_stumbled_over(tmp_path: Path) -> None:
    line = CommandLine(Path(os.fsdecode(bytes(tmp_path / "caf") + b"\xe9")))
    ended = line.process("status")
    assert ended.code == 3
    assert ended.errors[0]["code"] == "palacelog::palace::none"


def test_a_stray_cipher_in_the_environment_encrypts_nothing(tmp_path: Path) -> None:
    stray = CommandLine(
        tmp_path / "palace",
        CIPHER_KEY="c29tZSBrZXkgb2YgYW4gb3RoZXIgcHJvZ3JhbQ==",
        CIPHER_TOPIC="eventsourcing.cipher:AESCipher",
        COMPRESSOR_TOPIC="zlib",
        PERSISTENCE_MODULE="eventsourcing.postgres",
        SQLITE_DBNAME=":memory:",
        PALACELOG_CIPHER_KEY="c29tZSBrZXkgb2YgYW4gb3RoZXIgcHJvZ3JhbQ==",
    )
    assert stray.process("init", "--device", "laptop").code == 0
    assert stray.process("call", "add_drawer", NOTE).code == 0
    assert b"Tea at four." in (stray.palace / "log.db").read_bytes()

    clean = CommandLine(stray.palace)
    assert clean("call", "list_drawers")["drawers"][0]["preview"] == "Tea at four."
    assert clean("log", "verify")["sound"] is True
    warned = [one for one in stray("doctor")["checks"] if one["state"] == "warn"]
    assert "CIPHER_KEY" in warned[0]["message"]
    assert "not encrypted" in warned[0]["help"]
    assert "PALACELOG_CIPHER_KEY" in warned[1]["message"]
