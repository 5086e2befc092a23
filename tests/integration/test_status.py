"""What anyone may see: totals, states and versions, and nothing that was stored."""

from __future__ import annotations

import sqlite3
from importlib.metadata import version

import orjson
from freezegun.api import FrozenDateTimeFactory
from sqlalchemy import insert

from projections import tables
from projections.outbox import StreamState, streams, waiting
from projections.tables import Prepared
from tests.palaces import Device, Fleet, acknowledge, deliver
from tests.samples import FURNITURE, LOCAL, furnished

MARKS = [
    "zebrawing",
    "zebraroom",
    "zebratext",
    "zebratag",
    "zebrafile",
    "zebraauthor",
    "zebrameta",
    "zebrareason",
    "zebrasubject",
    "zebrapredicate",
    "zebraobject",
    "zebraagent",
    "zebraclient",
    "zebrasession",
    "zebraprincipal",
    "zebrakey",
    "zebradevice",
]


def test_status_names_nothing_that_was_stored(clock: FrozenDateTimeFactory, fleet: Fleet) -> None:
    ada = fleet.device("ada")
    other = fleet.device("zebradevice")
    for device in (ada, other):
        who = device.by(
            agent="zebraagent",
            client="zebraclient",
            session="zebrasession",
            principal="zebraprincipal",
        )
        drawer = who.add_drawer(
            wing="zebrawing",
            room="zebraroom",
            content="zebratext",
            tags=["zebratag"],
            source_file="zebrafile",
            added_by="zebraauthor",
            metadata={"zebrameta": "zebrameta"},
            idempotency_key="zebrakey",
        )["drawer_id"]
        who.delete_drawer(drawer_id=drawer, reason="zebrareason")
        who.kg_add(subject="zebrasubject", predicate="zebrapredicate", object="zebraobject")
        who.kg_declare_predicate(predicate="zebrapredicate", cardinality="one")
    deliver(other.house, ada.house)

    text = orjson.dumps(ada.status()).decode().lower()
    assert [mark for mark in MARKS if mark in text] == []
    assert ada.status()["device"] == "ada"
    there, again = ada.by(session_mode="disabled").status(), ada.status()
    assert there.pop("trail") != again.pop("trail")
    assert there == again


def test_status_counts_what_there_is(clock: FrozenDateTimeFactory, ada: Device) -> None:
    empty = ada.status()
    assert (empty["head"], empty["logged_at"]) == (0, None)
    assert set(empty["totals"].values()) == {0}
    assert empty["outbox"] == {"pending": 0, "oldest_age_seconds": None, "blocked_by": None}

    furnished(ada)
    clock.tick(90)
    status = ada.status()
    assert status["totals"] == {
        "events": FURNITURE,
        "drawers_live": 2,
        "drawers_hidden": 1,
        "facts": 3,
        "conflicts": 1,
    }
    assert (status["head"], status["schema"]) == (FURNITURE, 1)
    assert status["log_id"] == ada.house.log.log_id
    assert status["versions"] == {
        "product": version("palacelog"),
        "sqlite": sqlite3.sqlite_version,
    }
    assert status["projections"] == [
        {"name": "views", "checkpoint": FURNITURE, "lag": 0, "state": "current"}
    ]
    assert status["logged_at"].startswith("2026-03-31T15:00:00.0000")


def test_status_counts_the_facts_that_show_not_what_was_asserted(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    def facts() -> int:
        total: int = ada.status()["totals"]["facts"]
        assert total == len(ada.kg_timeline(limit=200)["facts"])
        return total

    city = {"subject": "Kiran", "predicate": "city"}
    ada.kg_add(**city, object="Lyon", valid_from="2020", valid_to="2022")
    ada.kg_add(**city, object="Lyon", valid_from="2021", valid_to="2023")
    ada.kg_add(**city, object="LYON", valid_from="2024-01-01", valid_to="2024-12-31")
    assert facts() == 1
    ada.kg_add(**city, object="Lyon", valid_from="2026-01-01")
    ada.kg_add(**city, object="Nice", valid_from="2021-06")
    ada.kg_add(subject="Noor", predicate="city", object="Nice", valid_from="2021")
    assert facts() == 4
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    assert facts() == 5
    ada.kg_declare_predicate(predicate="city", cardinality="many", wing="facts")
    assert facts() == 4
    ada.kg_add(**city, object="Nantes", valid_from="2021-06", wing="travels")
    ada.kg_add(**city, object="Nice", valid_from="2021-06", wing="travels")
    assert facts() == 5
    ada.kg_invalidate(subject="Noor", predicate="city", object="Nice", ended="2021-01-01T00:00Z")
    assert facts() == 4


def test_the_outbox_counts_every_incarnation_of_a_device_and_no_other() -> None:
    """Also where the names of others begin as its own does."""
    cursor = sqlite3.connect(":memory:").cursor()
    tables.create(cursor)
    wanted = [column.name for column in tables.operations.c if not column.nullable]
    written = {"ada": 3, "ada~2": 1, "ada~10": 2, "ada-2": 4, "adam": 5, "ad": 6, "ada\x7f": 7}
    position = 0
    for device, count in written.items():
        for local_seq in range(1, count + 1):
            position += 1
            row = dict.fromkeys(wanted, "") | {"position": position, "op_id": f"{position}"}
            row |= {"device": device, "stream": "shared", "local_seq": local_seq}
            row |= {"recorded_at": 1_000 - position, "rank": b""}
            Prepared(insert(tables.operations).values(row))(cursor)
    told = {"position": 99, "stream_device": "ada", "upto": 3, "log_id": "", "head": 0}
    Prepared(insert(tables.acknowledgements).values(told))(cursor)

    states = [StreamState("ada", 3, 3), StreamState("ada~2", 1, 0), StreamState("ada~10", 2, 0)]
    assert streams(cursor, "ada") == states
    assert waiting(cursor, "ada") == (3, 1_000 - 5)
    assert waiting(cursor, "nobody") == (0, None)


def test_the_outbox_is_what_the_primary_has_not_acknowledged(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, primary = fleet.devices("ada", "primary")
    furnished(ada)
    clock.tick(90)
    outbox = ada.status()["outbox"]
    assert (outbox["pending"], outbox["oldest_age_seconds"]) == (FURNITURE - LOCAL, 90.0)

    deliver(ada.house, primary.house, limit=4)
    acknowledge(ada.house, primary.house)
    assert ada.status()["outbox"]["pending"] == FURNITURE - LOCAL - 4
    deliver(ada.house, primary.house)
    acknowledge(ada.house, primary.house)
    assert ada.status()["outbox"] == {
        "pending": 0,
        "oldest_age_seconds": None,
        "blocked_by": None,
    }
    assert ada.status()["totals"]["events"] == FURNITURE + 2
    assert primary.status()["outbox"]["pending"] == 0
