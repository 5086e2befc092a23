"""A palace that is opened when it is first needed.

Protects a host that starts many servers at once: it is told what there is before the engine is
loaded, and a palace that cannot be opened is said to whoever calls, each time, until it can be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from domain.errors import PalaceError, Unusable
from domain.operation import Context
from palacelog.caller import Report, silent
from palacelog.folder import existing
from palacelog.loading import loading
from palacelog.settings import Settings, load

if TYPE_CHECKING:
    from palacelog.bootstrap import House


class LatePalace:
    """A palace that may not be open yet. Safe to use from any number of threads."""

    def __init__(self, settings: Settings, open_house: Callable[[], House]) -> None:
        """Open nothing yet.

        Args:
            open_house: opens it, once.
        """
        self.settings = settings
        self._open_house = open_house
        self._house: House | None = None
        self._closed = False
        self._opening = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: Context | None = None,
        report: Report = silent,
    ) -> dict[str, Any]:
        """Do one operation, in the palace that is open from then on.

        Raises:
            PalaceError: as `Palace.call`, or the palace cannot be opened.
        """
        return self._opened().palace.call(tool, arguments, context, report)

    @property
    def busy(self) -> bool:
        """Whether a job is worked on in it."""
        return self._house is not None and self._house.worker.busy

    def open_soon(self) -> None:
        """Open it beside what the caller does."""
        if self._house is None and self._thread is None:
            self._thread = threading.Thread(target=self._try, name="palacelog-opening", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Close it, where it is open. Idempotent."""
        if self._thread is not None:
            self._thread.join()
        with self._opening:
            self._closed = True
            if self._house is not None:
                self._house.close()

    def _try(self) -> None:
        # What stands in the way is said to who calls.
        with suppress(PalaceError):
            self._opened()

    def _opened(self) -> House:
        if self._house is not None:
            return self._house
        with self._opening:
            if self._closed:
                raise Unusable("palace::closed", "The palace has been closed.", "Open it again.")
            if self._house is None:
                self._house = self._open_house()
            return self._house


def late_palace(
    folder: Path, *, embeds: bool = False, works: bool = False, **given: Any
) -> LatePalace:
    """The palace in a folder.

    Args:
        embeds, works, given: as `bootstrap.open_palace` takes them.

    Raises:
        Unusable: there is no palace.
        InvalidInput: its settings are not valid.
    """
    path = existing(folder).path

    def open_house() -> House:
        with loading():
            from palacelog.bootstrap import open_palace

        return open_palace(path, embeds=embeds, works=works, **given)

    return LatePalace(load(path, **given), open_house)
