"""Every command does its work and answers with one JSON document in a pipe."""

from __future__ import annotations

import stat
from pathlib import Path

import orjson
import pytest

from domain.catalog import CATALOG
from domain.gate import SESSION_MODES
from tests.command_line import CommandLine, new_line

NOTE = {"wing": "home", "room": "notes", "content": "Tea at four. \u00e9\u8336"}


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return new_line(tmp_path / "palace")


def test_a_new_palace_says_where_it_is_and_who_it_is(tmp_path: Path) -> None:
    made = CommandLine(tmp_path / "palace")("init", "--device", "laptop")
    assert made["palace"] == str(tmp_path / "palace")
    assert made["device"] == "laptop"
    assert made["log_id"].startswith("log_")
    assert (tmp_path / "palace").stat().st_mode & 0o777 == 0o700


def test_an_edge_is_made_with_its_role_in_its_settings(tmp_path: Path) -> None:
    line = CommandLine(tmp_path / "palace")
    line("init", "--role", "edge")
    assert (tmp_path / "palace" / "settings.toml").read_text() == 'role = "edge"\n'
    ended = line.call("kg_invalidate", subject="Kiran", predicate="city", object="Lyon")
    assert line("log", "show", ended["position"])["operation"]["target"] == "unverified"


def test_any_operation_can_be_called_with_json_from_three_places(
    line: CommandLine, tmp_path: Path
) -> None:
    text = orjson.dumps(NOTE)
    (tmp_path / "note.json").write_bytes(text)
    answers = [
        line("call", "add_drawer", text.decode()),
        line("call", "add_drawer", "-", stdin=text),
        line("call", "add_drawer", f"@{tmp_path / 'note.json'}"),
    ]
    assert len({one["drawer_id"] for one in answers}) == 1
    assert [one["duplicate"] for one in answers] == [False, True, True]
    assert line("call", "list_drawers")["drawers"][0]["preview"] == NOTE["content"]


def test_tools_lists_the_catalog_and_describes_one_of_it(line: CommandLine) -> None:
    listed = line("tools")["tools"]
    assert [one["name"] for one in listed] == list(CATALOG)
    assert all(one["summary"] and one["class"] for one in listed)
    for name in CATALOG:
        described = line("tools", name)
        assert described["asks"]["type"] == "object"
        assert described["answers"]["type"] == "object"
    with line.stops(2, "input::unknown_tool", names="nothing"):
        line("tools", "nothing")


def test_log_list_filters_and_pages(line: CommandLine) -> None:
    for agent in ("scribe", "planner"):
        line.call("add_drawer", "--agent", agent, "--session", "s1", **NOTE)
    line.call("kg_add", subject="Kiran", predicate="city", object="Lyon")

    def positions(*options: str) -> list[int]:
        return [one["position"] for one in line("log", "list", *options)["operations"]]

    assert positions() == [3, 2, 1]
    assert positions("--agent", "planner") == [2]
    assert positions("--session", "s1") == [2, 1]
    assert positions("--tool", "kg_add") == positions("--entity", "kiran") == [3]
    assert positions("--wing", "home", "--device", "laptop") == [2, 1]
    assert positions("--since", "yesterday", "--before", "today") == [3, 2, 1]
    first = line("log", "list", "--limit", "2")
    assert positions("--limit", "2", "--cursor", first["cursor"]) == [1]
    drawer = line("call", "list_drawers")["drawers"][0]["id"]
    assert positions("--drawer", drawer) == [2, 1]


def test_log_show_tells_who_did_what_by_position_and_by_id(line: CommandLine) -> None:
    done = line.call("add_drawer", "--agent", "scribe", "--session", "s1", **NOTE)
    by_position = line("log", "show", done["position"])["operation"]
    by_id = line("log", "show", done["op_id"])["operation"]
    assert by_position == by_id
    assert by_id["agent"] == "scribe"
    assert by_id["session"] == "s1"
    assert by_id["client"] == "cli"
    assert by_id["payload"]["content"] == NOTE["content"]
    assert [one["change"] for one in by_id["effects"]] == ["opened"]


def test_an_outbox_travels_and_a_receipt_empties_it(line: CommandLine, tmp_path: Path) -> None:
    primary = new_line(tmp_path / "primary", "primary")
    file, receipt = tmp_path / "laptop.ndjson", tmp_path / "receipt.json"
    line.call("add_drawer", **NOTE)
    line.call("kg_add", subject="Kiran", predicate="city", object="Lyon")

    assert [one["local_seq"] for one in line("outbox", "list")["pending"]] == [1, 2]
    assert line("outbox", "export", file)["events"] == 2
    [told] = primary("replay", file, "--receipt", receipt)["files"]
    assert (told["appended"], told["duplicates"], told["upto"]) == (2, 0, 2)
    assert told["stopped"] is None
    done = line("outbox", "acknowledge", receipt)
    assert (done["upto"], done["duplicate"]) == (2, False)
    assert line("outbox", "acknowledge", receipt)["duplicate"] is True
    assert line("outbox", "list")["pending"] == []
    assert line("outbox", "export", file)["events"] == 0
    assert line("outbox", "export", file, "--from", "1")["events"] == 2
    ours, theirs = line("digest"), primary("digest")
    assert ours["facts"]["state"] == theirs["facts"]["state"]
    assert ours["drawers"]["state"] == theirs["drawers"]["state"]


def test_an_export_to_a_dash_goes_to_standard_output_and_nowhere_else(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.call("add_drawer", **NOTE)
    monkeypatch.chdir(tmp_path)
    line("log", "export", tmp_path / "file")  # what it notes has a file from now on
    before = sorted(line.palace.rglob("*"))
    for words in (("outbox", "export"), ("log", "export")):
        line(*words, tmp_path / "file")
        ended = line.run(*words, "-")
        assert (ended.code, ended.err) == (0, b"")
        assert ended.out == (tmp_path / "file").read_bytes()
        assert not (tmp_path / "-").exists()
    assert sorted(line.palace.rglob("*")) == before


def test_a_receipt_for_two_incarnations_acknowledges_both(
    line: CommandLine, tmp_path: Path
) -> None:
    primary = new_line(tmp_path / "primary", "primary")
    device = line("status")["device"]
    line.call("add_drawer", **NOTE)
    line("backup", tmp_path / "backup")
    line("restore", tmp_path / "backup", "--replace")
    line.call("add_drawer", **NOTE | {"content": "another life"})
    files, receipt = [tmp_path / "one", tmp_path / "two"], tmp_path / "receipt"
    for name, file in zip((device, f"{device}~2"), files, strict=True):
        line("outbox", "export", file, "--device", name)
    primary("replay", *reversed(files), "--receipt", receipt)
    done = line("outbox", "acknowledge", receipt)
    assert sorted(one["device"] for one in done["acknowledged"]) == [device, f"{device}~2"]
    assert [one["pending"] for one in line("outbox", "list")["streams"]] == [0, 0]
    again = line("outbox", "acknowledge", receipt)["acknowledged"]
    assert [one["duplicate"] for one in again] == [True, True]

    # One line that does not fit, and nothing of the receipt is recorded.
    line.call("add_drawer", **NOTE | {"content": "and more"})
    line("outbox", "export", files[1])
    primary("replay", *files, "--receipt", receipt)
    lines = [orjson.loads(one) for one in receipt.read_bytes().splitlines()]
    lines[0] |= {"head": 1_000, "from": 9}
    receipt.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in reversed(lines)))
    with line.stops(1, "outbox::receipt_gap"):
        line("outbox", "acknowledge", receipt)


def test_a_backup_in_an_open_folder_is_private(line: CommandLine, tmp_path: Path) -> None:
    line.call("add_drawer", **NOTE)
    target = tmp_path / "backup"
    target.mkdir(mode=0o755)
    line("backup", target)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in target.iterdir()}
    assert modes == {"log.db": 0o600, "backup.json": 0o600}


def test_outbox_list_shows_no_more_than_asked_for(line: CommandLine) -> None:
    for number in range(3):
        line.call("add_drawer", **NOTE | {"content": f"note {number}"})
    listed = line("outbox", "list", "--limit", "2")
    assert [one["local_seq"] for one in listed["pending"]] == [1, 2]
    assert listed["streams"][0]["pending"] == 3


def test_the_log_is_verified_and_its_views_are_made_again(
    line: CommandLine, tmp_path: Path
) -> None:
    line.call("add_drawer", **NOTE)
    before = line("digest")
    assert line("log", "verify") == {
        "events": 1, "sound": True, "first_bad": None, "findings": []
    }  # fmt: skip
    assert line("rebuild")["position"] == 1
    assert line("digest") == before
    assert line("log", "export", tmp_path / "log.ndjson")["events"] == 1
    assert len((tmp_path / "log.ndjson").read_bytes().splitlines()) == 3


def test_a_backup_becomes_a_palace_beside_or_in_place(line: CommandLine, tmp_path: Path) -> None:
    line.call("add_drawer", **NOTE)
    before = line("digest")
    made = line("backup", tmp_path / "backup")
    assert made["position"] == 1
    line.call("add_drawer", **NOTE | {"content": "after the backup"})

    beside = CommandLine(tmp_path / "beside")
    restored = beside("restore", tmp_path / "backup")
    assert restored["parent"] == f"{made['log_id']}@1"
    assert restored["set_aside"] is None
    assert restored["device"] == beside("status")["device"] == f"{line('status')['device']}~2"
    assert beside("digest")["drawers"] == before["drawers"]

    with line.stops(1, "palace::exists"):
        line("restore", tmp_path / "backup")
    replaced = line("restore", tmp_path / "backup", "--replace")
    assert (Path(replaced["set_aside"]) / "log.db").is_file()
    assert line("digest")["drawers"] == before["drawers"]


def test_status_and_digest_answer_on_an_empty_palace(line: CommandLine) -> None:
    assert line("status")["head"] == 0
    assert line("digest")["position"] == 0
    assert line("call", "list_drawers")["drawers"] == []
    assert line("log", "list")["operations"] == []
    assert line("outbox", "list")["pending"] == []


@pytest.mark.parametrize(
    ("mode", "refused", "allowed"),
    [
        (
            "read_only",
            ["call add_drawer {}", "replay x", "restore x", "outbox acknowledge x",
             "outbox fork --after 1", "accept-loss"],
            ["call list_drawers", "log list", "outbox list", "log export {file}", "backup {file}"],
        ),
        (
            "disabled",
            ["call list_drawers", "log list", "log show 1", "outbox list", "outbox export x",
             "log export x", "backup x", "replay x", "call nothing"],
            ["status", "digest", "log verify", "rebuild", "doctor"],
        ),
    ],
)  # fmt: skip
def test_the_session_mode_counts_for_every_command(
    line: CommandLine, tmp_path: Path, mode: str, refused: list[str], allowed: list[str]
) -> None:
    for words in refused:
        with line.stops(1, "mode::forbidden", names=mode):
            line(*words.split(), before=("--mode", mode))
    line.environment["PALACELOG_MODE"] = mode
    for number, words in enumerate(allowed):
        line(*words.format(file=tmp_path / f"file-{number}").split())


@pytest.mark.parametrize("mode", ["off", "read-only", "FULL", "", "full "])
def test_a_session_mode_of_another_spelling_is_an_error_of_the_option(
    line: CommandLine, mode: str
) -> None:
    for words in (("status",), ("add", "Tea.", "--wing", "home", "--room", "notes"), ("doctor",)):
        with line.stops(2, "input::usage", names="'--mode'"):
            line(*words, before=("--mode", mode))
        assert all(repr(one) in line.stopped["error"] for one in (mode, *SESSION_MODES))
        assert "settings" not in str(line.stopped)


def test_a_session_mode_of_another_spelling_in_the_environment_names_the_variable(
    line: CommandLine,
) -> None:
    line.environment["PALACELOG_MODE"] = "off"
    with line.stops(2, "settings::invalid", names="PALACELOG_MODE: `session_mode` is 'off'"):
        line("status")


def test_the_settings_file_can_set_the_session_mode(line: CommandLine) -> None:
    (line.palace / "settings.toml").write_text('session_mode = "read_only"\n')
    with line.stops(1, "mode::forbidden"):
        line.call("add_drawer", **NOTE)
    line.call("add_drawer", "--mode", "full", **NOTE)
