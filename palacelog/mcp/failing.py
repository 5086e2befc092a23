"""What stopped a request, as the protocol tells it.

Protects what memory holds: an error that palacelog did not foresee reaches neither the client nor a
log with its own words, which may be of a text; a log names where it came from.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError

from domain.errors import InvalidInput, PalaceError, Refused, Unusable
from palacelog.mcp.asked import Asked

FORBIDDEN: Final = -32010
"""The error code of a refusal, among those that the protocol leaves to servers."""

_log = logging.getLogger("palacelog.mcp")


def told(error: PalaceError) -> MCPError:
    """An error of a request that is no call of a tool: code and help stand in both parts."""
    if isinstance(error, InvalidInput):
        code = INVALID_PARAMS
    else:
        code = FORBIDDEN if isinstance(error, Refused) else INTERNAL_ERROR
    return MCPError(code, str(error), error.as_answer())


def unforeseen(what: str, error: Exception) -> PalaceError:
    """The error that stands for one which palacelog did not foresee; where it came from is logged.

    Args:
        what: the method or tool.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "nowhere"
    _log.error("%s failed: %s in %s", what, type(error).__name__, where)
    return Unusable(
        "internal::unforeseen",
        "The operation failed in a way that palacelog did not foresee.",
        "Try again with the same idempotency key; if it fails again, report it with its log.",
    )


async def foreseen(ctx: Asked, call_next: CallNext) -> HandlerResult:
    """Around every request: nothing but an error of the protocol leaves it."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except PalaceError as error:
        raise told(error) from None
    except Exception as error:  # noqa: BLE001
        raise told(unforeseen(ctx.method, error)) from None
