"""README and guides are true: commands were run, tables fit the code, what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command_line import ROOT
from tests.readme import (
    GUIDES,
    README,
    comparable,
    guide_again,
    named_files,
    python_blocks,
    regenerated,
    standing_still,
)

TEXT = README.read_text()
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_readme_shows_what_the_commands_put_out() -> None:
    shown = comparable(TEXT).splitlines()
    today = comparable(regenerated(TEXT)).splitlines()
    assert shown == today, "run `python -m tests.readme` to write the README again"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_a_guide_shows_what_the_commands_put_out(guide: Path) -> None:
    text = guide.read_text()
    shown, today = comparable(text).splitlines(), comparable(guide_again(text)).splitlines()
    assert shown == today, "run `python -m tests.readme` to write the guides again"


@pytest.mark.parametrize("block", python_blocks(TEXT), ids=lambda block: block.splitlines()[0])
def test_the_readme_s_python_runs(block: str, tmp_path: Path) -> None:
    with standing_still(tmp_path):
        exec(compile(block, "README.md", "exec"), {})
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_names_exists(document: Path) -> None:
    for name in named_files(document.read_text()):
        places = [document.parent / name, ROOT / name]
        found = [one for place in places for one in place.parent.glob(place.name)]
        assert found, f"{document.name} names {name}"


def test_every_promise_has_tests() -> None:
    rows = re.search(r"<!-- promises -->\n(.*?)<!-- /promises -->", TEXT, re.S)
    assert rows
    promises = rows[1].splitlines()[2:]
    assert len(promises) == 9
    for row in promises:
        assert "tests/" in row, row


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text()
    pages = sorted(path.name for path in (ROOT / "docs" / "adr").glob("0*.md"))
    assert pages == sorted(set(re.findall(r"\((\d{4}-[a-z-]+\.md)\)", index)))
    for number, page in enumerate(pages, 1):
        assert page.startswith(f"{number:04d}-")
