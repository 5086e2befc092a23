"""Diary entries that no palace would have written: refused where they arrive, with the reason; what
their device really wrote is taken afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain.errors import PalaceError
from domain.identity import diary_id, drawer_id
from domain.instants import EARLIEST, LATEST
from domain.operation import SCHEMA, Draft, record
from replay.outbox_file import OUTBOX_FORMAT, event_line, write_file
from replay.receive import replay_file
from replay.verify import verify
from tests.palaces import Device, Fleet, deliver, exported, fingerprint, receive

WING, ENTRY = "wing_scribe", "Rain."
HONEST: dict[str, Any] = {
    "drawer_id": diary_id(WING, 1, ENTRY),
    "wing": WING,
    "room": "diary",
    "content": ENTRY,
    "added_by": "scribe",
    "valid_from": 1,
    "metadata": {"topic": "weather"},
    "duplicate": False,
}


def in_wing(wing: str) -> dict[str, Any]:
    return {"wing": wing, "drawer_id": diary_id(wing, 1, ENTRY)}


FORGED: dict[str, dict[str, Any]] = {
    "valid_from": {"valid_from": EARLIEST - 1},
    "valid_from far": {"valid_from": LATEST + 2},
    "valid_from huge": {"valid_from": 2**62},
    "valid_from text": {"valid_from": "today"},
    "valid_from real": {"valid_from": 1.5},
    "valid_from bool": {"valid_from": True},
    "wing": in_wing("a/b"),
    "wing empty": in_wing(""),
    "wing padded": in_wing(" scribe"),
    "wing long": in_wing("w" * 129),
    "wing up": in_wing(".."),
    "wing control": in_wing("a\x1bb"),
    "room": {"room": "notes"},
    "room and id": {"room": "notes", "drawer_id": drawer_id(WING, "notes", ENTRY)},
    "room case": {"room": "Diary"},
    "drawer_id": {"drawer_id": diary_id(WING, 1, "Sun.")},
    "drawer_id form": {"drawer_id": drawer_id(WING, "diary", ENTRY)},
    "drawer_id wing": {"drawer_id": diary_id("wing_other", 1, ENTRY)},
    "topic": {"metadata": {"topic": 5}},
    "topic list": {"metadata": {"topic": ["weather"]}},
    "topic empty": {"metadata": {"topic": ""}},
    "topic long": {"metadata": {"topic": "t" * 129}},
    "topic control": {"metadata": {"topic": "a\x1b[2Jb"}},
    "smuggled": {"metadata": {"topic": "weather", "smuggled": 1}},
    "added_by": {"added_by": ""},
    "content": {"content": 5},
}


def alone(entry: dict[str, Any]) -> Draft:
    return Draft("diary_write", entry, {})


def with_a_checkpoint(entry: dict[str, Any]) -> Draft:
    payload = {"items": [], "dropped": [], "dedup_threshold": 0.9, "diary": entry}
    return Draft("checkpoint", payload | {"duplicate": False}, {})


def forged_file(device: Device, draft: Draft, path: Path) -> Path:
    """A file that goes on from what a device wrote with an event that it never wrote."""
    head = device.house.log.stream_head(device.name)
    event = record(
        draft, device=device.name, host=None, before=head, recorded_at=1, hlc=1, nonce=bytes(16)
    )
    about = {
        "format": OUTBOX_FORMAT,
        "schema": SCHEMA,
        "device": device.name,
        "from": head.local_seq + 1,
        "prev": head.chain.hex(),
    }
    write_file(path, about, [event_line(event)])
    return path


def replayed(file: Path, target: Device) -> int:
    return replay_file(file, target.house.palace.writer).appended


@pytest.mark.parametrize("draft", [alone, with_a_checkpoint])
def test_forged_entries_are_refused_and_the_honest_stream_is_taken_afterwards(
    fleet: Fleet, tmp_path: Path, draft: Callable[[dict[str, Any]], Draft]
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    bob.add_drawer(wing="home", room="notes", content="tea")
    deliver(bob.house, ada.house)
    before = fingerprint(ada.house)
    for forged, fields in FORGED.items():
        file = forged_file(bob, draft(HONEST | fields), tmp_path / "forged.ndjson")
        with pytest.raises(PalaceError) as caught:
            replayed(file, ada)
        told = caught.value.as_answer()
        assert told["code"] == "palacelog::replay::malformed"
        assert f"line 2: {'checkpoint' if draft is with_a_checkpoint else 'diary'}" in told["error"]
        assert forged.split()[0] in told["error"]
        assert fingerprint(ada.house) == before
    assert verify(ada.house.folder.log, ada.house.folder.views).findings == []

    bob.diary_write(agent_name="scribe", entry=ENTRY, topic="weather")
    (tmp_path / "honest.ndjson").write_bytes(exported(bob, tmp_path))
    assert replayed(tmp_path / "honest.ndjson", ada) == 1
    [entry] = ada.diary_read(agent_name="scribe")["entries"]
    assert (entry["content"], entry["topic"]) == (ENTRY, "weather")
    fleet.agrees()


def test_an_entry_of_another_form_but_well_formed_is_taken_and_shown(
    fleet: Fleet, tmp_path: Path
) -> None:
    """An odd entry is no forged one: nothing that is shown breaks on it."""
    ada, bob = fleet.devices("ada", "bob")
    odd = [
        HONEST | {"metadata": {}, "valid_from": LATEST + 1},
        HONEST | {"metadata": {"topic": None}, "valid_from": EARLIEST},
        HONEST | {"content": "", "drawer_id": diary_id(WING, 1, "")},
    ]
    for entry in odd:
        file = forged_file(bob, alone(entry), tmp_path / "odd.ndjson")
        assert replayed(file, ada) == 1
        for device in (ada, bob):
            recorded = ada.house.log.stream("bob", 0, 100)[-1]
            receive(device.house, recorded)
    for device in (ada, bob):
        shown = device.diary_read(agent_name="scribe", as_of="9999-12-31")
        assert {one["topic"] for one in shown["entries"]} == {"general", "weather"}
        device.list_drawers(as_of="9999-12-31")
        device.wake_up(agent_name="scribe")
        device.get_drawer(drawer_id=HONEST["drawer_id"])
        device.history(drawer_id=HONEST["drawer_id"])
    fleet.agrees()
