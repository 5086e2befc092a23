"""Random stories of several devices on real files: what may happen, and what may be asked about it.

story = Story(fleet, seed=1, clock=clock)
story.goes_on(50)
answers = story.asked({"known_at": "@20"})
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
from freezegun.api import FrozenDateTimeFactory

from domain.errors import PalaceError
from tests.palaces import HOUR, Device, Fleet, acknowledge, deliver, operations

WINGS, ROOMS, TEXTS = ["home", "work"], ["notes", "plans"], ["tea", "milk", "oat milk", "coffee"]
PEOPLE, PREDICATES, CITIES = ["Kiran", "Noor"], ["city", "likes"], ["Lyon", "Nice", "Kiran"]
TIMES = ["2026-01-15", "2026-02", "2026-03-20T10:00Z", "2026-04-05", "2026-05", "-2h"]


class Story:
    """Two devices and a reader; one clock runs a year ahead, one a day behind."""

    def __init__(self, fleet: Fleet, seed: int, clock: FrozenDateTimeFactory) -> None:
        self.draw = random.Random(seed)
        self.clock = clock
        self.reader = fleet.device("reader", role="edge")
        self.others = [
            fleet.device("ahead", role="edge", ahead=365 * 24 * HOUR),
            fleet.device("behind", role="edge", ahead=-24 * HOUR),
        ]
        self.devices = [self.reader, *self.others]
        self.drawers: dict[str, None] = {}
        self.facts: dict[str, None] = {}

    def goes_on(self, steps: int) -> None:
        """Things happen: calls, some of them refused, deliveries, acknowledgements."""
        for _ in range(steps):
            self.clock.tick(self.draw.choice([0, 1, 60, 3_600]))
            happening = self.draw.choices(
                [self._call, self._deliver, self._acknowledge], weights=[24, 4, 1]
            )[0]
            happening()
        for other in self.others:
            deliver(other.house, self.reader.house)

    def _deliver(self) -> None:
        source, target = self.draw.sample(self.devices, 2)
        deliver(source.house, target.house, limit=self.draw.choice([1, 3, 1_000]))

    def _acknowledge(self) -> None:
        """The reader's own events get other orders; so what it had folded is folded again."""
        primary = self.draw.choice(self.others)
        held = {one.header.op_id for one in operations(primary.house)}
        own = [one for one in operations(self.reader.house) if one.recorded.stream_id == "reader"]
        if any(one.header.op_id in held for one in own):
            acknowledge(self.reader.house, primary.house)

    def _call(self) -> None:
        device, pick = self.draw.choice(self.devices), self.draw.choice
        place = {"wing": pick(WINGS), "room": pick(ROOMS)}
        about = {"subject": pick(PEOPLE), "predicate": pick(PREDICATES)}
        known = list(self.drawers) or ["drawer_of_nobody"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("add_drawer", place | {"content": pick(TEXTS)} | self._some(tags=["a"])),
            ("add_drawer", place | {"content": pick(TEXTS), "supersedes": pick(known)}),
            ("update_drawer", {"drawer_id": pick(known), "content": pick(TEXTS)}),
            ("supersede_drawer", {"drawer_id": pick(known), "content": pick(TEXTS)}),
            ("supersede_drawer", {"drawer_id": pick(known)} | self._some(valid_from=pick(TIMES))),
            ("delete_drawer", {"drawer_id": pick(known)}),
            ("kg_add", about | {"object": pick(CITIES)} | self._interval()),
            ("kg_add", about | {"object": pick(CITIES)} | self._some(source_drawer_id=pick(known))),
            ("kg_invalidate", about | {"object": pick(CITIES)} | self._some(ended=pick(TIMES))),
            (
                "kg_supersede",
                about | {"old_object": pick(CITIES), "new_object": pick(CITIES)},
            ),
            (
                "kg_declare_predicate",
                {"predicate": pick(PREDICATES), "cardinality": pick(["one", "many"])}
                | self._some(wing=pick([*WINGS, "facts"])),
            ),
        ]
        with suppress(PalaceError):
            told = device.call(*pick(calls))
            self.drawers |= {told["drawer_id"]: None} if told.get("drawer_id") else {}
            self.facts |= {told["fact_id"]: None} if told.get("fact_id") else {}

    def _some(self, **given: Any) -> dict[str, Any]:
        return {name: value for name, value in given.items() if self.draw.random() < 0.5}

    def _interval(self) -> dict[str, Any]:
        return self._some(valid_from=self.draw.choice(TIMES)) | self._some(
            valid_to=self.draw.choice(TIMES)
        )

    def questions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """One of every kind of question, for everything there is."""
        for drawer in [*self.drawers, "drawer_of_nobody"]:
            yield "get_drawer", {"drawer_id": drawer}
            yield "history", {"drawer_id": drawer}
            yield "list_operations", {"drawer_id": drawer}
        for chosen in ({}, {"wing": "home"}, {"tag": "a"}, {"include_historical": True}):
            yield "list_drawers", {"limit": 200} | chosen
        yield "list_drawers", {"from": "2026-02", "until": "2026-03"}
        yield "list_drawers", {"limit": 2}
        for entity in [*PEOPLE, *CITIES]:
            for chosen in ({}, {"include_historical": True}, {"predicate": "city"}):
                yield "kg_query", {"entity": entity} | chosen
            yield "kg_timeline", {"entity": entity, "limit": 2}
            yield "list_operations", {"entity": entity}
        for chosen in ({}, {"wing": "home"}, {"tags": ["a"]}, {"include_historical": True}):
            yield "search", {"query": "oat milk or tea", "limit": 200} | chosen
        yield "search", {"query": "tea and milk", "limit": 1}
        yield "recall", {"query": "does Kiran like milk"}
        yield "wake_up", {"max_items": 3}
        yield "get_drawers", {"drawer_ids": [*self.drawers, "drawer_of_nobody"][:200]}
        yield "duplicates", {}
        for text in TEXTS:
            yield "check_duplicate", {"content": text}
        for fact in self.facts:
            yield "fact_history", {"fact_id": fact}
        yield "kg_timeline", {"limit": 200}
        yield "list_conflicts", {"limit": 200}
        yield "list_conflicts", {"limit": 1}
        for wing in [*WINGS, "facts"]:
            yield "list_operations", {"wing": wing, "limit": 200}
        for position in range(1, self.reader.position() + 1, 7):
            yield "show_operation", {"position": position}

    def asked(self, moment: dict[str, str]) -> dict[str, bytes]:
        """What the reader answers to every question at a moment, refusals included."""
        return ask(self.reader, self.questions(), moment)


def ask(
    device: Device, questions: Iterator[tuple[str, dict[str, Any]]], moment: dict[str, str]
) -> dict[str, bytes]:
    """Answers as bytes, by question."""
    answers = {}
    for tool, given in questions:
        timeless = tool in ("list_operations", "show_operation")
        chosen = {} if "from" in given or "include_historical" in given or timeless else moment
        known = {name: value for name, value in moment.items() if name == "known_at"}
        try:
            answer = device.call(tool, given | known | chosen)
        except PalaceError as refusal:
            answer = refusal.as_answer()
        answers[f"{tool} {given}"] = orjson.dumps(answer)
    return answers
