"""What holds for every operation of the catalog."""

from __future__ import annotations

import math
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.catalog import CATALOG, records_of
from domain.errors import PalaceError
from domain.gate import SET_MODE
from domain.instants import Reach, parse
from palacelog.palace import answer
from tests.palaces import Device, Fleet, digest_of, operations
from tests.samples import FURNITURE, SAMPLES, Known, furnished, settings_for

WRITES = sorted(name for name, entry in CATALOG.items() if entry.writes)
READS = [name for name in sorted(SAMPLES) if not CATALOG[name].writes]
DATED = [name for name in READS if name not in ("audit", "diff", "status")]
"""Reads of memory at a moment; `diff` names two, and control operations tell of the present."""
ENVELOPE = {"op_id", "origin_device", "stream", "local_seq", "position", "duplicate"}
HOSTILE: list[Any] = [
    0,
    -1,
    True,
    1.5,
    10**18,
    2**63 - 1,
    [],
    [[]],
    [1],
    {},
    {"a": 1},
    "",
    " ",
    "x" * 5000,
    "\n",
    "'; DROP TABLE operations; --",
    "%",
    "../../etc/passwd",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01",
    "9999",
    "@0",
    "🦊",
]

every_operation = pytest.mark.parametrize("tool", sorted(SAMPLES))
every_write = pytest.mark.parametrize("tool", WRITES)
every_read = pytest.mark.parametrize("tool", READS)


@pytest.fixture(scope="module")
def house(still_fleet: Fleet) -> tuple[Device, Known]:
    """One furnished palace for what changes nothing."""
    device = still_fleet.device("house")
    return device, furnished(device)


def test_every_operation_has_a_sample() -> None:
    assert SAMPLES.keys() == CATALOG.keys() - {SET_MODE}


def test_a_mode_is_remembered_by_sessions_alone(ada: Device) -> None:
    with ada.refuses("mode::no_session"):
        ada.set_mode(mode="read_only")


@pytest.mark.parametrize("tool", [name for name in WRITES if name != "publish_wing"])
def test_a_write_is_one_event_that_says_what_was_answered(
    clock: FrozenDateTimeFactory, ada: Device, tool: str
) -> None:
    given = SAMPLES[tool](furnished(ada))
    clock.tick(60)
    told = ada.by(agent="scribe", session="s-1", client="cli", principal="kiran").call(tool, given)

    assert told["position"] == ada.position() == FURNITURE + 1
    assert told.keys() > ENVELOPE
    [event] = ada.house.log.after(FURNITURE, 10)
    header = event.header
    assert (header.op_id, header.origin_device, header.stream, header.local_seq) == (
        told["op_id"],
        told["origin_device"],
        told["stream"],
        told["local_seq"],
    )
    assert (header.tool, header.agent, header.session) == (tool, "scribe", "s-1")
    assert (header.client, header.principal, header.session_mode) == ("cli", "kiran", "full")
    records = records_of(tool)
    assert records is not None
    records.model_validate(event.payload())
    assert answer(CATALOG[tool], event) == told
    shown = ada.show_operation(op_id=told["op_id"])["operation"]
    assert shown["payload"] == event.payload()
    assert shown["recorded_at"] == shown["logged_at"] == "2026-03-31T15:01:00.000000Z"
    assert bool(shown["effects"]) == (tool != "embed")


@every_write
def test_a_write_is_durable_and_read_the_same_after_a_restart(ada: Device, tool: str) -> None:
    """Each answer is checked against its model where the device is called (tests.palaces)."""
    known = furnished(ada)
    ada.call(tool, SAMPLES[tool](known))
    head = f"@{ada.position()}"
    reads = {read: SAMPLES[read](known) | {"known_at": head} for read in READS if read in DATED}
    reads["diff"] = {"a": "@1", "b": head}
    before = {read: ada.call(read, given) for read, given in reads.items()}
    digests = digest_of(ada.house)
    ada.reopen()
    assert digest_of(ada.house) == digests
    for read, given in reads.items():
        assert ada.call(read, given) == before[read]


@every_read
def test_a_read_is_answered_and_changes_nothing(house: tuple[Device, Known], tool: str) -> None:
    ada, known = house
    before = digest_of(ada.house)
    first = ada.call(tool, SAMPLES[tool](known))
    assert digest_of(ada.house) == before
    if tool in DATED:
        assert first["log_id"] == ada.house.log.log_id
        assert first["position"] == FURNITURE
        assert first["known_at"] is None


@every_operation
def test_an_unknown_argument_is_refused_by_name(house: tuple[Device, Known], tool: str) -> None:
    ada, known = house
    given = SAMPLES[tool](known)
    for stranger in ("colour", "Wing", "as-of", "model_config", "__class__"):
        with ada.refuses("input::invalid", stranger):
            ada.call(tool, given | {stranger: "x"})


@every_operation
def test_a_missing_argument_is_refused_by_name(house: tuple[Device, Known], tool: str) -> None:
    ada, known = house
    given = SAMPLES[tool](known)
    for name, field in CATALOG[tool].asks.model_fields.items():
        if field.is_required():
            without = {key: value for key, value in given.items() if key != name}
            with ada.refuses("input::invalid", name):
                ada.call(tool, without)


@every_operation
def test_no_value_of_any_argument_is_answered_with_a_crash(
    request: pytest.FixtureRequest, tool: str
) -> None:
    """L20"""
    if CATALOG[tool].writes:
        ada = request.getfixturevalue("ada")
        known = furnished(ada)
    else:
        ada, known = request.getfixturevalue("house")
    fields = CATALOG[tool].asks.model_fields
    for name, field in fields.items():
        for value in [*HOSTILE, math.nan, None]:
            given = SAMPLES[tool](known) | {field.alias or name: value}
            before = ada.position()
            try:
                ada.call(tool, given)
            except PalaceError:
                assert ada.position() == before


@every_write
@pytest.mark.usefixtures("clock")
def test_null_is_the_same_as_left_out(ada: Device, fleet: Fleet, tool: str) -> None:
    """Clients send null for what they do not mean; ids that hold the time are equal at one time."""
    bob = fleet.device("bob", **settings_for(tool))
    known = furnished(ada)
    given, of_bob = SAMPLES[tool](known), SAMPLES[tool](furnished(bob))
    model = CATALOG[tool].asks.model_fields
    fields = {field.alias or name: field for name, field in model.items()}
    nulls = {name: None for name, field in fields.items() if name not in given}
    optional = {name for name in nulls if "None" in str(fields[name].annotation)}
    for device, arguments in ((ada, given), (bob, {**of_bob, **dict.fromkeys(optional)})):
        device.call(tool, arguments)
    left, right = (operations(device.house)[-1].payload() for device in (ada, bob))
    own = {"valid_from", "fact_ids", "superseded", "operations", "undone", "conflict_id", "job_id"}
    assert [item for item in left.items() if item[0] not in own] == [
        item for item in right.items() if item[0] not in own
    ]


def test_a_tool_that_is_not_in_the_catalog_is_unknown(ada: Device) -> None:
    for name in ("mempalace_add_drawer", "ADD_DRAWER", "", "acknowledged", "drop_everything"):
        with ada.refuses("input::unknown_tool"):
            ada.house.palace.call(name, {})


def test_every_write_takes_an_idempotency_key_and_every_read_a_known_at() -> None:
    for name in WRITES:
        assert "idempotency_key" in CATALOG[name].asks.model_fields
    for name in DATED:
        assert "known_at" in CATALOG[name].asks.model_fields


def test_default_times_are_those_of_the_recording(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    known = furnished(ada)
    clock.move_to("2026-05-05T05:05:05Z")
    now = parse("2026-05-05T05:05:05Z", zone="UTC", now=0, reach=Reach.START)
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("add_drawer", {"wing": "w", "room": "r", "content": "c"}, "valid_from"),
        ("kg_add", {"subject": "s", "predicate": "p", "object": "o"}, "valid_from"),
        ("kg_invalidate", {"subject": "s", "predicate": "p", "object": "o"}, "ended"),
        ("supersede_drawer", {"drawer_id": known.drawer, "content": "c"}, "valid_from"),
    ]
    for tool, given, field in calls:
        told = ada.call(tool, given)
        [event] = ada.house.log.after(told["position"] - 1, 1)
        assert event.payload()[field] == event.header.recorded_at == now
