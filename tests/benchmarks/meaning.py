"""Embedding, and searching by words and meaning: against the bare parts that they are made of."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter
from typing import Any, Final

import faiss
import numpy as np
from numpy.typing import NDArray

from palacelog.bootstrap import House, create_palace, open_palace
from palacelog.embedding import Embedding
from projections.sqlite import connect
from projections.text import asked, chosen, expression
from projections.tokens import tokens
from projections.vectors.embedder import Embedder, Passage, Question, batches
from projections.vectors.onnx import BATCH, THREADS, OnnxEmbedder
from projections.vectors.vector_index import VectorIndex
from replay.log import Log
from replay.rebuild import rebuild
from tests.benchmarks.measuring import (
    Figure,
    Goal,
    Report,
    Sizes,
    in_turns,
    medians,
    milliseconds,
    percentile,
    ratio,
    timed,
)
from tests.benchmarks.mixture import STARTED, STEP, fill
from tests.benchmarks.palaces import At
from tests.benchmarks.searching import Texts, added

LIMIT: Final = 10
DEPTH: Final = 100
WRITES_PER_SECOND: Final = 20
NOTE_WORDS: Final = (30, 60)
_BARE: Final = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"


def embedding_against_the_session(folder: Path, sizes: Sizes) -> Report:
    """Goal 13: texts embedded into cache and index, as a change of embedder does it / the same
    batches run through onnxruntime alone, their tokens prepared before.
    """
    count = sizes.of(512, 64)
    writer = Texts(13)
    rounds = 5
    texts = [[writer.text(*NOTE_WORDS) for _ in range(count)] for _ in range(rounds)]
    houses = [palace_of(folder / f"round-{number}", texts[number]) for number in range(rounds)]
    embedders = [_embedding(house).work.first().embedder() for house in houses]
    prepared = [_batches(one, some) for one, some in zip(embedders, texts, strict=True)]

    def own(number: int) -> int:
        return _embedding(houses[number]).work.run(None, retry_failed=False).embedded

    rates = in_turns(
        rounds,
        {
            "into the index": own,
            "onnxruntime": lambda number: _run(embedders[number], prepared[number], count),
        },
    )
    for house in houses:
        house.close()
    goal = Goal(
        number=13,
        name="embedding",
        compares="texts into cache and index / the same batches through onnxruntime alone",
        ratio=ratio(rates, "into the index", "onnxruntime"),
        bound=0.9,
        at_least=True,
        absolute=medians(rates, "texts per s"),
        reasons=f"{count} texts of 30 to 60 words a round, {THREADS} threads, {BATCH} a batch",
    )
    return Report([goal])


def search_against_the_parts(folder: Path, sizes: Sizes) -> Report:
    """Goal 14: p50 of a `search` by words and meaning / embedding the question, FAISS, FTS5 and
    MaxSim over the candidates, each bare and one after the other.
    """
    count = sizes.of(5_000, 500)
    writer = Texts(14)
    with palace_of(folder / "palace", [writer.text(*NOTE_WORDS) for _ in range(count)]) as house:
        index = _embedded(house)
        questions = [writer.text(2, 8) for _ in range(sizes.of(200, 40))]
        bare, own = _searched(house, index, questions)
    goal = Goal(
        number=14,
        name="search by meaning",
        compares=f"search of {count:,} drawers / its bare parts one after the other, p50",
        ratio=percentile(own, 0.5) / percentile(bare, 0.5),
        bound=1.5,
        at_least=False,
        absolute={
            f"{side} {name} ms": milliseconds(percentile(found, share))
            for side, found in (("search", own), ("parts", bare))
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
        reasons=f"{len(questions)} questions of 2 to 8 words, minilm; each asked once",
    )
    return Report([goal])


def writes_beside_the_worker(folder: Path, sizes: Sizes) -> Report:
    """Goal 15: the acknowledgement of paced writes in a palace that embeds them / in one that has
    no embedder.
    """
    count = sizes.of(200, 40)
    writer = Texts(15)
    seconds: dict[str, list[float]] = {"none": [], "minilm": []}
    houses = {}
    for name in seconds:
        create_palace(folder / name, "primary", force=True)
        houses[name] = open_palace(folder / name, embeds=True, vectors={"embedder": name})
    _add(houses["minilm"], "warm")
    houses["minilm"].palace.call("search", {"query": "warm"})
    for name in ("none", "minilm") * 3:
        for _ in range(count // 3):
            due = monotonic() + 1 / WRITES_PER_SECOND
            text = writer.text(*NOTE_WORDS)
            seconds[name].append(timed(lambda: _add(houses[name], text)))  # noqa: B023
            threading.Event().wait(max(0.0, due - monotonic()))
    for house in houses.values():
        house.close()
    with_vectors, without = sorted(seconds["minilm"]), sorted(seconds["none"])
    goal = Goal(
        number=15,
        name="write beside the worker",
        compares=f"add_drawer at {WRITES_PER_SECOND} writes/s, embedded / not embedded, p50",
        ratio=median(with_vectors) / median(without),
        bound=1.2,
        at_least=False,
        absolute={
            f"{side} {name} ms": milliseconds(percentile(found, share))
            for side, found in (("embedding", with_vectors), ("without", without))
            for name, share in (("p50", 0.5), ("p99", 0.99))
        },
        reasons=f"{count} writes each, in turns",
    )
    return Report([goal])


def many_vectors(folder: Path, sizes: Sizes) -> Report:
    """What 100,000 vectors cost: searches alone and beside a writer, the start, and memory. The
    vectors are random, as the model's own would take 20 minutes and cost the same afterwards.
    """
    count = sizes.of(100_000, 2_000)
    writer = Texts(16)
    path = folder / "palace"
    with palace_of(path, [writer.text(8, 40) for _ in range(count)]) as house:
        made_up(house)
        questions = [writer.text(2, 8) for _ in range(sizes.of(100, 20))]
        house.palace.call("search", {"query": questions[0]})
        alone = sorted(timed(_called(house, question)) for question in questions)
        beside = _beside_a_writer(house, questions, writer)
    started = sorted(_start(path) for _ in range(3))
    note = f"{count:,} drawers, each with a vector of 384 numbers and 24 tokens"
    figures = [
        Figure(f"search, p50 {side}", milliseconds(percentile(found, 0.5)), "ms",
               f"p99 {milliseconds(percentile(found, 0.99))} ms; {note}")
        for side, found in (("alone", alone), ("beside a writer", beside))
    ]  # fmt: skip
    seconds, megabytes = started[1]
    figures.append(Figure("start to first answer", round(seconds, 2), "s", note))
    figures.append(Figure("memory after the first answer", megabytes, "MB", note))
    return Report([], figures)


def palace_of(path: Path, texts: Sequence[str]) -> House:
    system = At(STARTED + (len(texts) + 1) * STEP)
    folder = create_palace(path, "primary", system=system, force=True)
    log = Log(folder.log)
    fill(log, added(texts))
    log.close()
    house = open_palace(path, system=system, vectors={"embedder": "minilm", "wait_seconds": 600})
    rebuild(house.log, house.generations, house.lock)
    return house


def _embedding(house: House) -> Embedding:
    assert house.palace.embedding is not None
    return house.palace.embedding


def _embedded(house: House) -> VectorIndex:
    return _embedding(house).work.embed()[0]


def _batches(embedder: Embedder, texts: Sequence[str]) -> list[dict[str, Any]]:
    chunks = [chunk.ids for text in texts for chunk in embedder.chunks(text)]
    given = []
    for places in batches((len(ids) for ids in chunks), BATCH):
        longest = max(len(chunks[place]) for place in places) + 2
        ids = np.zeros((len(places), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, place in enumerate(places):
            ids[row, 1 : len(chunks[place]) + 1] = chunks[place]
            mask[row, : len(chunks[place]) + 2] = 1
        given.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})
    return given


def _run(embedder: Embedder, given: Sequence[dict[str, Any]], count: int) -> int:
    assert isinstance(embedder, OnnxEmbedder)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda one: embedder.session.run(None, one), given))
    return count


def _searched(
    house: House, index: VectorIndex, questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Sorted seconds of the parts and of the search, in turns."""
    connection = connect(house.generations.current(), synchronous="NORMAL", read_only=True)
    stored = index.cache.after(0, 10_000_000)
    flat = faiss.IndexFlatIP(index.identity.dimension)
    flat.add(stored.vectors)
    digests = index.cache.digests(stored.numbers.tolist())
    held = index.cache.passages(list(digests.values()))
    texts = [held[digest] for digest in digests.values()]
    bare, own = [], []
    for number, question in enumerate([*questions[:10], *questions]):
        seconds = [
            timed(lambda: _parts(index, connection, flat, texts, question)),  # noqa: B023
            timed(_called(house, question)),
        ]
        if number >= 10:
            bare.append(seconds[0])
            own.append(seconds[1])
    connection.close()
    return sorted(bare), sorted(own)


def _parts(
    index: VectorIndex,
    connection: sqlite3.Connection,
    flat: Any,
    texts: Sequence[Sequence[Passage]],
    query: str,
) -> None:
    question = index.embedder().question(query)
    _, near = flat.search(question.vector[None, :], DEPTH)
    stated = expression(chosen(tokens(asked(query))))
    rows = connection.execute(_BARE, (stated, DEPTH)).fetchall()
    candidates = {*(near[0].tolist()), *(row[0] - 1 for row in rows)}
    if question.tokens:
        _bare_matches(question, [texts[one] for one in candidates])


def _bare_matches(question: Question, texts: Sequence[Sequence[Passage]]) -> NDArray[np.float32]:
    """MaxSim as numpy has it in one go."""
    asked = np.stack([one.vector for one in question.tokens])
    bits = [np.concatenate([one.bits for one in passages]) for passages in texts]
    ones = np.unpackbits(np.concatenate(bits), axis=1).astype(np.float32)
    products = 2 * (asked @ ones.T) - asked.sum(axis=1)[:, None]
    starts = np.cumsum([0, *[len(one) for one in bits[:-1]]])
    found: NDArray[np.float32] = np.maximum.reduceat(products, starts, axis=1).sum(axis=0)
    return found


def made_up(house: House) -> None:
    """Vectors that no model made, as many as there are texts."""
    index = _embedding(house).work.first()
    random = np.random.default_rng(16)
    with house.palace.reading() as reading:
        missing = index.missing(reading.cursor, house.log.log_id).digests
    for at in range(0, len(missing), 1_000):
        some = missing[at : at + 1_000]
        vectors = random.standard_normal((len(some), index.identity.dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        bits = random.integers(
            0, 256, (len(some), 24, index.identity.dimension // 8), dtype=np.uint8
        )
        index.cache.store(
            (digest, [Passage(vectors[row], bits[row])]) for row, digest in enumerate(some)
        )
    index.tidy()


def _beside_a_writer(house: House, questions: Sequence[str], writer: Texts) -> list[float]:
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(1 / WRITES_PER_SECOND):
            _add(house, writer.text(8, 40))

    thread = threading.Thread(target=write)
    thread.start()
    seconds = sorted(timed(_called(house, question)) for question in questions)
    stop.set()
    thread.join()
    return seconds


def _start(path: Path) -> tuple[float, int]:
    """Seconds from the start of a process to its first answer, and the most megabytes by then; what
    `getrusage` tells of a new process is that of the one that started it.
    """
    script = (
        "import re, sys; from pathlib import Path;"
        "from palacelog.bootstrap import open_palace\n"
        "vectors = {'embedder': 'minilm', 'wait_seconds': 600}\n"
        "with open_palace(Path(sys.argv[1]), vectors=vectors) as house:\n"
        "    house.palace.call('search', {'query': 'what is there'})\n"
        "    status = Path('/proc/self/status').read_text()\n"
        "    print(int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) // 1024)\n"
    )
    started = perf_counter()
    command = [sys.executable, "-c", script, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return perf_counter() - started, int(out)


def _add(house: House, text: str) -> Any:
    return house.palace.call("add_drawer", {"wing": "w", "room": "r", "content": text})


def _called(house: House, query: str) -> Callable[[], Any]:
    return lambda: house.palace.call("search", {"query": query, "limit": LIMIT})
