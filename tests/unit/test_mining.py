"""Which files are looked at, and what is a text."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest

from domain.operation import CONTENT_BYTES_MAX
from palacelog.mining.reading import read_text
from palacelog.mining.walking import holds_secrets, walk


def made(top: Path, *names: str, text: str = "text") -> Path:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def seen(top: Path) -> list[str]:
    """The files that would be read."""
    return [os.path.relpath(one.path, top) for one in walk(top) if one.reason is None]


def reasons(top: Path) -> dict[str, str]:
    """What is named and not read."""
    return {os.path.relpath(one.path, top): one.reason for one in walk(top) if one.reason}


def test_the_order_is_always_the_same(tmp_path: Path) -> None:
    made(tmp_path, "b.md", "a/z.md", "a/a.md", "c/d/e.md", "B.md")
    assert seen(tmp_path) == ["B.md", "a/a.md", "a/z.md", "b.md", "c/d/e.md"]
    assert [one.below for one in walk(tmp_path)] == [None, "a", "a", None, "c"]


def test_a_file_alone_is_read_whatever_is_beside_it(tmp_path: Path) -> None:
    made(tmp_path, "a.md", "b.md", ".gitignore", text="*")
    assert [one.name for one in walk(tmp_path / "a.md")] == [str(tmp_path / "a.md")]


def test_hidden_folders_and_what_nobody_wrote_are_left_alone(tmp_path: Path) -> None:
    made(tmp_path, ".git/config", ".cache/a", "node_modules/a.js", "x/__pycache__/a", "y/.z", "k")
    assert seen(tmp_path) == ["k", "y/.z"]
    assert reasons(tmp_path) == {}


def test_what_git_ignores_is_left_alone(tmp_path: Path) -> None:
    made(tmp_path, "a.log", "keep.log", "build/a.md", "deep/a.tmp", "deep/b.md", "deep/build.md")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n.gitignore\n")
    (tmp_path / "deep" / ".gitignore").write_text("*.tmp\n.gitignore\n")
    assert seen(tmp_path) == ["deep/b.md", "deep/build.md", "keep.log"]


def test_the_nearest_rules_win(tmp_path: Path) -> None:
    made(tmp_path, "deep/a.log", "deep/b.log", "c.log")
    (tmp_path / ".gitignore").write_text("*.log\n.gitignore\n")
    (tmp_path / "deep" / ".gitignore").write_text("!a.log\n")
    assert seen(tmp_path) == ["deep/a.log"]


def test_rules_of_the_repository_above_hold_below(tmp_path: Path) -> None:
    made(tmp_path, ".git/HEAD", "docs/a.md", "docs/a.log", "docs/own.md")
    (tmp_path / ".gitignore").write_text("*.log\n/docs/own.md\n")
    (tmp_path / ".git/info").mkdir()
    (tmp_path / ".git/info/exclude").write_text("nothing\n")
    assert seen(tmp_path / "docs") == ["a.md"]
    (tmp_path / ".git/info/exclude").write_text("a.md\n")
    assert seen(tmp_path / "docs") == []


def test_a_folder_that_is_ignored_and_named_is_read(tmp_path: Path) -> None:
    made(tmp_path, ".git/HEAD", "build/a.md", "build/b.log")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert seen(tmp_path / "build") == ["a.md", "b.log"]


def test_rules_above_that_are_of_no_repository_do_not_hold(tmp_path: Path) -> None:
    made(tmp_path, "docs/a.md")
    (tmp_path / ".gitignore").write_text("*.md\n")
    assert seen(tmp_path / "docs") == ["a.md"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = made(tmp_path / "outside", "a.md", "b/c.md")
    inside = made(tmp_path / "inside", "own.md")
    (inside / "file").symlink_to(outside / "a.md")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert seen(inside) == ["own.md"]
    assert reasons(inside) == {"file": "link", "folder": "link", "loop": "link"}
    assert read_text(str(inside / "file")).reason == "link"


def test_palaces_are_left_alone(tmp_path: Path) -> None:
    made(tmp_path, "a.md", "p/palace.toml", "p/log.md")
    assert seen(tmp_path) == ["a.md"]
    assert reasons(tmp_path) == {"p": "palace"}


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", ".ENV", "server.pem", "TLS.KEY", "id_rsa", "id_ed25519"),
        *(".envrc", "prod.env", ".env~", ".env-prod", ".bash_history", "id_ed25519_sk"),
        *(".netrc", ".npmrc", "vault.kdbx", "credentials.json", "prod.tfvars", "secrets.yaml"),
    ],
)
def test_files_of_secrets_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    assert holds_secrets(name)
    made(tmp_path, name)
    assert seen(tmp_path) == []
    assert reasons(tmp_path) == {name: "secret"}


@pytest.mark.parametrize(
    "name", [".env.example", "example.env", "id_rsa.pub", "environment.md", "keys.md"]
)
def test_other_files_are_no_secrets(name: str) -> None:
    assert not holds_secrets(name)


def test_names_that_no_log_can_hold_are_named_as_far_as_they_can_be(tmp_path: Path) -> None:
    for name in (b"\xff.md", b"two\nlines.md"):
        (tmp_path / os.fsdecode(name)).write_text("text")
    found = list(walk(tmp_path))
    assert {one.reason for one in found} == {"name"}
    assert sorted(Path(one.name).name for one in found) == ["two\ufffdlines.md", "\ufffd.md"]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert reasons(tmp_path) == {"pipe": "no_file"}
    assert read_text(str(tmp_path / "pipe")).reason == "no_file"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"text \r\n\xf0\x9f\xa6\x8a", None),
        (b"\xef\xbb\xbfmark", None),
        (b"a\0b", "binary"),
        (b"caf\xe9", "not_utf8"),
        (b"\xed\xa0\x80", "not_utf8"),
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb", "secret"),
        (b"-----BEGIN PRIVATE KEY-----", "secret"),
        (b"-----BEGIN PUBLIC KEY-----", None),
    ],
)
def test_a_text_is_read_as_it_is_and_what_is_none_says_why(
    tmp_path: Path, raw: bytes, reason: str | None
) -> None:
    path = tmp_path / "file"
    path.write_bytes(raw)
    read = read_text(str(path))
    assert read.reason == reason
    assert read.text == ("" if reason else raw.decode())


def test_a_text_is_as_large_as_a_drawer_can_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * CONTENT_BYTES_MAX)
    assert read_text(str(path)).reason is None
    path.write_bytes(b"a" * (CONTENT_BYTES_MAX + 1))
    assert read_text(str(path)).reason == "too_large"


def test_rules_that_are_no_file_are_not_waited_for(tmp_path: Path) -> None:
    made(tmp_path, "a.md", "b/c.md", "rules")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "b" / ".gitignore").symlink_to("/dev/zero")
    assert seen(tmp_path) == ["a.md", "b/c.md", "rules"]


def test_a_folder_may_be_deeper_than_calls_may_be_nested(tmp_path: Path) -> None:
    depth, limit = 150, sys.getrecursionlimit()
    made(tmp_path, f"{'d/' * depth}a.md")
    sys.setrecursionlimit(len(inspect.stack()) + depth)
    try:
        found = list(walk(tmp_path))
    finally:
        sys.setrecursionlimit(limit)
    assert [one.below for one in found] == ["d"]
