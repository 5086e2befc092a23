"""Embedding in several processes, killed and closed at bad moments: no text is embedded twice."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from palacelog.bootstrap import House, create_palace, open_palace
from projections.vectors.embedder import Chunk, Passage
from projections.vectors.models import PACKAGED
from projections.vectors.static import StaticEmbedder
from tests.faults.processes import Child, Report

PLACE = {"wing": "home", "room": "notes"}
WORDLLAMA = {"vectors": {"embedder": "wordllama", "wait_seconds": 60}}
TEXTS = 200
THERE = PACKAGED["wordllama"]


class Mortal(StaticEmbedder):
    """Counts the texts that it embeds, and dies with its process after some."""

    embedded = 0
    dies_after = TEXTS + 1

    def passages(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        if Mortal.embedded + len(chunks) > Mortal.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        Mortal.embedded += len(chunks)
        return super().passages(chunks)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A palace with texts that nobody embedded."""
    create_palace(tmp_path / "ada", "ada")
    with open_palace(tmp_path / "ada") as house:
        items = [PLACE | {"content": f"Note {number}"} for number in range(TEXTS)]
        house.palace.call("checkpoint", {"items": items})
    return tmp_path / "ada"


def rows(house: House) -> int:
    embedding = house.palace.embedding
    assert embedding is not None
    with house.palace.reading() as reading:
        index = embedding.indexes.counting(reading)
    return 0 if index is None else index.cache.last()


def embed_until(report: Report, folder: Path, dies_after: int) -> None:
    Mortal.dies_after = dies_after
    PACKAGED["wordllama"] = THERE._replace(make=Mortal)
    with open_palace(folder, **WORDLLAMA) as house:
        told = house.palace.call("embed", {})
        report("embedded", told["embedded"], Mortal.embedded, told["remaining"])


@contextmanager
def locked(gate: Path) -> Iterator[IO[str]]:
    with gate.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def embed_together(report: Report, folder: Path, gate: Path) -> None:
    PACKAGED["wordllama"] = THERE._replace(make=Mortal)
    with open_palace(folder, **WORDLLAMA) as house:
        house.palace.call("search", {"query": "Note", "ranking": "lexical"})
        report("ready")
        with gate.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
        told = house.palace.call("embed", {})
        report("embedded", told["embedded"], Mortal.embedded, told["remaining"])


@pytest.mark.parametrize(("dies_after", "kept"), [(0, 0), (16, 16), (70, 48), (199, 112)])
def test_what_was_committed_before_a_kill_is_not_embedded_again(
    folder: Path, dies_after: int, kept: int
) -> None:
    """V13; slices are of 16, 32, 64 and 128 texts."""
    with Child(embed_until, folder, dies_after) as child:
        assert list(child.reports()) == []
        child.ended(-signal.SIGKILL)
    with open_palace(folder, **WORDLLAMA) as house:
        assert rows(house) == kept
    with Child(embed_until, folder, TEXTS) as child:
        assert child.finishes() == [("embedded", TEXTS - kept, TEXTS - kept, 0)]
    with open_palace(folder, **WORDLLAMA) as house:
        assert rows(house) == TEXTS


def test_two_processes_at_once_embed_each_text_once(folder: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with (
        locked(gate) as closed,
        Child(embed_together, folder, gate) as one,
        Child(embed_together, folder, gate) as other,
    ):
        one.wait_for("ready")
        other.wait_for("ready")
        fcntl.flock(closed, fcntl.LOCK_UN)
        found = [*one.wait_for("embedded"), *other.wait_for("embedded")]
    told, counted = (found[0], found[3]), (found[1], found[4])
    assert sum(told) == sum(counted) == TEXTS
    assert told == counted
    with open_palace(folder, **WORDLLAMA) as house:
        assert rows(house) == TEXTS
        assert house.palace.call("embed", {})["embedded"] == 0


def close_at_once(report: Report, folder: Path) -> None:
    with open_palace(folder, embeds=True, vectors={"embedder": "minilm"}) as house:
        house.palace.call("add_drawer", PLACE | {"content": "one more"})
    report("threads", sorted(one.name for one in threading.enumerate() if one.is_alive()))


def test_a_palace_that_is_closed_while_its_thread_embeds_leaves_no_thread(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Child(close_at_once, folder) as child:
        [(_, threads)] = child.finishes()
    assert not [name for name in threads if name.startswith("palacelog")]
    assert "Traceback" not in capfd.readouterr().err


def test_two_palaces_on_one_folder_in_one_process_share_what_is_embedded(folder: Path) -> None:
    with open_palace(folder, **WORDLLAMA) as one, open_palace(folder, **WORDLLAMA) as other:
        assert one.palace.call("embed", {"limit": 150})["embedded"] == 150
        assert other.palace.call("embed", {})["embedded"] == 50
        for house in (one, other):
            found = house.palace.call("search", {"query": "Note 7", "ranking": "semantic"})
            assert found["degraded"] is None
            assert found["hits"][0]["snippet"] == "Note 7"
        one.palace.call("add_drawer", PLACE | {"content": "An elephant in Africa"})
        found = other.palace.call("search", {"query": "elephants", "ranking": "semantic"})
        assert found["hits"][0]["snippet"] == "An elephant in Africa"
