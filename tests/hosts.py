"""A person's home with the files of their hosts, and the integration commands run in it.

home = Home(tmp_path)
home.write(".claude.json", "{}")
home("install", "claude-code")          # answers with the JSON of standard output
home.files()                            # every file of the home, by name
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from palacelog.bootstrap import create_palace
from tests.command_line import CommandLine, Ended

HOSTS = ("claude-code", "codex", "opencode", "pi")
MOVING = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR")
COMMAND = Path(sys.executable).with_name("palacelog")


class Home:
    """A home with a palace beside it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.path = folder / "person"
        self.project = self.path / "project"
        self.project.mkdir(parents=True)
        self.palace = folder / "palace"
        create_palace(self.palace, "laptop")
        self.line = CommandLine(self.palace, HOME=str(self.path), **environment)

    def run(self, *words: object) -> Ended:
        """Run an integration command from within the project."""
        before = Path.cwd()
        os.chdir(self.project)
        try:
            with patch.dict(os.environ):
                for name in (*MOVING, "PALACELOG_LABEL", "PALACELOG_MODE"):
                    os.environ.pop(name, None)
                return self.line.run("integrate", *words)
        finally:
            os.chdir(before)

    def __call__(self, *words: object) -> Any:
        ended = self.run(*words)
        assert ended.code == 0, ended.err
        return ended.answer

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_bytes().decode()

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file()
        }


class Watched:
    """A command that stands before ours and notes that it ran, and Python that notes whatever it
    opens in the palace.

    Attributes:
        command: what a host is given as the palacelog command.
    """

    def __init__(self, folder: Path, palace: Path) -> None:
        folder.mkdir()
        self._runs, self._opens = folder / "runs", folder / "opens"
        self.command = folder / "palacelog"
        self.command.write_text(f'#!/bin/sh\necho "$*" >> "{self._runs}"\nexec "{COMMAND}" "$@"\n')
        self.command.chmod(0o755)
        (folder / "sitecustomize.py").write_text(
            "import os, sys\n"
            f"log = os.open({str(self._opens)!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)\n"
            "def note(event, args):\n"
            f"    if {str(palace)!r} in str(args):\n"
            "        os.write(log, (event + '\\n').encode())\n"
            "sys.addaudithook(note)\n"
        )
        self.env = {"PYTHONPATH": str(folder)}

    def runs(self) -> list[str]:
        """With which arguments the command ran, since this was asked last."""
        return _lines(self._runs)

    def opens(self) -> list[str]:
        """What was done with a path in the palace, since this was asked last."""
        return _lines(self._opens)

    def forget(self) -> None:
        """Begin anew."""
        self.runs()
        self.opens()


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    found = path.read_text().splitlines()
    path.write_text("")
    return found
