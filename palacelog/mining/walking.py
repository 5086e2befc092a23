"""Which files of a folder are looked at, in an order that is always the same.

Protects what a person keeps out of sight: what git ignores, hidden folders, palaces, and files that
by their names hold secrets are left alone, and no link is followed. Reads no file but `.gitignore`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from pathspec import GitIgnoreSpec

from palacelog.folder import PALACE_FILE

GENERATED: Final = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
"""Folders that nobody wrote, whether or not git is told to ignore them."""
SECRETS: Final = (
    *(
        ".env",
        ".env[.~_-]*",
        ".envrc",
        "*.env",
        ".*_history",
        ".vault-token",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
    ),
    *(".git-credentials", ".my.cnf", "credentials", "credentials.json", "credentials.toml"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc"),
    *(
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_*_sk",
        "secrets.*",
        "*.tfstate",
        "*.tfvars",
    ),
)
"""The names of files that are likely to hold secrets, without regard to case."""
SAMPLES: Final = (
    *(".env.example", ".env.sample", ".env.template", ".env.dist"),
    *("example.env", "sample.env", "template.env"),
)
IS_SECRET: Final = "secret"
IS_LINK: Final = "link"
IS_PALACE: Final = "palace"
NO_NAME: Final = "name"
NO_FILE: Final = "no_file"
UNREADABLE: Final = "unreadable"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PATH_CHARACTERS_MAX: Final = 4096
_GIT: Final = ".git"
_IGNORE: Final = ".gitignore"
_RULES_BYTES_MAX: Final = 1 << 20


class Candidate(NamedTuple):
    """A file, or a folder that is not entered.

    Attributes:
        name: the path as it is recorded.
        path: the path as the system has it.
        below: the first folder below the top that it lies in; None directly in it.
        reason: why it is not read; None where it is.
    """

    name: str
    path: str
    below: str | None
    reason: str | None = None


class _Rules(NamedTuple):
    """A `.gitignore` and where it stands."""

    folder: str
    spec: GitIgnoreSpec

    def says(self, path: str, *, folder: bool) -> bool | None:
        """Whether it ignores a path below; None where it says nothing of it."""
        relative = os.path.relpath(path, self.folder).encode("utf-8", "replace").decode()
        return self.spec.check_file(f"{relative}/" if folder else relative).include


class _Folder(NamedTuple):
    """A folder that is to be looked into, with the rules that hold in it."""

    path: str
    below: str | None
    rules: list[_Rules]


def walk(top: Path) -> Iterator[Candidate]:
    """The files of a folder, or the file itself; folders and files of a folder by their names."""
    if not top.is_dir():
        yield _judged(str(top), None)
        return
    levels = [_looked_into(_Folder(str(top), None, _above(top)))]
    while levels:
        found = next(levels[-1], None)
        if found is None:
            levels.pop()
        elif isinstance(found, _Folder):
            levels.append(_looked_into(found))
        else:
            yield found


def _looked_into(here: _Folder) -> Iterator[Candidate | _Folder]:
    """What is in a folder itself; a path may have more folders than calls may be nested."""
    folder, below, above = here
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError:
        yield Candidate(_recorded(folder), folder, below, UNREADABLE)
        return
    if any(one.name == PALACE_FILE for one in entries):
        yield Candidate(_recorded(folder), folder, below, IS_PALACE)
        return
    rules = [*above, *_rules_of(folder)]
    for one in entries:
        is_folder = one.is_dir(follow_symlinks=False)
        if _ignored(one.path, rules, folder=is_folder):
            continue
        if not is_folder:
            yield _judged(one.path, below, link=one.is_symlink(), file=_is_file(one))
        elif not one.name.startswith(".") and one.name not in GENERATED:
            yield _Folder(one.path, below or one.name, rules)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _judged(path: str, below: str | None, *, link: bool = False, file: bool = True) -> Candidate:
    reason = None
    if link:
        reason = IS_LINK
    elif not file:
        reason = NO_FILE
    elif not _storable(path):
        reason = NO_NAME
    elif holds_secrets(os.path.basename(path)):
        reason = IS_SECRET
    return Candidate(_recorded(path), path, below, reason)


def holds_secrets(name: str) -> bool:
    """Whether a file of that name is likely to hold secrets."""
    plain = name.lower()
    return plain not in SAMPLES and any(fnmatchcase(plain, one) for one in SECRETS)


def _storable(path: str) -> bool:
    return _recorded(path) == path


def _recorded(path: str) -> str:
    """The path as a log can hold it; what is no UTF-8, or would control a terminal, is replaced."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)[:_PATH_CHARACTERS_MAX]


def _ignored(path: str, rules: list[_Rules], *, folder: bool) -> bool:
    """What the nearest rules say that say anything."""
    for one in reversed(rules):
        said = one.says(path, folder=folder)
        if said is not None:
            return said
    return False


def _rules_of(folder: str, name: str = _IGNORE) -> list[_Rules]:
    try:
        text = _rules_in(os.path.join(folder, name))
    except OSError:
        return []
    try:
        return [_Rules(folder, GitIgnoreSpec.from_lines(text.splitlines()))]
    except ValueError:
        return []


def _rules_in(path: str) -> str:
    """The text of a file of rules; none of what is a link, as git has it, or no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(_RULES_BYTES_MAX).decode("utf-8", "replace")


def _above(top: Path) -> list[_Rules]:
    """The rules of the repository that a folder lies in, from its root to above the folder; without
    those that ignore the folder itself, since it was named.
    """
    folders = (top, *top.parents)
    root = next((one for one in folders if os.path.exists(one / _GIT)), None)
    if root is None:
        return []
    between = [one for one in reversed(top.parents) if one == root or root in one.parents]
    found = _rules_of(str(root), f"{_GIT}/info/exclude")
    found += [one for folder in between for one in _rules_of(str(folder))]
    return [one for one in found if top == root or not one.says(str(top), folder=True)]
