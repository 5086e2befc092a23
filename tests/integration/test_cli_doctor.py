"""`doctor` looks at what surrounds a palace; what it finds comes with a cure."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from palacelog import doctor, folder
from tests.command_line import CommandLine, new_line


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return new_line(tmp_path / "palace")


def found(line: CommandLine, name: str) -> dict[str, Any]:
    """The one check of that name."""
    [check] = [one for one in line.run("doctor").answer["checks"] if one["name"] == name]
    return dict(check)


def test_a_healthy_palace_is_told_so(line: CommandLine) -> None:
    checks = line("doctor")["checks"]
    assert {one["state"] for one in checks} == {"ok"}
    assert [one["name"] for one in checks] == [
        "python", "sqlite", "palace", "place", "privacy", "neighbours", "space", "settings",
        "write lock", "owner", "log", "views", "trail",
    ]  # fmt: skip


def test_it_changes_nothing(line: CommandLine) -> None:
    line("doctor")
    before = sorted(path.name for path in line.palace.rglob("*"))
    digests = line("digest")
    line("doctor")
    assert sorted(path.name for path in line.palace.rglob("*")) == before
    assert line("digest") == digests


def test_no_palace_is_a_failure_with_its_exit_code(tmp_path: Path) -> None:
    ended = CommandLine(tmp_path / "nowhere").run("doctor")
    assert ended.code == 3
    assert ended.answer["checks"][-1]["code"] == "palacelog::palace::none"
    assert ended.answer["checks"][-1]["help"]


def test_a_folder_that_others_can_read_is_a_warning(line: CommandLine) -> None:
    line.palace.chmod(0o755)
    check = found(line, "privacy")
    assert check["state"] == "warn"
    assert "chmod 700" in check["help"]
    assert line.run("doctor").code == 0


def test_a_folder_that_can_only_be_read_is_a_warning(line: CommandLine) -> None:
    with patch("os.access", lambda *_: False):
        [check] = [one for one in doctor.examine(line.palace) if one.state != "ok"]
    assert (check.name, check.state) == ("writing", "warn")
    assert "can only be read" in check.message


def test_a_palace_in_a_palace_is_a_warning(line: CommandLine) -> None:
    inner = line.palace / "inner"
    inner.mkdir()
    (inner / folder.PALACE_FILE).write_text('id = "palace_x"\nschema = 1\n')
    assert found(line, "neighbours")["state"] == "warn"
    assert str(inner) in found(line, "neighbours")["message"]


def test_leftovers_of_a_rebuild_are_named_and_a_rebuild_removes_them(line: CommandLine) -> None:
    (line.palace / "views" / "views-000007.db").write_bytes(b"")
    check = found(line, "leftovers")
    assert check["state"] == "warn"
    assert "views-000007.db" in check["message"]
    line("rebuild")
    assert [one["state"] for one in line("doctor")["checks"] if one["name"] == "leftovers"] == []


def test_a_network_file_system_and_a_synced_folder_are_warnings(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "file_system", lambda path: "nfs4")
    assert found(line, "place")["state"] == "warn"
    monkeypatch.setattr(folder, "file_system", lambda path: "ext4")
    assert found(line, "place")["state"] == "ok"


def test_little_space_is_a_warning(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FREE_BYTES_MIN", 2**80)
    assert found(line, "space")["state"] == "warn"


def test_settings_that_cannot_be_are_a_failure(line: CommandLine) -> None:
    (line.palace / "settings.toml").write_text("colour = 'red'\n")
    assert found(line, "settings")["code"] == "palacelog::settings::invalid"
    assert line.run("doctor").code == 2


def test_a_setting_that_does_not_exist_is_a_warning(line: CommandLine) -> None:
    line.environment["PALACELOG_ZONES"] = "UTC"
    check = found(line, "environment")
    assert check["state"] == "warn"
    assert "PALACELOG_ZONES" in check["message"]
    assert "PALACELOG_ZONE" in check["help"]


def test_views_that_opening_makes_again_are_a_warning(line: CommandLine, tmp_path: Path) -> None:
    other = new_line(tmp_path / "other", "desktop")
    (line.palace / "log.db").write_bytes((other.palace / "log.db").read_bytes())
    assert found(line, "views")["state"] == "warn"
    assert "when the palace is opened" in found(line, "views")["help"]
    line("status")
    assert found(line, "views")["state"] == "ok"


def test_a_fault_of_sqlite_is_told_with_what_excludes_it(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.sqlite3, "sqlite_version_info", (3, 51, 2))
    assert "write lock excludes it" in found(line, "sqlite")["message"]
    monkeypatch.setattr(doctor.sqlite3, "sqlite_version_info", (3, 51, 3))
    assert "fault" not in found(line, "sqlite")["message"]


def flip_a_byte(segment: Path) -> None:
    content = bytearray(segment.read_bytes())
    content[content.index(b"the text that was looked for")] ^= 1
    segment.write_bytes(content)


def alter_a_line(segment: Path) -> None:
    with closing(sqlite3.connect(segment)) as connection, connection:
        connection.execute("UPDATE noted SET agent = 'nobody'")


def forget_a_line(segment: Path) -> None:
    with closing(sqlite3.connect(segment)) as connection, connection:
        connection.execute("DELETE FROM noted WHERE place = 1")


def lose_an_event(segment: Path) -> None:
    with closing(sqlite3.connect(segment)) as connection, connection:
        connection.execute("DELETE FROM stored_events WHERE rowid = 1")


def lose_a_table(segment: Path) -> None:
    with closing(sqlite3.connect(segment)) as connection, connection:
        connection.execute("DROP TABLE losses")


def cut_in_half(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 2])


def write_over(segment: Path) -> None:
    segment.write_bytes(b"no database " * 1_000)


def put_a_folder_there(segment: Path) -> None:
    segment.unlink()
    segment.mkdir()


@pytest.fixture
def read(line: CommandLine) -> CommandLine:
    """A palace whose trail has a segment of this month, and one of another month."""
    line("add", "tea", "--wing", "home", "--room", "notes")
    for number in range(3):
        line("search", f"the text that was looked for {number}")
    [segment] = (line.palace / "trail").glob("*.db")
    shutil.copy(segment, segment.with_name("2099-12.db"))
    return line


@pytest.mark.parametrize("which", ["this month", "another month"])
@pytest.mark.parametrize(
    "damage",
    [flip_a_byte, alter_a_line, forget_a_line, lose_an_event, lose_a_table, cut_in_half,
     write_over, put_a_folder_there],
)  # fmt: skip
def test_a_damaged_month_of_the_trail_is_named_and_the_palace_goes_on_answering(
    read: CommandLine, damage: Callable[[Path], None], which: str
) -> None:
    trail, digests = read.palace / "trail", read("digest")
    this, other = sorted(path.name for path in trail.glob("*.db"))
    name = this if which == "this month" else other
    damage(trail / name)
    ended = read.run("doctor")
    assert ended.code == 4
    [check] = [one for one in ended.answer["checks"] if one["name"] == "trail"]
    assert (check["state"], check["code"]) == ("fail", "palacelog::trail::damaged")
    assert name in check["message"]
    assert name in check["help"]

    assert read("digest") == digests
    assert read("list")["total"] == read("search", "tea")["total"] == 1
    assert read("status")["head"] == read("log", "list")["total"] == 1
    read("add", "coffee", "--wing", "home", "--room", "notes")
    assert read("list")["total"] == 2

    (trail / name).rename(read.palace.parent / "kept")
    assert found(read, "trail")["state"] == "ok"
    assert read("log", "list", "--reads", "--outcome", "all")["total"] > 0


@pytest.mark.parametrize("damage", [cut_in_half, write_over, put_a_folder_there])
def test_what_a_damaged_month_cannot_take_is_counted_as_lost(
    read: CommandLine, damage: Callable[[Path], None]
) -> None:
    [segment] = [one for one in (read.palace / "trail").glob("*.db") if one.stem != "2099-12"]
    damage(segment)
    assert read("status")["trail"]["lost"] == 0
    for _ in range(3):
        read("list")
    assert read("status")["trail"]["lost"] == 4
    segment.rename(read.palace.parent / "kept")
    read("list")
    assert read("status")["trail"]["lost"] == 5
    assert read("log", "list", "--reads", "--tool", "list_drawers")["total"] == 1


def test_what_a_damaged_month_is_asked_for_is_refused_with_its_name(read: CommandLine) -> None:
    write_over(read.palace / "trail" / "2099-12.db")
    for words in (("log", "list", "--reads"), ("audit",), ("audit", "sql", "FROM trail")):
        with read.stops(4, "trail::damaged", names="2099-12.db"):
            read(*words)
        assert "Move 2099-12.db out" in read.stopped["help"]
