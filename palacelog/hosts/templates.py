"""The files that integrations consist of, as they lie in the package.

Protects them from being programs that write programs: each is whole, and takes its configuration as
one JSON object in one place.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

_PLACE: Final = "__CONFIGURATION__"


def template(name: str) -> str:
    """The text of a file in the package."""
    return files("palacelog.hosts").joinpath(name).read_text("utf-8")


def filled(name: str, **configuration: Any) -> str:
    """A file with its configuration."""
    text = template(name)
    assert text.count(_PLACE) == 1
    return text.replace(_PLACE, json.dumps(configuration, indent=2))
