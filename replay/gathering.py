"""Notes that wait to be written, and polls: one call repeated in quick succession.

Protects the trail from a client that asks the same thing every second: what it asks first is
written at once, and its repeats as one event that counts them. Holds no lock and does no I/O.
"""

from __future__ import annotations

from typing import Any, Final

from domain.trail import Note

QUICKLY: Final = 10_000_000
"""A call repeated within so many microseconds is one more of the same poll."""
HELD: Final = 60_000_000
"""Repeats are written after so many microseconds at the latest."""
WAITING_MAX: Final = 10_000
POLLS_MAX: Final = 256


class _Poll:
    """The calls of one key.

    Attributes:
        note: what is not written yet of them.
        last_at: when the newest was, microseconds UTC.
        written: whether an earlier part was.
    """

    __slots__ = ("last_at", "note", "written")

    def __init__(self, note: Note) -> None:
        self.note: Note | None = note
        self.last_at = note.last_at
        self.written = False

    def due(self, now: int) -> bool:
        """Whether its note is to be written."""
        if self.note is None:
            return False
        return (
            not self.written
            or now - self.last_at > QUICKLY
            or not 0 <= now - self.note.first_at <= HELD
        )


class Gathering:
    """Notes by what they are repeats of, in the order in which they came first."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._polls: dict[Any, _Poll] = {}
        self.waiting = 0

    def add(self, note: Note) -> bool:
        """Take a note in; False where too many wait already."""
        key = note.key()
        poll = self._polls.get(key)
        if poll is not None and note.first_at - poll.last_at <= QUICKLY:
            poll.last_at = max(poll.last_at, note.last_at)
            if poll.note is not None:
                poll.note.repeat(note)
                return True
        if self.waiting >= WAITING_MAX:
            return False
        self.waiting += 1
        if poll is None:
            self._polls[key] = _Poll(note)
        elif poll.note is None:
            poll.note, poll.last_at = note, note.last_at
        else:
            # The poll is over, and its repeats still wait: they keep their place.
            self._polls[key, poll.last_at] = poll
            self._polls[key] = _Poll(note)
        return True

    def take(self, now: int, *, everything: bool) -> list[Note]:
        """Give out the notes that are due, oldest first.

        Args:
            now: microseconds UTC.
            everything: also repeats that are held back.
        """
        taken = []
        for key, poll in list(self._polls.items()):
            if poll.note is not None and (everything or poll.due(now)):
                taken.append(poll.note)
                poll.note, poll.written = None, True
            if poll.note is None and now - poll.last_at > QUICKLY:
                del self._polls[key]
        self.waiting -= len(taken)
        self._forget_the_oldest()
        taken.sort(key=lambda note: note.first_at)
        return taken

    def _forget_the_oldest(self) -> None:
        idle = [key for key, poll in self._polls.items() if poll.note is None]
        for key in idle[: max(0, len(idle) - POLLS_MAX)]:
            del self._polls[key]
