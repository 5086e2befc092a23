"""The house rules hold in every file, and each rule can tell a file that breaks it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import house_rules
from tests.house_rules import CLOCK_AND_CHANCE_EXCEPTIONS, PACKAGES, RULES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix() for name in PACKAGES for path in (ROOT / name).rglob("*.py")
)


def kept_files() -> list[str]:
    """What git holds, and what it would hold after `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0")) if (ROOT / name).is_file())


@pytest.mark.parametrize("path", SOURCES)
def test_source_keeps_the_rules(path: str) -> None:
    source = (ROOT / path).read_text("utf-8")
    broken = {rule: faults for rule in RULES if (faults := rule(path, source))}
    assert not broken, "\n".join(
        line for rule, faults in broken.items() for line in (f"{rule.__doc__} {path}:", *faults)
    )


@pytest.mark.parametrize("path", kept_files())
def test_file_names_no_registry_and_no_machine(path: str) -> None:
    faults = house_rules.outside_world((ROOT / path).read_bytes())
    assert not faults, "\n".join([f"{path}:", *faults])


def test_every_exception_is_still_needed() -> None:
    used = {
        (path, name)
        for path in SOURCES
        for _, name in house_rules.clock_and_chance_uses((ROOT / path).read_text("utf-8"))
    }
    assert CLOCK_AND_CHANCE_EXCEPTIONS.keys() <= used


def test_every_package_is_read() -> None:
    assert {path.partition("/")[0] for path in SOURCES} == set(PACKAGES)


def function_of(lines: int) -> str:
    return "def f():\n" + "    f()\n" * (lines - 1)


BROKEN = [
    ("long_file", "replay/a.py", "a = 1\n" * 400),
    ("long_function", "replay/a.py", function_of(60)),
    (
        "long_function",
        "replay/a.py",
        "class A:\n    async " + function_of(60).replace("\n", "\n  "),
    ),
    ("wide_line", "replay/a.py", "a = '" + "a" * 95 + "'"),
    ("missing_docstring", "replay/a.py", "a = 1"),
    ("missing_docstring", "replay/a.py", '"""A."""\ndef f(): ...'),
    ("missing_docstring", "replay/a.py", '"""A."""\nclass A: ...'),
    ("missing_docstring", "replay/a.py", '"""A."""\nclass A:\n    """A."""\n    def f(self): ...'),
    ("bare_except", "domain/a.py", "try: f()\nexcept: raise"),
    ("swallowed_error", "projections/a.py", "try: f()\nexcept Exception: pass"),
    ("swallowed_error", "projections/a.py", "try: f()\nexcept (KeyError, BaseException): g()"),
    ("swallowed_error", "projections/a.py", "try: f()\nexcept KeyError: logger.warning('no')"),
    ("swallowed_error", "projections/a.py", "with contextlib.suppress(Exception): f()"),
    ("clock_or_chance", "replay/a.py", "import time"),
    ("clock_or_chance", "replay/a.py", "import uuid as u"),
    ("clock_or_chance", "replay/a.py", "def f():\n    from random import choice"),
    ("clock_or_chance", "palacelog/a.py", "from secrets import token_bytes"),
    ("clock_or_chance", "replay/a.py", "from datetime import datetime\na = datetime.now(UTC)"),
    ("clock_or_chance", "replay/a.py", "import datetime as dt\na = dt.datetime.utcnow"),
    ("clock_or_chance", "replay/a.py", "from datetime import date as d\na = d.today()"),
    ("clock_or_chance", "replay/a.py", "import os\na = os.urandom(16)"),
    ("clock_or_chance", "replay/a.py", "from os import urandom"),
    ("stray_print", "palacelog/a.py", "print('a')"),
    ("stray_print", "replay/a.py", "show = print"),
]

KEPT = [
    ("long_file", "replay/a.py", "a = 1\n" * 399),
    ("long_function", "replay/a.py", function_of(59)),
    ("wide_line", "replay/a.py", "a = '" + "a" * 94 + "'"),
    (
        "missing_docstring",
        "replay/a.py",
        '"""A."""\ndef _f(): ...\nclass _A:\n    def f(self): ...',
    ),
    ("missing_docstring", "replay/a.py", '"""A."""\n@typing.overload\ndef f(): ...'),
    ("swallowed_error", "projections/a.py", "try: f()\nexcept Exception as e: raise Broken from e"),
    ("swallowed_error", "projections/a.py", "try: f()\nexcept KeyError: a = None"),
    ("swallowed_error", "replay/a.py", "try: f()\nexcept Exception: pass"),
    ("clock_or_chance", "palacelog/system.py", "import time, uuid"),
    ("clock_or_chance", "replay/a.py", "from datetime import datetime\ndatetime.fromisoformat(a)"),
    ("clock_or_chance", "replay/a.py", "import os\nos.fsync(1)\nclock.now()"),
    ("stray_print", "palacelog/cli/a.py", "print('a')"),
]


@pytest.mark.parametrize(("rule", "path", "source"), BROKEN, ids=range(len(BROKEN)))
def test_rule_tells_what_breaks_it(rule: str, path: str, source: str) -> None:
    assert len(getattr(house_rules, rule)(path, source)) == 1


@pytest.mark.parametrize(("rule", "path", "source"), KEPT, ids=range(len(KEPT)))
def test_rule_lets_pass_what_keeps_it(rule: str, path: str, source: str) -> None:
    assert getattr(house_rules, rule)(path, source) == []


def test_every_rule_is_shown_what_breaks_it() -> None:
    assert {rule for rule, _, _ in BROKEN} == {rule.__name__ for rule in RULES}


def test_an_exception_is_for_one_name_in_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = {("replay/a.py", "time.monotonic"): "a deadline that is never written"}
    monkeypatch.setattr(house_rules, "CLOCK_AND_CHANCE_EXCEPTIONS", reason)
    source = "import time\ntime.monotonic()\n"
    assert house_rules.clock_or_chance("replay/a.py", source) == []
    assert house_rules.clock_or_chance("replay/b.py", source) == ["2: time.monotonic"]
    source += "time.time()\n"
    assert house_rules.clock_or_chance("replay/a.py", source) == ["3: time.time"]


@pytest.mark.parametrize(
    "parts",
    [
        ("https://py", "pi.org/simple"),
        ("https://files.python", "hosted.org/a.whl"),
        ("registry.npm", "js.org"),
        ("cd /wo", "rk/main"),
        ("/ho", "me/ann/palace"),
        ("/Us", "ers/ann/palace"),
        ("/ro", "ot/.cache"),
        ("C:\\\\Us", "ers\\\\ann"),
    ],
    ids="".join,
)
def test_the_outside_world_is_seen(parts: tuple[str, str]) -> None:
    assert len(house_rules.outside_world("".join(parts).encode())) == 1


@pytest.mark.parametrize("text", ["~/palace", "$HOME/work/a", "/var/lib/palace", "domain/root.py"])
def test_a_place_on_any_machine_is_let_pass(text: str) -> None:
    assert house_rules.outside_world(text.encode()) == []


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_imports_keep_their_contracts() -> None:
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout


OUTWARD = [
    ("projections", "domain.a", "import projections"),
    ("replay.store", "projections.a", "import replay.store"),
    ("palacelog", "replay.a", "import palacelog"),
    ("os", "domain.b", "import os.path"),
    ("time", "domain.c", "from time import time"),
    ("sqlalchemy", "domain.d", "import sqlalchemy"),
    ("eventsourcing", "replay.b", "import eventsourcing.application"),
    ("eventsourcing", "palacelog.a", "from eventsourcing.persistence import Recorder"),
    ("duckdb", "replay.c", "import duckdb"),
    ("duckdb", "projections.b", "from duckdb import connect"),
    ("faiss", "projections.c", "import faiss"),
    ("fastapi", "palacelog.e", "from fastapi import FastAPI"),
    ("limits", "palacelog.f", "import limits"),
    ("mcp", "palacelog.d", "import mcp.server"),
    ("mcp_types", "replay.e", "from mcp_types import Tool"),
    ("onnxruntime", "palacelog.b", "import onnxruntime"),
    ("starlette", "palacelog.g", "from starlette.routing import Route"),
    ("safetensors", "replay.d", "from safetensors.numpy import load"),
    ("tokenizers", "projections.d", "from tokenizers import Tokenizer"),
    ("uvicorn", "palacelog.h", "import uvicorn"),
]


def test_contracts_tell_each_import_that_breaks_them(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "replay/store.py").write_text("import eventsourcing.application\n")
    (tmp_path / "projections/audit").mkdir()
    (tmp_path / "projections/audit/__init__.py").touch()
    (tmp_path / "projections/audit/copy.py").write_text("import duckdb\n")
    (tmp_path / "projections/vectors").mkdir()
    (tmp_path / "projections/vectors/__init__.py").touch()
    libraries = "import faiss, onnxruntime, safetensors, tokenizers\n"
    (tmp_path / "projections/vectors/flat.py").write_text(libraries)
    (tmp_path / "palacelog/mcp").mkdir()
    (tmp_path / "palacelog/mcp/__init__.py").touch()
    (tmp_path / "palacelog/mcp/server.py").write_text("import mcp.server, mcp_types\n")
    (tmp_path / "palacelog/rest").mkdir()
    (tmp_path / "palacelog/rest/__init__.py").touch()
    (tmp_path / "palacelog/rest/app.py").write_text("import fastapi, starlette\n")
    (tmp_path / "palacelog/http").mkdir()
    (tmp_path / "palacelog/http/__init__.py").touch()
    (tmp_path / "palacelog/http/server.py").write_text("import h11, limits, uvicorn\n")
    assert lint_imports(tmp_path).returncode == 0

    for _, module, line in OUTWARD:
        (tmp_path / f"{module.replace('.', '/')}.py").write_text(line)
    linted = lint_imports(tmp_path)
    assert linted.returncode == 1
    seen = [pair for pair in OUTWARD if f"{pair[1]} -> {pair[0]} (l.1)" in linted.stdout]
    assert seen == OUTWARD
