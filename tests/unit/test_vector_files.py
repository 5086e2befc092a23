"""The cache and the index of one embedder: exact, complete, and never of another embedder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Damaged
from projections.vectors import folders
from projections.vectors.cache import CACHE_FILE, Cache
from projections.vectors.embedder import Identity, Passage, Vectors
from projections.vectors.flat import COSINE_UNIT, INDEX_FILE, FlatIndex
from projections.vectors.folders import index_file, read_about
from projections.vectors.remembered import Remembered

DIMENSION = 16
TINY = Identity("tiny", "0" * 64, "1" * 64, DIMENSION, "mean", "l2", 8)


def digest(number: int) -> bytes:
    return sha256(b"%d" % number).digest()


def vectors(count: int, seed: int = 7) -> Vectors:
    """Vectors of length 1; each tenth is one of a few, so that there are ties."""
    chance = np.random.default_rng(seed)
    found = chance.normal(size=(count, DIMENSION)).astype(np.float32)
    found[::10] = found[0]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def passage(vector: Vectors, tokens: int = 2) -> Passage:
    return Passage(vector, np.full((tokens, DIMENSION // 8), 0b10100000, dtype=np.uint8))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with closing(Cache(tmp_path / "tiny", TINY, "tiny")) as opened:
        yield opened


def filled(cache: Cache, count: int, seed: int = 7) -> Vectors:
    rows = vectors(count, seed)
    cache.store((digest(place), [passage(row)]) for place, row in enumerate(rows))
    return rows


def by_hand(rows: Vectors, vector: Vectors, count: int, among: set[int] | None) -> list[int]:
    """The numbers (from 1) of the nearest rows: all compared, ties by number."""
    cosines = np.rint((rows @ vector).astype(np.float64) * COSINE_UNIT).astype(int)
    order = sorted(range(len(rows)), key=lambda place: (-cosines[place], place))
    return [place + 1 for place in order if among is None or place + 1 in among][:count]


def test_what_is_stored_is_read_as_it_was(cache: Cache) -> None:
    rows = vectors(3)
    cache.store([(digest(1), [passage(rows[0]), passage(rows[1], 0)]), (digest(2), [])])
    cache.store([(digest(1), [passage(rows[2])])])
    [held] = cache.passages([digest(1), digest(2), digest(3)]).values()
    assert [one.vector.tobytes() for one in held] == [rows[0].tobytes(), rows[1].tobytes()]
    assert [len(one.bits) for one in held] == [2, 0]
    assert cache.missing([digest(3), digest(1), digest(3)]) == [digest(3)]


def test_a_dimension_that_is_no_multiple_of_eight_keeps_its_bits(tmp_path: Path) -> None:
    odd = replace(TINY, dimension=13)
    with closing(Cache(tmp_path / "odd", odd, "odd")) as cache:
        bits = np.packbits(np.ones((3, 13), dtype=bool), axis=1)
        cache.store([(digest(1), [Passage(np.ones(13, dtype=np.float32), bits)])])
        [[held]] = cache.passages([digest(1)]).values()
        assert held.bits.tolist() == bits.tolist()


def test_a_failure_is_remembered_until_the_text_is_stored(cache: Cache) -> None:
    cache.failed(digest(1), "too odd")
    assert cache.failures([digest(1), digest(2)]) == {digest(1): "too odd"}
    cache.store([(digest(1), [passage(vectors(1)[0])])])
    assert cache.failures([digest(1)]) == {}


def test_what_is_given_takes_the_place_of_what_was_made_and_numbers_are_used_once(
    cache: Cache,
) -> None:
    rows = filled(cache, 3)
    cache.attach(digest(2), "op-1", [passage(rows[0], 0)])
    assert [number for number, _ in cache.numbers([digest(2)])] == [4]
    cache.detach(digest(2))
    assert cache.missing([digest(2)]) == [digest(2)]
    assert (cache.attached(), cache.retired()) == ({}, 2)
    cache.store([(digest(2), [passage(rows[2])])])
    assert [number for number, _ in cache.numbers([digest(2)])] == [5]
    flat = FlatIndex(cache)
    assert flat.catch_up() == 5
    digests = cache.digests([1, 2, 3, 4, 5])
    assert [digests[number] for number in (1, 2, 5)] == [digest(0), digest(1), digest(2)]
    assert not {digests[3], digests[4]} & {digest(number) for number in range(3)}


def test_what_another_process_puts_in_place_of_what_was_read_is_read_from_then_on(
    cache: Cache,
) -> None:
    rows = filled(cache, 3)
    assert cache.passages([digest(1)])[digest(1)][0].vector.tobytes() == rows[1].tobytes()
    with closing(Cache(cache.folder, TINY, "tiny")) as other:
        other.attach(digest(1), "op-1", [passage(rows[0])])
        assert cache.passages([digest(1)])[digest(1)][0].vector.tobytes() == rows[0].tobytes()
        other.detach(digest(1))
    assert cache.passages([digest(1)]) == {}


def test_what_is_remembered_is_what_was_asked_for_last_as_far_as_there_is_room() -> None:
    one = [passage(vectors(1)[0])]
    size = one[0].vector.nbytes + one[0].bits.nbytes
    remembered = Remembered(2 * size)
    remembered.add({digest(0): one, digest(1): one}, 0)
    assert remembered.of([digest(0)], 0).keys() == {digest(0)}
    remembered.add({digest(2): one}, 0)
    assert remembered.of([digest(n) for n in range(3)], 0).keys() == {digest(0), digest(2)}
    assert remembered.of([digest(0)], 1) == {}
    remembered.add({digest(0): one}, 0)
    assert remembered.of([digest(0)], 1) == {}


def test_a_cache_of_another_embedder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    Cache(folder, TINY, "from here").close()
    assert read_about(folder / CACHE_FILE)["source"] == "from here"
    for other in (replace(TINY, model="2" * 64), replace(TINY, tokens_max=9)):
        with pytest.raises(Damaged) as caught:
            Cache(folder, other, "tiny")
        assert caught.value.code == "palacelog::vectors::cache"


def test_a_cache_that_was_never_begun_is_begun(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / CACHE_FILE).touch()
    assert read_about(folder / CACHE_FILE) == {}
    with closing(Cache(folder, TINY, "tiny")) as cache:
        filled(cache, 1)
        assert cache.last() == 1


def test_a_store_that_fails_half_way_leaves_nothing(cache: Cache) -> None:
    def half() -> Iterator[tuple[bytes, list[Passage]]]:
        yield digest(1), [passage(vectors(1)[0])]
        raise ValueError("too odd")

    with pytest.raises(ValueError, match="too odd"):
        cache.store(half())
    assert cache.last() == 0


@given(
    count=st.integers(1, 120),
    wanted=st.integers(1, 60),
    seed=st.integers(0, 50),
    like=st.integers(0, 119),
    left=st.sets(st.integers(1, 140)) | st.none(),
)
def test_the_index_finds_what_comparing_all_by_hand_finds(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    wanted: int,
    seed: int,
    like: int,
    left: set[int] | None,
) -> None:
    folder = tmp_path_factory.mktemp("flat")
    with closing(Cache(folder, TINY, "tiny")) as cache:
        rows = filled(cache, count, seed)
        flat = FlatIndex(cache)
        flat.catch_up()
        vector = rows[like % count]
        among = None if left is None else np.array(sorted(left), dtype=np.int64)
        near = flat.nearest(vector, wanted, among)
        expected = by_hand(rows, vector, wanted, left)
        exact = {number: round(float(rows[number - 1] @ vector), 5) for number in expected}
        assert [exact.get(number) for number in near.numbers.tolist()] == list(exact.values())
        assert near.cosines.tolist() == sorted(near.cosines.tolist(), reverse=True)


@pytest.mark.parametrize("wanted", [1, 3, 40, 99, 100, 200])
def test_rows_that_are_equally_near_come_by_number(cache: Cache, wanted: int) -> None:
    same = vectors(1)
    cache.store((digest(place), [passage(same[0])]) for place in range(100))
    flat = FlatIndex(cache)
    flat.catch_up()
    numbers = list(range(1, 101))
    assert flat.nearest(same[0], wanted).numbers.tolist() == numbers[:wanted]
    among = np.array(numbers[::-2], dtype=np.int64)
    found = flat.nearest(same[0], wanted, among).numbers.tolist()
    assert found == sorted(among.tolist())[:wanted]


def test_an_index_without_rows_and_a_wish_for_none_find_nothing(cache: Cache) -> None:
    flat = FlatIndex(cache)
    assert flat.nearest(vectors(1)[0], 5).numbers.tolist() == []
    filled(cache, 3)
    flat.catch_up()
    assert flat.nearest(vectors(1)[0], 0).numbers.tolist() == []
    assert flat.nearest(vectors(1)[0], 5, np.empty(0, np.int64)).numbers.tolist() == []


def test_a_saved_index_is_taken_and_the_rest_comes_from_the_cache(cache: Cache) -> None:
    rows = filled(cache, 50)
    flat = FlatIndex(cache)
    flat.catch_up()
    flat.save()
    cache.store([(digest(99), [passage(rows[1])])])
    again = FlatIndex(cache)
    assert (len(again), again.upto, again.unsaved()) == (50, 50, 0)
    assert again.catch_up() == 1
    assert again.nearest(rows[1], 2).numbers.tolist() == [2, 51]
    assert [one.name for one in cache.folder.iterdir() if INDEX_FILE.split(".")[0] in one.name] == [
        INDEX_FILE
    ]


@pytest.mark.parametrize("place", ["begin", "head", "checksum", "body", "end", "cut", "empty"])
def test_a_saved_index_that_is_not_whole_is_made_again(cache: Cache, place: str) -> None:
    rows = filled(cache, 20)
    flat = FlatIndex(cache)
    flat.catch_up()
    flat.save()
    path = cache.folder / INDEX_FILE
    whole = bytearray(path.read_bytes())
    end = whole.index(b"\n", whole.index(b"\n") + 1)
    at = {"begin": 0, "head": end - 3, "checksum": end + 5, "body": end + 60, "end": -1}.get(place)
    if at is None:
        whole = whole[: len(whole) // 2 if place == "cut" else 0]
    else:
        whole[at] ^= 1
    path.write_bytes(whole)
    again = FlatIndex(cache)
    assert len(again) == 0
    again.catch_up()
    assert again.nearest(rows[3], 1).numbers.tolist() == [4]


def test_a_saved_index_that_another_library_wrote_is_made_again(cache: Cache) -> None:
    rows = filled(cache, 20)
    path = cache.folder / INDEX_FILE
    path.write_bytes(index_file(TINY.as_json(), 20, b"IxZZ" + bytes(100)))
    again = FlatIndex(cache)
    assert (len(again), again.upto) == (0, 0)
    again.catch_up()
    assert again.nearest(rows[3], 1).numbers.tolist() == [4]


def test_an_index_that_is_ahead_of_its_cache_is_not_taken(cache: Cache) -> None:
    filled(cache, 20)
    flat = FlatIndex(cache)
    flat.catch_up()
    flat.save()
    with closing(sqlite3.connect(cache.folder / CACHE_FILE)) as connection:
        connection.execute("DELETE FROM passages WHERE number > 10")
        connection.commit()
    assert len(FlatIndex(cache)) == 0


def test_how_far_a_cache_has_come_is_counted_as_by_hand(cache: Cache, tmp_path: Path) -> None:
    # Every way in which a text may be held, have failed, and be one of the palace's.
    held = {number for number in range(8) if number & 1}
    failed = {number for number in range(8) if number & 2}
    wanted = {number for number in range(8) if number & 4}
    [row] = vectors(1)
    cache.store([(digest(number), [passage(row)] * 2) for number in held])
    for number in failed:
        cache.failed(digest(number), "too odd")
    views = tmp_path / "views.db"
    with closing(sqlite3.connect(views, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE numbered (number INTEGER PRIMARY KEY, digest BLOB)")
        rows = [(digest(number),) for number in (*wanted, *wanted)]
        connection.executemany("INSERT INTO numbered (digest) VALUES (?)", rows)
        count = folders.texts(connection.cursor())
    told = folders.coverage(cache.folder / CACHE_FILE, views, count)
    lacking = wanted - held
    assert told == (4, len(wanted & held), len(lacking - failed), len(lacking & failed))
    assert told == (4, 2, 1, 1)
