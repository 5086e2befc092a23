"""A change of the embedder is killed anywhere: the old vectors answer, and it goes on where it was.

V13 with real processes. No text is embedded twice, whoever died when.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from palacelog import reindexing
from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.embedding_work import AT_ONCE
from palacelog.reindexing import Change, changing
from projections.vectors.cache import Cache
from projections.vectors.embedder import Passage
from projections.vectors.folders import CACHE_FILE
from tests.embedders import MEANINGS, WORDS, tiny
from tests.faults.failing import FULL, IO_ERROR, failing
from tests.faults.judging import error_of, sound
from tests.faults.processes import Child, Report

TEXTS = 300
PER_CALL = 100
FIRST, SECOND = "first-", "second-"


class Models(NamedTuple):
    """The folders of two embedders."""

    first: Path
    second: Path


@pytest.fixture
def models(tmp_path: Path) -> Models:
    return Models(tiny(tmp_path / "first", seed=1), tiny(tmp_path / "second", seed=2))


@pytest.fixture
def folder(tmp_path: Path, models: Models) -> Path:
    """A palace of many texts, embedded by the first embedder."""
    path = tmp_path / "ada"
    create_palace(path, "ada")
    texts = [f"{WORDS[number % len(WORDS)]} {number}" for number in range(TEXTS)]
    with opened(path, models) as house:
        for at in range(0, TEXTS, PER_CALL):
            write(house, texts[at : at + PER_CALL])
        assert asked(house) == FIRST
    return path


@contextmanager
def opened(folder: Path, models: Models) -> Iterator[House]:
    vectors = {"embedder": str(models.first), "wait_seconds": 60}
    with open_palace(folder, vectors=vectors) as house:
        yield house


def write(house: House, texts: Sequence[str]) -> None:
    items = [{"wing": "home", "room": "notes", "content": text} for text in texts]
    house.palace.call("checkpoint", {"items": items})


def asked(house: House, query: str = "beverage") -> str:
    """The embedder that answers; it lacks no text."""
    answer = house.palace.call("search", {"query": query, "ranking": "semantic", "limit": 50})
    assert answer["degraded"] is None
    near = [one["snippet"].split()[0] for one in answer["hits"]]
    assert set(near) <= set(MEANINGS[0]), near
    return str(answer["embedder"].rpartition("-")[0]) + "-"


def reindex(house: House, model: Path) -> int | None:
    with changing(house) as embedding:
        target = reindexing.named(house, embedding, str(model))
        change = Change(house, embedding, target, house.palace._context)
        change.embed(lambda *_: None)
        assert change.check() == []
        return change.switch(lambda *_: None, accept_failures=False)


def telling(report: Report) -> None:
    """Report each text that was embedded, once that is kept."""
    store = Cache.store

    def stores(self: Cache, made: Any) -> None:
        kept: list[tuple[bytes, Sequence[Passage]]] = list(made)
        store(self, kept)
        for digest, _ in kept:
            report("embedded", digest)

    Cache.store = stores  # type: ignore[method-assign]


def work(report: Report, folder: Path, models: Models, point: str = "", passes: int = 1) -> None:
    telling(report)
    with opened(folder, models) as house:
        if point:
            report.die_at(point, passes)
        report("switched", reindex(house, models.second))


def embedded(reported: Sequence[tuple[Any, ...]]) -> list[bytes]:
    return [one[1] for one in reported if one[0] == "embedded"]


def killed(child: Child) -> list[bytes]:
    """What a child had embedded when it was killed."""
    reported = list(child.reports())
    child.ended(-9)
    return embedded(reported)


class Scene(NamedTuple):
    """Where a change dies.

    Attributes:
        counts: which embedder counts then.
    """

    point: str
    passes: int = 1
    counts: str = FIRST


SCENES = [
    Scene("texts.embedded"),
    Scene("texts.embedded", 2),
    Scene("texts.embedded", 3),
    Scene("reindex.caught_up"),
    Scene("log.appended"),
    Scene("views.folded"),
    Scene("log.committed", counts=SECOND),
    Scene("views.committed", counts=SECOND),
    Scene("writer.before_answer", counts=SECOND),
    Scene("reindex.switched", counts=SECOND),
]


@pytest.mark.parametrize("scene", SCENES, ids=lambda one: f"{one.point}-{one.passes}")
def test_killed_there_one_of_the_two_answers_and_no_text_is_embedded_twice(
    scene: Scene, folder: Path, models: Models
) -> None:
    """V13"""
    with Child(work, folder, models, scene.point, scene.passes) as child:
        before = killed(child)
    with opened(folder, models) as house:
        assert asked(house) == scene.counts
    with Child(work, folder, models) as child:
        reported = child.finishes()
    assert (reported[-1][1] is None) == (scene.counts == SECOND)
    done = before + embedded(reported)
    assert len(done) == len(set(done)) == TEXTS
    with opened(folder, models) as house:
        assert asked(house) == SECOND
    sound(folder)


def work_until_a_call(report: Report, folder: Path, models: Models, number: int) -> None:
    telling(report)
    with failing() as fault:
        fault.happens = lambda calls: report.die("a call") if calls == number else None
        with opened(folder, models) as house:
            report("switched", reindex(house, models.second))


def test_killed_at_any_call_of_a_database_it_comes_to_an_end(folder: Path, models: Models) -> None:
    """V13: at any moment."""
    done: list[bytes] = []
    name, number = FIRST, 20
    while True:
        with Child(work_until_a_call, folder, models, number) as child:
            reported = list(child.reports())
        done += embedded(reported)
        assert len(done) == len(set(done))
        with opened(folder, models) as house:
            assert asked(house) in {name, SECOND}
            name = asked(house)
        if reported[-1][0] == "switched":
            break
        number += 13
    assert name == SECOND
    assert number > 100, "it was killed a few times"
    sound(folder)


@pytest.mark.parametrize("text", [FULL, IO_ERROR])
def test_a_call_that_fails_stops_it_with_words_and_blames_no_text(
    text: str, folder: Path, models: Models
) -> None:
    failures, at = 0, 1
    while True:
        with failing() as fault, opened(folder, models) as house:
            fault.arm(at, text, lasting=True)
            error = error_of(lambda house=house: reindex(house, models.second))
            fired = fault.mend()
            assert asked(house) == (FIRST if error else SECOND)
            status = house.palace.call("status", {})
            assert [one["failed"] for one in status["vectors"]] in ([0], [0, 0])
        if fired is None:
            break
        failures, at = failures + 1, at + 29
    assert error is None
    assert failures > 3


def damage(cache: Path) -> None:
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute("UPDATE passages SET sum = sum + 1 WHERE number = 2")


def test_killed_when_a_damaged_cache_was_set_aside_it_is_made_anew(
    folder: Path, models: Models
) -> None:
    with Child(work, folder, models, "texts.embedded") as child:
        assert len(killed(child)) == AT_ONCE
    [cache] = (folder / "vectors").glob(f"{SECOND}*/{CACHE_FILE}")
    damage(cache)
    with Child(work, folder, models, "reindex.set_aside") as child:
        assert killed(child) == []
    assert not cache.exists()
    with opened(folder, models) as house:
        assert asked(house) == FIRST
    with Child(work, folder, models) as child:
        assert len(embedded(child.finishes())) == TEXTS
    with opened(folder, models) as house:
        assert asked(house) == SECOND


def prune(report: Report, folder: Path, models: Models) -> None:
    with opened(folder, models) as house, changing(house) as embedding:
        report.die_at("prune.removed")
        reindexing.prune(house, embedding)


def test_a_prune_that_was_killed_leaves_what_counts(folder: Path, models: Models) -> None:
    with opened(folder, models) as house:
        reindex(house, models.second)
    with Child(prune, folder, models) as child:
        assert killed(child) == []
    with opened(folder, models) as house:
        assert asked(house) == SECOND
        with changing(house) as embedding:
            assert reindexing.prune(house, embedding) == []
    assert [one.name[:7] for one in (folder / "vectors").iterdir() if one.is_dir()] == [SECOND]


def search_until_switched(report: Report, folder: Path, models: Models, *texts: str) -> None:
    """Search again and again, writing texts between."""
    left = list(texts)
    with opened(folder, models) as house:
        while True:
            if left:
                write(house, [left.pop()])
            name = asked(house)
            report("asked", name)
            if name == SECOND and not left:
                return


def test_two_processes_search_and_write_while_a_third_reindexes(
    folder: Path, models: Models
) -> None:
    more = [f"tea again {number}" for number in range(30)]
    with (
        Child(search_until_switched, folder, models, *more) as writing,
        Child(search_until_switched, folder, models) as reading,
    ):
        for child in (writing, reading):
            assert child.wait_for("asked")[0] == FIRST
        with Child(work, folder, models) as child:
            reported = child.finishes()
        assert reported[-1][1] is not None
        for child in (writing, reading):
            names = [one[1] for one in child.finishes()]
            assert names == sorted(names), "each goes from the first to the second, once"
    done = embedded(reported)
    assert len(done) == len(set(done))
    with opened(folder, models) as house:
        assert asked(house) == SECOND
    sound(folder)
