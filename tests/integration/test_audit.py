"""The events themselves: who did what, and what proves it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson
import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet, acknowledge, deliver, operations
from tests.samples import furnished

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


@pytest.fixture
def busy(clock: FrozenDateTimeFactory, fleet: Fleet) -> Device:
    """Operations of two devices, agents, sessions, wings and days: positions 1 to 8."""
    ada, bob = fleet.devices("ada", "bob")
    scribe = ada.by(agent="scribe", session="s-1")
    tea = scribe.add_drawer(**PLACE, content="tea")["drawer_id"]
    scribe.add_drawer(wing="Work", room="plans", content="plan")
    ada.by(agent="clerk", session="s-2").kg_add(**CITY, object="Lyon", wing="work")
    clock.move_to("2026-04-01T15:00:00Z")
    ada.update_drawer(drawer_id=tea, content="green tea")
    ada.kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    bob.by(agent="scribe", session="s-3").add_drawer(**PLACE, content="of bob")
    deliver(bob.house, ada.house)
    ada.delete_drawer(drawer_id=tea)
    ada.kg_declare_predicate(predicate="city", cardinality="one", wing="HOME")
    return ada


def positions(palace: Device, /, **chosen: Any) -> list[int]:
    found = palace.list_operations(**chosen)
    lines = [line["position"] for line in found["operations"]]
    assert found["total"] == len(lines)
    return lines


def test_operations_are_found_by_who_did_them_to_what(busy: Device) -> None:
    tea = busy.house.log.after(0, 1)[0].payload()["drawer_id"]
    green = busy.house.log.after(3, 1)[0].payload()["drawer_id"]
    assert positions(busy) == [8, 7, 6, 5, 4, 3, 2, 1]
    assert positions(busy, device="bob") == [6]
    assert positions(busy, device="BOB") == []
    assert positions(busy, agent="scribe") == [6, 2, 1]
    assert positions(busy, agent="scribe", device="ada") == [2, 1]
    assert positions(busy, session="s-2") == [3]
    assert positions(busy, tool="add_drawer") == [6, 2, 1]
    assert positions(busy, wing="home") == [8, 7, 6, 4, 1]
    assert positions(busy, wing="WORK") == [5, 3, 2]
    assert positions(busy, wing="nowhere") == []
    assert positions(busy, drawer_id=tea) == [7, 4, 1]
    assert positions(busy, drawer_id=green) == [4]
    assert positions(busy, entity="kiran") == [5, 3]
    assert positions(busy, entity="LYON") == [5, 3]
    assert positions(busy, entity="nice") == [5]
    assert positions(busy, since="2026-04-01") == [8, 7, 6, 5, 4]
    assert positions(busy, before="2026-03-31") == [3, 2, 1]
    assert positions(busy, since="2026-04-01", wing="home", tool="delete_drawer") == [7]
    assert positions(busy, known_at="@3") == [3, 2, 1]
    assert positions(busy, known_at="2026-03-31") == [3, 2, 1]
    assert positions(busy, outcome="accepted") == [8, 7, 6, 5, 4, 3, 2, 1]


def test_a_line_says_who_where_when_and_over_what(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    who = {"agent": "scribe", "client": "cli 1.0", "session": "s-1", "principal": "kiran"}
    told = ada.by(**who).add_drawer(**PLACE, content="secret text")
    [line] = ada.list_operations()["operations"]
    assert {name: line[name] for name in who} == who
    assert (line["op_id"], line["device"], line["stream"]) == (told["op_id"], "ada", "shared")
    assert (line["session_mode"], line["memory_mode"], line["outcome"]) == (
        "full",
        "flat",
        "accepted",
    )
    assert line["recorded_at"] == line["logged_at"] == "2026-03-31T15:00:00.000000Z"
    assert "secret" not in str(ada.list_operations())


def parts(*values: bytes | str | int) -> bytes:
    """`digest` of FORMATS, written again."""
    state = sha256()
    for value in values:
        raw = value if isinstance(value, bytes) else str(value).encode()
        state.update(str(len(raw)).encode() + b":" + raw)
    return state.digest()


def canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def test_chain_link_and_digests_are_what_the_formats_say(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    furnished(bob)
    bob.by(agent="scribe", session="s").add_drawer(
        **PLACE, content="🦊", metadata={"b": 1, "a": [0.1, None]}, idempotency_key="k"
    )
    furnished(ada)
    deliver(bob.house, ada.house)

    chains, link = dict.fromkeys(("ada", "ada/local", "bob"), bytes(32)), bytes(32)
    for event in operations(ada.house):
        shown = ada.show_operation(position=event.position)["operation"]
        raw, nonce = event.recorded.header_bytes, event.recorded.nonce
        header = orjson.loads(raw)
        assert nonce is not None
        assert len(nonce) == 16
        assert canonical(header) == raw
        assert None not in header.values()
        payload = event.recorded.payload
        assert payload == canonical(shown["payload"])
        assert header["payload_digest"] == shown["payload_digest"] == parts(nonce, payload).hex()
        assert header["op_id"] == shown["op_id"]
        assert (
            header["op_id"]
            == parts(
                header["origin_device"],
                header["stream"],
                header["local_seq"],
                header["tool"],
                bytes.fromhex(header["payload_digest"]),
            ).hex()
        )
        stream = event.recorded.stream_id
        chains[stream] = sha256(chains[stream] + raw).digest()
        assert shown["chain"] == chains[stream].hex()
        link = parts(
            link, event.position, bytes.fromhex(shown["chain"]), event.logged_at, event.order_hlc
        )
        assert shown["link"] == link.hex()
        assert (shown["hlc"], shown["order_hlc"]) == (header["hlc"], event.order_hlc)


def test_what_was_asked_is_kept_as_a_digest(ada: Device) -> None:
    asked = PLACE | {"content": "tea", "valid_from": "2026-03", "tags": "a, b"}
    told = ada.call("add_drawer", asked)
    [event] = operations(ada.house)
    shown = ada.show_operation(op_id=told["op_id"])["operation"]
    nonce = event.recorded.nonce
    assert nonce is not None
    assert shown["asked_digest"] == parts(nonce, "add_drawer", canonical(asked)).hex()
    assert shown["payload"]["tags"] == ["a", "b"]


def test_stamps_only_grow_in_a_stream_and_times_in_a_log(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    for number in range(5):
        ada.add_drawer(**PLACE, content=f"text {number}")
    clock.move_to("2020-01-01T00:00:00Z")
    ada.add_drawer(**PLACE, content="the clock ran back")
    events = operations(ada.house)
    hlcs = [event.header.hlc for event in events]
    logged = [event.logged_at for event in events]
    assert hlcs == sorted(set(hlcs))
    assert logged == sorted(set(logged))
    assert ada.show_operation(position=6)["operation"]["recorded_at"].startswith("2020")
    assert [event.header.local_seq for event in events] == [1, 2, 3, 4, 5, 6]


def effects(device: Device, position: int) -> list[tuple[str, str]]:
    shown = device.show_operation(position=position)["operation"]["effects"]
    return sorted((one["kind"], one["change"]) for one in shown)


def test_effects_are_the_rows_that_an_operation_changed(busy: Device) -> None:
    assert effects(busy, 1) == [("support", "opened")]
    assert effects(busy, 3) == [("assertion", "opened"), ("source", "opened")]
    assert effects(busy, 4) == [("support", "changed"), ("taken", "opened")]
    assert effects(busy, 5) == [
        ("assertion", "changed"),
        ("assertion", "opened"),
        ("source", "opened"),
    ]
    assert effects(busy, 7) == [("support", "closed")] + 2 * [("tombstone", "opened")]
    assert effects(busy, 8) == [("declared", "opened")]


def test_an_operation_that_changed_nothing_has_no_effects(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    ada.kg_invalidate(**CITY, object="Lyon", ended="2026-02-01")
    told = ada.kg_invalidate(**CITY, object="Lyon", ended="2026-03-01")
    assert told["duplicate"] is True
    assert effects(ada, told["position"]) == []


def test_an_acknowledgement_shows_what_it_moved(clock: FrozenDateTimeFactory, fleet: Fleet) -> None:
    primary, bob = fleet.devices("primary", "bob")
    ada = fleet.device("ada", ahead=31_536_000_000_000)
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    ada.kg_add(**CITY, object="Lyon", valid_from="2026-01-01")
    ada.kg_add(**CITY, object="Nice", valid_from="2026-02-01")
    bob.kg_add(**CITY, object="Nantes", valid_from="2026-03-01")
    deliver(ada.house, primary.house, limit=2)
    acknowledge(ada.house, primary.house)

    shown = ada.show_operation(position=4)["operation"]
    assert shown["tool"] == "acknowledged"
    assert shown["acknowledged"] == {"stream": "ada", "upto": 2, "orders": 2}
    assert effects(ada, 4) == [
        ("assertion", "changed"),
        ("declared", "changed"),
        ("source", "changed"),
    ]
    assert ada.show_operation(position=3)["operation"]["acknowledged"] is None


def test_an_operation_is_shown_by_id_or_by_position(busy: Device) -> None:
    by_position = busy.show_operation(position=3)
    by_id = busy.show_operation(op_id=by_position["operation"]["op_id"])
    assert by_id["operation"] == by_position["operation"]
    for given in ({}, {"op_id": "x", "position": 1}):
        with busy.refuses("input::invalid"):
            busy.show_operation(**given)
    for given in ({"op_id": "0" * 64}, {"position": 9}, {"position": 8, "known_at": "@7"}):
        with busy.refuses("operations::unknown"):
            busy.show_operation(**given)
    with busy.refuses("operations::unknown"):
        busy.show_operation(op_id=by_id["operation"]["op_id"], known_at="@2")
    with busy.refuses("input::invalid", "position"):
        busy.show_operation(position=0)


def test_what_was_found_by_wing_does_not_grow_when_the_text_comes_later(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L28: a delete that came before the text that tells its wing."""
    ada, bob = fleet.devices("ada", "bob")
    tea = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    deliver(ada.house, bob.house)
    clock.tick(60)
    bob.delete_drawer(drawer_id=tea)
    reader = fleet.device("reader")
    deliver(bob.house, reader.house)

    before = reader.list_operations(wing="home", known_at="@1")
    deliver(ada.house, reader.house)
    assert reader.list_operations(wing="home", known_at="@1") == before
    assert positions(reader, wing="home") == [2, 1]
