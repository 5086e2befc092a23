"""A request, and the session that it belongs to.

Protects the line between transports and what is served: a transport says which session a request is
of, and nothing else of it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import anyio
from mcp.server.context import ServerRequestContext

from domain.identity import NAME_CHARACTERS_MAX
from palacelog.caller import Report
from palacelog.sessions import Session

Asked = ServerRequestContext[Any, Any]
SessionOf = Callable[[Asked], Session]

MODE_META: Final = "palacelog/mode"
"""In `_meta` of a request: the session mode of this request alone."""
PROGRESS_META: Final = "progress_token"


class Numbered(NamedTuple):
    """What a transport says of a line that it may bring again.

    Attributes:
        key: the same each time; the idempotency key of a write that brings none.
    """

    key: str


def client_of(asked: Asked) -> str | None:
    """The program that asks, as `name/version`; None where it does not say."""
    about = asked.session.client_params
    if about is None:
        return None
    told = "/".join(part for part in (about.client_info.name, about.client_info.version) if part)
    return told.replace("\0", "")[:NAME_CHARACTERS_MAX] or None


async def called(
    asked: Asked,
    session: Session,
    tool: str,
    arguments: dict[str, Any],
    *,
    limiter: anyio.CapacityLimiter | None = None,
) -> dict[str, Any]:
    """Do one operation for a request. It runs on where the client gives up: it happens once or not
    at all.

    Args:
        limiter: of the calls that are done at once; None for the one of the process.

    Raises:
        PalaceError: as `Session.call`.
    """
    client = client_of(asked)
    if client is not None:
        session.name(client)
    meta = asked.meta or {}
    key = asked.request.key if isinstance(asked.request, Numbered) else None
    # What the session chooses while this call waits for its turn is not for this call.
    who = session.asked(meta.get(MODE_META))
    call = partial(session.call, tool, arguments, who, key)
    if PROGRESS_META not in meta:
        return await anyio.to_thread.run_sync(call, limiter=limiter)
    return await _with_progress(asked, call, limiter)


_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)


async def _with_progress(
    asked: Asked,
    call: Callable[[Report], dict[str, Any]],
    limiter: anyio.CapacityLimiter | None,
) -> dict[str, Any]:
    """Tell the client how far a call has come while it runs."""
    send, receive = anyio.create_memory_object_stream[tuple[int, int]](math.inf)
    loop = asyncio.get_running_loop()

    def take(done: int, total: int) -> None:
        with suppress(*_GONE):
            send.send_nowait((done, total))

    def report(done: int, total: int) -> None:
        # The thread that works never waits for a client that reads slowly.
        loop.call_soon_threadsafe(take, done, total)

    def work() -> dict[str, Any] | Exception:
        try:
            return call(report)
        except Exception as error:  # noqa: BLE001
            return error

    async def tell() -> None:
        with receive, suppress(*_GONE):
            async for done, total in receive:
                await asked.session.report_progress(done, total)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        with send:
            answer = await anyio.to_thread.run_sync(work, limiter=limiter)
    if isinstance(answer, Exception):
        raise answer
    return answer
