"""What stands before the command: which palace, who asks, at what moment, in what form.

Protects the one way in: every command opens the palace here, with the same settings, and what is no
operation of the catalog (exports, replays, backups) passes the gate here. Imports the engine only
when a palace is opened, so that help and usage errors come at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from domain.errors import PalaceError, Refused, invalid
from palacelog.cli.progress import bar

if TYPE_CHECKING:
    import typer

    from domain.catalog import Entry
    from domain.operation import Context
    from palacelog.bootstrap import House
    from palacelog.folder import PalaceFolder
    from palacelog.settings import Settings
    from projections.generations import Generations
    from replay.log import Log
    from replay.trail import Trail
    from replay.write_lock import WriteLock

CLIENT = "cli"


class Parts(NamedTuple):
    """A log with its lock, for work that must also be possible where the views are not usable."""

    folder: PalaceFolder
    log: Log
    generations: Generations
    lock: WriteLock
    trail: Trail


@dataclass(frozen=True)
class Invocation:
    """The options before the command.

    Attributes:
        palace: the folder; None for the default.
        as_json: answers and errors are JSON: it was asked for, or nobody looks at a terminal.
        json_asked: it was asked for.
        as_of, known_at, at: the moment asked for, as texts.
        who: settings given as options: session mode, agent, session.
    """

    palace: Path | None
    as_json: bool
    json_asked: bool
    as_of: str | None
    known_at: str | None
    at: str | None
    who: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The palace's folder."""
        palace = self.palace
        if palace is None:
            from palacelog.places import default_folder

            palace = default_folder()
        return palace.expanduser().resolve()

    def settings(self) -> Settings:
        """The settings of the palace, these options included."""
        from palacelog.settings import load

        return load(self.folder, **self.who)

    def context(self) -> Context:
        """Who asks."""
        from palacelog.settings import who

        settings = self.settings()
        return replace(who(settings), client=settings.client or CLIENT)

    def gate(self, command: str, operation_class: str) -> None:
        """Let a command pass that is no operation of the catalog; a refusal is noted.

        Raises:
            Refused: the session mode does not allow it.
        """
        from domain import gate

        try:
            gate.check(command, operation_class, self.settings().session_mode)
        except Refused as refusal:
            # What is refused may be wanted where no palace is, or none that can be opened.
            with suppress(PalaceError, sqlite3.Error, OSError), self.parts() as parts:
                parts.trail.refused(_tool(command), {}, self.context(), refusal)
            raise

    @contextmanager
    def noting(self, trail: Trail, command: str, **given: Any) -> Iterator[dict[str, Any]]:
        """Note what a command reads within that is no operation of the catalog.

        Args:
            given: its arguments.

        Yields:
            What takes the answer; ids, wings and counts are kept of it.
        """
        asked = {
            name: str(value) if isinstance(value, Path) else value
            for name, value in given.items()
            if value is not None
        }
        with trail.noting(_tool(command), asked, self.context()) as seen:
            yield seen

    @contextmanager
    def house(self) -> Iterator[House]:
        """The palace, open; views that must be made first show their progress."""
        from palacelog.bootstrap import open_palace

        with bar("Making the views") as report:
            house = open_palace(self.folder, progress=report, **self.who)
        with house:
            yield house

    @contextmanager
    def parts(self) -> Iterator[Parts]:
        """The palace's log, lock and trail, without its views."""
        from palacelog.bootstrap import trail_of
        from palacelog.folder import existing
        from palacelog.system import System
        from projections.generations import Generations
        from replay.log import Log
        from replay.write_lock import WriteLock

        folder = existing(self.folder)
        settings = self.settings()
        with (
            closing(Log(folder.log)) as log,
            closing(WriteLock(folder.path, settings.lock_timeout_seconds)) as lock,
            closing(trail_of(folder, settings, log, System())) as trail,
        ):
            yield Parts(folder, log, Generations(folder.views), lock, trail)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Open the palace and do one operation, at the moment asked for."""
        from domain.catalog import CATALOG

        entry = CATALOG.get(tool)
        asked = arguments if entry is None else self._at_the_moment(entry, arguments)
        with self.house() as house:
            return house.palace.call(tool, asked, self.context())

    def timeless(self, command: str) -> None:
        """Check that no moment was asked for.

        Raises:
            InvalidInput: one was, and the command would not heed it.
        """
        for option, value in self._moment_options().items():
            if value is not None:
                raise invalid(
                    option,
                    f"does not go with `{command}`, which knows the present only",
                    "Leave it out, or ask with a read: `palacelog tools` lists them.",
                )

    def _moment_options(self) -> dict[str, str | None]:
        return {"--at": self.at, "--as-of": self.as_of, "--known-at": self.known_at}

    def _at_the_moment(self, entry: Entry, arguments: Mapping[str, Any]) -> dict[str, Any]:
        # `known_at` alone moves both axes, so --at needs no `as_of` beside it.
        if self.at is not None and (self.as_of, self.known_at) != (None, None):
            raise invalid("--at", "stands beside --as-of or --known-at", "It sets both: use one.")
        fields = entry.asks.model_fields
        filled = dict(arguments)
        for option, name, value in (
            ("--at", "known_at", self.at),
            ("--as-of", "as_of", self.as_of),
            ("--known-at", "known_at", self.known_at),
        ):
            if value is None:
                continue
            if name not in fields:
                raise invalid(
                    option,
                    f"does not go with {entry.name}, which takes no {name}",
                    f"See `palacelog tools {entry.name}` for what it takes.",
                )
            if name in filled or (option == "--at" and "as_of" in filled):
                raise invalid(
                    option, "is given beside an argument that means the same", "Use one of them."
                )
            filled[name] = value
        return filled


def asked(context: typer.Context) -> Invocation:
    """What stood before the command that a context belongs to."""
    found = context.find_root().obj
    assert isinstance(found, Invocation)
    return found


def asked_now(context: typer.Context) -> Invocation:
    """The same, of a command that knows the present only.

    Raises:
        InvalidInput: a moment was asked for.
    """
    invocation = asked(context)
    invocation.timeless(context.command_path.partition(" ")[2])
    return invocation


def _tool(command: str) -> str:
    """The name that a command has in the trail: `log export` is `log_export`."""
    return command.replace(" ", "_").replace("-", "_")
