"""The embedders themselves, with the models of the packages: cases V7, V8 and V15 and what a model
folder may hold.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib import invalidate_caches, resources
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import PalaceError
from projections.vectors.embedder import (
    OVERLAP_TOKENS,
    Embedder,
    Passage,
    batches,
    cut,
)
from projections.vectors.models import PACKAGED, identity_of, load

NAMES = tuple(PACKAGED)
TEXTS = (
    "That is a happy person",
    "Tea at four",
    "The build needs LANG=C.UTF-8, or the tests of names fail.",
    "今天讨论了成语接龙游戏",
    "🦊🍊 👩‍👩‍👧",
    "...!?",
    "a",
    "Der Kellerschlüssel liegt bei Ana, hinter dem Regal.",
)
ODD = ("...!?", "🦊🍊", "—", "\u200b", " \n\t ", "[CLS]", "[PAD] [PAD]", "\x07", "�")


@pytest.fixture(scope="module", params=NAMES)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    made = load(request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def minilm() -> Iterator[Embedder]:
    made = load("minilm")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of `wordllama`, as a person would put them there."""
    own = tmp_path / "my model"
    own.mkdir()
    copy_file("wordllama", own / "model.safetensors", tokenizer=own / "tokenizer.json")
    return own


def copy_file(name: str, model: Path, *, tokenizer: Path) -> None:
    known = PACKAGED[name]
    for (package, file), target in ((known.model, model), (known.tokenizer, tokenizer)):
        shutil.copyfile(str(resources.files(package) / file), target)


def made(embedder: Embedder, texts: Sequence[str]) -> list[list[Passage]]:
    """What an embedder makes of some texts in one go."""
    chunks = [(place, one) for place, text in enumerate(texts) for one in embedder.chunks(text)]
    found: list[list[Passage]] = [[] for _ in texts]
    passages = sorted(embedder.passages([one for _, one in chunks]), key=lambda one: one[0])
    for (place, _), (_, passage) in zip(chunks, passages, strict=True):
        found[place].append(passage)
    return found


def plain(passages: Sequence[Sequence[Passage]]) -> list[list[tuple[bytes, bytes]]]:
    return [[(one.vector.tobytes(), one.bits.tobytes()) for one in own] for own in passages]


def refusal(call: Callable[[], object]) -> PalaceError:
    with pytest.raises(PalaceError) as caught:
        call()
    assert caught.value.message
    assert caught.value.help
    return caught.value


def test_the_default_embedder_makes_the_vectors_that_its_model_is_known_for(
    minilm: Embedder,
) -> None:
    others = ("That is a happy dog", "That is a very happy person", "Today is a sunny day")
    vectors = minilm.embed(["That is a happy person", *others])
    cosines = vectors[1:] @ vectors[0]
    assert cosines.tolist() == pytest.approx([0.696, 0.942, 0.261], abs=1e-3)
    assert minilm.identity.dimension == vectors.shape[1] == 384


def test_an_identity_is_told_without_loading_and_is_that_of_what_is_loaded(
    embedder: Embedder,
) -> None:
    assert identity_of(embedder.identity.name) == embedder.identity


@pytest.mark.parametrize("name", NAMES)
def test_what_a_text_becomes_does_not_depend_on_the_texts_beside_it(name: str) -> None:
    """V15: alone, in batches of 8, padded with longer texts, in one of 64."""
    embedder = load(name)
    alone = [plain(made(embedder, [text]))[0] for text in TEXTS]
    assert plain(made(embedder, TEXTS)) == alone
    longer = ["The harbour lies behind the old mill. " * count for count in range(1, 8)]
    for place, text in enumerate(TEXTS):
        together = [*longer[:4], text, *longer[4:]]
        assert plain(made(embedder, together))[4] == alone[place]
    many = [f"Line {number} of a long list of lines" for number in range(56)]
    mixed = [*TEXTS, *many]
    order = random.Random(7).sample(range(64), 64)
    found = plain(made(embedder, [mixed[place] for place in order]))
    assert [found[order.index(place)] for place in range(8)] == alone
    embedder.close()


def test_two_threads_at_once_make_the_same_vectors(embedder: Embedder) -> None:
    alone = plain(made(embedder, TEXTS))
    with ThreadPoolExecutor(2) as threads:
        for found in threads.map(lambda _: plain(made(embedder, TEXTS)), range(6)):
            assert found == alone


IN_ANOTHER_PROCESS = """
import sys
from hashlib import sha256
from projections.vectors.models import load
from tests.unit.test_embedders import TEXTS, made, plain
print(sha256(repr(plain(made(load(sys.argv[1]), TEXTS))).encode()).hexdigest())
"""


def test_another_process_makes_the_same_vectors(embedder: Embedder) -> None:
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, embedder.identity.name]
    root = Path(__file__).parents[2]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert told.stdout.strip() == sha256(repr(plain(made(embedder, TEXTS))).encode()).hexdigest()


@pytest.mark.parametrize("text", ODD)
def test_texts_that_hardly_say_anything_are_embedded(embedder: Embedder, text: str) -> None:
    [[passage]] = made(embedder, [text])
    assert passage.vector.shape == (embedder.identity.dimension,)
    assert passage.bits.shape[1] == embedder.identity.dimension // 8
    assert np.isfinite(passage.vector).all()
    question = embedder.question(text)
    assert np.isfinite(question.vector).all()
    assert question.vector.tobytes() == passage.vector.tobytes()


def test_long_texts_of_any_script_are_embedded_whole(embedder: Embedder) -> None:
    """V8"""
    signs = [chr(0x4E00 + number % 5_000) for number in range(8_000)]
    [passages] = made(embedder, ["".join(signs)])
    assert len(passages) > 8_000 / embedder.identity.tokens_max
    assert all(np.isfinite(one.vector).all() for one in passages)
    assert all(float(np.linalg.norm(one.vector)) == pytest.approx(1, abs=1e-5) for one in passages)


def test_the_meaning_of_the_last_words_of_a_very_long_text_is_kept() -> None:
    """V7"""
    embedder = load("wordllama")
    filler = "The report lists each column of the table once more. " * 3_774
    text = filler[:199_900] + " An elephant drank from the river in Africa."
    [passages] = made(embedder, [text])
    question = embedder.question("wild elephants").vector
    cosines = [float(one.vector @ question) for one in passages]
    assert int(np.argmax(cosines)) == len(passages) - 1
    assert cosines[-1] > max(cosines[:-2]) + 0.1


def test_a_question_is_told_to_be_readable_or_not(minilm: Embedder) -> None:
    assert minilm.question("a happy person").readable
    assert not minilm.question("咖啡放在左边的柜子里").readable


@given(st.integers(0, 2_000), st.integers(6, 300))
def test_chunks_overlap_stay_within_the_limit_and_leave_no_token_out(
    length: int, length_max: int
) -> None:
    ids = list(range(length))
    chunks = [one.ids for one in cut(ids, length_max)]
    assert chunks
    assert all(len(one) <= length_max for one in chunks)
    assert sorted({token for one in chunks for token in one}) == ids
    overlap = min(OVERLAP_TOKENS, length_max // 2)
    for before, after in pairwise(chunks):
        assert before[-overlap:] == after[:overlap]
        assert len(before) == length_max
        assert len(after) > overlap, "a chunk that says nothing new"


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 9))
def test_batches_hold_each_place_once_the_longest_first(lengths: list[int], size: int) -> None:
    planned = batches(lengths, size)
    assert sorted(place for one in planned for place in one) == list(range(len(lengths)))
    assert all(len(one) <= size for one in planned)
    sizes = [lengths[place] for one in planned for place in one]
    assert sizes == sorted(sizes, reverse=True)


# folders and packages


def test_a_folder_of_one_s_own_is_an_embedder_of_its_own(folder: Path) -> None:
    own, known = load(str(folder)), load("wordllama")
    assert own.identity.name == "my-model"
    assert own.identity.short != known.identity.short
    assert own.identity.model == known.identity.model
    assert identity_of(str(folder)) == own.identity
    assert plain(made(own, TEXTS)) == plain(made(known, TEXTS))


def test_other_weights_under_the_same_name_are_another_embedder(folder: Path) -> None:
    """V9"""
    first = identity_of(str(folder))
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    second = identity_of(str(folder))
    assert (first.name, first.dimension) == (second.name, second.dimension)
    assert first.short != second.short


def test_a_folder_says_its_name_and_token_limit(folder: Path) -> None:
    (folder / "embedder.toml").write_text('name = "tiny"\ntokens_max = 16\n')
    own = load(str(folder))
    assert (own.identity.name, own.identity.tokens_max) == ("tiny", 16)
    assert own.identity.short.startswith("tiny-")
    assert all(len(one.ids) <= 16 for one in own.chunks("wind and weather " * 40))
    assert len(own.chunks("wind and weather " * 40)) > 5


@pytest.mark.parametrize(
    "said",
    [
        "tokens_max = 0",
        "tokens_max = -5",
        "tokens_max = 1000000",
        'tokens_max = "many"',
        "tokens_max = true",
        'name = "../../etc"',
        'name = ""',
        "name = 5",
        'name = ".hidden"',
        "token_max = 16",
        "tokens_max",
    ],
)
def test_what_a_folder_cannot_mean_is_refused(folder: Path, said: str) -> None:
    (folder / "embedder.toml").write_text(said)
    assert refusal(lambda: load(str(folder))).code == "palacelog::vectors::about"
    assert refusal(lambda: identity_of(str(folder))).code == "palacelog::vectors::about"


@pytest.mark.parametrize("gone", ["tokenizer.json", "model.safetensors"])
def test_a_folder_without_a_file_says_which_it_needs(folder: Path, gone: str) -> None:
    (folder / gone).unlink()
    error = refusal(lambda: load(str(folder)))
    assert error.code == "palacelog::vectors::missing_files"
    assert gone in error.message


@pytest.mark.parametrize("name", ["model.onnx", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"no model", b"{}", b"\x00" * 1_000])
def test_a_broken_file_is_named_with_the_cure(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    assert refusal(lambda: load(str(folder))).code == "palacelog::vectors::unusable_model"


def test_a_name_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    for name in ("minilm2", str(tmp_path / "nothing"), str(Path(__file__))):
        assert refusal(lambda name=name: load(name)).code == "palacelog::vectors::unknown_embedder"


def test_a_package_with_other_files_is_not_taken_for_the_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = PACKAGED["wordllama"]
    for package, file in (known.model, known.tokenizer):
        target = tmp_path / package / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(resources.files(package) / file), target)
    (tmp_path / "wordllama" / "__init__.py").write_text("raise RuntimeError('never executed')\n")
    monkeypatch.delitem(sys.modules, "wordllama", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    load("wordllama").close()
    for package, file in (known.model, known.tokenizer):
        target = tmp_path / package / file
        whole = target.read_bytes()
        target.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        error = refusal(lambda: load("wordllama"))
        assert error.code == "palacelog::vectors::other_files"
        assert known.install in error.help
        target.write_bytes(whole)


def test_closing_an_embedder_ends_its_threads_and_may_be_done_twice() -> None:
    embedder = load("minilm")
    made(embedder, TEXTS * 3)
    assert any(one.name.startswith("palacelog-embedder") for one in threading.enumerate())
    embedder.close()
    embedder.close()
    assert not any(one.name.startswith("palacelog-embedder") for one in threading.enumerate())
