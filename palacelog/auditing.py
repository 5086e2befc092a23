"""The audit copy of an open palace: who wires its sources, and who may use it when.

Protects the copy from two at once: DuckDB lets one process in, so whoever asks holds a lock file
and waits for it no longer than for the write lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from domain.operation import Context
from palacelog.bootstrap import House
from palacelog.settings import who
from projections.audit import asking, exporting, questions
from projections.audit.beliefs import Beliefs
from projections.audit.copy import AuditCopy
from projections.audit.questions import Window
from projections.audit.sources import Operations
from projections.audit.trail import Trail
from replay.stored import stored_events
from replay.write_lock import only_one

LOCK_FILE: Final = "audit.lock"


class Audit:
    """What can be asked of the audit copy; each answer names log_id and position."""

    def __init__(self, house: House, context: Context | None = None) -> None:
        """Ask about an open palace; nothing is copied yet.

        Args:
            context: who asks; default as configured.
        """
        self._house = house
        self._who = who(house.settings) if context is None else context
        sources = (
            Operations(lambda after, upto: stored_events(house.log, after, upto)),
            Beliefs(),
            Trail(house.folder.trail),
        )
        self._copy = AuditCopy(house.folder.path, sources, house.settings.zone)

    def report(
        self, window: Window, asked: Mapping[str, str], *, agents: bool = False
    ) -> dict[str, Any]:
        """Activity, and what the operation `audit` tells of refusals and health.

        Args:
            asked: the window as a caller wrote it.
        """
        told = self.activity(window, agents=agents)
        return told | self._house.palace.call("audit", asked, self._who)

    def activity(self, window: Window, *, agents: bool = False) -> dict[str, Any]:
        """Operations per day, device and tool.

        Args:
            agents: also the most active agents, whose names a disabled session may not see.
        """

        def question(connection: Any) -> dict[str, Any]:
            told = questions.activity(connection, window)
            return told | questions.agents(connection, window) if agents else told

        answer: dict[str, Any] = asking.plain(self.ask(question))
        return answer

    def days_of_devices(self, window: Window) -> dict[str, Any]:
        """Operations per day and device."""
        return self.ask(lambda connection: questions.days_of_devices(connection, window))

    def sql(self, text: str, limit: int) -> dict[str, Any]:
        """The rows of a person's SELECT; a read that is noted.

        Raises:
            InvalidInput: `palacelog::audit::sql`.
        """
        with self._noting("audit_sql", {"query": text, "limit": limit}) as seen:
            answer = self.ask(
                lambda connection: asking.select(connection, text, limit), locked_in=True
            )
            seen.update(answer, total=len(answer["rows"]))
        return answer

    def export(self, folder: Path, form: str) -> dict[str, Any]:
        """Every table as a file of its own in a new folder; a read that is noted.

        Raises:
            InvalidInput: the folder is there already.
        """
        with self._noting("audit_export", {form: str(folder)}) as seen:
            exporting.check_target(folder)
            answer = self.ask(
                lambda connection: {"files": exporting.export(connection, folder, form)}
            )
            seen.update(answer, total=sum(one["rows"] for one in answer["files"]))
        return answer | {"folder": str(folder)}

    def _noting(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> AbstractContextManager[dict[str, Any]]:
        return self._house.palace.trail.noting(tool, arguments, self._who)

    def ask(
        self, question: Callable[[Any], dict[str, Any]], *, locked_in: bool = False
    ) -> dict[str, Any]:
        """A question as a function of the copy's connection.

        Args:
            locked_in: it is a person's: the connection can read the copy and do nothing else.

        Raises:
            Unusable: `palacelog::audit::busy`, another process asks for too long.
        """
        path = self._house.folder.path / LOCK_FILE
        self._house.palace.trail.flush()
        seconds = self._house.settings.lock_timeout_seconds
        with (
            only_one(path, seconds, "the audit", "audit::busy"),
            self._house.palace.reading() as reading,
        ):
            answer = self._copy.ask(reading, question, locked_in=locked_in)
            checkpoint = reading.checkpoint
        return {"log_id": checkpoint.log_id, "position": checkpoint.position} | answer
