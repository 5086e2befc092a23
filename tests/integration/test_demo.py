"""The demo keeps what it claims, and fails where it does not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from rich.console import Console

from domain.errors import Damaged
from palacelog import demo
from replay.verify import verify
from tests.command_line import CommandLine

CPU_SECONDS_MAX = 20


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line whose temporary folders lie in a folder of the test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return CommandLine(tmp_path / "palace", TMPDIR=str(place))


def left_behind(line: CommandLine) -> list[Path]:
    return list((line.palace.parent / "temporary").iterdir())


def test_every_claim_holds_and_nothing_is_left_behind(line: CommandLine) -> None:
    claims = line("demo", before=("--json",))["claims"]
    assert len(claims) == 17
    assert all(one["holds"] for one in claims)
    assert left_behind(line) == []
    assert not line.palace.exists()


def test_its_palaces_can_be_kept_and_looked_at(line: CommandLine) -> None:
    told = line.run("demo", "--keep").out.decode()
    [folder] = left_behind(line)
    assert str(folder) in told.replace("\n", "").replace(" ", "")
    assert {one.name for one in folder.iterdir()} >= {"laptop", "desktop", "north", "south"}
    assert verify(folder / "north" / "log.db", folder / "north" / "views").findings == []
    [damaged] = verify(folder / "copy" / "log.db", folder / "copy" / "views").findings
    assert damaged.code == "log::payload"
    laptop = CommandLine(folder / "laptop")
    assert laptop("status")["outbox"]["pending"] == 0


def test_a_claim_that_does_not_hold_fails_the_demo(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo.Scene, "states", lambda scene, where: [where] * 4)
    story = demo.tell(Console(quiet=True))
    assert [one.claim for one in story.claims if not one.holds] == [
        "after exchanging their outboxes both show the same",
        "both primaries show the same, digest by digest",
    ]
    with pytest.raises(Damaged, match="2 of 17 claims do not hold"):
        story.must_hold()
    ended = line.run("demo")
    assert ended.code == 4
    assert ended.errors[0]["code"] == "palacelog::demo::claim"
    assert left_behind(line) == []
