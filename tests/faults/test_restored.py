"""A log that was restored or copied goes on beside the one that it came from, and nothing forks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palacelog.bootstrap import House, create_palace, open_palace, restore_palace
from replay.backup import backup
from replay.outbox import export_outbox
from replay.receive import Replayed, replay_file
from tests.faults.judging import sound
from tests.faults.work import note, write
from tests.palaces import operations, state_of

BEFORE, AFTER = 5, 3


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[House]:
    create_palace(tmp_path / "primary", "primary")
    with open_palace(tmp_path / "primary") as primary:
        yield primary


@pytest.fixture
def folder(tmp_path: Path, primary: House) -> Path:
    """A palace that wrote on after a backup, and sent all of it to a primary."""
    create_palace(tmp_path / "ada", "ada")
    with open_palace(tmp_path / "ada") as ada:
        write(ada, "before", BEFORE)
        backup(ada.log, tmp_path / "backup")
        write(ada, "after", AFTER)
        assert sent(ada, primary).appended == BEFORE + AFTER
    return tmp_path / "ada"


def sent(source: House, target: House, device: str | None = None) -> Replayed:
    """Replay a whole shared stream into another palace."""
    path = source.folder.path.parent / "outbox.ndjson"
    with source.palace.reading() as reading:
        export_outbox(source.log, reading, path, device, 1)
    return replay_file(path, target.palace.writer)


def test_what_a_restored_device_writes_is_taken_by_who_knows_what_it_lost(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    restored = restore_palace(tmp_path / "backup", folder, replace=True)
    assert restored.device == "ada~2"
    with open_palace(folder) as ada:
        last = operations(ada)[-1].recorded
        write(ada, "since", 2)
        first, second = [one.header for one in operations(ada)[BEFORE:]]
        assert (first.origin_device, first.local_seq) == ("ada~2", 1)
        assert first.parent == {"device": "ada", "local_seq": BEFORE, "chain": last.chain.hex()}
        assert second.parent is None
        replayed = sent(ada, primary)
        assert (replayed.device, replayed.appended, replayed.stopped) == ("ada~2", 2, None)
        assert sent(ada, primary, "ada").duplicates == BEFORE

        back = sent(primary, ada, "ada")
        assert (back.duplicates, back.appended, back.stopped) == (BEFORE, AFTER, None)
        assert state_of(ada) == state_of(primary)
    assert len(sound(folder)) == BEFORE + AFTER + 2


def test_restoring_again_never_takes_an_incarnation_that_was_used_here(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    for number in (2, 3, 4):
        assert restore_palace(tmp_path / "backup", folder, replace=True).device == f"ada~{number}"
        with open_palace(folder) as ada:
            note(ada, f"life {number}")
            assert sent(ada, primary).appended == 1


def test_an_incarnation_that_never_wrote_hands_on_its_parent(folder: Path, tmp_path: Path) -> None:
    restore_palace(tmp_path / "backup", folder, replace=True)
    with open_palace(folder) as ada:
        backup(ada.log, tmp_path / "unused")
    assert restore_palace(tmp_path / "unused", folder, replace=True).device == "ada~3"
    with open_palace(folder) as ada:
        note(ada, "since")
        parent = operations(ada)[-1].header.parent
    assert parent is not None
    assert (parent["device"], parent["local_seq"]) == ("ada", BEFORE)
