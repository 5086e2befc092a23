"""The demo: two devices, two primaries, one afternoon without a network.

Protects the promises of the README by keeping them before the reader's eyes: every palace is a real
one, every number is read back from it, and every claim is checked. Uses what anyone may use:
`bootstrap`, `Palace.call` and the functions of `replay`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from domain.operation import Context
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.telling import Story
from projections.digests import digests
from projections.outbox import pending
from replay.outbox import acknowledge, export_outbox, write_receipt
from replay.rebuild import rebuild
from replay.receive import Replayed, replay_file
from replay.verify import Report, verify

if TYPE_CHECKING:
    from rich.console import Console

AREAS: Final = ("drawers", "facts", "predicates", "operations")
DIGITS: Final = 16
_AGENTS: Final = {"laptop": "scribe", "desktop": "planner"}
_ENTITY: Final = "atlas"


class Scene:
    """The palaces of the story, in one folder."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        """Make and open them."""
        self.folder = folder
        self.houses: dict[str, House] = {}
        for name, role in (
            ("laptop", "edge"),
            ("desktop", "edge"),
            ("north", "primary"),
            ("south", "primary"),
        ):
            create_palace(folder / name, name)
            self.houses[name] = stack.enter_context(open_palace(folder / name, role=role))

    def call(self, where: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation on a device, as the agent that works there."""
        who = Context(agent=_AGENTS.get(where), client="demo", session="afternoon")
        return self.houses[where].palace.call(tool, arguments, who)

    def export(self, device: str) -> Path:
        """The outbox of a device as a file."""
        house, path = self.houses[device], self.folder / f"{device}.ndjson"
        with house.palace.reading() as reading:
            export_outbox(house.log, reading, path)
        return path

    def replay(self, where: str, *files: Path) -> list[Replayed]:
        """Replay files into a palace."""
        writer = self.houses[where].palace.writer
        return [replay_file(path, writer) for path in files]

    def digests(self, where: str) -> dict[str, Any]:
        """The digests of a palace's views."""
        with self.houses[where].palace.reading() as reading:
            return digests(reading.cursor)

    def states(self, where: str) -> list[str]:
        """What any two palaces with the same shared events have in common."""
        found = self.digests(where)
        return [found[area]["state"] for area in AREAS]

    def waiting(self, device: str) -> int:
        """How many operations of a device nobody has acknowledged."""
        with self.houses[device].palace.reading() as reading:
            return len(pending(reading.cursor, device, 1_000))

    def cache(self, where: str, **moment: str) -> str:
        """What the project's cache is, according to a palace at a moment."""
        asked = {"entity": _ENTITY, "predicate": "cache", **moment}
        facts = self.call(where, "kg_query", **asked)["facts"]
        return ", ".join(fact["object"] for fact in facts) or "unknown"


def tell(console: Console, *, keep: bool = False) -> Story:
    """Tell the story; returns it with its claims.

    Args:
        keep: leave the palaces where they are, and say where that is.
    """
    story = Story(console)
    with _folder(story, keep=keep) as folder, ExitStack() as stack:
        scene = Scene(folder, stack)
        note = _both_write(scene, story)
        _both_change(scene, story, note)
        arrived = _both_arrive(scene, story, note)
        _receipt_returns(scene, story, arrived)
        _replayed_again(scene, story)
        _questions_of_time(scene, story, arrived)
        _both_sides(scene, story)
        _views_again(scene, story)
        _flipped_bit(scene, story)
    return story


@contextmanager
def _folder(story: Story, *, keep: bool) -> Iterator[Path]:
    folder = Path(mkdtemp(prefix="palacelog-demo-"))
    try:
        yield folder
    finally:
        if keep:
            story.say(f"\nThe palaces are in {folder}.")
        else:
            shutil.rmtree(folder)


def _both_write(scene: Scene, story: Story) -> str:
    story.chapter("A laptop and a desktop write, each into a log of its own")
    note = scene.call(
        "laptop", "add_drawer", wing="atlas", room="decisions", content="The cache is one file."
    )
    fact = {"subject": _ENTITY, "predicate": "cache", "object": "SQLite"}
    scene.call("laptop", "kg_add", **fact, valid_from="2025-01-06")
    scene.call("laptop", "kg_declare_predicate", predicate="cache", cardinality="one")
    scene.replay("desktop", scene.export("laptop"))
    scene.call(
        "desktop", "add_drawer", wing="atlas", room="plans", content="Ship version 1 in June."
    )
    scene.replay("laptop", scene.export("desktop"))
    _operations(scene, story, "laptop")
    story.claim(
        "after exchanging their outboxes both show the same",
        scene.states("laptop") == scene.states("desktop"),
    )
    return str(note["drawer_id"])


def _both_change(scene: Scene, story: Story, note: str) -> None:
    story.chapter("The laptop goes offline, and both change the same things")
    change = {"subject": _ENTITY, "predicate": "cache", "old_object": "SQLite"}
    scene.call("laptop", "kg_supersede", **change, new_object="DuckDB", at="2025-03-03")
    scene.call("desktop", "kg_supersede", **change, new_object="Redis", at="2025-04-07")
    scene.call("desktop", "delete_drawer", drawer_id=note, reason="outdated")
    scene.call("laptop", "update_drawer", drawer_id=note, content="The cache is one file, in WAL.")
    rows = [(where, scene.cache(where), _note(scene, where, note)) for where in _AGENTS]
    story.table(["device", "cache of atlas", "the note"], rows)
    story.claim("they disagree for now", rows[0][1:] != rows[1][1:])
    story.claim("both outboxes wait", all(scene.waiting(device) for device in _AGENTS))


def _both_arrive(scene: Scene, story: Story, note: str) -> Replayed:
    story.chapter("Both outboxes reach two primaries, in opposite order")
    laptop, desktop = scene.export("laptop"), scene.export("desktop")
    told = {
        "north": scene.replay("north", laptop, desktop),
        "south": scene.replay("south", desktop, laptop),
    }
    story.table(
        ["primary", "file", "appended", "duplicates", "cache", "the note"],
        [
            (where, one.path.name, one.appended, one.duplicates, scene.cache(where),
             _note(scene, where, note))
            for where, files in told.items() for one in files
        ],
    )  # fmt: skip
    north, south = scene.states("north"), scene.states("south")
    story.table(
        ["state digest of", "north", "south"],
        [(area, north[n][:DIGITS], south[n][:DIGITS]) for n, area in enumerate(AREAS)],
    )
    orders = [[one["op_id"] for one in _listed(scene, where)] for where in ("north", "south")]
    story.claim("the events stand in another order in each log", orders[0] != orders[1])
    story.claim("both primaries show the same, digest by digest", north == south)
    story.claim(
        "the edit did not bring the deleted note back", _note(scene, "north", note) == "hidden"
    )
    return told["north"][0]


def _receipt_returns(scene: Scene, story: Story, arrived: Replayed) -> None:
    story.chapter("A receipt goes back, and the laptop's outbox is empty")
    before = scene.waiting("laptop")
    path = scene.folder / "receipt.json"
    north, laptop = scene.houses["north"], scene.houses["laptop"]
    with north.palace.reading() as reading:
        write_receipt(north.log, reading, [arrived], path)
    acknowledge(laptop.log, laptop.palace.writer, path)
    after = scene.waiting("laptop")
    story.say(f"{before} operations waited; after the receipt {after} do.")
    story.claim("nothing waits on the laptop", before > 0 == after)


def _replayed_again(scene: Scene, story: Story) -> None:
    story.chapter("The same files once more, and nothing changes")
    north = scene.houses["north"]
    before = north.log.head(), scene.digests("north")
    files = [scene.folder / "laptop.ndjson", scene.folder / "desktop.ndjson"]
    told = scene.replay("north", *files)
    story.table(
        ["file", "appended", "duplicates"],
        [(one.path.name, one.appended, one.duplicates) for one in told],
    )
    story.claim("all of them were duplicates", sum(one.appended for one in told) == 0)
    story.claim(
        "head and digests are what they were", before == (north.log.head(), scene.digests("north"))
    )


def _questions_of_time(scene: Scene, story: Story, arrived: Replayed) -> None:
    story.chapter("What was true, and what was known")
    known = f"@{arrived.appended}"
    moments: list[tuple[str, dict[str, str]]] = [
        ("now", {}),
        ("as_of 2025-02-01", {"as_of": "2025-02-01"}),
        ("as_of 2025-03-15", {"as_of": "2025-03-15"}),
        (f"known_at {known}, before the desktop's file came", {"known_at": known}),
    ]
    answers = [scene.cache("north", **moment) for _, moment in moments]
    rows = [(asked, answer) for (asked, _), answer in zip(moments, answers, strict=True)]
    story.table(["asked of north", "cache"], rows)
    story.claim("as_of looks back in the world", answers[:3] == ["Redis", "SQLite", "DuckDB"])
    story.claim("known_at looks back in the log", answers[3] == "DuckDB")


def _both_sides(scene: Scene, story: Story) -> None:
    story.chapter("Nothing was lost: conflicts keep both sides, and the log knows who")
    conflicts = scene.call("north", "list_conflicts")["conflicts"]
    sides = [(one["left"], one["right"]) for one in conflicts]
    story.table(
        ["conflict", "one side", "the other side"],
        [
            (one["kind"], _side(left), _side(right))
            for one, (left, right) in zip(conflicts, sides, strict=True)
        ],
    )
    kinds = sorted(one["kind"] for one in conflicts)
    story.claim("both conflicts are listed", kinds == ["superseded_twice", "target_hidden"])
    story.claim("each names both sides", all(left and right for left, right in sides))
    [right] = [one["right"] for one in conflicts if one["kind"] == "superseded_twice"]
    shown = scene.call("north", "show_operation", op_id=right["op_id"])["operation"]
    payload = shown["payload"]
    story.grid(
        {
            "position": shown["position"],
            "tool": shown["tool"],
            "who": f"{shown['agent']} on {shown['device']}, session {shown['session']}",
            "recorded": shown["recorded_at"],
            "what": f"{payload['subject']} {payload['predicate']}: "
            f"{payload['old_object']} -> {payload['new_object']}",
            "effects": ", ".join(
                sorted(f"{one['kind']} {one['change']}" for one in shown["effects"])
            ),
        }
    )
    story.claim(
        "the log says who did it", (shown["agent"], shown["device"]) == ("planner", "desktop")
    )


def _views_again(scene: Scene, story: Story) -> None:
    story.chapter("Every view is thrown away and made again from the log")
    north = scene.houses["north"]
    before = scene.digests("north")
    position = rebuild(north.log, north.generations, north.lock)
    after = scene.digests("north")
    story.table(
        ["full digest of", "before", "after"],
        [(area, before[area]["full"][:DIGITS], after[area]["full"][:DIGITS]) for area in AREAS],
    )
    story.claim(f"views of all {position} events equal those that grew with them", before == after)


def _flipped_bit(scene: Scene, story: Story) -> None:
    story.chapter("One bit is flipped in a copy of the log")
    scene.houses["north"].close()
    copy = scene.folder / "copy"
    shutil.copytree(scene.folder / "north", copy)
    sound = _verified(copy)
    _flip(copy / "log.db", b"Ship version 1")
    damaged = _verified(copy)
    story.table(
        ["log", "events", "finding", "position"],
        [("as it was", sound.events, "sound", None)]
        + [("with one bit flipped", damaged.events, one.message, one.position)
           for one in damaged.findings],
    )  # fmt: skip
    story.claim("the log as it was is sound", not sound.findings)
    story.claim("verify names the event", damaged.first_bad is not None)


def _verified(folder: Path) -> Report:
    return verify(folder / "log.db", folder / "views")


def _flip(path: Path, text: bytes) -> None:
    """Flip the lowest bit of the first byte of a text in a file."""
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


def _note(scene: Scene, where: str, drawer_id: str) -> str:
    drawer = scene.call(where, "get_drawer", drawer_id=drawer_id)["drawer"]
    return str(drawer["content"] or drawer["state"])


def _listed(scene: Scene, where: str) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = scene.call(where, "list_operations")["operations"]
    return operations[::-1]


def _operations(scene: Scene, story: Story, where: str) -> None:
    rows = [
        (one["position"], one["device"], one["agent"], one["tool"]) for one in _listed(scene, where)
    ]
    story.table([f"position in the {where}'s log", "device", "agent", "tool"], rows)


def _side(side: dict[str, Any] | None) -> str:
    return "missing" if side is None else f"{side['tool']} by {side['agent']} on {side['device']}"
