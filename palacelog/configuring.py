"""Recording the settings that change what history means, when a palace is opened.

Protects replay: nothing but the log says under which settings an operation was recorded. May not
record what is in force already, nor for a session that may not write, nor stand in the way of
opening a palace that can only be read.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import orjson

from domain.belief import Finds
from domain.configuration import CONFIGURATION, CONFIGURATION_RECORDED, UNSAID, Configured
from domain.errors import PalaceError
from domain.gate import FULL
from domain.identity import base_device
from domain.operation import Context, Draft
from palacelog.palace import Palace
from palacelog.settings import Settings
from replay.writer import Turn


def meaningful(settings: Settings) -> dict[str, Any]:
    """The settings that are recorded."""
    return {"memory": {"mode": settings.memory.mode}}


def record_configuration(palace: Palace, settings: Settings, context: Context) -> None:
    """Append the settings of this device where they differ from those in force.

    Raises:
        PalaceError: they differ, and cannot be recorded.
    """
    wanted, device = meaningful(settings), base_device(palace.log.about.device)
    if settings.session_mode != FULL or _in_force(palace, device) in (None, wanted):
        return

    def turn(at: Turn) -> None:
        if _standing(at.known.held(CONFIGURATION, device), device) != wanted:
            payload = {"device": device, "settings": wanted, "duplicate": False}
            at.append(Draft(CONFIGURATION_RECORDED, payload, asked={}, context=context))

    palace.writer.do(turn)


def _in_force(palace: Palace, device: str) -> dict[str, Any] | None:
    """What is in force, asked without a lock; None where it cannot be read now, as whoever reads
    next is told.
    """
    try:
        with palace.reading() as reading:
            return _standing(reading, device)
    except (PalaceError, sqlite3.Error, OSError):
        return None


def _standing(rows: Finds, device: str) -> dict[str, Any]:
    said = rows.find(Configured, "id", device)
    settings: dict[str, Any] = orjson.loads(said[-1].settings) if said else UNSAID
    return settings
