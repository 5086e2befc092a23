"""The outboxes in fixtures/: any order of arrival, whole or in pieces, gives the golden state; and
they tell what they are there to tell. The settings beside them are read, or refused by name.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.errors import InvalidInput
from fixtures.making.fleet import Clock, Told
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.settings import SETTINGS_FILE, Settings, load
from projections.digests import digests
from replay.outbox_file import Incoming, read_events, read_head
from replay.receive import replay_file

FIXTURES = Path(__file__).parents[2] / "fixtures"
OUTBOXES = FIXTURES / "outboxes"
DEVICES = ("laptop", "desktop", "workshop")
STREAMS = (*DEVICES, "primary")
ORDERS = list(permutations(DEVICES))
LATER = 1_780_000_000_000_000  # 2026-05-28, later than every stamp in the fixtures


def golden_state() -> dict[str, str]:
    golden = orjson.loads((FIXTURES / "golden/schema-1/digests.json").read_bytes())
    return {area: sums["state"] for area, sums in golden.items() if isinstance(sums, dict)}


def outbox(device: str) -> Path:
    return OUTBOXES / f"{device}.ndjson"


@contextmanager
def fresh_primary(folder: Path) -> Iterator[House]:
    """An empty palace, long after everything was written."""
    clock = Clock()
    clock.now = LATER
    machine = Told(clock, "fresh")
    create_palace(folder, "gathered", system=machine)
    with open_palace(folder, system=machine) as house:
        yield house


def digests_of(house: House) -> dict[str, Any]:
    with house.palace.reading() as reading:
        return digests(reading.cursor)


def state_of(house: House) -> dict[str, str]:
    """The areas of the golden state; those that were added later are empty."""
    areas = {area: sums for area, sums in digests_of(house).items() if isinstance(sums, dict)}
    golden = golden_state()
    assert all(int(sums["full"], 16) == 0 for area, sums in areas.items() if area not in golden)
    return {area: areas[area]["state"] for area in golden}


def deliver(path: Path, house: House) -> tuple[int, int]:
    """Replay a file that must be taken as a whole; how many events were new, and how many not."""
    replayed = replay_file(path, house.palace.writer)
    assert replayed.stopped is None, replayed
    return replayed.appended, replayed.duplicates


def piece(path: Path, first: int, count: int, target: Path) -> Path:
    """A part of an outbox file as a file of its own."""
    head, *lines = path.read_bytes().splitlines(keepends=True)[:-1]
    fields = orjson.loads(head) | {"from": first}
    if first > 1:
        events = read_events(path)
        fields["prev"] = next(
            one.recorded.chain.hex() for one in events if one.recorded.header.local_seq == first - 1
        )
    content = b"".join([orjson.dumps(fields) + b"\n", *lines[first - 1 : first - 1 + count]])
    told = content.count(b"\n") - 1
    last = {"count": told, "sha256": sha256(content).hexdigest()}
    target.write_bytes(content + orjson.dumps(last) + b"\n")
    return target


def told() -> list[Incoming]:
    return [incoming for device in STREAMS for incoming in read_events(outbox(device))]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_order_of_the_files_gives_the_golden_state(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    # The primary's own stream comes once before, between and after the others.
    at = ORDERS.index(order) % 4
    with fresh_primary(tmp_path / "gathered") as house:
        for device in (*order[:at], "primary", *order[at:]):
            assert deliver(outbox(device), house)[1] == 0
        assert state_of(house) == golden_state()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_pieces_of_the_files_in_turn_give_the_golden_state(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    left = {device: [1, len(list(read_events(outbox(device))))] for device in STREAMS}
    with fresh_primary(tmp_path / "gathered") as house:
        while left:
            device = chance.choice(sorted(left))
            first, total = left[device]
            count = min(chance.randint(1, 60), total - first + 1)
            path = piece(outbox(device), first, count, tmp_path / "piece.ndjson")
            assert deliver(path, house) == (count, 0)
            left[device][0] += count
            if first + count > total:
                del left[device]
        assert state_of(house) == golden_state()


def test_a_file_that_comes_twice_changes_nothing(tmp_path: Path) -> None:
    with fresh_primary(tmp_path / "gathered") as house:
        new, _ = deliver(outbox("workshop"), house)
        before = house.log.head(), digests_of(house)
        assert deliver(outbox("workshop"), house) == (0, new)
        assert (house.log.head(), digests_of(house)) == before


def test_each_outbox_is_the_whole_stream_of_its_device() -> None:
    for device in STREAMS:
        head = read_head(outbox(device))
        assert (head.device, head.first, head.prev) == (device, 1, bytes(32))
    for device in DEVICES:
        assert len(list(read_events(outbox(device)))) >= 300


OF_THE_FIRST_RELEASE = {
    *("add_drawer", "update_drawer", "supersede_drawer", "delete_drawer"),
    *("kg_add", "kg_invalidate", "kg_supersede", "kg_declare_predicate"),
}


def test_outboxes_tell_of_every_operation_and_of_every_hand() -> None:
    events = told()
    headers = [one.recorded.header for one in events]
    assert {one.tool for one in headers} == OF_THE_FIRST_RELEASE
    assert {one.target for one in headers} == {None, "known", "unverified"}
    assert sum(one.idempotency_key is not None for one in headers) >= 10
    assert len({one.agent for one in headers}) >= 5
    payloads = [orjson.loads(one.recorded.payload or b"{}") for one in events]
    named = Counter(name for payload in payloads for name in payload)
    for name in ("tags", "metadata", "source_file", "source_drawer_id", "confidence", "valid_to"):
        assert named[name], f"no event has {name}"
    for name in ("revives", "supersedes", "duplicate", "hidden", "held", "added_by"):
        assert named[name], f"no event has {name}"


@pytest.mark.parametrize(
    ("script", "sign"),
    [
        ("Chinese", "潮"),
        ("Japanese", "の"),
        ("Korean", "다"),
        ("Arabic", "م"),
        ("Russian", "ж"),
        ("German", "ß"),
        ("French", "œ"),
        ("Spanish", "ñ"),
        ("emoji", "🍊"),
        ("emoji of several", "\u200d"),
    ],
)
def test_outboxes_hold_texts_in(script: str, sign: str) -> None:
    texts = [orjson.loads(one.recorded.payload or b"{}").get("content", "") for one in told()]
    assert any(sign in text for text in texts), script


def test_a_clock_that_went_wrong_is_in_the_outbox() -> None:
    events = list(read_events(outbox("workshop")))
    recorded = [one.recorded.header.recorded_at for one in events]
    stamps = [one.recorded.header.hlc for one in events]
    day = 24 * 3600 * 1_000_000
    assert min(b - a for a, b in pairwise(recorded)) < -20 * day // 24
    assert stamps == sorted(set(stamps)), "a device's own order is kept"
    orders = [one.claim or one.recorded.header.hlc for one in events]
    assert orders == sorted(set(orders))
    ahead = [one for one in events if one.claim is not None]
    assert ahead, "the primary has bounded no stamp"
    assert all((one.claim or 0) < one.recorded.header.hlc for one in ahead)


def test_the_folder_stays_small() -> None:
    size = sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.suffix != ".pyc")
    assert size < 3_100_000


# settings


def settings_in(folder: str) -> list[Path]:
    found = sorted((FIXTURES / "settings" / folder).glob("*.toml"))
    assert found
    return found


@pytest.fixture
def palace_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that puts a settings file into a folder, as a palace has it."""
    for name in ("ZONE", "ROLE", "MODE", "AGENT", "CLIENT", "SESSION", "PRINCIPAL"):
        monkeypatch.delenv(f"PALACELOG_{name}", raising=False)
    others = ("LOCK_TIMEOUT_SECONDS", "AUDIT__READS", "AUDIT__RETENTION_DAYS", "VECTORS__EMBEDDER")
    for name in others:
        monkeypatch.delenv(f"PALACELOG_{name}", raising=False)

    def put(path: Path) -> Path:
        (tmp_path / SETTINGS_FILE).write_bytes(path.read_bytes())
        return tmp_path

    return put


EXPECTED: dict[str, dict[str, Any]] = {
    "audit": {"audit": {"reads": "digest", "retention_days": 30}},
    "defaults": {},
    "laptop": {
        "role": "edge",
        "zone": "Europe/Berlin",
        "agent": "scribe",
        "client": "editor",
        "principal": "mira",
    },
    "primary": {"role": "primary", "zone": "UTC", "lock_timeout_seconds": 120.0},
    "reader": {"session_mode": "read_only", "zone": "Asia/Tokyo", "session": "印刷"},
}


@pytest.mark.parametrize("path", settings_in("valid"), ids=lambda path: path.stem)
def test_settings_are_read(path: Path, palace_with: Any) -> None:
    fields = Settings.model_fields
    defaults = {name: field.default for name, field in fields.items()} | {
        "audit": {"reads": "full", "retention_days": 90},
        "memory": {"mode": "flat"},
        "vectors": fields["vectors"].default.model_dump(),
        "serve": fields["serve"].default.model_dump(),
    }
    assert load(palace_with(path)).model_dump() == defaults | EXPECTED[path.stem]


@pytest.mark.parametrize("path", settings_in("broken"), ids=lambda path: path.stem)
def test_settings_that_cannot_be_are_refused_by_name(path: Path, palace_with: Any) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    assert first.startswith("# names: ")
    with pytest.raises(InvalidInput) as caught:
        load(palace_with(path))
    assert caught.value.code == "palacelog::settings::invalid"
    for name in first.removeprefix("# names: ").split():
        assert name in caught.value.message


def test_what_is_given_wins_over_the_environment_and_that_over_the_file(
    palace_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = palace_with(FIXTURES / "settings/valid/laptop.toml")
    monkeypatch.setenv("PALACELOG_AGENT", "pilot")
    monkeypatch.setenv("PALACELOG_ROLE", "primary")
    found = load(folder, role="edge", client=None)
    assert (found.agent, found.role, found.client) == ("pilot", "edge", "editor")
