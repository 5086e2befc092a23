"""Random calls out of few words, so that devices get in each other's way all the time."""

from __future__ import annotations

import random
from typing import Any

WINGS = ("home", "Home", "work")
ROOMS = ("notes", "recipes")
TEXTS = (
    "Tea at four",
    "Tea at four\n",
    "tea at four",
    "The build needs LANG=C.UTF-8",
    "Der Kellerschlüssel liegt bei Ana",
    "咖啡放在左边的柜子里",
    "🍊",
    "الاجتماع يوم الأحد",
)
SUBJECTS = ("Kiran", "kiran", "Ana")
PREDICATES = ("city", "City", "employer")
OBJECTS = ("Lyon", "LYON", "Nice", "Oslo", "Rome")
TIMES = (
    "2026-01",
    "2026-02-10",
    "2026-03-01",
    "2026-03-01T12:00Z",
    "2026-03-02",
    "2026-03-03T08:30:00.000001Z",
    "2026-04",
    "-2h",
)
KEYS = ("k1", "k2", "k3")
AGENTS = ("scribe", "mason", "courier")

WRITES = (
    *("add_drawer",) * 5,
    *("update_drawer",) * 3,
    *("supersede_drawer",) * 3,
    *("delete_drawer",) * 3,
    *("kg_add",) * 5,
    *("kg_invalidate",) * 3,
    *("kg_supersede",) * 4,
    *("kg_declare_predicate",) * 2,
    *("checkpoint",) * 2,
    "note",
    "diary_write",
    "delete_drawers",
    "delete_by_source",
    "create_wing",
    "create_room",
    "delete_wing",
    "delete_room",
    "undo",
    *("resolve_conflict",) * 2,
    *("add_alias",) * 2,
    *("create_tunnel",) * 2,
    "delete_tunnel",
    "link_drawer",
)
READS = (
    "get_drawer",
    "list_drawers",
    "history",
    "kg_query",
    "kg_timeline",
    "fact_history",
    "list_conflicts",
    "find_tunnels",
    "graph_stats",
    "list_tags",
    "list_entities",
    "entity_relationships",
    "entity_mentions",
    "kg_stats",
    "list_operations",
    "show_operation",
    "get_taxonomy",
    "diary_read",
)

Call = tuple[str, dict[str, Any], str]


class Words:
    """The ids that a history has brought forth; a device may be asked for one that it lacks."""

    def __init__(self) -> None:
        self.drawers: dict[str, None] = {}
        self.facts: dict[str, None] = {}
        self.operations: dict[str, None] = {}
        self.conflicts: dict[str, None] = {}
        self.tunnels: dict[str, None] = {}

    def learn_conflicts(self, listed: dict[str, Any]) -> None:
        self.conflicts |= dict.fromkeys(one["id"] for one in listed["conflicts"])

    def learn(self, answer: dict[str, Any]) -> None:
        self.operations[answer["op_id"]] = None
        if answer.get("drawer_id"):
            self.drawers[answer["drawer_id"]] = None
        if answer.get("tunnel_id"):
            self.tunnels[answer["tunnel_id"]] = None
        if answer.get("fact_id"):
            self.facts[answer["fact_id"]] = None


def a_write(seed: int, words: Words) -> Call:
    """The write that a number stands for."""
    chance = random.Random(seed)
    tool = chance.choice(WRITES)
    arguments = _DRAWN[tool](chance, words)
    if tool == "add_drawer" and chance.random() < 0.15:
        arguments["supersedes"] = _drawer(chance, words)
    if chance.random() < 0.15:
        arguments["idempotency_key"] = chance.choice(KEYS)
    return tool, arguments, chance.choice(AGENTS)


def a_read(seed: int, words: Words, known_at: str | None) -> Call:
    """The read that a number stands for, as of what a log knew."""
    chance = random.Random(seed)
    tool = chance.choice(READS)
    asked: dict[str, Any] = {
        "get_drawer": lambda: {"drawer_id": _drawer(chance, words)},
        "list_drawers": lambda: chance.choice([{}, {"include_historical": True}, _place(chance)]),
        "history": lambda: {"drawer_id": _drawer(chance, words)},
        "kg_query": lambda: {
            "entity": chance.choice(SUBJECTS + OBJECTS),
            "include_historical": chance.random() < 0.5,
        },
        "kg_timeline": lambda: chance.choice([{}, {"predicate": "city"}]),
        "fact_history": lambda: {"fact_id": chance.choice([*words.facts, "fact_none"])},
        "list_entities": lambda: _sometimes(chance, 0.3, wing=WINGS),
        "entity_relationships": lambda: {"entity": chance.choice(SUBJECTS + OBJECTS)},
        "entity_mentions": lambda: {"entity": chance.choice((*SUBJECTS, "Tea", "Ana"))},
        "kg_stats": dict,
        "find_tunnels": dict,
        "graph_stats": dict,
        "list_tags": dict,
        "list_conflicts": lambda: {"open": chance.random() < 0.5},
        "list_operations": lambda: chance.choice([{"limit": 200}, {"entity": "Kiran"}]),
        "show_operation": lambda: {"op_id": chance.choice([*words.operations, "none"])},
        "get_taxonomy": dict,
        "diary_read": lambda: {"agent_name": chance.choice(AGENTS)},
    }[tool]()
    moment = {} if known_at is None else {"known_at": known_at}
    return tool, asked | moment, chance.choice(AGENTS)


def _place(chance: random.Random) -> dict[str, Any]:
    return {"wing": chance.choice(WINGS), "room": chance.choice(ROOMS)}


def _drawer(chance: random.Random, words: Words) -> str:
    return chance.choice([*words.drawers, "drawer_home_notes_000000000000000000000000"])


def _fact(chance: random.Random) -> dict[str, Any]:
    about = {"subject": chance.choice(SUBJECTS), "predicate": chance.choice(PREDICATES)}
    return about | _sometimes(chance, 0.3, wing=WINGS)


def _sometimes(chance: random.Random, share: float, **choices: Any) -> dict[str, Any]:
    """Each argument with that probability, one of its values."""
    return {
        name: chance.choice(values) for name, values in choices.items() if chance.random() < share
    }


def _add_drawer(chance: random.Random, words: Words) -> dict[str, Any]:
    tags = ([], ["Tea"], ["tea", "日本"])
    more = _sometimes(chance, 0.4, valid_from=TIMES, valid_to=TIMES, tags=tags)
    source = _sometimes(chance, 0.2, source_file=("plan.md", "notes.md"))
    return _place(chance) | {"content": chance.choice(TEXTS)} | more | source


def _update_drawer(chance: random.Random, words: Words) -> dict[str, Any]:
    changes = _sometimes(chance, 0.6, content=TEXTS) | _sometimes(chance, 0.3, wing=WINGS)
    changes |= _sometimes(chance, 0.3, room=ROOMS, tags=([], ["cup"]))
    return {"drawer_id": _drawer(chance, words)} | changes


def _supersede_drawer(chance: random.Random, words: Words) -> dict[str, Any]:
    more = _sometimes(chance, 0.7, content=TEXTS) | _sometimes(chance, 0.4, valid_from=TIMES)
    return {"drawer_id": _drawer(chance, words)} | more


def _delete_drawer(chance: random.Random, words: Words) -> dict[str, Any]:
    reason = _sometimes(chance, 0.3, reason=("no longer so", "doppelt"))
    return {"drawer_id": _drawer(chance, words)} | reason


def _kg_add(chance: random.Random, words: Words) -> dict[str, Any]:
    more = _sometimes(chance, 0.5, valid_from=TIMES) | _sometimes(chance, 0.3, valid_to=TIMES)
    more |= _sometimes(chance, 0.2, confidence=(0.5, 1, 0.25), source_file=("plan.md",))
    if chance.random() < 0.2:
        more["source_drawer_id"] = _drawer(chance, words)
    return _fact(chance) | {"object": chance.choice(OBJECTS)} | more


def _kg_invalidate(chance: random.Random, words: Words) -> dict[str, Any]:
    return _fact(chance) | {"object": chance.choice(OBJECTS)} | _sometimes(chance, 0.5, ended=TIMES)


def _kg_supersede(chance: random.Random, words: Words) -> dict[str, Any]:
    old, new = chance.choice(OBJECTS), chance.choice(OBJECTS)
    return (
        _fact(chance) | {"old_object": old, "new_object": new} | _sometimes(chance, 0.5, at=TIMES)
    )


def _kg_declare_predicate(chance: random.Random, words: Words) -> dict[str, Any]:
    said = {"predicate": chance.choice(PREDICATES), "cardinality": chance.choice(["one", "many"])}
    return said | _sometimes(chance, 0.3, wing=WINGS)


def _checkpoint(chance: random.Random, words: Words) -> dict[str, Any]:
    items = [_place(chance) | {"content": chance.choice(TEXTS)} for _ in range(3)]
    return {"items": items} | _sometimes(chance, 0.3, drop_duplicates=(True,))


def _diary_write(chance: random.Random, words: Words) -> dict[str, Any]:
    return {"agent_name": chance.choice(AGENTS), "entry": chance.choice(TEXTS)}


def _undo(chance: random.Random, words: Words) -> dict[str, Any]:
    return {"op_id": chance.choice([*words.operations, "none"]), "dry_run": False}


def _create_tunnel(chance: random.Random, words: Words) -> dict[str, Any]:
    ends = {f"source_{name}": value for name, value in _place(chance).items()}
    ends |= {f"target_{name}": value for name, value in _place(chance).items()}
    return ends | _sometimes(chance, 0.3, label=("same talk", "same day"))


def _resolve_conflict(chance: random.Random, words: Words) -> dict[str, Any]:
    conflict = chance.choice([*words.conflicts, "conflict_none"])
    return {"conflict_id": conflict} | _sometimes(chance, 0.5, resolution=("both", "neither"))


_DRAWN = {
    "add_drawer": _add_drawer,
    "update_drawer": _update_drawer,
    "supersede_drawer": _supersede_drawer,
    "delete_drawer": _delete_drawer,
    "kg_add": _kg_add,
    "kg_invalidate": _kg_invalidate,
    "kg_supersede": _kg_supersede,
    "kg_declare_predicate": _kg_declare_predicate,
    "checkpoint": _checkpoint,
    "note": lambda chance, words: _place(chance) | {"content": chance.choice(TEXTS)},
    "diary_write": _diary_write,
    "delete_drawers": lambda chance, words: {
        "drawer_ids": [_drawer(chance, words), _drawer(chance, words)]
    },
    "delete_by_source": lambda chance, words: {"source_file": "plan.md", "dry_run": False},
    "create_wing": lambda chance, words: {"wing": chance.choice(WINGS)},
    "create_room": lambda chance, words: _place(chance),
    "delete_wing": lambda chance, words: {"wing": chance.choice(WINGS), "dry_run": False},
    "delete_room": lambda chance, words: _place(chance) | {"dry_run": False},
    "undo": _undo,
    "resolve_conflict": _resolve_conflict,
    "create_tunnel": _create_tunnel,
    "delete_tunnel": lambda chance, words: {
        "tunnel_id": chance.choice([*words.tunnels, "tunnel_none"])
    },
    "add_alias": lambda chance, words: (
        {
            "entity": chance.choice(SUBJECTS),
            "alias": chance.choice((*SUBJECTS, *OBJECTS, "K")),
        }
        | _sometimes(chance, 0.3, wing=WINGS)
    ),
    "link_drawer": lambda chance, words: {
        "drawer_id": _drawer(chance, words),
        "entity": chance.choice(SUBJECTS),
    },
}
