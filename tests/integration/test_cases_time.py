"""How times are read and what they mean: cases L1 to L5 and L28."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from freezegun.api import FrozenDateTimeFactory

from tests.palaces import Device, Fleet

ZONES = ["UTC", "Asia/Tokyo", "America/New_York"]


@pytest.fixture
def host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The zone of the machine, which must not matter."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


everywhere = pytest.mark.parametrize("host_zone", ZONES, indirect=True)


@everywhere
def test_a_range_that_ends_on_a_bare_date_holds_the_whole_day(
    host_zone: str, clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L1"""
    ada.add_drawer(wing="home", room="notes", content="tea")
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon")
    clock.move_to("2026-04-20T00:00:00Z")

    assert ada.contents(from_="2026-03-01", until="2026-03-31") == ["tea"]
    assert ada.contents(from_="2026-03-31", until="2026-03-31") == ["tea"]
    assert ada.contents(from_="2026-03-01", until="2026-03-30") == []
    assert ada.contents(since="2026-03-31", before="2026-03-31") == ["tea"]
    assert ada.contents(before="2026-03-30") == []
    assert ada.contents(since="2026-04-01") == []
    assert ada.objects(from_="2026-03-01", until="2026-03-31") == ["Lyon"]
    assert ada.objects(from_="2026-03-01", until="2026-03-30") == []
    assert ada.list_operations(since="2026-03-31", before="2026-03-31")["total"] == 2
    assert ada.list_operations(before="2026-03-30")["total"] == 0
    assert ada.contents(known_at="2026-03-31") == ["tea"]
    assert ada.contents(known_at="2026-03-30") == []


@everywhere
def test_one_day_in_three_spellings_is_one_answer(
    host_zone: str, clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L2"""
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", valid_from="2026-07-26T20:00Z")
    answers = [
        ada.kg_query(entity="Kiran", as_of=day)
        for day in ("2026-07-26", "20260726", "2026-07-26T23:59:59.999999Z")
    ]
    assert answers[0]["as_of"] == "2026-07-26T23:59:59.999999Z"
    assert answers[0]["facts"]
    assert answers[0] == answers[1] == answers[2]


def test_a_month_and_a_year_reach_to_their_last_instant_and_start_at_their_first(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L2"""
    assert ada.list_drawers(as_of="2026")["as_of"] == "2026-12-31T23:59:59.999999Z"
    assert ada.list_drawers(as_of="2026-02")["as_of"] == "2026-02-28T23:59:59.999999Z"
    fact = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
    ada.kg_add(**fact, valid_from="2026-02", valid_to="2026-02")
    assert ada.intervals() == ["Lyon 2026-02-01..2026-03-01"]
    ada.kg_invalidate(**fact, ended="2026-01")
    assert ada.objects(include_historical=True) == []


@pytest.mark.parametrize(
    "text",
    ["Jan 2026", "2026-02-30", "03/01/2026", "", "tomorrowish", "2026-13", "1e9", "-3w", "@1"],
)
@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ("list_drawers", "as_of"),
        ("list_drawers", "from"),
        ("list_drawers", "until"),
        ("list_drawers", "since"),
        ("list_drawers", "before"),
        ("add_drawer", "valid_from"),
        ("add_drawer", "valid_to"),
        ("kg_add", "valid_to"),
        ("kg_invalidate", "ended"),
        ("kg_supersede", "at"),
        ("list_operations", "since"),
    ],
)
def test_what_names_no_time_is_an_error_that_names_the_field(
    shared: Device, tool: str, field: str, text: str
) -> None:
    """L2"""
    given: dict[str, dict[str, str]] = {
        "add_drawer": {"wing": "w", "room": "r", "content": "c"},
        "kg_add": {"subject": "s", "predicate": "p", "object": "o"},
        "kg_invalidate": {"subject": "s", "predicate": "p", "object": "o"},
        "kg_supersede": {"subject": "s", "predicate": "p", "old_object": "o", "new_object": "n"},
    }
    with shared.refuses("input::invalid", field):
        shared.call(tool, given.get(tool, {}) | {field: text})


@pytest.mark.parametrize("text", ["Jan 2026", "@", "@-1", "@x", "@primary:", "@1.5", "@ 1"])
def test_known_at_takes_an_instant_or_a_position(shared: Device, text: str) -> None:
    """L2"""
    with shared.refuses("input::invalid", "known_at"):
        shared.list_drawers(known_at=text)


def test_a_position_of_a_primary_that_nobody_follows_is_refused(shared: Device) -> None:
    with shared.refuses("input::invalid", "known_at"):
        shared.list_drawers(known_at="@primary:3")


@pytest.mark.parametrize("value", [0, 1.5, True, None, ["2026"], {"at": "2026"}])
def test_a_time_that_is_no_text_is_refused_and_null_is_left_out(
    shared: Device, value: object
) -> None:
    if value is None:
        shared.list_drawers(as_of=None)
        return
    with shared.refuses("input::invalid", "as_of"):
        shared.list_drawers(as_of=value)


@pytest.fixture(scope="module")
def shared(still_fleet: Fleet) -> Device:
    """One palace for the many refusals, none of which changes it."""
    return still_fleet.device("ada")


def test_a_fact_of_one_day_is_true_at_any_hour_of_it(ada: Device) -> None:
    """L3"""
    day = {"valid_from": "2026-05-06", "valid_to": "2026-05-06"}
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", **day)
    ada.add_drawer(wing="home", room="notes", content="tea", **day)

    for hour in ("T00:00Z", "T15:00:00Z", "T23:59:59.999999Z"):
        assert ada.objects(as_of=f"2026-05-06{hour}") == ["Lyon"]
        assert ada.contents(as_of=f"2026-05-06{hour}") == ["tea"]
    for moment in ("2026-05-05T23:59:59.999999Z", "2026-05-07T00:00Z"):
        assert ada.objects(as_of=moment) == []
        assert ada.contents(as_of=moment) == []


@everywhere
def test_a_time_without_a_zone_is_of_the_configured_zone_beside_any_other(
    host_zone: str, clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    """L4"""
    paris = fleet.device("paris", zone="Europe/Paris")
    utc = fleet.device("utc")
    fact = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
    for device, start in ((paris, "2026-03-30T13:00:00"), (utc, "2026-03-30T15:00:00")):
        device.kg_add(**fact, valid_from="2026-03-30T15:00", valid_to="2026-03-30T16:00+00:00")
        [shown] = device.kg_query(entity="Kiran", include_historical=True)["facts"]
        assert shown["valid_from"] == f"{start}.000000Z"
        assert shown["valid_to"] == "2026-03-30T16:00:00.000000Z"
    with utc.refuses("input::invalid", "valid_to"):
        utc.kg_add(**fact, valid_from="2026-03-30T15:00", valid_to="2026-03-30T15:00+02:00")
    assert paris.list_drawers(as_of="2026-03-30")["as_of"] == "2026-03-30T21:59:59.999999Z"
    assert utc.list_drawers(as_of="2026-03-30")["as_of"] == "2026-03-30T23:59:59.999999Z"


@pytest.mark.parametrize("nice_first", [True, False])
def test_a_single_value_recorded_late_holds_until_the_next_one_whatever_came_first(
    clock: FrozenDateTimeFactory, ada: Device, *, nice_first: bool
) -> None:
    """L5"""
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    cities = [("Lyon", "2026-03-01"), ("Nice", "2026-01-01")]
    for city, start in reversed(cities) if nice_first else cities:
        ada.kg_add(subject="Kiran", predicate="city", object=city, valid_from=start)
        clock.tick(60)

    assert ada.objects(as_of="2026-02-15") == ["Nice"]
    assert ada.objects(as_of="2026-04-15") == ["Lyon"]
    assert ada.intervals() == ["Nice 2026-01-01..2026-03-01", "Lyon 2026-03-01.."]


def test_what_was_known_then_does_not_change_when_an_end_has_passed(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    """L28"""
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", valid_to="2026-05-01")
    ada.add_drawer(wing="home", room="notes", content="tea", valid_to="2026-05-01")
    at_position, at_instant = {"known_at": "@2"}, {"known_at": "2026-03-31T15:00:00.000001Z"}

    def asked() -> list[object]:
        return [
            read(**moment)
            for moment in (at_position, at_instant)
            for read in (lambda **m: ada.kg_query(entity="Kiran", **m), ada.list_drawers)
        ]

    before = asked()
    assert all(answer.get("facts") or answer.get("drawers") for answer in before)  # type: ignore[attr-defined]
    clock.move_to("2027-01-01T00:00:00Z")
    assert ada.objects() == []
    assert ada.contents() == []
    assert asked() == before


def test_known_at_alone_moves_both_axes(clock: FrozenDateTimeFactory, ada: Device) -> None:
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon", valid_to="2026-04-10")
    clock.move_to("2026-05-01T00:00:00Z")
    ada.kg_add(subject="Kiran", predicate="city", object="Nice", valid_from="2026-04-01")

    then = ada.kg_query(entity="Kiran", known_at="2026-04-05")
    assert [fact["object"] for fact in then["facts"]] == ["Lyon"]
    assert (then["position"], then["as_of"]) == (1, "2026-04-05T23:59:59.999999Z")
    assert then["known_at"] == then["as_of"]
    assert ada.objects(as_of="2026-04-05") == ["Lyon", "Nice"]
    assert ada.objects(known_at="2026-04-05", as_of="2026-04-20") == []
    assert ada.objects(known_at="@1") == ["Lyon"]


def test_a_moment_after_the_head_means_the_head(ada: Device) -> None:
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon")
    after = ada.kg_query(entity="Kiran", known_at="@999999999999999999")
    assert after == ada.kg_query(entity="Kiran", known_at="@1")
    assert (after["position"], after["log_id"]) == (1, ada.house.log.log_id)
    assert ada.kg_query(entity="Kiran", known_at="2999")["position"] == 1
    before = ada.kg_query(entity="Kiran", known_at="@0")
    assert (before["position"], before["facts"]) == (0, [])
