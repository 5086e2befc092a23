"""A history as several devices make it: drawers, updates, deletes and facts in a fixed mixture.

The same seed gives the same bytes. Devices write in runs of a few operations; one of them is often
offline, and what it wrote meanwhile arrives late and in one piece. Targets are what the devices had
written by then, so that most edits meet what they name and some come too late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from domain.identity import drawer_id
from domain.operation import NOTHING_YET, Context, Draft, Recorded, StreamHead, record
from replay.log import About, Log, create_log

MIXTURE: Final = {
    "add_drawer": 40,
    "update_drawer": 12,
    "supersede_drawer": 3,
    "delete_drawer": 4,
    "kg_add": 29,
    "kg_supersede": 6,
    "kg_invalidate": 5,
    "kg_declare_predicate": 1,
}
DEVICES: Final = ("laptop-a1b2", "desktop-c3d4", "container-e5f6", "phone-a7b8")
OFFLINE: Final = "phone-a7b8"
OFFLINE_RUN: Final = 40
STARTED: Final = 1_735_689_600_000_000
"""1 January 2025 in microseconds UTC."""
STEP: Final = 7_000_000
PREDICATES: Final = tuple(f"relates to {number}" for number in range(12))
DRAWERS_REMEMBERED: Final = 5_000
AT_ONCE: Final = 2_000
_TEXT: Final = (
    "agent asked about the build server which fails when the cache is cold so we keep a warm copy "
    "of every wheel beside the lock file and note in the diary that Kiran prefers short answers "
    "with measured numbers over long ones without them since the last review of the palace"
)
_WORDS: Final = _TEXT.split()


class Author:
    """Writes the payloads of a mixture, and remembers what there is to edit."""

    def __init__(self, seed: int, subjects: int) -> None:
        self.random = Random(seed)
        self._subjects = subjects
        self._drawers: list[tuple[str, str, str]] = []
        self._facts: list[tuple[str, str, str]] = []

    def write(self, at: int) -> tuple[str, dict[str, Any]]:
        """The next operation, at an instant: its tool and payload."""
        [tool] = self.random.choices(list(MIXTURE), MIXTURE.values())
        if tool in ("update_drawer", "supersede_drawer", "delete_drawer") and not self._drawers:
            tool = "add_drawer"
        if tool in ("kg_supersede", "kg_invalidate") and not self._facts:
            tool = "kg_add"
        return tool, getattr(self, f"_{tool}")(at)

    def text(self) -> str:
        """A text of 8 to 90 words."""
        words = self.random.choices(_WORDS, k=self.random.randint(8, 90))
        return f"{' '.join(words)} ({self.random.getrandbits(48):x})"

    def _add_drawer(self, at: int) -> dict[str, Any]:
        wing, room = f"project {self._few(12)}", f"room {self._few(8)}"
        payload = self._filled(wing, room) | {"valid_from": at, "duplicate": False}
        if self._few(2):
            payload["tags"] = [f"tag{self._few(9)}", f"topic{self._few(30)}"]
        if not self._few(3):
            payload |= {"source_file": f"notes/{self._few(500)}.md", "added_by": "claude"}
        return payload

    def _update_drawer(self, at: int) -> dict[str, Any]:
        previous, wing, room = self._taken(self._drawers)
        return self._filled(wing, room) | {"previous": previous, "duplicate": False}

    def _supersede_drawer(self, at: int) -> dict[str, Any]:
        old, wing, room = self._taken(self._drawers)
        return self._filled(wing, room) | {"supersedes": old, "valid_from": at, "duplicate": False}

    def _delete_drawer(self, at: int) -> dict[str, Any]:
        drawer, _, _ = self._taken(self._drawers)
        return {"drawer_id": drawer, "hidden": [drawer], "duplicate": False}

    def _kg_add(self, at: int) -> dict[str, Any]:
        subject = f"Entity {int(self.random.random() ** 2 * self._subjects)}"
        predicate, object = self.random.choice(PREDICATES), f"Thing {self._few(500)}"
        self._remember(self._facts, (subject, predicate, object))
        stated = self._stated(subject, predicate)
        stated |= {"object": object, "valid_from": at - self._few(90) * 86_400_000_000}
        return stated | ({} if self._few(4) else {"confidence": 0.75})

    def _kg_supersede(self, at: int) -> dict[str, Any]:
        subject, predicate, old = self._taken(self._facts)
        new = f"Thing {500 + self._few(500)}"
        self._remember(self._facts, (subject, predicate, new))
        stated = self._stated(subject, predicate)
        return stated | {"old_object": old, "new_object": new, "at": at, "superseded": []}

    def _kg_invalidate(self, at: int) -> dict[str, Any]:
        subject, predicate, object = self._taken(self._facts)
        return self._stated(subject, predicate) | {"object": object, "ended": at, "fact_ids": []}

    def _kg_declare_predicate(self, at: int) -> dict[str, Any]:
        cardinality = "one" if self._few(2) else "many"
        payload = {"predicate": self.random.choice(PREDICATES), "cardinality": cardinality}
        return payload | {"wing": f"project {self._few(12)}", "duplicate": False}

    def _stated(self, subject: str, predicate: str) -> dict[str, Any]:
        return {"wing": "facts", "subject": subject, "predicate": predicate, "duplicate": False}

    def _filled(self, wing: str, room: str) -> dict[str, Any]:
        content = self.text()
        id = drawer_id(wing, room, content)
        self._remember(self._drawers, (id, wing, room))
        return {"drawer_id": id, "wing": wing, "room": room, "content": content}

    def _few(self, below: int) -> int:
        return self.random.randrange(below)

    def _remember(self, kept: list[Any], new: Any) -> None:
        if len(kept) < DRAWERS_REMEMBERED:
            kept.append(new)
        else:
            kept[self._few(len(kept))] = new

    def _taken(self, kept: list[Any]) -> Any:
        index = self._few(len(kept))
        kept[index], kept[-1] = kept[-1], kept[index]
        return kept.pop()


class Fleet:
    """The streams of several devices, each event the next of its stream."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)
        self._heads: dict[str, StreamHead] = {}
        self._contexts = {
            device: Context(f"agent-{index}", "mcp", f"session-{index:04x}", f"user-{index}")
            for index, device in enumerate(DEVICES)
        }

    def record(self, device: str, at: int, tool: str, payload: dict[str, Any]) -> Recorded:
        """An event of a device at an instant (microseconds UTC)."""
        context = self._contexts.get(device, Context())
        draft = Draft(tool, payload, payload, context, target="known")
        before = self._heads.get(device, NOTHING_YET)
        recorded = record(
            draft,
            device=device,
            host=f"{device}.local",
            before=before,
            recorded_at=at,
            hlc=(at // 1_000) << 16,
            nonce=self._random.randbytes(16),
        )
        self._heads[device] = StreamHead(before.local_seq + 1, recorded.chain, recorded.header.hlc)
        return recorded


def arrivals(count: int, seed: int = 1) -> Iterator[tuple[int, Recorded]]:
    """(when it arrives, event) of a whole history; times in microseconds UTC."""
    author, fleet = Author(seed, subjects=max(50, count // 50)), Fleet(seed)
    waiting: list[Recorded] = []
    device = DEVICES[0]
    for number in range(count):
        at = STARTED + number * STEP
        if author.random.random() < 0.2:
            device = author.random.choice(DEVICES)
        event = fleet.record(device, at, *author.write(at))
        if device != OFFLINE:
            yield at, event
            continue
        waiting.append(event)
        if len(waiting) >= OFFLINE_RUN:
            yield from ((at, one) for one in waiting)
            waiting.clear()
    yield from ((STARTED + count * STEP, one) for one in waiting)


def new_log(path: Path, device: str = "primary") -> Log:
    """An empty log, open."""
    create_log(path, About(f"log_{path.stem}", device))
    return Log(path)


def fill(log: Log, arriving: Iterable[tuple[int, Recorded]]) -> int:
    """Receive a whole history in large transactions; the WAL is moved as they come."""
    received, more = 0, iter(arriving)
    done = False
    while not done:
        with log.writing():
            done = True
            for now, event in more:
                log.receive(event, claim=None, now=now)
                received += 1
                if received % AT_ONCE == 0:
                    done = False
                    break
            log.commit()
        log.move_wal("TRUNCATE")
    return received


def size_of(log: Log, sampled: int = 2_000) -> dict[str, float]:
    """The mean bytes of header and payload over the first events of a log."""
    events = [one.recorded for one in log.after(0, sampled)]
    return {
        "header": round(sum(len(one.header_bytes) for one in events) / len(events)),
        "payload": round(sum(len(one.payload or b"") for one in events) / len(events)),
    }
