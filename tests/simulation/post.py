"""What travels between the palaces of a history: outbox files and receipts, kept for ever, so that
any of them can arrive late, twice, in another order, or only in part.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from domain.acceptance import Gap
from domain.errors import InvalidInput, Refused
from replay.outbox import acknowledge, export_outbox, write_receipt
from replay.receive import Replayed, replay_file
from tests.simulation.fleet import Fleet, Replica

_NOT_NOW = {
    "palacelog::outbox::other_device",
    "palacelog::outbox::other_stream",
    "palacelog::outbox::receipt_gap",
}


class Letter(NamedTuple):
    """An outbox file of `source`: `count` events of a device's shared stream, from number `first`
    on.
    """

    source: str
    path: Path
    device: str
    first: int
    count: int


class Post:
    """Every letter and receipt of a history."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._folder = fleet.folder / "post"
        self._folder.mkdir()
        self._written = 0
        self.letters: list[Letter] = []
        self.receipts: list[Path] = []

    def export(
        self, source: Replica, device: str | None = None, first: int | None = None
    ) -> Letter:
        """Write a stream that `source` holds to a letter; default its own outbox."""
        path = self._path("ndjson")
        with source.reading() as reading:
            made = export_outbox(source.house.log, reading, path, device, first)
        assert path.read_bytes().count(b"\n") == made.events + 2
        letter = Letter(source.name, path, made.device, made.first, made.events)
        self.letters.append(letter)
        return letter

    def part_of(self, letter: Letter, count: int) -> Letter:
        """A whole letter with only the first events of another."""
        path = self._path("ndjson")
        lines = letter.path.read_bytes().splitlines(keepends=True)[: 1 + count]
        last = {"count": count, "sha256": sha256(b"".join(lines)).hexdigest()}
        path.write_bytes(b"".join(lines) + orjson.dumps(last) + b"\n")
        part = letter._replace(path=path, count=count)
        self.letters.append(part)
        return part

    def deliver(self, letter: Letter, target: Replica) -> Replayed:
        """Replay a letter: it is taken as a whole, or nothing of it for want of what comes
        before.
        """
        held = target.held(letter.device)
        replayed = replay_file(letter.path, target.house.palace.writer)
        if letter.count and letter.first > held + 1:
            assert replayed.stopped == (letter.first, Gap(held + 1))
            assert replayed.appended == replayed.duplicates == 0
            return replayed
        end = letter.first + letter.count - 1
        assert replayed.stopped is None, replayed
        assert replayed.upto == end
        assert replayed.appended == (max(0, end - held) if letter.count else 0)
        assert replayed.appended + replayed.duplicates == letter.count
        assert target.held(letter.device) == held + replayed.appended
        if target is self._fleet.primary:
            self.receipts.append(self.receipt(target, [replayed]))
        return replayed

    def deliver_cut(self, letter: Letter, target: Replica, bytes_kept: int) -> None:
        """A letter that was cut off on its way is refused, and nothing of it is applied."""
        path = self._path("ndjson")
        content = letter.path.read_bytes()
        path.write_bytes(content[: bytes_kept % len(content)])
        before = target.house.log.head()
        with pytest.raises(InvalidInput) as caught:
            replay_file(path, target.house.palace.writer)
        assert caught.value.code == "palacelog::replay::malformed"
        assert target.house.log.head() == before

    def receipt(self, primary: Replica, replayed: list[Replayed]) -> Path:
        path = self._path("receipt")
        with primary.reading() as reading:
            write_receipt(primary.house.log, reading, replayed, path)
        return path

    def acknowledge(self, receipt: Path, target: Replica) -> bool:
        """Tell a device what a receipt says; False where it is another's, of a lost life, or begins
        behind what the device knows.
        """
        before = target.house.log.head()
        try:
            told = acknowledge(target.house.log, target.house.palace.writer, receipt)
        except Refused as refusal:
            refused = refusal.code
        else:
            refused = None
            assert all(one.duplicate for one in told) == (target.house.log.head() == before)
        if refused is not None:
            assert refused in _NOT_NOW
            assert target.house.log.head() == before
        return refused is None

    def _path(self, suffix: str) -> Path:
        self._written += 1
        return self._folder / f"{self._written:04d}.{suffix}"
