"""Configuration: the settings of a device that change what its history means, as recorded.

Protects replay from the settings file: a projection reads what was in force from the log and from
nowhere else, on any machine. The last record of a device, in canonical order, is in force. Pure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from domain.belief import Event, Fold, Held
from domain.canonical import canonical

CONFIGURATION_RECORDED: Final = "configuration_recorded"
UNSAID: Final[dict[str, Any]] = {"memory": {"mode": "flat"}}
"""What is in force where a device has recorded nothing."""


class Configured(NamedTuple):
    """What a device recorded last.

    Attributes:
        id: the device, without its incarnation.
        settings: canonical JSON.
        recorded_at: microseconds UTC.
    """

    id: str
    settings: str
    recorded_at: int
    rank: bytes
    op_id: str


def configured(held: Held, event: Event) -> Held:
    """configuration_recorded: it takes the place of what the device recorded before."""
    device = event.payload["device"]
    held.find(Configured, "id", device)
    said = canonical(event.payload["settings"]).decode()
    held.put(Configured(device, said, event.recorded_at, event.rank, event.op_id))
    return held


_EVOLVE: Final = {CONFIGURATION_RECORDED: configured}

CONFIGURATION: Final = Fold(
    name="configuration",
    kinds=(Configured,),
    indexes={Configured: ("id",)},
    members=lambda event: (event.payload["device"],),
    evolve=lambda held, event: _EVOLVE[event.tool](held, event),
)
