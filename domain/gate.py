"""The gate: whether a session may do what an operation does. It sits in the call line and nowhere
else.

Protects a session's choice of how much memory it uses. A refusal is an error, never an empty
result. Source: DESIGN section 10.
"""

from __future__ import annotations

from typing import Final

from domain.errors import Refused, invalid

FULL: Final = "full"
READ_ONLY: Final = "read_only"
DISABLED: Final = "disabled"
SESSION_MODES: Final = (FULL, READ_ONLY, DISABLED)
"""From the most memory to none."""

SET_MODE: Final = "set_mode"

READ: Final = "read"
WRITE: Final = "write"
MAINTENANCE: Final = "maintenance"
DESTRUCTIVE: Final = "destructive"
CONTROL: Final = "control"
CLASSES: Final = (READ, WRITE, MAINTENANCE, DESTRUCTIVE, CONTROL)

_ALLOWED: Final = {
    FULL: frozenset(CLASSES),
    READ_ONLY: frozenset({READ, CONTROL}),
    DISABLED: frozenset({CONTROL}),
}


def session_mode(text: object) -> str:
    """Check the spelling of a session mode; exactly `full`, `read_only` or `disabled`.

    Raises:
        InvalidInput: any other spelling.
    """
    if not isinstance(text, str) or text not in SESSION_MODES:
        raise invalid("session_mode", f"is {text!r}, which is no session mode", _SPELLINGS)
    return text


def least(*modes: str) -> str:
    """The mode that allows the least memory."""
    return max(modes, key=SESSION_MODES.index)


def check(tool: str, operation_class: str, mode: str, ceiling: str = FULL) -> None:
    """Let an operation pass or refuse it.

    Args:
        operation_class: one of `CLASSES`; of an unknown tool, `write`.
        mode: the session mode.
        ceiling: the most that a person allowed when the session began.

    Raises:
        InvalidInput: no session mode.
        Refused: `palacelog::mode::forbidden`, `palacelog::mode::above_ceiling`.
    """
    _check_ceiling(session_mode(mode), ceiling)
    if operation_class not in _ALLOWED[mode]:
        raise Refused(
            "mode::forbidden",
            f"{tool} is a {operation_class} operation and this session's mode is {mode}.",
            "Choose a session mode that allows it, or ask the person who set the mode.",
        )


def check_place(tool: str, operation_class: str, *, here: bool) -> None:
    """Let an operation pass or refuse it, by where the caller is: maintenance reads this machine's
    files and takes its time, and is for those who are at it.

    Raises:
        Refused: `palacelog::mode::elsewhere`.
    """
    if operation_class == MAINTENANCE and not here:
        raise Refused(
            "mode::elsewhere",
            f"{tool} is a {operation_class} operation, which is done at the machine alone.",
            "Run `palacelog` on the machine that has the palace.",
        )


def choose(mode: str, ceiling: str, *, remembers: bool) -> str:
    """The mode that a session goes on with, where it may have it.

    Args:
        mode: what it asks for.
        ceiling: the most that a person allowed when the session began.
        remembers: whether there is a session that a mode can be remembered for.

    Raises:
        InvalidInput: no session mode.
        Refused: `palacelog::mode::no_session`, `palacelog::mode::above_ceiling`.
    """
    session_mode(mode)
    if not remembers:
        raise Refused(
            "mode::no_session",
            "This call belongs to no session that could remember a mode.",
            "Send the mode with each request instead.",
        )
    _check_ceiling(mode, ceiling)
    return mode


def _check_ceiling(mode: str, ceiling: str) -> None:
    if least(mode, session_mode(ceiling)) != mode:
        raise Refused(
            "mode::above_ceiling",
            f"The session was given {ceiling} when it began, and cannot choose {mode}.",
            "Choose as much memory or less, or ask the person who set the mode.",
        )


_SPELLINGS: Final = "Give one of: full, read_only, disabled."
