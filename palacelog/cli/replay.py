"""The command that takes in what other devices wrote.

Protects the person from half an answer: each file is told of, whatever became of the others, and
the exit code says whether anything is missing. Judges no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from domain.errors import InvalidInput, PalaceError, invalid
from domain.gate import WRITE
from palacelog.cli import output
from palacelog.cli.failing import exit_code, report
from palacelog.cli.invocation import asked_now
from palacelog.cli.progress import bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from palacelog.bootstrap import House
    from replay.receive import Replayed


class _File(NamedTuple):
    """What became of a file: it was gone through, or its form is wrong."""

    path: Path
    replayed: Replayed | None
    error: PalaceError | None


def replay(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Outbox files, in any order.")],
    receipt: Annotated[
        Path | None,
        typer.Option(help="Write here what the devices may take as acknowledged."),
    ] = None,
) -> None:
    """Replay outbox files into this palace: nothing lost, nothing doubled, nothing reordered.

    Each file is checked as a whole before any of it is applied, and goes on independently of the
    others. Replaying a file again changes nothing.

    Example:
      palacelog replay laptop.ndjson desktop.ndjson --receipt receipt.json
    """
    invocation = asked_now(context)
    invocation.gate("replay", WRITE)
    if receipt is not None and not receipt.absolute().parent.is_dir():
        raise invalid("--receipt", f"names {receipt.parent}, which is no folder")
    with invocation.house() as house:
        done = _all(house, files)
        passed = [one.replayed for one in done if one.replayed is not None]
        if receipt is not None and passed:
            _receipt(house, passed, receipt)
        document = {
            "files": [_line(one) for one in done],
            "log_id": house.log.log_id,
            "position": house.log.position(),
            "receipt": None if receipt is None or not passed else str(receipt),
        }
    if passed:
        output.show(invocation.as_json, document, lambda: _view(document))
    _stop_where_incomplete(done, passed, as_json=invocation.as_json)


def _all(house: House, files: Sequence[Path]) -> list[_File]:
    from replay.receive import replay_file

    done = []
    for path in files:
        with bar(path.name) as progress:
            try:
                replayed = replay_file(path, house.palace.writer, progress)
                done.append(_File(path, replayed, None))
            except PalaceError as error:
                done.append(_File(path, None, error))
                if not _about_the_file(error):
                    break
    return done


def _about_the_file(error: PalaceError) -> bool:
    """Whether the next file may fare better: the fault is not the palace's."""
    return isinstance(error, InvalidInput) or error.code.startswith("palacelog::replay::")


def _receipt(house: House, passed: Sequence[Replayed], path: Path) -> None:
    from replay.outbox import write_receipt

    with house.palace.reading() as reading:
        write_receipt(house.log, reading, passed, path)


def _stop_where_incomplete(
    done: Sequence[_File], passed: Sequence[Replayed], *, as_json: bool
) -> None:
    from replay.receive import incomplete

    errors = [one.error for one in done if one.error is not None]
    errors += [stopped for one in passed if (stopped := incomplete([one])) is not None]
    for error in errors:
        report(error, as_json=as_json)
    if errors:
        raise typer.Exit(max(map(exit_code, errors)))


def _line(file: _File) -> dict[str, Any]:
    if file.replayed is None:
        assert file.error is not None
        return {"file": str(file.path), "error": file.error.as_answer()}
    replayed = file.replayed
    return {
        "file": str(file.path),
        "device": replayed.device,
        "first": replayed.first,
        "appended": replayed.appended,
        "duplicates": replayed.duplicates,
        "upto": replayed.upto,
        "stopped": _stopped(replayed),
    }


def _stopped(replayed: Replayed) -> dict[str, Any] | None:
    if replayed.stopped is None:
        return None
    local_seq, outcome = replayed.stopped
    fields = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
    return {"at": local_seq, "outcome": type(outcome).__name__.lower()} | fields


def _view(document: dict[str, Any]) -> RenderableType:
    from palacelog.cli.tables import table

    columns = ["file", "device", "appended", "duplicates", "up to", "stopped because"]
    return table(columns, [_row(one) for one in document["files"]])


def _row(line: dict[str, Any]) -> list[Any]:
    name = Path(line["file"]).name
    if "error" in line:
        return [name, None, None, None, None, line["error"]["code"]]
    stopped = line["stopped"]
    why = None if stopped is None else f"{stopped['outcome']} at {stopped['at']}"
    return [name, line["device"], line["appended"], line["duplicates"], line["upto"], why]
