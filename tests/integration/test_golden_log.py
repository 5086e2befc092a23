"""The golden log of every schema: it verifies, folds to the digests that were written down with it,
and every event reads as it was recorded. What fails here would fail on somebody's palace.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from domain.catalog import CATALOG, RECORDED_BY_ITSELF
from domain.jobs import OF_JOBS
from domain.operation import SCHEMA, Operation
from palacelog import folder as folders
from palacelog.bootstrap import House, open_palace
from projections.digests import digests
from replay.log import Log
from replay.rebuild import rebuild
from replay.verify import verify

GOLDEN = Path(__file__).parents[2] / "fixtures/golden"
NOTHING = "0" * 64
"""The digest of an area without rows, as of one that was added after a log was written."""
SCHEMAS = sorted(path.name for path in GOLDEN.iterdir())


class Golden(NamedTuple):
    """A golden log in a palace of its own, and what was written down about it."""

    source: Path
    house: House
    digests: dict[str, Any]
    events: list[list[Any]]


@pytest.fixture(scope="module", params=SCHEMAS)
def golden(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Golden]:
    source = GOLDEN / request.param
    folder = folders.prepare(tmp_path_factory.mktemp("golden") / "palace")
    shutil.copyfile(source / "log.db", folder.log)
    folders.finish(folder, "palace_golden")
    lines = (source / "events.ndjson").read_bytes().splitlines()
    with open_palace(folder.path) as house:
        yield Golden(
            source,
            house,
            orjson.loads((source / "digests.json").read_bytes()),
            [orjson.loads(line) for line in lines],
        )


def operations(golden: Golden) -> list[Operation]:
    return list(golden.house.log.after(0, 100_000))


def test_every_schema_has_a_golden_log() -> None:
    schemas = {f"schema-{number}" for number in range(1, SCHEMA + 1)}
    others = {f"{schema}-{part}" for schema in schemas for part in ("vocabulary", "jobs")}
    assert set(SCHEMAS) == schemas | others


@pytest.mark.parametrize("schema", SCHEMAS)
def test_it_lies_in_one_file(schema: str) -> None:
    assert sorted(path.name for path in (GOLDEN / schema).iterdir()) == [
        "digests.json",
        "events.ndjson",
        "log.db",
    ]


def test_it_verifies_without_findings(golden: Golden) -> None:
    folder = golden.house.folder
    report = verify(folder.log, folder.views)
    assert report.findings == []
    assert report.events == len(golden.events)


def test_it_folds_to_its_digests(golden: Golden) -> None:
    expected = {name: value for name, value in golden.digests.items() if name != "schema"}
    for _ in range(2):
        with golden.house.palace.reading() as reading:
            found = digests(reading.cursor)
        later = found.keys() - expected.keys()
        assert {name: found[name] for name in expected} == expected
        assert all(set(found[area].values()) == {NOTHING} for area in later)
        rebuild(golden.house.log, golden.house.generations, golden.house.lock)


def test_every_event_reads_as_it_was_recorded(golden: Golden) -> None:
    read = [
        [one.position, one.header.op_id, one.recorded.chain.hex(), one.link.hex()]
        for one in operations(golden)
    ]
    assert read == golden.events


def test_every_header_is_read_whole(golden: Golden) -> None:
    for one in operations(golden):
        assert one.header.encoded() == one.recorded.header_bytes
        assert one.header.schema == golden.digests["schema"]


def test_opening_it_writes_nothing_into_it(golden: Golden, tmp_path: Path) -> None:
    source = golden.source / "log.db"
    copy = tmp_path / "log.db"
    shutil.copyfile(source, copy)
    log = Log(copy)
    assert log.head().position == len(golden.events)
    log.close()
    assert copy.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("golden", ["schema-1-vocabulary"], indirect=True)
def test_every_operation_that_records_anything_was_called(golden: Golden) -> None:
    writes = {entry.name for entry in CATALOG.values() if entry.writes}
    held = operations(golden)
    recorded = writes | RECORDED_BY_ITSELF.keys()
    assert {one.header.tool for one in held} == recorded - OF_JOBS
    assert {one.header.stream for one in held} == {"shared", "local"}
    assert any(one.header.call_id for one in held)


@pytest.mark.parametrize("golden", ["schema-1-jobs"], indirect=True)
def test_every_operation_on_jobs_was_called_and_tells_what_it_told(golden: Golden) -> None:
    assert {one.header.tool for one in operations(golden)} >= OF_JOBS
    jobs = golden.house.palace.call("list_jobs", {})["jobs"]
    assert [(one["state"], one["filed"], one["code"]) for one in jobs] == [
        ("failed", 0, "palacelog::mine::gone"),
        ("cancelled", 0, None),
        ("done", 2, None),
    ]


@pytest.mark.parametrize("golden", ["schema-1"], indirect=True)
def test_it_has_every_kind_of_conflict(golden: Golden) -> None:
    listed = golden.house.palace.call("list_conflicts", {"limit": 200})
    kinds = {one["kind"] for one in listed["conflicts"]}
    assert kinds >= {
        "single_value",
        "superseded_twice",
        "target_hidden",
        "target_missing",
        "tombstone_unknown",
    }


@pytest.mark.parametrize("golden", ["schema-1"], indirect=True)
def test_the_past_can_be_asked_for(golden: Golden) -> None:
    def owners(**moment: Any) -> list[str]:
        asked = {"entity": "gateway", "predicate": "owner", "direction": "out"}
        found = golden.house.palace.call("kg_query", asked | moment)
        return [fact["object"] for fact in found["facts"]]

    assert owners(known_at="@1") == []
    assert owners(known_at="2026-03-10T12:00Z") == ["Tomás"], "before the first device synced"
    assert owners(known_at="2026-03-12") == ["Priya"]
    assert owners(as_of="2026-03-20") == ["Olga"]
    assert owners(as_of="2026-04-05") == ["Sunil"]
    assert owners(as_of="2025-06") == ["Tomás"]
