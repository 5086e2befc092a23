"""What an event is found by, and the names and texts that it brings."""

from __future__ import annotations

from typing import Any

from domain.belief import Event, Name
from domain.catalog import folds_of
from domain.facts import FACTS, Assertion
from tests.folds import (
    ROOM,
    WING,
    add_drawer,
    declare,
    delete,
    from_zero,
    invalidate,
    kg_add,
    named,
    supersede,
    supersede_drawer,
    update,
)

TEA, CUP = ("drawer", named("tea")), ("drawer", named("cup"))
SPELLED: dict[str, Any] = {"wing": "Work", "subject": "Kiran  B", "predicate": "City"}
IN_WORK = [Name("wing", "", "Work"), Name("subject", "", "Kiran  B"), Name("predicate", "", "City")]
PLACE = [Name("wing", "", WING), Name("room", WING, ROOM)]


def mentions(event: Event) -> list[tuple[str, str]]:
    [fold] = folds_of(event.tool)
    return list(fold.mentions(event))


def names(event: Event) -> list[Name]:
    [fold] = folds_of(event.tool)
    return list(fold.names(event))


def texts(event: Event) -> list[str]:
    [fold] = folds_of(event.tool)
    return [content for _, _, _, content in fold.texts(event)]


def test_an_event_on_facts_is_found_by_its_wing_and_by_every_entity_that_it_names() -> None:
    about = [("wing", "work"), ("entity", "kiran b")]
    assert mentions(kg_add(1, "Lyon", **SPELLED)) == [*about, ("entity", "lyon")]
    assert mentions(invalidate(1, "Lyon", **SPELLED)) == [*about, ("entity", "lyon")]
    superseded = mentions(supersede(1, "Lyon", "NICE", **SPELLED))
    assert superseded == [*about, ("entity", "lyon"), ("entity", "nice")]


def test_an_entity_that_is_named_twice_is_mentioned_once() -> None:
    assert mentions(kg_add(1, "KIRAN B", **SPELLED)) == [("wing", "work"), ("entity", "kiran b")]


def test_a_declaration_is_found_by_its_wing_where_it_has_one() -> None:
    assert mentions(declare(1, wing="Work")) == [("wing", "work")]
    assert mentions(declare(1)) == []


def test_an_event_on_drawers_is_found_by_every_drawer_that_it_touches() -> None:
    assert mentions(add_drawer(1, "tea")) == mentions(delete(1, "tea")) == [TEA]
    assert mentions(update(1, "tea", "cup")) == [CUP, TEA]
    assert mentions(supersede_drawer(1, "tea", "cup")) == [CUP, TEA]


def test_an_event_on_facts_spells_wing_subject_and_predicate() -> None:
    for event in (kg_add(1, "Lyon", **SPELLED), supersede(1, "Lyon", "Nice", **SPELLED)):
        assert names(event) == IN_WORK


def test_a_declaration_spells_its_predicate_and_its_wing_where_it_has_one() -> None:
    assert names(declare(1, predicate="City")) == [Name("predicate", "", "City")]
    in_wing = names(declare(1, predicate="City", wing="Work"))
    assert in_wing == [Name("predicate", "", "City"), Name("wing", "", "Work")]


def test_an_event_that_brings_a_text_spells_its_place() -> None:
    for event in (add_drawer(1, "tea"), update(1, "cup", "tea"), supersede_drawer(1, "cup", "tea")):
        assert names(event) == PLACE
        assert texts(event) == ["tea"]
    for event in (delete(1, "tea"), supersede_drawer(1, "tea")):
        assert names(event) == []
        assert texts(event) == []


def test_events_on_facts_bring_no_texts() -> None:
    assert texts(kg_add(1, "Lyon")) == texts(declare(1)) == []


def test_an_assertion_keeps_the_comparable_forms_beside_the_spellings() -> None:
    event = kg_add(1, "Saint  \u00c9tienne", **SPELLED)
    [row] = [row for row in from_zero(FACTS, [event]) if type(row) is Assertion]
    assert (row.object, row.object_key) == ("Saint  \u00c9tienne", "saint \u00e9tienne")
    assert (row.subject, row.subject_key) == ("Kiran  B", "kiran b")
    assert (row.wing, row.wing_key, row.predicate_key) == ("Work", "work", "city")
