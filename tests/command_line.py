"""The command line for tests: in this process where that is enough, as a real one where it is not.

line = new_line(folder)
line("log", "list")                    # answers with the JSON of standard output
with line.stops(2, "input::invalid"):  # one clear message, and nothing changed
    line("call", "add_drawer", "{")
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import orjson
from typer.main import get_command
from typer.testing import CliRunner

from domain.errors import PalaceError
from palacelog.bootstrap import open_palace
from palacelog.cli.main import app
from tests.palaces import fingerprint

ROOT = Path(__file__).resolve().parents[1]
COMMAND = get_command(app)
SECONDS_MAX = 60
_CODE = re.compile(r"palacelog::[a-z_]+::[a-z_]+")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: bytes

    @property
    def answer(self) -> Any:
        """The one JSON document on standard output."""
        return orjson.loads(self.out)

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The errors on standard error, one JSON object a line."""
        return [orjson.loads(line) for line in self.err.splitlines()]


class Stopped(AssertionError):
    """A command that was expected to be done was not."""


class CommandLine:
    """`palacelog` with a palace."""

    def __init__(self, palace: Path, **environment: str) -> None:
        self.palace = palace
        self.environment = environment
        self._expected: tuple[int, str] | None = None
        self.stopped: dict[str, Any] = {}

    def run(self, *arguments: object, stdin: bytes = b"", before: tuple[str, ...] = ()) -> Ended:
        """Run in this process; standard output is a pipe."""
        code, (out, err, _) = invoked(self._words(before, arguments), self.environment, stdin)
        return Ended(code, out, err)

    def process(
        self, *arguments: object, stdin: bytes = b"", before: tuple[str, ...] = ()
    ) -> Ended:
        """Run as a process of its own."""
        command = self.command(*arguments, before=before)
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=self.env(), check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def seen(
        self, *arguments: object, typed: str = "", before: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        """Run in this process as if at a terminal of 100 columns, without colours."""
        with ExitStack() as patched:
            for module in ("output", "main", "group"):
                name = f"palacelog.cli.{module}.at_terminal"
                patched.enter_context(patch(name, lambda stream: True))
            words = self._words(before, arguments)
            environment = self.environment | {"COLUMNS": "100"}
            code, (_, _, seen) = invoked(words, environment, typed.encode())
        return code, seen.decode()

    def command(
        self, *arguments: object, before: tuple[str, ...] = (), script: str | None = None
    ) -> list[str]:
        """The words of a command.

        Args:
            script: Python that runs it instead.
        """
        runs = ["-m", "palacelog.cli.main"] if script is None else ["-c", script]
        return [sys.executable, *runs, *self._words(before, arguments)]

    def _words(self, before: tuple[str, ...], arguments: tuple[object, ...]) -> list[str]:
        return ["--palace", str(self.palace), *before, *map(str, arguments)]

    def env(self) -> dict[str, str]:
        """The environment of a process: this one's without a word about palacelog."""
        kept = {name: value for name, value in os.environ.items() if "PALACELOG" not in name}
        return kept | {"PYTHONPATH": str(ROOT)} | self.environment

    def __call__(self, *arguments: object, **run: Any) -> Any:
        """Run in this process; answers with what stands on standard output."""
        ended = self.run(*arguments, **run)
        if self._expected is not None:
            self._compare(ended, *self._expected)
            return None
        if ended.code != 0:
            raise Stopped(f"exit code {ended.code}: {ended.err.decode()}")
        assert ended.err == b"", ended.err
        return ended.answer

    def call(self, tool: str, /, *before: str, **arguments: Any) -> Any:
        """One operation."""
        return self("call", tool, orjson.dumps(arguments).decode(), before=before)

    @contextmanager
    def stops(self, code: int, name: str, *, names: str = "") -> Iterator[None]:
        """What runs within stops with one clear message, and changes nothing.

        `stopped` is the message afterwards.
        """
        before = what_is_there(self.palace)
        self._expected = code, f"palacelog::{name}"
        try:
            yield
        finally:
            self._expected = None
        assert names in self.stopped["error"], self.stopped
        assert what_is_there(self.palace) == before

    def _compare(self, ended: Ended, code: int, name: str) -> None:
        assert ended.code == code, (ended.code, ended.err)
        assert ended.out == b"", "standard output is not empty"
        [self.stopped] = ended.errors
        assert self.stopped["code"] == name, self.stopped
        assert _CODE.fullmatch(self.stopped["code"])
        assert self.stopped["error"], "the error says nothing"
        assert self.stopped["help"], "the error offers no help"
        assert "Traceback" not in ended.err.decode()


def invoked(
    words: list[str], environment: dict[str, str], stdin: bytes = b""
) -> tuple[int, list[bytes]]:
    """Run in this process: the exit code; standard output, standard error, and both as they came.

    Like the runner's `invoke`, which makes all commands anew each time: two thirds of its time.
    """
    code: Any = 0
    with CliRunner(env=environment).isolation(stdin) as streams:
        try:
            COMMAND.main(args=words, prog_name="palacelog")
        except SystemExit as ended:
            code = ended.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        return code, [stream.getvalue() for stream in streams]


def what_is_there(path: Path) -> Any:
    """Head and digests of a palace; of anything else its files."""
    try:
        house = open_palace(path)
    except PalaceError:
        return sorted(
            (found.relative_to(path).as_posix(), sha256(found.read_bytes()).hexdigest())
            for found in path.rglob("*")
            if found.is_file() and found.suffix != ".lock" and found.suffix != ".turn"
        )
    with house:
        return fingerprint(house)


def at_terminal(
    line: CommandLine, *arguments: object, typed: str = "", before: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Run a command at a terminal of 100 columns; its exit code and what was to be seen."""
    master, slave = os.openpty()
    env: Mapping[str, str] = line.env() | {"TERM": "xterm-256color", "COLUMNS": "100"}
    command = line.command(*arguments, before=before)
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        os.write(master, typed.encode())
        deadline = threading.Timer(SECONDS_MAX, process.kill)
        deadline.start()
        seen = b"".join(iter(lambda: _read(master), b""))
        deadline.cancel()
    os.close(master)
    return process.returncode, seen.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other side has gone
        return b""


def new_line(palace: Path, device: str = "laptop", **environment: str) -> CommandLine:
    """A command line with a new palace."""
    made = CommandLine(palace, **environment)
    made("init", "--device", device)
    return made
