"""Declarations: one value at a time or many, over all history and for every subject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from domain.facts import (
    EVERY_WING,
    FACTS,
    PREDICATES,
    Assertion,
    Declared,
    derive,
    register,
    single_valued,
)
from tests.folds import declare, facts, from_zero, given, kg_add
from tests.memory_engine import MemoryEngine


def is_single(rows: Iterable[Any], wing: str = "facts", predicate: str = "city") -> bool:
    declared = (row for row in rows if isinstance(row, Declared))
    return single_valued(declared, wing, predicate)


def test_a_predicate_that_nobody_declared_has_many_values() -> None:
    given(PREDICATES, declare(1, predicate="age")).then(is_single, False)


def test_the_last_declaration_in_canonical_order_counts() -> None:
    given(PREDICATES, declare(1, "one"), declare(2, "many", device="bob")).then(is_single, False)
    given(PREDICATES, declare(1, "many"), declare(2, "one", device="bob")).then(is_single, True)


def test_a_late_declaration_that_is_earlier_in_canonical_order_changes_nothing() -> None:
    engine = MemoryEngine(PREDICATES).receive(declare(5, "one"))
    engine.receive(declare(3, "many", device="bob"))
    assert is_single(engine.rows())


@pytest.mark.parametrize(("everywhere", "here"), [("one", "many"), ("many", "one")])
def test_the_wing_s_own_declaration_wins_whichever_was_made_later(
    everywhere: str, here: str
) -> None:
    for first, second in [(1, 2), (2, 1)]:
        rows = from_zero(
            PREDICATES, [declare(first, everywhere), declare(second, here, wing="Work")]
        )
        assert is_single(rows, "work") == (here == "one")
        assert is_single(rows, "home") == (everywhere == "one")


def test_a_declaration_is_for_one_predicate_however_it_is_spelled() -> None:
    rows = from_zero(PREDICATES, [declare(1, "many"), declare(2, "one", predicate="CITY")])
    assert is_single(rows, predicate="city")
    assert not is_single(rows, predicate="age")
    assert [row.predicate for row in rows] == ["CITY"]


def test_a_scope_and_a_predicate_make_one_register() -> None:
    ids = {register(EVERY_WING, "city"), register("city", "x"), register("c", "ity")}
    assert len(ids) == 3
    assert register("Work", "City") == register("work", " city ")


def test_a_late_declaration_refolds_history_for_every_subject() -> None:
    """L30: history reads single-valued; asked as of an earlier position it does not."""
    moved = [
        kg_add(1, "Lyon", 1),
        kg_add(2, "Nice", 3),
        kg_add(3, "Rome", 2, subject="Ana"),
        kg_add(4, "Oslo", 4, subject="Ana"),
    ]
    engine = MemoryEngine(PREDICATES).receive(declare(1, "many"), declare(9, "one"))
    assertions = [row for row in from_zero(FACTS, moved) if isinstance(row, Assertion)]

    def shown(subject: str, position: int) -> list[str]:
        own = [row for row in assertions if row.subject == subject]
        return facts(derive(own, single=is_single(engine.rows_at(position))))

    assert shown("Kiran", 1) == ["Lyon 1..", "Nice 3.."]
    assert shown("Kiran", 2) == ["Lyon 1..3", "Nice 3.."]
    assert shown("Ana", 1) == ["Rome 2..", "Oslo 4.."]
    assert shown("Ana", 2) == ["Rome 2..4", "Oslo 4.."]
