"""How much memory an integration uses: the words that people see in their hosts.

Protects a person's no: a label that nobody knows means `off`, and of two labels the lesser counts.
Source: DESIGN section 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.gate import DISABLED, FULL, READ_ONLY, SESSION_MODES

OFF: Final = "off"
MODES: Final[Mapping[str, str]] = {"full": FULL, "read-only": READ_ONLY, OFF: DISABLED}
"""Label to session mode, from the most memory to none."""

LABEL_VARIABLE: Final = "PALACELOG_LABEL"
MODE_VARIABLE: Final = "PALACELOG_MODE"
_LABELS: Final = {mode: label for label, mode in MODES.items()}


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
        said.append(_LABELS.get(mode, OFF))
    return max(said, key=lambda one: SESSION_MODES.index(MODES[one]))
