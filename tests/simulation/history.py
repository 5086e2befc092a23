"""One history: steps drawn from a seed, carried out on real palaces, then healed and looked at.

A step is three numbers, so that a history stays a history when steps are left out of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from domain.errors import PalaceError, Refused
from domain.identity import base_device
from tests.simulation import checks
from tests.simulation.calls import Words, a_read, a_write
from tests.simulation.fleet import DAY, MINUTE, YEAR, Fleet, Replica
from tests.simulation.post import Letter, Post

STEPS = 70
JUMPS = (0, 0, 0, -DAY, YEAR, YEAR, 5 * 60 * MINUTE, -2_000_000)
WAITS = (0, 1, 999, 1_000_000, 7 * MINUTE, DAY // 2, 3 * DAY)


class Step(NamedTuple):
    """What happens, to whom, and a number that decides the rest."""

    kind: str
    who: int
    number: int


class Plan(NamedTuple):
    """What kind of history it is.

    Attributes:
        edges: devices do not claim to know all there is.
        mesh: devices also hear from each other directly, not only from the primary.
        jumps: clocks jump.
        restores: devices go back to backups.
    """

    edges: bool
    mesh: bool
    jumps: bool
    restores: bool
    steps: tuple[Step, ...]


class Captured(NamedTuple):
    """What a palace answered to a question about the past."""

    replica: Replica
    log_id: str
    call: tuple[str, dict[str, Any], str]
    answer: dict[str, Any] | str


def planned(seed: int) -> Plan:
    """The history that a seed stands for."""
    chance = random.Random(seed)
    edges, mesh, jumps, restores = (chance.random() < share for share in (0.7, 0.5, 0.5, 0.25))
    kinds = {
        "write": 52,
        "wait": 12,
        "jump": 4 if jumps else 0,
        "export": 7,
        "deliver": 12,
        "deliver_part": 4,
        "deliver_cut": 1,
        "acknowledge": 8,
        "fetch": 8,
        "meet": 4,
        "capture": 7,
        "recall": 3,
        "reopen": 1,
        "rebuild": 2,
        "back_up": 2 if restores else 0,
        "restore": 2 if restores else 0,
    }
    drawn = chance.choices(list(kinds), weights=list(kinds.values()), k=STEPS)
    steps = [Step(kind, chance.randrange(4), chance.randrange(2**32)) for kind in drawn]
    return Plan(edges, mesh, jumps, restores, tuple(steps))


class History:
    """A plan under way."""

    def __init__(self, folder: Path, seed: int, plan: Plan) -> None:
        self.plan = plan
        self.fleet = Fleet(folder, seed, edges=plan.edges)
        self.post = Post(self.fleet)
        self.words = Words()
        self.answered: dict[str, dict[str, Any]] = {}
        self.keyed: dict[tuple[str, str], tuple[str, dict[str, Any], dict[str, Any]]] = {}
        self.captured: list[Captured] = []
        self.backups: dict[str, list[Path]] = {}
        self.seen: Counter[str] = Counter()

    def run(self) -> None:
        """Carry out every step."""
        for step in self.plan.steps:
            who = self.fleet.everyone[step.who]
            _STEPS[step.kind](self, who, random.Random(step.number))

    def write(self, who: Replica, chance: random.Random) -> None:
        for _ in range(chance.randint(1, 4)):
            self._write_one(who, chance)

    def _write_one(self, who: Replica, chance: random.Random) -> None:
        tool, arguments, agent = a_write(chance.randrange(2**32), self.words)
        key = arguments.get("idempotency_key")
        if key is not None and (who.name, key) in self.keyed:
            self._again(who, tool, arguments, agent)
            return
        answer = who.tried(tool, arguments, agent)
        if answer is None:
            self.seen["a call was refused"] += 1
        else:
            self.answered[answer["op_id"]] = answer
            self.words.learn(answer)
            if key is not None:
                self.keyed[who.name, key] = tool, arguments, answer

    def _again(self, who: Replica, tool: str, arguments: dict[str, Any], agent: str) -> None:
        """A key that was used: the same call has the same answer, another one is refused."""
        before = who.house.log.head()
        first_tool, first, answer = self.keyed[who.name, arguments["idempotency_key"]]
        assert who.call(first_tool, first, agent) == answer
        try:
            again = who.call(tool, arguments, agent)
        except PalaceError:
            again = None
        assert again is None or (tool, arguments, again) == (first_tool, first, answer)
        assert who.house.log.head() == before
        self.seen["a key was used again"] += 1

    def wait(self, who: Replica, chance: random.Random) -> None:
        self.fleet.world.now += chance.choice(WAITS)

    def jump(self, who: Replica, chance: random.Random) -> None:
        who.machine.skew = chance.choice(JUMPS)

    def export(self, who: Replica, chance: random.Random) -> None:
        """Write what waits, or what comes behind any number."""
        some = chance.randint(1, who.held(who.device) + 1)
        self.post.export(who, first=some if chance.random() < 0.3 else None)

    def deliver(self, who: Replica, chance: random.Random) -> None:
        letter = self._letter(who, chance)
        if letter is not None:
            replayed = self.post.deliver(letter, who)
            if replayed.stopped is not None:
                self.seen["a letter came too early"] += 1
            elif replayed.duplicates:
                self.seen["a letter came again"] += 1

    def deliver_part(self, who: Replica, chance: random.Random) -> None:
        letter = self._letter(who, chance)
        if letter is not None:
            self.post.deliver(self.post.part_of(letter, chance.randint(0, letter.count)), who)

    def deliver_cut(self, who: Replica, chance: random.Random) -> None:
        letter = self._letter(who, chance)
        if letter is not None:
            self.post.deliver_cut(letter, who, chance.randrange(2**32))
            self.seen["a letter was cut off"] += 1

    def _letter(self, who: Replica, chance: random.Random) -> Letter | None:
        """Any letter that may reach `who`, however old; mostly a young one."""
        hub = self.fleet.primary.name
        may = [
            one
            for one in self.post.letters
            if self.plan.mesh or who.name in (hub, base_device(one.device)) or one.source == hub
        ]
        return chance.choice(may[-6:] if chance.random() < 0.7 else may) if may else None

    def acknowledge(self, who: Replica, chance: random.Random) -> None:
        if self.post.receipts:
            own = self.post.acknowledge(chance.choice(self.post.receipts[-6:]), who)
            self.seen["a receipt was recorded" if own else "a receipt was refused"] += 1

    def fetch(self, who: Replica, chance: random.Random) -> None:
        """Hear of one stream from another replica, from what is missing on or from the start."""
        sources = self.fleet.everyone if self.plan.mesh else [self.fleet.primary]
        source = chance.choice(sources)
        streams = [one for one in source.streams() if source is not who]
        if streams:
            stream = chance.choice(streams)
            first = chance.choice([who.held(stream) + 1, 1])
            if first <= source.held(stream) + 1:
                self.post.deliver(self.post.export(source, stream, first), who)

    def meet(self, who: Replica, chance: random.Random) -> None:
        """A device and the primary tell each other everything, as they do on most days."""
        if who is self.fleet.primary:
            return
        self.post.deliver(self.post.export(who), self.fleet.primary)
        assert self.post.acknowledge(self.post.receipts[-1], who)
        self._hear(who)

    def _hear(self, who: Replica) -> None:
        primary = self.fleet.primary
        for stream in primary.streams():
            first = who.held(stream) + 1
            if first <= primary.held(stream):
                self.post.deliver(self.post.export(primary, stream, first), who)

    def capture(self, who: Replica, chance: random.Random) -> None:
        head = who.house.log.head()
        position = chance.randint(0, head.position)
        known_at = f"@{position}"
        if position and chance.random() < 0.3:
            [operation] = who.house.log.at([position])
            known_at = checks.instant(operation.logged_at + chance.choice([0, -1]))
        call = a_read(chance.randrange(2**32), self.words, known_at)
        answer = _answer(who, call)
        if call[0] == "list_conflicts":
            self.words.learn_conflicts(answer)
        self.captured.append(Captured(who, who.house.log.log_id, call, answer))

    def recall(self, who: Replica | None, chance: random.Random | None = None) -> None:
        """Promise 6: what was known then does not change."""
        for replica, log_id, call, answer in self.captured:
            if who in (None, replica) and replica.house.log.log_id == log_id:
                assert _answer(replica, call) == answer, (replica.name, call)
                self.seen["an answer about the past was asked again"] += 1

    def reopen(self, who: Replica, chance: random.Random) -> None:
        who.reopen()

    def rebuild(self, who: Replica, chance: random.Random) -> None:
        who.rebuilt_equals_live()

    def back_up(self, who: Replica, chance: random.Random) -> None:
        kept = self.backups.setdefault(who.name, [])
        kept.append(self.fleet.folder / f"backup-{who.name}-{len(kept)}")
        who.back_up(kept[-1])

    def restore(self, who: Replica, chance: random.Random) -> None:
        """A device goes back to a backup, and learns its own stream again from who holds most."""
        kept = self.backups.get(who.name)
        if not kept or who is self.fleet.primary:
            return
        who.restore(chance.choice(kept))
        self.seen["a device was restored"] += 1
        others = [one for one in self.fleet.everyone if one is not who]
        for device in sorted({name for one in others for name in one.streams()}):
            source = max(others, key=lambda one: one.held(device))
            if base_device(device) == who.name and source.held(device) > who.held(device):
                self.post.deliver(self.post.export(source, device, who.held(device) + 1), who)
        self.answered = {
            op_id: answer
            for op_id, answer in self.answered.items()
            if base_device(answer["origin_device"]) != who.name
            or answer["local_seq"] <= who.held(answer["origin_device"])
        }
        self.keyed = {place: made for place, made in self.keyed.items() if place[0] != who.name}

    def heal(self) -> None:
        """Clocks are right again, and everything reaches everyone."""
        self.fleet.world.now += MINUTE
        for replica in self.fleet.everyone:
            replica.machine.skew = 0
        primary = self.fleet.primary
        bounded = (one for one in primary.operations() if one.order_hlc < one.header.hlc)
        self.seen["a stamp was bounded"] += sum(1 for _ in bounded)
        for device in self.fleet.devices:
            for stream in sorted({device.device, *device.own_streams()}):
                known = device.held(stream) > 0
                self.post.deliver(self.post.export(device, stream if known else None), primary)
                assert self.post.acknowledge(self.post.receipts[-1], device)
        for device in self.fleet.devices:
            self._hear(device)

    def gathered(self, chance: random.Random) -> Replica:
        """A new palace that hears everything from the primary, in pieces and in any order."""
        primary, fresh = self.fleet.primary, self.fleet.replica("fresh", "primary")
        self.fleet.world.now += 2 * YEAR
        letters = [self.post.export(primary, stream, 1) for stream in primary.streams()]
        while letters:
            whole = chance.choice(letters)
            count = min(whole.count, fresh.held(whole.device) + chance.randint(1, 9))
            self.post.deliver(self.post.part_of(whole, count), fresh)
            if count == whole.count:
                letters.remove(whole)
        self.fleet.world.now -= 2 * YEAR
        return fresh


def _answer(replica: Replica, call: tuple[str, dict[str, Any], str]) -> dict[str, Any] | str:
    tool, arguments, agent = call
    try:
        return replica.call(tool, arguments, agent)
    except Refused as refusal:
        return refusal.code


_STEPS: dict[str, Callable[[History, Replica, random.Random], None]] = {
    name: getattr(History, name)
    for name in (
        "write", "wait", "jump", "export", "deliver", "deliver_part", "deliver_cut", "acknowledge",
        "fetch", "meet", "capture", "recall", "reopen", "rebuild", "back_up", "restore",
    )
}  # fmt: skip


def shrunk(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """A plan with fewer steps that still fails, and fails when any step is left out."""
    steps: tuple[Step, ...] = plan.steps
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            if fails(plan._replace(steps=fewer)):
                steps = fewer
            else:
                at += size
        size //= 2
    return plan._replace(steps=steps)
