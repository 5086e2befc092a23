"""Entities: their other names, the drawers linked to them, and what a text is about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.palaces import Device, Fleet, every_order

PLACE = {"wing": "home", "room": "notes"}
CITY = {"subject": "Kiran", "predicate": "city"}


def listed(device: Device, **asked: Any) -> list[tuple[str, int, int]]:
    found = device.list_entities(**asked)["entities"]
    return [(one["entity"], one["facts"], one["drawers"]) for one in found]


def aliases(device: Device, entity: str = "Kiran", **moment: Any) -> list[str]:
    found: list[str] = device.entity_relationships(entity=entity, **moment)["aliases"]
    return found


def mentions(device: Device, entity: str = "Kiran", **asked: Any) -> list[tuple[str, list[str]]]:
    found = device.entity_mentions(entity=entity, **asked)["drawers"]
    return [(one["preview"], one["by"]) for one in found]


def candidates(device: Device, content: str) -> list[tuple[str, str, str | None]]:
    found = device.entity_candidates(content=content)["candidates"]
    return [(one["name"], one["rule"], one["entity"]) for one in found]


def store(device: Device, content: str, **more: Any) -> str:
    return str(device.add_drawer(**PLACE | {"content": content} | more)["drawer_id"])


def test_the_facts_of_an_alias_and_of_its_entity_are_found_under_both_names(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon")
    ada.kg_add(subject="Kiki", predicate="pet", object="Rex")
    ada.kg_add(subject="Ana", predicate="knows", object="Kiki")
    assert ada.objects("Kiran", "pet") == []
    told = ada.add_alias(entity="kiran", alias="Kiki")
    assert (told["entity"], told["alias"], told["duplicate"]) == ("Kiran", "Kiki", False)

    assert (ada.objects("Kiran", "pet"), ada.objects("kiki", "city")) == (["Rex"], ["Lyon"])
    for name in ("Kiran", "KIKI"):
        found = ada.kg_query(entity=name)["facts"]
        assert sorted(one["object"] for one in found) == ["Kiki", "Lyon", "Rex"]
        assert len(ada.kg_timeline(entity=name)["facts"]) == 3
        assert [one["subject"] for one in ada.kg_query(entity=name, direction="in")["facts"]] == [
            "Ana"
        ]
    assert listed(ada) == [("Ana", 1, 0), ("Kiran", 3, 0), ("Lyon", 1, 0), ("Rex", 1, 0)]
    assert ada.list_entities(prefix="KIK")["entities"][0]["aliases"] == ["Kiki"]
    assert aliases(ada) == ["Kiki"]


def test_an_alias_of_one_wing_holds_in_that_wing_alone(ada: Device) -> None:
    for wing, city in (("work", "Lyon"), ("home", "Nice")):
        ada.kg_add(subject="K", predicate="city", object=city, wing=wing)
    ada.add_alias(entity="Kiran", alias="K", wing="Work")
    assert ada.objects("Kiran") == ["Lyon"]
    assert sorted(ada.objects("K")) == ["Lyon", "Nice"]
    assert [one["object"] for one in ada.kg_timeline(entity="Kiran")["facts"]] == ["Lyon"]
    ada.add_alias(entity="Karim", alias="K")
    assert (ada.objects("Karim"), ada.objects("Kiran")) == (["Nice"], ["Lyon"])


def test_a_single_value_under_an_alias_is_cut_as_ever(ada: Device) -> None:
    ada.kg_declare_predicate(predicate="owner", cardinality="one")
    ada.kg_add(subject="car", predicate="owner", object="Kiki", valid_from="2026-01-01")
    ada.kg_add(subject="car", predicate="owner", object="Ana", valid_from="2026-02-01")
    ada.add_alias(entity="Kiran", alias="Kiki")
    asked = {"entity": "Kiran", "direction": "in", "include_historical": True}
    [fact] = ada.kg_query(**asked)["facts"]
    assert (fact["object"], (fact["valid_to"] or "")[:10]) == ("Kiki", "2026-02-01")
    assert ada.entity_relationships(entity="Kiran")["total"] == 0


def test_an_alias_must_not_lead_back_to_itself(ada: Device) -> None:
    ada.add_alias(entity="Kiran", alias="Kiki")
    ada.add_alias(entity="Kiki", alias="K")
    with ada.refuses("entities::same"):
        ada.add_alias(entity="Kiran", alias=" KIRAN ")
    for entity in ("Kiki", "K"):
        with ada.refuses("entities::cycle"):
            ada.add_alias(entity=entity, alias="Kiran")
    with ada.refuses("entities::cycle"):
        ada.add_alias(entity="K", alias="Kiran", wing="home")
    assert ada.add_alias(entity="Kiran", alias="kiki")["duplicate"] is True


def test_aliases_that_two_devices_lead_in_a_circle_are_one_entity(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.add_alias(entity="Kiran", alias="Kiki")
    bob.add_alias(entity="Kiki", alias="Kiran")
    bob.kg_add(**CITY, object="Lyon")
    fleet.share()
    for device in (ada, bob):
        assert device.objects("Kiki") == device.objects("Kiran") == ["Lyon"]
        assert [name for name, _, _ in listed(device)] == ["Kiki", "Lyon"]
    fleet.agrees()
    for order in every_order((ada, bob)):
        assert fleet.gathered(*order).objects("Kiki") == ["Lyon"]


def test_the_last_word_on_an_alias_counts_everywhere_and_is_undone(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    for name, city in (("Kiran", "Lyon"), ("Karim", "Nice")):
        ada.kg_add(subject=name, predicate="city", object=city)
    ada.add_alias(entity="Kiran", alias="K")
    fleet.share()
    last = bob.add_alias(entity="Karim", alias="K")
    fleet.share()
    position = ada.position()
    for device in (ada, bob):
        assert device.objects("K") == ["Nice"]
    ada.undo(op_id=last["op_id"], dry_run=False)
    fleet.share()
    for device in (ada, bob):
        assert device.objects("K") == ["Lyon"]
    assert ada.objects("K", known_at=f"@{position}") == ["Nice"]
    assert ada.objects("K", known_at=f"@{position - 1}") == ["Lyon"]
    fleet.agrees()


def test_a_drawer_is_linked_follows_its_text_and_is_hidden_with_it(ada: Device) -> None:
    tea = store(ada, "Drinks tea at four")
    told = ada.link_drawer(drawer_id=tea, entity="Kiran")
    assert (told["drawer_id"], told["relation"]) == (tea, "mentions")
    assert ada.link_drawer(drawer_id=tea, entity="KIRAN")["duplicate"] is True
    ada.link_drawer(drawer_id=tea, entity="Kiran", relation="likes")
    [line] = ada.entity_mentions(entity="Kiran")["drawers"]
    assert (line["id"], line["by"], line["relations"]) == (tea, ["linked"], ["likes", "mentions"])
    assert listed(ada) == [("Kiran", 0, 1)]

    moved = ada.update_drawer(drawer_id=tea, content="Drinks coffee")["drawer_id"]
    assert ada.entity_mentions(entity="kiran")["drawers"][0]["id"] == moved
    assert listed(ada) == [("Kiran", 0, 1)]
    assert ada.link_drawer(drawer_id=tea, entity="Ana")["drawer_id"] == moved
    ada.delete_drawer(drawer_id=moved)
    assert mentions(ada) == []
    assert listed(ada) == []
    assert ada.kg_stats()["links"] == 0
    with ada.refuses("drawers::hidden"):
        ada.link_drawer(drawer_id=moved, entity="Kiran")


def test_a_link_to_what_nobody_stored_is_refused_where_all_is_known(fleet: Fleet) -> None:
    ada, edge = fleet.device("ada"), fleet.device("edge", role="edge")
    with ada.refuses("drawers::unknown"):
        ada.link_drawer(drawer_id="drawer_home_notes_0", entity="Kiran")
    told = edge.link_drawer(drawer_id="drawer_home_notes_0", entity="Kiran")
    assert edge.show_operation(op_id=told["op_id"])["operation"]["target"] == "unverified"
    assert mentions(edge) == []


def test_a_link_travels_before_or_after_its_drawer_and_is_undone(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    tea = store(ada, "Tea")
    fleet.share()
    linked = bob.link_drawer(drawer_id=tea, entity="Kiran")
    for order in every_order((ada, bob)):
        assert mentions(fleet.gathered(*order)) == [("Tea", ["linked"])]
    fleet.share()
    fleet.agrees()
    position = ada.position()
    ada.undo(op_id=linked["op_id"], dry_run=False)
    assert mentions(ada) == []
    assert mentions(ada, known_at=f"@{position}") == [("Tea", ["linked"])]


def test_mentions_say_why_a_drawer_is_about_an_entity_newest_first(ada: Device, clock: Any) -> None:
    texts = ("A letter", "Seen: KIRAN\nat noon", "Kirana is no name", "Kiki came", "gone Kiran")
    drawers = []
    for text in texts:
        clock.tick(1)
        drawers.append(store(ada, text))
    ada.kg_add(**CITY, object="Lyon", source_drawer_id=drawers[0])
    ada.add_alias(entity="Kiran", alias="Kiki")
    ada.link_drawer(drawer_id=drawers[1], entity="Kiki")
    ada.delete_drawer(drawer_id=drawers[4])
    expected = [
        ("Kiki came", ["text"]),
        ("Seen: KIRAN\nat noon", ["linked", "text"]),
        ("A letter", ["source"]),
    ]
    assert mentions(ada) == mentions(ada, "kiki") == expected
    first = ada.entity_mentions(entity="Kiran", limit=1)
    again = ada.entity_mentions(entity="Kiran", limit=2, cursor=first["cursor"])
    assert (first["total"], again["cursor"]) == (3, None)
    lines = [*first["drawers"], *again["drawers"]]
    assert [one["preview"] for one in lines] == [text for text, _ in expected]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("咖啡", "把咖啡放在左边", True),
        ("Lyon", "在Lyon的家", True),
        ("C++", "Written in C++.", True),
        ("ana", "banana", False),
        ("Ana Lima", "with ana\n  lima today", True),
        ("É", "cafe\u0301", False),
    ],
)
def test_whole_words_are_those_of_their_script(
    ada: Device, name: str, text: str, found: bool
) -> None:
    store(ada, text)
    assert bool(mentions(ada, name)) is found


def test_relationships_are_grouped_by_predicate_in_both_directions(ada: Device) -> None:
    for place in ("Lyon", "Nice"):
        ada.kg_add(subject="Kiran", predicate="visited", object=place, valid_from="2026-01-01")
    ada.kg_add(subject="Ana", predicate="knows", object="Kiran", valid_from="2026-01-01")
    ended = {"subject": "Kiran", "predicate": "visited", "object": "Lyon", "ended": "2026-02-01"}
    position = ada.position()
    ada.kg_invalidate(**ended)

    def shown(**asked: Any) -> dict[str, list[tuple[str, list[str]]]]:
        found = ada.entity_relationships(entity="kiran", **asked)
        assert found["total"] == sum(len(one["facts"]) for one in found["outgoing"]) + sum(
            len(one["facts"]) for one in found["incoming"]
        )
        return {
            side: [
                (one["predicate"], [f"{fact['subject']}-{fact['object']}" for fact in one["facts"]])
                for one in found[side]
            ]
            for side in ("outgoing", "incoming")
        }

    now = {"outgoing": [("visited", ["Kiran-Nice"])], "incoming": [("knows", ["Ana-Kiran"])]}
    assert shown() == now
    assert shown(direction="out", predicate="VISITED") == now | {"incoming": []}
    both = [("visited", ["Kiran-Lyon", "Kiran-Nice"])]
    assert shown(as_of="2026-01-15")["outgoing"] == both
    assert shown(known_at=f"@{position}")["outgoing"] == both


def test_entities_are_counted_in_a_wing_by_prefix_and_page_by_page(ada: Device) -> None:
    letter = store(ada, "letter")
    ada.kg_add(**CITY, object="Lyon", source_drawer_id=letter)
    ada.kg_add(subject="Ana", predicate="city", object="Lyon", wing="work")
    ada.link_drawer(drawer_id=letter, entity="Zoe")
    everyone = [("Ana", 1, 0), ("Kiran", 1, 1), ("Lyon", 2, 1), ("Zoe", 0, 1)]
    assert listed(ada) == everyone
    assert listed(ada, wing="HOME") == [("Kiran", 1, 1), ("Lyon", 1, 1), ("Zoe", 0, 1)]
    assert listed(ada, prefix="ki") == [("Kiran", 1, 1)]
    first = ada.list_entities(limit=3)
    rest = listed(ada, limit=3, cursor=first["cursor"])
    assert (first["total"], rest) == (4, [("Zoe", 0, 1)])
    ada.delete_drawer(drawer_id=letter)
    assert listed(ada) == [("Ana", 1, 0), ("Kiran", 1, 0), ("Lyon", 2, 0)]


def test_candidates_name_what_is_known_and_what_rules_find(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon")
    ada.add_alias(entity="Kiran", alias="Kiki")
    text = (
        "Yesterday kiki met Tomás Silva in lyon. Rain fell on `cache.db`, says @ops-bot "
        'about "project x". Later Tomás Silva left; mail a@b.com'
    )
    assert candidates(ada, text) == [
        ("Kiki", "alias", "Kiran"),
        ("Tomás Silva", "capitalised", None),
        ("Lyon", "entity", "Lyon"),
        ("cache.db", "code", None),
        ("@ops-bot", "handle", None),
        ("project x", "quoted", None),
    ]
    counts = {
        one["name"]: one["count"] for one in ada.entity_candidates(content=text)["candidates"]
    }
    assert (counts["Tomás Silva"], counts["Lyon"]) == (2, 1)


def test_without_spaces_only_known_names_are_candidates(ada: Device) -> None:
    assert candidates(ada, "「咖啡」放在左边的柜子里。Kiran的杯子") == []
    ada.kg_add(subject="咖啡", predicate="地点", object="左边")
    assert candidates(ada, "咖啡放在左边的柜子里") == [
        ("咖啡", "entity", "咖啡"),
        ("左边", "entity", "左边"),
    ]


def test_candidates_of_a_drawer_are_those_of_its_text_while_it_is_shown(ada: Device) -> None:
    note = store(ada, "We met Ana there.")
    [found] = ada.entity_candidates(drawer_id=note)["candidates"]
    assert (found["name"], found["rule"]) == ("Ana", "capitalised")
    ada.delete_drawer(drawer_id=note)
    with ada.refuses("drawers::hidden"):
        ada.entity_candidates(drawer_id=note)
    with ada.refuses("drawers::unknown"):
        ada.entity_candidates(drawer_id="drawer_none")
    with ada.refuses("input::invalid"):
        ada.entity_candidates(drawer_id=note, content="both")
    with ada.refuses("input::invalid"):
        ada.entity_candidates()


@pytest.mark.parametrize(
    ("content", "entity"),
    [
        ("We met ANA\n  Maria there", "Ana Maria"),
        ("Hauptstra\u00dfe 5", "HAUPTSTRASSE"),
        ("300 \u212aelvin", "kelvin"),
        ("M\u00dcLLER called", "m\u00fcller"),
        ("Mu\u0308ller called", "M\u00fcller"),
        ("the boss called", "M\u00fcller"),
    ],
)
def test_a_text_names_an_entity_however_both_are_written(
    ada: Device, content: str, entity: str
) -> None:
    ada.add_alias(entity="M\u00fcller", alias="Boss")
    store(ada, content)
    store(ada, "Nobody was there: Anna Maria, H\u00f6hne, Kelvins, bosses")
    assert mentions(ada, entity) == [(content, ["text"])]


def test_the_graph_is_counted_wing_by_wing_without_what_it_says(ada: Device) -> None:
    ada.kg_declare_predicate(predicate="city", cardinality="one")
    for start, place in (("2026-01-01", "Lyon"), ("2026-02-01", "Nice"), ("2031", "Oslo")):
        ada.kg_add(**CITY, object=place, valid_from=start)
    ada.kg_add(subject="Kiran", predicate="likes", object="tea", wing="work")
    position = ada.position()
    ada.add_alias(entity="Kiran", alias="K")
    stats = ada.kg_stats()
    assert stats["facts"] == {"total": 4, "current": 2, "past": 1, "upcoming": 1}
    assert (stats["entities"], stats["aliases"], stats["predicates"]) == (3, 1, 2)
    facts, work = stats["wings"]
    assert (facts["wing"], facts["entities"], work["wing"], work["entities"]) == (
        *("facts", 2),
        *("work", 2),
    )
    assert [(one["predicate"], one["cardinality"]) for one in facts["predicates"]] == [
        ("city", "one")
    ]
    assert work["predicates"][0]["cardinality"] == "many"
    assert ada.status()["totals"]["facts"] == stats["facts"]["total"]
    assert not [name for name in ("Kiran", "Lyon", "tea") if name in str(stats)]
    assert ada.kg_stats(known_at=f"@{position}")["aliases"] == 0
    assert ada.kg_stats(known_at="@0")["wings"] == []


def test_what_is_said_of_a_local_wing_stays_on_its_machine(fleet: Fleet) -> None:
    ada, bob = fleet.devices("ada", "bob")
    ada.create_wing(wing="home", policy="local")
    tea = store(ada, "Kiran drinks tea")
    linked = ada.link_drawer(drawer_id=tea, entity="Kiran", relation="drinks")
    alias = ada.add_alias(entity="Kiran", alias="K", wing="home")
    assert (linked["stream"], alias["stream"]) == ("local", "local")
    assert ada.add_alias(entity="Kiran", alias="Kiki")["stream"] == "shared"
    fleet.share()
    assert (mentions(ada), mentions(bob)) == ([("Kiran drinks tea", ["linked", "text"])], [])
    assert (aliases(ada), aliases(bob)) == (["K", "Kiki"], ["Kiki"])


def test_recall_knows_an_entity_by_its_alias(ada: Device) -> None:
    ada.kg_add(**CITY, object="Lyon")
    ada.add_alias(entity="Kiran", alias="Big K")
    found = ada.recall(query="where does big k live?")
    assert [fact["object"] for fact in found["facts"]] == ["Lyon"]
