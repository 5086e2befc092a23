"""The parts of an integration: an entry in a file of the host, or a file of our own.

Protects what is not ours: a part knows its own entry alone, and a file at the place of ours that we
did not write is refused. May not touch a file: texts go in and come out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from palacelog.hosts import jsonc
from palacelog.hosts.jsonc import NotEditable, Step

MARK: Final = "palacelog integrate"
"""Stands in the head of each file that is ours."""


class Part(Protocol):
    """One thing that an integration puts in its place.

    Attributes:
        name: what it is for a person: `mcp`, `session-start`, `skill`.
        path: the file.
        value: what shall stand there; None where nothing shall.
    """

    @property
    def name(self) -> str:
        """See above."""
        ...

    @property
    def path(self) -> Path:
        """See above."""
        ...

    @property
    def value(self) -> Any:
        """See above."""
        ...

    def find(self, text: str) -> Any:
        """What stands there; None where nothing does."""
        ...

    def ours(self, found: Any) -> bool:
        """Whether what was found is of our making, or runs our command."""
        ...

    def put(self, text: str, value: Any) -> str:
        """The text with a value in its place."""
        ...

    def drop(self, text: str, before: str | None) -> str | None:
        """The text without it; None where the file held nothing else.

        Args:
            before: the text from before it was first put in; None where there was no file.
        """
        ...


@dataclass(frozen=True)
class JsonEntry:
    """A member or an item in a JSON file, with comments or without.

    Attributes:
        alone: whether what was found holds nothing of somebody else.
        is_ours: whether what was found is of our making.
    """

    name: str
    path: Path
    steps: Sequence[Step]
    value: Mapping[str, Any] | None
    alone: Callable[[Any], bool] = lambda found: True
    is_ours: Callable[[Any], bool] = lambda found: True

    def find(self, text: str) -> Any:
        """See `Part`."""
        found = jsonc.get(text, self.steps)
        if found is not None and not self.alone(found):
            raise NotEditable("our entry holds something that is not ours")
        return found

    def ours(self, found: Any) -> bool:
        """See `Part`."""
        return self.is_ours(found)

    def put(self, text: str, value: Any) -> str:
        """See `Part`."""
        made = jsonc.put(text, self.steps, value)
        if jsonc.get(made, self.steps) != value:
            raise NotEditable("the entry could not be put in")
        return made

    def drop(self, text: str, before: str | None) -> str | None:
        """See `Part`."""

        def stood(length: int) -> bool:
            return before is not None and jsonc.get(before, self.steps[:length]) is not None

        left = jsonc.drop(text, self.steps, stood)
        if jsonc.get(left, self.steps) is not None:
            raise NotEditable("the entry could not be taken out")
        return None if before is None and jsonc.only_braces(left) else left


@dataclass(frozen=True)
class TomlEntry:
    """A table in a TOML file."""

    name: str
    path: Path
    steps: tuple[str, str]
    value: Mapping[str, Any] | None
    is_ours: Callable[[Any], bool] = lambda found: True

    def find(self, text: str) -> Any:
        """See `Part`."""
        group, name = self.steps
        found = _read_toml(text).get(group, {})
        if not isinstance(found, dict):
            raise NotEditable(f"`{group}` is no table")
        return found.get(name)

    def ours(self, found: Any) -> bool:
        """See `Part`."""
        return self.is_ours(found)

    def put(self, text: str, value: Any) -> str:
        """See `Part`."""
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        group, name = self.steps
        expected = _read_toml(text)
        expected.setdefault(group, {})[name] = dict(value)
        try:
            document = tomlkit.parse(text)
            if group not in document:
                document.append(group, tomlkit.table(is_super_table=True))
            tables: Any = document[group]
            tables[name] = dict(value)
            made = tomlkit.dumps(document)
        except TOMLKitError as error:
            raise NotEditable(str(error)) from None
        return _checked(made, expected)

    def drop(self, text: str, before: str | None) -> str | None:
        """See `Part`."""
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        group, name = self.steps
        expected = _read_toml(text)
        del expected[group][name]
        try:
            document = tomlkit.parse(text)
            tables: Any = document[group]
            tables.remove(name)
            if not expected[group] and group not in _read_toml(before or ""):
                document.remove(group)
                del expected[group]
            made = tomlkit.dumps(document)
        except TOMLKitError as error:
            raise NotEditable(str(error)) from None
        return None if before is None and not made.strip() else _checked(made, expected)


@dataclass(frozen=True)
class OwnFile:
    """A file that is ours from its first line to its last."""

    name: str
    path: Path
    value: str | None

    def find(self, text: str) -> Any:
        """See `Part`."""
        if MARK not in text[:400]:
            raise NotEditable("it was not written by palacelog")
        return text

    def ours(self, found: Any) -> bool:
        """See `Part`."""
        return True

    def put(self, text: str, value: Any) -> str:
        """See `Part`."""
        return str(value)

    def drop(self, text: str, before: str | None) -> str | None:
        """See `Part`."""
        return None


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise NotEditable(str(error)) from None


def _checked(made: str, expected: Mapping[str, Any]) -> str:
    """The text, once it says what it shall say and nothing else."""
    if _read_toml(made) != expected:
        raise NotEditable("the entry could not be put in or taken out")
    return made
