"""The audit at the command line: a report for everyone, questions for who may read."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow.parquet
import pytest

from projections.audit.schema import tables
from tests.command_line import CommandLine, new_line

TEXT = "The cache is one SQLite file."


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    """A palace with two operations and a read."""
    line = new_line(tmp_path / "palace")
    line.call("add_drawer", "--agent", "scribe", wing="atlas", room="plans", content=TEXT)
    line.call(
        "kg_add", "--agent", "planner", subject="atlas", predicate="cache", object="SQLite",
        valid_from="2026-01-05",
    )  # fmt: skip
    line.call("list_drawers")
    return line


def test_the_report_tells_who_was_active(line: CommandLine) -> None:
    report = line("audit")
    assert [(one["device"], one["operations"]) for one in report["devices"]] == [("laptop", 2)]
    assert {one["agent"] for one in report["agents"]} == {"scribe", "planner"}
    assert [one["operations"] for one in report["days"]] == [2]
    assert report["log"]["state"] == "whole"
    assert report["refusals"] == []
    assert line("audit", "--before", "2020")["devices"] == []
    assert line("audit", "--since", "2020", "--before", "now")["devices"] != []


def test_the_report_counts_what_was_refused(line: CommandLine) -> None:
    line.run("call", "list_drawers", before=("--mode", "disabled"))
    assert line("audit")["refusals"] == [{"code": "palacelog::mode::forbidden", "calls": 1}]


def test_the_report_is_answered_in_every_mode_and_names_no_agent_where_reading_is_off(
    line: CommandLine,
) -> None:
    assert "agents" in line("audit", before=("--mode", "read_only"))
    report = line("audit", before=("--mode", "disabled"))
    assert "agents" not in report
    assert report["devices"]
    assert "atlas" not in str(report)


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "SELECT 1"), ("export", "--csv", "tables"), ("trail",), ("show", "1"),
        ("why", "fact_x"), ("diff", "@1"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_what_shows_content_is_refused_in_a_disabled_session(
    line: CommandLine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    words = tuple(str(tmp_path / "tables") if word == "tables" else word for word in words)
    with line.stops(1, "mode::forbidden"):
        line("audit", *words, before=("--mode", "disabled"))
    assert line.run("audit", *words, before=("--mode", "read_only")).code in (0, 1, 2)


def test_a_select_is_answered_with_its_rows(line: CommandLine) -> None:
    answer = line("audit", "sql", "SELECT agent, tool FROM operations ORDER BY position")
    assert answer["columns"] == ["agent", "tool"]
    assert answer["rows"] == [["scribe", "add_drawer"], ["planner", "kg_add"]]
    assert (answer["position"], answer["more"]) == (2, False)
    few = line("audit", "sql", "FROM operations", "--limit", "1")
    assert (len(few["rows"]), few["more"]) == (1, True)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("TIMESTAMPTZ '2026-03-31 15:00:00+02'", "2026-03-31T13:00:00.000000Z"),
        ("DATE '2026-03-31'", "2026-03-31"),
        ("1.5::DECIMAL(9, 2)", 1.5),
        ("'nan'::DOUBLE", "nan"),
        ("2::HUGEINT ** 100", float(2**100)),
        ("'ab'::BLOB", "6162"),
        ("[1, NULL]", [1, None]),
        ("{'a': DATE '2026-01-01'}", {"a": "2026-01-01"}),
        ("NULL", None),
        ("make_timestamptz(253402300800000000) IS NOT NULL", True),
    ],
)
def test_every_kind_of_value_becomes_json(
    line: CommandLine, expression: str, value: object
) -> None:
    assert line("audit", "sql", f"SELECT {expression}")["rows"] == [[value]]


def forbidden(folder: str) -> Iterator[str]:
    """What SQL could do to a machine or a palace, were it allowed to."""
    yield f"COPY operations TO '{folder}/out.csv'"
    yield f"COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)"
    yield f"EXPORT DATABASE '{folder}/out'"
    yield f"SELECT * FROM read_text('{folder}/palace/palace.toml')"
    yield f"SELECT * FROM read_blob('{folder}/palace/log.db')"
    yield f"SELECT * FROM read_csv('{folder}/palace/palace.toml')"
    yield f"SELECT * FROM read_parquet('{folder}/x.parquet')"
    yield f"SELECT * FROM '{folder}/palace/palace.toml'"
    yield f"SELECT * FROM glob('{folder}/*')"
    yield f"ATTACH '{folder}/out.duckdb'"
    yield "ATTACH ':memory:' AS other"
    yield "INSTALL httpfs"
    yield "LOAD httpfs"
    yield "LOAD json"
    yield "SET memory_limit = '100GB'"
    yield "SET enable_external_access = true"
    yield "RESET lock_configuration"
    yield "PRAGMA enable_profiling"
    yield "PRAGMA database_list"
    yield "CREATE TABLE mine (i INTEGER)"
    yield "CREATE TEMP TABLE mine (i INTEGER)"
    yield "INSERT INTO stored.about VALUES ('a', 'b')"
    yield "UPDATE stored.operations SET tool = 'x'"
    yield "DELETE FROM stored.operations"
    yield "DROP VIEW operations"
    yield "WITH gone AS (DELETE FROM stored.operations RETURNING *) SELECT * FROM gone"
    yield "COMMIT; CREATE TABLE mine (i INTEGER)"
    yield "SELECT 1; DELETE FROM stored.operations"
    yield "BEGIN TRANSACTION"
    yield "CHECKPOINT"
    yield "CALL force_checkpoint()"
    yield "VACUUM"
    yield "SELECT * FROM getenv('HOME')"
    yield "SELECT getenv('HOME')"
    yield "CREATE SECRET mine (TYPE s3)"
    yield "SELECT * FROM line"
    yield "SELEC 1"
    yield ""


def test_sql_can_neither_write_nor_read_anything_else(line: CommandLine, tmp_path: Path) -> None:
    before = line("audit", "sql", "FROM operations")
    there = sorted(path.name for path in tmp_path.iterdir())
    for text in forbidden(str(tmp_path)):
        ended = line.run("audit", "sql", text)
        assert ended.code == 2, (text, ended.out)
        [error] = ended.errors
        assert error["code"] == "palacelog::audit::sql", text
        assert error["help"]
        assert ended.out == b""
    assert line("audit", "sql", "FROM operations") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == there


def test_a_question_leaves_nothing_on_the_disk(line: CommandLine) -> None:
    query = "SELECT * FROM range(3000000) t(a) ORDER BY hash(a) LIMIT 1 OFFSET 2999999"
    with patch.dict("projections.audit.copy._LOCKED_IN", {"memory_limit": "32MB"}):
        line.run("audit", "sql", query)
    assert not list(line.palace.glob("*.tmp"))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_export_opens_elsewhere(line: CommandLine, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "it's [here]"
    done = line("audit", "export", f"--{form}", folder)
    assert {one["table"] for one in done["files"]} == set(tables())
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        one["file"] for one in done["files"]
    )
    file = folder / f"operations.{form}"
    assert file.stat().st_mode & 0o077 == 0
    with duckdb.connect() as connection:
        read = "read_csv" if form == "csv" else "read_parquet"
        query = f"SELECT position, tool, payload->>'content' FROM {read}(?) ORDER BY position"
        found = connection.execute(query, [str(file).replace("[", "[[]")]).fetchall()
    assert found == [(1, "add_drawer", TEXT), (2, "kg_add", None)]
    if form == "parquet":
        table = pyarrow.parquet.read_table(file)
        assert table.column("agent").to_pylist() == ["scribe", "planner"]
        assert str(table.schema.field("recorded_at").type) == "timestamp[us, tz=UTC]"


def test_an_export_writes_over_nothing(line: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with line.stops(2, "input::invalid", names="there already"):
        line("audit", "export", "--csv", folder)
    with line.stops(2, "input::invalid", names="no folder"):
        line("audit", "export", "--csv", tmp_path / "no" / "where")
    with line.stops(2, "input::invalid"):
        line("audit", "export")
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_the_trail_shows_what_was_written_and_read(line: CommandLine) -> None:
    shown = [one["tool"] for one in line("audit", "trail")["operations"]]
    assert shown == ["list_drawers", "kg_add", "add_drawer"]
    written = line("audit", "trail", "--no-reads", "--agent", "scribe")["operations"]
    assert [one["tool"] for one in written] == ["add_drawer"]
    assert line("audit", "show", "1")["operation"]["payload"]["content"] == TEXT


def test_why_and_diff_tell_what_the_operations_tell(line: CommandLine) -> None:
    [drawer] = line.call("list_drawers")["drawers"]
    assert line("audit", "why", drawer["id"])["operations"][0]["agent"] == "scribe"
    told = line("audit", "diff", "@1", "@2")
    assert told["facts"]["gained"]["total"] == 1
    assert told["drawers"]["added"]["total"] == 0


def test_at_a_terminal_there_are_tables_and_bars(line: CommandLine) -> None:
    code, seen = line.seen("audit")
    assert code == 0
    for word in ("laptop", "add_drawer", "scribe", "whole", "noted"):
        assert word in seen
    code, seen = line.seen("audit", "plot")
    assert (code, seen.count("█" * 40)) == (0, 2)
    [drawer] = line.call("list_drawers")["drawers"]
    code, seen = line.seen("audit", "why", drawer["id"])
    assert code == 0
    assert "scribe" in seen
    code, seen = line.seen("audit", "diff", "@0")
    assert code == 0
    assert TEXT in seen
    assert "atlas cache SQLite" in seen
    assert "Nothing changed" in line.seen("audit", "diff", "@2")[1]
    code, seen = line.seen("audit", "sql", "SELECT content FROM drawers_as_of(now())")
    assert TEXT in seen
    assert "1 row, position 2" in seen


def test_a_pipe_gets_the_numbers_of_a_plot(line: CommandLine) -> None:
    plotted = line("audit", "plot")
    assert [one["operations"] for one in plotted["days"]] == [2]
    assert [one["device"] for one in plotted["devices"]] == ["laptop"]


def test_a_picture_needs_its_library_and_says_so(line: CommandLine, tmp_path: Path) -> None:
    with (
        patch("palacelog.picture.find_spec", lambda name: None),
        line.stops(1, "plot::not_installed", names="matplotlib"),
    ):
        line("audit", "plot", "--png", tmp_path / "activity.png")
    assert "palacelog[plot]" in line.stopped["help"]
    with line.stops(2, "input::invalid", names=".png"):
        line("audit", "plot", "--png", tmp_path / "activity.jpg")
    assert not list(tmp_path.glob("activity.*"))


def test_a_picture_is_drawn_into_the_file_that_is_named(line: CommandLine, tmp_path: Path) -> None:
    file, none = tmp_path / "activity.png", tmp_path / "none.png"
    assert line("audit", "plot", "--png", file) == {"file": str(file)}
    line("audit", "plot", "--png", none, "--before", "2020")
    heads = [one.read_bytes()[:24] for one in (file, none)]
    assert heads[0] == heads[1]
    assert struct.unpack(">8s4x4sII", heads[0]) == (b"\x89PNG\r\n\x1a\n", b"IHDR", 1500, 750)
    with line.stops(2, "input::file", names="nowhere"):
        line("audit", "plot", "--png", tmp_path / "nowhere" / "activity.png")


def test_a_time_that_is_none_is_named(line: CommandLine) -> None:
    with line.stops(2, "input::invalid", names="--since"):
        line("audit", "--since", "soon")
