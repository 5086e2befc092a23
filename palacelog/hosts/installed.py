"""How much memory an integration that stands was given, and over what.

Protects the question whether it is current: it is asked of what was chosen when it was put in, not
of the defaults of today.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from palacelog.hosts.labels import LABELS
from palacelog.hosts.wanted import Wanted

_LABEL: Final = re.compile(r'--label (full|read-only|off)|"label": "(full|read-only|off)"')
_MODE: Final = re.compile(
    r'"--mode", "(full|read_only|disabled)"|"X-Palacelog-Mode": "(full|read_only|disabled)"'
)
_URL: Final = re.compile(r'"url": "(https?://[^"]+)"')
_VARIABLE: Final = re.compile(
    r'Bearer \$?\{(?:env:)?(\w+)\}|"bearer_token_env_var": "(\w+)"|"token_variable": "(\w+)"'
)


def as_installed(wanted: Wanted, found: Iterable[Any]) -> Wanted:
    """The same with label, address and variable as they stand in what was found."""
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in found)
    label, url, variable = (_first(pattern, text) for pattern in (_LABEL, _URL, _VARIABLE))
    # Where the hook is gone, the server still says how much memory it was given.
    label = label or LABELS.get(_first(_MODE, text) or "", wanted.label)
    return replace(wanted, label=label, url=url, token_variable=variable)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else next(group for group in found.groups() if group)
