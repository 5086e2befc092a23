"""Standard input and output, taken for a protocol before anything else is loaded.

Protects the protocol: from then on until the process ends, whoever prints, in Python or below it,
prints to standard error, what stands in a buffer at the end included. The standard library alone.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


class Wire(NamedTuple):
    """The descriptors that standard input and output were."""

    read: int
    write: int


def take() -> Wire:
    """Take both streams; nobody else can reach the client any more."""
    sys.stdout.flush()
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
