"""Embedding what is missing, by command and by call: cases V10 and V12, and what is given to it."""

from __future__ import annotations

import shutil
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from domain.errors import PalaceError
from palacelog import embedding_work
from palacelog.bootstrap import open_palace
from projections.vectors import indexes
from projections.vectors.cache import Cache
from projections.vectors.embedder import Chunk, Passage, Vectors
from projections.vectors.models import PACKAGED, load
from projections.vectors.static import StaticEmbedder
from projections.vectors.vector_index import VectorIndex
from tests.command_line import new_line
from tests.palaces import Device, Fleet, rebuilt_equals_live

PLACE = {"wing": "home", "room": "notes"}
WORDLLAMA = {"embedder": "wordllama", "wait_seconds": 60}
SHORT = PACKAGED["wordllama"].identity.short
ODD = "a text that no model takes"
UNCUT = "a text that no tokenizer takes"


class Fussy(StaticEmbedder):
    """Cannot take some texts."""

    refuses: ClassVar[str | None] = ODD
    asked: ClassVar[list[str]] = []

    def chunks(self, text: str) -> list[Chunk]:
        Fussy.asked.append(text)
        if text == UNCUT:
            raise ValueError("cannot be cut")
        return super().chunks(text)

    def passages(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        if Fussy.refuses and super().chunks(Fussy.refuses)[0] in chunks:
            raise ValueError("too odd")
        return super().passages(chunks)


@pytest.fixture
def fussy(monkeypatch: pytest.MonkeyPatch) -> type[Fussy]:
    monkeypatch.setitem(PACKAGED, "wordllama", PACKAGED["wordllama"]._replace(make=Fussy))
    monkeypatch.setattr(Fussy, "refuses", ODD)
    monkeypatch.setattr(Fussy, "asked", [])
    return Fussy


@pytest.fixture
def eve(fleet: Fleet) -> Device:
    """A palace that embeds."""
    return fleet.device("eve", vectors=WORDLLAMA)


@pytest.fixture(scope="module")
def words() -> Iterator[StaticEmbedder]:
    embedder = load("wordllama")
    assert isinstance(embedder, StaticEmbedder)
    yield embedder
    embedder.close()


def ten_texts(device: Device) -> dict[str, str]:
    """Nine plain texts and an odd one in the middle; their drawers by the text."""
    texts = [*(f"Note {number} on the garden" for number in range(5)), ODD]
    texts += [f"Note {number} on the harbour" for number in range(4)]
    return {text: device.add_drawer(**PLACE, content=text)["drawer_id"] for text in texts}


def vectors_of(words: StaticEmbedder, *texts: str) -> list[list[float]]:
    found: Vectors = words.embed(texts)
    return [[float(number) for number in row] for row in found]


def nearest(device: Device, query: str) -> str:
    found = device.search(query=query, ranking="semantic", limit=1)
    return str(found["hits"][0]["drawer_id"])


def without_vectors(device: Device) -> None:
    device.close()
    shutil.rmtree(device.folder / "vectors")
    device.reopen()


def test_a_text_that_fails_is_named_and_the_others_are_embedded(
    tmp_path: Path, fussy: type[Fussy]
) -> None:
    """V10"""
    line = new_line(tmp_path / "ada", PALACELOG_VECTORS__EMBEDDER="wordllama")
    odd = [
        line.call("add_drawer", **PLACE, content=text)["drawer_id"]
        for text in (*(f"Note {number}" for number in range(9)), ODD)
    ][-1]

    ended = line.run("embed")
    assert ended.code == 5
    told = ended.answer
    assert (told["embedded"], told["remaining"], told["stream"]) == (9, 1, "local")
    assert told["failed"] == [{"drawer_id": odd, "reason": "ValueError: too odd"}]
    [error] = ended.errors
    assert error["code"] == "palacelog::vectors::not_embedded"
    assert odd in error["error"]
    assert error["help"]

    fussy.asked.clear()
    assert line.run("embed").code == 5
    assert set(fussy.asked) == {ODD}, "only what failed is tried again"
    fussy.asked.clear()
    ended = line.run("embed", "--no-retry-failed")
    assert (ended.code, fussy.asked) == (5, [])

    fussy.refuses = None
    ended = line.run("embed")
    assert (ended.code, ended.answer["embedded"], ended.answer["failed"]) == (0, 1, [])
    assert ended.answer["remaining"] == 0
    assert line("embed")["duplicate"]


def test_the_command_shows_what_failed_to_a_person(tmp_path: Path, fussy: type[Fussy]) -> None:
    line = new_line(tmp_path / "ada", PALACELOG_VECTORS__EMBEDDER="wordllama")
    odd = line.call("add_drawer", **PLACE, content=ODD)["drawer_id"]
    code, seen = line.seen("embed")
    assert code == 5
    assert odd in seen
    assert "too odd" in seen


def test_a_text_that_fails_is_told_by_searches_and_is_not_tried_by_them_again(
    eve: Device, fussy: type[Fussy]
) -> None:
    ten_texts(eve)
    eve.embed()
    fussy.asked.clear()
    for _ in range(2):
        found = eve.search(query="garden")
        assert (found["degraded"]["reason"], found["degraded"]["lag"]) == ("texts_failed", 0)
        assert "palacelog embed" in found["degraded"]["help"]
    assert ODD not in fussy.asked
    fussy.refuses = None
    assert eve.embed()["embedded"] == 1
    assert eve.search(query="garden")["degraded"] is None


def test_a_text_that_fails_does_not_switch_off_search_by_meaning(
    eve: Device, fussy: type[Fussy]
) -> None:
    texts = ten_texts(eve)
    eve.embed()
    found = eve.search(query="harbour", ranking="semantic", wing=PLACE["wing"])
    assert {one["drawer_id"] for one in found["hits"]} == {*texts.values()} - {texts[ODD]}
    assert (found["ranking"], found["degraded"]["reason"]) == ("semantic", "texts_failed")


PASSING = (
    MemoryError("no memory just now"),
    RuntimeError("cannot schedule new futures after shutdown"),
)


@pytest.mark.parametrize("trouble", PASSING, ids=lambda one: type(one).__name__)
def test_trouble_that_passes_is_not_held_against_a_text(
    eve: Device, trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: StaticEmbedder, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Passage]]:
        raise trouble

    eve.add_drawer(**PLACE, content="tea")
    eve.reopen(vectors=WORDLLAMA | {"wait_seconds": 0.2})
    with monkeypatch.context() as patched:
        patched.setattr(StaticEmbedder, "passages", fails)
        assert eve.search(query="tea")["degraded"]["reason"] == "lagging"
        with eve.refuses("vectors::embedder_failed"):
            eve.embed()
        done = eve.checkpoint(items=[PLACE | {"content": "coffee"}])
        assert not done["compared"]
    told = eve.embed(retry_failed=False)
    assert (told["embedded"], told["failed"]) == (2, [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("trouble", [LookupError("unexpected"), SystemExit(1)], ids=repr)
def test_trouble_that_nobody_expected_does_not_end_embedding_for_good(
    eve: Device, trouble: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: VectorIndex) -> None:
        raise trouble

    eve.add_drawer(**PLACE, content="tea")
    eve.embed()
    eve.reopen(vectors=WORDLLAMA | {"wait_seconds": 3})
    embedding = eve.house.palace.embedding
    assert embedding is not None
    with monkeypatch.context() as patched:
        patched.setattr(VectorIndex, "tidy", fails)
        eve.add_drawer(**PLACE, content="coffee")
        eve.search(query="tea")
        thread = embedding._thread
        assert thread is not None
        if isinstance(trouble, SystemExit):
            thread.join()
        assert thread.is_alive() == isinstance(trouble, Exception)
    eve.add_drawer(**PLACE, content="cocoa")
    assert eve.search(query="tea")["degraded"] is None


def test_a_question_that_the_embedder_fails_at_is_answered_by_words(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: StaticEmbedder, text: str) -> Any:
        raise LookupError("no such token")

    drawer = eve.add_drawer(**PLACE, content="tea")["drawer_id"]
    eve.embed()
    monkeypatch.setattr(StaticEmbedder, "question", fails)
    monkeypatch.setattr(StaticEmbedder, "chunks", fails)
    found = eve.search(query="tea")
    assert [one["drawer_id"] for one in found["hits"]] == [drawer]
    assert (found["ranking"], found["degraded"]["reason"]) == ("lexical", "unavailable")
    assert "LookupError: no such token" in found["degraded"]["help"]
    with eve.refuses("vectors::unavailable"):
        eve.search(query="tea", ranking="semantic")
    assert eve.check_duplicate(content="coffee")["degraded"]["reason"] == "unavailable"
    assert eve.checkpoint(items=[PLACE | {"content": "tea, more or less"}])["stored"] == 1


@pytest.mark.parametrize("method", ["question", "chunks", "passages", "readable", "unknown"])
def test_whatever_an_embedder_raises_is_told_and_stops_nothing(
    eve: Device, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fails(self: StaticEmbedder, *_: Any) -> Any:
        raise LookupError("no such token")

    eve.add_drawer(**PLACE, content="tea")
    eve.embed()
    monkeypatch.setattr(StaticEmbedder, method, fails)
    asked = eve.search(query="tea"), eve.check_duplicate(content="coffee")
    told = [found["degraded"] for found in asked]
    assert any(told)
    for one in filter(None, told):
        assert one["reason"] == "unavailable"
        assert "LookupError: no such token" in one["help"]
        assert "palacelog doctor" in one["help"]
    assert eve.checkpoint(items=[PLACE | {"content": "cocoa"}])["stored"] == 1


def test_a_folder_whose_model_cannot_even_be_made_is_told(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise ImportError("no such library")

    eve.add_drawer(**PLACE, content="tea")
    monkeypatch.setitem(PACKAGED, "wordllama", PACKAGED["wordllama"]._replace(make=fails))
    found = eve.search(query="tea")
    assert found["degraded"]["reason"] == "unavailable"
    assert "no such library" in found["degraded"]["help"]


@pytest.mark.parametrize(
    ("place", "tool", "given"),
    [
        ("hybrid.ranked", "search", {"query": "tea"}),
        ("semantic.ranked", "search", {"query": "tea", "ranking": "semantic"}),
        ("nearness.alike", "check_duplicate", {"content": "tea"}),
        ("grouping.walked", "duplicates", {"near": True}),
        ("comparing.compare", "checkpoint", {"items": [PLACE | {"content": "cocoa"}]}),
    ],
)
def test_a_fault_of_the_ranking_itself_is_not_taken_for_the_embedder_s(
    eve: Device, monkeypatch: pytest.MonkeyPatch, place: str, tool: str, given: dict[str, Any]
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise LookupError("a fault of ours")

    eve.add_drawer(**PLACE, content="tea")
    eve.embed()
    before = eve.position()
    with monkeypatch.context() as patched:
        patched.setattr(f"projections.vectors.{place}", fails)
        with pytest.raises(LookupError, match="a fault of ours"):
            eve.call(tool, given)
    assert eve.position() == before
    eve.call(tool, given)


def test_a_slice_ends_where_it_has_many_chunks(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.vectors.vector_index.SLICE_CHUNKS", 4)
    longest = 0
    passages = StaticEmbedder.passages

    def counted(self: StaticEmbedder, chunks: Sequence[Chunk]) -> Any:
        nonlocal longest
        longest = max(longest, len(chunks))
        return passages(self, chunks)

    monkeypatch.setattr(StaticEmbedder, "passages", counted)
    for number in range(8):
        eve.add_drawer(**PLACE, content=f"Note {number}: " + "the tea is cold " * 100)
    eve.add_drawer(**PLACE, content="the tea is cold " * 2_000)
    reports: list[tuple[int, int]] = []
    answer = eve.house.palace.call(
        "embed", {}, report=lambda done, total: reports.append((done, total))
    )
    assert answer["embedded"] == 9
    assert reports == [(2, 9), (4, 9), (6, 9), (8, 9), (9, 9)]
    assert longest == 4


def test_a_very_long_text_does_not_keep_embedding_from_being_stopped(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.vectors.vector_index.SLICE_CHUNKS", 4)
    calls = 0
    passages = StaticEmbedder.passages
    embedding = eve.house.palace.embedding
    assert embedding is not None

    def stopping(self: StaticEmbedder, chunks: Sequence[Chunk]) -> Any:
        nonlocal calls
        calls += 1
        embedding.work.closed = True
        return passages(self, chunks)

    eve.add_drawer(**PLACE, content="the tea is cold " * 20_000)
    with monkeypatch.context() as patched:
        patched.setattr(StaticEmbedder, "passages", stopping)
        index = embedding.indexes.chosen()
        with pytest.raises(PalaceError, match="closed"):
            embedding.work.fill(index)
        assert calls == 1
    embedding.work.closed = False
    told = eve.embed()
    assert (told["embedded"], told["failed"]) == (1, [])


def test_texts_that_failed_are_looked_at_again_but_not_all_texts_with_them(
    eve: Device, fussy: type[Fussy], monkeypatch: pytest.MonkeyPatch
) -> None:
    ten_texts(eve)
    before = eve.house.log.position()
    eve.add_drawer(**PLACE, content=UNCUT)
    eve.embed()
    eve.search(query="garden")
    looked_at: list[int] = []
    missing = Cache.missing

    def counted(self: Cache, digests: Sequence[bytes]) -> list[bytes]:
        looked_at.append(len(digests))
        return missing(self, digests)

    monkeypatch.setattr(Cache, "missing", counted)
    told = eve.search(query="garden")["degraded"]
    assert sum(looked_at) == 2
    assert told["help"].startswith("2 texts")
    told = eve.search(query="garden", known_at=f"@{before}")["degraded"]
    assert told["help"].startswith("1 text ")
    fussy.refuses = None
    assert eve.embed()["embedded"] == 1
    assert eve.search(query="garden", known_at=f"@{before}")["degraded"] is None
    assert eve.search(query="garden")["degraded"]["reason"] == "texts_failed"
    eve.add_drawer(**PLACE, content="Note 10 on the garden")
    assert eve.embed()["embedded"] == 1


def test_a_limit_is_kept_and_the_next_call_goes_on(eve: Device, fussy: type[Fussy]) -> None:
    ten_texts(eve)
    counts = []
    while not counts or counts[-1][1] > 1:
        told = eve.embed(limit=4)
        counts.append((told["embedded"], told["remaining"]))
    assert counts == [(4, 6), (3, 3), (2, 1)]


def test_how_far_it_is_is_reported(eve: Device) -> None:
    for number in range(100):
        eve.add_drawer(**PLACE, content=f"Note {number}")
    reports: list[tuple[int, int]] = []
    answer = eve.house.palace.call(
        "embed", {}, report=lambda done, total: reports.append((done, total))
    )
    assert answer["embedded"] == 100
    assert reports == [(16, 100), (48, 100), (100, 100)]


def test_what_embedding_waited_for_is_not_taken_for_its_pace(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that embeds, and the loading of a model, take a minute each."""
    eve.add_drawer(**PLACE, content="milk")
    eve.embed()
    eve.reopen()
    clock = [0.0]

    def slowed(does: Any) -> Any:
        def later(*given: Any) -> Any:
            clock[0] += 60
            return does(*given)

        return later

    monkeypatch.setattr(embedding_work, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with monkeypatch.context() as first:
        first.setattr(embedding_work, "only_one", slowed(embedding_work.only_one))
        first.setattr(indexes, "load", slowed(indexes.load))
        eve.add_drawer(**PLACE, content="tea")
        assert eve.embed()["embedded"] == 1
    assert clock == [120.0]
    later = eve.add_drawer(**PLACE, content="coffee")["drawer_id"]
    assert nearest(eve, "coffee") == later


def test_hidden_and_superseded_texts_are_embedded_too(eve: Device) -> None:
    drawers = [eve.add_drawer(**PLACE, content=text)["drawer_id"] for text in ("one", "two")]
    eve.delete_drawer(drawer_id=drawers[0])
    eve.supersede_drawer(drawer_id=drawers[1], content="three")
    assert eve.embed()["embedded"] == 3


def test_without_an_embedder_nothing_is_embedded_and_nothing_recorded(ada: Device) -> None:
    drawer = ada.add_drawer(**PLACE, content="tea")["drawer_id"]
    with ada.refuses("vectors::no_embedder"):
        ada.embed()
    with ada.refuses("vectors::no_embedder"):
        ada.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=[[1.0]])


def test_an_embedder_that_cannot_be_loaded_never_counts(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve.add_drawer(**PLACE, content="tea")
    gone = PACKAGED["wordllama"]._replace(model=("no_such_package", "weights"))
    monkeypatch.setitem(PACKAGED, "wordllama", gone)
    with eve.refuses("vectors::missing_files"):
        eve.embed()
    found = eve.search(query="tea")
    assert (found["degraded"]["reason"], len(found["hits"])) == ("unavailable", 1)
    assert "embedder_changed" not in eve.tools()


def test_an_embedder_that_is_gone_later_fails_no_text(
    eve: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve.add_drawer(**PLACE, content="tea")
    eve.embed()
    eve.add_drawer(**PLACE, content="coffee")
    eve.close()
    there = PACKAGED["wordllama"]
    monkeypatch.setitem(PACKAGED, "wordllama", there._replace(model=("no_such_package", "w")))
    eve.reopen()
    with eve.refuses("vectors::missing_files"):
        eve.embed()
    monkeypatch.setitem(PACKAGED, "wordllama", there)
    told = eve.embed(retry_failed=False)
    assert (told["embedded"], told["failed"]) == (1, [])


def test_two_palaces_in_one_process_keep_their_own_width(fleet: Fleet) -> None:
    """V12"""
    wide = fleet.device("ada", vectors=WORDLLAMA | {"embedder": "minilm"})
    narrow = fleet.device("bob", vectors=WORDLLAMA)
    for device in (wide, narrow):
        device.add_drawer(**PLACE, content="A kitten sleeps on the sofa")
        device.add_drawer(**PLACE, content="The invoice is due in March")
        device.embed()
    for device, width in ((wide, 384), (narrow, 256)):
        embedding = device.house.palace.embedding
        assert embedding is not None
        with device.house.palace.reading() as reading:
            index = embedding.indexes.counting(reading)
        assert index is not None
        assert (index.identity.dimension, len(index.flat)) == (width, 2)
        found = device.search(query="cat on a couch", ranking="semantic")
        assert "kitten" in found["hits"][0]["snippet"]
        assert found["embedder"] == index.identity.short


# vectors that are given


def test_vectors_that_are_given_count_as_embedded(
    eve: Device, words: StaticEmbedder, fussy: type[Fussy]
) -> None:
    texts = ten_texts(eve)
    eve.embed()
    told = eve.attach_embedding(
        drawer_id=texts[ODD], embedder=SHORT, vectors=vectors_of(words, "an elephant in Africa")
    )
    assert (told["chunks"], told["stream"], told["duplicate"]) == (1, "local", False)
    assert nearest(eve, "elephants") == texts[ODD]
    told = eve.embed()
    assert (told["embedded"], told["failed"], told["remaining"]) == (0, [], 0)
    assert eve.search(query="elephants in the garden")["degraded"] is None


def test_vectors_that_are_given_outlive_views_and_vectors(
    eve: Device, words: StaticEmbedder
) -> None:
    texts = ten_texts(eve)
    eve.embed()
    given = vectors_of(words, "an elephant in Africa")
    eve.attach_embedding(drawer_id=texts["Note 1 on the garden"], embedder=SHORT, vectors=given)
    for _ in range(2):
        assert nearest(eve, "elephants") == texts["Note 1 on the garden"]
        rebuilt_equals_live(eve.house)
        assert nearest(eve, "elephants") == texts["Note 1 on the garden"]
        without_vectors(eve)


def test_newer_vectors_take_the_place_of_older_ones_and_an_undo_takes_them_back(
    eve: Device, words: StaticEmbedder
) -> None:
    texts = ten_texts(eve)
    drawer = texts["Note 1 on the garden"]
    eve.embed()
    first = vectors_of(words, "an elephant in Africa")
    eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=first)
    assert eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=first)["duplicate"]
    assert nearest(eve, "elephants") == drawer
    second = eve.attach_embedding(
        drawer_id=drawer, embedder=SHORT, vectors=vectors_of(words, "guitars and violins")
    )
    assert nearest(eve, "violin music") == drawer
    eve.undo(op_id=second["op_id"], dry_run=False)
    assert nearest(eve, "elephants") == drawer
    for op in eve.list_operations(tool="attach_embedding")["operations"][1:]:
        eve.undo(op_id=op["op_id"], dry_run=False)
    plain = eve.search(query="Note 1 on the garden", ranking="semantic")["hits"][0]
    assert plain["drawer_id"] == drawer
    assert plain["signals"]["cosine"] == pytest.approx(1, abs=1e-5)


def test_vectors_are_kept_at_length_one(eve: Device) -> None:
    drawer = eve.add_drawer(**PLACE, content="tea")["drawer_id"]
    eve.embed()
    for scale in (1, 1e300, 1e-300, 2**60):
        vector = [scale * number for number in (3, -4, *[0] * 254)]
        told = eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=[vector])
        [event] = eve.house.log.after(told["position"] - 1, 1)
        held = np.frombuffer(b64decode(event.payload()["vectors"]), dtype="<f4")
        assert held[:2].tolist() == pytest.approx([0.6, -0.8], abs=1e-6)
        assert not held[2:].any()


def test_a_long_text_needs_a_vector_for_each_chunk(eve: Device, words: StaticEmbedder) -> None:
    drawer = eve.add_drawer(**PLACE, content="wind and weather " * 300)["drawer_id"]
    eve.embed()
    chunks = len(words.chunks("wind and weather " * 300))
    assert chunks > 2
    given = vectors_of(words, *["an elephant"] * chunks)
    for wrong in (given[1:], [*given, given[0]]):
        with eve.refuses("input::invalid", "vectors"):
            eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=wrong)
    told = eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=given)
    assert told["chunks"] == chunks


WRONG: Sequence[tuple[Any, str]] = (
    ([], "vectors"),
    ([[]], "vectors.0"),
    ([[1.0] * 255], "vectors.0"),
    ([[1.0] * 257], "vectors.0"),
    ([[0.0] * 256], "vectors.0"),
    ([[float("nan")] * 256], "vectors"),
    ([[float("inf")] * 256], "vectors"),
    ([["1"] * 256], "vectors.0.0"),
    ([[True] * 256], "vectors.0.0"),
    ("vectors", "vectors"),
)


@pytest.mark.parametrize(("vectors", "field"), WRONG, ids=range(len(WRONG)))
def test_numbers_that_no_embedder_could_have_made_are_refused(
    eve: Device, vectors: Any, field: str
) -> None:
    drawer = eve.add_drawer(**PLACE, content="tea")["drawer_id"]
    eve.embed()
    with eve.refuses("input::invalid", field):
        eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=vectors)


def test_vectors_of_an_embedder_that_does_not_count_are_refused(eve: Device) -> None:
    drawer = eve.add_drawer(**PLACE, content="tea")["drawer_id"]
    given = {"drawer_id": drawer, "vectors": [[1.0] * 256]}
    with eve.refuses("vectors::not_counting"):
        eve.attach_embedding(embedder=SHORT, **given)
    eve.embed()
    for other in (PACKAGED["minilm"].identity.short, "wordllama", f"{SHORT}0"):
        with eve.refuses("vectors::not_counting"):
            eve.attach_embedding(embedder=other, **given)
    with eve.refuses("drawers::unknown"):
        eve.attach_embedding(embedder=SHORT, **given | {"drawer_id": f"{drawer}0"})


def test_a_text_that_cannot_even_be_cut_is_named(eve: Device, fussy: type[Fussy]) -> None:
    drawer = eve.add_drawer(**PLACE, content=UNCUT)["drawer_id"]
    [failed] = eve.embed()["failed"]
    assert failed == {"drawer_id": drawer, "reason": "ValueError: cannot be cut"}
    with eve.refuses("vectors::not_cut"):
        eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=[[1.0] * 256])


def test_nothing_of_vectors_travels(fleet: Fleet, eve: Device, tmp_path: Path) -> None:
    bob = fleet.device("bob")
    drawer = eve.add_drawer(**PLACE, content="tea")["drawer_id"]
    eve.embed()
    eve.attach_embedding(drawer_id=drawer, embedder=SHORT, vectors=[[1.0] * 256])
    fleet.share()
    assert bob.tools() == ["add_drawer"]
    fleet.agrees()


def test_a_palace_that_is_closed_while_it_embeds_ends_at_once_and_goes_on_later(
    eve: Device, fussy: type[Fussy]
) -> None:
    for number in range(100):
        eve.add_drawer(**PLACE, content=f"Note {number}")
    house = eve.house
    with pytest.raises(PalaceError) as caught:
        house.palace.call("embed", {}, report=lambda done, total: eve.close())
    assert caught.value.code == "palacelog::palace::closed"
    with open_palace(eve.folder, vectors=WORDLLAMA) as again:
        assert again.palace.call("embed", {})["embedded"] == 84
