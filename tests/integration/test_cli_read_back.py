"""What a command says it wrote is there: later commands, which open the palace anew, show it.

The table has a line for each operation that writes: what a person types, and what they type to look
for it. What is looked for must not show before, and what is to be gone must show before, so that no
line can be true by chance.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from domain.catalog import CATALOG
from domain.identity import drawer_id
from palacelog.cli import facts, jobs, memory, removing, vectors
from tests.command_line import CommandLine
from tests.palaces import Fleet
from tests.samples import SAMPLES, Known, furnished, settings_for

COMMANDS: Mapping[str, tuple[str, ...]] = (
    {name: form.tools for name, (_, form) in memory.FORMS.items()}
    | {f"diary {name}": form.tools for name, (_, form) in memory.DIARY_FORMS.items()}
    | {f"kg {name}": form.tools for name, (_, form) in facts.FORMS.items()}
    | {name: form.tools for name, (_, form) in removing.FORMS.items()}
    | {name: form.tools for name, (_, form) in vectors.FORMS.items()}
    | {name: form.tools for name, (_, form) in jobs.FORMS.items()}
    | {f"jobs {name}": form.tools for name, (_, form) in jobs.JOB_FORMS.items()}
)
"""The commands that are made from operations, and from which."""
WITH_A_COMMAND = {tool for tools in COMMANDS.values() for tool in tools} | {
    "delete_drawer",
    "delete_wing",
    "job_force_cancel",
}
WRITES = [name for name, entry in CATALOG.items() if entry.writes]
SESSION = orjson.dumps(
    {
        "items": [{"wing": "home", "room": "notes", "content": "milk"}],
        "diary": {"agent_name": "scribe", "entry": "Shopping."},
    }
)
Looks = tuple[tuple[str, str], ...]
"""What is typed, and a part of the answer."""


class Line(NamedTuple):
    """One operation, as a person does it and looks for it.

    Attributes:
        types: the words; in braces what stands in a furnished palace, or the operation's sample.
        shows: what shows afterwards, and did not before.
        hides: what does not show afterwards, and did before.
        stdin: what the command reads.
    """

    types: str
    shows: Looks = ()
    hides: Looks = ()
    stdin: bytes = b""


TABLE = {
    "add_drawer": Line(
        "add milk --wing home --room notes --tags cold",
        (
            ("get {milk}", '"content":"milk"'),
            ("list --tag cold", '"preview":"milk"'),
            ("search milk", "{milk}"),
            ("recall milk", "{milk}"),
            ("wake-up", "{milk}"),
            ("audit why {milk}", '"tool":"add_drawer"'),
            ("audit diff @20", "{milk}"),
            ("call list_tags", '"tag":"cold"'),
            ("call get_taxonomy", '"notes":2'),
        ),
    ),
    "update_drawer": Line(
        "call update_drawer {sample}",
        (("get {drawer}", '"content":"green tea"'), ("history {drawer}", "green tea")),
    ),
    "supersede_drawer": Line(
        "call supersede_drawer {sample}",
        (("list", '"preview":"no tea"'), ("history {drawer}", "no tea")),
        (("list", '"preview":"tea"'),),
    ),
    "delete_drawer": Line(
        "delete {drawer}", hides=(("list", "{drawer}"), ("search tea", "{drawer}"))
    ),
    "delete_drawers": Line(
        "delete {drawer} {lamp}", hides=(("list", "{drawer}"), ("search lamp", "{lamp}"))
    ),
    "delete_by_source": Line("delete --source tea.md --yes", hides=(("list", "{drawer}"),)),
    "checkpoint": Line(
        "checkpoint -",
        (("get {milk}", '"content":"milk"'), ("diary read scribe", "Shopping.")),
        stdin=SESSION,
    ),
    "note": Line("note milk --wing home --room notes", (("get {milk}", '"content":"milk"'),)),
    "diary_write": Line(
        "diary write scribe Rain. --topic weather",
        (("diary read scribe", '"content":"Rain."'), ("wake-up --agent-name scribe", "Rain.")),
    ),
    "create_wing": Line("call create_wing {sample}", (("call list_wings", '"wing":"lab"'),)),
    "create_room": Line("call create_room {sample}", (("call list_rooms", '"room":"bench"'),)),
    "publish_wing": Line(
        "call publish_wing {sample}",
        (("outbox list", "publish_wing"),),
        (("call list_wings", '"policy":"local"'),),
    ),
    "delete_wing": Line(
        "delete --wing home --yes",
        hides=(("list", "{drawer}"), ("call list_wings", '"wing":"home"')),
    ),
    "delete_room": Line(
        "delete --wing home --room notes --yes",
        hides=(("list", "{drawer}"), ("call list_rooms", '"room":"notes"')),
    ),
    "embed": Line("embed --limit 2", (("log list", '"tool":"embed"'),)),
    "attach_embedding": Line(
        "call attach_embedding {sample}", (("log list --drawer {drawer}", '"attach_embedding"'),)
    ),
    "kg_add": Line(
        "kg add Kiran city Oslo --valid-from 2026-03-01",
        (("kg query Kiran", '"object":"Oslo"'), ("kg timeline", '"object":"Oslo"')),
    ),
    "kg_invalidate": Line(
        "kg invalidate Kiran city Lyon --ended 2026-03-01",
        (("call fact_history {this_fact}", '"valid_to":"2026-03-02T'),),
        (("kg query Kiran", '"object":"Lyon"'),),
    ),
    "kg_supersede": Line(
        "kg supersede Kiran city Lyon Rome --at 2026-03-01",
        (("kg query Kiran", '"object":"Rome"'),),
        (("kg query Kiran", '"object":"Lyon"'),),
    ),
    "kg_declare_predicate": Line(
        "kg declare city one", hides=(("kg query Kiran", '"object":"Lyon"'),)
    ),
    "resolve_conflict": Line(
        "kg resolve {conflict} Both.",
        (("kg conflicts --no-open", '"resolution":"Both."'),),
        (("kg conflicts", "{conflict}"),),
    ),
    "add_alias": Line("call add_alias {sample}", (("call list_entities", '"aliases":["Kiki"]'),)),
    "link_drawer": Line(
        "call link_drawer {sample}", (("call entity_mentions {kiran}", "{drawer}"),)
    ),
    "create_tunnel": Line(
        "call create_tunnel {sample}", (("call list_tunnels", '"label":"Reading"'),)
    ),
    "delete_tunnel": Line(
        "call delete_tunnel {sample}", hides=(("call list_tunnels", "{tunnel}"),)
    ),
    "mine": Line(
        "mine {papers} --wing attic",
        (("list --wing attic", "Dear Noor"), ("call list_sources", "one.md")),
    ),
    "job_pause": Line("jobs pause {waiting}", (("jobs list --state paused", "{waiting}"),)),
    "job_resume": Line(
        "jobs resume {resting}",
        (("jobs list --state done", "{resting}"), ("jobs show {resting}", '"state":"done"')),
        (("jobs list --state paused", "{resting}"),),
    ),
    "job_cancel": Line("jobs cancel {leaving}", (("jobs list --state cancelled", "{leaving}"),)),
    "job_force_cancel": Line(
        "jobs cancel {stuck} --force", (("jobs list --state cancelled", "{stuck}"),)
    ),
    "job_retry": Line(
        "jobs retry {ended}",
        (("jobs list --state done", "{ended}"),),
        (("jobs list --state cancelled", "{ended}"),),
    ),
    "undo": Line("undo {op} --yes", (("get {spare}", '"content":"coffee"'), ("list", "{spare}"))),
}


class Told(NamedTuple):
    """A command line with a furnished palace, and the names of what stands in it."""

    line: CommandLine
    names: dict[str, str]

    def words(self, typed: str) -> list[str]:
        return [word.format_map(self.names) for word in typed.split()]

    def shown(self, typed: str) -> str:
        """What an answer holds; nothing where it is refused, as what is asked for is not there."""
        ended = self.line.run(*self.words(typed))
        assert ended.code in (0, 1), ended.err
        return orjson.dumps(ended.answer).decode() if ended.code == 0 else ""

    def shows(self, looks: Looks) -> list[bool]:
        return [text.format_map(self.names) in self.shown(typed) for typed, text in looks]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Known]:
    fleet = Fleet(tmp_path_factory.mktemp("furnished"))
    ada = fleet.device("ada")
    known = furnished(ada)
    fleet.close()
    return ada.folder, known


@pytest.fixture
def furnished_line(
    template: tuple[Path, Known], tmp_path: Path, request: pytest.FixtureRequest
) -> CommandLine:
    shutil.copytree(template[0], tmp_path / "ada")
    settings = settings_for(request.node.callspec.params["tool"]).get("vectors", {})
    named = {f"PALACELOG_VECTORS__{name.upper()}": str(settings[name]) for name in settings}
    return CommandLine(tmp_path / "ada", **named)


def names(tool: str, known: Known) -> dict[str, str]:
    """What the words in braces stand for."""
    return known._asdict() | {
        "milk": drawer_id("home", "notes", "milk"),
        "lamp": drawer_id("den", "desk", "lamp"),
        "sample": orjson.dumps(SAMPLES[tool](known)).decode(),
        "this_fact": orjson.dumps({"fact_id": known.fact}).decode(),
        "kiran": orjson.dumps({"entity": "Kiran"}).decode(),
    }


def test_every_operation_that_writes_is_looked_for_afterwards() -> None:
    assert sorted(TABLE) == sorted(WRITES)
    assert all(line.shows or line.hides for line in TABLE.values())


def test_every_command_that_reads_is_used_to_look() -> None:
    looks = [typed for line in TABLE.values() for typed, _ in (*line.shows, *line.hides)]
    reads = [name for name, (tool, *_) in COMMANDS.items() if not CATALOG[tool].writes]
    assert [
        name for name in reads if not any(f"{one} ".startswith(f"{name} ") for one in looks)
    ] == []


@pytest.mark.parametrize("tool", WRITES)
def test_what_a_command_says_it_wrote_is_shown_by_the_next(
    furnished_line: CommandLine, template: tuple[Path, Known], tool: str
) -> None:
    written = TABLE[tool]
    told = Told(furnished_line, names(tool, template[1]))
    # A command where there is one, `call` where there is none.
    assert written.types.startswith("call ") != (tool in WITH_A_COMMAND)
    assert told.shows(written.shows) == [False] * len(written.shows)
    assert told.shows(written.hides) == [True] * len(written.hides)

    answer = told.line(*told.words(written.types), stdin=written.stdin)
    assert not answer["duplicate"]
    assert not answer.get("dry_run")

    assert told.shows(written.shows) == [True] * len(written.shows)
    assert told.shows(written.hides) == [False] * len(written.hides)
    listed = told.line("log", "list", "--tool", tool)["operations"]
    assert answer["op_id"] in [one["op_id"] for one in listed]
    assert told.line("log", "show", answer["position"])["operation"]["op_id"] == answer["op_id"]
    assert told.line("log", "verify")["sound"]
