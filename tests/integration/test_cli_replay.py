"""Replaying files: what is wrong with a file is told, changes nothing, and stops no other file."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.outbox_file import LINE_BYTES_MAX
from tests.command_line import CommandLine, new_line

Lines = list[bytes]


@pytest.fixture
def primary(tmp_path: Path) -> CommandLine:
    """A palace that holds something already."""
    line = new_line(tmp_path / "primary", "primary")
    line.call("add_drawer", wing="home", room="notes", content="Here before.")
    return line


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The lines of an outbox of three operations."""
    folder = tmp_path_factory.mktemp("laptop")
    line = new_line(folder / "palace")
    for content in ("one", "two", "three"):
        line.call("add_drawer", wing="home", room="notes", content=content)
    line("outbox", "export", folder / "outbox.ndjson")
    return (folder / "outbox.ndjson").read_bytes().splitlines(keepends=True)


def sealed(lines: Lines, count: int = 3) -> bytes:
    """A file of lines with a last line that fits them: only what is in them is wrong."""
    body = b"".join(lines[:-1])
    last = {"count": count, "sha256": sha256(body).hexdigest()}
    return body + orjson.dumps(last) + b"\n"


def changed(lines: Lines, number: int, **fields: Any) -> Lines:
    """The lines with some fields of one changed."""
    line = orjson.loads(lines[number]) | fields
    return [*lines[:number], orjson.dumps(line) + b"\n", *lines[number + 1 :]]


def header_changed(lines: Lines, number: int, **fields: Any) -> Lines:
    """The lines with some fields of an event's header changed."""
    header = orjson.loads(base64.b64decode(orjson.loads(lines[number])["header"])) | fields
    encoded = base64.b64encode(orjson.dumps(header, option=orjson.OPT_SORT_KEYS)).decode()
    return changed(lines, number, header=encoded)


def twice(lines: Lines) -> bytes:
    """The first event's line with one key twice."""
    return b'{"payload":null,' + lines[1][1:]


BROKEN: dict[str, tuple[Callable[[Lines], bytes], str]] = {
    "empty": (lambda lines: b"", "line 1"),
    "no JSON": (lambda lines: b"hello\n", "line 1"),
    "binary": (lambda lines: bytes(range(256)) * 4, "line 1"),
    "another format": (lambda lines: b'{"format":"mbox","schema":1}\n', "palacelog-outbox"),
    "a log export": (
        lambda lines: sealed(changed(lines, 0, format="palacelog-log")), "palacelog-outbox"
    ),
    "a list": (lambda lines: b"[1]\n", "no JSON object"),
    "no device": (lambda lines: sealed(changed(lines, 0, device="No Device")), "no device"),
    "half a line": (lambda lines: b"".join(lines)[:-200], "truncated"),
    "no last line": (lambda lines: b"".join(lines[:-1]), "truncated"),
    "one event less": (lambda lines: b"".join([lines[0], *lines[2:]]), "local_seq is 2"),
    "another order": (lambda lines: sealed([lines[0], lines[2], lines[1], *lines[3:]]), "is next"),
    "an altered payload": (
        lambda lines: sealed(changed(lines, 2, payload={"content": "other"})), "digest"
    ),
    "an altered byte": (lambda lines: b"".join(lines).replace(b'"from":1', b'"from": 1'), "hash"),
    "another count": (lambda lines: sealed(lines, count=4), "counts 4"),
    "another's event": (lambda lines: sealed(changed(lines, 0, device="desktop")), "desktop"),
    "a key twice": (lambda lines: sealed([lines[0], twice(lines), *lines[2:]]), "twice"),
    "NaN": (
        lambda lines: sealed([lines[0], b'{"header":"","payload":NaN}\n', *lines[2:]]), "NaN"
    ),
    "a lone surrogate": (
        lambda lines: sealed([lines[0], b'{"header":"","payload":"\\ud800"}\n', *lines[2:]]),
        "surrogate",
    ),
    "deep nesting": (
        lambda lines: sealed([lines[0], b"[" * 100_000 + b"\n", *lines[2:]]), "nested"
    ),
    "no base64": (lambda lines: sealed(changed(lines, 1, header="?")), "base64"),
    "an unknown field": (lambda lines: sealed(changed(lines, 1, owner="me")), "fields"),
    "an unknown tool": (lambda lines: sealed(header_changed(lines, 1, tool="format_disk")), ""),
    "a huge line": (
        lambda lines: lines[0] + b'{"header":"' + b"A" * LINE_BYTES_MAX + b'"}\n', "longer than"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_file_with_an_error_in_form_changes_nothing(
    primary: CommandLine, exported: Lines, tmp_path: Path, fault: str
) -> None:
    broken, names = BROKEN[fault]
    file = tmp_path / "outbox.ndjson"
    file.write_bytes(broken(exported))
    with primary.stops(2, "replay::malformed", names=names):
        primary("replay", file)


@pytest.mark.parametrize("newer", ["file", "event"])
def test_a_file_of_a_newer_schema_says_what_to_install(
    primary: CommandLine, exported: Lines, tmp_path: Path, newer: str
) -> None:
    lines = exported
    changed_lines = (
        changed(lines, 0, schema=2) if newer == "file" else header_changed(lines, 2, schema=2)
    )
    file = tmp_path / "outbox.ndjson"
    file.write_bytes(sealed(changed_lines))
    with primary.stops(3, "replay::newer_schema", names="schema 2"):
        primary("replay", file)


def test_what_is_no_file_is_named(primary: CommandLine, tmp_path: Path) -> None:
    with primary.stops(2, "input::invalid", names="nowhere"):
        primary("replay", tmp_path / "nowhere.ndjson")
    with primary.stops(2, "input::invalid", names=str(tmp_path)):
        primary("replay", tmp_path)


def test_each_file_goes_on_independently(
    primary: CommandLine, exported: Lines, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole.ndjson", tmp_path / "broken.ndjson"
    whole.write_bytes(b"".join(exported))
    broken.write_bytes(b"".join(exported)[:-10])
    ended = primary.run("replay", broken, whole, tmp_path / "nowhere", whole)
    assert ended.code == 2
    told = ended.answer["files"]
    assert [one.get("appended") for one in told] == [None, 3, None, 0]
    assert [one.get("duplicates") for one in told] == [None, 0, None, 3]
    codes = [one["error"]["code"] for one in told if "error" in one]
    assert codes == ["palacelog::replay::malformed", "palacelog::input::invalid"]
    assert [one["code"] for one in ended.errors] == codes


def test_a_file_that_comes_too_early_is_incomplete_and_later_whole(
    tmp_path: Path, primary: CommandLine
) -> None:
    laptop = new_line(tmp_path / "laptop")
    for content in ("one", "two", "three"):
        laptop.call("add_drawer", wing="home", room="notes", content=content)
    whole, tail = tmp_path / "whole.ndjson", tmp_path / "tail.ndjson"
    laptop("outbox", "export", whole)
    laptop("outbox", "export", tail, "--from", "3")

    ended = primary.run("replay", tail, whole, tail)
    assert ended.code == 5
    first, second, third = ended.answer["files"]
    assert first["stopped"] == {"at": 3, "outcome": "gap", "expected": 1}
    assert (first["appended"], first["upto"]) == (0, 2)
    assert (second["appended"], third["duplicates"]) == (3, 1)
    assert [one["code"] for one in ended.errors] == ["palacelog::replay::gap"]
    assert primary("replay", tail)["files"][0]["duplicates"] == 1


def test_a_copied_device_is_noticed(tmp_path: Path, primary: CommandLine) -> None:
    files = []
    for name, content in (("laptop", "one life"), ("copy", "another life")):
        line = new_line(tmp_path / name)
        line.call("add_drawer", wing="home", room="notes", content=content)
        files.append(tmp_path / f"{name}.ndjson")
        line("outbox", "export", files[-1])
    primary("replay", files[0])
    ended = primary.run("replay", files[1])
    assert ended.code == 5
    assert ended.answer["files"][0]["stopped"]["outcome"] == "forked"
    assert ended.errors[0]["code"] == "palacelog::replay::forked"


def test_a_palace_that_cannot_write_stops_the_rest(
    primary: CommandLine, exported: Lines, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    primary("backup", backup)
    primary.call("add_drawer", wing="home", room="notes", content="Lost in a moment.")
    (primary.palace / "log.db").write_bytes((backup / "log.db").read_bytes())
    file = tmp_path / "whole.ndjson"
    file.write_bytes(b"".join(exported))
    with primary.stops(3, "log::truncated", names="position 2"):
        primary("replay", file, file)


@pytest.mark.parametrize(
    ("receipt", "code", "name"),
    [
        ("for another device", 1, "outbox::other_device"),
        ("for another stream", 1, "outbox::other_stream"),
        ("beyond the stream", 1, "outbox::other_stream"),
        ("no receipt", 2, "outbox::no_receipt"),
        ("half a receipt", 2, "outbox::no_receipt"),
        ("a wrong type", 2, "outbox::no_receipt"),
        ("a number out of range", 2, "outbox::no_receipt"),
        ("nowhere", 2, "input::invalid"),
    ],
)
def test_only_a_receipt_for_this_stream_is_acknowledged(
    primary: CommandLine, tmp_path: Path, receipt: str, code: int, name: str
) -> None:
    laptop, desktop = new_line(tmp_path / "laptop"), new_line(tmp_path / "desktop", "desktop")
    for line in (laptop, desktop):
        line.call("add_drawer", wing="home", room="notes", content="mine")
    outbox, path = tmp_path / "outbox.ndjson", tmp_path / "receipt.json"
    sender = desktop if receipt == "for another device" else laptop
    sender("outbox", "export", outbox)
    primary("replay", outbox, "--receipt", path)
    told = orjson.loads(path.read_bytes())
    changes: dict[str, dict[str, Any]] = {
        "for another stream": {"chain": "0" * 64},
        "beyond the stream": {"upto": 7},
        "no receipt": {"format": "palacelog-outbox"},
        "a wrong type": {"orders": []},
        "a number out of range": {"hlc": 2**63 - 1, "upto": -1},
    }
    path.write_bytes(orjson.dumps(told | changes.get(receipt, {})))
    if receipt == "half a receipt":
        path.write_bytes(path.read_bytes()[:40])
    if receipt == "nowhere":
        path.unlink()
    with laptop.stops(code, name):
        laptop("outbox", "acknowledge", path)


def test_a_receipt_that_cannot_be_written_is_noticed_before_anything_is_replayed(
    primary: CommandLine, exported: Lines, tmp_path: Path
) -> None:
    file = tmp_path / "whole.ndjson"
    file.write_bytes(b"".join(exported))
    with primary.stops(2, "input::invalid", names="--receipt"):
        primary("replay", file, "--receipt", tmp_path / "no" / "receipt.json")


def test_a_copied_device_leaves_the_fork_and_both_lives_are_held(
    tmp_path: Path, primary: CommandLine
) -> None:
    """Promise 8: what the error advises drains the outbox."""
    laptop = new_line(tmp_path / "laptop")
    laptop.call("add_drawer", wing="home", room="notes", content="in common")
    shutil.copytree(laptop.palace, tmp_path / "copy")
    copy, files = CommandLine(tmp_path / "copy"), [tmp_path / "one", tmp_path / "other"]
    for line, file in ((laptop, files[0]), (copy, files[1])):
        line.call("add_drawer", wing="home", room="notes", content=str(file))
        line("outbox", "export", file)
    primary("replay", files[0])
    ended = primary.run("replay", files[1])
    assert "`palacelog outbox fork --device laptop --after 1`" in ended.errors[0]["help"]

    done = copy("outbox", "fork", "--device", "laptop", "--after", "1")
    assert (done["device"], done["moved"]) == ("laptop~2", 1)
    assert (Path(done["set_aside"]) / "backup.json").is_file()
    copy("outbox", "export", files[1])
    primary("replay", files[1])
    primary("outbox", "export", files[0], "--device", "laptop", "--from", "1")
    copy("replay", files[0])
    held = [primary.call("list_drawers")["total"], copy.call("list_drawers")["total"]]
    assert held == [4, 3]
    with copy.stops(1, "outbox::not_forked"):
        copy("outbox", "fork", "--after", "1")
