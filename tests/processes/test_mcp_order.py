"""What a host sends behind a choice of the session's mode, to a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palacelog.bootstrap import create_palace
from tests.hosting import ENVELOPE, WAYS, Host, end_owner, told
from tests.mcp_clients import ERAS


@pytest.mark.parametrize("way", WAYS, ids=["pipe", "in process"])
@pytest.mark.parametrize("meta", [{}, ENVELOPE], ids=ERAS)
def test_no_write_that_a_host_sends_behind_a_choice_is_done(
    tmp_path: Path, way: tuple[str, ...], meta: dict[str, Any]
) -> None:
    palace = tmp_path / "palace"
    create_palace(palace, "desk", force=True)
    with Host(palace, *way, PALACELOG_VECTORS__EMBEDDER="none") as host:
        host.begin()

        def send(tool: str, given: dict[str, Any]) -> int:
            return host.send("tools/call", {"name": tool, "arguments": given, "_meta": meta})

        for mode in ("read_only", "full") * 3:
            chosen = send("set_mode", {"mode": mode})
            sent = [send("create_wing", {"wing": f"{mode} {number}"}) for number in range(8)]
            assert told(host.answer(chosen))["session_mode"] == mode
            answers = [told(host.answer(one)) for one in sent]
            codes = {answer.get("code") for answer in answers}
            assert codes == ({"palacelog::mode::forbidden"} if mode == "read_only" else {None})
    end_owner(palace)
