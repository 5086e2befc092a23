"""How a job that mines is done: file by file, each under a key of its own.

Protects against doubles: a file that is held as it is, by this job or an earlier one, is not filed
again; one that changed changes its drawer. What is gone is named, and nothing is deleted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from domain.canonical import digest, twin_digest
from domain.decisions.jobs import refuse_shared
from domain.drawers import DRAWERS, Support
from domain.errors import PREFIX, InvalidInput, Refused
from domain.jobs import FILE_FAILED, FILED, GONE, SHARED_WING, SKIPPED, UPDATED, VANISHED
from domain.ports import Known
from palacelog.at_work import AtWork, LetGo
from palacelog.mining.reading import read_text
from palacelog.mining.walking import UNREADABLE, Candidate, walk
from palacelog.places import NOTES
from palacelog.prepare import fits_a_place
from projections.queries.sources import HeldSource, below, held_sources, mined_texts

NOTED_AT_ONCE: Final = 100
LOOKED_AT_ONCE: Final = 250
_NOT_ALONE: Final = "mine::not_alone"
_SHARED: Final = f"{PREFIX}{SHARED_WING}"


def mine(at: AtWork) -> None:
    """Do a job that mines, as far as it is let.

    Raises:
        LetGo: the job is not to go on, or not here.
        Refused: it cannot: its source is gone, or its wing travels by now.
    """
    source = Path(at.job.source)
    if not _is_there(source):
        raise Refused(GONE, "What was to be mined is not there any more.", "Mine another folder.")
    _Run(at, source).all()


def _is_there(source: Path) -> bool:
    """Whether a path, which had no link in it when it was asked for, has none and can be found."""
    try:
        return source.resolve(strict=True) == source
    except (OSError, RuntimeError):
        return False


def _is_gone(path: str) -> bool:
    """Whether nothing is there; of what cannot be looked at, nobody knows."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _refuse_others_text(known: Known, drawer_id: str) -> None:
    """Another file may have come to the same text since the drawers were looked at."""
    if len(known.held(DRAWERS, drawer_id).find(Support, "drawer_id", drawer_id)) > 1:
        raise Refused(_NOT_ALONE, "The drawer holds the text of another file too.", "File it anew.")


class _Run:
    """One attempt at a job."""

    def __init__(self, at: AtWork, source: Path) -> None:
        self._at, self._job = at, at.job
        self._found = list(self._walked(source))
        self._span = below(str(source)) if source.is_dir() else (str(source), str(source))
        with at.reading() as reading:
            self._held = dict(held_sources(reading, self._job.wing, *self._span))
            self._position = reading.checkpoint.position
            self._texts = mined_texts(reading, self._job.wing, *self._span)
        self._unnoted: list[dict[str, Any]] = []
        self._unchanged = 0

    def all(self) -> None:
        """Do every file, then name those that are gone."""
        try:
            for number, one in enumerate(self._found, 1):
                self._at.check()
                self._do(one)
                if len(self._unnoted) >= NOTED_AT_ONCE:
                    self._note()
                self._at.report(number, len(self._found))
            for path in self._gone():
                self._add(path, VANISHED, drawer_id=self._held[path].drawer_id)
        except (LetGo, Refused, KeyboardInterrupt):
            self._note()
            raise
        self._note()

    def _walked(self, source: Path) -> Iterator[Candidate]:
        """The files there are; a look at a large disk can be stopped too."""
        for number, one in enumerate(walk(source)):
            if number % LOOKED_AT_ONCE == 0:
                self._at.check()
            yield one

    def _do(self, one: Candidate) -> None:
        if one.reason is not None:
            self._add(one.name, FILE_FAILED if one.reason == UNREADABLE else SKIPPED, one.reason)
            return
        try:
            text, reason = read_text(one.path)
        except OSError as error:
            self._add(one.name, FILE_FAILED, errno.errorcode.get(error.errno or 0, UNREADABLE))
            return
        if reason is not None:
            self._add(one.name, SKIPPED, reason)
            return
        try:
            self._file(one, text)
        except (Refused, InvalidInput) as refusal:
            if refusal.code == _SHARED:
                raise
            self._add(one.name, FILE_FAILED, refusal.code)

    def _file(self, one: Candidate, text: str) -> None:
        """Have a text held: as it is, as another text of its drawer, or in a drawer of its own."""
        held, of_text = self._held.get(one.name), sha256(text.encode()).hexdigest()
        if held is not None and held.twin == twin_digest(text):
            self._is_held(one.name, held, of_text)
        elif held is not None and self._texts.get(one.name) == of_text:
            # Somebody changed the drawer since; the file says what it said.
            self._unchanged += 1
        elif held is None or not held.alone:
            # An update would take the text from the other files that have it, or stay in the past.
            self._filed_anew(one, text, of_text)
        else:
            try:
                told = self._call("update_drawer", one.name, text, drawer_id=held.drawer_id)
            except Refused as refusal:
                if refusal.code != f"{PREFIX}{_NOT_ALONE}":
                    raise
                self._filed_anew(one, text, of_text)
            else:
                self._add(one.name, UPDATED, drawer_id=told["drawer_id"], text=of_text)

    def _filed_anew(self, one: Candidate, text: str, of_text: str) -> None:
        place = {"wing": self._job.wing, "room": self._room_of(one), "source_file": one.name}
        told = self._call("add_drawer", one.name, text, **place)
        self._add(one.name, FILED, drawer_id=told["drawer_id"], text=of_text)

    def _is_held(self, path: str, held: HeldSource, of_text: str) -> None:
        """Held already: by this job, which then had no time to note it, or from before."""
        if (held.key or "").startswith(self._key()):
            outcome = FILED if held.tool == "add_drawer" else UPDATED
            self._add(path, outcome, drawer_id=held.drawer_id, text=of_text)
        else:
            self._unchanged += 1

    def _call(self, tool: str, path: str, text: str, **arguments: str) -> dict[str, Any]:
        said = arguments | {"content": text}
        drawer_id = arguments.get("drawer_id", "")
        parts = [tool, path, text, drawer_id]

        def permits(known: Known) -> None:
            refuse_shared(known, self._job.wing)
            if drawer_id:
                _refuse_others_text(known, drawer_id)

        while True:
            key = f"{self._key()}{digest(*parts).hex()}"
            told = self._at.call(tool, said | {"idempotency_key": key}, permits)
            if told["position"] > self._position:
                return told
            # Done by an attempt before, and undone since: else it would be held.
            parts.append(told["op_id"])

    def _key(self) -> str:
        """How the keys of this job's calls begin."""
        return f"{self._job.kind}:{self._job.id}:"

    def _room_of(self, one: Candidate) -> str:
        if self._job.room is not None:
            return self._job.room
        return one.below if one.below is not None and fits_a_place(one.below) else NOTES

    def _gone(self) -> Iterable[str]:
        """Files that are held and that nothing is any more; what is merely ignored now is not."""
        there = {one.name for one in self._found}
        return [path for path in self._held if path not in there and _is_gone(path)]

    def _add(
        self,
        path: str,
        outcome: str,
        reason: str | None = None,
        drawer_id: str | None = None,
        text: str | None = None,
    ) -> None:
        said = {"reason": reason, "drawer_id": drawer_id, "text": text}
        done = {name: value for name, value in said.items() if value is not None}
        self._unnoted.append({"path": path, "outcome": outcome} | done)

    def _note(self) -> None:
        """Record what was done; it is recorded as well where the job was stopped meanwhile."""
        left, self._unnoted = self._unnoted, []
        for first in range(0, max(len(left), 1), NOTED_AT_ONCE):
            noted = left[first : first + NOTED_AT_ONCE]
            self._at.note(found=len(self._found), unchanged=self._unchanged, files=noted)
