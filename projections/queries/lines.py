"""How operations are shown where an answer only refers to them.

Protects one spelling: the same fields under the same names in every answer.
"""

from __future__ import annotations

from typing import Any

from domain.instants import show
from domain.operation import Operation, rank
from projections.reading import Origin


def place(operation: Operation) -> bytes:
    """Canonical order, by the stamp that this log gave an operation when it came.

    A stamp that was learnt later does not count: what was known then must not change.
    """
    header = operation.header
    stamp = operation.order_hlc
    return rank(stamp, header.origin_device, header.stream, header.local_seq, index=0)


def event_line(operation: Operation) -> dict[str, Any]:
    """An event that touched what was asked for."""
    header = operation.header
    return {
        "op_id": header.op_id,
        "position": operation.position,
        "tool": header.tool,
        "device": header.origin_device,
        "agent": header.agent,
        "recorded_at": show(header.recorded_at),
    }


def provenance(origin: Origin) -> dict[str, Any]:
    """Who wrote a thing that shows, where and when."""
    return {
        "device": origin.device,
        "host": origin.host,
        "agent": origin.agent,
        "op_id": origin.op_id,
        "position": origin.position,
        "recorded_at": show(origin.recorded_at),
    }
