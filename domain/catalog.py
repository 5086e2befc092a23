"""The contents page: every operation there is, one line each. Start reading here.

Protects completeness: the surfaces, the gate, the folds, the queries and the docs are all derived
from these lines, and a test compares the tables, so that an operation which is half there cannot be
forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from domain.belief import PUBLISH, UNDO, Fold
from domain.configuration import CONFIGURATION, CONFIGURATION_RECORDED
from domain.decisions import conflicts as decide_conflicts
from domain.decisions import drawers as decide_drawers
from domain.decisions import embedding as decide_embedding
from domain.decisions import entities as decide_entities
from domain.decisions import facts as decide_facts
from domain.decisions import filing as decide_filing
from domain.decisions import jobs as decide_jobs
from domain.decisions import places as decide_places
from domain.decisions import tunnels as decide_tunnels
from domain.decisions.publishing import answer_publish, decide_publish
from domain.decisions.undo import answer_undo, decide_undo
from domain.drawers import DRAWERS
from domain.embedders import ATTACH_EMBEDDING, EMBED, EMBEDDER_CHANGED, EMBEDDERS
from domain.entities import ENTITIES
from domain.facts import FACTS, PREDICATES
from domain.gate import CONTROL, DESTRUCTIVE, MAINTENANCE, READ, WRITE
from domain.jobs import (
    BY_WORKERS,
    JOB_FAILED,
    JOB_FINISHED,
    JOB_PROGRESSED,
    JOB_STARTED,
    JOB_STOPPED,
    JOBS,
    OF_JOBS,
)
from domain.operations import (
    audit,
    conflicts,
    control,
    drawers,
    embedding,
    entities,
    facts,
    filing,
    jobs,
    places,
    searching,
    sources,
    system,
    tags,
    tunnels,
    undo,
)
from domain.operations.common import Answers, Asks, Decided, Records
from domain.ports import Known
from domain.resolutions import RESOLUTIONS
from domain.tunnels import TUNNELS

Decide = Callable[[Any, Known, int], Decided]
AnswerOf = Callable[[dict[str, Any], str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation.

    Attributes:
        operation_class: read, write, maintenance, destructive or control; the gate goes by it.
        fold: the area whose rows its events change; None for reads, for what changes no row, and
            for `undo`, which may change any.
        asks, records, answers: its models (records: None for reads).
        decide: pure, under the write lock (None for reads).
        answer: what a write adds to the envelope, from (payload, op_id) alone.
        summary: one line, for help and schemas.
    """

    name: str
    operation_class: str
    fold: Fold | None
    asks: type[Asks]
    records: type[Records] | None
    answers: type[Answers]
    decide: Decide | None
    answer: AnswerOf | None
    summary: str

    @property
    def writes(self) -> bool:
        """Whether a call is recorded as an event that changes the palace."""
        return self.decide is not None

    @property
    def can_be_tried(self) -> bool:
        """Whether it can be called as a dry run."""
        return "dry_run" in self.asks.model_fields


def _write(
    area: ModuleType,
    name: str,
    operation_class: str,
    fold: Fold | None,
    decide: Decide,
    answer: AnswerOf,
    summary: str,
) -> Entry:
    asks, answers = _model(area, name, "Asks"), _model(area, name, "Answers")
    records = _model(area, name, "Records")
    return Entry(name, operation_class, fold, asks, records, answers, decide, answer, summary)


def _read(area: ModuleType, name: str, operation_class: str, summary: str) -> Entry:
    asks, answers = _model(area, name, "Asks"), _model(area, name, "Answers")
    return Entry(name, operation_class, None, asks, None, answers, None, None, summary)


def _steer(name: str, summary: str) -> Entry:
    """What speaks to a job: never gated, and recorded."""
    decide, answer = decide_jobs.steer(name), decide_jobs.answer_steered
    return _write(jobs, name, CONTROL, JOBS, decide, answer, summary)


def _model(area: ModuleType, name: str, suffix: str) -> Any:
    """`add_drawer` and `Asks` lead to `AddDrawerAsks` of the area's module."""
    return getattr(area, "".join(part.title() for part in name.split("_")) + suffix)


_DA, _FA, _BU, _PL = decide_drawers, decide_facts, decide_filing, decide_places
_CO, _EN, _TU, _EM = decide_conflicts, decide_entities, decide_tunnels, decide_embedding
_JO = decide_jobs

_ENTRIES: Final = (
    _write(drawers, "add_drawer", WRITE, DRAWERS, _DA.decide_add, _DA.answer_add,
           "Store a text in a room of a wing."),
    _write(drawers, "update_drawer", WRITE, DRAWERS, _DA.decide_update, _DA.answer_update,
           "Change a drawer's text, place or tags."),
    _write(drawers, "supersede_drawer", WRITE, DRAWERS, _DA.decide_supersede, _DA.answer_supersede,
           "End a drawer, for a new text or for none."),
    _write(drawers, "delete_drawer", DESTRUCTIVE, DRAWERS, _DA.decide_delete, _DA.answer_delete,
           "Hide a drawer on every device."),
    _write(filing, "delete_drawers", DESTRUCTIVE, DRAWERS, _BU.decide_delete_drawers,
           _BU.answer_delete_drawers, "Hide many drawers on every device, in one operation."),
    _write(filing, "delete_by_source", DESTRUCTIVE, DRAWERS, _BU.decide_delete_by_source,
           _BU.answer_delete_by_source, "Hide all drawers that came from one file."),
    _write(filing, "checkpoint", WRITE, DRAWERS, _BU.decide_checkpoint, _BU.answer_checkpoint,
           "Store many texts, and a diary entry, in one operation."),
    _write(filing, "note", WRITE, DRAWERS, _BU.decide_note, _BU.answer_note,
           "Store a text where notes of this folder go."),
    _write(filing, "diary_write", WRITE, DRAWERS, _BU.decide_diary, _BU.answer_diary,
           "Write an entry in an agent's diary."),
    _read(filing, "diary_read", READ, "An agent's diary, newest first."),
    _read(drawers, "get_drawer", READ, "Read one drawer; an old id leads to the newest text."),
    _read(drawers, "list_drawers", READ, "List drawers, newest first."),
    _read(tags, "list_tags", READ, "The tags in use, and how many drawers have each."),
    _read(drawers, "history", READ, "All versions of a drawer and the events behind them."),

    _write(places, "create_wing", WRITE, DRAWERS, _PL.decide_create_wing, _PL.answer_create_wing,
           "Make a wing before anything lies in it."),
    _write(places, "create_room", WRITE, DRAWERS, _PL.decide_create_room, _PL.answer_create_room,
           "Make a room before anything lies in it."),
    _write(places, "publish_wing", WRITE, DRAWERS, decide_publish, answer_publish,
           "Let a local wing travel from now on, with all that stands in it."),
    _write(places, "delete_wing", DESTRUCTIVE, DRAWERS, _PL.decide_delete_wing,
           _PL.answer_delete_wing, "Hide a wing with all that lies in it."),
    _write(places, "delete_room", DESTRUCTIVE, DRAWERS, _PL.decide_delete_room,
           _PL.answer_delete_room, "Hide a room with all that lies in it."),
    _read(places, "list_wings", READ, "All wings, and how much lies in each."),
    _read(places, "list_rooms", READ, "The rooms of a wing, or of all, and how much lies in each."),
    _read(places, "show_wing", READ, "One wing with its rooms."),
    _read(places, "show_room", READ, "One room: its drawers counted, its tags, its newest."),
    _read(places, "get_taxonomy", READ, "Wings, rooms and counts in one map."),

    _read(searching, "get_drawers", READ, "Read several drawers at once."),
    _read(searching, "search", READ, "Find drawers by their words and meaning, best first."),
    _read(searching, "recall", READ, "What memory holds on a question, as one block of text."),
    _read(searching, "wake_up", READ, "What to know at the start of a session, as one block."),
    _read(searching, "check_duplicate", READ, "Whether a text is held already."),
    _read(searching, "duplicates", READ, "Texts that several live drawers hold."),
    _write(embedding, "embed", MAINTENANCE, None, _EM.decide_embed, _EM.answer_embed,
           "Embed the texts that have no vectors yet."),
    _write(embedding, "attach_embedding", WRITE, EMBEDDERS, _EM.decide_attach, _EM.answer_attach,
           "Take vectors of a text that were made elsewhere."),

    _write(facts, "kg_add", WRITE, FACTS, _FA.decide_add, _FA.answer_add,
           "Assert a fact, with when it is true."),
    _write(facts, "kg_invalidate", WRITE, FACTS, _FA.decide_invalidate, _FA.answer_invalidate,
           "Say that a fact is true no longer."),
    _write(facts, "kg_supersede", WRITE, FACTS, _FA.decide_supersede, _FA.answer_supersede,
           "Put one object in another's place."),
    _write(facts, "kg_declare_predicate", WRITE, PREDICATES, _FA.decide_declare, _FA.answer_declare,
           "Say whether a predicate has one value at a time."),
    _read(facts, "kg_query", READ, "What is true of an entity, now or at any moment."),
    _read(facts, "kg_timeline", READ, "Facts in the order in which they became true."),
    _read(facts, "fact_history", READ, "All assertions and events behind a fact."),
    _read(conflicts, "list_conflicts", READ, "What devices did that cannot both have its way."),
    _write(conflicts, "resolve_conflict", WRITE, RESOLUTIONS, _CO.decide_resolve,
           _CO.answer_resolve, "Say that a conflict is settled, and how."),
    _read(entities, "kg_stats", READ, "How much the knowledge graph holds, wing by wing."),

    _write(entities, "add_alias", WRITE, ENTITIES, _EN.decide_alias, _EN.answer_alias,
           "Say that another name means an entity."),
    _write(entities, "link_drawer", WRITE, ENTITIES, _EN.decide_link, _EN.answer_link,
           "Say that a drawer is about an entity."),
    _read(entities, "list_entities", READ, "What facts are about and drawers are linked to."),
    _read(entities, "entity_relationships", READ, "An entity's facts, out and in, by predicate."),
    _read(entities, "entity_mentions", READ, "The drawers that are about an entity, and why."),
    _read(entities, "entity_candidates", READ, "The names that a text holds, found by rules."),

    _write(tunnels, "create_tunnel", WRITE, TUNNELS, _TU.decide_create, _TU.answer_create,
           "Link two rooms that belong together."),
    _write(tunnels, "delete_tunnel", DESTRUCTIVE, TUNNELS, _TU.decide_delete, _TU.answer_delete,
           "Close a tunnel on every device."),
    _read(tunnels, "list_tunnels", READ, "The tunnels that somebody made."),
    _read(tunnels, "find_tunnels", READ, "What connects wings: tunnels, and rooms of one name."),
    _read(tunnels, "follow_tunnels", READ, "The rooms that a room is connected with."),
    _read(tunnels, "traverse", READ, "Walk from a room through all that is connected with it."),
    _read(tunnels, "graph_stats", READ, "How rooms and wings are connected, in counts."),

    _read(sources, "list_sources", READ, "The files that drawers came from."),
    _read(sources, "show_source", READ, "The drawers that came from a file."),
    _write(jobs, "mine", MAINTENANCE, JOBS, _JO.decide_mine, _JO.answer_mine,
           "File the texts of a folder in a local wing, as a job."),
    _read(jobs, "list_jobs", READ, "The jobs, and how they stand."),
    _read(jobs, "show_job", READ, "One job, and what became of its files."),
    _steer("job_pause", "Let a job rest until it is resumed."),
    _steer("job_resume", "Go on with a job that rests."),
    _steer("job_cancel", "End a job; what it has filed stays."),
    _steer("job_force_cancel", "End a job without waiting for its worker."),
    _steer("job_retry", "Take up a job that failed or was cancelled."),

    _write(undo, "undo", WRITE, None,
           lambda asked, known, now: decide_undo(asked, known, folds_of), answer_undo,
           "Take operations out again: one, or those of a session or device."),
    _read(audit, "list_operations", READ, "Who did what, newest first."),
    _read(audit, "show_operation", READ, "One operation with all that proves it."),
    _read(audit, "why", READ, "Who made a drawer or a fact, and what they had read before."),
    _read(audit, "diff", READ, "What memory gained, lost and changed between two moments."),
    _read(control, "status", CONTROL, "Totals, states and versions; never content."),
    _read(control, "set_mode", CONTROL, "Choose how much memory this session uses."),
    _read(control, "audit", CONTROL, "Activity, refusals and health, in ids and counts."),
)  # fmt: skip

CATALOG: Final = {entry.name: entry for entry in _ENTRIES}

ACKNOWLEDGED: Final = "acknowledged"
RECORDED_BY_ITSELF: Final[dict[str, type[Records]]] = {
    ACKNOWLEDGED: system.AcknowledgedRecords,
    CONFIGURATION_RECORDED: system.ConfigurationRecordedRecords,
    EMBEDDER_CHANGED: system.EmbedderChangedRecords,
    JOB_STARTED: jobs.JobStartedRecords,
    JOB_PROGRESSED: jobs.JobProgressedRecords,
    JOB_STOPPED: jobs.JobStoppedRecords,
    JOB_FINISHED: jobs.JobFinishedRecords,
    JOB_FAILED: jobs.JobFailedRecords,
}

NEVER_SHARED: Final = OF_JOBS | {ACKNOWLEDGED, EMBEDDER_CHANGED, EMBED, ATTACH_EMBEDDING}
"""What is of one machine: its events stand in local streams alone."""


def records_of(tool: str) -> type[Records] | None:
    """The payload model of a tool's events; None for a tool that records nothing."""
    entry = CATALOG.get(tool)
    return entry.records if entry is not None else RECORDED_BY_ITSELF.get(tool)


FOLDS: Final = {entry.fold.name: entry.fold for entry in _ENTRIES if entry.fold is not None} | {
    CONFIGURATION.name: CONFIGURATION,
    EMBEDDERS.name: EMBEDDERS,
}


def folds_of(tool: str) -> tuple[Fold, ...]:
    """The folds whose rows a tool's events change; none where an event changes none."""
    if tool == UNDO:
        return tuple(FOLDS.values())
    if tool == CONFIGURATION_RECORDED:
        return (CONFIGURATION,)
    if tool == EMBEDDER_CHANGED:
        return (EMBEDDERS,)
    if tool in BY_WORKERS:
        return (JOBS,)
    if tool == PUBLISH:
        return DRAWERS, FACTS, PREDICATES, ENTITIES, TUNNELS
    entry = CATALOG.get(tool)
    return () if entry is None or entry.fold is None else (entry.fold,)
