"""Blocks of text for an agent's context: whole items only, within a number of bytes.

Protects who reads them: an item is never cut, and what did not fit is counted.
"""

from __future__ import annotations

from typing import Any


class Block:
    """A block that is being filled."""

    def __init__(self, max_bytes: int) -> None:
        """Begin an empty one.

        Args:
            max_bytes: of the whole block in UTF-8.
        """
        self.left_out = 0
        self._room = max_bytes
        self._parts: list[str] = []
        self._section = ""

    def section(self, title: str) -> None:
        """What is added from now on stands under a title, which shows with its first item."""
        self._section = f"## {title}\n"

    def add(self, item: str, within: int | None = None) -> bool:
        """Add an item if it fits whole, also into `within` bytes where they are given."""
        whole = f"{self._section}{item}\n"
        size = len(whole.encode())
        if size > min(self._room, self._room if within is None else within):
            self.left_out += 1
            return False
        self._parts.append(whole)
        self._room -= size
        self._section = ""
        return True

    @property
    def room(self) -> int:
        """The bytes that are left."""
        return self._room

    def text(self) -> str:
        """The block."""
        return "".join(self._parts).removesuffix("\n")


def drawer_item(drawer: dict[str, Any]) -> str:
    """A drawer in full, with who wrote it, where and when."""
    return f"{_heading(drawer, drawer['id'])}\n{drawer['content']}"


def fact_item(fact: dict[str, Any]) -> str:
    """A fact on one line."""
    since = fact["valid_from"][:10]
    disputed = ", disputed" if fact["conflict"] else ""
    stated = f"{fact['subject']} | {fact['predicate']} | {fact['object']}"
    return f"- {stated} (since {since}{disputed})"


def conflict_item(conflict: dict[str, Any]) -> str:
    """A conflict on one line."""
    sides = [side for side in (conflict["left"], conflict["right"]) if side is not None]
    devices = " and ".join(dict.fromkeys(side["device"] for side in sides))
    return f"- {conflict['about']}: {conflict['meaning']} ({devices})"


def _heading(drawer: dict[str, Any], id: str) -> str:
    made = drawer["provenance"]
    who = " ".join(one for one in (made["agent"], "on", made["device"]) if one)
    return f"[{drawer['wing']} / {drawer['room']}, {made['recorded_at'][:10]}, {who}; {id}]"
