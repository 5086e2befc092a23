"""How writes of many texts, or of texts of a kind, are decided: checkpoint, diary, note, bulk
deletes.

Protects against silence: every item of a checkpoint is in what is recorded, stored or named as left
out, and a bulk delete lists the ids that it meant. Pure.
"""

from __future__ import annotations

from typing import Any

from domain.belief import Fold, Held
from domain.canonical import comparable, twin_form
from domain.decisions.drawers import decide_add
from domain.decisions.nearness import Near, nearest
from domain.drawers import DRAWERS, Tombstone, reached
from domain.errors import Refused
from domain.identity import DIARY_ROOM, diary_id, diary_wing
from domain.nearness import NOT_COMPARED
from domain.operations.common import Decided
from domain.operations.drawers import AddDrawerAsks
from domain.operations.filing import (
    CheckpointAsks,
    CheckpointDiary,
    CheckpointItem,
    ComparedCheckpoint,
    DeleteBySourceAsks,
    DeleteDrawersAsks,
    DiaryWriteAsks,
    NoteAsks,
)
from domain.ports import Known, KnownTexts, Text


def decide_note(asked: NoteAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve a note as an add; its place was found before."""
    return decide_add(AddDrawerAsks.model_construct(**dict(asked)), known, now)


def decide_diary(asked: DiaryWriteAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve an entry: its wing and id; one that equals the agent's newest is a duplicate."""
    return Decided(_entry(asked, known, now))


def decide_checkpoint(asked: CheckpointAsks, known: Known, now: int) -> Decided:
    """Resolve every item on what the palace holds and on the items before it."""
    comparison = asked.comparison if isinstance(asked, ComparedCheckpoint) else NOT_COMPARED
    seen = _WithEarlier(known)
    stored: dict[int, dict[str, Any]] = {}
    dropped = []
    for number, item in enumerate(asked.items):
        payload = _item(item, seen, now)
        same = payload["duplicate"] or payload["drawer_id"] in seen
        near = (
            Near(payload["drawer_id"])
            if same
            else nearest(number, payload, comparison, known, stored)
        )
        # What ends another drawer says more than its text does.
        if near is not None and asked.drop_duplicates and "supersedes" not in payload:
            left_out = {"item": number, "wing": payload["wing"]}
            dropped.append(left_out | near.as_recorded())
            continue
        stored[number] = payload | {"item": number, "duplicate": same}
        if near is not None:
            stored[number] |= near.as_recorded()
        seen.learn(payload)
    payload = {
        "items": list(stored.values()),
        "dropped": dropped,
        "dedup_threshold": asked.dedup_threshold,
        "duplicate": all(one["duplicate"] for one in stored.values())
        and not any("cosine" in one for one in dropped),
    }
    if asked.diary is not None:
        payload["diary"] = _entry(asked.diary, seen, now)
        payload["duplicate"] = payload["duplicate"] and payload["diary"]["duplicate"]
    # What it was compared with is the machine's own matter, and says what lies in local wings.
    compared = not asked.items or comparison.degraded is None
    return Decided(payload | ({"compared": True} if compared else {}))


def decide_delete_drawers(asked: DeleteDrawersAsks, known: KnownTexts, now: int) -> Decided:
    """Resolve ids to what they hide; ids that were never known are refused together."""
    drawers = list(dict.fromkeys(asked.drawer_ids))
    held = {drawer: known.held(DRAWERS, drawer) for drawer in drawers}
    unknown = [
        drawer
        for drawer, rows in held.items()
        if not reached(rows, drawer)
        and not rows.find(Tombstone, "drawer_id", drawer)
        and known.text(drawer) is None
    ]
    if unknown and known.complete:
        raise Refused(
            "drawers::unknown",
            f"{len(unknown)} of these are not known here: {', '.join(unknown[:5])}.",
            "Nothing was hidden. Leave them out, or look them up with list_drawers.",
        )
    supports = [one for drawer, rows in held.items() for one in reached(rows, drawer)]
    payload: dict[str, Any] = {
        "drawer_ids": drawers,
        "hidden": list(dict.fromkeys(one.drawer_id for one in supports)),
        "duplicate": not supports,
    }
    target = "unverified" if unknown else "known"
    return Decided(payload | ({"reason": asked.reason} if asked.reason else {}), target)


def decide_delete_by_source(asked: DeleteBySourceAsks, known: Known, now: int) -> Decided:
    """Resolve a file to the live drawers that came from it."""
    wing = None if asked.wing is None else known.spelling("wing", asked.wing)
    drawers = list(known.live(wing=wing, source_file=asked.source_file))
    payload: dict[str, Any] = {
        "source_file": asked.source_file,
        "drawer_ids": drawers,
        "hidden": drawers,
        "duplicate": not drawers,
    }
    return Decided(payload | ({"reason": asked.reason} if asked.reason else {}))


def _item(item: CheckpointItem, known: KnownTexts, now: int) -> dict[str, Any]:
    decided = decide_add(AddDrawerAsks.model_construct(**dict(item)), known, now)
    return decided.payload


def _entry(asked: DiaryWriteAsks | CheckpointDiary, known: KnownTexts, now: int) -> dict[str, Any]:
    wing = known.spelling("wing", asked.wing or diary_wing(asked.agent_name))
    text = known.newest_entry(wing, asked.agent_name)
    duplicate = text is not None and text.content == asked.entry
    if text is None or not duplicate:
        text = Text(diary_id(wing, now, asked.entry), wing, DIARY_ROOM, asked.entry)
    id = text.drawer_id
    entry = text._asdict() | {
        "added_by": asked.agent_name,
        "valid_from": now,
        "metadata": {"topic": asked.topic},
        "duplicate": duplicate,
    }
    tombstones = known.held(DRAWERS, id).find(Tombstone, "drawer_id", id)
    revives = sorted({one.op_id for one in tombstones})
    return entry | ({"revives": revives} if revives else {})


class _WithEarlier:
    """What is known together with the items of the same checkpoint that come before."""

    def __init__(self, known: KnownTexts) -> None:
        self._known = known
        self.complete = known.complete
        self._spellings: dict[tuple[str, str, str], str] = {}
        self._texts: dict[tuple[str, str, str], Text] = {}
        self._ids: set[str] = set()

    def __contains__(self, drawer: str) -> bool:
        return drawer in self._ids

    def learn(self, payload: dict[str, Any]) -> None:
        wing, room, content = payload["wing"], payload["room"], payload["content"]
        self._spellings.setdefault(("wing", "", comparable(wing)), wing)
        self._spellings.setdefault(("room", comparable(wing), comparable(room)), room)
        text = Text(payload["drawer_id"], wing, room, content)
        self._texts.setdefault((comparable(wing), comparable(room), twin_form(content)), text)
        self._ids.add(text.drawer_id)

    def spelling(self, kind: str, name: str, scope: str = "") -> str:
        known = self._known.spelling(kind, name, scope)
        return self._spellings.get((kind, comparable(scope), comparable(name)), known)

    def twin(self, wing: str, room: str, content: str) -> Text | None:
        earlier = self._texts.get((comparable(wing), comparable(room), twin_form(content)))
        return self._known.twin(wing, room, content) or earlier

    def held(self, fold: Fold, member: str) -> Held:
        return self._known.held(fold, member)

    def text(self, drawer_id: str) -> Text | None:
        return self._known.text(drawer_id)

    def newest_entry(self, wing: str, agent: str) -> Text | None:
        return self._known.newest_entry(wing, agent)


def answer_note(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """Where the text is."""
    return {name: payload[name] for name in ("drawer_id", "wing", "room")} | {"hidden_by": []}


def answer_diary(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """The entry."""
    topic = payload["metadata"]["topic"]
    return {"drawer_id": payload["drawer_id"], "agent": payload["added_by"], "topic": topic}


def answer_checkpoint(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What became of every item, in the order asked."""
    lines = {
        one["item"]: {
            "drawer_id": one["drawer_id"],
            "duplicate": one["duplicate"],
            "near": one.get("near"),
            "cosine": one.get("cosine"),
            "dropped": False,
        }
        for one in payload["items"]
    }
    for one in payload["dropped"]:
        lines[one["item"]] = {
            "drawer_id": one["near"],
            "duplicate": one.get("cosine") is None,
            "near": one["near"],
            "cosine": one.get("cosine"),
            "dropped": True,
        }
    diary = payload.get("diary")
    return {
        "items": [lines[number] for number in sorted(lines)],
        "stored": len(payload["items"]),
        "dropped": len(payload["dropped"]),
        "diary_id": None if diary is None else diary["drawer_id"],
        "compared": payload.get("compared", False),
    }


def answer_delete_drawers(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What is hidden now."""
    return {"hidden": payload["hidden"], "count": len(payload["hidden"])}


def answer_delete_by_source(payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    """What is hidden now."""
    return answer_delete_drawers(payload, op_id) | {"source_file": payload["source_file"]}
