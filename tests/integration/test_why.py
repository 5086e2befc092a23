"""Why something is there: who wrote it, and what that session had read before it wrote."""

from __future__ import annotations

from typing import Any

from freezegun.api import FrozenDateTimeFactory

from replay.rebuild import rebuild
from tests.palaces import Device, Fleet, deliver

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


def planted(clock: FrozenDateTimeFactory, ada: Device) -> tuple[str, str]:
    """A note that one agent planted, and the fact that another made of it after reading it."""
    mole = ada.by(agent="mole", client="mail", session="s-1", principal="eve")
    note = mole.add_drawer(**PLACE, content="Kiran lives in Lyon.")["drawer_id"]
    clock.tick(60)
    scribe = ada.by(agent="scribe", session="s-2")
    ada.by(agent="scribe", session="s-3").list_drawers(wing="home")
    clock.tick(1)
    scribe.search(query="where does Kiran live")
    clock.tick(1)
    scribe.list_drawers(wing="home", room="notes")
    clock.tick(1)
    scribe.get_drawer(drawer_id=note)
    clock.tick(1)
    scribe.kg_query(entity="Kiran")
    clock.tick(1)
    told = scribe.kg_add(**CITY, object="Lyon", source_drawer_id=note)
    clock.tick(1)
    scribe.kg_timeline()
    return note, told["fact_id"]


def reads(operation: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(one["tool"], one["showed"]) for one in operation["read_before"]]


def test_a_fact_leads_to_the_session_that_wrote_it_and_what_that_had_read(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    note, fact = planted(clock, ada)
    found = ada.why(id=fact)
    assert (found["kind"], found["id"], found["rests_on"]) == ("fact", fact, [note])
    [made] = found["operations"]
    assert (made["tool"], made["agent"], made["device"]) == ("kg_add", "scribe", "ada")
    assert (made["session"], made["recorded_at"][11:19]) == ("s-2", "15:01:05")
    assert reads(made) == [
        ("kg_query", []), ("get_drawer", [note]), ("list_drawers", [note]), ("search", [note]),
    ]  # fmt: skip
    assert made["reads"] == 4
    assert made["read_before"][3]["asked"] == {"query": "where does Kiran live"}
    assert made["read_before"][3]["position"] == 1


def test_from_the_fact_the_way_leads_on_to_who_planted_the_note(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    _, fact = planted(clock, ada)
    found = ada.why(id=ada.why(id=fact)["rests_on"][0])
    [made] = found["operations"]
    assert (found["kind"], made["tool"], made["reads"]) == ("drawer", "add_drawer", 0)
    who = ("mole", "mail", "s-1", "eve")
    assert (made["agent"], made["client"], made["session"], made["principal"]) == who


def test_the_reads_that_showed_it_are_told_however_long_ago_they_were(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    note = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    scribe = ada.by(session="s")
    scribe.get_drawer(drawer_id=note)
    for number in range(40):
        clock.tick(20)
        scribe.kg_query(entity=f"nobody {number}")
    fact = scribe.kg_add(**CITY, object="Lyon", source_drawer_id=note)["fact_id"]
    [made] = ada.why(id=fact)["operations"]
    assert made["reads"] == 41
    assert reads(made) == [("kg_query", [])] * 10 + [("get_drawer", [note])]


def test_all_that_changed_a_fact_is_told_in_order(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    fact = ada.by(agent="a").kg_add(**CITY, object="Lyon")["fact_id"]
    clock.tick(60)
    ada.by(agent="b").kg_add(**CITY, object="Oslo")
    clock.tick(60)
    ada.by(agent="c").kg_supersede(**CITY, old_object="Lyon", new_object="Nice")
    by = [one["agent"] for one in ada.why(id=fact)["operations"]]
    assert by == ["a", "c"]
    assert [one["agent"] for one in ada.why(id=fact, known_at="@2")["operations"]] == ["a"]
    rebuild(ada.house.log, ada.house.generations, ada.house.lock)
    assert [one["agent"] for one in ada.why(id=fact)["operations"]] == by


def test_what_cut_the_fact_of_a_predicate_with_one_value_is_told(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    fact = ada.by(agent="a").kg_add(**CITY, object="Lyon")["fact_id"]
    clock.tick(60)
    ada.by(agent="b").kg_add(**CITY, object="Oslo")
    assert [one["agent"] for one in ada.why(id=fact)["operations"]] == ["a", "b"]


def test_a_declaration_that_ended_a_fact_is_told(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    fact = ada.by(agent="a").kg_add(**CITY, object="Lyon")["fact_id"]
    clock.tick(60)
    after = ada.by(agent="b").kg_add(**CITY, object="Oslo")["fact_id"]
    clock.tick(60)
    ada.by(agent="other").kg_declare_predicate(predicate="pet", cardinality="one")
    ada.by(agent="c").kg_declare_predicate(predicate="city", cardinality="many")
    ada.by(agent="d").kg_declare_predicate(predicate="City", cardinality="one")
    ada.by(agent="e").kg_declare_predicate(predicate="city", cardinality="one")

    def by(device: Device, id: str = fact, **moment: str) -> list[str]:
        return [one["agent"] for one in device.why(id=id, **moment)["operations"]]

    assert ada.objects() == ["Oslo"]
    assert by(ada) == ["a", "b", "d"]
    assert by(ada, after) == ["b"]
    assert by(ada, known_at="@4") == ["a"]
    deliver(ada.house, bob.house)
    assert by(bob) == ["a", "b", "d"]
    rebuild(ada.house.log, ada.house.generations, ada.house.lock)
    assert by(ada) == ["a", "b", "d"]
    ada.by(agent="f").kg_declare_predicate(predicate="city", cardinality="many", wing="facts")
    assert by(ada) == ["a"]


def test_a_declaration_that_left_nothing_of_a_fact_is_told(ada: Device) -> None:
    fact = ada.by(agent="a").kg_add(**CITY, object="Lyon", valid_from="2026")["fact_id"]
    ada.by(agent="b").kg_add(**CITY, object="Oslo", valid_from="2026")
    assert [one["agent"] for one in ada.why(id=fact)["operations"]] == ["a"]
    ada.by(agent="c").kg_declare_predicate(predicate="city", cardinality="one")
    assert ada.objects() == ["Oslo"]
    assert [one["agent"] for one in ada.why(id=fact)["operations"]] == ["a", "b", "c"]


def test_all_that_changed_a_drawer_is_told_under_any_id_of_its_lineage(
    clock: FrozenDateTimeFactory, ada: Device
) -> None:
    tea = ada.by(agent="a", session="1").add_drawer(**PLACE, content="tea")["drawer_id"]
    clock.tick(1)
    writer = ada.by(agent="b", session="2")
    writer.get_drawer(drawer_id=tea)
    clock.tick(1)
    green = writer.update_drawer(drawer_id=tea, content="green tea")["drawer_id"]
    clock.tick(1)
    ada.by(agent="c").delete_drawer(drawer_id=green)
    for id in (tea, green):
        found = ada.why(id=id)
        assert [one["tool"] for one in found["operations"]] == [
            "add_drawer", "update_drawer", "delete_drawer",
        ]  # fmt: skip
        assert reads(found["operations"][1]) == [("get_drawer", [tea])]
    assert "green tea" not in str(ada.why(id=tea)["operations"])
    short = ada.why(id=tea, limit=1)
    assert (len(short["operations"]), short["total"]) == (1, 3)


def test_what_another_device_read_is_not_known_here(
    clock: FrozenDateTimeFactory, fleet: Fleet
) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.by(session="s").list_drawers()
    clock.tick(1)
    scribe = bob.by(session="s", agent="scribe")
    scribe.list_drawers()
    fact = scribe.kg_add(**CITY, object="Lyon")["fact_id"]
    deliver(bob.house, ada.house)
    [there], [here] = (one.why(id=fact)["operations"] for one in (bob, ada))
    assert (there["device"], there["reads"]) == ("bob", 1)
    assert (here["device"], here["agent"], here["reads"]) == ("bob", "scribe", 0)


def test_what_is_unknown_is_refused(ada: Device) -> None:
    with ada.refuses("facts::unknown"):
        ada.why(id="fact_0")
    with ada.refuses("drawers::unknown"):
        ada.why(id="drawer_0")
    with ada.refuses("mode::forbidden"):
        ada.by(session_mode="disabled").why(id="drawer_0")
