"""Damage to a palace's files: WALs that were cut, bits that were flipped, and what is left."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import orjson

from palacelog.folder import PalaceFolder

WAL_HEADER = 32
FRAME_HEADER = 24


def views_of(folder: Path) -> Path:
    """The views file that counts."""
    views = PalaceFolder(folder).views
    return views / (views / "current").read_text().strip()


def wal_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def copied(source: Path, target: Path) -> Path:
    """Copy a palace as it lies on the disk; shared memory is not on the disk."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
    return target


class Frame(NamedTuple):
    """A page in a WAL: where it ends in the file, and whether it ends a commit."""

    end: int
    commits: bool


def frames(wal: Path) -> list[Frame]:
    """The frames of a WAL that has not wrapped around."""
    content = wal.read_bytes()
    page_size, salt = struct.unpack(">I", content[8:12])[0], content[16:24]
    found = []
    for start in range(WAL_HEADER, len(content), FRAME_HEADER + page_size):
        header = content[start : start + FRAME_HEADER]
        if header[8:16] != salt:
            break
        commits = struct.unpack(">I", header[4:8])[0] != 0
        found.append(Frame(start + FRAME_HEADER + page_size, commits))
    return found


def lose_tail(folder: Path, commits: int) -> None:
    """Cut the log's WAL so that its last commits are gone."""
    wal = wal_of(PalaceFolder(folder).log)
    ends = [WAL_HEADER, *(one.end for one in frames(wal) if one.commits)]
    cut(wal, ends[-1 - commits])


def cut(file: Path, length: int) -> None:
    with file.open("r+b") as opened:
        opened.truncate(length)


def flip(file: Path, random: Random, *, within: int | None = None) -> tuple[int, int]:
    """Flip one bit; returns its byte and bit."""
    content = bytearray(file.read_bytes())
    byte, bit = random.randrange(within or len(content)), random.randrange(8)
    content[byte] ^= 1 << bit
    file.write_bytes(content)
    return byte, bit


Stored = tuple[Any, ...]


def stored_events(log: Path, count: int) -> list[Stored | None]:
    """What lies in a log at the first positions, read without palacelog; None where nothing can be.

    Texts in hex are read as the bytes that they stand for, so that rows are equal if and only if
    they mean the same.
    """
    with closing(sqlite3.connect(log)) as connection:
        return [_event(connection, position) for position in range(1, count + 1)]


def _event(connection: sqlite3.Connection, position: int) -> Stored | None:
    try:
        row = connection.execute(
            "SELECT rowid, originator_id, originator_version, topic, state "
            "FROM stored_events WHERE rowid = ?",
            (position,),
        ).fetchone()
        if row is None:
            return None
        state = orjson.loads(row[4])
        for name in ("nonce", "chain", "link"):
            state[name] = bytes.fromhex(state[name])
        return (*row[:4], *sorted(state.items()))
    except (sqlite3.Error, ValueError, KeyError, TypeError, AttributeError):
        return None
