"""What the conformance suite expects of a server beside palacelog's own: tools, resources and
prompts of fixed names, added to the real server for the suite alone.

Protects the real server: whatever the suite did not name is answered by it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.uri_template import UriTemplate

from palacelog.mcp.asked import Asked

Answer = types.CallToolResult | types.InputRequiredResult
Tool = Callable[[Asked, types.CallToolRequestParams], Awaitable[Answer]]

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8"
    "z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
STEP_SECONDS: Final = 0.05
"""The suite asks for pauses between notifications."""
STATE: Final = "round-1"


def with_fixtures(server: Server[Any]) -> Server[Any]:
    """The real server with the suite's fixtures in it."""
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name)
    )
    _Fixtures(server)
    return server


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _said(*content: types.ContentBlock) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def _embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=resource)


IMAGE: Final = types.ImageContent(type="image", data=PNG, mime_type="image/png")
AUDIO: Final = types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")
FIXED: Final = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        IMAGE,
        _embedded(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    ],
}


def _object(required: bool = True, **properties: Any) -> dict[str, Any]:
    needed = {"required": list(properties)} if required else {}
    return {"type": "object", "properties": properties} | needed


def _form(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def _sample(text: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=_text(text))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return types.CreateMessageRequest(params=params)


STRING: Final = {"type": "string"}
NAME: Final = _form("What is your name?", _object(name=STRING))
CONFIRM: Final = _form("Please confirm", _object(ok={"type": "boolean"}))
ROOTS: Final = types.ListRootsRequest()

DEFAULTS: Final = _object(
    required=False,
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
_TITLED: Final = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
_OPTIONS: Final = [f"option{n}" for n in (1, 2, 3)]
ENUMS: Final = _object(
    required=False,
    untitledSingle={"type": "string", "enum": _OPTIONS},
    titledSingle={"type": "string", "oneOf": _TITLED},
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
)

# tools


async def _broken(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    text = _text("This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


async def _logging(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    for step in ("started", "processing data", "completed"):
        await asked.session.send_log_message(
            "info", f"Tool {step}", related_request_id=asked.request_id
        )
        await asyncio.sleep(STEP_SECONDS)
    return _said(_text("Logged."))


async def _progress(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    for done in (0, 50, 100):
        await asked.session.report_progress(done, 100)
        await asyncio.sleep(STEP_SECONDS)
    return _said(_text("Done."))


async def _sampling(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    request = _sample((given.arguments or {}).get("prompt", ""), 100)
    result = await asked.session.send_request(
        request, types.CreateMessageResult, metadata=_of(asked)
    )
    return _said(_text(f"LLM response: {result.content}"))


def _eliciting(message: str, schema: dict[str, Any]) -> Tool:
    async def elicit(asked: Asked, given: types.CallToolRequestParams) -> Answer:
        said = (given.arguments or {}).get("message", message)
        result = await asked.session.elicit_form(said, schema, asked.request_id)
        content = json.dumps(result.content)
        return _said(_text(f"Elicitation completed: action={result.action}, content={content}"))

    return elicit


def _of(asked: Asked) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=asked.request_id)


def _requiring(requests: Mapping[str, Any], state: str | None = None) -> Tool:
    """A tool that wants answers to requests, and then tells them."""

    async def require(asked: Asked, given: types.CallToolRequestParams) -> Answer:
        responses = given.input_responses or {}
        if requests.keys() <= responses.keys() and given.request_state == state:
            return _said(_text(f"state-ok: {', '.join(requests)}"))
        return types.InputRequiredResult(input_requests=dict(requests), request_state=state)

    return require


async def _rounds(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    if given.request_state is None:
        step = {"step1": _form("Step 1: What is your name?", _object(name=STRING))}
        return types.InputRequiredResult(input_requests=step, request_state=STATE)
    if given.request_state == STATE:
        step = {"step2": _form("Step 2: What is your favorite color?", _object(color=STRING))}
        return types.InputRequiredResult(input_requests=step, request_state="round-2")
    return _said(_text("Done."))


async def _of_capabilities(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    declared = asked.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, Any] = {}
    if declared.elicitation is not None:
        requests["user_name"] = NAME
    if declared.sampling is not None:
        requests["greeting"] = _sample("Generate a greeting", 50)
    return types.InputRequiredResult(input_requests=requests, request_state=STATE)


async def _missing(asked: Asked, given: types.CallToolRequestParams) -> Answer:
    declared = asked.session.client_capabilities or types.ClientCapabilities()
    if declared.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling.",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return _said(_text("Sampling is there."))


TOOLS: Final[Mapping[str, Tool]] = {
    "test_error_handling": _broken,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_sampling": _sampling,
    "test_elicitation": _eliciting("", _object(username=STRING, email=STRING)),
    "test_elicitation_sep1034_defaults": _eliciting("Who are you?", DEFAULTS),
    "test_elicitation_sep1330_enums": _eliciting("Choose.", ENUMS),
    "test_streaming_elicitation": _requiring({"user_name": NAME}),
    "test_missing_capability": _missing,
    "test_input_required_result_elicitation": _requiring({"user_name": NAME}),
    "test_input_required_result_sampling": _requiring(
        {"capital_question": _sample("What is the capital of France?", 100)}
    ),
    "test_input_required_result_list_roots": _requiring({"client_roots": ROOTS}),
    "test_input_required_result_request_state": _requiring({"confirm": CONFIRM}, STATE),
    "test_input_required_result_tampered_state": _requiring({"confirm": CONFIRM}, STATE),
    "test_input_required_result_multiple_inputs": _requiring(
        {
            "user_name": NAME,
            "greeting": _sample("Generate a greeting", 50),
            "client_roots": ROOTS,
        },
        STATE,
    ),
    "test_input_required_result_multi_round": _rounds,
    "test_input_required_result_capabilities": _of_capabilities,
}

# resources and prompts

TEMPLATE: Final = UriTemplate.parse("test://template/{id}/data")
RESOURCES: Final = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", PNG),
    "test://watched-resource": ("text/plain", "Watched."),
}
PROMPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
CONTEXT: Final = _form("What context should the prompt use?", _object(context=STRING))


def _prompted(name: str, given: Mapping[str, str]) -> list[types.ContentBlock]:
    if name == "test_prompt_with_arguments":
        arguments = ", ".join(f"{key}='{value}'" for key, value in given.items())
        return [_text(f"Prompt with arguments: {arguments}")]
    if name == "test_prompt_with_embedded_resource":
        text = "Embedded resource content for testing."
        return [
            _embedded(given["resourceUri"], "text/plain", text),
            _text("Please process the embedded resource above."),
        ]
    if name == "test_prompt_with_image":
        return [IMAGE, _text("Please analyze the image above.")]
    return [_text("This is a simple prompt for testing.")]


class _Fixtures:
    """Stands before the handlers of a server."""

    def __init__(self, server: Server[Any]) -> None:
        self._real: dict[str, Any] = {}
        for method, (params, handler) in {
            "tools/list": (types.PaginatedRequestParams, self.list_tools),
            "tools/call": (types.CallToolRequestParams, self.call_tool),
            "resources/list": (types.PaginatedRequestParams, self.list_resources),
            "resources/templates/list": (types.PaginatedRequestParams, self.list_templates),
            "resources/read": (types.ReadResourceRequestParams, self.read_resource),
            "prompts/list": (types.PaginatedRequestParams, self.list_prompts),
            "prompts/get": (types.GetPromptRequestParams, self.get_prompt),
            "completion/complete": (types.CompleteRequestParams, self.complete),
            "resources/subscribe": (types.SubscribeRequestParams, self.subscribe),
            "resources/unsubscribe": (types.UnsubscribeRequestParams, self.subscribe),
        }.items():
            real = server.get_request_handler(method)
            if real is not None:
                self._real[method] = real.handler
            server.add_request_handler(method, params, handler)

    async def list_tools(self, asked: Asked, given: Any) -> types.ListToolsResult:
        result = await self._real["tools/list"](asked, given)
        named = [
            types.Tool(name=name, description="For the suite.", input_schema={"type": "object"})
            for name in (*FIXED, *TOOLS)
        ]
        return types.ListToolsResult(tools=result.tools + named)

    async def call_tool(self, asked: Asked, given: types.CallToolRequestParams) -> Any:
        if given.name in FIXED:
            return _said(*FIXED[given.name])
        tool = TOOLS.get(given.name, self._real["tools/call"])
        return await tool(asked, given)

    async def list_resources(self, asked: Asked, given: Any) -> types.ListResourcesResult:
        result = await self._real["resources/list"](asked, given)
        named = [
            types.Resource(uri=uri, name=uri.rpartition("/")[2], description="For the suite.")
            for uri in RESOURCES
        ]
        return types.ListResourcesResult(resources=result.resources + named)

    async def list_templates(self, asked: Asked, given: Any) -> types.ListResourceTemplatesResult:
        result = await self._real["resources/templates/list"](asked, given)
        named = types.ResourceTemplate(uri_template=str(TEMPLATE), name="data")
        return types.ListResourceTemplatesResult(
            resource_templates=[*result.resource_templates, named]
        )

    async def read_resource(self, asked: Asked, given: types.ReadResourceRequestParams) -> Any:
        uri = given.uri
        if (found := TEMPLATE.match(uri)) is not None:
            data = {"id": found["id"], "templateTest": True, "data": f"Data for ID: {found['id']}"}
            made: Any = types.TextResourceContents(
                uri=uri, mime_type="application/json", text=json.dumps(data)
            )
        elif uri not in RESOURCES:
            return await self._real["resources/read"](asked, given)
        else:
            mime_type, content = RESOURCES[uri]
            made = (
                types.TextResourceContents(uri=uri, mime_type=mime_type, text=content)
                if mime_type == "text/plain"
                else types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=content)
            )
        return types.ReadResourceResult(contents=[made])

    async def list_prompts(self, asked: Asked, given: Any) -> types.ListPromptsResult:
        result = await self._real["prompts/list"](asked, given)
        named = [
            types.Prompt(
                name=name,
                description="For the suite.",
                arguments=[types.PromptArgument(name=one, required=True) for one in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=result.prompts + named)

    async def get_prompt(self, asked: Asked, given: types.GetPromptRequestParams) -> Any:
        if given.name not in PROMPTS:
            return await self._real["prompts/get"](asked, given)
        if given.name == "test_input_required_result_prompt" and not given.input_responses:
            return types.InputRequiredResult(input_requests={"user_context": CONTEXT})
        return types.GetPromptResult(
            messages=[
                types.PromptMessage(role="user", content=content)
                for content in _prompted(given.name, given.arguments or {})
            ]
        )

    async def complete(self, asked: Asked, given: types.CompleteRequestParams) -> Any:
        if getattr(given.ref, "name", None) in PROMPTS:
            values = [one for one in ("paris", "park") if one.startswith(given.argument.value)]
            return types.CompleteResult(completion=types.Completion(values=values))
        return await self._real["completion/complete"](asked, given)

    async def subscribe(self, asked: Asked, given: Any) -> types.EmptyResult:
        return types.EmptyResult()
