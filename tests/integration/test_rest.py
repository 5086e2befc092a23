"""The palace as plain requests: every operation, in the same words as everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema
import pytest

from domain.catalog import CATALOG
from domain.gate import CONTROL, MAINTENANCE, READ
from domain.jobs import STEERING
from palacelog.rest.app import make_app
from tests.palaces import Device, Fleet, checked, fingerprint, new_palace
from tests.samples import SAMPLES, Known, furnished
from tests.served import Served, error_of, serving

OF_EACH = ("op_id", "local_seq", "position", "drawer_id", "hidden")
PLACE = {"wing": "home", "room": "notes"}
WITH_A_ROUTE = sorted(set(CATALOG) - {"set_mode"})


@pytest.fixture
def served(ada: Device) -> Iterator[Served]:
    with serving(ada.house) as served:
        yield served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Device, Known, Served]]:
    """A furnished palace for what changes nothing."""
    fleet = Fleet(tmp_path_factory.mktemp("shared"))
    device = fleet.device("ada")
    known = furnished(device)
    with serving(device.house) as served:
        yield device, known, served
    fleet.close()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with new_palace(tmp_path_factory.mktemp("described")) as house:
        yield make_app(house).openapi()


def route_of(document: dict[str, Any], tool: str) -> tuple[str, str, dict[str, Any]]:
    """Method, path and description of an operation's own route."""
    return next(
        (method, path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        if about["operationId"] == tool
    )


def valid(document: dict[str, Any], schema: dict[str, Any], answer: Any) -> None:
    whole = schema | {"components": document["components"]}
    faults = jsonschema.Draft202012Validator(whole).iter_errors(answer)
    assert [fault.message[:200] for fault in faults] == []


def asked(served: Served, route: tuple[str, str, Any], given: dict[str, Any]) -> httpx2.Response:
    """Call an operation over its own route."""
    method, path, _ = route
    rest = dict(given)
    for name in list(rest):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", rest.pop(name))
    if method == "get":
        return served.get(path, params=rest)
    return served.request(method.upper(), path, json=rest)


@pytest.fixture
def furnished_for(tool: str, request: pytest.FixtureRequest) -> tuple[Known, Served]:
    """A furnished palace; one of its own for an operation that writes."""
    if CATALOG[tool].writes:
        served: Served = request.getfixturevalue("served")
        return furnished(request.getfixturevalue("ada")), served
    _, known, served = request.getfixturevalue("shared")
    return known, served


@pytest.mark.parametrize(
    "tool", [tool for tool in WITH_A_ROUTE if CATALOG[tool].operation_class != MAINTENANCE]
)
def test_every_operation_answers_over_its_route_as_its_schema_says(
    furnished_for: tuple[Known, Served], document: dict[str, Any], tool: str
) -> None:
    known, served = furnished_for
    given = SAMPLES[tool](known)
    route = route_of(document, tool)
    answer = asked(served, route, given)
    assert answer.status_code == 200, answer.text
    checked(tool, answer.json())
    for about in (route[2], document["paths"]["/api/call/{tool}"]["post"]):
        [described] = about["responses"]["200"]["content"].values()
        valid(document, described["schema"], answer.json())
    assert "error" not in answer.json()


@pytest.mark.parametrize(
    "tool", [tool for tool in WITH_A_ROUTE if CATALOG[tool].operation_class == MAINTENANCE]
)
def test_maintenance_is_refused_to_whoever_comes_over_a_port(
    shared: tuple[Device, Known, Served], tool: str
) -> None:
    ada, known, served = shared
    before = fingerprint(ada.house)
    error_of(served.call(tool, SAMPLES[tool](known)), 403, "mode::elsewhere")
    assert fingerprint(ada.house) == before


def test_a_note_over_a_port_names_its_wing(ada: Device, served: Served) -> None:
    before = fingerprint(ada.house)
    refusal = error_of(served.call("note", {"content": "tea"}), 400, "input::invalid")
    assert "`wing`" in refusal["error"]
    assert fingerprint(ada.house) == before
    assert served.call("note", {"content": "tea", "wing": "home"}).status_code == 200
    assert ada.list_drawers()["drawers"][0]["room"] == "notes"


@pytest.mark.parametrize("tool", WITH_A_ROUTE)
def test_a_disabled_request_gets_ids_and_counts_or_a_refusal_and_never_an_empty_answer(
    shared: tuple[Device, Known, Served], tool: str
) -> None:
    ada, known, served = shared
    before = fingerprint(ada.house)
    answer = served.call(tool, SAMPLES[tool](known), headers={"X-Palacelog-Mode": "disabled"})
    if CATALOG[tool].operation_class == CONTROL:
        assert answer.status_code == 200
        names = ("tea", "coffee", "home", "notes", "desk", "Kiran", "Lyon", "Ana", "attic")
        for content in (*names, known.papers):
            assert content not in answer.text
    else:
        error_of(answer, 403, "mode::forbidden")
    # A job can be steered by whoever asks, and that is recorded.
    assert (fingerprint(ada.house) == before) == (tool not in STEERING)


def test_a_read_only_request_reads_and_does_not_write(ada: Device, served: Served) -> None:
    mode = {"X-MemCastle-Mode": "read_only"}
    before = fingerprint(ada.house)
    write = served.call("add_drawer", PLACE | {"content": "tea"}, headers=mode)
    error_of(write, 403, "mode::forbidden")
    assert fingerprint(ada.house) == before
    assert served.get("/api/list_drawers", headers=mode).json()["drawers"] == []
    assert CATALOG["list_drawers"].operation_class == READ


@pytest.mark.parametrize("mode", ["off", "read-only", "FULL", "", "full,full"])
@pytest.mark.parametrize("name", ["X-Palacelog-Mode", "X-MemCastle-Mode"])
def test_a_header_that_is_no_mode_is_an_error(
    shared: tuple[Device, Known, Served], name: str, mode: str
) -> None:
    _, _, served = shared
    for path in ("/api/status", "/api/log", "/api/log/stream"):
        error_of(served.get(path, headers={name: mode}), 400, "input::invalid")


def test_two_headers_may_say_the_same_and_nothing_else(
    shared: tuple[Device, Known, Served],
) -> None:
    _, _, served = shared
    names = ("X-Palacelog-Mode", "X-MemCastle-Mode")
    same = dict.fromkeys(names, "read_only")
    assert served.get("/api/list_wings", headers=same).status_code == 200
    differ = dict(zip(names, ("full", "read_only"), strict=True))
    error_of(served.get("/api/list_wings", headers=differ), 400, "input::invalid")
    twice = [(names[0], "full"), (names[0], "disabled")]
    error_of(served.get("/api/list_wings", headers=twice), 400, "input::invalid")


def test_a_request_is_no_session_that_remembers_a_mode(ada: Device, served: Served) -> None:
    error_of(served.call("set_mode", {"mode": "read_only"}), 403, "mode::no_session")
    error_of(served.call("set_mode", {"mode": "off"}), 400, "input::invalid")
    assert served.call("add_drawer", PLACE | {"content": "tea"}).status_code == 200


def test_a_ceiling_of_the_server_holds_for_every_request(fleet: Fleet) -> None:
    ada = fleet.device("ada", session_mode="read_only")
    with serving(ada.house) as served:
        error_of(served.call("add_drawer", PLACE | {"content": "tea"}), 403, "mode::forbidden")
        full = {"X-Palacelog-Mode": "full"}
        error_of(served.get("/api/list_wings", headers=full), 403, "mode::above_ceiling")
        assert served.get("/api/list_wings").status_code == 200


def test_a_delete_without_a_body_with_null_and_with_nothing_in_it_are_the_same(
    ada: Device, served: Served
) -> None:
    answers = []
    for content in (None, b"null", b"{}", b" {} "):
        drawer = ada.add_drawer(**PLACE, content=f"tea {content!r}")["drawer_id"]
        about = {"content-type": "application/json"} if content else {}
        for _ in range(2):
            answer = served.request(
                "DELETE", f"/api/drawer/{drawer}", content=content, headers=about
            )
            assert answer.status_code == 200, answer.text
            told = answer.json()
            answers.append(told | dict.fromkeys(OF_EACH))
            assert "error" not in told
    assert answers[0::2] == [answers[0]] * 4
    assert answers[1::2] == [answers[1]] * 4
    assert answers[1]["duplicate"]


def test_what_a_delete_names_twice_must_be_one_thing(ada: Device, served: Served) -> None:
    drawer = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    before = fingerprint(ada.house)
    other = served.request("DELETE", f"/api/drawer/{drawer}", json={"drawer_id": "other"})
    error_of(other, 400, "http::path")
    unknown = served.request("DELETE", "/api/drawer/drawer_of_nobody")
    error_of(unknown, 404, "drawers::unknown")
    assert fingerprint(ada.house) == before


@pytest.mark.parametrize("tags", [["a", "b"], "a,b", '["a","b"]'])
def test_tags_mean_the_same_in_each_way_to_write_them(served: Served, tags: Any) -> None:
    drawer = served.call("add_drawer", PLACE | {"content": "tea", "tags": tags}).json()
    found = served.get("/api/get_drawer", params={"drawer_id": drawer["drawer_id"]}).json()
    assert found["drawer"]["tags"] == ["a", "b"]
    hits = served.get("/api/search", params={"query": "tea", "tags": ["a", "b"]}).json()["hits"]
    assert [hit["tags"] for hit in hits] == [["a", "b"]]


def test_tags_that_are_none_are_an_error_that_names_the_field(ada: Device, served: Served) -> None:
    before = fingerprint(ada.house)
    answer = served.call("add_drawer", PLACE | {"content": "tea", "tags": 5})
    assert error_of(answer, 400, "input::invalid")["error"].startswith("`tags`")
    assert fingerprint(ada.house) == before


def test_a_write_that_is_repeated_with_its_key_is_done_once(ada: Device, served: Served) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = served.call("add_drawer", PLACE | {"content": "tea"}, headers=key)
    again = served.post("/api/add_drawer", json=PLACE | {"content": "tea"}, headers=key)
    assert first.json() == again.json()
    other = served.call("add_drawer", PLACE | {"content": "milk"}, headers=key)
    error_of(other, 409, "idempotency::conflict")
    for named in ("k", ["k-1"], {}, None):
        given = PLACE | {"content": "x", "idempotency_key": named}
        error_of(served.call("add_drawer", given, headers=key), 400, "input::invalid")
    assert ada.tools() == ["add_drawer"]


@pytest.mark.parametrize(
    ("content", "about", "status", "code"),
    [
        (b"{", "application/json", 400, "input::json"),
        (b"[]", "application/json", 400, "input::json"),
        (b'"tea"', "application/json", 400, "input::json"),
        (b"\xff", "application/json", 400, "input::json"),
        (b'{"a": NaN}', "application/json", 400, "input::json"),
        (b'{"a": 1, "a": 2}', "application/json", 400, "input::json"),
        (b"[" * 100_000, "application/json", 400, "input::json"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "application/json", 400, "input::json"),
        (b'{"wing": "\\ud800"}', "application/json", 400, "input::json"),
        (b"{}", "text/plain", 415, "http::content_type"),
        (b"wing=home", "application/x-www-form-urlencoded", 415, "http::content_type"),
        (b'{"nonsense": 1}', "application/json; charset=utf-8", 400, "input::invalid"),
    ],
)
def test_a_body_that_cannot_be_read_is_an_error_in_the_house_s_shape(
    shared: tuple[Device, Known, Served], content: bytes, about: str, status: int, code: str
) -> None:
    ada, _, served = shared
    before = fingerprint(ada.house)
    for path in ("/api/add_drawer", "/api/call/add_drawer"):
        answer = served.post(path, content=content, headers={"content-type": about})
        error_of(answer, status, code)
    assert fingerprint(ada.house) == before


@pytest.mark.parametrize(
    "query",
    ["limit=many", "limit=1.5", "limit=1&limit=2", "include_historical=yes", "nonsense=1",
     "query=%ff", "query=", "limit=9999999999999999999999", "max_distance=nan", "cursor=nonsense",
     "as_of=someday", "limit=0"],
)  # fmt: skip
def test_an_address_that_cannot_be_read_is_an_error_in_the_house_s_shape(
    shared: tuple[Device, Known, Served], query: str
) -> None:
    _, _, served = shared
    also = "" if query.startswith("query") else "query=tea&"
    error_of(served.get(f"/api/search?{also}{query}"), 400, "input::invalid")


def test_where_there_is_nothing_the_error_has_the_house_s_shape(
    shared: tuple[Device, Known, Served],
) -> None:
    _, _, served = shared
    for path in ("/", "/api", "/api/", "/api/status/", "/api/drawer/", "/docs", "/api/set_mode"):
        error_of(served.get(path), 404, "http::no_route")
    for method, path in (("GET", "/api/add_drawer"), ("PUT", "/api/status"), ("POST", "/healthz")):
        answer = served.request(method, path)
        error_of(answer, 405, "http::method")
        assert answer.headers["allow"]
    error_of(served.call("drop_everything", {}), 404, "input::unknown_tool")
    error_of(served.get("/api/show_wing", params={"wing": "nowhere"}), 404, "places::unknown")
    error_of(served.post("/api/call/status?limit=1"), 400, "input::invalid")


def test_every_answer_carries_the_id_of_its_request(
    shared: tuple[Device, Known, Served],
) -> None:
    _, _, served = shared
    for path in ("/api/status", "/nowhere", "/healthz", "/mcp"):
        sane = served.get(path, headers={"x-request-id": "r-1:2.3_4"})
        assert sane.headers["x-request-id"] == "r-1:2.3_4"
        for said in ("a b", "x" * 129, "", "<script>", "\u00e9".encode("latin-1")):
            made = served.get(path, headers={"x-request-id": said}).headers["x-request-id"]
            assert len(made) == 32
            assert made.isalnum()


def test_pages_of_a_list_show_everything_once(ada: Device, served: Served) -> None:
    for number in range(5):
        ada.add_drawer(**PLACE, content=f"text {number}")
    found: list[str] = []
    asked: dict[str, Any] = {"limit": 2, "known_at": "now"}
    while True:
        page = served.get("/api/list_drawers", params=asked).json()
        found += [line["preview"] for line in page["drawers"]]
        if page["cursor"] is None:
            break
        ada.add_drawer(**PLACE, content=f"later than {page['cursor']}")
        asked["cursor"] = page["cursor"]
    assert [one for one in found if one.startswith("text")] == [
        f"text {number}" for number in (4, 3, 2, 1, 0)
    ]


def test_a_fault_inside_is_told_without_its_words(
    ada: Device,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("cannot read the cellar door")

    monkeypatch.setattr(ada.house.palace, "call", broken)
    answer = served.get("/api/status")
    told = error_of(answer, 500, "http::fault")
    assert answer.headers["x-request-id"] in told["help"]
    assert "cellar" not in answer.text
    served.stop()
    assert "cellar" not in caplog.text
    assert "RuntimeError in broken" in caplog.text


def test_a_palace_that_cannot_be_used_is_unavailable(ada: Device, served: Served) -> None:
    log = ada.house.log.path
    log.rename(log.with_name("elsewhere"))
    try:
        error_of(served.get("/api/list_wings"), 503, "log::replaced")
        error_of(served.get("/healthz"), 503, "log::replaced")
    finally:
        log.with_name("elsewhere").rename(log)


READ_ONLY = {"session_mode": "read_only"}


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"headers": {"X-Palacelog-Mode": "full"}}, "mode::above_ceiling"),
        ({"headers": {"X-Palacelog-Mode": "secret"}}, "input::invalid"),
        ({"headers": {"X-Palacelog-Agent": "x" * 129}}, "input::invalid"),
        ({"headers": {"Idempotency-Key": "secret"}, "json": {"idempotency_key": "k"}},
         "input::invalid"),
        ({"content": b"secret", "headers": {"content-type": "application/json"}}, "input::json"),
        ({"content": b"secret", "headers": {"content-type": "text/x"}}, "http::content_type"),
        ({"params": {"secret": "secret"}}, "input::invalid"),
    ],
)  # fmt: skip
def test_a_request_refused_before_the_palace_is_asked_is_noted_once(
    fleet: Fleet, asked: dict[str, Any], code: str
) -> None:
    ada = fleet.device("ada", **READ_ONLY)
    with serving(ada.house) as served:
        assert served.post("/api/add_drawer", **asked).status_code in (400, 403, 415)
        ada.house.palace.trail.flush()
        [line] = ada.list_operations(outcome="refused")["operations"]
        assert (line["tool"], line["code"]) == ("add_drawer", f"palacelog::{code}")
        assert line["client"] == "rest"
        assert "secret" not in str(ada.show_operation(op_id=line["op_id"]))


def test_a_refused_request_for_the_log_or_for_no_tool_is_noted_too(fleet: Fleet) -> None:
    ada = fleet.device("ada", **READ_ONLY)
    with serving(ada.house) as served:
        full = {"X-Palacelog-Mode": "full"}
        error_of(served.get("/api/log", headers=full), 403, "mode::above_ceiling")
        error_of(served.get("/api/log/stream", headers=full), 403, "mode::above_ceiling")
        error_of(
            served.call("secret", {}, headers={"X-Palacelog-Mode": "x"}), 400, "input::invalid"
        )
        ada.house.palace.trail.flush()
        noted = ada.list_operations(outcome="refused")["operations"]
        assert {one["tool"] for one in noted} == {"log_entries", "unknown_tool"}


def test_why_tells_which_agent_wrote_in_which_session(ada: Device, served: Served) -> None:
    who = {"X-Palacelog-Agent": "scribe", "X-Palacelog-Session": "印刷 7".encode()}
    given = {"subject": "Kiran", "predicate": "city", "object": "Lyon"}
    fact = served.call("kg_add", given, headers=who).json()["fact_id"]
    read = served.get("/api/kg_query", params={"entity": "Kiran"}, headers=who)
    assert read.status_code == 200
    [made] = ada.why(id=fact)["operations"]
    assert (made["agent"], made["session"], made["client"]) == ("scribe", "印刷 7", "rest")
    ada.house.palace.trail.flush()
    [noted] = ada.list_operations(include_reads=True, tool="kg_query")["operations"]
    assert (noted["agent"], noted["session"]) == ("scribe", "印刷 7")


@pytest.mark.parametrize("name", ["X-Palacelog-Agent", "X-Palacelog-Session"])
def test_a_header_that_is_no_name_is_an_error(
    shared: tuple[Device, Known, Served], name: str
) -> None:
    ada, _, served = shared
    before = fingerprint(ada.house)
    for said in (b"", b"x" * 129, b"\xff", "a\u2028b".encode(), "a\u0085b".encode()):
        for path in ("/api/status", "/api/log", "/api/log/stream", "/mcp"):
            answer = served.get(path, headers=[(name.encode(), said)])
            assert name in error_of(answer, 400, "input::invalid")["error"]
    twice = [(name.encode(), b"a"), (name.encode(), b"a")]
    error_of(served.get("/api/status", headers=twice), 400, "input::invalid")
    assert fingerprint(ada.house) == before


def test_no_answer_is_kept_by_a_cache_or_guessed_at(
    shared: tuple[Device, Known, Served],
) -> None:
    _, _, served = shared
    for path in ("/api/list_wings", "/api/openapi.json", "/nowhere", "/healthz"):
        answer = served.get(path)
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/api/log", "/api/log/stream", "/healthz"])
def test_a_file_that_cannot_be_read_is_told_in_the_house_s_shape(
    ada: Device, served: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def broken() -> None:
        raise PermissionError(13, "Permission denied", str(ada.house.log.path))

    monkeypatch.setattr(ada.house.log, "check_file", broken)
    answer = served.get(path)
    assert answer.status_code == 503
    assert answer.json()["code"].startswith("palacelog::storage::")
