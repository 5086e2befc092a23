"""Events that the palace records of itself. No surface can call them.

Protects the history of what the palace was told: such an event changes what the log means, so it is
in the log.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from domain.operations.common import Records


class AcknowledgedRecords(Records):
    """That a primary holds this device's shared stream up to a number.

    Attributes:
        stream_device: the incarnation whose stream was acknowledged.
        log_id, head, link: of the primary's log when it acknowledged.
        upto, chain: last number held there, and its chain (hex).
        orders: op_id to order_hlc, where the primary's differs from what this log had.
        hlc: the highest stamp that the primary held.
    """

    stream_device: str
    log_id: str
    head: int
    link: str
    upto: int
    chain: str
    orders: dict[str, int] = Field(default_factory=dict)
    hlc: int
    duplicate: bool = False


class ConfigurationRecordedRecords(Records):
    """The settings of a device that change what its history means, from here on.

    Attributes:
        device: without its incarnation.
        settings: by group; what is not in it has its default.
    """

    device: str = Field(min_length=1)
    settings: dict[str, Any]
    duplicate: bool = False


class EmbedderChangedRecords(Records):
    """Which embedder this device's search goes by from here on.

    Attributes:
        short: the short form of its identity.
        embedder: the identity (see `projections.vectors.embedder.Identity`).
        previous: the short form of the one before; None of the first.
    """

    short: str = Field(min_length=1)
    embedder: dict[str, Any]
    previous: str | None = None
    duplicate: bool = False
