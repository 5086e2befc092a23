"""The contents page agrees with itself, with the folds and with FORMATS."""

from __future__ import annotations

from base64 import b64encode
from struct import pack
from typing import Any

import pytest

from domain.belief import Event, Held, fold_all
from domain.catalog import (
    ACKNOWLEDGED,
    CATALOG,
    FOLDS,
    RECORDED_BY_ITSELF,
    Entry,
    folds_of,
    records_of,
)
from domain.configuration import CONFIGURATION, CONFIGURATION_RECORDED
from domain.conflicts import MEANING
from domain.embedders import EMBEDDER_CHANGED, EMBEDDERS
from domain.gate import CLASSES, CONTROL, READ
from domain.identity import diary_id
from domain.jobs import STEERING
from domain.operations.common import Asks, DryRunAnswers, Moments, Records, WriteAnswers, Writes
from domain.operations.jobs import (
    JobFailedRecords,
    JobFinishedRecords,
    JobProgressedRecords,
    JobStartedRecords,
    JobStoppedRecords,
)
from domain.operations.system import (
    AcknowledgedRecords,
    ConfigurationRecordedRecords,
    EmbedderChangedRecords,
)
from tests.folds import (
    add_drawer,
    declare,
    delete,
    event,
    invalidate,
    kg_add,
    named,
    supersede,
    supersede_drawer,
    update,
)

WRITES = [entry for entry in CATALOG.values() if entry.writes]
READS = [entry for entry in CATALOG.values() if not entry.writes]
ITEM = add_drawer(1, "cup", duplicate=False).payload | {"item": 0}
ENDS = {
    "source_wing": "home",
    "source_room": "notes",
    "target_wing": "den",
    "target_room": "desk",
}
PUBLISHED = {name: value for name, value in ITEM.items() if name != "item"}
ENTRY = {
    "drawer_id": diary_id("wing_scribe", 9, "A good day."),
    "wing": "wing_scribe",
    "room": "diary",
    "content": "A good day.",
    "added_by": "scribe",
    "valid_from": 9,
    "metadata": {"topic": "general"},
    "duplicate": False,
}
ATTACHED = {
    "drawer_id": named("tea"),
    "embedder": "tiny-1",
    "chunks": 1,
    "vectors": b64encode(pack("<2f", 0.6, 0.8)).decode(),
}
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
        event("delete_drawers", 9, "ada", drawer_ids=[named("tea")], hidden=[], duplicate=False),
        event(
            "delete_by_source", 9, "ada", source_file="a.md", drawer_ids=[named("tea")], hidden=[]
        ),
        event("checkpoint", 9, "ada", items=[ITEM], diary=ENTRY, dropped=[], dedup_threshold=0.9),
        event("note", 9, "ada", **{name: ITEM[name] for name in ITEM if name != "item"}),
        event("diary_write", 9, "ada", **ENTRY),
        event("add_alias", 9, "ada", entity="Kiran", alias="Kiki"),
        event("link_drawer", 9, "ada", drawer_id="drawer", entity="Kiran", relation="mentions"),
        event("create_tunnel", 9, "ada", tunnel_id="tunnel", **ENDS, label="Why"),
        event("delete_tunnel", 9, "ada", tunnel_id="tunnel", wings=["home", "den"]),
        event("resolve_conflict", 9, "ada", conflict_id="conflict", resolution="Both."),
        event("create_wing", 9, "ada", wing="home"),
        event("publish_wing", 9, "ada", wing="home", items=[PUBLISHED], facts=[], rooms=["attic"]),
        event("create_room", 9, "ada", wing="home", room="attic"),
        event("delete_wing", 9, "ada", wing="home", drawer_ids=[named("tea")], rooms=["attic"]),
        event(
            "delete_room", 9, "ada", wing="home", room="notes", drawer_ids=[named("tea")], rooms=[]
        ),
        event("attach_embedding", 9, "ada", **ATTACHED),
        event("mine", 9, "ada", path="/papers", wing="attic", state="queued"),
    )
}
STEERED = [event(tool, 9, "ada", job_id="job", state="queued") for tool in STEERING]
EMBED_EVENT = event(
    "embed",
    9,
    "ada",
    embedder="tiny-1",
    embedded=1,
    failed=[{"drawer_id": "drawer", "reason": "too odd"}],
    remaining=1,
)
NO_VIEW = {"embed"}
"""What is recorded for who reads the log; no fold takes it."""
UNDO_EVENT = event("undo", 9, "ada", undone=[], operations=["op"], kept=[], duplicate=False)

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
    "get_drawers": ("drawer_ids", "", "drawers missing"),
    "search": (
        "query",
        "limit wing room tags source_file since before from until as_of known_at"
        " include_historical cursor ranking max_distance expand",
        "hits total total_is_exact words cursor ranking embedder degraded expanded",
    ),
    "recall": ("query", "max_bytes wing", "block hits facts entities left_out"),
    "wake_up": (
        "",
        "agent_name wing max_items max_bytes",
        "block diary drawers conflicts outbox withheld left_out",
    ),
    "check_duplicate": (
        "content",
        "wing room threshold",
        "is_duplicate matches embedder degraded",
    ),
    "duplicates": (
        "",
        "wing near threshold limit cursor",
        "groups total cursor embedder degraded",
    ),
    "embed": ("", "limit retry_failed", "embedder embedded failed remaining"),
    "attach_embedding": ("drawer_id embedder vectors", "", "drawer_id embedder chunks"),
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
    "kg_stats": ("", "", "facts entities aliases links predicates wings"),
    "add_alias": ("entity alias", "wing", "entity alias"),
    "link_drawer": ("drawer_id entity", "relation", "drawer_id entity relation"),
    "list_entities": ("", "prefix wing limit cursor", "entities total cursor"),
    "entity_relationships": (
        "entity",
        "direction predicate",
        "entity aliases outgoing incoming total",
    ),
    "entity_mentions": ("entity", "limit cursor", "entity names drawers total cursor"),
    "entity_candidates": ("", "drawer_id content", "candidates"),
    "create_tunnel": (
        "source_wing source_room target_wing target_room",
        "label source_drawer_id target_drawer_id",
        "tunnel_id",
    ),
    "delete_tunnel": ("tunnel_id", "reason", "tunnel_id"),
    "list_tunnels": ("", "wing limit cursor", "tunnels total cursor"),
    "find_tunnels": ("", "wing_a wing_b limit cursor", "tunnels total cursor"),
    "follow_tunnels": ("wing room", "limit", "wing room connected total"),
    "traverse": ("start_wing start_room", "max_hops limit", "rooms total"),
    "graph_stats": ("", "", "wings rooms tunnels shared_room_names wings_connected"),
    "list_tags": ("", "wing", "tags total"),
    "resolve_conflict": ("conflict_id", "resolution", "conflict_id resolution"),
    "list_operations": (
        "",
        "device tool agent session wing drawer_id entity since before outcome include_reads "
        "limit cursor",
        "operations",
    ),
    "show_operation": ("", "op_id position", "operation"),
    "delete_drawers": ("drawer_ids", "reason", "hidden count"),
    "delete_by_source": ("source_file", "wing reason dry_run", "source_file hidden count dry_run"),
    "checkpoint": (
        "",
        "items diary dedup_threshold drop_duplicates",
        "items stored dropped diary_id compared",
    ),
    "note": ("content", "wing room tags source_file added_by", "drawer_id wing room hidden_by"),
    "diary_write": ("agent_name entry", "topic wing", "drawer_id agent topic"),
    "diary_read": ("agent_name", "last_n wing as_of known_at", "agent entries total"),
    "create_wing": ("wing", "description policy", "wing policy"),
    "create_room": ("wing room", "description", "wing room"),
    "publish_wing": ("wing", "", "wing drawers facts aliases links tunnels"),
    "delete_wing": ("wing", "reason dry_run", "wing hidden count dry_run"),
    "delete_room": ("wing room", "reason dry_run", "wing room hidden count dry_run"),
    "list_wings": ("", "", "wings total"),
    "list_rooms": ("", "wing", "rooms total"),
    "show_wing": ("wing", "", "wing rooms"),
    "show_room": ("wing room", "", "room tags newest"),
    "get_taxonomy": ("", "", "taxonomy"),
    "list_sources": ("", "wing prefix limit cursor", "sources total cursor"),
    "show_source": ("source_file", "wing limit cursor", "source_file drawers total cursor"),
    "mine": ("path", "wing room", "job_id state"),
    "list_jobs": ("", "state limit cursor", "jobs total cursor"),
    "show_job": ("job_id", "outcome limit cursor", "job files total cursor"),
    **dict.fromkeys(STEERING, ("job_id", "", "job_id state")),
    "undo": ("", "op_id session device from until dry_run", "dry_run undone kept"),
    "why": ("id", "limit", "id kind rests_on operations total"),
    "diff": ("a", "b limit", "log_id a b drawers facts"),
    "audit": (
        "",
        "since before",
        "log_id activity activity_total refusals log chains projections orphans trail",
    ),
    "set_mode": ("mode", "", "session_mode ceiling"),
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
    parts = [entry.records, entry.decide, entry.answer]
    assert [part is not None for part in parts] == [entry.writes] * 3
    if entry.writes:
        assert issubclass(entry.asks, Writes)
        assert issubclass(entry.answers, DryRunAnswers if entry.can_be_tried else WriteAnswers)
        assert entry.operation_class != READ
        assert bool(folds_of(entry.name)) != (entry.name in NO_VIEW)
    else:
        assert entry.fold is None
        assert entry.operation_class in {READ, CONTROL}


def test_what_hides_is_destructive_and_status_is_never_gated() -> None:
    classes = {name: entry.operation_class for name, entry in CATALOG.items()}
    hiding = {name for name, of in classes.items() if of == "destructive"}
    assert hiding == {name for name in classes if name.startswith("delete_")}
    control = [name for name, of in classes.items() if of == "control"]
    assert control == [*STEERING, "status", "set_mode", "audit"]
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
    (fold, *others), event = folds_of(tool), EVENTS[tool]
    assert list(fold_all(fold, [event]).rows())
    parts = fold.split(event)
    assert all(fold.touched(part) for part in parts)
    assert [part.part for part in parts] == list(range(len(parts)))
    assert len({part.rank for part in parts}) == len(parts)
    for other in FOLDS.values():
        if other not in (fold, *others) and other.name != "predicates":
            with pytest.raises(KeyError):
                other.evolve(Held(other.indexes), parts[0])


def test_the_folds_of_the_catalog_are_all_there_are() -> None:
    areas = {"drawers", "facts", "predicates", "resolutions", "entities", "tunnels"}
    assert set(FOLDS) == areas | {"configuration", "embedders", "jobs"}
    assert {*EVENTS, *NO_VIEW, *STEERING, "undo"} == {entry.name for entry in WRITES}
    assert folds_of("undo") == tuple(FOLDS.values())
    assert not any(folds_of(entry.name) for entry in READS)
    assert folds_of("no_such_tool") == ()


@pytest.mark.parametrize(
    "event", [*EVENTS.values(), *STEERED, EMBED_EVENT, UNDO_EVENT], ids=lambda event: event.tool
)
def test_the_answer_to_a_write_is_a_function_of_its_payload(event: Event) -> None:
    entry = CATALOG[event.tool]
    assert entry.answer is not None
    payload = event.payload | {"duplicate": False}
    before = repr(payload)
    first, again = entry.answer(payload, "op"), entry.answer(dict(payload), "op")
    assert first == again
    assert repr(payload) == before
    envelope = {"op_id": "op", "origin_device": "ada", "stream": "shared", "local_seq": 1}
    envelope |= {"position": 1, "duplicate": False}
    envelope |= {"dry_run": False} if entry.can_be_tried else {}
    shown = entry.answers.model_validate(envelope | first)
    assert shown.model_dump() == envelope | first


def test_what_the_palace_records_by_itself_cannot_be_called() -> None:
    assert {
        ACKNOWLEDGED: AcknowledgedRecords,
        CONFIGURATION_RECORDED: ConfigurationRecordedRecords,
        EMBEDDER_CHANGED: EmbedderChangedRecords,
        "job_started": JobStartedRecords,
        "job_progressed": JobProgressedRecords,
        "job_stopped": JobStoppedRecords,
        "job_finished": JobFinishedRecords,
        "job_failed": JobFailedRecords,
    } == RECORDED_BY_ITSELF
    assert not RECORDED_BY_ITSELF.keys() & CATALOG.keys()
    assert records_of("acknowledged") is AcknowledgedRecords
    assert folds_of("acknowledged") == ()
    assert folds_of("configuration_recorded") == (CONFIGURATION,)
    assert folds_of("embedder_changed") == (EMBEDDERS,)


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_a_tool_s_events_have_the_payload_model_of_its_entry(entry: Entry) -> None:
    assert records_of(entry.name) is entry.records


def test_a_tool_that_nobody_knows_records_nothing() -> None:
    assert records_of("no_such_tool") is None


def test_every_read_of_the_palace_s_memory_can_look_back() -> None:
    both = {entry.name for entry in READS if issubclass(entry.asks, Moments)}
    alone = {entry.name for entry in READS if "known_at" in entry.asks.model_fields} - both
    assert alone == {"list_jobs", "list_operations", "show_job", "show_operation", "why"}
    assert {entry.name for entry in READS} - both - alone == {"audit", "diff", "set_mode", "status"}


def test_every_kind_of_conflict_has_a_meaning() -> None:
    assert set(MEANING) == {
        "target_missing",
        "target_hidden",
        "tombstone_unknown",
        "superseded_twice",
        "updated_twice",
        "single_value",
    }
