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
