"""The command that follows the log.

Protects the writers: it asks for the newest position a few times a second, and reads what is new in
reads of their own, so that nobody ever waits for it. A read for the gate, noted with what it shows.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from domain.gate import READ
from palacelog.cli import output
from palacelog.cli.invocation import Invocation, Parts, asked_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from domain.operation import Operation

POLL_SECONDS: Final = 0.2
AT_ONCE: Final = 200
_ABOUT_CHARACTERS: Final = 200


def tail(
    context: typer.Context,
    lines: Annotated[int, typer.Option(min=0, help="Begin with so many of the newest.")] = 10,
    once: Annotated[
        bool, typer.Option("--once", help="End then, instead of waiting for more.")
    ] = False,
) -> None:
    """Follow the log: each operation in one line, as soon as it is recorded. Ctrl-C ends it.

    In a pipe, or with --json, each line is a JSON object.

    Examples:
      palacelog tail
      palacelog tail --once --lines 50
      palacelog tail --lines 0 | jq --unbuffered .tool
    """
    invocation = asked_now(context)
    invocation.gate("tail", READ)
    with invocation.parts() as parts:
        position = max(0, parts.log.position() - lines)
        pause = threading.Event()
        while True:
            position = _shown(invocation, parts, position, lines)
            if once:
                return
            pause.wait(POLL_SECONDS)
            parts.log.check_file()


def _shown(invocation: Invocation, parts: Parts, position: int, lines: int) -> int:
    """Show what is behind a position, and note what is shown; the position that was reached."""
    while new := parts.log.after(position, AT_ONCE):
        position = new[-1].position
        with invocation.noting(parts.trail, "tail", lines=lines) as seen:
            seen.update(log_id=parts.log.log_id, position=position, operations=_ids(new))
        for operation in new:
            if invocation.as_json:
                output.emit(_line(operation), indented=False)
            else:
                _print(operation)
    return position


def _ids(operations: Sequence[Operation]) -> list[dict[str, str]]:
    return [{"op_id": one.header.op_id} for one in operations]


def _print(operation: Operation) -> None:
    from palacelog.cli.found import event_line

    shown = event_line(_line(operation), _about(operation.payload()))
    output.console().print(shown, no_wrap=True, overflow="ellipsis", crop=True)


def _line(operation: Operation) -> dict[str, Any]:
    """The header of an event, in the words of `list_operations`."""
    from domain.instants import show

    header = operation.header
    named = ("stream", "local_seq", "agent", "client", "session", "principal", "session_mode")
    return {
        "position": operation.position,
        "op_id": header.op_id,
        "tool": header.tool,
        "device": header.origin_device,
        "host": header.origin_host,
        **{name: getattr(header, name) for name in named},
        "memory_mode": header.memory_mode,
        "recorded_at": show(header.recorded_at),
        "logged_at": show(operation.logged_at),
    }


def _about(payload: dict[str, Any]) -> str:
    """What an operation is about, as far as its payload says so in common words."""
    place = "/".join(str(payload[name]) for name in ("wing", "room") if payload.get(name))
    if "subject" in payload:
        objects = [payload.get(name) for name in ("object", "old_object", "new_object")]
        said = " > ".join(str(one) for one in objects if one is not None)
        return f"{payload['subject']} {payload['predicate']} {said}"[:_ABOUT_CHARACTERS]
    if payload.get("content") is not None:
        return f"{place}: {payload['content'][:_ABOUT_CHARACTERS]}"
    if payload.get("items"):
        return output.counted(len(payload["items"]), "item")
    if payload.get("operations"):
        return output.counted(len(payload["operations"]), "operation")
    return str(payload.get("drawer_id") or place)
