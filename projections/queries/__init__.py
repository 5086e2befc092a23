"""The queries: one function for every read of the catalog.

Protects completeness: the table below is compared with the catalog by a test. A query sees one
snapshot at one moment and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from projections.queries.audit import list_operations, show_operation
from projections.queries.candidates import entity_candidates
from projections.queries.conflicts import list_conflicts
from projections.queries.diary import diary_read
from projections.queries.diff import diff
from projections.queries.drawer_lists import list_drawers
from projections.queries.drawers import get_drawer, get_drawers, history
from projections.queries.duplicates import check_duplicate, duplicates
from projections.queries.entities import entity_mentions, entity_relationships, list_entities
from projections.queries.facts import fact_history, kg_query, kg_timeline
from projections.queries.jobs import list_jobs, show_job
from projections.queries.kg_stats import kg_stats
from projections.queries.places import (
    get_taxonomy,
    list_rooms,
    list_wings,
    show_room,
    show_wing,
)
from projections.queries.recall import recall
from projections.queries.report import audit
from projections.queries.search import search
from projections.queries.sources import list_sources, show_source
from projections.queries.status import status
from projections.queries.tags import list_tags
from projections.queries.tunnels import (
    find_tunnels,
    follow_tunnels,
    graph_stats,
    list_tunnels,
    traverse,
)
from projections.queries.wake_up import wake_up
from projections.queries.why import why
from projections.reading import Reading

Query = Callable[[Reading, Any], dict[str, Any]]

QUERIES: Final[dict[str, Query]] = {
    "find_tunnels": find_tunnels,
    "follow_tunnels": follow_tunnels,
    "graph_stats": graph_stats,
    "list_tags": list_tags,
    "list_tunnels": list_tunnels,
    "traverse": traverse,
    "audit": audit,
    "check_duplicate": check_duplicate,
    "diary_read": diary_read,
    "diff": diff,
    "duplicates": duplicates,
    "entity_candidates": entity_candidates,
    "entity_mentions": entity_mentions,
    "entity_relationships": entity_relationships,
    "fact_history": fact_history,
    "get_drawer": get_drawer,
    "get_drawers": get_drawers,
    "get_taxonomy": get_taxonomy,
    "history": history,
    "kg_query": kg_query,
    "kg_stats": kg_stats,
    "kg_timeline": kg_timeline,
    "list_conflicts": list_conflicts,
    "list_drawers": list_drawers,
    "list_entities": list_entities,
    "list_jobs": list_jobs,
    "list_operations": list_operations,
    "list_rooms": list_rooms,
    "list_sources": list_sources,
    "list_wings": list_wings,
    "recall": recall,
    "search": search,
    "show_job": show_job,
    "show_operation": show_operation,
    "show_room": show_room,
    "show_source": show_source,
    "show_wing": show_wing,
    "status": status,
    "wake_up": wake_up,
    "why": why,
}
