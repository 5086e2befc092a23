"""How a file is read that may be anything.

Protects memory from what is no text, and from private keys under harmless names. Never waits for a
device, and follows no link, wherever in the path it stands.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Final, NamedTuple

from domain.operation import CONTENT_BYTES_MAX
from palacelog.mining.walking import IS_LINK, IS_SECRET, NO_FILE

TOO_LARGE: Final = "too_large"
IS_BINARY: Final = "binary"
NOT_UTF8: Final = "not_utf8"
IS_EMPTY: Final = "empty"
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Read(NamedTuple):
    """A text, or why there is none."""

    text: str
    reason: str | None = None


def read_text(path: str) -> Read:
    """The text of a file, by its absolute path.

    Raises:
        OSError: it cannot be read.
    """
    try:
        descriptor = _opened(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return Read("", IS_LINK)
        raise
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return Read("", NO_FILE)
        if about.st_size > CONTENT_BYTES_MAX:
            return Read("", TOO_LARGE)
        raw = file.read(CONTENT_BYTES_MAX + 1)
    return _text(raw)


def _opened(path: str) -> int:
    """A descriptor of a file; a folder above it may have become a link since it was looked into."""
    *folders, name = path.removeprefix("/").split("/")
    here = os.open("/", _FOLDER)
    try:
        for one in folders:
            below = _folder_in(here, one)
            os.close(here)
            here = below
        return os.open(name, _FILE, dir_fd=here)
    finally:
        os.close(here)


def _folder_in(parent: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _text(raw: bytes) -> Read:
    if len(raw) > CONTENT_BYTES_MAX:
        return Read("", TOO_LARGE)
    if b"\0" in raw:
        return Read("", IS_BINARY)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Read("", NOT_UTF8)
    if not text.strip():
        return Read("", IS_EMPTY)
    return Read("", IS_SECRET) if _PRIVATE_KEY.search(text) else Read(text)
