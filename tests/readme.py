"""The console blocks of the README and the guides in docs/ are run, and the tables in the README
are made from what they describe.

    python -m tests.readme         writes what the commands put out into README.md and docs/*.md

Clock and chance stand still enough for the output to be the same each time: a call of the clock
moves it by a millisecond, and ids are counted. What is left (hashes, versions) is not compared. A
comment `<!-- it is 2026-04-01T09:00Z -->` before a block sets the clock.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from domain.catalog import CATALOG
from palacelog.cli.failing import EXIT_CODES
from palacelog.settings import Settings, VectorSettings
from palacelog.system import System
from projections.meaning import Steps
from tests.command_line import invoked

README = Path(__file__).resolve().parents[1] / "README.md"
COLUMNS = "88"
START = 1_774_969_200_000_000  # 2026-03-31T15:00:00Z
GUIDES = sorted((README.parent / "docs").glob("*.md"))
_BLOCK = re.compile(
    r"(?P<before>^<!-- it is (?P<time>\S+) -->\n)?^```console\n(?P<shown>.*?)^```$", re.M | re.S
)
_SERVER_NAME = re.compile(r"^<!-- mcp-name: .* -->$", re.M)
_VOLATILE = (
    (re.compile(r"[0-9a-f]{12,64}"), lambda found: "#" * len(found[0])),
    (re.compile(r"\.\d{6}Z"), lambda found: ".######Z"),
    (re.compile(r"SQLite \d+\.\d+\.\d+ *"), lambda found: "SQLite # "),
)


class Clock:
    """Moves by a millisecond when somebody looks at it."""

    def __init__(self) -> None:
        self._next = START

    def now(self) -> int:
        self._next += 1_000
        return self._next - 1_000

    def move_to(self, text: str) -> None:
        self._next = round(datetime.fromisoformat(text).timestamp()) * 1_000_000


@contextmanager
def standing_still(home: Path) -> Iterator[Clock]:
    """A machine whose clock, chance, name and home are always the same."""
    numbers, clock = count(1), Clock()
    before = Path.cwd()
    os.chdir(home)
    try:
        with (
            patch.object(System, "now", lambda self: clock.now()),
            patch.object(System, "nonce", lambda self: next(numbers).to_bytes(16, "big")),
            patch.object(System, "log_id", lambda self: f"log_{next(numbers):032x}"),
            patch("socket.gethostname", lambda: "laptop"),
            patch("palacelog.cli.output.at_terminal", lambda stream: True),
            patch("palacelog.cli.main.at_terminal", lambda stream: True),
            patch("palacelog.cli.group.at_terminal", lambda stream: True),
        ):
            yield clock
    finally:
        os.chdir(before)


class Shell:
    """Runs the commands of a text, one after the other, in one home.

    Args:
        reads: whether reads are noted: by a thread, which moves the clock as it likes.
    """

    def __init__(self, home: Path, *, reads: bool) -> None:
        self._home = home
        self._reads = "full" if reads else "off"
        self._code = 0

    def run(self, command: str) -> str:
        """What a command shows at a terminal."""
        if command == "echo $?":
            return f"{self._code}\n"
        words = shlex.split(command)
        assert words[0] == "palacelog", f"a text runs {words[0]}"
        still = {"PALACELOG_AUDIT__READS": self._reads}
        default = {"PALACELOG_VECTORS__EMBEDDER": VectorSettings().embedder}
        environment = {"HOME": str(self._home), "COLUMNS": COLUMNS, **default, **still}
        self._code, (_, _, seen) = invoked(words[1:], environment)
        shown = seen.decode().replace(str(self._home), "~")
        return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


def run_again(text: str, *, reads: bool = False) -> str:
    """A text with what its commands put out today."""
    with TemporaryDirectory() as folder, standing_still(Path(folder).resolve()) as clock:
        shell = Shell(Path(folder).resolve(), reads=reads)

        def block(found: re.Match[str]) -> str:
            if found["time"]:
                clock.move_to(found["time"])
            return f"{found['before'] or ''}```console\n{_again(shell, found['shown'])}```"

        return _BLOCK.sub(block, text)


def guide_again(text: str) -> str:
    """A guide with what its commands put out today; what it reads is noted."""
    return run_again(text, reads=True)


def regenerated(text: str) -> str:
    """The README with the output and the tables as they are today."""
    text = run_again(text)
    text = _SERVER_NAME.sub(f"<!-- mcp-name: {server_name()} -->", text)
    for name, table in (
        ("operations", operations_table()),
        ("exit codes", exit_codes_table()),
        ("settings", settings_table(text)),
    ):
        text = between(text, name, table)
    return text


def server_name() -> str:
    """The name by which the registry of servers knows the package."""
    return str(json.loads((README.parent / "server.json").read_text())["name"])


def comparable(text: str) -> str:
    """A README without what is different each time."""
    for pattern, plain in _VOLATILE:
        text = pattern.sub(plain, text)
    return text


def between(text: str, name: str, content: str) -> str:
    """The text with `content` between the marks of that name."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise AssertionError(f"the README has no marks {start.strip()} and {end}")
    return f"{before}{start}{content}{end}{after}"


def operations_table() -> str:
    """The catalog as a table."""
    lines = ["| operation | class | what it does |\n", "|---|---|---|\n"]
    lines += [
        f"| `{one.name}` | {one.operation_class} | {one.summary} |\n" for one in CATALOG.values()
    ]
    return "".join(lines)


def exit_codes_table() -> str:
    """The exit codes, from the classes of the errors that give them."""
    lines = ["| code | means |\n", "|---|---|\n", "| 0 | done |\n"]
    for kind, code in EXIT_CODES.items():
        said = (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")
        lines.append(f"| {code} | {said[0].lower()}{said[1:]} |\n")
    return "".join(lines)


def settings_table(text: str) -> str:
    """The settings with their variables and defaults; their meanings are kept from the text."""
    kept = dict(re.findall(r"^\| `([\w.]+)` \|.*\| (.*) \|$", text, re.M))
    lines = ["| setting | variable | default | meaning |\n", "|---|---|---|---|\n"]
    for name, field in _settings(Settings):
        variable = field.validation_alias or f"PALACELOG_{name.upper().replace('.', '__')}"
        default = "" if field.default is None else f"`{field.default}`"
        lines.append(f"| `{name}` | `{variable}` | {default} | {kept.get(name, '')} |\n")
    return "".join(lines)


def _settings(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The settings with their full names; those of a group as `group.name`."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _settings(type(field.default), f"{before}{name}.")
        elif isinstance(field.default, Steps):
            for step, on in field.default._asdict().items():
                yield f"{before}{name}.{step}", FieldInfo(default=on)
        else:
            yield f"{before}{name}", field


def python_blocks(text: str) -> list[str]:
    """The Python of a text."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


def named_files(text: str) -> set[str]:
    """The files of the repository that the text names or links to."""
    links = re.findall(r"\]\((?!http|#)([^)#]+)", text)
    quoted = re.findall(r"`((?:domain|projections|replay|palacelog|tests|docs)/[\w./*-]+)`", text)
    return {*links, *quoted}


def _again(shell: Shell, block: str) -> str:
    return "".join(f"$ {command}\n{shell.run(command)}" for command in _commands(block))


def _commands(block: str) -> list[str]:
    """The commands of a block; one with an open quotation goes on in the next line."""
    found: list[str] = []
    for line in block.splitlines():
        if found and _open(found[-1]):
            found[-1] += f"\n{line}"
        elif line.startswith("$ "):
            found.append(line.removeprefix("$ "))
    return found


def _open(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def main() -> None:
    """Write README.md and the guides again."""
    README.write_text(regenerated(README.read_text()))
    for guide in GUIDES:
        guide.write_text(guide_again(guide.read_text()))


if __name__ == "__main__":
    main()
