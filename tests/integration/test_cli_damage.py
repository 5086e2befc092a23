"""Bad days: a flipped bit, a lost tail, a broken view; each is named, and each has a way out."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from palacelog.folder import PALACE_FILE
from tests.command_line import CommandLine, new_line


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    made = new_line(tmp_path / "palace")
    for content in ("first note", "second note", "third note"):
        made.call("add_drawer", wing="home", room="notes", content=content)
    made("backup", tmp_path / "backup")
    return made


def flip(path: Path, text: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


def current_views(line: CommandLine) -> Path:
    return line.palace / "views" / (line.palace / "views" / "current").read_text().strip()


def test_verify_names_the_event_of_a_flipped_bit(line: CommandLine, tmp_path: Path) -> None:
    flip(line.palace / "log.db", b"second note")
    ended = line.run("log", "verify")
    assert ended.code == 4
    assert ended.answer["sound"] is False
    assert ended.answer["first_bad"] == 2
    assert ended.answer["findings"][0]["code"] == "log::payload"
    assert ended.errors[0]["position"] == 2
    assert ended.errors[0]["code"] == "palacelog::log::payload"
    assert "restore" in ended.errors[0]["help"]
    line("restore", tmp_path / "backup", "--replace")
    assert line("log", "verify")["sound"] is True


def test_verify_works_where_the_palace_cannot_be_opened(line: CommandLine) -> None:
    (line.palace / PALACE_FILE).write_text("half a fi")
    assert line.run("status").code == 3
    assert line("log", "verify")["sound"] is True
    (line.palace / PALACE_FILE).unlink()
    assert line("log", "verify")["events"] == 3


def test_a_log_that_is_gone_or_no_log_is_damage(line: CommandLine, tmp_path: Path) -> None:
    log = line.palace / "log.db"
    log.write_bytes(b"not a database at all, but somebody's letter" * 100)
    for words in ("log verify", "status", "rebuild"):
        ended = line.run(*words.split())
        assert ended.code == 4, (words, ended.err)
        assert b"Traceback" not in ended.err
    log.unlink()
    for words in ("log verify", "status", "rebuild"):
        with line.stops(4, "log::missing"):
            line(*words.split())
    assert not log.exists()
    line("restore", tmp_path / "backup", "--replace")
    assert line("status")["head"] == 3


def test_a_lost_tail_is_named_and_nothing_is_rebuilt_over_it(line: CommandLine) -> None:
    sound = line.palace.parent / "backup" / "log.db"
    line.call("add_drawer", wing="home", room="notes", content="fourth note")
    shutil.copyfile(sound, line.palace / "log.db")

    assert line("status")["projections"][0]["state"] == "truncated"
    for words in ('call add_drawer {"wing":"a","room":"b","content":"c"}', "rebuild"):
        with line.stops(3, "log::truncated", names="position 4"):
            line(*words.split())
    ended = line.run("log", "verify")
    assert ended.code == 4
    assert ended.answer["findings"][-1]["code"] == "log::truncated"
    with line.stops(2, "cli::unconfirmed", names="position 4"):
        line("accept-loss")
    checks = {one["name"]: one for one in line.run("doctor").answer["checks"]}
    assert checks["views"]["code"] == "palacelog::log::truncated"
    done = line("accept-loss", "--yes")
    assert done["lost"] == {"first": 4, "last": 4}
    assert done["device"] == "laptop~2"
    assert line.call("add_drawer", wing="a", room="b", content="c")["origin_device"] == "laptop~2"


def test_views_that_are_damaged_are_made_again(line: CommandLine) -> None:
    before = line("digest")
    with sqlite3.connect(current_views(line)) as connection:
        connection.execute("DELETE FROM texts WHERE content = 'second note'")
    connection.close()
    ended = line.run("log", "verify")
    assert ended.code == 4
    assert ended.errors[0]["code"].startswith("palacelog::views::")
    assert "palacelog rebuild" in ended.errors[0]["help"]
    line("rebuild")
    assert line("digest") == before
    assert line("log", "verify")["sound"] is True


def test_views_that_are_no_database_are_made_again(line: CommandLine) -> None:
    before = line("digest")
    current_views(line).write_bytes(b"somebody's letter" * 1000)
    assert b"Traceback" not in line.run("status").err
    assert line.run("log", "verify").code == 4
    line("rebuild")
    assert line("digest") == before


def test_a_backup_that_was_altered_is_not_restored(line: CommandLine, tmp_path: Path) -> None:
    flip(tmp_path / "backup" / "log.db", b"second note")
    with line.stops(4, "backup::damaged"):
        line("restore", tmp_path / "backup", "--replace")


def test_a_log_of_another_palace_gets_views_of_its_own(line: CommandLine, tmp_path: Path) -> None:
    other = new_line(tmp_path / "other", "desktop")
    other.call("add_drawer", wing="home", room="notes", content="another palace")
    shutil.copyfile(other.palace / "log.db", line.palace / "log.db")
    assert line("status")["device"] == "desktop"
    assert line("digest") == other("digest")
