"""Where a text comes from: the argument, a file, standard input, or the editor.

Protects what a person has written: the gate is asked and the palace looked for before the editor
opens, and a text that could not be stored is kept. Stores nothing itself.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Final

import typer

from domain.errors import InvalidInput, PalaceError, invalid
from palacelog.cli import output
from palacelog.cli.from_models import Given
from palacelog.cli.invocation import Invocation

STANDARD_INPUT: Final = "-"
FromFile = Annotated[
    Path | None, typer.Option("--file", help="Read the text from here; - for standard input.")
]


@contextmanager
def filled(
    invocation: Invocation, tool: str, name: str, given: Given, file: Path | None
) -> Iterator[Given]:
    """What was given, with the text in it, for the call within.

    Args:
        name: the argument that is the text.

    Raises:
        InvalidInput: there is no text, or too many.
    """
    text = given.get(name)
    if file is not None and text is not None:
        raise invalid("--file", f"stands beside `{name}`", "Give one of the two.")
    if file is not None or text == STANDARD_INPUT:
        yield given | {name: _read(name, Path(STANDARD_INPUT if file is None else file))}
    elif text is not None:
        yield given
    elif output.at_terminal(sys.stdin) and output.at_terminal(sys.stdout):
        with _edited(invocation, tool, name) as written:
            yield given | {name: written}
    else:
        raise invalid(
            name,
            "is missing",
            "Give it as an argument or with --file; - stands for standard input.",
        )


def read(file: Path, name: str) -> bytes:
    """The bytes of a file or, for `-`, of standard input; no more of them than can be stored.

    Raises:
        InvalidInput: there is more.
    """
    from domain.operation import EVENT_BYTES_MAX

    if str(file) == STANDARD_INPUT:
        raw = sys.stdin.buffer.read(EVENT_BYTES_MAX + 1)
    else:
        with file.open("rb") as opened:
            raw = opened.read(EVENT_BYTES_MAX + 1)
    if len(raw) > EVENT_BYTES_MAX:
        raise invalid(name, f"is larger than {EVENT_BYTES_MAX} bytes", "Store it in parts.")
    return raw


def _read(name: str, file: Path) -> str:
    try:
        return read(file, name).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid(name, "is not UTF-8", "Convert it to UTF-8.") from None


@contextmanager
def _edited(invocation: Invocation, tool: str, name: str) -> Iterator[str]:
    _ask_first(invocation, tool)
    with NamedTemporaryFile(
        prefix="unstored-", suffix=".txt", dir=invocation.folder, delete=False
    ) as made:
        path = Path(made.name)
    try:
        _edit(path)
        text = _read(name, path).rstrip("\n")
        if not text.strip():
            path.unlink()
            raise invalid(name, "is empty, and nothing was stored", "Write a text and save it.")
        yield text
    except PalaceError as error:
        if path.exists() and path.stat().st_size:
            error.help += f" What you wrote is in {path}."
        else:
            path.unlink(missing_ok=True)
        raise
    path.unlink()


def _ask_first(invocation: Invocation, tool: str) -> None:
    """Stop before somebody writes in vain: where there is no palace, or the gate says no."""
    from domain.catalog import CATALOG
    from palacelog.folder import existing

    existing(invocation.folder)
    invocation.gate(tool, CATALOG[tool].operation_class)


def _edit(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
        reason = f"ended with code {code}"
    except (OSError, ValueError) as error:
        code, reason = 1, f"cannot be run: {error}"
    if code != 0:
        raise InvalidInput(
            "input::editor",
            f"The editor {editor!r} {reason}.",
            "Set EDITOR, or give the text as an argument.",
        )
