"""The owner of a palace within a process that has it open for something else.

Protects the machine from a second process: where another owns the palace now, it is taken over as
soon as that one ends. May not take it twice: who was told to make way for another version has done
so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from palacelog.late import LatePalace
from palacelog.owner.lock import take_lock
from palacelog.owner.process import Owner

LOOK_SECONDS: Final = 2.0


@asynccontextmanager
async def owning(path: Path, palace: LatePalace) -> AsyncIterator[None]:
    """Serve the sessions of a palace within, from now on or from when nobody else does.

    Args:
        path: its folder.
    """
    owner, stopped = await _begun(path, palace), asyncio.Event()
    waiting = asyncio.create_task(_taken_over(path, palace, stopped)) if owner is None else None
    try:
        yield
    finally:
        stopped.set()
        if waiting is not None:
            owner = await waiting
        if owner is not None:
            owner.end()
            await owner.ended()


async def _taken_over(path: Path, palace: LatePalace, stopped: asyncio.Event) -> Owner | None:
    """The owner, once nobody else is it; None where that was not before the end."""
    owner = None
    while owner is None and not await _within(LOOK_SECONDS, stopped):
        owner = await _begun(path, palace)
    return owner


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def _begun(path: Path, palace: LatePalace) -> Owner | None:
    """The owner; None where it cannot be this process now."""
    try:
        lock = take_lock(path)
        if lock is None:
            return None
        owner = Owner(path, palace, lock)
        await owner.begin()
    except OSError:
        return None
    return owner
