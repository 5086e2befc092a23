"""Moments at the command line mean the same on every machine (cases L1, L2, L4, L28)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from freezegun.api import FrozenDateTimeFactory

from domain.catalog import CATALOG
from tests.command_line import CommandLine, new_line


@pytest.fixture
def line(clock: FrozenDateTimeFactory, tmp_path: Path) -> CommandLine:
    """A palace with a memory and a fact of 2026-03-31T15:00Z, looked at three weeks later."""
    made = new_line(tmp_path / "palace")
    made.call("add_drawer", wing="home", room="notes", content="tea")
    made.call("kg_add", subject="Kiran", predicate="city", object="Lyon", valid_from="2026-03-31")
    clock.move_to("2026-04-20T00:00:00Z")
    return made


def objects(line: CommandLine, *before: str, **arguments: Any) -> list[str]:
    facts = line.call("kg_query", *before, entity="Kiran", **arguments)["facts"]
    return [one["object"] for one in facts]


def drawers(line: CommandLine, *before: str, **arguments: Any) -> int:
    total: int = line.call("list_drawers", *before, **arguments)["total"]
    return total


def test_a_bare_date_reaches_through_the_whole_day(line: CommandLine) -> None:
    """L1"""
    assert line("log", "list", "--since", "2026-03-31", "--before", "2026-03-31")["total"] == 2
    assert line("log", "list", "--before", "2026-03-30")["total"] == 0
    assert drawers(line, since="2026-03-01", before="2026-03-31") == 1
    assert drawers(line, since="2026-03-01", before="2026-03-30") == 0
    assert drawers(line, "--known-at", "2026-03-31") == 1
    assert drawers(line, "--known-at", "2026-03-30") == 0
    assert drawers(line, "--at", "2026-03-30") == 0
    assert objects(line, "--as-of", "2026-03-30") == []
    assert objects(line, "--as-of", "2026-03-31") == ["Lyon"]
    assert objects(line, "--at", "2026-03-31") == ["Lyon"]


@pytest.mark.parametrize("option", ["--as-of", "--known-at", "--at"])
def test_one_moment_in_three_spellings_is_one_answer(line: CommandLine, option: str) -> None:
    """L2"""
    answers = [
        line.call("kg_query", option, text, entity="Kiran")
        for text in ("2026-04-02", "20260402", "2026-04-02T23:59:59.999999Z")
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["as_of"] == "2026-04-02T23:59:59.999999Z"
    for text, meant in (("2026", "2026-12-31"), ("2026-02", "2026-02-28")):
        answer = line.call("kg_query", option, text, entity="Kiran")
        assert answer["as_of"] == f"{meant}T23:59:59.999999Z"


@pytest.mark.parametrize("text", ["Jan 2026", "2026-02-30", "03/01/2026", "", "soon", "@one"])
@pytest.mark.parametrize(
    ("option", "field"), [("--as-of", "as_of"), ("--known-at", "known_at"), ("--at", "known_at")]
)
def test_what_is_no_moment_is_an_error_that_names_the_field(
    line: CommandLine, option: str, field: str, text: str
) -> None:
    """L2"""
    with line.stops(2, "input::invalid", names=f"`{field}`"):
        line.call("kg_query", option, text, entity="Kiran")


def test_at_is_both_moments_at_once(line: CommandLine, clock: FrozenDateTimeFactory) -> None:
    line.call("kg_supersede", subject="Kiran", predicate="city", old_object="Lyon",
              new_object="Nice", at="2026-04-10")  # fmt: skip
    clock.move_to("2026-05-01T00:00:00Z")
    assert objects(line) == ["Nice"]
    assert objects(line, "--as-of", "2026-04-05") == ["Lyon"]
    assert objects(line, "--as-of", "2026-04-15") == ["Nice"]
    assert objects(line, "--at", "2026-04-15") == ["Lyon"]
    assert objects(line, "--known-at", "@2", "--as-of", "2026-04-15") == ["Lyon"]
    assert objects(line, "--at", "@3") == ["Nice"]
    assert objects(line, "--at", "@2", include_historical=True) == ["Lyon"]


def test_what_was_known_then_is_asked_of_the_log_too(line: CommandLine) -> None:
    """L28"""
    then = line("log", "list", before=("--known-at", "@1"))
    line.call("add_drawer", wing="home", room="notes", content="later")
    assert line("log", "list", before=("--known-at", "@1")) == then
    assert [one["position"] for one in then["operations"]] == [1]
    assert line("log", "list", before=("--at", "@1"))["total"] == 1
    with line.stops(1, "operations::unknown"):
        line("log", "show", 2, before=("--known-at", "@1"))


TIMELESS = [
    "status", "doctor", "digest", "rebuild", "tools", "demo", "init", "log verify", "log export x",
    "outbox list", "outbox export x", "outbox acknowledge x", "replay x", "backup x", "restore x",
    "accept-loss",
]  # fmt: skip


@pytest.mark.parametrize("option", ["--as-of", "--known-at", "--at"])
@pytest.mark.parametrize("words", TIMELESS)
def test_a_command_that_knows_the_present_only_says_so(
    tmp_path: Path, words: str, option: str
) -> None:
    line = CommandLine(tmp_path / "palace")
    with line.stops(2, "input::invalid", names=option):
        line(*words.split(), before=(option, "2026-01-01"))


@pytest.mark.parametrize("tool", CATALOG)
def test_a_moment_goes_with_the_reads_that_take_it_and_with_nothing_else(
    tmp_path: Path, tool: str
) -> None:
    line, fields = CommandLine(tmp_path / "palace"), CATALOG[tool].asks.model_fields
    for option, field in (("--as-of", "as_of"), ("--known-at", "known_at"), ("--at", "known_at")):
        ended = line.run("call", tool, "{}", before=(option, "2026-01-01"))
        code = ended.errors[0]["code"]
        # Where the moment goes with the tool, the command comes as far as the missing palace.
        assert code == f"palacelog::{'palace::none' if field in fields else 'input::invalid'}"


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        (("--at", "2026", "--as-of", "2026"), {}),
        (("--at", "2026", "--known-at", "2026"), {}),
        (("--at", "2026"), {"known_at": "2026"}),
        (("--at", "2026"), {"as_of": "2026"}),
        (("--as-of", "2026"), {"as_of": "2026"}),
        (("--as-of", "2026"), {"include_historical": True}),
    ],
)
def test_a_moment_is_given_once(
    line: CommandLine, before: tuple[str, ...], arguments: dict[str, Any]
) -> None:
    with line.stops(2, "input::invalid"):
        line.call("kg_query", *before, entity="Kiran", **arguments)


def test_the_configured_zone_counts(line: CommandLine) -> None:
    line.environment["PALACELOG_ZONE"] = "Asia/Tokyo"
    answer = line.call("kg_query", "--as-of", "2026-04-02", entity="Kiran")
    assert answer["as_of"] == "2026-04-02T14:59:59.999999Z"
