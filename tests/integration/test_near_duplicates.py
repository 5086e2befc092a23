"""Nearly the same text twice: checkpoints, `check_duplicate` and `duplicates` by meaning."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from freezegun.api import FrozenDateTimeFactory

from palacelog.embedding import Embedding
from palacelog.embedding_work import Deadline
from projections.vectors import grouping
from projections.vectors.indexes import VectorIndexes
from projections.vectors.static import StaticEmbedder
from projections.vectors.vector_index import VectorIndex
from tests.embedders import tiny
from tests.palaces import (
    Device,
    Fleet,
    deliver,
    digest_of,
    exported,
    operations,
    state_of,
)

HOME = {"wing": "home", "room": "notes"}
EMBEDDERS = ["minilm", "wordllama"]
MOVED = "Ana has moved to Lyon in spring."
MOVED_TOO = "Ana moved to Lyon in spring."
CITY = "Rust compiles to machine code ahead of time."


def item(content: str, **more: Any) -> dict[str, Any]:
    return HOME | {"content": content} | more


def by_meaning(fleet: Fleet, name: str = "ada", embedder: str = "wordllama", **more: Any) -> Device:
    return fleet.device(name, vectors={"embedder": embedder, "wait_seconds": 60}, **more)


def lines(answer: dict[str, Any]) -> list[tuple[bool, bool, bool]]:
    """Of each item whether it is the same, nearly the same, and dropped."""
    return [
        (one["duplicate"], one["cosine"] is not None, one["dropped"]) for one in answer["items"]
    ]


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    return by_meaning(fleet)


# checkpoint


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_of_200_short_notes_none_vanishes_however_alike_they_are(
    fleet: Fleet, embedder: str
) -> None:
    """V14"""
    ada = by_meaning(fleet, embedder=embedder)
    topics = ["the build failed", "tea with Ana", "invoice sent", "disk is full"]
    notes = [f"Note {number}: {topics[number % 4]}." for number in range(200)]

    done = ada.checkpoint(items=[item(note) for note in notes])

    assert (done["stored"], done["dropped"], len(done["items"])) == (200, 0, 200)
    assert len({one["drawer_id"] for one in done["items"]}) == 200
    assert ada.list_drawers(wing="home")["total"] == 200
    assert done["compared"]
    near = [one for one in done["items"] if one["near"]]
    assert near, "numbered notes are near to each other"
    ids = [one["drawer_id"] for one in done["items"]]
    for one in near:
        assert 0.9 <= one["cosine"] <= 1
        assert ids.index(one["near"]) < ids.index(one["drawer_id"])


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_a_near_duplicate_is_kept_and_named_or_dropped_and_named_where_the_caller_asks(
    fleet: Fleet, embedder: str
) -> None:
    """V14"""
    ada = by_meaning(fleet, embedder=embedder)
    held = ada.add_drawer(**item(MOVED))["drawer_id"]
    items = [item(MOVED_TOO), item(CITY), item("Tea"), item("Tea ")]

    kept = ada.checkpoint(items=items)
    assert lines(kept) == [
        (False, True, False),
        (False, False, False),
        (False, False, False),
        (True, False, False),
    ]
    assert kept["items"][0]["near"] == held
    assert kept["items"][1]["near"] is None
    assert kept["duplicate"] is False
    assert sorted(ada.contents()) == sorted([MOVED, MOVED_TOO, CITY, "Tea"])
    ada.delete_drawers(drawer_ids=[one["drawer_id"] for one in kept["items"]])

    dropped = ada.checkpoint(items=items, drop_duplicates=True)
    assert lines(dropped) == [
        (False, True, True),
        (False, False, False),
        (False, False, False),
        (True, False, True),
    ]
    assert dropped["items"][0]["near"] == dropped["items"][0]["drawer_id"] == held
    assert (dropped["stored"], dropped["dropped"]) == (2, 2)
    assert sorted(ada.contents()) == sorted([MOVED, CITY, "Tea"])


def test_the_nearest_of_several_is_named_and_the_threshold_decides(ada: Device) -> None:
    ada.checkpoint(items=[item("Ana moved to Lyon in the spring of last year."), item(MOVED)])
    close = ada.checkpoint(items=[item(MOVED_TOO)], dedup_threshold=0.5)["items"][0]
    assert ada.get_drawer(drawer_id=close["near"])["drawer"]["content"] == MOVED
    strict = ada.checkpoint(items=[item(MOVED_TOO + "!")], dedup_threshold=1)["items"][0]
    assert (strict["near"], strict["cosine"]) == (None, None)
    [*_, event] = operations(ada.house)
    assert event.payload()["dedup_threshold"] == 1


def test_an_item_is_near_to_an_earlier_one_only_where_that_one_is_stored(ada: Device) -> None:
    items = [item(MOVED), item(MOVED_TOO), item(MOVED_TOO, room="plans")]
    kept = ada.checkpoint(items=items)["items"]
    assert [one["near"] for one in kept] == [None, kept[0]["drawer_id"], kept[1]["drawer_id"]]
    assert kept[2]["cosine"] == 1
    ada.delete_wing(wing="home", dry_run=False)
    left = ada.checkpoint(items=items, drop_duplicates=True)["items"]
    assert [one["dropped"] for one in left] == [False, True, True]
    assert {one["near"] for one in left[1:]} == {left[0]["drawer_id"]}
    assert left[2]["cosine"] < 1


def test_what_is_hidden_or_no_longer_true_stands_for_nothing(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    gone = ada.add_drawer(**item(MOVED))["drawer_id"]
    over = ada.add_drawer(**item("Bob lives in Oslo now."))["drawer_id"]
    clock.tick(60)
    ada.delete_drawer(drawer_id=gone)
    ada.supersede_drawer(drawer_id=over)
    clock.tick(60)
    items = [item(MOVED_TOO), item("Bob lives in Oslo nowadays.")]
    done = ada.checkpoint(items=items, drop_duplicates=True)
    assert [one["near"] for one in done["items"]] == [None, None]
    assert done["stored"] == 2


def test_a_drawer_that_is_true_for_a_shorter_time_does_not_stand_for_an_item(ada: Device) -> None:
    ada.add_drawer(**item(MOVED, valid_from="2026-01-01", valid_to="2026-02-01"))
    items = [item(MOVED_TOO, valid_from="2026-01-15")]
    assert ada.checkpoint(items=items, drop_duplicates=True)["stored"] == 1
    within = [item(MOVED_TOO + "!", valid_from="2026-01-15", valid_to="2026-01-20")]
    assert ada.checkpoint(items=within, drop_duplicates=True)["dropped"] == 1


def test_an_item_that_ends_a_drawer_is_never_dropped(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    old = ada.add_drawer(**item(MOVED))["drawer_id"]
    other = ada.add_drawer(**item(MOVED, room="plans"))["drawer_id"]
    clock.tick(60)
    done = ada.checkpoint(items=[item(MOVED_TOO, supersedes=old)], drop_duplicates=True)
    assert (done["stored"], done["items"][0]["near"]) == (1, other)
    assert ada.get_drawer(drawer_id=old)["drawer"]["state"] == "superseded"


def test_a_drawer_that_is_hidden_while_texts_are_compared_is_not_named(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = ada.add_drawer(**item(MOVED))["drawer_id"]
    compared = Embedding.compared

    def slowly(self: Embedding, *given: Any) -> Any:
        found = compared(self, *given)
        assert found.of(0).drawers[0][0] == held
        ada.delete_drawer(drawer_id=held)
        return found

    monkeypatch.setattr(Embedding, "compared", slowly)
    done = ada.checkpoint(items=[item(MOVED_TOO)], drop_duplicates=True)
    assert (done["stored"], done["items"][0]["near"]) == (1, None)


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_texts_that_the_embedder_cannot_tell_apart_are_not_near(
    fleet: Fleet, embedder: str
) -> None:
    ada = by_meaning(fleet, embedder=embedder)
    texts = [
        "今天讨论了成语接龙游戏",
        "数据库需要备份",
        "修复登录错误",
        "Release notes of the payment service, version 2.1: 修复登录错误",
        "Release notes of the payment service, version 2.1: 增加搜索功能",
    ]
    done = ada.checkpoint(items=[item(text) for text in texts], drop_duplicates=True)
    assert done["stored"] == 5
    assert [one["near"] for one in done["items"]] == [None] * 5
    assert ada.duplicates(near=True)["groups"] == []


def test_a_travelling_item_never_names_what_stays_here(fleet: Fleet, tmp_path: Path) -> None:
    ada = by_meaning(fleet, local_wings=["private"])
    private = {"wing": "private", "room": "notes"}
    mine = ada.add_drawer(**private, content=MOVED)["drawer_id"]
    shared = ada.checkpoint(items=[item(MOVED_TOO)], drop_duplicates=True)
    assert (shared["stored"], shared["items"][0]["near"]) == (1, None)
    both = [private | {"content": CITY}, item(CITY + "!")]
    assert ada.checkpoint(items=both, drop_duplicates=True)["stored"] == 2

    here = ada.checkpoint(items=[private | {"content": MOVED + "!"}], drop_duplicates=True)
    assert (here["dropped"], here["stream"]) == (1, "local")
    assert here["items"][0]["near"] in (mine, shared["items"][0]["drawer_id"])
    sent = exported(ada, tmp_path)
    assert b"private" not in sent


def test_what_a_machine_embeds_with_and_how_much_it_holds_does_not_travel(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tiny(tmp_path / "acme-takeover")
    ada = by_meaning(fleet, embedder=str(secret), local_wings=["private"])
    here = {"wing": "private", "room": "notes", "content": "the rent is due"}
    ada.add_drawer(**here)
    both = {"items": [item("tea in the cup"), here | {"content": "coffee"}]}
    done = ada.checkpoint(**both, idempotency_key="k")
    chunks = StaticEmbedder.chunks
    monkeypatch.setattr(
        StaticEmbedder, "chunks", lambda self, text: chunks(self, _not(text, "ticket"))
    )
    ada.add_drawer(**here | {"content": "a ticket"})
    lagging = ada.checkpoint(items=[item("the cat sleeps")])

    sent = exported(ada, tmp_path)
    assert b"the cat sleeps" in sent
    unwanted = (b"acme", b"embedder", b"degraded", b"lag", b"private")
    assert [word for word in unwanted if word in sent] == []
    assert (done["compared"], lagging["compared"]) == (True, False)
    ada.reopen(vectors={"embedder": "none"})
    assert ada.checkpoint(**both, idempotency_key="k") == done


def _not(text: str, word: str) -> str:
    """The text, unless it has a word that cannot be embedded."""
    if word in text:
        raise RuntimeError("no such text")
    return text


def test_the_decision_is_in_the_event_and_needs_no_embedder_elsewhere(fleet: Fleet) -> None:
    ada, bob = by_meaning(fleet), fleet.device("bob", vectors={"embedder": "none"})
    ada.add_drawer(**item(MOVED))
    given = {"items": [item(MOVED_TOO), item(CITY)], "drop_duplicates": True}
    done = ada.checkpoint(**given, dedup_threshold=0.8, idempotency_key="k")
    assert done["dropped"] == 1
    [event] = [one for one in operations(ada.house) if one.header.tool == "checkpoint"]
    said = event.payload()
    assert said["dedup_threshold"] == 0.8
    assert said["dropped"][0]["cosine"] == done["items"][0]["cosine"]
    assert said["compared"] == done["compared"]
    deliver(ada.house, bob.house)
    assert state_of(bob.house) == state_of(ada.house)
    assert sorted(bob.contents()) == sorted([MOVED, CITY])
    ada.reopen(vectors={"embedder": "none"})
    assert ada.checkpoint(**given, dedup_threshold=0.8, idempotency_key="k") == done


@pytest.mark.parametrize("embedder", ["none", "/no/such/folder"])
def test_without_an_embedder_only_the_same_text_is_a_duplicate_and_the_answer_says_so(
    fleet: Fleet, embedder: str
) -> None:
    ada = by_meaning(fleet, embedder=embedder)
    ada.add_drawer(**item(MOVED))
    done = ada.checkpoint(items=[item(MOVED_TOO), item(MOVED + " ")])
    reason = "no_embedder" if embedder == "none" else "unavailable"
    assert not done["compared"]
    assert lines(done) == [(False, False, False), (True, False, False)]
    found = ada.check_duplicate(content=MOVED)
    assert [one["cosine"] for one in found["matches"]] == [None]
    assert found["degraded"]["reason"] == reason
    with ada.refuses(f"vectors::{reason}"):
        ada.duplicates(near=True)
    assert ada.duplicates()["groups"] == []


def test_what_a_checkpoint_embeds_is_not_embedded_again(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.checkpoint(items=[item(MOVED), item(CITY)])
    assert ada.tools() == ["checkpoint", "embedder_changed"]
    index = ada.house.palace.embedding.indexes.chosen()  # type: ignore[union-attr]
    chunks = type(index.embedder()).chunks
    seen: list[str] = []
    monkeypatch.setattr(
        type(index.embedder()), "chunks", lambda self, text: seen.append(text) or chunks(self, text)
    )
    monkeypatch.setattr(type(index.embedder()), "readable", lambda self, text: True)
    assert ada.search(query="moved to Lyon", ranking="semantic")["hits"]
    ada.checkpoint(items=[item(MOVED, room="plans"), item(MOVED_TOO)])
    assert ada.search(query="moved to Lyon", ranking="semantic")["hits"]
    assert seen == [MOVED_TOO]
    assert ada.tools() == ["checkpoint", "embedder_changed", "checkpoint"]


def test_a_checkpoint_does_not_wait_longer_than_it_may_for_texts_that_are_being_embedded(
    ada: Device,
) -> None:
    ada.checkpoint(items=[item(MOVED)])
    ada.reopen(vectors={"embedder": "wordllama", "wait_seconds": 0.2}, embeds=True)
    embedding = ada.house.palace.embedding
    assert embedding is not None
    with ada.house.palace.reading() as reading:
        index = embedding.indexes.answering(reading)
    waits = Event()
    last = index.cache.last
    index.cache.last = lambda: waits.set() or last()  # type: ignore[func-returns-value,method-assign]
    with index.lock_file.open("r+") as other, ThreadPoolExecutor(1) as pool:
        fcntl.flock(other, fcntl.LOCK_EX)
        ada.add_drawer(**item(CITY))
        assert waits.wait(20), "nobody embeds"
        stored = pool.submit(ada.checkpoint, items=[item(MOVED_TOO)])
        wait([stored], timeout=20)
        in_time = stored.done()
        fcntl.flock(other, fcntl.LOCK_UN)
        done = stored.result()
    assert in_time
    assert (done["stored"], done["compared"]) == (1, False)


def test_a_checkpoint_waits_for_its_own_texts_and_for_others_by_one_deadline(
    ada: Device, clock: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    embed_texts, wait = VectorIndex.embed_texts, VectorIndexes.wait

    def embedding(self: VectorIndex, *given: Any) -> None:
        embed_texts(self, *given)
        clock.tick(45)

    def waits(self: VectorIndexes, index: Any, reading: Any, seconds: float) -> Any:
        waited.append(seconds)
        return wait(self, index, reading, seconds)

    monkeypatch.setattr(VectorIndex, "embed_texts", embedding)
    monkeypatch.setattr(VectorIndexes, "wait", waits)
    ada.checkpoint(items=[item(MOVED)])
    assert waited == [pytest.approx(15)]


def test_texts_that_are_waited_for_are_embedded_until_the_deadline(ada: Device) -> None:
    ada.checkpoint(items=[item(MOVED)])
    embedding = ada.house.palace.embedding
    assert embedding is not None
    with ada.house.palace.reading() as reading:
        index = embedding.indexes.answering(reading)
    before = index.cache.last()
    embedding.work.embed_first(index, [CITY], Deadline(0))
    assert index.cache.last() == before
    embedding.work.embed_first(index, [CITY], Deadline(60))
    assert index.cache.last() == before + 1


def test_a_refused_checkpoint_changes_nothing(ada: Device) -> None:
    with ada.refuses("input::invalid", "valid_to"):
        ada.checkpoint(items=[item(MOVED, valid_from="2026-02-01", valid_to="2026-01-01")])
    with ada.refuses("input::invalid", "dedup_threshold"):
        ada.checkpoint(items=[item(MOVED)], dedup_threshold=1.1)
    assert ada.tools() == []


def test_a_text_that_cannot_be_embedded_is_stored_and_counted(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = type(ada.house.palace.embedding.indexes.chosen().embedder())  # type: ignore[union-attr]
    chunks = embedder.chunks

    def fails(self: Any, text: str) -> Any:
        if text == CITY:
            raise RuntimeError("no such text")
        return chunks(self, text)

    monkeypatch.setattr(embedder, "chunks", fails)
    items = [item(MOVED), item(CITY), item(MOVED_TOO)]
    done = ada.checkpoint(items=items, drop_duplicates=True)
    assert [one["dropped"] for one in done["items"]] == [False, False, True]
    assert not done["compared"]
    assert ada.check_duplicate(content=MOVED_TOO)["degraded"]["reason"] == "texts_failed"
    done = ada.checkpoint(items=[item("The cat sleeps on the sofa")])
    assert not done["compared"]


# check_duplicate


def test_nothing_is_near_in_an_empty_palace(ada: Device) -> None:
    answer = ada.check_duplicate(content=MOVED, threshold=0)
    assert (answer["is_duplicate"], answer["matches"], answer["degraded"]) == (False, [], None)
    assert ada.duplicates(near=True)["groups"] == []
    assert ada.tools() == []


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_near_texts_stand_below_the_same_text(fleet: Fleet, embedder: str) -> None:
    ada = by_meaning(fleet, embedder=embedder)
    near = ada.add_drawer(**item(MOVED_TOO))["drawer_id"]
    twin = ada.add_drawer(**item(MOVED + "\r\n"))["drawer_id"]
    exact = ada.add_drawer(**item(MOVED, room="plans"))["drawer_id"]
    ada.add_drawer(**item(CITY))

    answer = ada.check_duplicate(content=MOVED)
    assert [one["drawer_id"] for one in answer["matches"]] == [exact, twin, near]
    assert [one["exact"] for one in answer["matches"]] == [True, False, False]
    cosines = [one["cosine"] for one in answer["matches"]]
    assert cosines[:2] == [None, None]
    assert 0.9 <= cosines[2] < 1
    assert answer["is_duplicate"]
    assert answer["embedder"].startswith(embedder)

    far = ada.check_duplicate(content="Bob lives in Oslo.", threshold=0.95)
    assert (far["is_duplicate"], far["matches"]) == (False, [])
    every = ada.check_duplicate(content=MOVED, threshold=0, room="notes")["matches"]
    assert near in [one["drawer_id"] for one in every]
    assert exact not in [one["drawer_id"] for one in every]


def test_near_texts_are_looked_for_where_when_and_among_whom_one_says(
    ada: Device, clock: FrozenDateTimeFactory
) -> None:
    def near(**chosen: Any) -> list[str]:
        found = ada.check_duplicate(content=MOVED, **chosen)["matches"]
        return [one["drawer_id"] for one in found]

    first = ada.add_drawer(**item(MOVED_TOO))["drawer_id"]
    clock.tick(3600)
    second = ada.add_drawer(wing="work", room="notes", content=MOVED_TOO + "!")["drawer_id"]
    assert sorted(near()) == sorted([first, second])
    assert near(wing="WORK") == [second]
    assert near(wing="home", room="plans") == []
    assert near(known_at="@1") == [first]
    clock.tick(3600)
    ada.supersede_drawer(drawer_id=second)
    then = f"@{ada.position()}"
    ada.delete_drawer(drawer_id=first)
    assert near() == []
    assert near(known_at=then) == [first]
    assert near(as_of="2026-03-31T16:30:00Z") == [second]


def test_fifty_nearest_are_told_whatever_is_hidden_among_them(ada: Device) -> None:
    notes = [item(f"{MOVED} ({number})") for number in range(120)]
    ids = [one["drawer_id"] for one in ada.checkpoint(items=notes)["items"]]
    ada.delete_drawers(drawer_ids=ids[:90])
    matches = ada.check_duplicate(content=MOVED, threshold=0.5)["matches"]
    assert sorted(one["drawer_id"] for one in matches) == sorted(ids[90:])
    assert [one["cosine"] for one in matches] == sorted(
        (one["cosine"] for one in matches), reverse=True
    )


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_long_texts_are_near_only_where_all_of_each_is_near_something_of_the_other(
    fleet: Fleet, embedder: str
) -> None:
    ada = by_meaning(fleet, embedder=embedder)
    head = "The licence of this file says what you may do with it, and what you may not. " * 60
    one, two = head + "Bees dance to tell where flowers are. " * 40, head + f"{CITY} " * 60
    first = ada.add_drawer(**item(one))["drawer_id"]
    ada.add_drawer(**item(head[:200]))
    assert ada.check_duplicate(content=two)["matches"] == []
    again = ada.check_duplicate(content=one.replace("Bees dance", "Bees will dance", 1))
    assert [match["drawer_id"] for match in again["matches"]] == [first]


# duplicates


def contents(ada: Device, answer: dict[str, Any]) -> list[list[str]]:
    """The texts of each group, in the order in which they arrived."""
    found = []
    for group in answer["groups"]:
        ids = [one["drawer_id"] for one in group["drawers"]]
        drawers = ada.get_drawers(drawer_ids=ids)["drawers"]
        found.append([one["content"] for one in drawers])
    return found


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_near_drawers_are_grouped_the_group_that_grew_last_first(
    fleet: Fleet, embedder: str
) -> None:
    ada = by_meaning(fleet, embedder=embedder)
    pairs = [
        (MOVED, MOVED_TOO),
        (CITY, CITY + "!"),
        ("Tea at four o'clock", "Tea at four o'clock."),
    ]
    for one, _ in pairs:
        ada.add_drawer(**item(one))
    for _, other in pairs:
        ada.add_drawer(**item(other, wing="work"))
    ada.add_drawer(**item("Nothing is like this."))

    answer = ada.duplicates(near=True)
    assert contents(ada, answer) == [list(pair) for pair in reversed(pairs)]
    assert [group["preview"] for group in answer["groups"]] == [two for _, two in reversed(pairs)]
    assert all(group["complete"] for group in answer["groups"])
    assert all(one["cosine"] >= 0.9 for group in answer["groups"] for one in group["drawers"])
    assert (answer["cursor"], answer["total"], answer["degraded"]) == (None, None, None)
    assert ada.duplicates(near=True, wing="work")["groups"] == []
    assert ada.duplicates(near=True, threshold=1)["groups"] == []
    assert ada.duplicates()["groups"] == []
    ada.delete_drawer(drawer_id=answer["groups"][0]["drawers"][0]["drawer_id"])
    left = ada.duplicates(near=True)
    assert left["groups"] == answer["groups"][1:]
    assert ada.duplicates(near=True, known_at="@3")["groups"] == []


def test_groups_are_paged_at_one_moment_whatever_is_written_meanwhile(ada: Device) -> None:
    for number in range(7):
        word = ["tea", "rust", "lyon", "bees", "disk", "piano", "moon"][number]
        ada.add_drawer(**item(f"All there is to say about {word} on one page"))
        ada.add_drawer(**item(f"All there is to say about {word}, on one page."))
    asked = {"near": True, "threshold": 0.97}
    whole = ada.duplicates(**asked)["groups"]
    assert [len(group["drawers"]) for group in whole] == [2] * 7
    pages, cursor = [], None
    while True:
        page = ada.duplicates(**asked, limit=3, **({"cursor": cursor} if cursor else {}))
        pages += page["groups"]
        cursor = page["cursor"]
        if cursor is None:
            break
        ada.add_drawer(**item(f"All there is to say about moon, on {len(pages)} page."))
        ada.delete_drawer(drawer_id=whole[-1]["drawers"][0]["drawer_id"])
    assert pages == whole
    with ada.refuses("input::invalid", "cursor"):
        first = ada.duplicates(**asked, limit=3)["cursor"]
        ada.duplicates(near=True, threshold=0.5, limit=3, cursor=first)


def test_one_answer_looks_at_a_bounded_number_of_drawers(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LOOKED_AT_MAX", 64)
    ada.add_drawer(**item(MOVED))
    ada.add_drawer(**item(MOVED_TOO))
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(130)]
    ada.checkpoint(items=[item(f"{word} {word * 3} {n}") for n, word in enumerate(words)])
    pages = [ada.duplicates(near=True)]
    while pages[-1]["cursor"] is not None:
        pages.append(ada.duplicates(near=True, cursor=pages[-1]["cursor"]))
    assert len(pages) >= 3
    groups = [group for page in pages for group in page["groups"]]
    ids = [one["drawer_id"] for group in groups for one in group["drawers"]]
    assert len(ids) == len(set(ids)), "a drawer is in two groups"
    assert [MOVED, MOVED_TOO] in [one for page in pages for one in contents(ada, page)]


def test_a_chain_of_near_texts_is_one_group_and_a_long_one_is_cut_and_says_so(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.checkpoint(items=[item(f"Note {number}") for number in range(40)])
    asked = {"near": True, "threshold": 0.8}
    [group] = ada.duplicates(**asked)["groups"]
    assert (len(group["drawers"]), group["complete"]) == (40, True)
    monkeypatch.setattr(grouping, "GROUP_MAX", 10)
    first = ada.duplicates(**asked)["groups"][0]
    assert (len(first["drawers"]), first["complete"]) == (10, False)


def test_groups_are_those_that_all_pairs_compared_would_give(ada: Device) -> None:
    words = ["tea", "rust", "lyon", "bees", "disk", "piano", "moon", "river"]
    texts = [
        f"The {one} and the {two} are in the {three}"
        for one in words
        for two in words[:4]
        for three in words[4:6]
    ]
    ids = [one["drawer_id"] for one in ada.checkpoint(items=list(map(item, texts)))["items"]]
    index = ada.house.palace.embedding.indexes.chosen()  # type: ignore[union-attr]
    vectors = index.embedder().embed(texts).astype(np.float64)
    near = vectors @ vectors.T >= 0.95
    groups: dict[int, set[str]] = {}
    left = set(range(len(texts)))
    while left:
        group, step = set(), {max(left)}
        while step:
            group |= step
            step = {int(two) for one in step for two in np.flatnonzero(near[one])} - group
        left -= group
        if len(group) > 1:
            groups[max(group)] = {ids[one] for one in group}
    assert groups
    found = ada.duplicates(near=True, threshold=0.95, limit=200)["groups"]
    assert [{one["drawer_id"] for one in group["drawers"]} for group in found] == [
        groups[one] for one in sorted(groups, reverse=True)
    ]


def test_reading_of_near_texts_writes_nothing_but_which_embedder_counts(ada: Device) -> None:
    ada.checkpoint(items=[item(MOVED), item(CITY)])
    before = digest_of(ada.house)
    ada.check_duplicate(content=MOVED_TOO)
    ada.duplicates(near=True)
    assert digest_of(ada.house) == before
