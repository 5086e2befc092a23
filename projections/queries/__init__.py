"""The queries: one function for every read of the catalog.

Protects completeness: the table below is compared with the catalog by a test. A query sees one
snapshot at one moment and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from projections.queries.audit import list_operations, show_operation
from projections.queries.conflicts import list_conflicts
from projections.queries.drawer_lists import list_drawers
from projections.queries.drawers import get_drawer, history
from projections.queries.facts import fact_history, kg_query, kg_timeline
from projections.queries.status import status
from projections.reading import Reading

Query = Callable[[Reading, Any], dict[str, Any]]

QUERIES: Final[dict[str, Query]] = {
    "fact_history": fact_history,
    "get_drawer": get_drawer,
    "history": history,
    "kg_query": kg_query,
    "kg_timeline": kg_timeline,
    "list_conflicts": list_conflicts,
    "list_drawers": list_drawers,
    "list_operations": list_operations,
    "show_operation": show_operation,
    "status": status,
}
