"""The commands about the outbox: what no primary has acknowledged, and how it gets there.

Protects what waits: exporting changes nothing, and only a receipt empties the outbox. Judges no
event.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from domain.gate import READ, WRITE
from palacelog.cli import output
from palacelog.cli.invocation import Invocation, asked_now
from palacelog.cli.progress import bar, busy

app = typer.Typer(help="Look at what no primary has acknowledged, and take it there by file.",
                  no_args_is_help=True)  # fmt: skip


@app.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="At most so many operations.")] = 20,
) -> None:
    """List what waits of this device's operations, in order.

    Example:
      palacelog outbox list
    """
    invocation = asked_now(context)
    invocation.gate("outbox list", READ)
    document = _waiting(invocation, limit)
    output.show(invocation.as_json, document)


@app.command()
def export(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="Written whole or not at all; - for standard output.")
    ],
    device: Annotated[
        str | None, typer.Option(help="Another stream that this log holds; default this device's.")
    ] = None,
    first: Annotated[
        int | None,
        typer.Option("--from", help="From this number on; default behind the acknowledged."),
    ] = None,
) -> None:
    """Write what waits to a file that another palace can replay. Nothing is acknowledged by it.

    Example:
      palacelog outbox export laptop.ndjson
    """
    invocation = asked_now(context)
    invocation.gate("outbox export", READ)
    from replay.outbox import export_outbox

    with (
        invocation.house() as house,
        house.palace.reading() as reading,
        output.written_to(file, house.folder.path) as path,
        busy("Exporting"),
    ):
        named = {"file": file, "device": device, "from": first}
        with invocation.noting(house.palace.trail, "outbox export", **named) as seen:
            done = export_outbox(house.log, reading, path, device, first)
            seen.update(reading.checkpoint._asdict(), total=done.events)
    document = {
        "file": str(file),
        "device": done.device,
        "first": done.first,
        "events": done.events,
    }
    output.show_export(invocation.as_json, document, file)


@app.command()
def acknowledge(
    context: typer.Context,
    receipt: Annotated[Path, typer.Argument(help="What `palacelog replay --receipt` wrote.")],
) -> None:
    """Record a primary's receipt: what it names waits no longer.

    Example:
      palacelog outbox acknowledge receipt.json
    """
    invocation = asked_now(context)
    invocation.gate("outbox acknowledge", WRITE)
    from replay import outbox

    with invocation.house() as house:
        done = outbox.acknowledge(house.log, house.palace.writer, receipt)
    lines = [one._asdict() for one in done]
    document = lines[-1] | {"acknowledged": lines}
    shown = document if len(lines) > 1 else lines[0]
    output.show(invocation.as_json, document if invocation.as_json else shown)


@app.command()
def fork(
    context: typer.Context,
    after: Annotated[
        int, typer.Option(min=0, help="The last number in common, as `palacelog replay` said.")
    ],
    device: Annotated[
        str | None, typer.Option(help="The stream that forked; default this device's.")
    ] = None,
) -> None:
    """Leave a fork: this palace was copied, and a primary took what the other copy wrote.

    What was written here since moves to the device's next incarnation and waits in its outbox; what
    the other copy wrote can be replayed here. The log as it was is set aside as a backup first.

    Example:
      palacelog outbox fork --after 12
    """
    invocation = asked_now(context)
    invocation.gate("outbox fork", WRITE)
    from palacelog.system import System
    from replay.fork import leave_fork

    with invocation.parts() as parts, bar("Making the views") as progress:
        done = leave_fork(
            parts.log,
            parts.generations,
            parts.lock,
            stream=device or parts.log.about.device,
            after=after,
            log_id=System().log_id(),
            progress=progress,
        )
    document = {
        "moved": done.events,
        "log_id": done.log_id,
        "device": done.device,
        "set_aside": str(done.aside),
    }
    output.show(invocation.as_json, document)


def _waiting(invocation: Invocation, limit: int) -> dict[str, Any]:
    from domain.identity import base_device
    from domain.instants import show
    from projections.outbox import pending, streams

    with (
        invocation.house() as house,
        house.palace.reading() as reading,
        invocation.noting(house.palace.trail, "outbox list", limit=limit) as seen,
    ):
        found = streams(reading.cursor, base_device(reading.device))
        waiting = [one for stream in found for one in pending(reading.cursor, stream.device, limit)]
        shown = [one._asdict() for one in waiting[:limit]]
        total = sum(one.head - one.acknowledged for one in found)
        seen.update(reading.checkpoint._asdict(), pending=shown, total=total)
    return {
        "device": reading.device,
        "streams": [one._asdict() | {"pending": one.head - one.acknowledged} for one in found],
        "pending": [
            one._asdict() | {"recorded_at": show(one.recorded_at)} for one in waiting[:limit]
        ],
    }
