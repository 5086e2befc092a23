"""What a server turns away: too large, too late, too often, from elsewhere, without a token."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.errors import InvalidInput, PalaceError, Refused
from palacelog.http import server as http_server
from palacelog.http.bodies import BODY_BYTES_MAX
from palacelog.http.tokens import read_tokens
from palacelog.rest.calling import CALLS_AT_ONCE_MAX
from palacelog.serve import hosts_of, tokens_of
from palacelog.settings import Serving
from tests.palaces import Device, Fleet, fingerprint
from tests.served import Served, bearer, error_of, serving, token_file

PLACE = {"wing": "home", "room": "notes"}
JSON = "content-type: application/json"
PATHS = ["/healthz", "/api/status", "/api/call/status", "/mcp", "/api/log/stream", "/nowhere"]


@pytest.fixture
def served(ada: Device) -> Iterator[Served]:
    with serving(ada.house) as served:
        yield served


@contextmanager
def serving_with(device: Device, **settings: Any) -> Iterator[Served]:
    device.reopen(serve=settings)
    with serving(device.house) as served:
        yield served


class Wire:
    """A connection to a server, byte by byte."""

    def __init__(self, served: Served, *sent: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", served.port), 60)
        for part in sent:
            self.socket.sendall(part)

    def answer(self) -> tuple[int, dict[str, Any]]:
        """Status and error of an answer that ends the connection."""
        with self.socket.makefile("rb") as file:
            whole = file.read()
        self.socket.close()
        head, _, body = whole.partition(b"\r\n\r\n")
        return int(head.split()[1]), orjson.loads(body)


def head(*lines: str, path: str = "/api/add_drawer") -> bytes:
    whole = [f"POST {path} HTTP/1.1", "host: localhost", JSON, *lines, "", ""]
    return "\r\n".join(whole).encode()


def lives(served: Served) -> None:
    assert served.get("/healthz").json() == {"status": "ok"}


def body_of(size: int) -> bytes:
    filled = orjson.dumps(PLACE | {"content": ""})
    return filled[:-2] + b"x" * (size - len(filled)) + filled[-2:]


def test_a_body_one_byte_over_the_limit_is_refused(ada: Device, served: Served) -> None:
    before = fingerprint(ada.house)
    for path in ("/api/add_drawer", "/mcp", "/nowhere"):
        answer = served.post(
            path,
            content=body_of(BODY_BYTES_MAX + 1),
            headers={"content-type": "application/json"},
        )
        error_of(answer, 413, "http::too_large")
    assert fingerprint(ada.house) == before
    lives(served)


def test_a_body_at_the_limit_reaches_the_operation(served: Served) -> None:
    answer = served.post(
        "/api/add_drawer",
        content=body_of(BODY_BYTES_MAX),
        headers={"content-type": "application/json"},
    )
    error_of(answer, 400, "input::invalid")  # a text may have half of that


def test_a_body_of_unknown_length_is_counted_while_it_comes(served: Served) -> None:
    chunk = b"x" * 1024 * 1024
    wire = Wire(served, head("transfer-encoding: chunked"))
    for _ in range(17):
        wire.socket.sendall(b"100000\r\n" + chunk + b"\r\n")
    wire.socket.sendall(b"0\r\n\r\n")
    status, told = wire.answer()
    assert (status, told["code"]) == (413, "palacelog::http::too_large")
    lives(served)


def test_a_body_said_to_be_huge_is_refused_before_it_comes(served: Served) -> None:
    status, told = Wire(served, head("content-length: 99999999999")).answer()
    assert (status, told["code"]) == (413, "palacelog::http::too_large")
    lives(served)


def test_half_a_body_does_nothing(ada: Device, served: Served) -> None:
    before = fingerprint(ada.house)
    wire = Wire(served, head("content-length: 100"), b'{"wing":')
    wire.socket.shutdown(socket.SHUT_RDWR)
    wire.socket.close()
    lives(served)
    assert fingerprint(ada.house) == before


def test_a_body_that_never_ends_is_given_up(ada: Device) -> None:
    with serving_with(ada, body_seconds=0.3) as served:
        before = fingerprint(ada.house)
        for sent in (b"", b'{"wing":'):
            status, told = Wire(served, head("content-length: 100"), sent).answer()
            assert (status, told["code"]) == (408, "palacelog::http::body_late")
        assert fingerprint(ada.house) == before
        lives(served)


def test_a_head_of_a_megabyte_is_refused(ada: Device, served: Served) -> None:
    before = fingerprint(ada.house)
    wire = Wire(served)
    with suppress(OSError):  # it may close before all is sent
        wire.socket.sendall(head("x-long: " + "x" * 1024 * 1024))
    wire.socket.close()
    assert fingerprint(ada.house) == before
    lives(served)


def test_a_head_just_too_large_is_refused_in_words(served: Served) -> None:
    long = "x" * (http_server.HEAD_BYTES_MAX + 1)
    status, told = Wire(served, f"GET / HTTP/1.1\r\nx-long: {long}".encode()).answer()
    assert (status, told["code"]) == (431, "palacelog::http::head_too_large")
    lives(served)


def test_a_head_that_never_ends_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.3)
    for sent in (b"", b"GET / HT"):
        status, told = Wire(served, sent).answer()
        assert (status, told["code"]) == (408, "palacelog::http::head_late")
    lives(served)


def test_a_body_that_goes_on_behind_a_refusal_is_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.3)
    begin = head("content-length: 1000").replace(b"localhost", b"evil.example")
    wire = Wire(served, begin)
    with wire.socket.makefile("rb") as file:
        assert file.readline().split()[1] == b"421"
        wire.socket.sendall(b"x")
        assert file.read().endswith(b"}")
    wire.socket.close()
    lives(served)


def test_what_is_no_http_is_refused_in_words(served: Served) -> None:
    for sent in (b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n", head("content-length: -1"),
                 head("content-length: 1", "content-length: 2")):  # fmt: skip
        status, told = Wire(served, sent).answer()
        assert (status, told["code"]) == (400, "palacelog::http::malformed")
    lives(served)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_of_another_origin_or_of_another_port_is_refused(served: Served, path: str) -> None:
    for origin in (
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://[",
        "",
        "http://[zz]",
        "http://]evil[",
        "http://localhost",
        f"http://localhost:{served.port + 1}",
        f"http://evil@127.0.0.1:{served.port}",
        f"ftp://127.0.0.1:{served.port}",
    ):
        answer = served.get(path, headers={"origin": origin})
        error_of(answer, 403, "http::origin")


@pytest.mark.parametrize("path", PATHS)
def test_a_request_for_another_host_is_refused(served: Served, path: str) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "["):
        answer = served.get(path, headers={"host": host})
        error_of(answer, 421, "http::host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_a_request_for_this_machine_is_answered(served: Served, host: str) -> None:
    origin = {"origin": f"http://{host}"}
    assert served.get("/healthz", headers={"host": host, **origin}).status_code == 200


def test_a_page_of_a_name_that_was_allowed_may_ask_through_a_proxy(ada: Device) -> None:
    with serving_with(ada, allow_hosts=("palace.example",)) as served:
        origin = {"origin": "https://palace.example"}
        assert served.get("/api/status", headers=origin).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "localhost"])
def test_a_server_answers_at_the_address_that_it_listens_at(host: str) -> None:
    named = f"[{host}]" if ":" in host else host
    assert named in hosts_of(Serving(host=host))
    assert host not in hosts_of(Serving(host="192.0.2.1", allow_hosts=("palace.example",)))


def test_without_a_token_nothing_but_health_is_answered(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    with serving_with(ada, token_file=token_file(ada.folder.parent)) as served:
        lives(served)
        for path in PATHS[1:]:
            for said in (None, "Bearer nobody", "Basic YTpi", "Bearer", "Bearer \u00e9"):
                headers = {} if said is None else {"authorization": said.encode("latin-1")}
                answer = served.get(path, headers=headers)
                error_of(answer, 401, "http::token")
                assert answer.headers["www-authenticate"] == 'Bearer realm="palacelog"'
        assert served.get("/api/status", headers=bearer("eve")).status_code == 200


def test_the_mode_of_a_token_is_the_most_that_its_calls_use(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    given = PLACE | {"content": "tea"}
    with serving_with(ada, token_file=token_file(ada.folder.parent)) as served:
        written = served.call("add_drawer", given, headers=bearer("ada")).json()
        assert ada.show_operation(op_id=written["op_id"])["operation"]["principal"] == "ada"
        before = fingerprint(ada.house)
        answer = served.call("add_drawer", given, headers=bearer("bob"))
        error_of(answer, 403, "mode::forbidden")
        above = bearer("bob") | {"X-Palacelog-Mode": "full"}
        error_of(served.call("add_drawer", given, headers=above), 403, "mode::above_ceiling")
        error_of(served.get("/api/list_wings", headers=bearer("eve")), 403, "mode::forbidden")
        assert fingerprint(ada.house) == before


@pytest.mark.parametrize(
    ("text", "mode", "error"),
    [
        ("0" * 64 + " ada", 0o640, Refused),
        ("0" * 64 + " ada", 0o604, Refused),
        ("secret ada", 0o600, InvalidInput),
        ("0" * 64, 0o600, InvalidInput),
        ("0" * 64 + " ada off", 0o600, InvalidInput),
        ("0" * 64 + " ada full more", 0o600, InvalidInput),
        ("0" * 64 + " ada\n" + "1" * 64 + " ada", 0o600, InvalidInput),
        ("0" * 64 + " ada full\n" + "0" * 64 + " bob read_only", 0o600, InvalidInput),
    ],
)
def test_a_token_file_that_is_none_is_refused_without_telling_what_it_holds(
    tmp_path: Path, text: str, mode: int, error: type[PalaceError]
) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(error) as caught:
        read_tokens(file)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "palace.example"])
def test_where_others_reach_it_a_server_needs_tokens_and_names(tmp_path: Path, host: str) -> None:
    file = token_file(tmp_path)
    for given in ({}, {"token_file": file}, {"allow_hosts": ("palace.example",)}):
        with pytest.raises(Refused) as caught:
            tokens_of(Serving(host=host, **given))
        assert caught.value.code == "palacelog::serve::unguarded"
        assert "--token-file" in caught.value.help
        assert "--allow-host" in caught.value.help
    assert tokens_of(Serving(host=host, token_file=file, allow_hosts=("palace.example",)))
    assert tokens_of(Serving(host="127.0.0.1")) == ()


def test_too_many_calls_of_one_caller_are_turned_away(fleet: Fleet) -> None:
    ada = fleet.device("ada")
    tokens = token_file(ada.folder.parent)
    with serving_with(ada, calls_per_minute=3, token_file=tokens) as served:
        for _ in range(3):
            assert served.get("/api/status", headers=bearer("ada")).status_code == 200
        answer = served.get("/api/status", headers=bearer("ada"))
        error_of(answer, 429, "http::rate")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert served.get("/api/status", headers=bearer("bob")).status_code == 200


def test_a_late_call_is_told_so_and_happens_once(ada: Device) -> None:
    with serving_with(ada, request_seconds=0.3) as served:
        given, key = PLACE | {"content": "tea"}, {"Idempotency-Key": "k-1"}
        with ada.house.lock.held():
            late = served.call("add_drawer", given, headers=key)
            error_of(late, 504, "http::late")
        again = served.call("add_drawer", given, headers=key)
        if again.status_code == 504:
            again = served.call("add_drawer", given, headers=key)
        assert again.status_code == 200
        assert ada.tools() == ["add_drawer"]


def test_calls_that_wait_hold_up_neither_health_nor_the_live_log(
    ada: Device, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, call = threading.Semaphore(0), ada.house.palace.call

    def noticed(*given: Any) -> dict[str, Any]:
        arrived.release()
        return call(*given)

    def write(number: int) -> int:
        entry = {"agent_name": "scribe", "entry": f"Rain {number}."}
        return served.call("diary_write", entry).status_code

    monkeypatch.setattr(ada.house.palace, "call", noticed)
    with ThreadPoolExecutor(CALLS_AT_ONCE_MAX + 1) as pool, ada.house.lock.held():
        writing = [pool.submit(write, number) for number in range(CALLS_AT_ONCE_MAX + 1)]
        for _ in range(CALLS_AT_ONCE_MAX):
            assert arrived.acquire(timeout=60)
        assert served.get("/healthz", timeout=10).json() == {"status": "ok"}
        with served.stream("GET", "/api/log/stream", timeout=10) as stream:
            assert next(stream.iter_lines()) == "event: log"
        assert not arrived.acquire(blocking=False)
    assert {one.result() for one in writing} == {200}
    assert len(ada.tools()) == CALLS_AT_ONCE_MAX + 1


def test_calls_in_flight_are_finished_when_the_server_stops(
    ada: Device, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, arrived = [], threading.Event()
    call = ada.house.palace.call

    def noticed(*given: Any) -> dict[str, Any]:
        arrived.set()
        return call(*given)

    def write() -> None:
        answers.append(served.call("add_drawer", PLACE | {"content": "tea"}))

    monkeypatch.setattr(ada.house.palace, "call", noticed)
    thread = threading.Thread(target=write)
    with ada.house.lock.held():
        thread.start()
        arrived.wait()
        served.server.should_exit = True
    served.stop()
    thread.join()
    assert [one.status_code for one in answers] == [200]
    assert ada.contents() == ["tea"]


def test_a_stream_ends_when_the_server_stops(served: Served) -> None:
    with served.stream("GET", "/api/log/stream") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: log"
        served.stop()
        assert [line for line in lines if line.startswith("id:")] == []


def test_the_access_log_holds_no_content_no_query_and_no_token(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada = fleet.device("ada")
    with serving_with(ada, token_file=token_file(ada.folder.parent)) as served:
        ask = bearer("ada")
        place = {"wing": "cellar", "room": "shelf"}
        drawer = served.call("add_drawer", place | {"content": "marmalade"}, headers=ask).json()
        served.get("/api/search", params={"query": "marmalade"}, headers=ask)
        served.call("search", {"query": "marmalade", "nonsense": "marmalade"}, headers=ask)
        served.call("marmalade", {}, headers=ask)
        served.get("/marmalade", headers=ask | {"x-request-id": "r-1"})
        served.delete(f"/api/drawer/{drawer['drawer_id']}", headers=ask)
        served.get("/api/status", headers={"authorization": "Bearer wrong-marmalade"})
        served.post("/mcp", content=b"marmalade", headers=ask)
    lines = [one.getMessage() for one in caplog.records if one.name == "palacelog.access"]
    assert [line.split()[1:5] for line in lines] == [
        ["ada", "POST", "/api/call/add_drawer", "200"],
        ["ada", "GET", "/api/search", "200"],
        ["ada", "POST", "/api/call/search", "400"],
        ["ada", "POST", "/api/call/{tool}", "404"],
        ["ada", "GET", "-", "404"],
        ["ada", "DELETE", "/api/drawer/{drawer_id}", "200"],
        ["-", "GET", "-", "401"],
        ["ada", "POST", "/mcp", "415"],
    ]
    assert lines[4].startswith("r-1 ")
    told = [one for one in caplog.records if not one.name.startswith(("httpx", "httpcore"))]
    for secret in ("marmalade", "cellar", "shelf", "ada-secret"):
        assert not [one for one in told if secret in one.getMessage()], secret
