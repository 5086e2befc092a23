"""One bit of the views is flipped: `verify` blames them and nothing else, and a rebuild mends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from palacelog.bootstrap import create_palace, open_palace
from palacelog.folder import PalaceFolder
from projections.generations import Generations
from replay.log import Log
from replay.rebuild import rebuild
from replay.write_lock import WriteLock
from tests.faults.damage import copied, flip, views_of, wal_of
from tests.faults.judging import findings, sound
from tests.faults.processes import Child, Report
from tests.faults.work import late_events, receive_all, write
from tests.palaces import digest_of

FLIPS = 60


def fill(tell: Report, folder: Path, events: list[object]) -> None:
    """Leave views of which a part lies in the file, another in the WAL."""
    house = open_palace(folder)
    write(house, "late", 40)
    rebuild(house.log, house.generations, house.lock)
    receive_all(house, events)  # type: ignore[arg-type]
    tell.die("the end")


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One palace twice: as its process was killed, and after it was opened and closed."""
    folder = tmp_path_factory.mktemp("template")
    create_palace(folder / "closed", "ada")
    with Child(fill, folder / "closed", late_events(folder)) as child:
        child.dies()
    copied(folder / "closed", folder / "killed")
    assert len(sound(folder / "closed")) == 50
    assert not wal_of(views_of(folder / "closed")).exists()
    return {"file": folder / "closed", "WAL": folder / "killed"}


def mend(folder: Path) -> None:
    """What `palacelog rebuild` does, which does not open the views."""
    palace = PalaceFolder(folder)
    lock = WriteLock(folder, 10)
    with closing(Log(palace.log)) as log, closing(lock):
        rebuild(log, Generations(palace.views), lock)


@pytest.mark.parametrize("part", ["file", "WAL"])
def test_a_flipped_bit_of_the_views_is_blamed_on_them_and_a_rebuild_mends(
    part: str, templates: dict[str, Path], tmp_path: Path, tell: Callable[[str], None]
) -> None:
    template = templates[part]
    with open_palace(copied(template, tmp_path / "right")) as house:
        right = digest_of(house)
    random, kinds = Random(24), Counter[str]()
    for number in range(FLIPS):
        folder = copied(template, tmp_path / "ada")
        views = views_of(folder)
        where = f"flip {number}: {flip(views if part == 'file' else wal_of(views), random)}"
        found = findings(folder)
        kinds[found[0].code if found else "harmless"] += 1
        assert all(one.code.startswith("views::") for one in found), (where, found)
        assert all(one.position is None for one in found), (where, found)
        if found:
            mend(folder)
            assert findings(folder) == [], where
        with open_palace(folder) as house:
            assert digest_of(house) == right, where
    # A WAL that ends early leaves views that lag, which is no damage: they catch up.
    assert (kinds["harmless"] == FLIPS) == (part == "WAL")
    tell(f"{FLIPS} bits flipped in the views' {part}: {dict(kinds)}")
