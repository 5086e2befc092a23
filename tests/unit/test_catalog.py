"""The contents page agrees with itself, with the folds and with FORMATS."""

from __future__ import annotations

from typing import Any

import pytest

from domain.belief import Held
from domain.catalog import (
    ACKNOWLEDGED,
    CATALOG,
    FOLDS,
    RECORDED_BY_ITSELF,
    Entry,
    fold_of,
    records_of,
)
from domain.conflicts import MEANING
from domain.gate import CLASSES, CONTROL, READ
from domain.operations.common import Asks, Moments, Records, WriteAnswers, Writes
from domain.operations.system import AcknowledgedRecords
from tests.folds import (
    add_drawer,
    declare,
    delete,
    invalidate,
    kg_add,
    supersede,
    supersede_drawer,
    update,
)

WRITES = [entry for entry in CATALOG.values() if entry.writes]
READS = [entry for entry in CATALOG.values() if not entry.writes]
EVENTS = {
    event.tool: event
    for event in (
        add_drawer(1, "tea", duplicate=False),
        update(2, "tea", "coffee", duplicate=False),
        supersede_drawer(3, "tea", "coffee", duplicate=False),
        delete(4, "tea", hidden=["drawer"], duplicate=False),
        kg_add(5, "Lyon", duplicate=False),
        invalidate(6, "Lyon", fact_ids=["fact"], duplicate=False),
        supersede(7, "Lyon", "Nice", superseded=["fact"], duplicate=False),
        declare(8),
    )
}

# FORMATS, "Operations of the first release": required arguments | others | the answer's own.
FORMATS = {
    "add_drawer": (
        "wing room content",
        "source_file added_by tags valid_from valid_to supersedes metadata idempotency_key",
        "drawer_id hidden_by",
    ),
    "update_drawer": ("drawer_id", "content wing room tags", "drawer_id previous"),
    "supersede_drawer": ("drawer_id", "content valid_from tags", "drawer_id superseded"),
    "delete_drawer": ("drawer_id", "reason", "drawer_id hidden"),
    "get_drawer": ("drawer_id", "as_of known_at", "drawer"),
    "list_drawers": (
        "",
        "wing room tag since before from until as_of known_at include_historical limit cursor",
        "drawers total cursor",
    ),
    "history": ("drawer_id", "", "versions events"),
    "kg_add": (
        "subject predicate object",
        "valid_from valid_to confidence source_drawer_id source_file wing idempotency_key",
        "fact_id",
    ),
    "kg_invalidate": ("subject predicate object", "ended wing", "fact_ids ended"),
    "kg_supersede": (
        "subject predicate old_object new_object",
        "at wing",
        "fact_id superseded",
    ),
    "kg_declare_predicate": ("predicate cardinality", "wing", "predicate"),
    "kg_query": ("entity", "direction predicate as_of known_at include_historical", "facts"),
    "kg_timeline": ("", "entity predicate limit cursor known_at", "facts"),
    "fact_history": ("fact_id", "", "assertions events conflict"),
    "list_conflicts": ("", "open limit cursor", "conflicts"),
    "list_operations": (
        "",
        "device tool agent session wing drawer_id entity since before outcome limit cursor",
        "operations",
    ),
    "show_operation": ("", "op_id position", "operation"),
    "status": ("", "", "log_id device schema head logged_at totals outbox projections trail"),
}


def fields(model: type[Any], *, required: bool | None = None) -> set[str]:
    return {
        field.alias or name
        for name, field in model.model_fields.items()
        if required is None or field.is_required() is required
    }


def test_the_first_release_has_these_operations_and_no_others() -> None:
    assert set(CATALOG) == set(FORMATS)
    assert all(name == entry.name for name, entry in CATALOG.items())


@pytest.mark.parametrize("name", FORMATS)
def test_an_operation_takes_the_arguments_of_the_format(name: str) -> None:
    required, others, _ = FORMATS[name]
    entry = CATALOG[name]
    assert fields(entry.asks, required=True) == set(required.split())
    common = {"idempotency_key"} if entry.writes else {"as_of", "known_at"}
    if "include_historical" in others:
        common |= {"from", "until"}
    optional = fields(entry.asks, required=False)
    assert set(others.split()) <= optional <= set(others.split()) | common


@pytest.mark.parametrize("name", FORMATS)
def test_an_operation_answers_what_the_format_says(name: str) -> None:
    assert set(FORMATS[name][2].split()) <= fields(CATALOG[name].answers)


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_an_entry_is_whole(entry: Entry) -> None:
    assert entry.operation_class in CLASSES
    assert issubclass(entry.asks, Asks)
    assert entry.summary.endswith(".")
    parts = [entry.fold, entry.records, entry.decide, entry.answer]
    assert [part is not None for part in parts] == [entry.writes] * 4
    if entry.writes:
        assert issubclass(entry.asks, Writes)
        assert issubclass(entry.answers, WriteAnswers)
        assert entry.operation_class not in {READ, CONTROL}
        assert entry.fold in FOLDS.values()
    else:
        assert entry.operation_class in {READ, CONTROL}


def test_what_hides_is_destructive_and_status_is_never_gated() -> None:
    classes = {name: entry.operation_class for name, entry in CATALOG.items()}
    assert [name for name, of in classes.items() if of == "destructive"] == ["delete_drawer"]
    assert [name for name, of in classes.items() if of == "control"] == ["status"]
    assert classes["kg_supersede"] == "write"


@pytest.mark.parametrize("entry", WRITES, ids=lambda entry: entry.name)
def test_every_payload_says_whether_it_was_a_duplicate(entry: Entry) -> None:
    assert entry.records is not None
    assert issubclass(entry.records, Records)
    assert entry.records.model_fields["duplicate"].annotation is bool


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_an_argument_that_an_operation_does_not_know_is_refused(entry: Entry) -> None:
    for model in (entry.asks, entry.records, entry.answers):
        if model is not None:
            assert model.model_config.get("extra") == "forbid"


@pytest.mark.parametrize("tool", EVENTS)
def test_each_fold_evolves_the_tools_that_the_catalog_gives_it(tool: str) -> None:
    fold, event = fold_of(tool), EVENTS[tool]
    assert fold is not None
    assert list(fold.evolve(Held(fold.indexes), event).rows())
    assert fold.members(event)
    assert fold.parts(event) == (event,)
    for other in FOLDS.values():
        if other is not fold and other.name != "predicates":
            with pytest.raises(KeyError):
                other.evolve(Held(other.indexes), event)


def test_the_folds_of_the_catalog_are_all_there_are() -> None:
    assert set(FOLDS) == {"drawers", "facts", "predicates"}
    assert set(EVENTS) == {entry.name for entry in WRITES}
    assert [fold_of(entry.name) for entry in READS] == [None] * len(READS)
    assert fold_of("no_such_tool") is None


@pytest.mark.parametrize("tool", EVENTS)
def test_the_answer_to_a_write_is_a_function_of_its_payload(tool: str) -> None:
    entry, event = CATALOG[tool], EVENTS[tool]
    assert entry.answer is not None
    payload = event.payload | {"duplicate": False}
    before = repr(payload)
    first, again = entry.answer(payload, "op"), entry.answer(dict(payload), "op")
    assert first == again
    assert repr(payload) == before
    envelope = {"op_id": "op", "origin_device": "ada", "stream": "shared", "local_seq": 1}
    envelope |= {"position": 1, "duplicate": False}
    shown = entry.answers.model_validate(envelope | first)
    assert shown.model_dump() == envelope | first


def test_what_the_palace_records_by_itself_changes_no_rows_and_cannot_be_called() -> None:
    assert {ACKNOWLEDGED: AcknowledgedRecords} == RECORDED_BY_ITSELF
    assert not RECORDED_BY_ITSELF.keys() & CATALOG.keys()
    assert records_of("acknowledged") is AcknowledgedRecords
    assert fold_of("acknowledged") is None


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_a_tool_s_events_have_the_payload_model_of_its_entry(entry: Entry) -> None:
    assert records_of(entry.name) is entry.records


def test_a_tool_that_nobody_knows_records_nothing() -> None:
    assert records_of("no_such_tool") is None


def test_every_read_of_the_palace_s_memory_can_look_back() -> None:
    both = {entry.name for entry in READS if issubclass(entry.asks, Moments)}
    alone = {entry.name for entry in READS if "known_at" in entry.asks.model_fields} - both
    assert alone == {"list_operations", "show_operation"}
    assert {entry.name for entry in READS} - both - alone == {"status"}


def test_every_kind_of_conflict_has_a_meaning() -> None:
    assert set(MEANING) == {
        "target_missing",
        "target_hidden",
        "tombstone_unknown",
        "superseded_twice",
        "updated_twice",
        "single_value",
    }
