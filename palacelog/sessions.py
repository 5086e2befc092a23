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
        changed: Callable[[str], None] = lambda mode: None,
    ) -> None:
        """Begin with the mode of a context, which is the most that the session can choose.

        Args:
            remembers: whether what is chosen holds for the calls that follow.
            changed: told the mode that was chosen, before the call that chose it is answered.
        """
        self._caller = caller
        self._changed = changed
        self._guard = threading.Lock()
        self._context = replace(context, ceiling=context.session_mode, remembers=remembers)

    @property
    def context(self) -> Context:
        """Who calls now."""
        with self._guard:
            return self._context

    def name(self, client: str) -> None:
        """Note which program calls, where the context does not say."""
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
        mode: object = None,
        key: str | None = None,
        report: Report = silent,
    ) -> dict[str, Any]:
        """Do one operation, as `Palace.call` does, and go on with the mode that it chose.

        Args:
            mode: see `asked`.
            key: the idempotency key of a write that brings none.
            report: told how far a long operation has come.
        """
        entry = CATALOG.get(tool)
        if key is not None and entry is not None and KEY in entry.asks.model_fields:
            arguments = {KEY: key} | dict(arguments)
        answer = self._caller.call(tool, arguments, self.asked(mode), report)
        if tool == gate.SET_MODE:
            self.go_on_with(answer["session_mode"])
        return answer

    def go_on_with(self, mode: str) -> None:
        """Take a mode that the session chose.

        Raises:
            Refused: it is above the ceiling.
        """
        with self._guard:
            context = self._context
            chosen = gate.choose(mode, context.ceiling, remembers=context.remembers)
            self._context = replace(context, session_mode=chosen)
        self._changed(chosen)
