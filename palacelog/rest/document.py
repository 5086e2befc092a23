"""The OpenAPI document: what the framework derives from the routes, and the models of arguments.

Protects the document from drifting: requests and answers are described by the operations' models
alone, errors by one model everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from domain.catalog import CATALOG, Entry
from domain.gate import SESSION_MODES
from domain.identity import NAME_CHARACTERS_MAX
from palacelog.http.visitors import (
    AGENT_HEADER,
    CASTLE_MODE_HEADER,
    MODE_HEADER,
    SESSION_HEADER,
)
from palacelog.rest.arguments import KEY_HEADER, kinds
from palacelog.sessions import KEY

_SCHEMAS: Final = "#/components/schemas/"
_STATUSES: Final = {
    400: "What was given cannot be read; the error names the field.",
    401: "No token that this server knows.",
    403: "The session mode does not allow it, or the page that asks is foreign.",
    404: "What is named does not exist here.",
    408: "The body did not come in time.",
    409: "A rule or a conflict said no.",
    413: "Larger than this server takes.",
    415: "The body is not said to be JSON.",
    421: "This server does not answer for that host.",
    429: "Too many requests.",
    500: "The palace is damaged, or the server failed.",
    503: "The palace cannot be used now.",
    504: "Not answered in time; repeat it with its idempotency key.",
}
_NONE_FREE: Final = "The palace cannot be used now, or as many streams are open as may be."
_KEY: Final = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
_LOG: Final = {"limit": {"minimum": 1, "maximum": 200}}
Document = dict[str, Any]
Responses = dict[int | str, Document]


class EntryLine(BaseModel):
    """An operation in the log, by its identifiers."""

    position: int
    op_id: str
    tool: str
    device: str
    stream: str
    local_seq: int
    recorded_at: str


class EntriesAnswer(BaseModel):
    """A page of the log, in order of arrival."""

    log_id: str
    position: int = Field(description="Of the newest entry of this log.")
    entries: list[EntryLine]
    after: int = Field(description="Where the next page begins; the page after the last is empty.")


class ErrorAnswer(BaseModel):
    """What went wrong, and what to do about it."""

    error: str
    code: str = Field(description="Stable: palacelog::area::reason.")
    help: str
    position: int = Field(0, description="The position in the log that it is about, if any.")


def described(answers: type[BaseModel]) -> Responses:
    """How an answer and each error of a route are described."""
    return _ERRORS | {200: _json("Done.", _reference(answers))}


def headers() -> list[Document]:
    """The headers that every request may carry."""
    schema = {"type": "string", "enum": list(SESSION_MODES)}
    said = "How much memory this request may use; what the caller was allowed where it is absent."
    name = {"type": "string", "minLength": 1, "maxLength": NAME_CHARACTERS_MAX}
    return [
        *(_parameter(one, "header", schema, said) for one in (MODE_HEADER, CASTLE_MODE_HEADER)),
        _parameter(AGENT_HEADER, "header", name, "Which agent asks, as `why` and the trail tell."),
        _parameter(SESSION_HEADER, "header", name, "In which session of it: reads and writes."),
        _parameter("x-request-id", "header", {"type": "string"}, "Comes back with the answer."),
    ]


def of_operation(entry: Entry, *, placed: tuple[str, ...] = (), in_address: bool) -> Document:
    """What the framework cannot derive of an operation's route.

    Args:
        placed: arguments that stand in the path.
        in_address: whether the others stand in the query.
    """
    parameters = headers()
    if KEY in entry.asks.model_fields:
        parameters.append(_parameter(KEY_HEADER, "header", _KEY, "See idempotency_key."))
    schema = entry.asks.model_json_schema()
    properties = schema.get("properties", {})
    parameters += [
        _parameter(name, "path", _plain(properties[name]), "", required=True) for name in placed
    ]
    if not in_address:
        optional = not set(schema.get("required", ())) - set(placed)
        return {"parameters": parameters, "requestBody": _body(entry, placed, optional)}
    for name in kinds(entry.name):
        said, needed = properties[name].get("description", ""), name in schema.get("required", ())
        parameters.append(_parameter(name, "query", _plain(properties[name]), said, needed))
    return {"parameters": parameters}


def of_any() -> Document:
    """The route that takes every operation."""
    tool = _parameter("tool", "path", {"type": "string", "enum": list(CATALOG)}, "", required=True)
    schema = {"anyOf": [_reference(one.asks) for one in CATALOG.values()]}
    key = _parameter(KEY_HEADER, "header", _KEY, "Of a write.")
    return {
        "parameters": [tool, *headers(), key],
        "requestBody": {"required": False, "content": {"application/json": {"schema": schema}}},
    }


def any_answer() -> Responses:
    """The answers of the route that takes every operation."""
    schema = {"anyOf": [_reference(one.answers) for one in CATALOG.values()]}
    return _ERRORS | {200: _json("Done.", schema)}


def stream_answer() -> Responses:
    """The answer of the live stream."""
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    none_free = _json(_NONE_FREE, _reference(ErrorAnswer)) | {
        "headers": {"Retry-After": {"description": "In seconds.", "schema": {"type": "integer"}}}
    }
    return _ERRORS | {
        200: {"description": "Events without an end.", "content": content},
        503: none_free,
    }


def of_log(*names: str) -> Document:
    """The routes of the log itself: what they ask for is numbers."""
    schema = {"type": "integer", "minimum": 0, "maximum": 10**17}
    places = {"Last-Event-ID": "header"}
    asked = [
        _parameter(name, places.get(name, "query"), schema | _LOG.get(name, {}), "")
        for name in names
    ]
    return {"parameters": asked + headers()}


def made(app: FastAPI) -> Document:
    """The whole document."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (ErrorAnswer, "serialization"),
        (EntriesAnswer, "serialization"),
    ]
    for entry in CATALOG.values():
        models += [(entry.asks, "validation"), (entry.answers, "serialization")]
    _, found = models_json_schema(models, ref_template=_SCHEMAS + "{model}")
    document["components"] = {"schemas": found["$defs"]}
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}, {}]
    return document


def _body(entry: Entry, placed: tuple[str, ...], optional: bool) -> Document:
    schema: Document = _reference(entry.asks)
    if placed:
        whole = entry.asks.model_json_schema()
        rest = {k: v for k, v in whole["properties"].items() if k not in placed}
        schema = {"type": "object", "properties": rest, "additionalProperties": False}
    if optional:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {"required": not optional, "content": {"application/json": {"schema": schema}}}


def _json(said: str, schema: Document) -> Document:
    return {"description": said, "content": {"application/json": {"schema": schema}}}


def _reference(model: type[BaseModel]) -> Document:
    return {"$ref": _SCHEMAS + model.__name__}


def _plain(part: Mapping[str, Any]) -> Document:
    """The schema of an argument in an address, where nothing is null."""
    [inner, *_] = [one for one in part.get("anyOf", [part]) if one.get("type") != "null"]
    return {key: value for key, value in inner.items() if key not in ("title", "default")}


def _parameter(
    name: str, place: str, schema: Mapping[str, Any], said: str, required: bool = False
) -> Document:
    made = {"name": name, "in": place, "required": required, "schema": dict(schema)}
    return made | ({"description": said} if said else {})


_ERRORS: Final[Responses] = {
    status: _json(said, _reference(ErrorAnswer)) for status, said in _STATUSES.items()
}
