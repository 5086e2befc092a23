"""A palace whose folder may not be written: it can be read, and nobody can write it unnoticed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from domain.catalog import CATALOG
from palacelog.bootstrap import House, open_palace
from tests.faults.judging import error_of, findings, goes_on, refused
from tests.faults.processes import Child, Report
from tests.palaces import Fleet, fingerprint
from tests.samples import SAMPLES, WITH_EMBEDDER, Known, furnished

WRITES = [name for name, entry in CATALOG.items() if entry.writes]
READS = [name for name in SAMPLES if not CATALOG[name].writes]
NOBODY = 65_534


@pytest.fixture(scope="module")
def template() -> Iterator[tuple[Path, Known]]:
    """A furnished palace in a folder that every user can enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        fleet = Fleet(Path(folder))
        ada = fleet.device("ada")
        known = furnished(ada)
        fleet.close()
        yield ada.folder, known


def rights(folder: Path, of_folders: int, of_files: int) -> None:
    """Who owns a folder may do so much with it; root may do everything, so it is nobody's."""
    for path in [folder, *folder.rglob("*")]:
        if os.getuid() == 0:
            os.chown(path, NOBODY if of_folders == 0o500 else 0, -1)
        path.chmod(of_folders if path.is_dir() else of_files)


class Seen(NamedTuple):
    """The codes of what was tried, and whether anything was changed by it."""

    codes: dict[str, str | None]
    changed: bool


def try_everything(report: Report, folder: Path, asked: dict[str, dict[str, Any]]) -> None:
    # Nobody may not be allowed to import what Python loads when it is first needed.
    attempt(folder.with_name("before"), asked)
    if os.getuid() == 0:
        os.setuid(NOBODY)
    report(attempt(folder, asked))


def attempt(folder: Path, asked: dict[str, dict[str, Any]]) -> Seen:
    with open_palace(folder, **WITH_EMBEDDER) as house:
        before = fingerprint(house)
        codes = {}
        for tool, arguments in asked.items():
            error = error_of(lambda tool=tool, given=arguments: house.palace.call(tool, given))
            codes[tool] = None if error is None else error.code
        return Seen(codes, fingerprint(house) != before)


@pytest.fixture(scope="module")
def kept(template: tuple[Path, Known]) -> Iterator[Path]:
    folder = template[0].with_name("kept")
    shutil.copytree(template[0], folder)
    shutil.copytree(folder, folder.with_name("before"))
    rights(folder, 0o500, 0o400)
    yield folder
    rights(folder, 0o700, 0o600)


@pytest.fixture(scope="module")
def seen(kept: Path, template: tuple[Path, Known]) -> Seen:
    """What every operation says where nothing may be written."""
    asked = {tool: SAMPLES[tool](template[1]) for tool in READS + WRITES}
    with Child(try_everything, kept, asked) as child:
        [(one,)] = child.finishes()
    assert isinstance(one, Seen)
    return one


@pytest.mark.parametrize("tool", WRITES)
def test_a_write_is_refused_where_the_folder_may_not_be_written(tool: str, seen: Seen) -> None:
    assert seen.codes[tool] == "palacelog::storage::read_only"
    assert not seen.changed


@pytest.mark.parametrize("tool", READS)
def test_a_read_is_answered_where_the_folder_may_not_be_written(tool: str, seen: Seen) -> None:
    assert seen.codes[tool] is None


def test_writes_go_on_once_the_folder_may_be_written_again(
    kept: Path, seen: Seen, template: tuple[Path, Known]
) -> None:
    folder = kept.with_name("given back")
    shutil.copytree(kept, folder)
    rights(folder, 0o700, 0o600)
    for tool in ("checkpoint", "undo", "diary_write", "publish_wing"):
        with open_palace(folder) as house:
            house.palace.call(tool, SAMPLES[tool](template[1]))
            goes_on(house)
    assert findings(folder) == []


@pytest.fixture
def reader(template: tuple[Path, Known], tmp_path: Path) -> Iterator[House]:
    """A palace opened where its folder seemed not to be writable; by now it is."""
    shutil.copytree(template[0], tmp_path / "ada")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("projections.sqlite.os.access", lambda *_: False)
        house = open_palace(tmp_path / "ada")
        house.palace.call("list_drawers", {})
    with house:
        yield house


def test_who_can_only_read_is_told_when_somebody_else_writes(reader: House) -> None:
    listed = reader.palace.call("list_drawers", {})["total"]
    with open_palace(reader.folder.path) as writer:
        writer.palace.call("note", {"content": "milk", "wing": "home"})
        with refused("palace::locked"):
            reader.palace.call("list_drawers", {})
    with refused("palace::locked"):
        reader.palace.call("list_drawers", {})
    with open_palace(reader.folder.path) as again:
        assert again.palace.call("list_drawers", {})["total"] == listed + 1
