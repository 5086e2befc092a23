"""What a command puts out: tables for a person at a terminal, one JSON document for a pipe.

Protects both readers: a pipe gets UTF-8 JSON whatever the locale is, and a terminal never obeys
control characters that came out of a memory. May not decide what is shown.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final

import orjson

from domain.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

STANDARD_OUTPUT: Final = "-"
# C0 without tab and line feed, C1, and what turns the direction of a line round.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def at_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at a stream."""
    return stream is not None and stream.isatty()


def encoded(document: Any, *, indented: bool = True) -> bytes:
    """JSON as UTF-8. What no UTF-8 can hold (a path of odd bytes) is replaced."""
    option = orjson.OPT_INDENT_2 if indented else 0
    try:
        return orjson.dumps(document, option=option) + b"\n"
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, indent=2 if indented else None)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode() + b"\n"


def emit(document: Any, *, indented: bool = True) -> None:
    """Write a JSON document to standard output; not indented it is one line.

    Raises:
        InvalidInput: `palacelog::output::failed`, standard output takes nothing.
    """
    _put([encoded(document, indented=indented)])


@contextlib.contextmanager
def written_to(file: Path, beside: Path) -> Iterator[Path]:
    """The path to write a file to that the caller named; for `-` one whose content goes to standard
    output once it is whole.

    Args:
        beside: the palace's folder, which what is not whole does not leave.

    Raises:
        InvalidInput: `palacelog::output::failed`, standard output takes nothing.
    """
    if str(file) != STANDARD_OUTPUT:
        yield file
        return
    with TemporaryDirectory(prefix=".export-", dir=beside) as place:
        path = Path(place) / "export"
        yield path
        with path.open("rb") as content:
            _put(iter(lambda: content.read(1 << 20), b""))


def show_export(as_json: bool, document: dict[str, Any], file: Path) -> None:
    """Put out what an export did, unless the export itself went to standard output."""
    if str(file) != STANDARD_OUTPUT:
        show(as_json, document)


def _put(content: Iterable[bytes]) -> None:
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        for part in content:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise InvalidInput(
            "output::failed",
            f"The answer could not be written: {error.strerror}.",
            "The command itself was carried out; send its output elsewhere.",
        ) from None


def show(as_json: bool, document: Any, view: Callable[[], RenderableType] | None = None) -> None:
    """Put out the answer of a command: the document in a pipe, a view of it at a terminal.

    Args:
        view: default the one that suits any answer, lists as tables.
    """
    if as_json:
        emit(document)
        return
    if view is not None:
        console().print(view())
        return
    from palacelog.cli.tables import answer

    console().print(answer(document))


def console(*, to_stderr: bool = False, quiet: bool = False) -> Console:
    """A terminal that shows what it is given, without reading markup or numbers into it."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # one way to end for tables and JSON alike

    return Screen(stderr=to_stderr, highlight=False, markup=False, emoji=False, quiet=quiet)


def visible(text: str) -> str:
    """A text with its control characters made visible, so that no terminal obeys them."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def counted(count: int, thing: str) -> str:
    """So many of a thing, as a person says it."""
    return f"{count or 'no'} {thing}{'' if count == 1 else 's'}"


def silence(stream: IO[str] | None) -> None:
    """Let what is still buffered go nowhere: its reader is gone, and the exit must be quiet."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)
