"""The skill: a page that a model reads when it is about memory.

Protects a session's attention: it is one page for all hosts, and where memory is off there is none,
since a host lists it to the model by itself.
"""

from __future__ import annotations

from pathlib import Path

from palacelog.hosts.parts import OwnFile
from palacelog.hosts.templates import template
from palacelog.hosts.wanted import NAME, Wanted


def skill(folder: Path, wanted: Wanted) -> OwnFile:
    """The skill in a host's folder of skills."""
    text = None if wanted.off else template("skill.md")
    return OwnFile("skill", folder / NAME / "SKILL.md", text)
