"""The errors that stop a call: one shape everywhere, with a stable code and the cure.

Protects the promise that a person or an agent always learns what is wrong, where, and what to do
about it. Outcomes that a caller goes on with are values (see `acceptance`), never exceptions.
Nothing here may carry content of the palace: an error may be logged.
"""

from __future__ import annotations

from typing import Any, Final

PREFIX: Final = "palacelog::"
"""How every code begins."""


class PalaceError(Exception):
    """What stops a call or a command.

    Attributes:
        code: stable, `palacelog::<area>::<reason>`.
        message: one sentence that says what is wrong.
        help: one sentence that says what to do.
        position: the position in the log that it is about, where there is one.
    """

    def __init__(self, code: str, message: str, help: str, position: int | None = None) -> None:
        super().__init__(message)
        self.code = f"{PREFIX}{code}"
        self.message = message
        self.help = help
        self.position = position

    def as_answer(self) -> dict[str, Any]:
        """As every surface shows it: `{error, code, help}` and, where known, `position`."""
        answer: dict[str, Any] = {"error": self.message, "code": self.code, "help": self.help}
        if self.position is not None:
            answer["position"] = self.position
        return answer

    def __str__(self) -> str:
        return f"{self.message} [{self.code}] {self.help}"


class Refused(PalaceError):
    """The gate or a rule said no. Nothing changed."""


class InvalidInput(PalaceError):
    """What was given cannot be read: the message names the field. Nothing changed."""


class Unusable(PalaceError):
    """The palace cannot be used as it is: not one, locked, truncated, or of a newer schema."""


class Damaged(PalaceError):
    """Stored bytes are not what was written; `position`, where known, is the first bad one."""


class Incomplete(PalaceError):
    """A replay or rebuild that stopped part of the way; what was done stays done."""


def invalid(field: str, reason: str, help: str | None = None) -> InvalidInput:
    """`palacelog::input::invalid` for one field.

    Args:
        field: the argument's name as the caller wrote it, dotted where nested.
        reason: what is wrong with it, as the end of the sentence that the field starts.
        help: what to give instead.
    """
    cure = help or f"Correct `{field}` and call again."
    return InvalidInput("input::invalid", f"`{field}` {reason}.", cure)
