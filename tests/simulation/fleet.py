"""Palaces of one history: three devices and a primary, each a folder of real files with a clock of
its own.

Chance and time come from the history's seed, so that a history that failed fails again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from domain.catalog import ACKNOWLEDGED
from domain.errors import InvalidInput, Refused
from domain.identity import base_device
from domain.operation import Context, Operation
from palacelog.bootstrap import House, create_palace, open_palace, restore_palace
from palacelog.system import System
from projections.digests import digests
from projections.reading import Reading
from replay.backup import backup
from replay.rebuild import rebuild

DEVICES = ("ada", "bob", "cyd")
PRIMARY = "primary"
BEGIN = 1_772_442_000_000_000  # 2026-03-02T09:00Z
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
YEAR = 365 * DAY


class World:
    """The true time, which no machine needs to know."""

    def __init__(self) -> None:
        self.now = BEGIN


class Machine(System):
    """Clock and chance of one machine; its clock is wrong by `skew` microseconds."""

    def __init__(self, world: World, seed: str) -> None:
        self.world = world
        self.skew = 0
        self._random = random.Random(seed)

    def now(self) -> int:
        return self.world.now + self.skew

    def nonce(self) -> bytes:
        return self._random.randbytes(16)

    def log_id(self) -> str:
        return f"log_{self._random.randbytes(16).hex()}"

    def palace_id(self) -> str:
        return f"palace_{self._random.randbytes(16).hex()}"


class Replica:
    """One palace and the machine that it is on."""

    def __init__(self, folder: Path, machine: Machine, role: str) -> None:
        self.name = folder.name
        self.folder = folder
        self.machine = machine
        self.role = role
        create_palace(folder, self.name, system=machine)
        self.house = self._opened()

    def _opened(self) -> House:
        return open_palace(self.folder, system=self.machine, role=self.role)

    def close(self) -> None:
        self.house.close()

    def reopen(self) -> None:
        self.house.close()
        self.house = self._opened()

    def call(self, tool: str, arguments: dict[str, Any], agent: str = "scribe") -> dict[str, Any]:
        return self.house.palace.call(tool, arguments, Context(agent=agent))

    def tried(self, tool: str, arguments: dict[str, Any], agent: str) -> dict[str, Any] | None:
        """The answer; None where the call was refused, which must have changed nothing."""
        before = self.house.log.head()
        try:
            return self.call(tool, arguments, agent)
        except (Refused, InvalidInput):
            assert self.house.log.head() == before, "a refused call has changed the log"
            return None

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        with self.house.palace.reading() as reading:
            yield reading

    def operations(self) -> list[Operation]:
        """Everything that the log holds, in order of arrival."""
        return list(self.house.log.after(0, 100_000))

    @property
    def device(self) -> str:
        """Who it is now: its name, with its incarnation."""
        return self.house.log.about.device

    def own_streams(self) -> list[str]:
        """The devices that it has been, as far as its log holds their shared streams."""
        return [one for one in self.streams() if base_device(one) == self.name]

    def held(self, device: str) -> int:
        """How far the log holds the shared stream of a device."""
        return self.house.log.stream_head(device).local_seq

    def streams(self) -> list[str]:
        """The devices whose shared streams the log holds a part of."""
        return sorted(
            {one.header.origin_device for one in self.operations() if one.header.stream == "shared"}
        )

    def digests(self) -> dict[str, Any]:
        with self.reading() as reading:
            return digests(reading.cursor)

    def state(self) -> dict[str, str]:
        """What any two palaces with the same shared events and stamps must have in common."""
        return {
            area: sums["state"] for area, sums in self.digests().items() if isinstance(sums, dict)
        }

    def stamps(self) -> dict[str, int]:
        """op_id to the stamp that this log knows, worked out from the log alone."""
        known: dict[str, int] = {}
        for operation in self.operations():
            known[operation.header.op_id] = operation.order_hlc
            if operation.header.tool == ACKNOWLEDGED:
                orders = operation.payload()["orders"]
                known |= {op_id: order for op_id, order in orders.items() if op_id in known}
        return known

    def canonical_order(self) -> list[str]:
        """The op_ids of the shared events in canonical order."""
        known = self.stamps()
        shared = [one.header for one in self.operations() if one.header.stream == "shared"]
        shared.sort(key=lambda one: (known[one.op_id], one.origin_device, one.local_seq))
        return [one.op_id for one in shared]

    def rebuilt_equals_live(self) -> None:
        """Promise 4: the views that were folded live equal those that are folded from zero."""
        live = self.digests()
        rebuild(self.house.log, self.house.generations, self.house.lock)
        assert self.digests() == live, f"{self.name}: a rebuild differs from the live views"

    def back_up(self, target: Path) -> None:
        backup(self.house.log, target)

    def restore(self, source: Path) -> None:
        """Go back to a backup, under a new log_id and as the next incarnation."""
        self.house.close()
        restore_palace(source, self.folder, replace=True, system=self.machine)
        self.house = self._opened()


class Fleet:
    """All replicas of one history."""

    def __init__(self, folder: Path, seed: int, *, edges: bool) -> None:
        self.folder = folder
        self.seed = seed
        self.world = World()
        self.role = "edge" if edges else "primary"
        self.devices = [self.replica(name, self.role) for name in DEVICES]
        self.primary = self.replica(PRIMARY, "primary")

    def replica(self, name: str, role: str) -> Replica:
        return Replica(self.folder / name, Machine(self.world, f"{self.seed}/{name}"), role)

    @property
    def everyone(self) -> list[Replica]:
        return [*self.devices, self.primary]

    def close(self) -> None:
        for replica in self.everyone:
            replica.close()
