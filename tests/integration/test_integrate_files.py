"""Hosts are set up and taken back in real files: what is not ours stays to the byte."""

from __future__ import annotations

import errno
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from domain.catalog import CATALOG
from palacelog.bootstrap import create_palace
from palacelog.hosts import files as host_files
from tests.hosts import COMMAND, HOSTS, Home

PEOPLE_S = {
    "claude-code": {
        ".claude.json": '{"numStartups": 5, "mcpServers": {"other": {"command": "x"}}, "k": "ü"}',
        ".claude/settings.json": """{
  // my settings
  "model": "opus", /* the big one */
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "date"}]}, // the date
    ],
  },
}
""",
        ".mcp.json": '{\r\n\t"mcpServers": {}\r\n}\r\n',
        ".claude/settings.local.json": "",
    },
    "codex": {
        ".codex/config.toml": '# mine\nmodel = "m" # best\n\n[mcp_servers.other]\ncommand = "x"\n\n'
        "[tui]\nnotifications = true # yes\n",
        ".codex/hooks.json": '{"hooks":{"Stop":[]}}',
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": """{
    "$schema": "https://opencode.ai/config.json", // for the editor
    "mcp": {
        // "old": {},
        "other": {"type": "local", "command": ["x"]}
    }
}""",
        "opencode.json": '{"mcp": {"servers": {}}, "plugins": ["a"]}\n',
    },
    "pi": {".pi/agent/extensions/mine.ts": "export default () => {}\n"},
}
OURS = {
    "claude-code": {".claude.json", ".claude/settings.json", ".claude/skills/palacelog/SKILL.md"},
    "codex": {".codex/config.toml", ".codex/hooks.json", ".agents/skills/palacelog/SKILL.md"},
    "opencode": {
        ".config/opencode/opencode.json",
        ".config/opencode/plugins/palacelog.js",
        ".config/opencode/skills/palacelog/SKILL.md",
    },
    "pi": {".pi/agent/extensions/palacelog.ts", ".pi/agent/skills/palacelog/SKILL.md"},
}
IN_A_PROJECT = {
    "claude-code": {
        ".mcp.json",
        ".claude/settings.local.json",
        ".claude/skills/palacelog/SKILL.md",
    },
    "codex": OURS["codex"],
    "opencode": {
        "opencode.json",
        ".opencode/plugins/palacelog.js",
        ".opencode/skills/palacelog/SKILL.md",
    },
    "pi": {".pi/extensions/palacelog.ts", ".pi/skills/palacelog/SKILL.md"},
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def with_files_of(home: Home, host: str) -> dict[str, bytes]:
    for name, text in PEOPLE_S[host].items():
        for place in (name, f"project/{name}"):
            home.write(place, text)
    return home.files()


def actions(answer: dict[str, Any]) -> list[str]:
    return [one["action"] for one in answer["changes"]]


@pytest.mark.parametrize("host", HOSTS)
def test_where_nothing_is_exactly_our_files_are_made_and_taken_away(home: Home, host: str) -> None:
    home("install", host)
    assert home.files().keys() == OURS[host]
    removed = home("remove", host)
    assert set(actions(removed)) == {"remove"}
    assert home.files() == {}


@pytest.mark.parametrize("host", HOSTS)
def test_in_a_project_the_files_are_the_project_s(home: Home, host: str) -> None:
    home("install", host, "--scope", "project")
    assert home.files().keys() == {f"project/{name}" for name in IN_A_PROJECT[host]}
    home("remove", host, "--scope", "project")
    assert home.files() == {}


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("host", HOSTS)
def test_what_was_there_is_there_again_to_the_byte(home: Home, host: str, scope: str) -> None:
    before = with_files_of(home, host)
    home("install", host, "--scope", scope)
    assert home.files() != before
    home("remove", host, "--scope", scope)
    assert home.files() == before


@pytest.mark.parametrize("host", HOSTS)
def test_twice_is_once(home: Home, host: str) -> None:
    with_files_of(home, host)
    home("install", host)
    once = home.files()
    assert set(actions(home("install", host))) == {"keep"}
    assert home.files() == once
    home("remove", host)
    taken = home.files()
    assert set(actions(home("remove", host))) == {"keep"}
    assert home.files() == taken


@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_says_what_would_be_done_and_does_nothing(home: Home, host: str) -> None:
    before = with_files_of(home, host)
    told = home("install", host, "--dry-run")
    assert home.files() == before
    done = home("install", host)
    assert (told["dry_run"], done["dry_run"]) == (True, False)
    assert told["changes"] == done["changes"]
    there = home.files()
    would = home("remove", host, "--dry-run")
    assert home.files() == there
    assert would["changes"] == home("remove", host)["changes"]


@pytest.mark.parametrize("host", HOSTS)
def test_a_file_is_kept_beside_before_its_first_change(home: Home, host: str) -> None:
    before = with_files_of(home, host)
    home("install", host)
    home("install", host, "--label", "read-only")
    changed = {name for name, held in home.files().items() if before.get(name, held) != held}
    assert bool(changed) == (host != "pi")
    for name in changed:
        assert home.files()[f"{name}.palacelog-backup"] == before[name]


@pytest.mark.parametrize("host", HOSTS)
def test_changing_the_label_is_undone_as_well(home: Home, host: str) -> None:
    before = with_files_of(home, host)
    for label in ("full", "read-only", "off", "full", "off"):
        assert home("install", host, "--label", label)["label"] == label
    home("remove", host)
    assert home.files() == before


@pytest.mark.parametrize("host", HOSTS)
def test_changing_the_label_of_what_stands_in_files_of_its_own_is_undone_as_well(
    home: Home, host: str
) -> None:
    for label in ("full", "read-only", "off", "full"):
        home("install", host, "--label", label)
    assert home.files().keys() == OURS[host]
    home("remove", host)
    assert home.files() == {}


def test_what_else_stands_beside_an_entry_that_runs_us_is_kept_and_stays(home: Home) -> None:
    text = '{"a": 1, "mcpServers": {"palacelog": {"command": "palacelog", "args": ["mcp"]}}}'
    home.write(".claude.json", text)
    home("install", "claude-code")
    assert home.read(".claude.json.palacelog-backup") == text
    home("remove", "claude-code")
    assert json.loads(home.read(".claude.json")) == {"a": 1, "mcpServers": {}}


@pytest.mark.parametrize("host", HOSTS)
def test_a_label_that_nobody_knows_is_off(home: Home, host: str) -> None:
    assert home("install", host, "--label", "off")["label"] == "off"
    off = home.files()
    assert home("install", host, "--label", "readonly")["label"] == "off"
    assert home.files() == off


def test_what_a_person_changed_since_stays_when_ours_is_taken_out(home: Home) -> None:
    with_files_of(home, "claude-code")
    home("install", "claude-code")
    settings = home.read(".claude/settings.json").replace('"opus"', '"haiku"')
    home.write(".claude/settings.json", settings)
    home("remove", "claude-code")
    assert home.read(".claude/settings.json") == PEOPLE_S["claude-code"][
        ".claude/settings.json"
    ].replace('"opus"', '"haiku"')


def test_what_a_person_changed_since_in_toml_stays(home: Home) -> None:
    with_files_of(home, "codex")
    home("install", "codex")
    text = home.read(".codex/config.toml")
    assert text.startswith(PEOPLE_S["codex"][".codex/config.toml"][:30])
    home.write(".codex/config.toml", text.replace('"m" # best', '"n" # better'))
    home("remove", "codex")
    left = home.read(".codex/config.toml")
    for kept in ("# mine", '"n" # better', "notifications = true # yes", "[mcp_servers.other]"):
        assert kept in left
    assert "palacelog" not in left


def test_an_entry_that_a_person_made_by_hand_comes_back(home: Home) -> None:
    text = '{"mcpServers": {"palacelog": {"command": "mine"}}}'
    home.write(".claude.json", text)
    home("install", "claude-code")
    assert str(COMMAND) in home.read(".claude.json")
    home("remove", "claude-code")
    assert home.read(".claude.json") == text


BY_HAND = [
    ("claude-code", ".claude.json", '{"mcpServers": {"palacelog": {"command": "mine"}}}'),
    (
        "claude-code",
        ".claude.json",
        '{"mcpServers": {"palacelog": {"type": "http", "url": "https://palacelog.example/mcp"}}}',
    ),
    ("codex", ".codex/config.toml", '[mcp_servers.palacelog]\ncommand = "mine"\nargs = ["mcp"]\n'),
    (
        "opencode",
        ".config/opencode/opencode.json",
        '{"mcp": {"palacelog": {"type": "local", "command": ["mcp", "palacelog"]}}}',
    ),
]


@pytest.mark.parametrize(("host", "name", "held"), BY_HAND, ids=range(len(BY_HAND)))
def test_an_entry_that_somebody_else_made_stays_and_the_rest_is_taken_out(
    home: Home, host: str, name: str, held: str
) -> None:
    home.write(name, held)
    before = home.files()
    assert not home("status", host)["installed"]
    home("install", host)
    home.write(name, held)
    stands = {one["part"]: one["state"] for one in home("status", host)["parts"]}
    assert stands == {"mcp": "foreign", "session-start": "current", "skill": "current"}
    [left, *rest] = home("remove", host)["changes"]
    assert left["action"] == "leave"
    assert left["code"] == "palacelog::integration::not_ours"
    assert "by hand" in left["help"]
    assert all("code" not in one for one in rest)
    assert home.files() == before


def test_turning_memory_off_leaves_a_server_that_somebody_else_named_as_ours(home: Home) -> None:
    _, name, held = BY_HAND[0]
    home.write(name, held)
    assert actions(home("install", "claude-code", "--label", "off"))[0] == "leave"
    assert home.read(name) == held


RUNS_US = [
    {"command": "palacelog", "args": ["mcp"]},
    {"command": "/opt/bin/palacelog", "args": ["--mode", "read_only", "mcp", "--in-process"]},
    {"command": "uvx", "args": ["palacelog", "mcp"]},
    {"command": "python3", "args": ["-m", "palacelog", "mcp"]},
    {"command": "our-memory", "args": ["--mode", "read_only", "mcp", "--tools", "all"]},
]


@pytest.mark.parametrize("entry", RUNS_US, ids=range(len(RUNS_US)))
def test_an_entry_that_runs_our_command_is_taken_out_whoever_made_it(
    home: Home, entry: dict[str, Any]
) -> None:
    other = {"command": "x"}
    servers = {"other": other, "palacelog": entry}
    home.write(".claude.json", json.dumps({"mcpServers": servers}))
    assert actions(home("remove", "claude-code"))[0] == "remove"
    assert json.loads(home.read(".claude.json")) == {"mcpServers": {"other": other}}


def test_a_command_of_another_name_that_was_installed_is_taken_out(
    home: Home, tmp_path: Path
) -> None:
    wrapper = tmp_path / "memory"
    wrapper.symlink_to(COMMAND)
    home("install", "codex", "--command", wrapper)
    home("remove", "codex")
    assert home.files() == {}


@pytest.mark.parametrize("host", HOSTS)
def test_status_tells_what_stands_and_whether_it_is_current(home: Home, host: str) -> None:
    none = home("status", host)
    assert (none["installed"], none["current"], none["label"]) == (False, False, None)
    assert {one["state"] for one in none["parts"]} == {"absent"}
    home("install", host, "--label", "read-only")
    stands = home("status", host)
    assert (stands["installed"], stands["current"]) == (True, True)
    assert stands["label"] == "read-only"
    assert {one["state"] for one in stands["parts"]} == {"current"}
    (home.path / sorted(OURS[host])[-1]).unlink()
    torn = home("status", host)
    assert (torn["installed"], torn["current"]) == (True, False)
    assert [one["state"] for one in torn["parts"]].count("absent") == 1


@pytest.mark.parametrize("host", HOSTS)
def test_status_knows_an_integration_that_is_off(home: Home, host: str) -> None:
    home("install", host, "--label", "off")
    off = home("status", host)
    assert (off["installed"], off["current"], off["label"]) == (True, True, "off")


@pytest.mark.parametrize("over", [(), ("--transport", "http", "--url", "http://127.0.0.1:1/mcp")])
def test_status_of_a_server_alone_tells_no_more_memory_than_it_has(
    home: Home, over: tuple[str, ...]
) -> None:
    home("install", "codex", "--label", "read-only", *over)
    (home.path / ".codex/hooks.json").unlink()
    told = home("status", "codex")
    assert (told["label"], told["current"]) == ("read-only", False)
    assert [one["state"] for one in told["parts"]] == ["current", "absent", "current"]


@pytest.mark.parametrize("host", HOSTS)
def test_status_knows_one_over_http(home: Home, host: str) -> None:
    over = ("--transport", "http", "--url", "http://127.0.0.1:7777/mcp")
    home("install", host, *over, "--token-variable", "PALACE_TOKEN")
    assert home("status", host)["current"]


@pytest.mark.parametrize("host", HOSTS)
def test_of_another_palace_or_command_it_is_outdated(home: Home, host: str, tmp_path: Path) -> None:
    home("install", host)
    moved = tmp_path / "bin" / "palacelog"
    moved.parent.mkdir()
    moved.symlink_to(COMMAND)
    told = home("status", host, "--command", moved)
    assert not told["current"]
    assert "outdated" in {one["state"] for one in told["parts"]}
    home("install", host, "--command", moved)
    assert home("status", host, "--command", moved)["current"]


@pytest.mark.parametrize(
    ("host", "variable", "moved"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", {".claude.json", "settings.json"}),
        ("codex", "CODEX_HOME", {"config.toml", "hooks.json"}),
        (
            "opencode",
            "XDG_CONFIG_HOME",
            {"opencode/opencode.json", "opencode/plugins/palacelog.js"},
        ),
        ("pi", "PI_CODING_AGENT_DIR", {"extensions/palacelog.ts"}),
    ],
)
def test_variables_that_move_a_host_s_files_are_heeded(
    tmp_path: Path, host: str, variable: str, moved: set[str]
) -> None:
    home = Home(tmp_path)
    home.line.environment[variable] = str(home.path / "moved")
    home("install", host)
    found = home.files().keys()
    assert {f"moved/{name}" for name in moved} <= found
    assert all(name.startswith(("moved/", ".agents/")) for name in found)
    home("remove", host)
    assert home.files() == {}


BROKEN = [
    ("claude-code", ".claude.json", b'{"mcpServers": '),
    ("claude-code", ".claude.json", b'{"mcpServers": []}'),
    ("claude-code", ".claude.json", b"\xff\xfe{}"),
    ("claude-code", ".claude/settings.json", b"[]"),
    ("claude-code", ".claude/skills/palacelog/SKILL.md", b"somebody's own skill\n"),
    ("codex", ".codex/config.toml", b"model = "),
    ("codex", ".codex/config.toml", b"mcp_servers = 5\n"),
    ("codex", ".codex/hooks.json", b'{"hooks": {"SessionStart": {}}}'),
    ("opencode", ".config/opencode/opencode.json", b'{"mcp": 1}'),
    ("opencode", ".config/opencode/opencode.json", b"{,}{"),
    ("opencode", ".config/opencode/plugins/palacelog.js", b"export default 1\n"),
    ("pi", ".pi/agent/extensions/palacelog.ts", b"export default () => {}\n"),
]


@pytest.mark.parametrize(("host", "name", "held"), BROKEN, ids=range(len(BROKEN)))
def test_a_file_that_cannot_be_edited_stops_all_of_it(
    home: Home, host: str, name: str, held: bytes
) -> None:
    home.write(name, held)
    before = home.files()
    ended = home.run("install", host)
    assert ended.code == 3
    [error] = ended.errors
    assert error["code"] == "palacelog::integration::unreadable"
    assert name in error["error"]
    assert error["help"]
    assert home.files() == before


def test_a_group_of_hooks_that_also_holds_another_s_is_not_touched(home: Home) -> None:
    home("install", "claude-code")
    settings = json.loads(home.read(".claude/settings.json"))
    settings["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "date"})
    home.write(".claude/settings.json", json.dumps(settings))
    before = home.files()
    for words in (("remove", "claude-code"), ("install", "claude-code", "--label", "off")):
        [error] = home.run(*words).errors
        assert error["code"] == "palacelog::integration::unreadable"
        assert home.files() == before


def test_without_a_palace_nothing_is_installed(home: Home, tmp_path: Path) -> None:
    home.line.palace = tmp_path / "nowhere"
    [error] = home.run("install", "claude-code").errors
    assert error["code"] == "palacelog::palace::none"
    assert "palacelog init" in error["help"]
    assert home.files() == {}


def test_a_file_that_changes_meanwhile_is_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write(".claude.json", '{"a": 1}')
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        path.write_text('{"a": 2}')

    monkeypatch.setattr(host_files.os, "fsync", fsync)
    ended = home.run("install", "claude-code")
    assert ended.code == 1
    [error] = ended.errors
    assert error["code"] == "palacelog::integration::changed_meanwhile"
    assert path.read_text() == '{"a": 2}'
    assert not [name for name in home.files() if name.startswith("..")]


@pytest.mark.parametrize("host", HOSTS)
def test_a_disk_that_is_full_half_way_leaves_what_was_there(
    home: Home, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = with_files_of(home, host)
    last = str(home.path / sorted(OURS[host])[-1])
    real = os.replace

    def replace(made: str, target: Path) -> None:
        if str(target) == last or target.name == "SKILL.md":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        real(made, target)

    monkeypatch.setattr(host_files.os, "replace", replace)
    ended = home.run("install", host)
    assert ended.code == 3
    [error] = ended.errors
    assert error["code"] == "palacelog::integration::not_writable"
    assert home.files() == before
    assert not list(home.path.rglob("skills/palacelog"))


def test_what_was_kept_beside_earlier_is_there_again_after_a_full_disk(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_files_of(home, "claude-code")
    home.write(".claude.json.palacelog-backup", "of an earlier time")
    before = home.files()
    real = os.replace

    def replace(made: str, target: Path) -> None:
        if target.name == "settings.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        real(made, target)

    monkeypatch.setattr(host_files.os, "replace", replace)
    assert home.run("install", "claude-code").code == 3
    assert home.files() == before


def test_a_link_and_the_mode_of_a_file_stay(home: Home) -> None:
    real = home.write("dotfiles/claude.json", '{"a": 1}')
    real.chmod(0o600)
    (home.path / ".claude.json").symlink_to(real)
    home("install", "claude-code")
    assert (home.path / ".claude.json").is_symlink()
    assert "palacelog" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    backup = home.path / ".claude.json.palacelog-backup"
    assert backup.stat().st_mode & 0o777 == 0o600
    home("remove", "claude-code")
    assert (home.path / ".claude.json").is_symlink()
    assert real.read_text() == '{"a": 1}'


def test_what_is_kept_beside_can_never_be_read_by_others(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(".claude.json", '{"secret": 1}').chmod(0o600)
    real, modes = os.replace, []

    def replace(made: str, target: Path) -> None:
        if "secret" in Path(made).read_text():
            modes.append(Path(made).stat().st_mode & 0o777)
        real(made, target)

    monkeypatch.setattr(host_files.os, "replace", replace)
    home("install", "claude-code")
    assert modes == [0o600, 0o600]


def test_new_files_are_as_open_as_the_user_wants_new_files(home: Home) -> None:
    before = os.umask(0o077)
    try:
        home("install", "claude-code")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o077 for path in home.path.rglob("*.json")} == {0}


def test_a_link_that_led_nowhere_does_so_again(home: Home) -> None:
    link = home.path / ".claude.json"
    link.symlink_to(home.path / "dotfiles.json")
    home("install", "claude-code")
    assert "palacelog" in home.read("dotfiles.json")
    home("remove", "claude-code")
    assert link.is_symlink()
    assert not link.exists()


def test_an_interruption_half_way_leaves_what_was_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = with_files_of(home, "claude-code")
    real = os.replace

    def replace(made: str, target: Path) -> None:
        if target.name == "SKILL.md":
            raise KeyboardInterrupt
        real(made, target)

    monkeypatch.setattr(host_files.os, "replace", replace)
    assert home.run("install", "claude-code").code != 0
    assert home.files() == before
    assert not list(home.path.rglob("skills/palacelog"))


def server_in(home: Home, host: str) -> Any:
    """The entry of the server as it stands in the host's file."""
    if host == "codex":
        return tomllib.loads(home.read(".codex/config.toml"))["mcp_servers"]["palacelog"]
    name = ".claude.json" if host == "claude-code" else ".config/opencode/opencode.json"
    return json.loads(home.read(name))["mcpServers" if host == "claude-code" else "mcp"][
        "palacelog"
    ]


@pytest.mark.parametrize(("label", "mode"), [("full", "full"), ("read-only", "read_only")])
@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
def test_the_server_is_our_command_with_palace_and_ceiling(
    home: Home, host: str, label: str, mode: str
) -> None:
    home("install", host, "--label", label)
    entry = server_in(home, host)
    words = entry["command"] if host == "opencode" else [entry["command"], *entry["args"]]
    assert words == [str(COMMAND), "--palace", str(home.palace), "--mode", mode, "mcp"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (
            "claude-code",
            {
                "type": "http",
                "headers": {"X-Palacelog-Mode": "read_only", "Authorization": "Bearer ${T}"},
            },
        ),
        (
            "codex",
            {"bearer_token_env_var": "T", "http_headers": {"X-Palacelog-Mode": "read_only"}},
        ),
        (
            "opencode",
            {
                "type": "remote",
                "oauth": False,
                "headers": {"X-Palacelog-Mode": "read_only", "Authorization": "Bearer {env:T}"},
            },
        ),
    ],
)
def test_over_http_the_ceiling_and_the_token_s_variable_go_along(
    home: Home, host: str, expected: dict[str, Any]
) -> None:
    url = "http://127.0.0.1:7777/mcp"
    over = ("--transport", "http", "--url", url, "--token-variable", "T")
    home("install", host, *over, "--label", "read-only")
    entry = server_in(home, host)
    assert entry["url"] == url
    assert expected.items() <= entry.items()
    assert "command" not in entry


def shared(home: Home, palace: Path) -> list[str]:
    """What a project's `.mcp.json` says of a palace."""
    if not palace.exists():
        create_palace(palace, "laptop")
    home.line.palace = palace
    home("install", "claude-code", "--scope", "project")
    assert home("status", "claude-code", "--scope", "project")["current"]
    entry = json.loads(home.read("project/.mcp.json"))["mcpServers"]["palacelog"]
    return [entry["command"], *entry["args"]]


def test_what_a_team_shares_holds_nothing_of_this_machine(home: Home, tmp_path: Path) -> None:
    after = ["--mode", "full", "mcp"]
    assert shared(home, home.path / ".palacelog") == ["palacelog", *after]
    for palace, place in (
        (home.path / "my notes", "${PALACELOG_PALACE:-~/my notes}"),
        (home.project / "memory", "${CLAUDE_PROJECT_DIR:-.}/memory"),
        (tmp_path / "palace", f"${{PALACELOG_PALACE:-{tmp_path}/palace}}"),
    ):
        assert shared(home, palace) == ["palacelog", "--palace", place, *after]
    told = home("install", "claude-code", "--scope", "project")
    assert "on the PATH" in told["next"]
    settings = home.read("project/.claude/settings.local.json")
    assert str(COMMAND) in settings
    assert str(home.palace) in settings


def test_a_command_that_was_named_is_the_one_that_a_team_shares(home: Home, tmp_path: Path) -> None:
    wrapper = tmp_path / "palacelog"
    wrapper.symlink_to(COMMAND)
    home("install", "claude-code", "--scope", "project", "--command", wrapper)
    entry = json.loads(home.read("project/.mcp.json"))["mcpServers"]["palacelog"]
    assert entry["command"] == str(wrapper)


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        (("--transport", "http", "--url", "http://127.0.0.1:1/mcp"), True),
        (("--command", COMMAND), True),
        (("--label", "off"), False),
    ],
)
def test_only_who_shares_a_command_on_the_path_is_told_of_it(
    home: Home, options: tuple[object, ...], asks: bool
) -> None:
    told = home("install", "claude-code", "--scope", "project", *options)["next"]
    assert "PATH" not in told
    assert ("asks before" in told) == asks


def test_what_a_team_shares_is_taken_out_again_whatever_the_command_is_called(
    home: Home, tmp_path: Path
) -> None:
    wrapper = tmp_path / "our-memory"
    wrapper.symlink_to(COMMAND)
    home.line.palace = home.path / ".palacelog"
    create_palace(home.line.palace, "laptop")
    before = home.files()
    named = ("claude-code", "--scope", "project", "--command", wrapper)
    home("install", *named)
    assert home("status", *named)["current"]
    assert set(actions(home("remove", "claude-code", "--scope", "project"))) == {"remove"}
    assert home.files() == before


def test_a_default_palace_behind_a_link_is_shared_as_the_default_one(
    home: Home, tmp_path: Path
) -> None:
    create_palace(tmp_path / "large disk", "laptop")
    (home.path / ".palacelog").symlink_to(tmp_path / "large disk")
    assert shared(home, home.path / ".palacelog") == ["palacelog", "--mode", "full", "mcp"]


def test_an_address_may_end_with_a_slash(home: Home) -> None:
    over = ("--transport", "http", "--url", "http://127.0.0.1:1/mcp/")
    home("install", "pi", *over)
    assert '"url": "http://127.0.0.1:1"' in home.read(".pi/agent/extensions/palacelog.ts")


@pytest.mark.parametrize(
    "words",
    [("--transport", "http"), ("--url", "http://a/mcp"), ("--transport", "http", "--url", "x")],
)
def test_an_address_goes_with_http_and_http_with_an_address(
    home: Home, words: tuple[str, ...]
) -> None:
    ended = home.run("install", "claude-code", *words)
    assert ended.code == 2
    assert "--url" in ended.errors[0]["error"]
    assert home.files() == {}


def test_opencode_2_gets_its_own_shape_and_what_is_1_stays_1(home: Home) -> None:
    path = ".config/opencode/opencode.jsonc"
    home.write(path, '{"mcp": {"servers": {"x": {}}}}')
    home("install", "opencode")
    entry = json.loads(home.read(path))["mcp"]["servers"]["palacelog"]
    assert entry["disabled"] is False
    assert "enabled" not in entry
    home("install", "opencode", "--label", "off")
    assert json.loads(home.read(path))["mcp"]["servers"]["palacelog"]["disabled"] is True


def test_with_off_no_host_starts_a_server_and_none_lists_a_skill(home: Home) -> None:
    for host in HOSTS:
        home("install", host)
        home("install", host, "--label", "off")
    assert ".claude.json" not in home.files()
    assert server_in(home, "codex")["enabled"] is False
    assert server_in(home, "opencode")["enabled"] is False
    assert not [name for name in home.files() if name.endswith("SKILL.md")]


SNIPPETS = [
    ("claude-desktop", "mcpServers", {"command", "args"}),
    ("cursor", "mcpServers", {"type", "command", "args"}),
    ("vscode", "servers", {"type", "command", "args"}),
]


@pytest.mark.parametrize(("host", "root", "keys"), SNIPPETS)
def test_a_snippet_is_what_the_host_reads(home: Home, host: str, root: str, keys: set[str]) -> None:
    entry = home("print", host, "--label", "read-only")[root]["palacelog"]
    assert entry.keys() == keys
    assert [entry["command"], *entry["args"]] == [
        str(COMMAND), "--palace", str(home.palace), "--mode", "read_only", "mcp"
    ]  # fmt: skip
    assert home("print", host, "--label", "off") == {root: {}}
    assert home.files() == {}


def test_a_snippet_over_http_is_for_hosts_that_take_one(home: Home) -> None:
    over = ("--transport", "http", "--url", "https://palace.example/mcp", "--token-variable", "T")
    entry = home("print", "vscode", *over)["servers"]["palacelog"]
    assert entry["headers"]["Authorization"] == "Bearer ${env:T}"
    ended = home.run("print", "claude-desktop", *over)
    assert ended.code == 2
    assert ended.errors[0]["code"] == "palacelog::input::invalid"


@pytest.fixture
def seen(home: Home, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(home.project)
    return lambda *words: home.line.seen("integrate", *words)


def test_a_person_sees_tables_and_what_to_do_next(seen: Any) -> None:
    code, told = seen("install", "codex")
    assert code == 0
    assert "/hooks" in told
    assert "~/.codex/config.toml" in told
    assert "current" in seen("status", "codex")[1]
    assert "Nothing was changed" in seen("remove", "codex", "--dry-run")[1]
    assert "Into ~/.cursor/mcp.json" in seen("print", "cursor")[1]


def test_a_person_sees_what_was_left(home: Home, seen: Any) -> None:
    home.write(".claude.json", BY_HAND[0][2])
    _, told = seen("remove", "claude-code")
    assert "leave" in told
    assert "palacelog::integration::not_ours" in told
    assert "by hand" in told


def test_a_skill_fits_every_host(home: Home) -> None:
    home("install", "claude-code")
    text = home.read(".claude/skills/palacelog/SKILL.md")
    _, front, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields.keys() == {"name", "description"}
    assert fields["name"] == "palacelog"
    assert 100 < len(fields["description"]) <= 1024
    assert ": " not in fields["description"]
    for tool in ("search", "recall", "checkpoint", "add_drawer", "kg_add", "diary_write", "why"):
        assert f"`{tool}`" in body
        assert tool in CATALOG
