"""A person stores, reads and finds memory; the options are the arguments of the operations."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest
from pydantic import Field

from domain.catalog import CATALOG
from domain.operation import CONTENT_BYTES_MAX
from domain.operations.filing import NoteAsks
from palacelog.cli import facts, memory, removing
from palacelog.cli.from_models import ASKED_OTHERWISE, Form, asked_by
from tests.command_line import COMMAND, CommandLine, at_terminal, new_line, plain

FORMS: dict[tuple[str, ...], Form] = (
    {(name,): form for name, (_, form) in memory.FORMS.items()}
    | {("diary", name): form for name, (_, form) in memory.DIARY_FORMS.items()}
    | {("kg", name): form for name, (_, form) in facts.FORMS.items()}
    | {(name,): form for name, (_, form) in removing.FORMS.items()}
)
ODD_TEXTS = ("- a dash", "--wing", 'it\'s "quoted" $HOME `x`', "caf\u00e9 \u8336", "two\nlines\n")


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return new_line(tmp_path / "palace")


def content(line: CommandLine, drawer: str) -> Any:
    return line("get", drawer)["drawer"]["content"]


def editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize("path", FORMS, ids=" ".join)
def test_a_command_takes_what_its_operations_ask_for(path: tuple[str, ...]) -> None:
    command: Any = COMMAND
    for name in path:
        command = command.commands[name]
    asked: dict[str, Any] = {}
    for tool in FORMS[path].tools:
        asked |= CATALOG[tool].asks.model_json_schema()["properties"]
    expected = set(asked) - ASKED_OTHERWISE - FORMS[path].left_out
    options = {
        (one.name.rstrip("_") if one.opts[0].startswith("--") else one.name): one
        for one in command.params
    }
    assert set(options) - {"file", "yes"} == expected
    for name in expected:
        assert options[name].help
        if name not in FORMS[path].positional:
            assert f"--{name.replace('_', '-')}" in options[name].opts


def test_a_new_argument_of_an_operation_is_an_option_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class MoreAsks(NoteAsks):
        mood: Literal["calm", "glad"] = Field("calm", description="How it was written.")

    entry = replace(CATALOG["note"], asks=MoreAsks)
    monkeypatch.setitem(CATALOG, "note", entry)
    [found] = [one for one in asked_by(FORMS["note",]) if one.name == "mood"]
    assert (found.kind, found.choices) == ("choice", ("calm", "glad"))
    assert (found.default, found.meaning) == ("calm", "How it was written.")


def test_a_text_is_stored_and_read_back_with_all_that_was_said_of_it(line: CommandLine) -> None:
    done = line(
        "add", "Tea at four.", "--wing", "home", "--room", "notes", "--tags", "tea, time",
        "--tags", '["with, comma"]', "--source-file", "tea.md", "--valid-from", "2026-01-05",
        "--valid-to", "2026-02-01", "--metadata", '{"cups": 2}', "--added-by", "Kiran",
    )  # fmt: skip
    held = line("get", done["drawer_id"])["drawer"]
    assert held["content"] == "Tea at four."
    assert held["tags"] == ["tea", "time", "with, comma"]
    assert (held["source_file"], held["added_by"]) == ("tea.md", "Kiran")
    assert held["metadata"] == {"cups": 2}
    assert held["valid_from"] == "2026-01-05T00:00:00.000000Z"
    assert held["valid_to"] == "2026-02-02T00:00:00.000000Z"


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_is_stored_as_given_wherever_it_comes_from(
    line: CommandLine, tmp_path: Path, text: str
) -> None:
    place = ("--wing", "home", "--room", "notes")
    (tmp_path / "text").write_bytes(text.encode())
    done = [
        line("add", *place, "--", text),
        line("add", *place, "-", stdin=text.encode()),
        line("add", *place, "--file", "-", stdin=text.encode()),
        line("add", *place, "--file", tmp_path / "text"),
    ]
    assert len({one["drawer_id"] for one in done}) == 1
    assert [one["duplicate"] for one in done] == [False, True, True, True]
    assert content(line, done[0]["drawer_id"]) == text
    assert [one["preview"] for one in line("list")["drawers"]] == [text]


def test_composed_and_decomposed_texts_are_the_same_text(line: CommandLine) -> None:
    composed = "caf\u00e9"
    place = ("--wing", composed, "--room", "notes")
    first = line("add", composed, *place)
    again = line("add", unicodedata.normalize("NFD", composed), *place)
    assert again["duplicate"] is True
    assert content(line, first["drawer_id"]) == composed
    named = unicodedata.normalize("NFD", composed)
    assert line("list", "--wing", named)["total"] == line("search", named)["total"] == 1


def test_without_a_text_the_editor_opens_at_a_terminal(line: CommandLine, tmp_path: Path) -> None:
    line.environment |= {"VISUAL": editor(tmp_path, 'printf "one\\n\\ntwo\\n" > "$1"')}
    code, seen = line.seen("add", "--wing", "home", "--room", "notes")
    assert code == 0, seen
    [drawer] = line("list")["drawers"]
    assert content(line, drawer["id"]) == "one\n\ntwo"
    assert not list(line.palace.glob("unstored-*"))


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 0", "empty"), ('echo " " > "$1"', "empty"), ("exit 3", "ended with code 3")],
)
def test_an_editor_that_leaves_no_text_stores_nothing(
    line: CommandLine, tmp_path: Path, script: str, said: str
) -> None:
    line.environment |= {"VISUAL": editor(tmp_path, script)}
    code, seen = line.seen("note", "--wing", "home")
    assert code == 2
    assert said in seen
    assert line("status")["head"] == 0
    assert not list(line.palace.glob("unstored-*"))


def test_what_was_written_in_the_editor_is_kept_where_it_cannot_be_stored(
    line: CommandLine, tmp_path: Path
) -> None:
    line.environment |= {"VISUAL": editor(tmp_path, 'echo "an hour of work" > "$1"')}
    code, seen = line.seen("note", "--wing", "a/b")
    assert code == 2
    [kept] = line.palace.glob("unstored-*")
    assert kept.name in seen.replace("\n", "")
    assert kept.read_text() == "an hour of work\n"


def test_the_editor_does_not_open_where_nothing_may_be_written(
    line: CommandLine, tmp_path: Path
) -> None:
    line.environment |= {"VISUAL": editor(tmp_path, f"touch {tmp_path / 'opened'}")}
    code, _ = line.seen("note", before=("--mode", "read_only"))
    assert code == 1
    assert not (tmp_path / "opened").exists()
    refused = line("log", "list", "--outcome", "refused")["operations"]
    assert [one["tool"] for one in refused] == ["note"]


def test_bad_input_changes_nothing(line: CommandLine, tmp_path: Path) -> None:
    place = ("--wing", "home", "--room", "notes")
    (tmp_path / "latin").write_bytes("caf\u00e9".encode("latin-1"))
    with line.stops(2, "input::invalid", names="content"):
        line("add", *place)
    with line.stops(2, "input::invalid", names="content"):
        line("add", " ", *place)
    with line.stops(2, "input::invalid", names="--file"):
        line("add", "text", *place, "--file", tmp_path / "latin")
    with line.stops(2, "input::invalid", names="UTF-8"):
        line("add", *place, "--file", tmp_path / "latin")
    with line.stops(2, "input::file", names="nowhere"):
        line("add", *place, "--file", tmp_path / "nowhere")
    with line.stops(2, "input::invalid", names="metadata"):
        line("add", "text", *place, "--metadata", "{")
    with line.stops(2, "input::invalid", names="valid_from"):
        line("add", "text", *place, "--valid-from", "soon")
    with line.stops(2, "input::usage", names="--room"):
        line("add", "text", "--wing", "home")
    with line.stops(2, "input::usage", names="--direction"):
        line("kg", "query", "tea", "--direction", "up")
    with line.stops(2, "input::usage", names="--limit"):
        line("list", "--limit", "many")
    with line.stops(2, "input::usage"):
        line("add", "- a dash", *place)
    assert "after `--`" in line.stopped["help"]
    with line.stops(1, "mode::forbidden"):
        line("add", "text", *place, before=("--mode", "read_only"))
    with line.stops(2, "input::invalid", names="--known-at"):
        line("add", "text", *place, before=("--known-at", "@1"))


def test_a_text_that_is_too_large_is_refused_before_it_is_read_whole(line: CommandLine) -> None:
    text = b"x" * (CONTENT_BYTES_MAX + 1)
    with line.stops(2, "input::invalid", names="larger"):
        line("note", "-", "--wing", "home", stdin=text)
    with line.stops(2, "input::invalid", names="larger"):
        line("note", "-", "--wing", "home", stdin=text * 3)


def test_searching_lists_where_when_and_the_id(line: CommandLine) -> None:
    done = line("add", "The cache is one [bold]file[/bold].", "--wing", "atlas", "--room", "plans")
    assert line("search", "cache", "--wing", "atlas")["hits"][0]["drawer_id"] == done["drawer_id"]
    assert line("search", "cache", "--wing", "home")["hits"] == []
    code, seen = at_terminal(line, "search", "cache")
    assert code == 0
    assert "\x1b[" in seen
    for part in ("atlas/plans", done["drawer_id"], "[bold]file[/bold]", "1 in all"):
        assert part in plain(seen)
    assert "Nothing was found." in line.seen("search", "redis")[1]


def test_a_drawer_is_read_in_full_with_its_history_at_any_moment(line: CommandLine) -> None:
    long = "A sentence that is wrapped. " * 20
    done = line("add", long, "--wing", "home", "--room", "notes")
    new = line.call("update_drawer", drawer_id=done["drawer_id"], content="short")["drawer_id"]
    assert content(line, done["drawer_id"]) == "short"
    then = line("get", done["drawer_id"], before=("--known-at", "@1"))["drawer"]
    assert then["content"] == long
    code, seen = line.seen("get", done["drawer_id"], before=("--known-at", "@1"))
    assert code == 0
    assert seen.count("wrapped.") == 20
    assert max(map(len, seen.splitlines())) <= 100
    versions = line("history", new)["versions"]
    assert [one["content"] for one in versions] == [long, "short"]
    assert line("list", before=("--at", "@0"))["drawers"] == []
    with line.stops(1, "drawers::unknown"):
        line("get", "drawer_x")


def test_notes_diaries_and_blocks_are_read_back(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    noted = line("note", "The tests need Redis.", "--tags", "tests")
    assert (noted["wing"], noted["room"]) == ("project", "notes")
    assert content(line, noted["drawer_id"]) == "The tests need Redis."
    line("diary", "write", "scribe", "Cold cache.", "--topic", "atlas")
    line("diary", "write", "scribe", "-", stdin=b"Warm cache.")
    read = line("diary", "read", "scribe", "--last-n", "1")
    assert [one["content"] for one in read["entries"]] == ["Warm cache."]
    assert read["total"] == 2
    assert "Redis" in line("recall", "What do the tests need?")["block"]
    assert "Redis" in line("wake-up", "--max-items", "5")["block"]
    for words in ("recall tests", "wake-up", "diary read scribe", "diary read nobody", "list"):
        code, seen = line.seen(*words.split())
        assert code == 0
        assert "{" not in seen
    assert "Cold cache." in line.seen("diary", "read", "scribe")[1]


def test_a_checkpoint_is_read_from_an_object_a_list_and_lines(
    line: CommandLine, tmp_path: Path
) -> None:
    items = [{"wing": "home", "room": "notes", "content": f"text {n}"} for n in range(4)]
    diary = {"agent_name": "scribe", "entry": "All filed."}
    file = tmp_path / "items"
    file.write_bytes(orjson.dumps({"items": items[:1], "diary": diary}))
    whole = line("checkpoint", file)
    assert (whole["stored"], bool(whole["diary_id"])) == (1, True)
    as_list = line("checkpoint", "-", "--drop-duplicates", stdin=orjson.dumps(items[:2]))
    assert (as_list["stored"], as_list["dropped"]) == (1, 1)
    lines = b"\n\n".join(map(orjson.dumps, items[2:]))
    assert line("checkpoint", "-", stdin=lines)["stored"] == 2
    assert line("checkpoint", "-", stdin=orjson.dumps(items[0]))["items"][0]["duplicate"]
    held = {one["preview"] for one in line("list", "--room", "notes")["drawers"]}
    assert held == {one["content"] for one in items}
    assert line("diary", "read", "scribe")["entries"][0]["content"] == "All filed."


@pytest.mark.parametrize(
    ("text", "said"),
    [(b"", "empty"), (b"7", "neither"), (b"{", "JSON"), (b'{"a": 1}\n{', "line 2"),
     (b'[{"wing": "home"}]', "items.0.room"), (b'{"text": []}', "text"), (b"[]", "neither")],
)  # fmt: skip
def test_a_checkpoint_that_cannot_be_read_stores_nothing(
    line: CommandLine, text: bytes, said: str
) -> None:
    with line.stops(2, "input::invalid", names=said):
        line("checkpoint", "-", stdin=text)


def test_facts_are_stated_asked_ended_and_replaced(line: CommandLine) -> None:
    def objects(*before: str) -> list[str]:
        found = line("kg", "query", "atlas", before=before)["facts"]
        return [one["object"] for one in found]

    line("kg", "declare", "cache", "one")
    line("kg", "add", "atlas", "cache", "SQLite", "--valid-from", "2026-01-05",
         "--confidence", "0.5")  # fmt: skip
    line("kg", "supersede", "atlas", "cache", "SQLite", "Redis", "--at", "2026-03-02")
    assert objects() == ["Redis"]
    assert objects("--as-of", "2026-02-15") == ["SQLite"]
    line("kg", "invalidate", "atlas", "cache", "Redis", "--ended", "2026-04-01")
    assert objects() == []
    assert [one["object"] for one in line("kg", "timeline", "atlas")["facts"]] == [
        "SQLite", "Redis"
    ]  # fmt: skip
    assert len(line("kg", "query", "atlas", "--include-historical")["facts"]) == 2
    assert line("log", "list", "--tool", "kg_declare_predicate")["total"] == 1
    with line.stops(2, "input::usage", names="cardinality"):
        line("kg", "declare", "cache", "several")
    with line.stops(2, "input::invalid", names="confidence"):
        line("kg", "add", "atlas", "cache", "none", "--confidence", "2")


def test_a_conflict_is_listed_and_settled(line: CommandLine, tmp_path: Path) -> None:
    other = new_line(tmp_path / "other", "desktop")
    line("kg", "add", "atlas", "cache", "SQLite", "--valid-from", "2026-01-05")
    line("outbox", "export", tmp_path / "one")
    other("replay", tmp_path / "one")
    line("kg", "supersede", "atlas", "cache", "SQLite", "Redis", "--at", "2026-03-02")
    other("kg", "supersede", "atlas", "cache", "SQLite", "DuckDB", "--at", "2026-03-03")
    other("outbox", "export", tmp_path / "two")
    line("replay", tmp_path / "two")
    [conflict] = line("kg", "conflicts")["conflicts"]
    assert conflict["id"][:12] in line.seen("kg", "conflicts")[1]
    line("kg", "resolve", conflict["id"], "Redis it is.")
    assert line("kg", "conflicts")["conflicts"] == []
    [settled] = line("kg", "conflicts", "--no-open")["conflicts"]
    assert settled["resolved"]["resolution"] == "Redis it is."


def test_a_call_repeated_with_its_key_writes_nothing(line: CommandLine) -> None:
    words = ("note", "once", "--wing", "home", "--idempotency-key", "k1")
    assert line(*words) == line(*words)
    assert line("status")["head"] == 1


def test_wings_and_rooms_are_completed_from_the_palace(line: CommandLine) -> None:
    line("add", "text", "--wing", "home", "--room", "notes")
    line("add", "text", "--wing", "harbour", "--room", "boats")

    def completed(words: str) -> list[str]:
        asked = {"_PALACELOG_COMPLETE": "complete_bash", "COMP_WORDS": words,
                 "COMP_CWORD": str(len(words.split(" ")) - 1)}  # fmt: skip
        return CommandLine(line.palace, **asked).run().out.decode().split()

    before = f"palacelog --palace {line.palace}"
    assert completed(f"{before} list --wing h") == ["harbour", "home"]
    assert completed(f"{before} list --wing harbour --room ") == ["boats"]
    assert completed(f"{before} --mode disabled list --wing h") == []
    assert "out" in completed(f"{before} kg query x --direction ")
