"""One question to a palace, asked by a host that waits: of the process that has it open, else here.

Protects the one who waits: a process that owns the palace answers in a moment, and one that does
not is left alone while there is still time to open it here. Protects memory: the palace is opened
for reading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from domain.gate import READ_ONLY
from palacelog.owner.frames import connected

OWNER_SECONDS: Final = 2.5
"""For each answer of it; its first one in life takes longest."""
PROTOCOL: Final = "2026-07-28"
_READ_BYTES: Final = 256 * 1024
_META: Final = "io.modelcontextprotocol/"


class _NoAnswer(Exception):
    """The owner is of another version, or said what is no answer."""


def ask(
    folder: Path, tool: str, arguments: Mapping[str, Any], *, client: str, session: str | None
) -> dict[str, Any]:
    """What a read answers. The session's mode is `read_only`.

    Args:
        client: over what is asked.
        session: in which session; None where it has no name.

    Raises:
        PalaceError: the palace cannot be used, or refuses.
    """
    try:
        return _of_owner(folder, tool, arguments, client, session)
    except (OSError, ValueError, _NoAnswer):
        return _here(folder, tool, arguments, client, session)


def _here(
    folder: Path, tool: str, arguments: Mapping[str, Any], client: str, session: str | None
) -> dict[str, Any]:
    from palacelog.bootstrap import open_palace
    from palacelog.settings import who

    with open_palace(folder, session_mode=READ_ONLY, client=client, session=session) as house:
        return house.palace.call(tool, arguments, who(house.settings))


def _of_owner(
    folder: Path, tool: str, arguments: Mapping[str, Any], client: str, session: str | None
) -> dict[str, Any]:
    from importlib.metadata import version

    greeting = {
        "version": version("palacelog"),
        "pipe": client,
        "session": session or client,
        "ceiling": READ_ONLY,
        "client": client,
    }
    meta = {
        f"{_META}protocolVersion": PROTOCOL,
        f"{_META}clientInfo": {"name": client, "version": greeting["version"]},
        f"{_META}clientCapabilities": {},
    }
    asked = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    with connected(folder, OWNER_SECONDS) as owner, owner.makefile("rwb") as stream:
        stream.write(json.dumps(greeting).encode() + b"\n")
        stream.flush()
        if "ready" not in json.loads(stream.readline()):
            raise _NoAnswer
        stream.write(b"1 " + json.dumps(request).encode() + b"\n")
        stream.flush()
        for line in stream:
            if line.startswith(b"1 "):
                result = json.loads(line[2:]).get("result", {})
                answer = result.get("structuredContent")
                if result.get("isError") or not isinstance(answer, dict):
                    raise _NoAnswer
                return answer
    raise _NoAnswer
