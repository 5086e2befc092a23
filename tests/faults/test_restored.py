"""A log that was restored or copied goes on beside the one that it came from, and nothing forks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.acceptance import Forked
from palacelog.bootstrap import House, create_palace, open_palace, restore_palace
from palacelog.system import System
from replay.backup import backup
from replay.fork import Moved, leave_fork
from replay.outbox import acknowledge, export_outbox, write_receipt
from replay.receive import Replayed, incomplete, replay_file
from tests.faults.damage import copied
from tests.faults.failing import failing
from tests.faults.judging import error_of, findings, refused, sound
from tests.faults.processes import Child, Report
from tests.faults.work import note, write
from tests.palaces import digest_of, fingerprint, operations, state_of

BEFORE, AFTER = 5, 3


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[House]:
    create_palace(tmp_path / "primary", "primary")
    with open_palace(tmp_path / "primary") as primary:
        yield primary


@pytest.fixture
def folder(tmp_path: Path, primary: House) -> Path:
    """A palace that wrote on after a backup, and sent all of it to a primary."""
    create_palace(tmp_path / "ada", "ada")
    with open_palace(tmp_path / "ada") as ada:
        write(ada, "before", BEFORE)
        backup(ada.log, tmp_path / "backup")
        write(ada, "after", AFTER)
        assert sent(ada, primary).appended == BEFORE + AFTER
    return tmp_path / "ada"


def sent(source: House, target: House, device: str | None = None) -> Replayed:
    """Replay a whole shared stream into another palace."""
    path = source.folder.path.parent / "outbox.ndjson"
    with source.palace.reading() as reading:
        export_outbox(source.log, reading, path, device, 1)
    return replay_file(path, target.palace.writer)


def test_what_a_restored_device_writes_is_taken_by_who_knows_what_it_lost(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    restored = restore_palace(tmp_path / "backup", folder, replace=True)
    assert restored.device == "ada~2"
    with open_palace(folder) as ada:
        last = operations(ada)[-1].recorded
        write(ada, "since", 2)
        first, second = [one.header for one in operations(ada)[BEFORE:]]
        assert (first.origin_device, first.local_seq) == ("ada~2", 1)
        assert first.parent == {"device": "ada", "local_seq": BEFORE, "chain": last.chain.hex()}
        assert second.parent is None
        replayed = sent(ada, primary)
        assert (replayed.device, replayed.appended, replayed.stopped) == ("ada~2", 2, None)
        assert sent(ada, primary, "ada").duplicates == BEFORE

        back = sent(primary, ada, "ada")
        assert (back.duplicates, back.appended, back.stopped) == (BEFORE, AFTER, None)
        assert state_of(ada) == state_of(primary)
    assert len(sound(folder)) == BEFORE + AFTER + 2


def test_restoring_again_never_takes_an_incarnation_that_was_used_here(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    for number in (2, 3, 4):
        assert restore_palace(tmp_path / "backup", folder, replace=True).device == f"ada~{number}"
        with open_palace(folder) as ada:
            note(ada, f"life {number}")
            assert sent(ada, primary).appended == 1


def test_an_incarnation_that_never_wrote_hands_on_its_parent(folder: Path, tmp_path: Path) -> None:
    restore_palace(tmp_path / "backup", folder, replace=True)
    with open_palace(folder) as ada:
        backup(ada.log, tmp_path / "unused")
    assert restore_palace(tmp_path / "unused", folder, replace=True).device == "ada~3"
    with open_palace(folder) as ada:
        note(ada, "since")
        parent = operations(ada)[-1].header.parent
    assert parent is not None
    assert (parent["device"], parent["local_seq"]) == ("ada", BEFORE)


@pytest.fixture
def copy(folder: Path, tmp_path: Path, primary: House) -> Path:
    """A copy of the palace, both of which wrote on; the primary took what the other one wrote."""
    path = copied(folder, tmp_path / "copy" / "ada")
    with open_palace(folder) as ada:
        for text in ("here", "and here"):
            note(ada, text)
        sent(ada, primary)
    with open_palace(path) as ada:
        gone = note(ada, "comes again")["drawer_id"]
        ada.palace.call("delete_drawer", {"drawer_id": gone})
        assert note(ada, "comes again")["drawer_id"] == gone
        write(ada, "there", 10)
    return path


WRITTEN, MOVED = BEFORE + AFTER, 13


def fork_left(folder: Path, after: int, stream: str = "ada") -> Moved:
    with open_palace(folder) as house:
        return left(house, after, stream)


def left(house: House, after: int, stream: str = "ada") -> Moved:
    return leave_fork(
        house.log,
        house.generations,
        house.lock,
        stream=stream,
        after=after,
        log_id=System().log_id(),
        progress=lambda *_: None,
    )


def test_what_a_copy_wrote_moves_to_its_next_incarnation_and_all_agree(
    folder: Path, copy: Path, primary: House
) -> None:
    with open_palace(copy) as there:
        stopped = sent(there, primary)
        assert stopped.stopped == (WRITTEN + 1, Forked(WRITTEN))
        error = incomplete([stopped])
        assert error is not None
        assert f"outbox fork --device ada --after {WRITTEN}`" in error.help
        assert sent(primary, there, "ada").stopped == (WRITTEN + 1, Forked(WRITTEN))
        old = operations(there)

    moved = fork_left(copy, WRITTEN)
    assert (moved.device, moved.events) == ("ada~2", MOVED)
    with open_palace(copy) as there, open_palace(folder) as here:
        new = operations(there)
        assert new[:WRITTEN] == old[:WRITTEN]
        kept = [one.header for one in new[WRITTEN:]]
        assert [one.root_op_id for one in kept] == [one.header.op_id for one in old[WRITTEN:]]
        assert [one.hlc for one in kept] == [one.header.hlc for one in old[WRITTEN:]]
        chain = old[WRITTEN - 1].recorded.chain.hex()
        assert kept[0].parent == {"device": "ada", "local_seq": WRITTEN, "chain": chain}

        note(there, "goes on")
        replayed = sent(there, primary)
        assert (replayed.device, replayed.appended, replayed.stopped) == ("ada~2", MOVED + 1, None)
        assert sent(primary, there, "ada").appended == 2
        assert sent(primary, here, "ada~2").appended == MOVED + 1
        assert state_of(there) == state_of(primary) == state_of(here)
        texts = there.palace.call("list_drawers", {"room": "notes", "wing": "home"})
        assert texts["total"] == 4
    for palace in (copy, folder):
        sound(palace)


def test_a_fork_is_left_by_whole_or_not_at_all_and_the_log_before_it_is_kept(
    copy: Path, tmp_path: Path
) -> None:
    before = fingerprint_of(copy)
    with Child(leave_and_die, copy, WRITTEN) as child:
        assert child.dies() == ([], "fork.recorded")
    assert len(sound(copy, brings=["views::other_log"])) == WRITTEN + MOVED
    restore_palace(copy / "set-aside" / "001", tmp_path / "again")
    with open_palace(tmp_path / "again") as again:
        assert digest_of(again) | {"log_id": None} == before

    path = copied(copy, tmp_path / "failing" / "ada")
    with open_palace(path) as house:
        note(house, "since")
    kinds = set()
    for number in range(1, 160, 4):
        palace = copied(path, tmp_path / "attempt")
        with failing() as fault, open_palace(palace) as house:
            fault.arm(number)
            error = error_of(lambda at=house: left(at, MOVED, "ada~2"))
            fault.mend()
            device = house.log.about.device
        kinds.add((device, error is None))
        with open_palace(palace) as house:
            assert len(operations(house)) == WRITTEN + MOVED + 2
        assert findings(palace) == []
    assert kinds == {("ada~2", False), ("ada~3", False), ("ada~3", True)}


def leave_and_die(report: Report, folder: Path, after: int) -> None:
    report.die_at("fork.recorded")
    fork_left(folder, after)


def fingerprint_of(folder: Path) -> dict[str, object]:
    with open_palace(folder) as house:
        return digest_of(house) | {"log_id": None}


def test_who_had_the_copy_open_does_not_go_on_as_who_it_was(copy: Path) -> None:
    with open_palace(copy) as early:
        note(early, "before")
        fork_left(copy, WRITTEN)
        with refused("log::replaced"):
            note(early, "after")
    assert len(sound(copy)) == WRITTEN + MOVED + 1


@pytest.mark.parametrize(
    ("stream", "after", "code"),
    [
        ("ada", WRITTEN + MOVED, "outbox::not_forked"),
        ("ada", WRITTEN + MOVED + 1, "outbox::no_such_part"),
        ("ada", -1, "outbox::no_such_part"),
        ("bob", 0, "outbox::no_such_part"),
        ("ada", WRITTEN - 1, "outbox::acknowledged"),
    ],
)
def test_what_did_not_fork_there_is_not_moved(
    copy: Path, primary: House, tmp_path: Path, stream: str, after: int, code: str
) -> None:
    with open_palace(copy) as ada:
        stopped = sent(ada, primary)
        with primary.palace.reading() as reading:
            write_receipt(primary.log, reading, [stopped], tmp_path / "receipt")
        acknowledge(ada.log, ada.palace.writer, tmp_path / "receipt")
        before = fingerprint(ada)
        with refused(code):
            left(ada, after, stream)
        assert fingerprint(ada) == before
    assert not (copy / "set-aside").exists()


def test_a_file_that_begins_behind_a_fork_says_how_to_find_it(
    copy: Path, tmp_path: Path, primary: House
) -> None:
    with open_palace(copy) as ada, ada.palace.reading() as reading:
        export_outbox(ada.log, reading, tmp_path / "part", "ada", WRITTEN + 2)
    stopped = replay_file(tmp_path / "part", primary.palace.writer)
    error = incomplete([stopped])
    assert error is not None
    assert error.code == "palacelog::replay::forked"
    assert "--from 1" in error.help


def test_what_was_moved_is_found_by_what_it_was_first_and_says_so(copy: Path) -> None:
    with open_palace(copy) as there:
        old = [one.header.op_id for one in operations(there)]
    fork_left(copy, WRITTEN)
    with open_palace(copy) as there:
        new = [one.header.op_id for one in operations(there)]
        for number in (0, WRITTEN - 1, WRITTEN, WRITTEN + MOVED - 1):
            by_old, by_new = (shown(there, ids[number]) for ids in (old, new))
            assert by_old == by_new
            moved = number >= WRITTEN
            assert by_new["op_id"] == new[number]
            assert by_new["root_op_id"] == (old[number] if moved else None)
            assert by_new["device"] == ("ada~2" if moved else "ada")
        with refused("operations::unknown"):
            there.palace.call("show_operation", {"op_id": old[-1], "known_at": f"@{WRITTEN}"})
    fork_left(copy, 0, "ada~2")
    with open_palace(copy) as there:
        again = shown(there, old[-1])
        assert (again["device"], again["root_op_id"]) == ("ada~3", old[-1])


def shown(house: House, op_id: str) -> dict[str, Any]:
    answer = house.palace.call("show_operation", {"op_id": op_id})
    operation: dict[str, Any] = answer["operation"]
    return operation


def test_what_names_a_moved_operation_names_it_anew(copy: Path, primary: House) -> None:
    city = {"subject": "Kiran", "predicate": "city", "wing": "den"}
    with open_palace(copy) as there:
        call = there.palace.call
        call("create_wing", {"wing": "den", "policy": "local"})
        for object in ("Lyon", "Nice"):
            call("kg_add", city | {"object": object})
        call("publish_wing", {"wing": "den"})
        call("kg_invalidate", city | {"object": "Nice"})
        gone = note(there, "taken back")["op_id"]
        call("undo", {"op_id": gone, "dry_run": False})
        kept = note(there, "named in what was given")["op_id"]
        place = {"wing": "home", "room": "notes"}
        call("add_drawer", place | {"content": kept, "metadata": {"op_id": kept}})
        before = told(there)
    fork_left(copy, WRITTEN)
    with open_palace(copy) as there:
        assert told(there) == before
        ended = [one for one in operations(there) if one.header.tool == "kg_invalidate"]
        facts = there.palace.call("kg_query", {"entity": "Kiran", "include_historical": True})
        assert ended[-1].payload()["fact_ids"][0] in [one["fact_id"] for one in facts["facts"]]
        [given] = [one for one in operations(there) if one.payload().get("content") == kept]
        assert given.payload()["metadata"] == {"op_id": kept}
        assert sent(there, primary).stopped is None
        assert sent(primary, there, "ada").stopped is None
        assert state_of(there) == state_of(primary)
    sound(copy)


def test_a_conflict_that_was_resolved_before_a_fork_was_left_stays_resolved(
    copy: Path, tmp_path: Path, primary: House
) -> None:
    city = {"subject": "Kiran", "predicate": "city", "valid_from": "2026-01-01"}
    boss = {"subject": "Kiran", "predicate": "boss"}
    create_palace(tmp_path / "bob", "bob")
    with open_palace(copy) as there, open_palace(tmp_path / "bob") as bob:
        call = there.palace.call
        call("kg_declare_predicate", {"predicate": "city", "cardinality": "one"})
        call("kg_add", city | {"object": "Lyon"})
        bob.palace.call("kg_add", city | {"object": "Nice"})
        sent(there, bob)
        sent(bob, there)
        call("kg_add", boss | {"object": "Mara"})
        sent(there, bob)
        for house, object in ((there, "Ann"), (bob, "Cid")):
            asked = {"old_object": "Mara", "new_object": object}
            house.palace.call("kg_supersede", boss | asked)
        sent(bob, there)
        found = call("list_conflicts", {})["conflicts"]
        assert {one["kind"] for one in found} == {"single_value", "superseded_twice"}
        for one in found:
            call("resolve_conflict", {"conflict_id": one["id"], "resolution": one["kind"]})
        again = call("resolve_conflict", {"conflict_id": found[0]["id"], "resolution": "no"})
        call("undo", {"op_id": again["op_id"], "dry_run": False})
        before = settled(there)
        assert [said for _, said in before] == [kind for kind, _ in before]
    fork_left(copy, WRITTEN)
    with open_palace(copy) as there:
        assert settled(there) == before
        assert there.palace.call("list_conflicts", {})["conflicts"] == []
        assert sent(there, primary).stopped is None
        assert sent(primary, there, "ada").stopped is None
        with open_palace(tmp_path / "bob") as bob:
            sent(bob, primary)
        assert state_of(there) == state_of(primary)
        assert settled(primary) == before
    sound(copy)


def settled(house: House) -> list[tuple[str, str | None]]:
    """The kind of each conflict, and what was said of it."""
    found = house.palace.call("list_conflicts", {"open": False})["conflicts"]
    return sorted((one["kind"], one["resolved"] and one["resolved"]["resolution"]) for one in found)


def told(house: House) -> tuple[Any, ...]:
    texts = house.palace.call("list_drawers", {"limit": 200})["drawers"]
    facts = house.palace.call("kg_query", {"entity": "Kiran", "include_historical": True})["facts"]
    return (
        sorted(one["preview"] for one in texts),
        sorted((one["object"], one["valid_to"]) for one in facts),
    )


def test_two_palaces_restored_from_one_backup_both_reach_a_third(
    folder: Path, tmp_path: Path, primary: House
) -> None:
    """Neither knows of the other: who comes second is told, leaves the fork, and loses nothing."""
    twins = [tmp_path / name / "ada" for name in ("east", "west")]
    for path in twins:
        assert restore_palace(tmp_path / "backup", path).device == "ada~2"
        with open_palace(path) as twin:
            write(twin, f"since {path.parent.name}", 3)
            note(twin, "said by both")
    east, west = twins
    with open_palace(east) as one:
        assert sent(one, primary).stopped is None
        assert sent(one, primary).duplicates == 4
    before = fingerprint(primary)
    with open_palace(west) as other:
        stopped = sent(other, primary)
        assert stopped.stopped == (1, Forked(0))
        assert fingerprint(primary) == before
        error = incomplete([stopped])
        assert error is not None
        assert "outbox fork --device ada~2 --after 0`" in error.help
        texts = told(other)
    assert fork_left(west, 0, "ada~2").device == "ada~3"
    with open_palace(west) as other, open_palace(east) as one:
        assert told(other) == texts
        replayed = sent(other, primary)
        assert (replayed.device, replayed.appended, replayed.stopped) == ("ada~3", 4, None)
        for twin in (one, other):
            write(twin, f"later {twin.log.about.device}", 2)
            assert sent(twin, primary).stopped is None
        for twin in (one, other):
            for device in ("ada", "ada~2", "ada~3"):
                assert sent(primary, twin, device).stopped is None
        assert state_of(one) == state_of(other) == state_of(primary)
        assert set(told(one)[0]) >= set(texts[0])
    for path in twins:
        sound(path)
