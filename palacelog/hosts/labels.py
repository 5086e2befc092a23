"""How much memory an integration uses: the words that people see in their hosts.

Protects a person's no: a label that nobody knows means `off`, and of two labels the lesser counts.
Source: DESIGN section 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.gate import DISABLED, FULL, READ_ONLY, least, session_mode

OFF: Final = "off"
MODES: Final[Mapping[str, str]] = {"full": FULL, "read-only": READ_ONLY, OFF: DISABLED}
"""Label to session mode, from the most memory to none."""

LABEL_VARIABLE: Final = "PALACELOG_LABEL"
MODE_VARIABLE: Final = "PALACELOG_MODE"
LABELS: Final[Mapping[str, str]] = {mode: label for label, mode in MODES.items()}


def known(label: str) -> str:
    """The label itself; `off` where it is none."""
    return label if label in MODES else OFF


def effective(label: str, environment: Mapping[str, str]) -> str:
    """The label that counts now: the least of what was installed and what the environment says.

    Args:
        environment: of the process; `PALACELOG_LABEL` and `PALACELOG_MODE` are looked at.
    """
    said = [known(label)]
    if (other := environment.get(LABEL_VARIABLE)) is not None:
        said.append(known(other))
    if (mode := environment.get(MODE_VARIABLE)) is not None:
        said.append(LABELS.get(mode, OFF))
    return LABELS[least(*(MODES[one] for one in said))]


def ceiling(given: str | None, environment: Mapping[str, str]) -> str | None:
    """The most memory that a session may use: the least of what it was started with and what the
    environment says; None where neither says anything.

    Args:
        given: the session mode that stands in the command.
        environment: of the process; `PALACELOG_LABEL` and `PALACELOG_MODE` are looked at.

    Raises:
        InvalidInput: one of both is no session mode.
    """
    said = [mode for mode in (given, environment.get(MODE_VARIABLE)) if mode]
    if (label := environment.get(LABEL_VARIABLE)) is not None:
        said.append(MODES[known(label)])
    return least(*map(session_mode, said)) if said else None
