"""The hybrid logical clock: one integer that never runs back and stays close to the wall clock.

Protects the order of a device's own events whatever its clock does, and keeps a device whose clock
is far ahead from outranking everyone else: the log that receives an event bounds its order. Reads
no clock: instants (microseconds UTC) are arguments. Source of the idea: Kulkarni et al., "Logical
Physical Clocks" (2014); the packing (milliseconds << 16) and the bounds are DESIGN sections 3 and
13.
"""

from __future__ import annotations

from typing import Final

AHEAD_US_MAX: Final = 5 * 60 * 1_000_000


def stamp_at(instant: int) -> int:
    """The stamp of an instant in microseconds, with an empty counter."""
    return (instant // 1000) << 16


def next_hlc(last: int, now: int) -> int:
    """The stamp of a new event: after `last`, the highest stamp of any event held, and not before
    `now`.
    """
    return max(last + 1, stamp_at(now))


def received_order(previous: int, claim: int, logged_at: int) -> int:
    """The order that a log gives to an event it receives.

    Args:
        previous: order of the event before it in its stream, or -1 for the first.
        claim: the order that the sender says it has, else its hlc.
        logged_at: when this log stores it, in microseconds.
    """
    return max(previous + 1, min(claim, stamp_at(logged_at + AHEAD_US_MAX)))
