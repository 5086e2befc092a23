"""Resources: what memory holds under addresses, and the completion of their parts.

Protects the gate and the trail: a resource is read by an operation of the catalog, and so is what
completes an argument. Lists of resources are static and show nothing that memory holds.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from domain.errors import InvalidInput, PalaceError
from palacelog.mcp.prompts import LESSONS, WING

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Does one operation for the request at hand."""

OVERVIEW: Final = "palacelog://overview"
ENTRY: Final = "palacelog://log/{position}"
DRAWER: Final = "palacelog://drawer/{drawer_id}"
_ENTRY, _DRAWER = UriTemplate.parse(ENTRY), UriTemplate.parse(DRAWER)
_POSITION: Final = re.compile("[0-9]{1,18}")
_JSON: Final = "application/json"
_COMPLETED_MAX: Final = 100
_LOOKED_AT: Final = 200
"""How many of the newest are looked at for a completion."""
NOT_FOUND_OF_SESSIONS: Final = -32002
"""The error code of an unknown resource, up to 2025-11-25."""

RESOURCES: Final = (
    types.Resource(
        uri=OVERVIEW,
        name="overview",
        title="Overview of the palace",
        description="Wings, rooms and counts, and the state of the palace.",
        mime_type=_JSON,
    ),
)
TEMPLATES: Final = (
    types.ResourceTemplate(
        uri_template=ENTRY,
        name="log_entry",
        title="Log entry",
        description="One operation of the log, by its position.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        uri_template=DRAWER,
        name="drawer",
        title="Drawer",
        description="One drawer with its text, by its id.",
        mime_type=_JSON,
    ),
)


async def read(uri: str, call: Call) -> types.ReadResourceResult:
    """Read one resource.

    Raises:
        InvalidInput: `palacelog::input::unknown_resource`.
        PalaceError: as the operation that reads it.
    """
    if uri == OVERVIEW:
        taxonomy = await call("get_taxonomy", {})
        answer = {"taxonomy": taxonomy, "status": await call("status", {})}
    elif (found := _DRAWER.match(uri)) is not None:
        answer = await call("get_drawer", {"drawer_id": found["drawer_id"]})
    elif (found := _ENTRY.match(uri)) is not None and _POSITION.fullmatch(str(found["position"])):
        answer = await call("show_operation", {"position": int(str(found["position"]))})
    else:
        raise InvalidInput(
            "input::unknown_resource",
            "There is no resource of this address.",
            f"Read {OVERVIEW}, {ENTRY} or {DRAWER}.",
        )
    text = orjson.dumps(answer).decode()
    content = types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    # Stale at once: a session may turn memory down, and what is deleted is hidden, at any time.
    return types.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")


def not_found(uri: str, error: PalaceError, protocol_version: str) -> MCPError | None:
    """The protocol's error for a resource that is not there; None where an error is another.

    Args:
        protocol_version: of the request.
    """
    if not isinstance(error, InvalidInput) and not error.code.endswith("::unknown"):
        return None
    modern = protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if modern else NOT_FOUND_OF_SESSIONS
    return MCPError(code, f"Resource not found. {error}", {"uri": uri} | error.as_answer())


async def complete(asked: types.CompleteRequestParams, call: Call) -> types.CompleteResult:
    """What an argument of a resource or a prompt may go on with.

    Raises:
        InvalidInput: `palacelog::input::unknown_reference`.
        PalaceError: as the operation that lists it.
    """
    begun, of = asked.argument.value, (_referred(asked.ref), asked.argument.name)
    if of == (DRAWER, "drawer_id"):
        listed = await call("list_drawers", {"limit": _LOOKED_AT})
        values = [one["id"] for one in listed["drawers"]]
    elif of == (ENTRY, "position"):
        listed = await call("list_operations", {"limit": _LOOKED_AT})
        values = [str(one["position"]) for one in listed["operations"]]
    elif of == ("file_memories", WING):
        values = [one["wing"] for one in (await call("list_wings", {}))["wings"]]
    else:
        values = []
    fitting = [value for value in values if value.startswith(begun)]
    shown = fitting[:_COMPLETED_MAX]
    return types.CompleteResult(
        completion=types.Completion(values=shown, has_more=len(fitting) > len(shown))
    )


def _referred(ref: types.ResourceTemplateReference | types.PromptReference) -> str:
    named = ref.name if isinstance(ref, types.PromptReference) else ref.uri
    if named not in (OVERVIEW, ENTRY, DRAWER, *LESSONS):
        raise InvalidInput(
            "input::unknown_reference",
            f"There is no prompt or resource {named!r}.",
            "Take one that is listed.",
        )
    return named
