"""What anyone may see: totals, states and versions, and nothing that was stored."""

from __future__ import annotations

import sqlite3
from importlib.metadata import version

import orjson
from freezegun.api import FrozenDateTimeFactory

from projections.outbox import streams, waiting
from tests.palaces import Device, Fleet, acknowledge, deliver
from tests.samples import furnished

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
    assert ada.by(session_mode="disabled").status() == ada.status()


def test_status_counts_what_there_is(clock: FrozenDateTimeFactory, ada: Device) -> None:
    empty = ada.status()
    assert (empty["head"], empty["logged_at"]) == (0, None)
    assert set(empty["totals"].values()) == {0}
    assert empty["outbox"] == {"pending": 0, "oldest_age_seconds": None, "blocked_by": None}

    furnished(ada)
    clock.tick(90)
    status = ada.status()
    assert status["totals"] == {
        "events": 6,
        "drawers_live": 1,
        "drawers_hidden": 1,
        "facts": 2,
        "conflicts": 0,
    }
    assert (status["head"], status["schema"]) == (6, 1)
    assert status["log_id"] == ada.house.log.log_id
    assert status["versions"] == {
        "product": version("palacelog"),
        "sqlite": sqlite3.sqlite_version,
    }
    assert status["projections"] == [
        {"name": "views", "checkpoint": 6, "lag": 0, "state": "current"}
    ]
    assert status["logged_at"].startswith("2026-03-31T15:00:00.00000")


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


def test_the_outbox_counts_every_incarnation_of_this_device_and_no_other(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """Also where the names of others begin as its own does."""
    ada, other = fleet.devices("ada", "ada-2")
    for device in (ada, other):
        furnished(device)
    deliver(other.house, ada.house)
    assert ada.status()["outbox"]["pending"] == 6
    assert other.status()["outbox"]["pending"] == 6
    clock.tick(30)
    with ada.house.palace.reading() as reading:
        assert waiting(reading.cursor, "ad") == (0, None)
        found = streams(reading.cursor, "ada")
    assert [(one.device, one.head, one.acknowledged) for one in found] == [("ada", 6, 0)]


def test_the_outbox_is_what_the_primary_has_not_acknowledged(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, primary = fleet.devices("ada", "primary")
    furnished(ada)
    clock.tick(90)
    outbox = ada.status()["outbox"]
    assert (outbox["pending"], outbox["oldest_age_seconds"]) == (6, 90.0)

    deliver(ada.house, primary.house, limit=4)
    acknowledge(ada.house, primary.house)
    assert ada.status()["outbox"]["pending"] == 2
    deliver(ada.house, primary.house)
    acknowledge(ada.house, primary.house)
    assert ada.status()["outbox"] == {
        "pending": 0,
        "oldest_age_seconds": None,
        "blocked_by": None,
    }
    assert ada.status()["totals"]["events"] == 8
    assert primary.status()["outbox"]["pending"] == 0
