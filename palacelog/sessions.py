"""A session of a surface: who calls, and how much memory the session chose for itself.

Protects one session from another: what one chooses is its own. A mode that a person gave when the
session began is the most that it can choose. May not let a call pass or refuse it: that is the
gate's, in the call line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from domain import gate
from domain.catalog import CATALOG
from domain.operation import Context
from palacelog.caller import Caller, Report, silent

KEY: Final = "idempotency_key"


class Session:
    """Who calls over one connection. Safe to use from any number of threads."""

    def __init__(
        self,
        caller: Caller,
        context: Context,
        *,
        remembers: bool,
        chosen: str | None = None,
        changed: Callable[[str], None] = lambda mode: None,
    ) -> None:
        """Begin with the mode of a context, which is the most that the session can choose.

        Args:
            remembers: whether what is chosen holds for the calls that follow.
            chosen: what the session chose before; of what it may not have any more, less counts.
            changed: told the mode that was chosen, before the call that chose it is answered; of
                several in their order.

        Raises:
            InvalidInput: `chosen` is no session mode.
        """
        self._caller = caller
        self._changed = changed
        self._guard = threading.Lock()
        ceiling = context.session_mode
        mode = ceiling if chosen is None else gate.least(gate.session_mode(chosen), ceiling)
        self._context = replace(context, session_mode=mode, ceiling=ceiling, remembers=remembers)

    @property
    def context(self) -> Context:
        """Who calls now."""
        with self._guard:
            return self._context

    def name(self, client: str) -> None:
        """Note which program calls, where that is not known yet."""
        with self._guard:
            if self._context.client is None:
                self._context = replace(self._context, client=client)

    def asked(self, mode: object = None) -> Context:
        """Who makes one call.

        Args:
            mode: what the call asks for itself alone, whether or not it may have it; None for the
                session's.
        """
        context = self.context
        return context if mode is None else replace(context, session_mode=str(mode))

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        who: Context | None = None,
        key: str | None = None,
        report: Report = silent,
    ) -> dict[str, Any]:
        """Do one operation, as `Palace.call` does, and go on with the mode that it chose.

        Args:
            who: as `asked` told it when the call came; None for whoever calls now.
            key: the idempotency key of a write that brings none.
            report: told how far a long operation has come.
        """
        entry = CATALOG.get(tool)
        takes_key = entry is not None and KEY in entry.asks.model_fields
        if key is not None and takes_key and arguments.get(KEY) is None:
            arguments = {**arguments, KEY: key}
        answer = self._caller.call(tool, arguments, who or self.context, report)
        if tool == gate.SET_MODE:
            self._go_on_with(answer["session_mode"])
        return answer

    def _go_on_with(self, mode: str) -> None:
        with self._guard:
            self._context = replace(self._context, session_mode=mode)
            self._changed(mode)
