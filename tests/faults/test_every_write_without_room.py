"""Every operation that writes, on a disk without room: refused, nothing changed, and done later."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from domain.catalog import CATALOG
from palacelog.bootstrap import open_palace
from tests.faults.damage import wal_of
from tests.faults.judging import error_of, findings
from tests.faults.limits import limit_files
from tests.faults.processes import Child, Report
from tests.faults.work import note
from tests.palaces import Fleet, fingerprint, rebuilt_equals_live
from tests.samples import SAMPLES, Known, furnished, settings_for

WRITES = [name for name, entry in CATALOG.items() if entry.writes]


class Seen(NamedTuple):
    """How one operation went.

    Attributes:
        codes: of two attempts while there was no room.
        changed: whether either changed anything.
        read: how many drawers were listed meanwhile, of how many.
        recorded: how many events it made once there was room.
    """

    codes: tuple[str | None, ...]
    changed: bool
    read: tuple[int, int]
    recorded: int


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Known]:
    fleet = Fleet(tmp_path_factory.mktemp("furnished"))
    ada = fleet.device("ada")
    known = furnished(ada)
    fleet.close()
    return ada.folder, known


def without_room(folder: Path, tool: str, arguments: dict[str, Any]) -> Seen:
    with open_palace(folder, **settings_for(tool)) as house:
        call = house.palace.call
        note(house, "so that there is a WAL")
        before, listed = fingerprint(house), call("list_drawers", {})["total"]
        limit_files(wal_of(house.log.path).stat().st_size)
        errors = [error_of(lambda: call(tool, arguments)) for _ in range(2)]
        read, after = call("list_drawers", {})["total"], fingerprint(house)
        limit_files(None)
        call(tool, arguments)
        recorded = house.log.position() - before[0].position
        rebuilt_equals_live(house)
    codes = tuple(None if error is None else error.code for error in errors)
    return Seen(codes, after != before, (read, listed), recorded)


def every_write(report: Report, template: Path, asked: dict[str, dict[str, Any]]) -> None:
    for tool, arguments in asked.items():
        folder = template.with_name(tool)
        shutil.copytree(template, folder)
        report(tool, without_room(folder, tool, arguments))


@pytest.fixture(scope="module")
def seen(template: tuple[Path, Known]) -> dict[str, Seen]:
    """How each operation went, in a process whose files may not grow."""
    asked = {tool: SAMPLES[tool](template[1]) for tool in WRITES}
    with Child(every_write, template[0], asked) as child:
        return dict(child.finishes())


@pytest.mark.parametrize("tool", WRITES)
def test_a_write_without_room_is_refused_whole_and_done_once_there_is_room(
    tool: str, seen: dict[str, Seen], template: tuple[Path, Known]
) -> None:
    """L24, by file size, for every operation"""
    went = seen[tool]
    assert went.codes == ("palacelog::storage::failed",) * 2
    assert not went.changed
    assert went.read == (3, 3)
    assert went.recorded == (2 if tool == "publish_wing" else 1)
    assert findings(template[0].with_name(tool)) == []
