"""The owner of a palace dies or hangs: no acknowledged write is lost, none is done twice, and no
session waits beyond the deadline.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

from palacelog.bootstrap import create_palace, open_palace
from palacelog.owner.pipe import PING_SECONDS, PONG_SECONDS, START_SECONDS
from tests.hosting import Host, end_owner, owner, told

SESSIONS = 6
WRITES = 30
HUNG_SECONDS_MAX = PONG_SECONDS + 2 * PING_SECONDS + START_SECONDS


@pytest.fixture
def palace(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "palace"
    create_palace(path, "desk", force=True)
    yield path
    end_owner(path)


def entries(path: Path) -> list[str]:
    """The texts of all diary entries; an entry written twice stands there twice."""
    with open_palace(path) as house:
        asked = {"agent_name": "scribe", "last_n": 200}
        page = house.palace.call("diary_read", asked)
        assert page["total"] == len(page["entries"])
        return [one["content"] for one in page["entries"]]


def written(host: Host, name: str, halfway: threading.Barrier) -> list[str]:
    """The entries that a session wrote, each acknowledged before the next."""
    done = []
    for number in range(WRITES):
        if number == WRITES // 2:
            halfway.wait()
        text = f"{name} {number}"
        answer = host.call("diary_write", {"agent_name": "scribe", "entry": text})
        assert "op_id" in answer, answer
        done.append(text)
    return done


@pytest.mark.parametrize(
    "how",
    [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM],
    ids=["killed", "stopped", "told to end"],
)
def test_six_sessions_outlive_their_owner_and_each_write_is_done_once(
    palace: Path, how: signal.Signals
) -> None:
    with ExitStack() as opened:
        hosts = [opened.enter_context(Host(palace)) for _ in range(SESSIONS)]
        for host in hosts:
            host.begin()
        first = owner(palace)
        assert first is not None
        halfway = threading.Barrier(SESSIONS + 1)
        with ThreadPoolExecutor(SESSIONS) as pool:
            writing = [
                pool.submit(written, host, f"s{number}", halfway)
                for number, host in enumerate(hosts)
            ]
            halfway.wait()
            os.kill(first, how)
            started = monotonic()
            acknowledged = [text for one in writing for text in one.result()]
            waited = monotonic() - started
        assert owner(palace) not in (None, first)
    assert waited < HUNG_SECONDS_MAX
    assert sorted(entries(palace)) == sorted(acknowledged)
    assert len(acknowledged) == SESSIONS * WRITES


DYING = """
import os, signal, sys
from pathlib import Path
from palacelog.owner import process
from replay import crash_points

left = [int(sys.argv[3])]

def dies():
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

crash_points.armed[sys.argv[2]] = dies
sys.exit(process.main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize(
    "point", ["log.appended", "log.committed", "views.committed", "writer.before_answer"]
)
def test_a_write_that_its_owner_died_over_is_done_once_and_answered(
    palace: Path, point: str
) -> None:
    command = [sys.executable, "-c", DYING, str(palace), point, "2"]
    with subprocess.Popen(command) as dying:
        while owner(palace) is None:
            assert dying.poll() is None
        with Host(palace) as host:
            host.begin()
            first = host.call("diary_write", {"agent_name": "scribe", "entry": "one"})
            host.call("set_mode", {"mode": "full"})
            answer = told(
                host.answer(
                    host.calling("diary_write", {"agent_name": "scribe", "entry": "two"}),
                    HUNG_SECONDS_MAX,
                )
            )
            assert dying.wait() == -signal.SIGKILL
            assert answer["local_seq"] == first["local_seq"] + 1
            shown = host.call("show_operation", {"op_id": answer["op_id"]})["operation"]
            assert shown["op_id"] == answer["op_id"]
    assert sorted(entries(palace)) == ["one", "two"]


def test_a_session_that_begins_while_its_owner_hangs_is_served(palace: Path) -> None:
    with Host(palace) as one:
        one.begin()
        first = owner(palace)
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        with Host(palace) as two:
            assert two.begin()["serverInfo"]["name"] == "palacelog"
            two.call("diary_write", {"agent_name": "scribe", "entry": "two"})
        one.call("diary_write", {"agent_name": "scribe", "entry": "one"})
    assert sorted(entries(palace)) == ["one", "two"]


def test_what_a_host_sends_in_one_go_to_an_owner_that_hangs_is_all_answered(palace: Path) -> None:
    with Host(palace) as host:
        host.begin()
        first = owner(palace)
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        texts = [f"{number} {'tea ' * 2_500}" for number in range(60)]
        asked = [
            host.calling("diary_write", {"agent_name": "scribe", "entry": text}) for text in texts
        ]
        for one in asked:
            assert "op_id" in told(host.answer(one, HUNG_SECONDS_MAX))
    assert sorted(entries(palace)) == sorted(texts)


DEADLY = """
import sys

if "mcp" in sys.orig_argv or "palacelog.owner.process" in sys.orig_argv:
    import os, signal
    from replay import crash_points
    crash_points.armed["log.appended"] = lambda: os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_request_that_each_owner_dies_over_is_answered_and_the_session_goes_on(
    palace: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DEADLY, "utf-8")
    with Host(palace, PYTHONPATH=str(tmp_path)) as host:
        host.begin()
        asked = host.calling("diary_write", {"agent_name": "scribe", "entry": "tea"})
        error = host.answer(asked, HUNG_SECONDS_MAX)["error"]
        assert error["data"]["code"] == "palacelog::owner::ended"
        assert error["data"]["help"]
        assert host.call("status")["head"] == 0
        asked = host.calling("diary_write", {"agent_name": "scribe", "entry": "tea"})
        assert "error" in host.answer(asked, HUNG_SECONDS_MAX)
    assert entries(palace) == []
