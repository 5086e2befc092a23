"""What the folds stand on: rows asked for one by one, and the difference that one event makes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, get_type_hints

import pytest

from domain.belief import Event, Held, event_of, fold_all, one_part
from domain.catalog import CATALOG, FOLDS, folds_of
from domain.facts import FACTS, Assertion
from domain.hlc import stamp_at
from domain.operation import EMPTY_LOG, NOTHING_YET, Draft, Operation, place, rank, record
from tests.folds import delete, invalidate, kg_add


class Row(NamedTuple):
    """A row with one field to be asked by."""

    id: str
    colour: str
    rank: bytes = b""
    note: str = ""


WRITES = [entry for entry in CATALOG.values() if entry.writes]

INDEXES: dict[type[Any], tuple[str, ...]] = {Row: ("colour",)}


class Stored:
    """Current rows, and how often each question was asked."""

    def __init__(self, *rows: Row) -> None:
        self.rows = rows
        self.asked: list[tuple[str, str]] = []

    def fetch(self, kind: type[Any], field: str, value: str) -> Iterable[Any]:
        self.asked.append((field, value))
        return [row for row in self.rows if getattr(row, field) == value]


def test_held_rows_come_in_canonical_order_and_never_by_id() -> None:
    late, early = Row("a", "red", b"2"), Row("b", "red", b"1")
    stored = Stored(late, early)
    assert Held(INDEXES, stored.fetch).find(Row, "colour", "red") == [early, late]


def test_a_question_is_asked_of_the_views_once() -> None:
    stored = Stored(Row("a", "red"))
    held = Held(INDEXES, stored.fetch)
    held.find(Row, "colour", "red")
    held.find(Row, "colour", "red")
    held.find(Row, "colour", "blue")
    assert stored.asked == [("colour", "red"), ("colour", "blue")]


def test_nothing_differs_until_a_row_is_changed() -> None:
    held = Held(INDEXES, Stored(Row("a", "red")).fetch)
    row = held.find(Row, "colour", "red")[0]
    held.put(row)
    assert list(held.changes()) == []


def test_a_changed_row_is_found_by_what_it_is_now_and_not_by_what_it_was() -> None:
    red, blue = Row("a", "red"), Row("a", "blue")
    held = Held(INDEXES, Stored(red).fetch)
    held.find(Row, "colour", "red")
    held.put(blue)
    assert held.find(Row, "colour", "red") == []
    assert held.find(Row, "colour", "blue") == [blue]
    assert list(held.changes()) == [(red, blue)]


def test_a_row_that_moved_does_not_come_back_when_it_is_asked_for_again() -> None:
    red = Row("a", "red")
    stored = Stored(red, Row("b", "blue"))
    held = Held(INDEXES, stored.fetch)
    held.find(Row, "colour", "red")
    held.drop(red)
    assert held.find(Row, "colour", "red") == []
    assert held.find(Row, "colour", "blue") == [Row("b", "blue")]
    assert list(held.changes()) == [(red, None)]


def test_a_new_row_differs_from_none_and_one_that_came_and_went_does_not_differ() -> None:
    held = Held(INDEXES)
    held.put(Row("a", "red"))
    held.put(Row("b", "red"))
    held.drop(Row("b", "red"))
    assert list(held.changes()) == [(None, Row("a", "red"))]
    assert list(held.rows()) == [Row("a", "red")]


def test_dropping_what_is_not_held_changes_nothing() -> None:
    held = Held(INDEXES)
    held.drop(Row("a", "red"))
    assert list(held.changes()) == []


@pytest.mark.parametrize("fold", FOLDS.values(), ids=lambda fold: fold.name)
def test_every_kind_of_row_has_an_id_and_texts_to_be_asked_by(fold: Any) -> None:
    assert set(fold.indexes) == set(fold.kinds)
    for kind, fields in fold.indexes.items():
        types = get_type_hints(kind)
        assert types["id"] is str
        assert types["rank"] is bytes
        assert [types[field] for field in fields] == [str] * len(fields)


def operation(payload: dict[str, Any], tool: str = "kg_add") -> Operation:
    draft = Draft(tool, payload, {})
    recorded = record(
        draft,
        device="ada",
        host=None,
        before=NOTHING_YET,
        recorded_at=7_000,
        hlc=stamp_at(7_000),
        nonce=bytes(16),
    )
    return place(recorded, after=EMPTY_LOG, logged_at=9_000, order_hlc=stamp_at(8_000))


ADDED = {"wing": "w", "subject": "s", "predicate": "p", "object": "o", "valid_from": 1}


def test_an_event_is_ranked_by_the_stamp_that_this_log_knows_for_it() -> None:
    stored = operation(ADDED)
    event = event_of(stored, stored.order_hlc)
    assert event == Event(
        op_id=stored.header.op_id,
        tool="kg_add",
        payload=ADDED,
        rank=rank(stamp_at(8_000), "ada", "shared", 1, 0),
        recorded_at=7_000,
    )
    assert event.id == f"{stored.header.op_id}/0"
    assert one_part(event) == (event,)


def test_a_null_in_a_payload_of_another_builder_counts_as_left_out() -> None:
    stated = ADDED | {"valid_to": None, "confidence": None}
    event = event_of(operation(stated), 1)
    rows = fold_all(FACTS, [event, invalidate(2, "o", wing="w", subject="s", predicate="p")]).rows()
    assert [row.valid_to for row in rows if isinstance(row, Assertion)] == [2]


@pytest.mark.parametrize("entry", WRITES, ids=lambda entry: entry.name)
def test_an_operation_whose_payload_was_redacted_or_voided_folds_to_nothing(entry: Any) -> None:
    stored = operation(ADDED, entry.name)
    without = stored._replace(recorded=stored.recorded._replace(payload=None, nonce=None))
    assert without.payload() == {}
    for fold in folds_of(entry.name):
        assert fold.split(event_of(without, 1)) == ()
        assert list(fold_all(fold, [event_of(without, 1)]).rows()) == []


def test_a_fold_from_nothing_takes_every_part_of_its_events() -> None:
    def halves(event: Event) -> tuple[Event, ...]:
        return event, event._replace(part=1, payload=event.payload | {"object": "Nice"})

    rows = fold_all(FACTS, [kg_add(1, "Lyon")]).rows()
    assert {row.object for row in rows if isinstance(row, Assertion)} == {"Lyon"}
    twofold = type(FACTS)(**(FACTS.__dict__ | {"parts": halves}))
    rows = fold_all(twofold, [kg_add(1, "Lyon")]).rows()
    assert {row.object for row in rows if isinstance(row, Assertion)} == {"Lyon", "Nice"}


def test_the_id_of_a_part_tells_it_from_the_others() -> None:
    assert delete(3, "tea", device="bob")._replace(part=2).id == "bob-3/2"
