"""What an integration shall be: which command and palace, how much memory, and over what.

Protects the ceiling: the mode that a person chose stands in each command that a host is given.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from domain.errors import InvalidInput, invalid
from palacelog.hosts.labels import MODES, OFF
from palacelog.places import DEFAULT_FOLDER, PALACE_VARIABLE

NAME: Final = "palacelog"
SERVE: Final = "mcp"
"""The command that serves a session."""
MODE_HEADER: Final = "X-Palacelog-Mode"
HOOK_SECONDS: Final = 10
"""How long a host waits for a hook; the hook itself gives up earlier."""

HOOK_MILLISECONDS: Final = 30_000
"""How long a plugin of ours waits for one."""

Scope = Literal["user", "project"]
Transport = Literal["stdio", "http"]


@dataclass(frozen=True)
class Wanted:
    """What a person asked for.

    Attributes:
        command: the absolute path of the palacelog command.
        palace: the palace's folder.
        label: `full`, `read-only` or `off`.
        url: of a palace that is served over HTTP; None for a command that the host starts.
        token_variable: the variable in the environment that holds the token for it.
        named: whether a person named the command, and so wants that one on every machine.
        home, project: the person's home, and the project's folder.
        scope: for all of the person's work, or for the project alone.
    """

    command: Path
    palace: Path
    label: str
    home: Path
    project: Path
    scope: Scope = "user"
    url: str | None = None
    token_variable: str | None = None
    named: bool = False

    @property
    def off(self) -> bool:
        """Whether nothing shall be asked or shown."""
        return self.label == OFF

    @property
    def mode(self) -> str:
        """The session mode that is the ceiling."""
        return MODES[self.label]

    @property
    def server(self) -> list[str]:
        """The command that serves a session over standard input and output."""
        return [str(self.command), "--palace", str(self.palace), "--mode", self.mode, SERVE]

    @property
    def shared_server(self) -> list[str]:
        """The same for a file that goes to other machines too: the command is found on the PATH,
        and the palace is where each person has theirs, in the words of Claude Code.
        """
        command = str(self.command) if self.named else NAME
        place = self._shared_place()
        told = [] if place is None else ["--palace", place]
        return [command, *told, "--mode", self.mode, SERVE]

    def _shared_place(self) -> str | None:
        """Where the palace is on any machine; None where our command looks by itself."""
        home, project = self.home.resolve(), self.project.resolve()
        if self.palace == (home / Path(DEFAULT_FOLDER).name).resolve():
            return None
        if self.palace.is_relative_to(project):
            return f"${{CLAUDE_PROJECT_DIR:-.}}/{self.palace.relative_to(project).as_posix()}"
        told = str(self.palace)
        if self.palace.is_relative_to(home):
            told = f"~/{self.palace.relative_to(home).as_posix()}"
        return f"${{{PALACE_VARIABLE}:-{told}}}"

    def hook(self, event: str, host: str) -> list[str]:
        """The command that a host runs at an event."""
        words = ["hook", event, "--host", host, "--label", self.label]
        return [str(self.command), "--palace", str(self.palace), *words]

    def hook_line(self, event: str, host: str) -> str:
        """The same, for a shell."""
        return shlex.join(self.hook(event, host))

    def headers(self, reference: str) -> dict[str, str]:
        """What goes with each request over HTTP.

        Args:
            reference: how the host names a variable of the environment, with `{}` for its name.
        """
        made = {MODE_HEADER: self.mode}
        if self.token_variable is not None:
            made["Authorization"] = f"Bearer {reference.format(self.token_variable)}"
        return made


def our_command(given: Path | None) -> Path:
    """The absolute path of the palacelog command, through links: a link outlives an upgrade.

    Args:
        given: the path that a person named.

    Raises:
        InvalidInput: it is no file that can be run.
    """
    if given is not None:
        path = given.expanduser().absolute()
        if not os.access(path, os.X_OK) or path.is_dir():
            raise invalid("--command", f"is {path}, which cannot be run", "Name an executable.")
        return path
    found = Path(shutil.which(NAME) or ".")
    for path in (Path(sys.argv[0]), Path(sys.executable).with_name(NAME), found):
        if path.name == NAME and path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
    raise InvalidInput(
        "integration::no_command",
        "The palacelog command is not on the PATH.",
        "Install it with `uv tool install`, or name it with --command.",
    )


def url(transport: Transport, given: str | None) -> str | None:
    """Where the palace is served; None for a command that the host starts.

    Raises:
        InvalidInput: one of both options stands alone, or the address is none.
    """
    if transport == "stdio":
        if given is not None:
            raise invalid("--url", "goes with --transport http only", "Leave one of them out.")
        return None
    if given is None or not given.startswith(("http://", "https://")):
        raise invalid(
            "--url", "is missing or no address", "Give one, as http://127.0.0.1:8377/mcp."
        )
    return given.rstrip("/")
