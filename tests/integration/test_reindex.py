"""Changing the embedder: what searches go by before, while and after, and what is kept of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from palacelog import reindexing
from palacelog.bootstrap import House, open_palace
from palacelog.reindexing import Change, changing
from projections.vectors.folders import CACHE_FILE, INDEX_FILE
from projections.vectors.static import StaticEmbedder
from tests.command_line import CommandLine, new_line
from tests.embedders import tiny, vanish

TEXTS = ("tea in the cup", "the cat sleeps", "rent is due to the bank", "ticket for the train")


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path]:
    return tiny(tmp_path / "first", seed=1), tiny(tmp_path / "second", seed=2, dimension=64)


@pytest.fixture
def line(tmp_path: Path, models: tuple[Path, Path]) -> CommandLine:
    """A palace with a few texts, embedded by the first embedder."""
    line = new_line(tmp_path / "palace", PALACELOG_VECTORS__EMBEDDER=str(models[0]))
    for text in TEXTS:
        add(line, text)
    assert search(line, "beverage")["degraded"] is None
    return line


def add(line: CommandLine, text: str) -> str:
    answer = line.call("add_drawer", wing="home", room="notes", content=text)
    return str(answer["drawer_id"])


def search(line: CommandLine, query: str, *before: str, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = line.call("search", *before, query=query, **asked)
    return found


def found(line: CommandLine, query: str, *before: str) -> tuple[str, list[tuple[str, float]]]:
    """By which embedder, and what with which score."""
    answer = search(line, query, *before)
    assert answer["degraded"] is None, answer["degraded"]
    return answer["embedder"], [(one["drawer_id"], one["score"]) for one in answer["hits"]]


def vectors(line: CommandLine) -> dict[str, dict[str, Any]]:
    """What `status` says of each embedder, by the name it was given."""
    return {one["embedder"].rpartition("-")[0]: one for one in line("status")["vectors"]}


def changes(line: CommandLine) -> int:
    listed = line.call("list_operations", tool="embedder_changed")
    return int(listed["total"])


def folder_of(line: CommandLine, name: str) -> Path:
    [folder] = (line.palace / "vectors").glob(f"{name}-*")
    return folder


def checks(line: CommandLine, name: str = "vectors") -> list[dict[str, Any]]:
    return [one for one in line.run("doctor").answer["checks"] if one["name"] == name]


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were embedded by each call of an embedder from now on."""
    counts: list[int] = []
    before = StaticEmbedder.passages

    def passages(self: StaticEmbedder, chunks: Any) -> Iterator[Any]:
        counts.append(len(chunks))
        return before(self, chunks)

    monkeypatch.setattr(StaticEmbedder, "passages", passages)
    return counts


def test_a_change_embeds_every_text_and_is_one_event(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    done = line("reindex", "--embedder", models[1])
    assert (done["texts"], done["embedded"], done["failed"], done["switched"]) == (4, 4, [], True)
    assert done["previous"].startswith("first-")
    assert done["embedder"].startswith("second-")
    assert changes(line) == 2
    assert search(line, "beverage")["embedder"] == done["embedder"]
    assert search(line, "beverage")["hits"][0]["snippet"] == "tea in the cup"
    both = vectors(line)
    assert [(one["counts"], one["embedded"], one["missing"]) for one in both.values()] == [
        (False, 4, 0),
        (True, 4, 0),
    ]


def test_what_counts_already_is_embedded_and_nothing_is_recorded(
    line: CommandLine, models: tuple[Path, Path], embedded: list[int]
) -> None:
    add(line, "coffee")
    done = line("reindex")
    assert (done["embedded"], done["switched"], done["position"]) == (1, False, None)
    assert sum(embedded) == 1
    assert changes(line) == 1


def test_a_dry_run_tells_what_there_is_to_do_and_does_nothing(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    add(line, "coffee")
    folder = line.palace / "vectors"
    before = sorted(folder.rglob("*"))
    told = line("reindex", "--embedder", models[1], "--dry-run")
    assert (told["texts"], told["cached"], told["counts"]) == (5, 0, False)
    told = line("reindex", "--dry-run")
    assert (told["texts"], told["cached"], told["counts"]) == (5, 4, True)
    assert set(before) ^ set(folder.rglob("*")) == {folder / "reindex.lock"}
    assert changes(line) == 1


def test_another_embedder_that_is_only_configured_changes_nothing(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    """V9"""
    before = found(line, "beverage")
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = str(models[1])
    assert found(line, "beverage") == before
    add(line, "coffee")
    assert found(line, "beverage")[0] == before[0]
    assert list(vectors(line)) == ["first"]


def test_undo_goes_back_without_embedding_what_is_cached(
    line: CommandLine, models: tuple[Path, Path], embedded: list[int]
) -> None:
    before = found(line, "beverage")
    line("reindex", "--embedder", models[1])
    add(line, "train")
    embedded.clear()
    done = line("reindex", "--undo")
    assert (done["texts"], done["cached"], done["embedded"], done["switched"]) == (5, 4, 1, True)
    assert sum(embedded) == 1
    assert found(line, "beverage")[0] == before[0]
    assert line("reindex", "--undo")["embedder"].startswith("second-")
    assert changes(line) == 4


def test_there_is_nothing_to_go_back_to_before_the_first_change(line: CommandLine) -> None:
    with line.stops(1, "vectors::no_previous"):
        line("reindex", "--undo")


def test_an_embedder_that_does_not_exist_is_bad_input(line: CommandLine) -> None:
    with line.stops(2, "vectors::unknown_embedder"):
        line("reindex", "--embedder", "nowhere")
    with line.stops(2, "input::invalid"):
        line("reindex", "--undo", "--prune")


def test_a_palace_without_an_embedder_says_so(line: CommandLine) -> None:
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = "none"
    with line.stops(3, "vectors::no_embedder"):
        line("reindex")
    assert line("status")["vectors"] == []


def test_a_session_that_may_not_write_may_not_reindex(line: CommandLine) -> None:
    with line.stops(1, "mode::forbidden"):
        line("reindex", before=("--mode", "read_only"))


# pruning


def test_prune_removes_what_does_not_count(line: CommandLine, models: tuple[Path, Path]) -> None:
    line("reindex", "--embedder", models[1])
    told = line("reindex", "--prune", "--dry-run")
    assert [one["embedder"].rpartition("-")[0] for one in told["removed"]] == ["first"]
    assert list(vectors(line)) == ["first", "second"]
    assert line("reindex", "--prune")["removed"] == told["removed"]
    assert list(vectors(line)) == ["second"]
    assert line("reindex", "--prune")["removed"] == []
    assert search(line, "beverage")["degraded"] is None


def test_prune_is_refused_while_somebody_uses_what_would_go(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    with open_palace(line.palace, vectors={"embedder": str(models[0])}) as house:
        house.palace.call("search", {"query": "beverage"})
        line("reindex", "--embedder", models[1])
        with line.stops(1, "vectors::in_use", names="first-"):
            line("reindex", "--prune")
        assert list(vectors(line)) == ["first", "second"]
        embedding = house.palace.embedding
        assert embedding is not None
        with embedding.indexes.using():
            assert by_meaning(house) == "second-"
            with line.stops(1, "vectors::in_use", names="first-"):
                line("reindex", "--prune")
        # It searches by the new one as soon as that counts, and lets go of the old one then.
        assert by_meaning(house) == "second-"
        assert len(line("reindex", "--prune")["removed"]) == 1
        assert by_meaning(house) == by_meaning(house, known_at="@2") == "second-"


def test_an_embedder_of_before_is_opened_again_for_who_looks_back(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    with open_palace(line.palace, vectors={"embedder": str(models[0])}) as house:
        assert by_meaning(house) == "first-"
        line("reindex", "--embedder", models[1])
        for _ in range(3):
            assert by_meaning(house) == "second-"
            assert by_meaning(house, known_at="@2") == "first-"


def by_meaning(house: House, **moment: str) -> str:
    """What a search that lacks nothing went by."""
    found = house.palace.call("search", {"query": "beverage", **moment})
    assert found["degraded"] is None
    return str(found["embedder"].rpartition("-")[0] + "-")


def test_only_one_process_changes_the_embedder(
    line: CommandLine, models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindexing, "WAIT_SECONDS", 0.0)
    with opened(line) as house, changing(house):
        for asked in (("--embedder", models[1]), ("--undo",), ("--prune",), ()):
            with line.stops(3, "vectors::reindexing"):
                line("reindex", *asked)


def test_after_a_prune_an_older_moment_is_searched_by_the_embedder_of_now(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    done = line("reindex", "--embedder", models[1])
    line("reindex", "--prune")
    for moment in ("@2", "@5"):
        assert found(line, "beverage", "--known-at", moment)[0] == done["embedder"]
    undone = line("reindex", "--undo")
    assert (undone["cached"], undone["embedded"]) == (0, 4)


# what cannot be embedded


@pytest.fixture
def refuses_cats(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """An embedder that fails for texts about cats, until told to stop."""
    before = StaticEmbedder.chunks

    def chunks(self: StaticEmbedder, text: str) -> Any:
        if "cat" in text:
            raise ValueError("no cats")
        return before(self, text)

    monkeypatch.setattr(StaticEmbedder, "chunks", chunks)
    return lambda: monkeypatch.setattr(StaticEmbedder, "chunks", before)


def test_a_text_that_fails_is_named_and_nothing_is_switched_unless_accepted(
    line: CommandLine, models: tuple[Path, Path], refuses_cats: Callable[[], None]
) -> None:
    """V10"""
    cat = search(line, "cat", ranking="lexical")["hits"][0]["drawer_id"]
    before = found(line, "beverage")
    ended = line.run("reindex", "--embedder", models[1])
    assert ended.code == 5
    [error] = ended.errors
    assert error["code"] == "palacelog::vectors::texts_failed"
    assert cat in error["error"]
    assert "no cats" in error["error"]
    assert ended.answer["failed"] == [{"drawer_id": cat, "reason": "ValueError: no cats"}]
    assert (ended.answer["embedded"], ended.answer["switched"]) == (3, False)
    assert found(line, "beverage") == before
    assert vectors(line)["second"]["failed"] == 1

    done = line("reindex", "--embedder", models[1], "--accept-failures")
    assert done["switched"] is True
    assert [one["drawer_id"] for one in done["failed"]] == [cat]
    assert search(line, "beverage")["degraded"]["reason"] == "texts_failed"
    assert [one["state"] for one in checks(line)] == ["ok", "warn"]

    refuses_cats()
    assert line("reindex")["embedded"] == 1
    assert search(line, "beverage")["degraded"] is None


def test_a_text_that_the_views_have_lost_is_named(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    """The count is of the log, not of what the index was made from."""
    lost = add(line, "coffee")
    [views] = (line.palace / "views").glob("views-*.db")
    with closing(sqlite3.connect(views)) as connection, connection:
        connection.execute("DELETE FROM numbered WHERE drawer_id = ?", (lost,))
        connection.execute("DELETE FROM texts WHERE drawer_id = ?", (lost,))
    ended = line.run("reindex", "--embedder", models[1])
    assert ended.code == 5
    [named] = ended.answer["failed"]
    assert named["drawer_id"] == lost
    assert "rebuild" in named["reason"]
    line("rebuild")
    assert line("reindex", "--embedder", models[1])["switched"] is True


# writing meanwhile


def opened(line: CommandLine) -> House:
    embedder = line.environment["PALACELOG_VECTORS__EMBEDDER"]
    return open_palace(line.palace, vectors={"embedder": embedder})


def begun(house: House, model: Path) -> Change:
    embedding = house.palace.embedding
    assert embedding is not None
    target = reindexing.named(house, embedding, str(model))
    return Change(house, embedding, target, house.palace._context)


def note(house: House, text: str) -> None:
    house.palace.call("add_drawer", {"wing": "home", "room": "notes", "content": text})


def test_texts_written_meanwhile_are_in_both(line: CommandLine, models: tuple[Path, Path]) -> None:
    reported: list[tuple[int, int]] = []
    with opened(line) as house, changing(house):
        change = begun(house, models[1])

        def report(done: int, total: int) -> None:
            reported.append((done, total))
            if len(reported) < 6:
                note(house, f"coffee {len(reported)}")
                answer = house.palace.call("search", {"query": f"coffee {len(reported)}"})
                assert answer["embedder"].startswith("first-")
                assert answer["degraded"] is None

        assert change.embed(report) == 9
        assert change.check() == []
        assert change.switch(report, accept_failures=False) is not None
        answer = house.palace.call("search", {"query": "coffee 3"})
        assert answer["embedder"].startswith("second-")
        assert answer["degraded"] is None
        assert len(answer["hits"]) == 9
    assert reported[-1][0] == reported[-1][1]


def test_a_palace_that_is_never_idle_is_switched_as_well(
    line: CommandLine, models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(line) as house, changing(house):
        change = begun(house, models[1])
        texts = iter(range(1_000))
        before = Change.embed

        def embed(self: Change, report: Any) -> int:
            done = before(self, report)
            note(house, f"tea {next(texts)}")
            return done

        monkeypatch.setattr(Change, "embed", embed)
        assert change.switch(lambda *_: None, accept_failures=False) is not None
        assert next(texts) == reindexing.PATIENT_TURNS + 1
        assert house.palace.call("search", {"query": "tea"})["degraded"] is None


# what was known


def test_a_moment_is_searched_alike_before_and_after_deletes_supersedes_and_a_change(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    """V11, the half about known_at."""
    cup, cat, rent, _ = (one["id"] for one in by_arrival(line))
    moments = ["@1", "@3", "@4"]
    line.call("delete_drawer", drawer_id=cup)
    line.call("supersede_drawer", drawer_id=cat, content="the dog sleeps")
    line.call("update_drawer", drawer_id=rent, content="payment is due")
    moments += [f"@{line('status')['head']}"]
    told = {moment: found(line, "beverage", "--known-at", moment) for moment in moments}
    assert cup in [drawer_id for drawer_id, _ in told["@4"][1]]

    line("reindex", "--embedder", models[1])
    line.call("delete_drawer", drawer_id=cat)
    add(line, "coffee")
    assert search(line, "coffee")["degraded"] is None
    assert {moment: found(line, "beverage", "--known-at", moment) for moment in moments} == told
    line("rebuild")
    assert {moment: found(line, "beverage", "--known-at", moment) for moment in moments} == told


def by_arrival(line: CommandLine) -> list[dict[str, Any]]:
    return list(reversed(line.call("list_drawers")["drawers"]))


def test_hidden_superseded_and_updated_texts_are_embedded_again_too(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    """V11: also where the embedder of then is gone, a moment before the delete finds it."""
    cup, cat, rent, _ = (one["id"] for one in by_arrival(line))
    line.call("delete_drawer", drawer_id=cup)
    line.call("supersede_drawer", drawer_id=cat, content="the dog sleeps")
    line.call("update_drawer", drawer_id=rent, content="payment is due")
    done = line("reindex", "--embedder", models[1])
    assert (done["texts"], done["embedded"], done["failed"]) == (6, 6, [])
    line("reindex", "--prune")
    name, hits = found(line, "beverage", "--known-at", "@4")
    assert name == done["embedder"]
    assert hits[0][0] == cup
    assert cup not in [drawer_id for drawer_id, _ in found(line, "beverage")[1]]


def test_vectors_fit_views_that_were_made_again_and_a_log_that_was_restored(
    line: CommandLine, tmp_path: Path, embedded: list[int]
) -> None:
    before = found(line, "beverage")
    line("backup", tmp_path / "backup")
    add(line, "coffee")
    assert len(found(line, "beverage")[1]) == 5
    embedded.clear()
    line("rebuild")
    assert len(found(line, "beverage")[1]) == 5
    line("restore", tmp_path / "backup", "--replace")
    assert found(line, "beverage") == before
    assert embedded == []


# other weights, other places


def test_other_weights_under_the_same_name_are_another_embedder(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    before = found(line, "beverage")
    tiny(models[0], seed=7)
    answer = search(line, "tea")
    assert answer["ranking"] == "lexical"
    assert [one["snippet"] for one in answer["hits"]] == ["tea in the cup"]
    assert answer["degraded"]["reason"] == "other_embedder"
    assert "palacelog reindex" in answer["degraded"]["help"]
    with line.stops(3, "vectors::other_embedder"):
        search(line, "tea", ranking="semantic")
    add(line, "coffee")
    assert vectors(line)["first"]["missing"] == 1, "no vector of one meets the other"
    [check] = checks(line, "embedder")
    assert (check["state"], check["code"]) == ("fail", "palacelog::vectors::other_embedder")

    done = line("reindex")
    assert done["previous"] == before[0]
    assert done["embedder"] != before[0]
    assert (done["embedded"], done["switched"]) == (5, True)
    assert len(found(line, "beverage")[1]) == 5
    assert found(line, "beverage", "--known-at", "@2")[0] == done["embedder"]
    assert checks(line, "embedder")[0]["state"] == "ok"


def test_nothing_takes_the_place_of_an_embedder_that_nobody_can_find_any_more(
    line: CommandLine, models: tuple[Path, Path], embedded: list[int]
) -> None:
    before = found(line, "beverage")
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = str(models[1])
    vectors_folder = line.palace / "vectors"
    vanish(vectors_folder)
    answer = search(line, "beverage")
    assert (answer["ranking"], answer["degraded"]["reason"]) == ("lexical", "unavailable")
    assert "palacelog reindex --embedder FOLDER" in answer["degraded"]["help"]
    with line.stops(3, "vectors::place_unknown"):
        line.call("embed")
    for how in ((), ("--dry-run",)):
        with line.stops(3, "vectors::place_unknown"):
            line("reindex", *how)
    assert list(vectors_folder.glob("*/*")) == []
    assert (changes(line), embedded) == (1, [])

    line("reindex", "--embedder", models[0])
    assert found(line, "beverage") == before
    assert changes(line) == 1


def test_an_embedder_that_is_configured_is_found_again_without_its_vectors(
    line: CommandLine,
) -> None:
    before = found(line, "beverage")
    vanish(line.palace / "vectors")
    assert found(line, "beverage") == before
    vanish(line.palace / "vectors")
    assert not line("reindex")["switched"]
    assert found(line, "beverage") == before


def test_an_own_embedder_that_is_called_like_a_packaged_one_is_not_taken_for_it(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    (models[0] / "embedder.toml").write_text('name = "wordllama"\n')
    line("reindex", "--embedder", models[0])
    before = found(line, "beverage")
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = str(models[1])
    vanish(line.palace / "vectors")
    with line.stops(3, "vectors::place_unknown"):
        line("reindex")
    line("reindex", "--embedder", models[0])
    assert found(line, "beverage") == before
    assert changes(line) == 2


def test_an_embedder_whose_files_are_gone_is_named_and_another_place_mends_it(
    line: CommandLine, models: tuple[Path, Path], tmp_path: Path, embedded: list[int]
) -> None:
    before = found(line, "beverage")
    vanish(models[0])
    answer = search(line, "tea")
    assert answer["ranking"] == "lexical"
    assert "first" in answer["degraded"]["help"]
    assert ended_code(line, "tea") == 3
    add(line, "coffee")
    assert checks(line, "embedder")[0]["state"] == "fail"

    elsewhere = tiny(tmp_path / "elsewhere", seed=1)
    (elsewhere / "embedder.toml").write_text('name = "first"\n')
    embedded.clear()
    done = line("reindex", "--embedder", elsewhere)
    assert (done["embedder"], done["embedded"], done["switched"]) == (before[0], 1, False)
    assert sum(embedded) == 1
    assert len(found(line, "beverage")[1]) == 5


def test_doctor_says_where_nothing_tells_any_more_where_the_embedder_lies(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = str(models[1])
    vanish(line.palace / "vectors")
    [check] = checks(line, "embedder")
    assert check["state"] == "warn"
    assert "first" in check["message"]
    assert "palacelog reindex --embedder FOLDER" in check["help"]
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = "none"
    assert checks(line, "embedder") == []
    line.environment["PALACELOG_VECTORS__EMBEDDER"] = str(models[0])
    assert checks(line, "embedder")[0]["state"] == "ok"


def test_doctor_names_an_earlier_embedder_whose_folder_is_gone(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    line("reindex", "--embedder", models[1])
    assert [check["state"] for check in checks(line, "embedder")] == ["ok"]
    vanish(models[0])
    gone, present = checks(line, "embedder")
    assert (gone["state"], present["state"]) == ("warn", "ok")
    assert str(models[0]) in gone["message"]
    assert "palacelog reindex --prune" in gone["help"]


def test_only_reindex_takes_a_change_of_the_embedder_back(
    line: CommandLine, models: tuple[Path, Path]
) -> None:
    """The vectors that would count again may lack texts, or be gone."""
    line("reindex", "--embedder", models[1])
    add(line, "coffee")
    before = found(line, "beverage")
    [second, first] = line.call("list_operations", tool="embedder_changed")["operations"]
    for one in (second, first):
        done = line.call("undo", op_id=one["op_id"], dry_run=False)
        assert done["undone"] == []
        assert done["kept"] == [{"op_id": one["op_id"], "reason": "by_reindex", "by": None}]
    assert found(line, "beverage") == before
    assert line("reindex", "--undo")["embedder"].startswith("first-")
    assert len(found(line, "beverage")[1]) == 5


def ended_code(line: CommandLine, query: str) -> int:
    """How a search by meaning alone ends."""
    return line.run("call", "search", f'{{"query": "{query}", "ranking": "semantic"}}').code


# damage


def no_database(cache: Path) -> None:
    cache.write_bytes(b"not a database, " * 1_000)


def truncated(cache: Path) -> None:
    cache.write_bytes(cache.read_bytes()[: cache.stat().st_size // 2])


def emptied(cache: Path) -> None:
    cache.write_bytes(b"")


def flip_a_vector(cache: Path) -> None:
    with closing(sqlite3.connect(cache)) as connection:
        [(vector,)] = connection.execute("SELECT vector FROM passages WHERE number = 2").fetchall()
    content = bytearray(cache.read_bytes())
    content[content.index(vector) + 5] ^= 1
    cache.write_bytes(content)


def flip_the_identity(cache: Path) -> None:
    content = cache.read_bytes()
    assert content.count(b'"dimension":32') == 1
    cache.write_bytes(content.replace(b'"dimension":32', b'"dimension":48'))


def lose_a_table(cache: Path) -> None:
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute("DROP TABLE passages")


DAMAGES = [no_database, truncated, flip_a_vector, flip_the_identity, lose_a_table]


def still(cache: Path) -> None:
    """Move the WAL into a file, so that what is altered is all there is."""
    with closing(sqlite3.connect(cache)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_a_damaged_cache_leaves_search_by_words_and_is_made_anew(
    line: CommandLine, damage: Callable[[Path], None]
) -> None:
    cache = folder_of(line, "first") / CACHE_FILE
    still(cache)
    before = found(line, "beverage")
    still(cache)
    damage(cache)
    answer = search(line, "tea")
    assert answer["ranking"] == "lexical"
    assert [one["snippet"] for one in answer["hits"]] == ["tea in the cup"]
    assert answer["degraded"]["reason"] == "damaged"
    assert "palacelog reindex" in answer["degraded"]["help"]
    assert ended_code(line, "tea") == 3
    assert line("status")["vectors"][0]["counts"] is True
    [check] = checks(line)
    assert (check["state"], check["code"]) == ("fail", "palacelog::vectors::cache")
    assert "palacelog reindex" in check["help"]

    done = line("reindex")
    assert (done["embedded"], done["switched"]) == (4, False)
    assert found(line, "beverage") == before
    assert [one["state"] for one in checks(line)] == ["ok"]
    assert not list((line.palace / "vectors").glob(".removed-*"))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_an_older_moment_is_searched_by_the_embedder_of_now_where_the_old_cache_is_damaged(
    line: CommandLine, models: tuple[Path, Path], damage: Callable[[Path], None]
) -> None:
    done = line("reindex", "--embedder", models[1])
    cache = folder_of(line, "first") / CACHE_FILE
    still(cache)
    damage(cache)
    assert found(line, "beverage", "--known-at", "@5")[0] == done["embedder"]


def test_an_empty_cache_is_filled_again(line: CommandLine) -> None:
    before = found(line, "beverage")
    cache = folder_of(line, "first") / CACHE_FILE
    still(cache)
    emptied(cache)
    assert found(line, "beverage") == before


@pytest.mark.parametrize("damage", [no_database, truncated, emptied], ids=lambda one: one.__name__)
def test_a_damaged_saved_index_is_made_again_from_the_cache(
    line: CommandLine, damage: Callable[[Path], None], embedded: list[int]
) -> None:
    line("reindex")
    before = found(line, "beverage")
    saved = folder_of(line, "first") / INDEX_FILE
    damage(saved)
    embedded.clear()
    assert found(line, "beverage") == before
    assert [one["state"] for one in checks(line)] == ["ok", "warn"]
    line("reindex")
    assert [one["state"] for one in checks(line)] == ["ok"]
    assert embedded == []


def test_a_process_that_has_a_damaged_cache_open_goes_on_with_the_new_one(
    line: CommandLine,
) -> None:
    with opened(line) as house:
        house.palace.call("search", {"query": "beverage"})
        flip = folder_of(line, "first") / CACHE_FILE
        flip_a_vector_in_place(flip)
        line("reindex")
        note(house, "coffee")
        answer = house.palace.call("search", {"query": "beverage"})
        assert (answer["degraded"], len(answer["hits"])) == (None, 5)
    assert vectors(line)["first"]["embedded"] == 5


def flip_a_vector_in_place(cache: Path) -> None:
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute("UPDATE passages SET sum = sum + 1 WHERE number = 2")


def test_vectors_that_were_removed_are_made_again(line: CommandLine) -> None:
    before = found(line, "beverage")
    for path in folder_of(line, "first").iterdir():
        path.unlink()
    folder_of(line, "first").rmdir()
    assert line("status")["vectors"] == [
        {
            "embedder": before[0],
            "counts": True,
            "texts": 4,
            "embedded": 0,
            "missing": 4,
            "failed": 0,
            "state": "whole",
        }
    ]
    assert found(line, "beverage") == before


# doctor


def test_doctor_names_what_lies_among_the_vectors_and_belongs_to_nobody(
    line: CommandLine,
) -> None:
    folder = line.palace / "vectors"
    assert [one["state"] for one in checks(line)] == ["ok"]
    (folder / "holiday.jpg").write_bytes(b"")
    (folder / ".removed-first-0123456789").mkdir()
    before = sorted(folder.rglob("*"))
    states = [(one["state"], one["message"]) for one in checks(line)]
    assert [state for state, _ in states] == ["ok", "warn", "warn"]
    assert "holiday.jpg" in states[1][1]
    assert ".removed-first-0123456789" in states[2][1]
    assert sorted(folder.rglob("*")) == before
    line("reindex", "--prune")
    assert [one["state"] for one in checks(line)] == ["ok", "warn"]


# at a terminal


def test_a_person_is_told_what_is_to_be_done(line: CommandLine, models: tuple[Path, Path]) -> None:
    code, seen = line.seen("reindex", "--embedder", models[1])
    assert code == 0
    assert "4 texts, 4 to embed" in seen
    code, seen = line.seen("status")
    assert "4 of 4 texts" in seen
