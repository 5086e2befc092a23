"""What a small palace in memory knows: the questions of `domain.ports.Known` over the memory
engine, and a call that decides, records and folds as the way through does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from domain.belief import Event, Fold, Held
from domain.canonical import comparable, storable, twin_form
from domain.catalog import CATALOG, FOLDS, folds_of, records_of
from domain.conflicts import Conflict
from domain.drawers import Support
from domain.embedders import EMBEDDER_CHANGED
from domain.entities import Alias, Aliases
from domain.facts import Assertion, Declared, single_valued
from domain.hlc import next_hlc
from domain.jobs import Job
from domain.operation import rank, stamp_of
from domain.operations.common import Asks, Clock, Decided
from domain.operations.embedding import (
    AttachEmbeddingAsks,
    CutText,
    EmbedAsks,
    EmbedRecords,
    EmbedRun,
)
from domain.operations.jobs import FoundSource, MineAsks
from domain.parts import stated_texts
from domain.places import Place
from domain.ports import Chosen, Done, Stood, Text
from domain.resolutions import single_value_ids
from projections.vectors.embedder import Identity
from tests.memory_engine import MemoryEngine

TINY = Identity("tiny", "0" * 64, "0" * 64, 2, "mean", "l2", 8)
"""An embedder of two dimensions; every text is one chunk to it, and embedded before it is asked."""
TINY_COUNTS = Event(
    "tiny-1",
    EMBEDDER_CHANGED,
    {"short": TINY.short, "embedder": TINY.as_json()},
    rank(0, "tiny", "local", 1, 0),
    0,
)
NOW = 1_785_078_245_678_901


class MemoryKnown:
    """The views of one device at its log's head."""

    def __init__(self, device: str = "ada", *, complete: bool = True) -> None:
        self.device = device
        self.complete = complete
        self.engines = {name: MemoryEngine(fold) for name, fold in FOLDS.items()}
        self.events: dict[str, Event] = {}
        self.now = NOW
        self._texts: dict[str, Text] = {}
        self._spellings: dict[tuple[str, str, str], str] = {}

    def receive(self, *events: Event) -> None:
        """Take events of any device, in the order given."""
        for event in events:
            folds = folds_of(event.tool)
            if event.op_id not in self.events and folds:
                self.events[event.op_id] = event
                for fold in folds:
                    self.engines[fold.name].receive(event)
                self._learn(event)

    def decide(self, tool: str, **arguments: Any) -> Decided:
        """What a call would record."""
        entry = CATALOG[tool]
        assert entry.decide is not None
        clock = Clock("UTC", self.now)
        asked = entry.asks.model_validate(arguments, context=clock)
        return entry.decide(_prepared(asked), self, self.now)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Decide, record, fold, answer."""
        decided = self.decide(tool, **arguments)
        event = self.event(tool, decided.payload)
        self.receive(event)
        answer = CATALOG[tool].answer
        assert answer is not None
        return answer(event.payload, event.op_id) | {
            "op_id": event.op_id,
            "duplicate": event.payload["duplicate"],
            "target": decided.target,
        }

    def event(self, tool: str, payload: dict[str, Any]) -> Event:
        """The next event of this device, of a form that a log takes."""
        storable(payload)
        records = records_of(tool)
        assert records is not None
        records.model_validate(payload)
        stamps = [stamp_of(event.rank) for event in self.events.values()]
        stamp = next_hlc(max(stamps, default=-1), self.now)
        number = 1 + sum(event.op_id.startswith(f"{self.device}-") for event in self.known())
        place = rank(stamp, self.device, "shared", number, 0)
        return Event(f"{self.device}-{number}", tool, payload, place, self.now)

    def known(self) -> Iterator[Event]:
        """Every event held, in order of arrival."""
        return iter(self.events.values())

    def texts(self) -> Iterator[Text]:
        """Every text held, live or hidden."""
        return iter(self._texts.values())

    def states(self) -> dict[str, Any]:
        """The state of every fold, as any two replicas share it."""
        return {name: engine.state() for name, engine in self.engines.items()}

    def rows(self, fold: Fold) -> list[Any]:
        """The current rows of a fold."""
        return self.engines[fold.name].rows()

    def spelling(self, kind: str, name: str, scope: str = "") -> str:
        """The first spelling that was stored, else `name`."""
        return self._spellings.get((kind, comparable(scope), comparable(name)), name)

    def held(self, fold: Fold, member: str) -> Held:
        """The current rows of a member's key."""
        return self.engines[fold.name].held(member)

    def text(self, drawer_id: str) -> Text | None:
        """A drawer's text, live or hidden."""
        return self._texts.get(drawer_id)

    def twin(self, wing: str, room: str, content: str) -> Text | None:
        """A live drawer of the room with the same text in comparable form, the very same first."""
        supports = (row for row in self.rows(FOLDS["drawers"]) if isinstance(row, Support))
        texts = [self._texts[id] for id in dict.fromkeys(one.drawer_id for one in supports)]
        place, form = (comparable(wing), comparable(room)), twin_form(content)
        twins = [
            text
            for text in texts
            if (comparable(text.wing), comparable(text.room)) == place
            and twin_form(text.content) == form
        ]
        return min(twins, key=lambda text: text.content != content, default=None)

    def live(
        self, *, wing: str | None = None, room: str | None = None, source_file: str | None = None
    ) -> list[str]:
        """The ids of the live drawers of a place or a file, sorted."""
        found = set()
        for row in self.rows(FOLDS["drawers"]):
            if isinstance(row, Support) and source_file in (None, row.source_file):
                text = self._texts[row.drawer_id]
                asked = [(wing, text.wing), (room, text.room)]
                if all(a is None or comparable(a) == comparable(b) for a, b in asked):
                    found.add(row.drawer_id)
        return sorted(found)

    def rooms(self, wing: str, room: str | None = None) -> list[str]:
        """The rooms of a wing, or the one named, that were made by themselves."""
        rows = [row for row in self.rows(FOLDS["drawers"]) if isinstance(row, Place) and row.room]
        mine = [row.room for row in rows if row.wing_key == comparable(wing)]
        return sorted(name for name in mine if room is None or comparable(name) == comparable(room))

    def newest_entry(self, wing: str, agent: str) -> Text | None:
        """The newest live entry of an agent's diary in a wing."""
        rows = (row for row in self.rows(FOLDS["drawers"]) if isinstance(row, Support))
        mine = [
            (row.valid_from, row.drawer_id)
            for row in rows
            if row.drawer_id.startswith("diary_")
            and comparable(row.added_by or "") == comparable(agent)
            and comparable(self._texts[row.drawer_id].wing) == comparable(wing)
        ]
        return self._texts[max(mine)[1]] if mine else None

    def jobs(self, wing: str) -> list[Job]:
        """The jobs that file into a wing, oldest first."""
        rows = (row for row in self.rows(FOLDS["jobs"]) if isinstance(row, Job))
        found = [row for row in rows if row.wing_key == comparable(wing)]
        return sorted(found, key=lambda job: (job.requested_at, job.id))

    def policy(self, wing: str | None) -> str:
        """Everything travels."""
        return "replicated"

    def fixed(self, wing: str) -> bool:
        """Whether any event named the wing before."""
        return ("wing", "", comparable(wing)) in self._spellings

    def members_in(self, fold: Fold, wing: str) -> list[str]:
        """No wing is local, so nobody asks."""
        return []

    def local_links(self) -> list[str]:
        """No wing is local, so nobody asks."""
        return []

    def local_operations(self, op_ids: Sequence[str]) -> list[str]:
        """None are local."""
        return []

    def done(self, chosen: Chosen, limit: int) -> list[Done]:
        """The operations chosen; sessions and times are for palaces on files."""
        found = [
            Done(event, event.op_id.rpartition("-")[0], position)
            for position, event in enumerate(self.events.values(), 1)
            if chosen.op_id in (None, event.op_id)
            and chosen.device in (None, event.op_id.rpartition("-")[0])
        ]
        return sorted(found, key=lambda one: one.event.rank)[:limit]

    def parts(self, fold: Fold, member: str) -> list[Event]:
        """Every part that touched the key of a member."""
        return self.engines[fold.name].parts(member)

    def conflicts(self) -> list[str]:
        """The ids of all conflicts that stand."""
        rows = [row for area in ("drawers", "facts") for row in self.rows(FOLDS[area])]
        declared = [row for row in self.rows(FOLDS["predicates"]) if isinstance(row, Declared)]
        noted = [row.id for row in rows if isinstance(row, Conflict)]
        starts: dict[tuple[str, int], list[Assertion]] = defaultdict(list)
        for row in rows:
            if (
                isinstance(row, Assertion)
                and row.valid_from < row.valid_to
                and single_valued(declared, row.wing_key, row.predicate_key)
            ):
                starts[row.partition, row.valid_from].append(row)
        return noted + [id for same in starts.values() for id in single_value_ids(same)]

    def conflict(self, id: str) -> Conflict | None:
        """A conflict that stands; of single values no more than that there is one."""
        rows = [row for area in ("drawers", "facts") for row in self.rows(FOLDS[area])]
        noted = [row for row in rows if isinstance(row, Conflict) and row.id == id]
        there = Conflict(id, "facts", "single_value", "", "", "", "", "", b"")
        return noted[0] if noted else there if id in self.conflicts() else None

    def aliases(self, names: Iterable[str]) -> Aliases:
        """All that is said of names."""
        rows = [row for row in self.rows(FOLDS["entities"]) if isinstance(row, Alias)]
        return Aliases(sorted(rows, key=lambda row: row.rank))

    def stood(self, subjects: Sequence[str], predicate: str, objects: Sequence[str]) -> list[Stood]:
        """The facts of any wing under names of subject and object."""
        until: dict[tuple[str, str, str], Stood] = {}
        for row in self.rows(FOLDS["facts"]):
            if (
                isinstance(row, Assertion)
                and row.subject_key in subjects
                and row.predicate_key == comparable(predicate)
                and row.object_key in objects
            ):
                key = (row.wing_key, row.subject_key, row.object_key)
                one = Stood(row.wing, row.subject, row.object, row.valid_to)
                until[key] = max(until.get(key, one), one, key=lambda stood: stood.until)
        return [until[key] for key in sorted(until)]

    def _learn(self, event: Event) -> None:
        for stated in stated_texts(event.tool, event.payload):
            id = stated["drawer_id"]
            self._texts.setdefault(id, Text(id, stated["wing"], stated["room"], stated["content"]))
            self._learn_names(stated)
        self._learn_names(event.payload)

    def _learn_names(self, stated: dict[str, Any]) -> None:
        for kind in ("wing", "room", "subject", "predicate"):
            if stated.get(kind):
                scope = comparable(stated["wing"]) if kind == "room" else ""
                self._spellings.setdefault((kind, scope, comparable(stated[kind])), stated[kind])
        if "entity" in stated:
            key = comparable(stated["entity"])
            self._spellings.setdefault(("subject", "", key), stated["entity"])


def _prepared(asked: Asks) -> Asks:
    """What a machine with an embedder adds to what is asked."""
    if isinstance(asked, EmbedAsks):
        run = EmbedRecords(embedder=TINY.short, embedded=0, remaining=0, duplicate=True)
        return EmbedRun(**asked.model_dump(), run=run)
    if isinstance(asked, MineAsks):
        return FoundSource(**asked.model_dump())
    if isinstance(asked, AttachEmbeddingAsks):
        return CutText(**asked.model_dump(), chunks=1)
    return asked
