"""Mining: a folder's texts in a local wing, each once, and again only where they changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palacelog.bootstrap import create_palace
from tests.integration.test_jobs import at_point, filed, line, mined, outcomes, worked
from tests.palaces import Device


@pytest.fixture
def atlas(tmp_path: Path) -> Path:
    """A folder as people have them."""
    top = tmp_path / "Atlas"
    files: dict[str, bytes] = {
        "readme.md": b"About Atlas\r\n",
        "plans/one.md": b"Plan one",
        "plans/deep/two.md": "Plan zwei \u00fc".encode(),
        "debug.log": b"noise",
        ".gitignore": b"*.log\n.gitignore\n",
        ".env": b"TOKEN=1",
        "logo.png": b"\x89PNG\0\0",
        "old.txt": b"caf\xe9",
        "blank.md": b" \n",
    }
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return top


def mine(device: Device, folder: Path, **more: Any) -> dict[str, Any]:
    """Mine to the end; the job, with its files by name."""
    job = mined(device, folder, **more)
    told = worked(device, job)
    return told | {"files": outcomes(device, job)}


def held(device: Device) -> dict[str, tuple[str, str]]:
    """Place and text of each live drawer, by its source."""
    found = {}
    for source in device.list_sources(limit=200)["sources"]:
        for one in device.show_source(source_file=source["source_file"])["drawers"]:
            text = device.get_drawer(drawer_id=one["id"])["drawer"]["content"]
            found[Path(source["source_file"]).name] = f"{one['wing']}/{one['room']}", text
    return found


def test_a_folder_s_texts_are_filed_and_the_rest_is_named(ada: Device, atlas: Path) -> None:
    told = mine(ada, atlas)
    assert told["files"] == {
        ".env": "skipped",
        "blank.md": "skipped",
        "logo.png": "skipped",
        "old.txt": "skipped",
        "one.md": "filed",
        "readme.md": "filed",
        "two.md": "filed",
    }
    shown = ada.show_job(job_id=ada.list_jobs()["jobs"][0]["id"], outcome="skipped")["files"]
    reasons = {Path(one["path"]).name: one["reason"] for one in shown}
    assert reasons == {
        ".env": "secret",
        "blank.md": "empty",
        "logo.png": "binary",
        "old.txt": "not_utf8",
    }
    assert held(ada) == {
        "readme.md": ("Atlas/notes", "About Atlas\r\n"),
        "one.md": ("Atlas/plans", "Plan one"),
        "two.md": ("Atlas/plans", "Plan zwei \u00fc"),
    }


def test_mining_again_files_nothing_twice(ada: Device, atlas: Path) -> None:
    mine(ada, atlas)
    before = filed(ada)
    again = mine(ada, atlas)
    assert (again["unchanged"], again["filed"], again["updated"]) == (3, 0, 0)
    assert filed(ada) == before


def test_a_file_that_changed_changes_its_drawer_and_one_that_is_gone_is_named(
    ada: Device, atlas: Path
) -> None:
    mine(ada, atlas)
    (atlas / "plans/one.md").write_text("Plan one, again")
    (atlas / "readme.md").unlink()
    again = mine(ada, atlas)
    assert (again["updated"], again["vanished"], again["unchanged"]) == (1, 1, 1)
    assert (again["files"]["one.md"], again["files"]["readme.md"]) == ("updated", "vanished")
    assert held(ada)["one.md"] == ("Atlas/plans", "Plan one, again")
    assert held(ada)["readme.md"][1] == "About Atlas\r\n", "what is gone is deleted by people"
    [drawer] = ada.show_source(source_file=str(atlas / "plans/one.md"))["drawers"]
    assert len(ada.history(drawer_id=drawer["id"])["versions"]) == 2


def test_a_file_that_is_ignored_by_now_has_not_vanished(ada: Device, atlas: Path) -> None:
    mine(ada, atlas)
    (atlas / ".gitignore").write_text("plans/\n.gitignore\n*.log\n")
    assert mine(ada, atlas)["vanished"] == 0


def test_lines_that_end_otherwise_are_no_change(ada: Device, atlas: Path) -> None:
    mine(ada, atlas)
    (atlas / "readme.md").write_bytes(b"About Atlas\n\n")
    assert mine(ada, atlas)["unchanged"] == 3


def test_what_a_person_made_of_a_drawer_stays_until_the_file_changes(
    ada: Device, atlas: Path
) -> None:
    mine(ada, atlas)
    [drawer] = ada.show_source(source_file=str(atlas / "readme.md"))["drawers"]
    ada.update_drawer(drawer_id=drawer["id"], content="By hand", tags=["mine"])
    assert mine(ada, atlas)["unchanged"] == 3
    assert held(ada)["readme.md"][1] == "By hand"
    (atlas / "readme.md").write_text("New in the file")
    assert mine(ada, atlas)["updated"] == 1
    assert held(ada)["readme.md"][1] == "New in the file"


def test_files_with_one_text_share_a_drawer_until_one_of_them_changes(
    ada: Device, tmp_path: Path
) -> None:
    folder = tmp_path / "twins"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text("The same")
    assert mine(ada, folder)["filed"] == 2
    assert ada.list_drawers()["total"] == 1
    (folder / "b.md").write_text("Not the same")
    assert mine(ada, folder)["filed"] == 1
    assert sorted(ada.contents()) == ["Not the same", "The same"]
    assert mine(ada, folder)["unchanged"] == 2
    (folder / "b.md").write_text("Third")
    assert mine(ada, folder)["updated"] == 1
    assert sorted(ada.contents()) == ["The same", "Third"]


def test_what_was_deleted_is_filed_again_when_it_is_mined_again(ada: Device, atlas: Path) -> None:
    mine(ada, atlas)
    ada.delete_wing(wing="Atlas", dry_run=False)
    assert ada.list_drawers()["total"] == 0
    assert mine(ada, atlas)["filed"] == 3
    assert ada.list_drawers()["total"] == 3


def test_one_file_can_be_mined(ada: Device, atlas: Path) -> None:
    told = mine(ada, atlas / "plans/one.md")
    assert (told["found"], told["wing"]) == (1, "plans")
    assert held(ada) == {"one.md": ("plans/notes", "Plan one")}


def test_wing_and_room_are_those_named_else_of_the_nearest_file_that_says(
    ada: Device, atlas: Path
) -> None:
    mine(ada, atlas, wing="Papers", room="shelf")
    assert {place for place, _ in held(ada).values()} == {"Papers/shelf"}
    (atlas / "palacelog.toml").write_text('wing = "Maps"\nroom = "drawer"\n')
    told = mine(ada, atlas / "plans")
    assert (told["wing"], told["room"]) == ("Maps", "drawer")


def test_a_folder_that_no_room_can_be_called_by_gives_way(ada: Device, tmp_path: Path) -> None:
    path = tmp_path / "Atlas" / "a..b" / "c.md"
    path.parent.mkdir(parents=True)
    path.write_text("text")
    mine(ada, tmp_path / "Atlas")
    assert held(ada) == {"c.md": ("Atlas/notes", "text")}


def test_what_is_mined_stays_local_and_a_wing_that_travels_is_refused(
    ada: Device, atlas: Path
) -> None:
    ada.create_wing(wing="Atlas")
    with ada.refuses("mine::shared_wing"):
        ada.mine(path=str(atlas))
    told = mine(ada, atlas, wing="Atlas papers")
    assert told["state"] == "done"
    assert ada.status()["outbox"]["pending"] == 1
    ada.publish_wing(wing="Atlas papers")
    with ada.refuses("mine::shared_wing"):
        ada.mine(path=str(atlas), wing="atlas PAPERS")


def test_a_wing_that_is_published_meanwhile_stops_the_job(
    ada: Device, atlas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, atlas)
    published: list[int] = []
    at_point(
        monkeypatch,
        "job.worked",
        lambda: published.append(ada.publish_wing(wing="Atlas")["position"]),
    )
    told = worked(ada, job)
    assert (told["state"], told["code"]) == ("failed", "palacelog::mine::shared_wing")
    assert not {"add_drawer", "update_drawer"} & set(ada.tools()[published[0] :])
    with ada.refuses("jobs::state"):
        ada.job_pause(job_id=job)
    assert ada.job_retry(job_id=job)["state"] == "queued"
    assert worked(ada, job)["state"] == "failed"


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_on(
    ada: Device, atlas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        (atlas / "readme.md").unlink()

    at_point(monkeypatch, "job.started", lambda: None)
    at_point(monkeypatch, "job.worked", refuse)
    told = mine(ada, atlas)
    assert (told["state"], told["filed"], told["failed"]) == ("done", 2, 1)
    [file] = ada.show_job(job_id=told["id"], outcome="failed")["files"]
    assert (Path(file["path"]).name, file["reason"]) == ("readme.md", "ENOENT")


def test_a_folder_that_is_gone_fails_the_job_with_a_code(
    ada: Device, atlas: Path, tmp_path: Path
) -> None:
    job = mined(ada, atlas)
    atlas.rename(tmp_path / "moved")
    told = worked(ada, job)
    assert (told["state"], told["code"]) == ("failed", "palacelog::mine::gone")
    (tmp_path / "moved").rename(atlas)
    ada.job_retry(job_id=job)
    assert worked(ada, job)["state"] == "done"


def test_what_stops_all_leaves_the_job_to_be_taken_up_again(
    ada: Device, atlas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = mined(ada, atlas)

    def full() -> None:
        raise OSError(28, "No space left on device")

    at_point(monkeypatch, "job.worked", full)
    with pytest.raises(OSError, match="No space"):
        worked(ada, job)
    assert line(ada, job)["state"] == "running"
    told = worked(ada, job)
    assert (told["state"], told["filed"], told["attempts"]) == ("done", 3, 2)
    assert len(filed(ada)) == 3


def test_a_palace_is_not_mined(ada: Device, atlas: Path, tmp_path: Path) -> None:
    for path in (ada.folder, ada.folder / "views"):
        with ada.refuses("mine::palace"):
            ada.mine(path=str(path), wing="w")
    create_palace(atlas / "palace", "other")
    assert mine(ada, atlas)["files"]["palace"] == "skipped"


@pytest.mark.parametrize("path", ["/nowhere", "two\nlines", "/dev/null", "~nobody-here/a"])
def test_a_path_that_is_no_folder_and_no_file_is_refused(ada: Device, path: str) -> None:
    with ada.refuses("input::invalid", "path"):
        ada.mine(path=path, wing="w")


def test_a_relative_path_is_refused_since_the_caller_s_folder_is_not_known(
    ada: Device, atlas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(atlas)
    before = ada.position()
    for path in ("plans", ".", "plans/one.md"):
        with ada.refuses("input::invalid", "path"):
            ada.mine(path=path, wing="w")
    assert ada.position() == before


def test_many_files_are_noted_some_at_a_time(ada: Device, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(230):
        (folder / f"{number:03d}.bin").write_bytes(b"\0")
    told = mine(ada, folder, wing="w")
    assert (told["found"], told["skipped"]) == (230, 230)
    assert ada.tools().count("job_progressed") == 3


def test_sources_are_listed_counted_and_look_back(ada: Device, atlas: Path) -> None:
    ada.add_drawer(wing="home", room="notes", content="tea", source_file="tea.md")
    ada.add_drawer(wing="den", room="notes", content="more tea", source_file="tea.md")
    gone = ada.add_drawer(wing="home", room="notes", content="x", source_file="gone.md")
    before = ada.position()
    ada.delete_drawer(drawer_id=gone["drawer_id"])
    mine(ada, atlas)
    first = ada.list_sources(limit=3)
    rest = ada.list_sources(limit=3, cursor=first["cursor"])
    names = [one["source_file"] for one in first["sources"] + rest["sources"]]
    assert names == sorted([*(str(atlas / one) for one in MINED), "tea.md"])
    assert (first["total"], rest["cursor"]) == (4, None)
    tea = rest["sources"][-1]
    assert (tea["drawers"], tea["wings"]) == (2, ["den", "home"])
    assert ada.list_sources(prefix=f"{atlas}/plans")["total"] == 2
    assert ada.list_sources(wing="DEN")["total"] == 1
    assert ada.list_sources(known_at=f"@{before}")["total"] == 2
    page = ada.show_source(source_file="tea.md", limit=1)
    more = ada.show_source(source_file="tea.md", limit=1, cursor=page["cursor"])
    assert [page["drawers"][0]["preview"], more["drawers"][0]["preview"]] == ["more tea", "tea"]
    assert ada.show_source(source_file="tea.md", wing="den")["total"] == 1
    assert ada.show_source(source_file="nobody")["drawers"] == []


MINED = ("readme.md", "plans/one.md", "plans/deep/two.md")
