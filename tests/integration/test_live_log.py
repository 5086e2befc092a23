"""The log over HTTP: pages and a live stream of identifiers, for those who may read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import orjson
import pytest

from palacelog.rest import entries
from tests.palaces import Device
from tests.served import Served, error_of, serving

PLACE = {"wing": "home", "room": "notes"}
FIELDS = {"position", "op_id", "tool", "device", "stream", "local_seq", "recorded_at"}


@pytest.fixture
def served(ada: Device) -> Iterator[Served]:
    with serving(ada.house) as served:
        yield served


@contextmanager
def following(served: Served, **asked: Any) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of the live stream: kind and data; a heartbeat is a comment."""
    with served.stream("GET", "/api/log/stream", **asked) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield events(stream.iter_lines())


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    event: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            yield "comment", value
        elif line:
            event[name] = value
        elif event:
            data = orjson.loads(event["data"])
            assert event["event"] != "entry" or int(event["id"]) == data["position"]
            yield event["event"], data
            event = {}


def test_what_is_recorded_is_streamed_by_its_identifiers_alone(ada: Device, served: Served) -> None:
    ada.add_drawer(**PLACE, content="before")
    with following(served) as stream:
        kind, about = next(stream)
        assert (kind, about) == ("log", {"log_id": ada.house.log.log_id, "after": 1})
        written = [ada.add_drawer(**PLACE, content="tea"), ada.create_wing(wing="attic")]
        for answer in written:
            kind, entry = next(stream)
            assert kind == "entry"
            assert entry.keys() == FIELDS
            assert {name: entry[name] for name in ("op_id", "position", "local_seq")} == {
                name: answer[name] for name in ("op_id", "position", "local_seq")
            }


def test_a_stream_goes_on_behind_the_position_that_was_seen_last(
    ada: Device, served: Served
) -> None:
    for number in range(4):
        ada.add_drawer(**PLACE, content=f"text {number}")
    for asked in (
        {"params": {"after": 2}},
        {"headers": {"Last-Event-ID": "2"}},
        {"headers": {"Last-Event-ID": "2"}, "params": {"after": 0}},
    ):
        with following(served, **asked) as stream:
            assert next(stream)[0] == "log"
            assert [next(stream)[1]["position"] for _ in range(2)] == [3, 4]


def test_a_stream_that_is_quiet_shows_that_it_is_there(
    ada: Device, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "HEARTBEAT_SECONDS", 0.1)
    with following(served) as stream:
        assert next(stream)[0] == "log"
        assert next(stream) == ("comment", "here")
        ada.add_drawer(**PLACE, content="tea")
        assert "entry" in (next(stream)[0], next(stream)[0])


def test_a_position_that_this_log_has_not_reached_is_an_error(served: Served) -> None:
    for asked in ({"params": {"after": 7}}, {"headers": {"Last-Event-ID": "7"}}):
        error_of(served.get("/api/log/stream", **asked), 400, "input::invalid")


@pytest.mark.parametrize("said", ["-1", "x", "1.5", "\u0662", "9" * 30, ""])
def test_a_position_that_is_none_is_an_error(served: Served, said: str) -> None:
    for path in ("/api/log", "/api/log/stream"):
        error_of(served.get(path, params={"after": said}), 400, "input::invalid")
    error_of(served.get("/api/log", params={"limit": "201"}), 400, "input::invalid")
    error_of(served.get("/api/log", params={"nonsense": "1"}), 400, "input::invalid")


def test_the_log_in_pages_shows_every_entry_once(ada: Device, served: Served) -> None:
    for number in range(5):
        ada.add_drawer(**PLACE, content=f"text {number}")
    found, after = [], 0
    while page := served.get("/api/log", params={"limit": 2, "after": after}).json()["entries"]:
        assert all(entry.keys() == FIELDS for entry in page)
        found += [entry["position"] for entry in page]
        after = page[-1]["position"]
    assert found == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("path", ["/api/log", "/api/log/stream"])
def test_a_disabled_request_sees_nothing_of_the_log(ada: Device, served: Served, path: str) -> None:
    ada.add_drawer(**PLACE, content="tea")
    answer = served.get(path, headers={"X-Palacelog-Mode": "disabled"})
    error_of(answer, 403, "mode::forbidden")
    ada.house.palace.trail.flush()
    [refusal] = ada.list_operations(outcome="refused")["operations"]
    assert (refusal["tool"], refusal["code"]) == ("log_entries", "palacelog::mode::forbidden")


def test_what_is_shown_of_the_log_is_noted_as_a_read(ada: Device, served: Served) -> None:
    written = ada.add_drawer(**PLACE, content="tea")
    served.get("/api/log", headers={"X-Palacelog-Mode": "read_only"})
    ada.house.palace.trail.flush()
    noted = ada.list_operations(include_reads=True, tool="log_entries")["operations"]
    assert [(one["tool"], one["client"]) for one in noted] == [("log_entries", "rest")]
    shown = ada.show_operation(op_id=noted[0]["op_id"])["operation"]["payload"]
    assert shown["seen"]["ids"] == [written["op_id"]]


def test_more_streams_than_may_be_open_are_turned_away_until_one_closes(ada: Device) -> None:
    ada.reopen(serve={"log_streams_max": 2})
    with serving(ada.house) as served, following(served) as kept:
        with following(served) as closed:
            assert next(closed)[0] == next(kept)[0] == "log"
            for _ in range(2):
                turned_away = served.get("/api/log/stream")
                told = error_of(turned_away, 503, "http::streams")
                assert "serve.log_streams_max" in told["help"]
                assert int(turned_away.headers["retry-after"]) > 0
            assert served.get("/api/log").status_code == 200
        while (answer := opened(served)).status_code == 503:
            pass
        assert answer.status_code == 200
        written = ada.add_drawer(**PLACE, content="tea")
        assert next(kept)[1]["op_id"] == written["op_id"]


def opened(served: Served) -> httpx2.Response:
    """The head of a stream that is closed again."""
    with served.stream("GET", "/api/log/stream") as answer:
        return answer


def test_the_document_says_that_streams_are_limited(served: Served) -> None:
    document = served.get("/api/openapi.json").json()
    answers = document["paths"]["/api/log/stream"]["get"]["responses"]
    assert answers["503"]["headers"].keys() == {"Retry-After"}
    assert "text/event-stream" in answers["200"]["content"]
