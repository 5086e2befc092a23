"""A key makes a call that is sent again the same call: case L13, for every write."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.catalog import CATALOG
from tests.palaces import Device, Fleet, deliver
from tests.samples import FURNITURE, SAMPLES, furnished

WRITES = sorted(name for name, entry in CATALOG.items() if entry.writes)
PLACE = {"wing": "home", "room": "notes"}
TEA = PLACE | {"content": "tea"}


def other_call(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """The same call with one argument changed."""
    fields = CATALOG[tool].asks.model_fields
    texts = (
        *("content", "entry", "reason", "description", "predicate", "session", "wing"),
        *("resolution", "relation", "alias", "label", "embedder", "job_id"),
    )
    changed = next((name for name in texts if name in fields), None)
    if tool == "embed":
        return given | {"retry_failed": False}
    return given | ({"drop_duplicates": True} if changed is None else {changed: "other"})


@pytest.mark.parametrize("tool", WRITES)
def test_a_call_repeated_with_its_key_is_answered_with_the_same_bytes(
    clock: FrozenDateTimeFactory, ada: Device, tool: str
) -> None:
    """L13"""
    given = SAMPLES[tool](furnished(ada)) | {"idempotency_key": "k-1"}
    first = ada.call(tool, given)
    clock.move_to("2027-01-01T00:00:00Z")
    ada.add_drawer(**PLACE, content="something else")
    ada.kg_add(subject="Kiran", predicate="city", object="Paris")
    ada.reopen()

    for session in (ada, ada.by(session="another", agent="another", client="another")):
        again = session.call(tool, dict(sorted(given.items(), reverse=True)))
        assert orjson.dumps(again) == orjson.dumps(first)
    assert ada.position() == FURNITURE + (4 if tool == "publish_wing" else 3)
    with ada.refuses("idempotency::conflict"):
        ada.call(tool, other_call(tool, given))
    with ada.refuses("idempotency::conflict"):
        ada.kg_add(subject="a", predicate="b", object="c", idempotency_key="k-1")


def test_a_key_belongs_to_a_principal(ada: Device) -> None:
    answers = [
        ada.by(principal=who).add_drawer(**TEA, idempotency_key="k-1")
        for who in (None, "kiran", "noor", "Kiran", None, "kiran")
    ]
    assert [answer["position"] for answer in answers] == [1, 2, 3, 4, 1, 2]


def test_a_key_belongs_to_a_device(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    bob.add_drawer(**PLACE, content="of bob", idempotency_key="k-1")
    deliver(bob.house, ada.house)
    told = ada.add_drawer(**TEA, idempotency_key="k-1")
    assert (told["origin_device"], told["position"], told["duplicate"]) == ("ada", 2, False)
    deliver(ada.house, bob.house)
    assert bob.add_drawer(**PLACE, content="of bob", idempotency_key="k-1")["position"] == 1
    assert ada.add_drawer(**TEA, idempotency_key="k-1") == told


def test_a_refusal_is_not_remembered(clock: FrozenDateTimeFactory, ada: Device) -> None:
    lyon = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
    with ada.refuses("facts::unknown"):
        ada.kg_invalidate(**lyon, idempotency_key="k-1")
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content="", idempotency_key="k-1")
    with ada.refuses("mode::forbidden"):
        ada.by(session_mode="read_only").add_drawer(**TEA, idempotency_key="k-1")
    ada.kg_add(**lyon)
    clock.tick(60)
    assert ada.kg_invalidate(**lyon, idempotency_key="k-1")["position"] == 2
    with ada.refuses("idempotency::conflict"):
        ada.add_drawer(**TEA, idempotency_key="k-1")


def test_what_was_asked_is_compared_as_it_was_asked(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """A time that counts from now is the same call tomorrow; spelt otherwise it is not."""
    first = ada.add_drawer(**TEA, valid_from="-2h", idempotency_key="k-1")
    clock.move_to("2026-06-01T00:00:00Z")
    assert ada.add_drawer(**TEA, valid_from="-2h", idempotency_key="k-1") == first
    with ada.refuses("idempotency::conflict"):
        ada.add_drawer(**TEA, valid_from="2026-03-31T13:00:00Z", idempotency_key="k-1")
    with ada.refuses("idempotency::conflict"):
        ada.add_drawer(**TEA, idempotency_key="k-1")


def test_a_repeat_is_answered_even_where_it_would_be_refused_today(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    drawer = ada.add_drawer(**TEA)["drawer_id"]
    first = ada.update_drawer(drawer_id=drawer, content="green tea", idempotency_key="k-1")
    ada.delete_drawer(drawer_id=drawer)
    again = ada.update_drawer(drawer_id=drawer, content="green tea", idempotency_key="k-1")
    assert again == first
    with ada.refuses("drawers::hidden"):
        ada.update_drawer(drawer_id=drawer, content="green tea", idempotency_key="k-2")


@pytest.mark.parametrize("key", ["", "k" * 129, 7, ["k"], "a\x00b"])
def test_what_is_no_key_is_refused(ada: Device, key: object) -> None:
    with ada.refuses("input::invalid", "idempotency_key"):
        ada.add_drawer(**TEA, idempotency_key=key)


def test_a_key_may_be_any_short_text(ada: Device) -> None:
    for number, key in enumerate(["k", " k ", "K", "k" * 128, "🦊", "'; --", "\u00e9", "e\u0301"]):
        assert ada.add_drawer(**TEA, idempotency_key=key)["position"] == number + 1
        assert ada.add_drawer(**TEA, idempotency_key=key)["position"] == number + 1
