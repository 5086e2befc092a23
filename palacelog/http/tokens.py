"""Who may come in over HTTP: a static file of token digests, and what each token is worth.

Protects tokens: the file holds digests, is this user's alone, and what is presented is compared in
constant time. One line for each token, `#` begins a comment:

    sha256-hex name [full|read_only|disabled]
"""

from __future__ import annotations

import hmac
import os
import re
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from domain.errors import InvalidInput, Refused
from domain.gate import FULL, SESSION_MODES

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HELP: Final = "Write `sha256-hex name [full|read_only|disabled]`, one line for each token."


@dataclass(frozen=True)
class Token:
    """What a token is worth.

    Attributes:
        digest: sha256 of the token, in hex.
        name: the principal of its calls.
        mode: the most memory that its calls may use.
    """

    digest: str
    name: str
    mode: str = FULL


def read_tokens(path: Path) -> tuple[Token, ...]:
    """The tokens in a file.

    Raises:
        InvalidInput: it cannot be read, or a line is none.
        Refused: `palacelog::serve::open_token_file`, others may read it.
    """
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            text = file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInput(
            "serve::token_file", f"The token file cannot be read: {said}.", _HELP
        ) from error
    if stat.S_IMODE(about.st_mode) & 0o077 or about.st_uid != os.geteuid():
        raise Refused(
            "serve::open_token_file",
            "The token file can be read by other users.",
            f"Make it this user's alone: chmod 600 {path.name}",
        )
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    tokens = tuple(_token(number, words) for number, words in enumerate(lines, start=1) if words)
    if len({one.name for one in tokens}) != len(tokens):
        raise InvalidInput("serve::token_file", "Two tokens have one name.", _HELP)
    if len({one.digest for one in tokens}) != len(tokens):
        raise InvalidInput("serve::token_file", "One token has two names.", _HELP)
    return tokens


def known(tokens: tuple[Token, ...], presented: str) -> Token | None:
    """The token that was presented; how long it takes does not tell which part of it is right."""
    digest = sha256(presented.encode("utf-8", "surrogateescape")).hexdigest()
    found = None
    for one in tokens:
        if hmac.compare_digest(one.digest, digest):
            found = one
    return found


def _token(number: int, words: list[str]) -> Token:
    mode = words[2] if len(words) == 3 else FULL
    sound = (
        len(words) in (2, 3)
        and _DIGEST.fullmatch(words[0])
        and _NAME.fullmatch(words[1])
        and mode in SESSION_MODES
    )
    if not sound:
        raise InvalidInput("serve::token_file", f"Line {number} of the file is no token.", _HELP)
    return Token(words[0], words[1], mode)
