"""The application: a route for each operation of the catalog, for any of them, and for the log.

Protects one contents page: paths, methods and the OpenAPI document come from the catalog. A read
whose arguments fit an address is a GET, `delete_thing` with the thing's id alone a DELETE of it,
anything else a POST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any, Final

import anyio
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from domain.catalog import CATALOG, Entry
from domain.errors import PalaceError
from domain.gate import SET_MODE
from palacelog.bootstrap import House
from palacelog.rest import document
from palacelog.rest.arguments import fits_an_address
from palacelog.rest.calling import Calling, in_thread, on_error, on_fault, on_no_route, told
from palacelog.rest.entries import Entries
from replay.storage_errors import in_words

_ABOUT: Final = "Memory of agents, as an event log. The same operations as over MCP."
# A span or a metric of the framework's would carry addresses, and with them queries and names.
_NO_TELEMETRY: Final[Any] = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
_DELETE: Final = "delete_"
Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]


def make_app(
    house: House, *, others: Mapping[str, Any] | None = None, lifespan: Lifespan | None = None
) -> FastAPI:
    """The application over an open palace.

    Args:
        others: applications at paths of their own.
        lifespan: what is there while it serves.
    """
    app = FastAPI(
        title="palacelog",
        version=version("palacelog"),
        description=_ABOUT,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
        lifespan=lifespan,
    )
    app.add_exception_handler(PalaceError, on_error)
    app.add_exception_handler(HTTPException, on_no_route)
    app.add_exception_handler(Exception, on_fault)
    calling = Calling(house)
    for entry in CATALOG.values():
        if entry.name != SET_MODE:  # a request is no session that could remember it
            _add_operation(app, calling, entry)
    _add_any(app, calling)
    _add_log(app, Entries(calling))
    _add_health(app, house)
    _add_document(app)
    for path, other in (others or {}).items():
        app.router.routes.append(Route(path, endpoint=other, include_in_schema=False))
    return app


def _add_operation(app: FastAPI, calling: Calling, entry: Entry) -> None:
    in_address = not entry.writes and fits_an_address(entry)
    thing = entry.name.removeprefix(_DELETE)
    placed: tuple[str, ...] = ()
    path, method = f"/api/{entry.name}", "GET" if in_address else "POST"
    if entry.name != thing and f"{thing}_id" in entry.asks.model_fields:
        placed = (f"{thing}_id",)
        path, method = f"/api/{thing}/{{{thing}_id}}", "DELETE"

    async def operation(request: Request) -> Response:
        return await calling.operation(
            request, entry, entry.name, in_address=in_address, **request.path_params
        )

    app.add_api_route(
        path,
        operation,
        methods=[method],
        operation_id=entry.name,
        summary=entry.summary,
        tags=[entry.operation_class],
        response_class=Response,
        responses=document.described(entry.answers),
        openapi_extra=document.of_operation(entry, placed=placed, in_address=in_address),
    )


def _add_any(app: FastAPI, calling: Calling) -> None:
    async def operation(request: Request) -> Response:
        tool = request.path_params["tool"]
        return await calling.operation(request, None, tool, in_address=False)

    app.add_api_route(
        "/api/call/{tool}",
        operation,
        methods=["POST"],
        operation_id="call",
        summary="Do any operation.",
        tags=["call"],
        response_class=Response,
        responses=document.any_answer(),
        openapi_extra=document.of_any(),
    )


def _add_log(app: FastAPI, entries: Entries) -> None:
    for path, endpoint, name, summary, described, asked in (
        ("/api/log", entries.page, "log_entries", "The log in pages.",
         document.described(document.EntriesAnswer), document.of_log("after", "limit")),
        ("/api/log/stream", entries.stream, "log_stream", "The log as it grows.",
         document.stream_answer(), document.of_log("after", "Last-Event-ID")),
    ):  # fmt: skip
        app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            operation_id=name,
            summary=summary,
            tags=["log"],
            response_class=Response,
            responses=described,
            openapi_extra=asked,
        )


def _add_health(app: FastAPI, house: House) -> None:
    limiter = anyio.CapacityLimiter(1)

    async def healthz() -> Response:
        await in_thread(in_words()(house.log.check_file), limiter)
        return told({"status": "ok"})

    app.add_api_route("/healthz", healthz, methods=["GET"], include_in_schema=False)


def _add_document(app: FastAPI) -> None:
    limiter = anyio.CapacityLimiter(1)

    def openapi() -> dict[str, Any]:
        app.openapi_schema = app.openapi_schema or document.made(app)
        return app.openapi_schema

    async def openapi_json() -> Response:
        return told(await in_thread(openapi, limiter))

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_api_route("/api/openapi.json", openapi_json, methods=["GET"], include_in_schema=False)
