"""Mining what changes meanwhile or is not what it seems: nothing is lost, no link followed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from palacelog.mining import filing
from tests.integration.test_jobs import at_point, filed, line, mined, outcomes, worked, written
from tests.palaces import Device


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return written(tmp_path / "papers", 3)


def test_what_was_taken_out_again_is_filed_when_its_job_is_retried(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)
    at_point(monkeypatch, "job.worked", lambda: ada.job_cancel(job_id=job))
    assert worked(ada, job)["state"] == "cancelled"
    assert ada.contents() == ["Paper 0"]
    ada.undo(session=job, dry_run=False)
    assert ada.contents() == []
    ada.job_retry(job_id=job)
    assert worked(ada, job)["filed"] == 3
    assert sorted(ada.contents()) == ["Paper 0", "Paper 1", "Paper 2"]
    ada.delete_wing(wing="papers", dry_run=False)
    again = mined(ada, papers)
    assert worked(ada, again)["filed"] == 3


def test_files_that_take_each_other_s_text_all_keep_theirs(ada: Device, papers: Path) -> None:
    worked(ada, mined(ada, papers))
    texts = ["Paper 2", "Paper 0", "Paper 1"]
    for turn in (texts, ["Paper 1", "Paper 2", "Paper 3"], ["Paper 3", "Paper 1", "Paper 2"]):
        for number, text in enumerate(turn):
            (papers / f"{number:04d}.md").write_text(text)
        told = worked(ada, mined(ada, papers))
        assert (told["state"], told["failed"]) == ("done", 0)
        assert set(turn) <= set(ada.contents())
        for number, text in enumerate(turn):
            shown = ada.show_source(source_file=str(papers / f"{number:04d}.md"))["drawers"]
            assert text in [one["preview"] for one in shown]
        assert worked(ada, mined(ada, papers))["unchanged"] == 3


def test_any_number_of_files_may_be_gone(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filing, "NOTED_AT_ONCE", 1)
    files = 1_100
    job = mined(ada, papers)
    worked(ada, job)
    held = {str(papers / f"gone-{number:04d}.md"): None for number in range(files)}
    drawer = ada.list_drawers()["drawers"][0]["id"]
    one = filing.HeldSource(drawer, b"", True, "add_drawer", None)
    monkeypatch.setattr(filing, "held_sources", lambda *asked: [(path, one) for path in held])
    told = worked(ada, mined(ada, papers))
    assert (told["state"], told["vanished"]) == ("done", files)


def test_a_folder_that_became_a_link_meanwhile_is_not_followed(
    ada: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers = written(tmp_path / "papers" / "in", 2).parent
    outside = written(tmp_path / "outside", 2)
    (outside / "0001.md").write_text("Nobody's business")

    def swap() -> None:
        shutil.rmtree(papers / "in")
        (papers / "in").symlink_to(outside)

    job = mined(ada, papers)
    at_point(monkeypatch, "job.worked", swap)
    worked(ada, job)
    assert filed(ada) == ["Paper 0"]
    assert outcomes(ada, job)["0001.md"] == "skipped"


def test_a_source_that_became_a_link_is_not_followed(
    ada: Device, papers: Path, tmp_path: Path
) -> None:
    outside = written(tmp_path / "outside", 2)
    job = mined(ada, papers)
    shutil.rmtree(papers)
    papers.symlink_to(outside)
    told = worked(ada, job)
    assert (told["state"], told["code"]) == ("failed", "palacelog::mine::gone")
    assert filed(ada) == []


def test_a_source_that_cannot_be_looked_at_stops_no_other_job(
    ada: Device, papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = written(tmp_path / "other", 1)
    job, behind = mined(ada, papers), mined(ada, other)
    looked, listed = os.stat, os.scandir

    def stat(path: Any, *given: Any, **more: Any) -> os.stat_result:
        if "papers/" in str(path):
            raise PermissionError(13, "Permission denied")
        return looked(path, *given, **more)

    def scandir(path: Any) -> Any:
        if str(path).endswith("papers"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "scandir", scandir)
    assert worked(ada, behind)["state"] == "done"
    told = line(ada, job)
    assert (told["state"], told["failed"]) == ("done", 1)


def test_a_folder_that_cannot_be_looked_into_is_named_and_its_files_are_not_gone(
    ada: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers = written(tmp_path / "papers" / "in", 2).parent
    worked(ada, mined(ada, papers))
    listed, looked = os.scandir, os.lstat

    def scandir(path: Any) -> Any:
        if str(path).endswith("/in"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    def lstat(path: Any, **more: Any) -> os.stat_result:
        if "/in/" in str(path):
            raise PermissionError(13, "Permission denied")
        return looked(path, **more)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "lstat", lstat)
    told = worked(ada, mined(ada, papers))
    assert (told["state"], told["failed"], told["vanished"]) == ("done", 1, 0)


def test_what_was_filed_before_a_job_failed_is_noted(
    ada: Device, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, papers)
    at_point(monkeypatch, "job.worked", lambda: ada.publish_wing(wing="papers"))
    told = worked(ada, job)
    assert (told["state"], told["filed"]) == ("failed", 1)


def test_a_file_whose_drawer_was_superseded_is_filed_when_it_changes(
    ada: Device, papers: Path
) -> None:
    worked(ada, mined(ada, papers))
    [one] = ada.show_source(source_file=str(papers / "0001.md"))["drawers"]
    ada.supersede_drawer(drawer_id=one["id"], content="By hand")
    told = worked(ada, mined(ada, papers))
    assert told["unchanged"] == 3
    (papers / "0001.md").write_text("New in the file")
    worked(ada, mined(ada, papers))
    assert "New in the file" in ada.contents()
