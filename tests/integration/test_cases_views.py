"""Views that do not belong to their log, or know more than it: case L25."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from domain.catalog import CATALOG
from domain.errors import Damaged, PalaceError, Unusable
from palacelog.bootstrap import open_palace
from projections.generations import Generations
from projections.sqlite import connect
from replay.log import Log
from replay.rebuild import rebuild
from replay.write_lock import WriteLock
from tests.palaces import Device, Fleet, digest_of, fingerprint, operations, rebuilt_equals_live

PLACE = {"wing": "home", "room": "notes"}
LYON = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}


def views_of(device: Device) -> dict[str, tuple[int, int]]:
    """The files of the views folder that a rebuild would change."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_size)
        for path in (device.folder / "views").iterdir()
        if not path.name.endswith(("-wal", "-shm"))
    }


def put_back(kept: Path, log: Path) -> None:
    for stray in log.parent.glob(f"{log.name}-*"):
        stray.unlink()
    shutil.copyfile(kept, log)


@pytest.fixture
def truncated(fleet: Fleet, tmp_path: Path) -> Device:
    """A palace of five events whose log file was put back to an older state with three."""
    ada = fleet.device("ada")
    for number in range(3):
        ada.add_drawer(**PLACE, content=f"text {number}")
    ada.close()
    shutil.copyfile(ada.folder / "log.db", tmp_path / "kept.db")
    ada.reopen()
    ada.add_drawer(**PLACE, content="lost")
    ada.kg_add(**LYON)
    ada.close()
    put_back(tmp_path / "kept.db", ada.folder / "log.db")
    ada.reopen()
    return ada


def test_views_of_another_log_are_rebuilt_when_the_palace_is_opened(fleet: Fleet) -> None:
    """L25"""
    ada, bob = fleet.devices("ada", "bob")
    ada.add_drawer(**PLACE, content="tea")
    bob.add_drawer(**PLACE, content="coffee")
    before = digest_of(ada.house)
    for device in (ada, bob):
        device.close()
    shutil.rmtree(ada.folder / "views")
    shutil.copytree(bob.folder / "views", ada.folder / "views")

    told: list[tuple[int, int]] = []
    with open_palace(ada.folder, progress=lambda *done: told.append(done)) as house:
        assert digest_of(house) == before
    assert told[-1] == (1, 1)
    ada.reopen()
    assert ada.contents() == ["tea"]
    assert ada.add_drawer(**PLACE, content="more")["position"] == 2


def spoil_pointer(views: Path) -> None:
    (views / "current").write_text("views-000009.db\n")


def spoil_schema(views: Path) -> None:
    connection = connect(views / (views / "current").read_text().strip(), synchronous="FULL")
    connection.execute("UPDATE about SET value = '0' WHERE name = 'views_schema'")
    connection.close()


def spoil_everything(views: Path) -> None:
    shutil.rmtree(views)


@pytest.mark.parametrize("spoil", [spoil_pointer, spoil_schema, spoil_everything])
def test_views_that_are_missing_or_of_another_schema_are_rebuilt(
    fleet: Fleet, spoil: Callable[[Path], None]
) -> None:
    ada = fleet.device("ada")
    ada.add_drawer(**PLACE, content="tea")
    before = digest_of(ada.house)
    ada.close()
    spoil(ada.folder / "views")
    ada.reopen()
    assert digest_of(ada.house) == before


def test_views_that_are_no_database_are_rebuilt_or_named(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    ada.add_drawer(**PLACE, content="tea")
    ada.close()
    [views] = (ada.folder / "views").glob("*.db")
    views.write_bytes(b"not a database, whatever its name says" * 1000)
    with pytest.raises(Damaged) as caught:
        ada.reopen()
    assert caught.value.code == "palacelog::storage::damaged"


def test_a_log_that_is_no_database_is_named(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    ada.close()
    (ada.folder / "log.db").write_bytes(b"not a database, whatever its name says" * 1000)
    with pytest.raises(Damaged) as caught:
        ada.reopen()
    assert caught.value.code == "palacelog::log::unreadable"


def test_a_lost_tail_is_named_and_nothing_is_written_or_rebuilt(truncated: Device) -> None:
    """L25"""
    before = views_of(truncated)
    with pytest.raises(Unusable) as caught:
        truncated.add_drawer(**PLACE, content="more")
    assert caught.value.code == "palacelog::log::truncated"
    assert "positions 4 to 5" in caught.value.message
    assert caught.value.position == 4
    assert truncated.status()["projections"] == [
        {"name": "views", "checkpoint": 5, "lag": 0, "state": "truncated"}
    ]
    for _ in range(2):
        truncated.reopen()
        with pytest.raises(Unusable, match="is lost"):
            truncated.kg_add(**LYON)
    assert views_of(truncated) == before
    assert truncated.position() == 3
    truncated.close()


def test_reads_go_on_over_a_lost_tail(truncated: Device) -> None:
    """L25"""
    assert truncated.contents() == ["lost", "text 2", "text 1", "text 0"]
    assert truncated.objects() == ["Lyon"]
    lost, *_ = truncated.list_drawers()["drawers"]
    assert truncated.get_drawer(drawer_id=lost["id"])["drawer"]["content"] == "lost"
    assert truncated.list_operations()["total"] == 5
    assert truncated.show_operation(position=3)["operation"]["tool"] == "add_drawer"
    [fact] = truncated.kg_query(entity="Kiran")["facts"]
    needs_the_log = [
        lambda: truncated.show_operation(position=5),
        lambda: truncated.history(drawer_id=lost["id"]),
        lambda: truncated.fact_history(fact_id=fact["fact_id"]),
    ]
    for read in needs_the_log:
        with pytest.raises(PalaceError) as caught:
            read()
        assert caught.value.code == "palacelog::log::truncated"
    truncated.close()


def test_a_log_with_another_event_at_the_checkpoint_is_named(fleet: Fleet, tmp_path: Path) -> None:
    ada = fleet.device("ada")
    ada.add_drawer(**PLACE, content="tea")
    ada.close()
    shutil.copytree(ada.folder, tmp_path / "copy")
    for folder, text in ((ada.folder, "one"), (tmp_path / "copy", "two")):
        with open_palace(folder) as house:
            house.palace.call("add_drawer", PLACE | {"content": text})
    put_back(tmp_path / "copy" / "log.db", ada.folder / "log.db")
    ada.reopen()
    with pytest.raises(Damaged) as caught:
        ada.add_drawer(**PLACE, content="more")
    assert (caught.value.code, caught.value.position) == ("palacelog::log::witness", 2)
    assert sorted(ada.contents()) == ["one", "tea"]
    ada.close()


def test_a_rebuild_changes_no_answer_while_others_read_and_write(ada: Device) -> None:
    """L22, without the kills"""
    for number in range(5):
        ada.add_drawer(**PLACE, content=f"text {number}")
    before = ada.list_drawers(known_at="@5")
    for number in range(5, 8):
        rebuilt_equals_live(ada.house)
        ada.add_drawer(**PLACE, content=f"text {number}")
        assert ada.list_drawers()["total"] == number + 1
        assert ada.list_drawers(known_at="@5") == before
    assert len([name for name in views_of(ada) if name.endswith(".db")]) == 1


def test_a_closed_palace_refuses_in_words(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    ada.add_drawer(**PLACE, content="tea")
    house = ada.house
    ada.close()
    ada.close()
    for tool in CATALOG:
        arguments = {
            "add_drawer": PLACE | {"content": "x"},
            "list_drawers": {},
            "status": {},
        }.get(tool)
        if arguments is not None:
            with pytest.raises(PalaceError) as caught:
                house.palace.call(tool, arguments)
            assert caught.value.code == "palacelog::palace::closed"
    house.close()


def test_two_openings_of_one_palace_see_each_other(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    with open_palace(ada.folder) as other:
        for number in range(4):
            caller = (ada.house, other)[number % 2].palace
            answer = caller.call("add_drawer", PLACE | {"content": f"text {number}"})
            assert answer["position"] == answer["local_seq"] == number + 1
        assert fingerprint(other) == fingerprint(ada.house)
        rebuilt_equals_live(other)
        assert ada.list_drawers()["total"] == 4
    assert [one.position for one in operations(ada.house)] == [1, 2, 3, 4]


def test_a_reader_that_looked_up_views_which_a_rebuild_then_removed_finds_the_new_ones(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = fleet.device("ada")
    ada.add_drawer(**PLACE, content="tea")
    ada.close()
    looked_up = Generations.current
    rebuilds: list[int] = []

    def slowly(generations: Generations) -> Path:
        """Between the answer and its use, another process rebuilds."""
        found = looked_up(generations)
        if len(rebuilds) < 3:
            rebuilds.append(1)
            monkeypatch.setattr(Generations, "current", looked_up)
            rebuild_elsewhere(ada.folder)
            monkeypatch.setattr(Generations, "current", slowly)
        return found

    monkeypatch.setattr(Generations, "current", slowly)
    ada.reopen()
    assert ada.contents() == ["tea"]
    assert len(rebuilds) == 3
    monkeypatch.undo()
    assert len([name for name in views_of(ada) if name.endswith(".db")]) <= 2


def rebuild_elsewhere(folder: Path) -> None:
    with (
        closing(Log(folder / "log.db")) as log,
        closing(WriteLock(folder, 10.0)) as lock,
    ):
        rebuild(log, Generations(folder / "views"), lock)
