"""Small embedders in folders: real files, loaded like any other, made in a moment.

folder = tiny(tmp_path / "small")            # knows WORDS; what stands together is near
tiny(tmp_path / "small", seed=2)             # other weights under the same name
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from projections.vectors.embedder import Embedder
from projections.vectors.models import PACKAGED, Packaged, load
from projections.vectors.onnx import THREADS, OnnxEmbedder

MEANINGS = (
    ("tea", "coffee", "drink", "cup", "beverage"),
    ("cat", "dog", "animal", "sleeps", "pet"),
    ("rent", "bank", "money", "due", "payment"),
    ("train", "journey", "station", "ticket", "travel"),
)
"""Words that mean nearly the same stand together."""
WORDS = tuple(word for group in MEANINGS for word in group)
DIMENSION = 32


def tiny(
    folder: Path, *, seed: int = 1, dimension: int = DIMENSION, words: Iterable[str] = WORDS
) -> Path:
    """Make a static embedder in a folder, or put other weights in the place of its own."""
    folder.mkdir(exist_ok=True)
    known = {word: number for number, word in enumerate(("[UNK]", *words))}
    tokenizer = Tokenizer(WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    chance = np.random.default_rng(seed)
    means = chance.normal(size=(len(MEANINGS) + 1, dimension))
    table = np.empty((len(known), dimension), dtype=np.float32)
    for word, row in known.items():
        group = next((at for at, group in enumerate(MEANINGS) if word in group), len(MEANINGS))
        table[row] = means[group] + 0.3 * chance.normal(size=dimension)
    save_file({"embedding": table}, folder / "model.safetensors")
    return folder


def vanish(folder: Path) -> None:
    """Remove an embedder's folder."""
    shutil.rmtree(folder)


def loaded(name: str) -> Embedder:
    """What `load` answers with; the files of a package are read once in a process."""
    if name not in PACKAGED:
        return load(name)
    made = copy(_of_package(name, PACKAGED[name]))
    if isinstance(made, OnnxEmbedder):
        made._pool = ThreadPoolExecutor(THREADS)
    return made


@cache
def _of_package(name: str, known: Packaged) -> Embedder:
    return load(name)
