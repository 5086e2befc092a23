"""`palacelog serve` as a process: when it starts, when it refuses to, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import orjson
import pytest

from palacelog.owner import within
from palacelog.owner.frames import SOCKET_FILE
from palacelog.owner.lock import holder, take_lock
from replay.write_lock import WriteLock
from tests.command_line import CommandLine, new_line
from tests.hosting import Host, end_owner, owner
from tests.palaces import Device
from tests.served import Posted, bearer, begun, request, serving, token_file

SECONDS_MAX = 60
PLACE = {"wing": "home", "room": "notes"}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[CommandLine]:
    line = new_line(tmp_path / "palace", PALACELOG_VECTORS__EMBEDDER="none")
    yield line
    end_owner(line.palace)


@contextmanager
def started(
    line: CommandLine, *options: object, before: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process and its address, as soon as it takes requests."""
    command = line.command("serve", "--port", 0, *options, before=before)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=line.env(), **pipes) as process:
        try:
            said = b""
            while not said.endswith(b"}\n"):
                part = process.stdout.readline()  # type: ignore[union-attr]
                assert part, process.stderr.read()  # type: ignore[union-attr]
                said += part
            yield process, orjson.loads(said)["url"]
        finally:
            process.terminate()


def ended(process: subprocess.Popen[bytes], by: signal.Signals) -> tuple[int, bytes, bytes]:
    process.send_signal(by)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def owned_by(palace: Path, process: int) -> bool:
    """Whether a process comes to own a palace in time."""
    until = monotonic() + SECONDS_MAX
    while (found := owner(palace)) is None and monotonic() < until:
        pass
    return found == process


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_by_a_signal_with_all_that_was_told_kept(
    line: CommandLine, by: signal.Signals
) -> None:
    with started(line) as (process, url):
        answer = httpx2.post(f"{url}/api/add_drawer", json=PLACE | {"content": "marmalade"})
        found = httpx2.get(f"{url}/api/search", params={"query": "marmalade"}).json()
        assert found["total"] == 1
        code, out, err = ended(process, by)
    assert (code, out) == (0, b"")
    assert b"marmalade" not in err
    assert [row.split()[4:7] for row in err.decode().splitlines()] == [
        ["POST", "/api/add_drawer", "200"],
        ["GET", "/api/search", "200"],
    ]
    noted = line("audit", "trail", "--reads")
    assert "search" in [one["tool"] for one in noted["operations"]]
    assert line("get", answer.json()["drawer_id"])["drawer"]["content"] == "marmalade"


def test_where_others_reach_it_a_server_refuses_to_start_and_says_how(
    line: CommandLine, tmp_path: Path
) -> None:
    tokens = token_file(tmp_path)
    for given in ((), ("--token-file", tokens), ("--allow-host", "palace.example")):
        with line.stops(1, "serve::unguarded", names="0.0.0.0"):
            line("serve", "--host", "0.0.0.0", "--port", 0, *given)
        assert "--token-file" in line.stopped["help"]
    tokens.chmod(0o644)
    with line.stops(1, "serve::open_token_file"):
        line("serve", "--token-file", tokens)
    empty = tmp_path / "empty"
    empty.touch(0o600)
    with line.stops(1, "serve::no_tokens"):
        line("serve", "--token-file", empty)
    with line.stops(2, "input::file"):
        line("serve", "--token-file", tmp_path / "none")
    empty.write_text("secret")
    with line.stops(2, "serve::token_file"):
        line("serve", "--token-file", empty)


def test_with_tokens_and_names_a_server_can_be_reached_by_others(
    line: CommandLine, tmp_path: Path
) -> None:
    guarded = ("--token-file", token_file(tmp_path), "--allow-host", "palace.example")
    with started(line, "--host", "0.0.0.0", *guarded) as (_, url):
        port = url.rpartition(":")[2]
        here = f"http://127.0.0.1:{port}/api/status"
        named = bearer("ada") | {"host": f"palace.example:{port}"}
        assert httpx2.get(here, headers=named).status_code == 200
        assert httpx2.get(here, headers={"host": "palace.example"}).status_code == 401
        assert httpx2.get(here, headers=bearer("ada")).status_code == 421


def test_an_address_that_cannot_be_listened_at_is_an_error(line: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, line.stops(3, "serve::address"):
        line("serve", "--port", taken.getsockname()[1])
    with line.stops(2, "serve::tls"):
        line("serve", "--port", 0, "--tls-cert", line.palace / "none")
    with line.stops(2, "serve::tls"):
        line("serve", "--port", 0, "--tls-key", line.palace / "none")


def test_sessions_of_hosts_are_handed_to_a_server_and_outlive_it(line: CommandLine) -> None:
    with started(line) as (process, url):
        assert owner(line.palace) == process.pid
        with Host(line.palace) as host:
            host.begin()
            host.call("set_mode", {"mode": "read_only"})
            httpx2.post(f"{url}/api/add_drawer", json=PLACE | {"content": "tea"})
            assert host.call("status")["totals"]["drawers_live"] == 1
            assert ended(process, signal.SIGTERM)[0] == 0
            assert host.call("status")["totals"]["drawers_live"] == 1
            assert owner(line.palace) not in (None, process.pid)
            assert host.call("create_wing", {"wing": "attic"})["code"].endswith("mode::forbidden")


def test_a_server_with_a_mode_of_its_own_serves_no_sessions_of_hosts(line: CommandLine) -> None:
    with started(line, before=("--mode", "read_only")) as (process, url):
        assert owner(line.palace) is None
        with Host(line.palace) as host:
            host.begin()
            assert owner(line.palace) != process.pid
            host.call("create_wing", {"wing": "attic"})
        refused = httpx2.post(f"{url}/api/create_wing", json={"wing": "lab"})
        assert refused.status_code == 403
        assert httpx2.get(f"{url}/api/list_wings").json()["total"] == 1


def test_a_call_of_a_session_in_flight_is_answered_behind_a_signal(line: CommandLine) -> None:
    asked = request("tools/call", name="add_drawer", arguments=PLACE | {"content": "tea"})
    with started(line) as (process, url):
        session = begun(url)
        with closing(WriteLock(line.palace, 60)) as lock:
            with lock.held():
                posted = Posted(url, asked, session)
                assert posted.quiet(0.5)
                process.send_signal(signal.SIGTERM)
                assert posted.quiet(2)
            assert posted.answer()["result"]["structuredContent"]["position"] == 1
        assert process.wait(60) == 0


def test_a_server_takes_over_from_a_process_that_served_sessions_before_it(
    line: CommandLine,
) -> None:
    with Host(line.palace) as host:
        host.begin()
        first = owner(line.palace)
        with started(line) as (process, _):
            assert owner(line.palace) == first != process.pid
            end_owner(line.palace, signal.SIGTERM)
            assert owned_by(line.palace, process.pid)
            assert host.call("create_wing", {"wing": "attic"})["local_seq"] == 1
            with Host(line.palace) as other:
                other.begin()
                assert owner(line.palace) == process.pid


def test_a_server_that_stops_before_it_could_take_over_leaves_nothing(ada: Device) -> None:
    lock = take_lock(ada.folder)
    assert lock is not None
    with serving(ada.house, owns=True):
        pass
    os.close(lock)
    assert holder(ada.folder) is None
    assert not (ada.folder / SOCKET_FILE).exists()


def test_a_server_takes_a_palace_over_that_another_process_lets_go(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(within, "LOOK_SECONDS", 0.01)
    lock = take_lock(ada.folder)
    assert lock is not None
    with serving(ada.house, owns=True) as served:
        served.get("/healthz")
        assert not (ada.folder / SOCKET_FILE).exists()
        os.close(lock)
        assert owned_by(ada.folder, os.getpid())
    assert holder(ada.folder) is None


@pytest.mark.skipif(shutil.which("openssl") is None, reason="nothing makes a certificate")
def test_a_server_speaks_tls_with_a_certificate(line: CommandLine, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    trusted = ssl.create_default_context(cafile=str(cert))
    with started(line, "--tls-cert", cert, "--tls-key", key) as (_, url):
        assert url.startswith("https://")
        assert httpx2.get(f"{url}/healthz", verify=trusted).json() == {"status": "ok"}


def test_a_server_works_on_the_jobs_that_are_asked_of_it(line: CommandLine, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "one.md").write_text("Paper one")
    with started(line) as (process, url):
        with Host(line.palace) as host:
            host.begin()
            job = host.call("mine", {"path": str(papers)})["job_id"]
        asked = {"params": {"job_id": job}}
        while httpx2.get(f"{url}/api/show_job", **asked).json()["job"]["state"] != "done":
            pass
        code, _, _ = ended(process, signal.SIGTERM)
    assert code == 0
    assert line("list")["drawers"][0]["preview"] == "Paper one"
