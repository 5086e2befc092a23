"""Meetings of two palaces that the random histories do not bring about: somebody writes in between,
somebody has nothing to say, somebody lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.operation import NOTHING_YET, Draft, record
from replay.outbox import export_outbox
from replay.outbox_file import event_line, read_events, write_file
from replay.receive import replay_file
from tests.simulation.fleet import YEAR, Fleet, Replica
from tests.simulation.post import Post

NOTE = {"wing": "home", "room": "notes", "content": "Tea at four"}


@pytest.fixture
def fleet(folder: Path) -> Iterator[Fleet]:
    fleet = Fleet(folder, 0, edges=True)
    yield fleet
    fleet.close()


def test_an_export_goes_on_while_others_write(fleet: Fleet) -> None:
    ada, path = fleet.devices[0], fleet.folder / "ada.ndjson"
    ada.call("add_drawer", NOTE)
    with ada.reading() as reading:
        ada.call("add_drawer", NOTE | {"content": "written in between"})
        exported = export_outbox(ada.house.log, reading, path)
    assert exported.events == len(list(read_events(path))) == 1


def test_a_device_that_has_nothing_to_say_gets_a_receipt(fleet: Fleet) -> None:
    post, ada = Post(fleet), fleet.devices[0]
    replayed = post.deliver(post.export(ada), fleet.primary)
    assert (replayed.appended, replayed.upto) == (0, 0)
    assert post.acknowledge(post.receipts[-1], ada)
    assert ada.call("add_drawer", NOTE)["local_seq"] == 1
    assert post.export(ada).first == 1


def test_a_receipt_that_begins_too_late_is_refused(fleet: Fleet) -> None:
    post, ada, primary = Post(fleet), fleet.devices[0], fleet.primary
    ada.machine.skew = YEAR
    ada.call("add_drawer", NOTE)
    post.deliver(post.export(ada), primary)
    ada.call("add_drawer", NOTE | {"content": "written later"})
    post.deliver(post.export(ada, first=2), primary)
    first, second = post.receipts
    assert not post.acknowledge(second, ada), "the order of number 1 would never be learnt"
    assert post.export(ada).first == 1
    assert post.acknowledge(first, ada)
    assert post.acknowledge(second, ada)
    assert post.export(ada).first == 3
    orders = {one.header.op_id: one.order_hlc for one in primary.operations()}
    assert orders.items() <= ada.stamps().items()


LIES: list[tuple[str, dict[str, Any] | None]] = [
    ("acknowledged", None),
    ("acknowledged", {"upto": 1}),
    ("get_drawer", None),
    ("no_such_tool", None),
]


@pytest.mark.parametrize(("tool", "more"), LIES)
def test_only_operations_that_write_come_in_by_file(
    fleet: Fleet, tool: str, more: dict[str, Any] | None
) -> None:
    primary = fleet.primary
    own = primary.call("add_drawer", NOTE)
    payload = None if more is None else _acknowledging(own, primary) | more
    draft = Draft(tool, payload or {}, asked={})
    lie = record(
        draft, device="eve", host=None, before=NOTHING_YET, recorded_at=1, hlc=1, nonce=bytes(16)
    )
    if payload is None:
        lie = lie._replace(payload=None, nonce=None)
    path = fleet.folder / "eve.ndjson"
    head = {"format": "palacelog-outbox", "schema": 1, "device": "eve", "from": 1}
    write_file(path, head | {"prev": bytes(32).hex(), "log_id": "log_0"}, [event_line(lie)])
    with pytest.raises(InvalidInput) as caught:
        replay_file(path, primary.house.palace.writer)
    assert caught.value.code == "palacelog::replay::malformed"
    assert tool in caught.value.message
    assert primary.house.log.head().position == 1
    assert primary.call("status", {})["outbox"]["pending"] == 1


def _acknowledging(own: dict[str, Any], primary: Replica) -> dict[str, Any]:
    """What would take the order of somebody else's operation, and empty an outbox unsent."""
    return {
        "stream_device": primary.name,
        "log_id": "log_0",
        "head": 1,
        "link": "",
        "upto": 1,
        "chain": "",
        "orders": {own["op_id"]: 7},
        "hlc": 7,
    }
