"""The audit copy answers what the palace answers, catches up, and is made anew when in doubt."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from domain.errors import Damaged, PalaceError, Unusable
from palacelog.auditing import LOCK_FILE, Audit
from projections.audit.copy import COPY_FILE, AuditCopy
from projections.audit.questions import Window
from projections.audit.sources import Operations, StoredEvent
from replay.rebuild import rebuild
from replay.stored import stored_events
from replay.write_lock import only_one
from tests.audited import everything, some_life
from tests.benchmarks.palaces import with_history
from tests.palaces import Device, Fleet, acknowledge, deliver, new_palace, receive


def rows(device: Device, text: str, limit: int = 10_000) -> list[list[Any]]:
    """What a SELECT gives."""
    found: list[list[Any]] = Audit(device.house).sql(text, limit)["rows"]
    return found


MOMENTS = ("2025-12-31T00:00Z", "2026-02-15T00:00Z", "2026-03-02T00:00Z", "2026-06-01T00:00Z")


@pytest.mark.parametrize("moment", MOMENTS)
def test_drawers_of_a_moment_are_those_that_the_palace_lists(ada: Device, moment: str) -> None:
    some_life(ada)
    listed = ada.list_drawers(as_of=moment, limit=200)["drawers"]
    shown = ("id", "wing", "room", "preview", "valid_from", "valid_to", "recorded_at")
    found = rows(
        ada,
        "SELECT drawer_id, wing, room, content, valid_from, valid_to, recorded_at "
        f"FROM drawers_as_of('{moment}')",
    )
    assert found == [[one[name] for name in shown] for one in listed]


@pytest.mark.parametrize("moment", MOMENTS)
def test_facts_of_a_moment_are_those_that_the_palace_knows(ada: Device, moment: str) -> None:
    some_life(ada)
    known = [
        fact
        for entity in ("atlas", "Kiran")
        for fact in ada.kg_query(entity=entity, as_of=moment)["facts"]
    ]
    names = ("fact_id", "subject", "predicate", "object", "valid_from", "valid_to")
    found = rows(ada, f"SELECT {', '.join(names)} FROM facts_as_of('{moment}')")
    assert sorted(found) == sorted([one[name] for name in names] for one in known)


def test_a_long_history_is_answered_like_the_palace_does(tmp_path: Path) -> None:
    with with_history(tmp_path / "palace", 600) as house:
        audit = Audit(house)
        for moment in ("2025-01-01T03:00Z", "2025-01-01T05:30Z", "2025-01-02T00:00Z"):
            listed: list[str] = []
            cursor = None
            while cursor is not None or not listed:
                asked = {"as_of": moment, "limit": 200} | ({"cursor": cursor} if cursor else {})
                page = house.palace.call("list_drawers", asked)
                listed += [one["id"] for one in page["drawers"]]
                cursor = page["cursor"]
                if cursor is None:
                    break
            found = audit.sql(f"SELECT drawer_id FROM drawers_as_of('{moment}')", 10_000)["rows"]
            assert [id for (id,) in found] == listed
        totals = house.palace.call("status", {})["totals"]
        counted = audit.sql("SELECT count(*) FROM facts", 1)["rows"]
        assert counted == [[totals["facts"]]]


def test_operations_between_two_moments_are_those_recorded_then(clock: Any, ada: Device) -> None:
    for hour in range(15, 19):
        clock.move_to(f"2026-03-31T{hour}:00:00Z")
        ada.add_drawer(wing="w", room="r", content=f"At {hour}.")
    found = rows(
        ada,
        "SELECT payload->>'content' FROM "
        "operations_between('2026-03-31 16:00Z', TIMESTAMPTZ '2026-03-31 18:00Z')",
    )
    assert found == [["At 16."], ["At 17."]]


def test_an_operation_shows_its_header_and_payload(ada: Device) -> None:
    done = ada.by(agent="scribe", session="s1").add_drawer(wing="w", room="r", content="Text.")
    shown = ada.show_operation(op_id=done["op_id"])["operation"]
    names = (
        "position", "op_id", "tool", "device", "host", "stream", "local_seq", "recorded_at",
        "logged_at", "order_hlc", "agent", "client", "session", "principal", "session_mode",
        "memory_mode", "outcome",
    )  # fmt: skip
    [found] = rows(ada, f"SELECT {', '.join(names)} FROM operations")
    assert found == [shown[name] for name in names]


def test_a_copy_that_caught_up_step_by_step_equals_one_made_at_once(ada: Device) -> None:
    audit = Audit(ada.house)
    audit.activity(Window(), agents=True)
    some_life(ada)
    audit.activity(Window(), agents=True)
    ada.kg_declare_predicate(predicate="city", cardinality="many")
    ada.add_drawer(wing="home", room="garden", content="Water the roses.")
    for number in range(3):
        ada.kg_add(subject="atlas", predicate="stage", object=f"step {number}")
        audit.activity(Window(), agents=True)
    grown = everything(audit)
    (ada.folder / COPY_FILE).unlink()
    assert everything(audit) == grown


def test_a_copy_that_follows_a_long_history_equals_one_made_at_once(tmp_path: Path) -> None:
    with (
        with_history(tmp_path / "source", 500) as source,
        new_palace(tmp_path, "target") as target,
    ):
        audit = Audit(target)
        for start in range(0, 500, 60):
            for one in source.log.after(start, 60):
                receive(target, one.recorded, one.order_hlc)
            grown = everything(audit)
        (target.folder.path / COPY_FILE).unlink()
        assert everything(audit) == grown
        assert len(grown["operations"]) == 500


def test_orders_that_a_primary_gave_reach_the_copy(fleet: Fleet) -> None:
    primary, edge = fleet.devices("primary", "edge")
    edge.machine.ahead = 3_600_000_000
    edge.kg_add(subject="atlas", predicate="cache", object="SQLite")
    audit = Audit(edge.house)
    before = everything(audit)
    deliver(edge.house, primary.house)
    acknowledge(edge.house, primary.house)
    grown = everything(audit)
    assert grown["operations"][0] != before["operations"][0]
    (edge.folder / COPY_FILE).unlink()
    assert everything(audit) == grown


def test_a_rebuild_of_the_views_changes_no_answer(ada: Device) -> None:
    some_life(ada)
    audit = Audit(ada.house)
    before = everything(audit)
    rebuild(ada.house.log, ada.house.generations, ada.house.lock)
    assert everything(audit) == before
    (ada.folder / COPY_FILE).unlink()
    assert everything(audit) == before


def test_a_redaction_leaves_nothing_of_the_payload_in_the_copy(ada: Device) -> None:
    for text in ("The password is swordfish.", "Nothing to hide."):
        ada.add_drawer(wing="w", room="r", content=text)
    audit = Audit(ada.house)
    audit.activity(Window())
    redaction = ada.add_drawer(wing="w", room="r", content="Stands for a redaction.")

    def redacted(after: int, upto: int) -> Iterator[StoredEvent]:
        for event in stored_events(ada.house.log, after, upto):
            if event.position == 1:
                yield event._replace(payload=None)
            elif event.position == redaction["position"]:
                yield event._replace(header=event.header | {"redacts": "an op_id"})
            else:
                yield event

    copy = AuditCopy(ada.folder, [Operations(redacted)], "UTC")
    with ada.house.palace.reading() as reading:
        found = copy.ask(reading, lambda open: open.execute("FROM operations").fetchall())
    assert len(found) == 3
    assert b"swordfish" not in (ada.folder / COPY_FILE).read_bytes()


def test_a_copy_of_another_log_is_made_anew(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    for number in range(5):
        ada.add_drawer(wing="w", room="r", content=f"Ada's {number}.")
    bob.add_drawer(wing="w", room="r", content="Bob's.")
    Audit(ada.house).activity(Window(), agents=True)
    (ada.folder / COPY_FILE).rename(bob.folder / COPY_FILE)
    assert rows(bob, "SELECT content FROM texts") == [["Bob's."]]


def test_a_copy_ahead_of_the_log_is_made_anew(ada: Device) -> None:
    ada.add_drawer(wing="w", room="r", content="One.")
    audit = Audit(ada.house)
    audit.activity(Window(), agents=True)
    with duckdb.connect(str(ada.folder / COPY_FILE)) as connection:
        connection.execute("UPDATE stored.about SET value = '99' WHERE name = 'position'")
        connection.execute("UPDATE stored.operations SET tool = 'forged'")
    assert rows(ada, "SELECT tool FROM operations") == [["add_drawer"]]


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"\0" * 20_000])
def test_a_damaged_copy_is_made_anew(ada: Device, damage: bytes) -> None:
    ada.add_drawer(wing="w", room="r", content="One.")
    audit = Audit(ada.house)
    whole = everything(audit)
    (ada.folder / COPY_FILE).write_bytes(damage)
    assert everything(audit) == whole


def test_a_flipped_bit_never_changes_an_answer(ada: Device) -> None:
    some_life(ada)
    audit = Audit(ada.house)
    whole = everything(audit)
    path = ada.folder / COPY_FILE
    size = path.stat().st_size
    for place in range(1_000, size, size // 12):
        content = bytearray(path.read_bytes())
        if place >= len(content):
            continue
        content[place] ^= 1
        path.write_bytes(content)
        assert everything(audit) == whole


def test_a_payload_that_was_altered_in_the_log_is_not_copied(ada: Device) -> None:
    ada.add_drawer(wing="w", room="r", content="Pay Kiran 10.")
    with ada.house.log.app.datastore.writing() as cursor:
        cursor.execute("SELECT state FROM stored_events")
        state = cursor.fetchall()[0][0].replace(b"Pay Kiran 10.", b"Pay Kiran 99.")
        cursor.execute("UPDATE stored_events SET state = ?", (state,))
        ada.house.log.app.datastore.commit()
    with pytest.raises(Damaged) as caught:
        Audit(ada.house).activity(Window(), agents=True)
    assert (caught.value.code, caught.value.position) == ("palacelog::log::payload", 1)
    ada.close()


def test_the_copy_is_for_its_owner_alone(ada: Device) -> None:
    Audit(ada.house).activity(Window(), agents=True)
    for name in (COPY_FILE, LOCK_FILE):
        assert stat.S_IMODE((ada.folder / name).stat().st_mode) == 0o600
    assert os.umask(0o022) == 0o022


def test_who_asks_while_another_does_waits_and_then_learns_why(ada: Device) -> None:
    ada.house.settings = ada.house.settings.model_copy(update={"lock_timeout_seconds": 0.05})
    with (
        only_one(ada.folder / LOCK_FILE, 1, "the test"),
        pytest.raises(Unusable) as caught,
    ):
        Audit(ada.house).activity(Window(), agents=True)
    assert caught.value.code == "palacelog::audit::busy"
    assert caught.value.help


def test_the_report_counts_who_was_active(clock: Any, ada: Device) -> None:
    ada.by(agent="scribe", session="s1").add_drawer(wing="w", room="r", content="One.")
    clock.move_to("2026-04-01T09:00:00Z")
    ada.by(agent="scribe", session="s2").add_drawer(wing="w", room="r", content="Two.")
    ada.by(agent="planner").kg_add(subject="a", predicate="b", object="c")
    report = Audit(ada.house).activity(Window(), agents=True)
    assert [one["operations"] for one in report["devices"]] == [3]
    assert [(one["agent"], one["operations"], one["sessions"]) for one in report["agents"]] == [
        ("scribe", 2, 2),
        ("planner", 1, 0),
    ]
    assert [(one["day"], one["operations"]) for one in report["days"]] == [
        ("2026-03-31", 1),
        ("2026-04-01", 2),
    ]
    assert [(one["tool"], one["operations"]) for one in report["tools"]] == [
        ("add_drawer", 2),
        ("kg_add", 1),
    ]


def test_reads_and_refusals_are_in_the_copy(ada: Device) -> None:
    done = ada.by(agent="scribe").add_drawer(wing="w", room="r", content="One.")
    ada.by(agent="reader").get_drawer(drawer_id=done["drawer_id"])
    with pytest.raises(PalaceError):
        ada.by(agent="guest", session_mode="disabled").get_drawer(drawer_id=done["drawer_id"])
    query = "SELECT agent, tool, outcome, code, payload->'$.seen.ids' FROM trail ORDER BY place"
    id = done["drawer_id"]
    expected = [
        ["reader", "get_drawer", "read", None, f'["{id}"]'],
        ["guest", "get_drawer", "refused", "palacelog::mode::forbidden", None],
    ]
    assert rows(ada, query) == expected
    ada.by(agent="late").get_drawer(drawer_id=id)
    agents = rows(ada, "SELECT agent FROM trail WHERE tool <> 'audit_sql' ORDER BY place")
    assert agents == [["reader"], ["guest"], ["late"]]


def test_what_the_trail_has_dropped_leaves_the_copy(ada: Device) -> None:
    ada.list_drawers()
    assert rows(ada, "SELECT count(*) FROM trail") == [[1]]
    ada.close()
    for path in (ada.folder / "trail").glob("*.db*"):
        path.unlink()
    ada.reopen()
    assert rows(ada, "SELECT count(*) FROM trail") == [[0]]
