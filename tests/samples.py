"""One call of every operation of the catalog, on a palace that has something to work on.

    known = furnished(ada)
    ada.call(tool, SAMPLES[tool](known))

A test compares the table with the catalog: a new operation that has no sample fails there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from domain.operation import Context
from palacelog.embedding_work import changed
from projections.vectors.models import PACKAGED
from tests.palaces import Device


class Known(NamedTuple):
    """What stands in a furnished palace.

    Attributes:
        papers: a folder with one file.
        waiting, resting, ended, leaving, stuck: jobs that nobody works on, each for an operation
            that steers it.
    """

    drawer: str
    spare: str
    fact: str
    op: str
    conflict: str
    tunnel: str
    papers: str
    waiting: str
    resting: str
    ended: str
    leaving: str
    stuck: str


EMBEDDER = PACKAGED["wordllama"].identity
"""The embedder that counts in a furnished palace, whether or not it is opened with one."""
WITH_EMBEDDER = {"vectors": {"embedder": "wordllama", "wait_seconds": 60}}


def settings_for(tool: str) -> dict[str, Any]:
    """What a palace must be opened with for a sample to be answered."""
    return WITH_EMBEDDER if tool in ("embed", "attach_embedding") else {}


PLACE = {"wing": "home", "room": "notes"}
DEN = {"wing": "den", "room": "desk"}
HOME_TO_DEN = {
    "source_wing": "home",
    "source_room": "notes",
    "target_wing": "den",
    "target_room": "desk",
}
CITY = {"subject": "Kiran", "predicate": "city"}
FURNITURE = 20
"""How many operations a furnished palace holds."""
LOCAL = 9
"""How many of them are of the local stream."""


def furnished(device: Device) -> Known:
    """Store a few drawers and facts."""
    drawer = device.add_drawer(
        **PLACE, content="tea", tags=["drink"], source_file="tea.md", metadata={"cups": 2}
    )
    spare = device.add_drawer(**PLACE, content="coffee")
    fact = device.kg_add(**CITY, object="Lyon", valid_from="2026-01-01", confidence=0.5)
    device.kg_add(**CITY, object="Nice", valid_from="2026-02-01")
    device.kg_declare_predicate(predicate="city", cardinality="many")
    gone = device.delete_drawer(drawer_id=spare["drawer_id"])
    device.add_drawer(**DEN, content="lamp")
    device.kg_declare_predicate(predicate="pet", cardinality="one")
    for name in ("Rex", "Tom"):
        device.kg_add(subject="Ana", predicate="pet", object=name, valid_from="2026-01-01")
    tunnel = device.create_tunnel(**HOME_TO_DEN)
    [conflict] = device.list_conflicts()["conflicts"]
    device.create_wing(wing="attic", policy="local")
    event = changed(EMBEDDER, None, Context())
    device.house.palace.writer.do(lambda turn: turn.append(event))
    papers = papers_of(device)
    jobs = [device.mine(path=papers, wing="attic", room=room)["job_id"] for room in "abcde"]
    device.job_pause(job_id=jobs[1])
    device.job_cancel(job_id=jobs[2])
    assert device.position() == FURNITURE
    return Known(
        drawer["drawer_id"],
        spare["drawer_id"],
        fact["fact_id"],
        gone["op_id"],
        conflict["id"],
        tunnel["tunnel_id"],
        papers,
        *jobs,
    )


def papers_of(device: Device) -> str:
    """A folder beside a palace, with one file."""
    folder = device.folder.parent / "papers"
    (folder / "letters").mkdir(parents=True, exist_ok=True)
    (folder / "letters" / "one.md").write_text("Dear Noor")
    return str(folder)


SAMPLES: dict[str, Callable[[Known], dict[str, Any]]] = {
    "add_drawer": lambda known: {
        **PLACE,
        "content": "milk",
        "source_file": "shopping.md",
        "added_by": "scribe",
        "tags": ["drink", "cold"],
        "valid_from": "2026-03-01",
        "valid_to": "2027",
        "metadata": {"litres": 1.5},
    },
    "update_drawer": lambda known: {"drawer_id": known.drawer, "content": "green tea"},
    "supersede_drawer": lambda known: {"drawer_id": known.drawer, "content": "no tea"},
    "delete_drawer": lambda known: {"drawer_id": known.drawer, "reason": "cold"},
    "get_drawer": lambda known: {"drawer_id": known.drawer},
    "list_drawers": lambda known: dict(PLACE),
    "history": lambda known: {"drawer_id": known.drawer},
    "get_drawers": lambda known: {"drawer_ids": [known.drawer, known.spare, "drawer_of_nobody"]},
    "search": lambda known: {"query": "tea or coffee"},
    "recall": lambda known: {"query": "tea in Lyon"},
    "wake_up": lambda known: {"agent_name": "scribe"},
    "check_duplicate": lambda known: {"content": "tea"},
    "duplicates": lambda known: {},
    "embed": lambda known: {"limit": 100},
    "attach_embedding": lambda known: {
        "drawer_id": known.drawer,
        "embedder": EMBEDDER.short,
        "vectors": [[1.0, *[0.0] * (EMBEDDER.dimension - 1)]],
    },
    "kg_add": lambda known: (
        CITY
        | {
            "object": "Oslo",
            "valid_from": "2026-03-01",
            "valid_to": "2026-03-05",
            "confidence": 1,
            "source_drawer_id": known.drawer,
            "source_file": "letter.txt",
        }
    ),
    "kg_invalidate": lambda known: CITY | {"object": "Lyon", "ended": "2026-03-01"},
    "kg_supersede": lambda known: (
        CITY | {"old_object": "Lyon", "new_object": "Rome", "at": "2026-03-01"}
    ),
    "kg_declare_predicate": lambda known: {"predicate": "city", "cardinality": "one"},
    "kg_query": lambda known: {"entity": "Kiran"},
    "kg_timeline": lambda known: {},
    "fact_history": lambda known: {"fact_id": known.fact},
    "list_conflicts": lambda known: {},
    "kg_stats": lambda known: {},
    "add_alias": lambda known: {"entity": "Kiran", "alias": "Kiki", "wing": "home"},
    "link_drawer": lambda known: {
        "drawer_id": known.drawer,
        "entity": "Kiran",
        "relation": "drinks",
    },
    "list_entities": lambda known: {},
    "entity_relationships": lambda known: {"entity": "Kiran"},
    "entity_mentions": lambda known: {"entity": "tea"},
    "entity_candidates": lambda known: {"content": "Seen with Ana in Lyon."},
    "create_tunnel": lambda known: HOME_TO_DEN | {"label": "Reading", "target_room": "shelf"},
    "delete_tunnel": lambda known: {"tunnel_id": known.tunnel, "reason": "moved"},
    "list_tunnels": lambda known: {"wing": "den"},
    "find_tunnels": lambda known: {"wing_a": "home"},
    "follow_tunnels": lambda known: dict(PLACE),
    "traverse": lambda known: {"start_wing": "home", "start_room": "notes"},
    "graph_stats": lambda known: {},
    "list_tags": lambda known: {},
    "resolve_conflict": lambda known: {"conflict_id": known.conflict, "resolution": "Both live."},
    "list_sources": lambda known: {},
    "show_source": lambda known: {"source_file": "tea.md"},
    "mine": lambda known: {"path": known.papers, "wing": "attic"},
    "list_jobs": lambda known: {},
    "show_job": lambda known: {"job_id": known.waiting},
    "job_pause": lambda known: {"job_id": known.waiting},
    "job_resume": lambda known: {"job_id": known.resting},
    "job_cancel": lambda known: {"job_id": known.leaving},
    "job_force_cancel": lambda known: {"job_id": known.stuck},
    "job_retry": lambda known: {"job_id": known.ended},
    "list_operations": lambda known: {},
    "show_operation": lambda known: {"op_id": known.op},
    "why": lambda known: {"id": known.drawer},
    "diff": lambda known: {"a": "@1"},
    "audit": lambda known: {},
    "status": lambda known: {},
    "delete_drawers": lambda known: {"drawer_ids": [known.drawer], "reason": "cold"},
    "delete_by_source": lambda known: {"source_file": "tea.md", "dry_run": False},
    "checkpoint": lambda known: {
        "items": [PLACE | {"content": "milk"}, PLACE | {"content": "tea"}],
        "diary": {"agent_name": "scribe", "entry": "Shopping.", "topic": "home"},
    },
    "note": lambda known: PLACE | {"content": "milk", "tags": "cold", "added_by": "scribe"},
    "diary_write": lambda known: {"agent_name": "scribe", "entry": "Rain.", "topic": "weather"},
    "diary_read": lambda known: {"agent_name": "scribe"},
    "create_wing": lambda known: {"wing": "lab", "description": "Experiments"},
    "create_room": lambda known: {"wing": "lab", "room": "bench"},
    "publish_wing": lambda known: {"wing": "attic"},
    "delete_wing": lambda known: {"wing": "home", "reason": "moved", "dry_run": False},
    "delete_room": lambda known: PLACE | {"dry_run": False},
    "list_wings": lambda known: {},
    "list_rooms": lambda known: {"wing": "home"},
    "show_wing": lambda known: {"wing": "den"},
    "show_room": lambda known: dict(DEN),
    "get_taxonomy": lambda known: {},
    "undo": lambda known: {"op_id": known.op, "dry_run": False},
}
