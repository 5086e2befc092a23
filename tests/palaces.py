"""Real palaces on real files, told as stories of several devices.

    ada, bob = fleet.devices("ada", "bob")
    ada.kg_add(subject="Kiran", predicate="city", object="Lyon")
    fleet.share()
    with bob.refuses("facts::unknown"):
        bob.kg_invalidate(subject="Kiran", predicate="city", object="Nice")

Every answer is checked against the model that the catalog names for it, and every palace of a fleet
is rebuilt from zero and compared when the test ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.acceptance import Appended, Outcome
from domain.catalog import ACKNOWLEDGED, CATALOG
from domain.errors import PalaceError
from domain.form import recorded_from
from domain.operation import Context, Draft, Operation, Recorded
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.system import System
from projections.digests import digests
from replay.outbox import export_outbox
from replay.rebuild import rebuild

HOUR = 3_600_000_000
RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_TIMES = {"as_of", "known_at", "valid_from", "valid_to", "ended", "recorded_at", "logged_at"}


class Machine(System):
    """A machine whose clock is off by some microseconds."""

    def __init__(self, ahead: int = 0) -> None:
        self.ahead = ahead

    def now(self) -> int:
        return super().now() + self.ahead


def new_palace(
    folder: Path, name: str = "ada", *, system: System | None = None, **settings: Any
) -> House:
    """A palace of the device `name`, made under `folder` and opened."""
    create_palace(folder / name, name, system=system)
    return open_palace(folder / name, system=system, **settings)


def digest_of(house: House) -> dict[str, Any]:
    """The digests of a palace's views, caught up with its log."""
    with house.palace.reading() as reading:
        return digests(reading.cursor)


def state_of(house: House) -> dict[str, str]:
    """What must be equal on any two palaces that hold the same shared events."""
    return {
        area: sums["state"] for area, sums in digest_of(house).items() if isinstance(sums, dict)
    }


def fingerprint(house: House) -> tuple[Any, ...]:
    """What does not change where nothing was written."""
    return house.log.head(), digest_of(house)


def rebuilt_equals_live(house: House) -> dict[str, Any]:
    """Rebuild the views from zero and compare them with those that were folded live."""
    live = digest_of(house)
    rebuild(house.log, house.generations, house.lock)
    assert digest_of(house) == live
    return live


def deliver(
    source: House,
    target: House,
    *,
    device: str | None = None,
    after: int = 0,
    limit: int = 10_000,
    claims: bool = False,
) -> list[Outcome]:
    """Send the shared stream of a device (default: the source's own) to another palace.

    Args:
        claims: with the orders that the source knows; else each event claims its own hlc.
    """
    stream = device or source.log.about.device
    orders = {one.header.op_id: one.order_hlc for one in operations(source)} if claims else {}
    before = source.log.stream(stream, after - 1, 1)[0].chain if after else bytes(32)
    outcomes = []
    for recorded in source.log.stream(stream, after, limit):
        assert arrived(recorded, before) == recorded, "it arrives as another event"
        before = recorded.chain
        outcomes.append(receive(target, recorded, orders.get(recorded.header.op_id)))
    return outcomes


def arrived(recorded: Recorded, before: bytes) -> Recorded:
    """An event as a palace elsewhere reads it, its form judged."""
    payload = None if recorded.payload is None else orjson.loads(recorded.payload)
    return recorded_from(recorded.header_bytes, payload, recorded.nonce, before)


def receive(target: House, recorded: Recorded, claim: int | None = None) -> Outcome:
    """Let a palace judge one event from elsewhere."""
    return target.palace.writer.do(lambda turn: turn.receive(recorded, claim, lambda _: None))


def operations(house: House) -> list[Operation]:
    """Everything that a log holds, in order of arrival."""
    return list(house.log.after(0, 100_000))


def exported(device: Device, folder: Path) -> bytes:
    """What a device would send, as it is in the file."""
    file = folder / "outbox.ndjson"
    with device.house.palace.reading() as reading:
        export_outbox(device.house.log, reading, file)
    return file.read_bytes()


def acknowledge(source: House, primary: House) -> None:
    """Tell a device which of its events the primary holds, and the orders that it gave them."""
    device = source.log.about.device
    held = {one.header.op_id: one for one in operations(primary)}
    own = [one for one in operations(source) if one.recorded.stream_id == device]
    taken = [one for one in own if one.header.op_id in held]
    given = {one.header.op_id: held[one.header.op_id].order_hlc for one in taken}
    head, newest = primary.log.head(), taken[-1]
    payload = {
        "stream_device": device,
        "log_id": primary.log.log_id,
        "head": head.position,
        "link": head.link.hex(),
        "upto": newest.header.local_seq,
        "chain": newest.recorded.chain.hex(),
        "orders": {
            one.header.op_id: given[one.header.op_id]
            for one in taken
            if given[one.header.op_id] != one.order_hlc
        },
        "hlc": max(one.order_hlc for one in operations(primary)),
    }
    draft = Draft(ACKNOWLEDGED, payload, asked={}, stream="local")
    source.palace.writer.do(lambda turn: turn.append(draft, at_least=payload["hlc"]))


def checked(tool: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, after its form was checked: as the catalog says, times in RFC 3339 with `Z`."""
    CATALOG[tool].answers.model_validate(answer, strict=True, by_alias=True, by_name=False)
    assert orjson.loads(orjson.dumps(answer)) == answer
    for name, value in _named_values(answer):
        if name in _TIMES and value is not None:
            assert isinstance(value, str), f"{name} is {value!r}"
            assert RFC3339.fullmatch(value), f"{name} is {value!r}"
    return answer


def _named_values(value: Any) -> Iterator[tuple[str, Any]]:
    parts = value.items() if isinstance(value, dict) else ()
    for name, part in parts:
        # What a caller gave comes back as it was recorded, times as microseconds.
        if name not in ("payload", "metadata"):
            yield name, part
            yield from _named_values(part)
    if isinstance(value, list):
        for part in value:
            yield from _named_values(part)


class Device:
    """A palace and who calls it: `ada.kg_add(subject=..., ...)` is one call of that operation.

    A trailing underscore of an argument is dropped: `from_` is `from`.
    """

    def __init__(self, folder: Path, machine: Machine, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.machine = machine
        self.settings = settings
        self.context: Context | None = None
        self._home = self
        self._house: House | None = open_palace(folder, system=machine, **settings)

    @property
    def house(self) -> House:
        house = self._home._house
        assert house is not None, "the palace is closed"
        return house

    @property
    def name(self) -> str:
        return self.house.log.about.device

    def by(self, **who: Any) -> Device:
        """The same palace, called by somebody: `ada.by(agent="scribe", session_mode="full")`."""
        other = object.__new__(Device)
        other.__dict__.update(self.__dict__)
        other.context = replace(self.context or Context(), **who)
        return other

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return checked(tool, self.house.palace.call(tool, arguments, self.context))

    def __getattr__(self, tool: str) -> Callable[..., dict[str, Any]]:
        if tool not in CATALOG:
            raise AttributeError(tool)
        return lambda **given: self.call(
            tool, {name.rstrip("_"): value for name, value in given.items()}
        )

    @contextmanager
    def refuses(self, code: str, field: str | None = None) -> Iterator[None]:
        """What is called within raises `palacelog::<code>`, names `field`, and changes nothing."""
        before = fingerprint(self.house)
        with pytest.raises(PalaceError) as caught:
            yield
        answer = caught.value.as_answer()
        assert answer["code"] == f"palacelog::{code}", answer
        assert answer["error"], "the error says nothing"
        assert answer["help"], "the error offers no help"
        if field is not None:
            assert answer["error"].startswith((f"`{field}`", f"`{field}.")), answer["error"]
        assert fingerprint(self.house) == before

    def close(self) -> None:
        house, self._home._house = self._home._house, None
        if house is not None:
            house.close()

    def reopen(self, **settings: Any) -> None:
        """Close the palace if it is open, and open it again."""
        self.close()
        self._home._house = open_palace(
            self.folder, system=self.machine, **self.settings | settings
        )

    # what tests look at

    def position(self) -> int:
        return self.house.log.position()

    def tools(self) -> list[str]:
        """The tools of everything accepted, in order of arrival."""
        return [one.header.tool for one in operations(self.house)]

    def contents(self, **chosen: Any) -> list[str]:
        """The texts of the drawers listed, newest first."""
        return [line["preview"] for line in self.list_drawers(**chosen)["drawers"]]

    def objects(self, entity: str = "Kiran", predicate: str = "city", **moment: Any) -> list[str]:
        """The objects of the facts of an entity."""
        found = self.kg_query(entity=entity, predicate=predicate, direction="out", **moment)
        return [fact["object"] for fact in found["facts"]]

    def intervals(self, entity: str = "Kiran", predicate: str = "city") -> list[str]:
        """All facts of an entity with their days: `Lyon 2026-03-01..2026-04-01`."""
        found = self.kg_query(
            entity=entity, predicate=predicate, direction="out", include_historical=True
        )
        return [
            f"{fact['object']} {fact['valid_from'][:10]}..{(fact['valid_to'] or '')[:10]}"
            for fact in found["facts"]
        ]

    def conflicts(self) -> list[str]:
        """The kinds of the conflicts listed, sorted."""
        return sorted(one["kind"] for one in self.list_conflicts()["conflicts"])


class Fleet:
    """Devices whose palaces lie side by side."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._devices: dict[str, Device] = {}

    def device(self, name: str, *, ahead: int = 0, **settings: Any) -> Device:
        """A new device; its clock is `ahead` by that many microseconds."""
        machine = Machine(ahead)
        create_palace(self._folder / name, name, system=machine)
        device = self._devices[name] = Device(self._folder / name, machine, settings)
        return device

    def devices(self, *names: str, **settings: Any) -> tuple[Device, ...]:
        return tuple(self.device(name, **settings) for name in names)

    def share(self) -> None:
        """Everyone sends what they wrote to everyone else."""
        for source, target in permutations(self._devices.values(), 2):
            outcomes = deliver(source.house, target.house)
            assert all(hasattr(outcome, "position") for outcome in outcomes), outcomes

    def agrees(self) -> None:
        """Everyone shows the same."""
        states = [state_of(device.house) for device in self._devices.values()]
        assert all(left == right for left, right in pairwise(states))

    def gathered(self, *sources: Device) -> Device:
        """A new palace that receives the streams of others in the order given."""
        target = self.device(f"gathered-{len(self._devices)}")
        for source in sources:
            outcomes = deliver(source.house, target.house)
            assert all(isinstance(outcome, Appended) for outcome in outcomes), outcomes
        return target

    def close(self) -> None:
        """Close all palaces; those still open must equal their rebuild, the first also when it is
        opened again.
        """
        standing = [device for device in self._devices.values() if device._house is not None]
        for number, device in enumerate(standing):
            live = rebuilt_equals_live(device.house)
            if number == 0:
                device.reopen()
                assert digest_of(device.house) == live
            device.close()


def every_order(sources: Sequence[Device]) -> Iterator[Sequence[Device]]:
    """The orders in which devices may reach a primary."""
    yield from permutations(sources)
