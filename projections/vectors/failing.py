"""How an embedder fails: what it raises, told apart from faults of a text, of files and of ours.

Protects the cause from being mistaken: an embedder may raise anything, and only around a call of it
is that its failure.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from domain.errors import Damaged, PalaceError, Unusable

OF_NO_TEXT: Final = (PalaceError, sqlite3.Error, OSError)
"""What may be raised while a text is embedded and is not the text's fault."""
_SHUT: Final = "cannot schedule new futures after"
"""What threads say that take no more work, as the process ends."""


@contextmanager
def failures_told(short: str) -> Iterator[None]:
    """An embedder, by its short form, is called within: what it raises is told as its failure.

    Raises:
        Unusable: `palacelog::vectors::embedder_failed`.
    """
    try:
        yield
    except OF_NO_TEXT:
        raise
    except Exception as error:
        raise Unusable(
            "vectors::embedder_failed",
            f"{short} failed ({type(error).__name__}: {error}).",
            "`palacelog doctor` looks at its files.",
        ) from error


def passes(error: Exception) -> bool:
    """Whether a text may well be embedded another time."""
    return isinstance(error, MemoryError) or str(error).startswith(_SHUT)


def cannot_go_on(short: str, error: Exception) -> Unusable:
    """The error for trouble that passes."""
    return Unusable(
        "vectors::embedder_failed",
        f"{short} cannot go on now ({type(error).__name__}: {error}).",
        "Run `palacelog embed` when there is more memory; what was embedded is kept.",
    )


def other_files(wanted: str, found: str) -> Damaged:
    """The error for an embedder whose files were replaced by another's, by their short forms."""
    return Damaged(
        "vectors::other_embedder",
        f"The index was made by {wanted}; under that name there is now {found}.",
        "Run `palacelog reindex` to change to the embedder that is there, or put the old files"
        " back.",
    )
