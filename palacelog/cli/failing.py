"""What a person sees when a command stops, and what a script is told by the exit code.

Protects the promise that no traceback reaches anyone: whatever stops a command is one message, a
stable code and the cure, on standard error. May not hide a fault of the program itself.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Final

from domain.errors import Damaged, Incomplete, InvalidInput, PalaceError, Refused, Unusable
from palacelog.cli.output import console, encoded, visible

EXIT_CODES: Final[dict[type[PalaceError], int]] = {
    Refused: 1,
    InvalidInput: 2,
    Unusable: 3,
    Damaged: 4,
    Incomplete: 5,
}
INTERRUPTED: Final = 130
READER_GONE: Final = 141
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def exit_code(error: PalaceError) -> int:
    """The exit code of an error; the list stands in `palacelog --help`."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def report(error: PalaceError, *, as_json: bool) -> None:
    """Tell of an error on standard error: one line of JSON, or three lines for a person."""
    answer = error.as_answer()
    if as_json:
        sys.stderr.write(encoded(answer, indented=False).decode())
        return
    from rich.text import Text

    text = Text()
    text.append("error  ", style="bold red").append(visible(answer["error"]))
    text.append("\nhelp   ", style="bold").append(visible(answer["help"]))
    text.append("\ncode   ", style="bold").append(answer["code"], style="dim")
    console(to_stderr=True).print(text, soft_wrap=True)


def interrupted() -> PalaceError:
    """The error of a command that a person stopped."""
    return Refused(
        "cli::interrupted",
        "Interrupted.",
        "What was acknowledged is kept; run the command again to go on.",
    )


def in_the_callers_words(error: Exception, folder: Path) -> PalaceError:
    """The error for what stopped a command: of a file that the caller named, its name and reason.

    Args:
        folder: the palace's; a file elsewhere was named by the caller.
    """
    from replay.storage_errors import storage_error

    said = error.__cause__ if isinstance(error, PalaceError) else error
    if isinstance(said, OSError) and said.errno not in _FULL:
        named = said.filename2 or said.filename
        if named is not None and folder not in Path(str(named)).absolute().parents:
            return InvalidInput(
                "input::file",
                f"{named}: {said.strerror}.",
                "Name a file or folder that exists and that you may read and write.",
            )
    return storage_error(error)
