"""The palace: one call is the way through, for every surface and every test.

    validate > gate > prepare > [write lock: decide > append > project > COMMIT] > answer
    validate > gate > catch up > query > answer > note the read

Protects the line: nothing reaches the log or the views another way. May not know a surface, and
holds no rule of its own: what an operation means stands in `domain`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from domain import gate
from domain.canonical import NotStorable, storable
from domain.catalog import CATALOG, Entry
from domain.errors import InvalidInput, PalaceError, Refused, Unusable, invalid
from domain.identity import base_device
from domain.instants import KnownAt
from domain.operation import Context, Draft, Operation, asked_digest
from domain.operations.common import Asks, Clock
from domain.ports import Known
from domain.trail import UNKNOWN_TOOL
from domain.travel import LOCAL, Leg, legs, merged, new_local_wings
from palacelog.caller import Report, silent
from palacelog.embedding import Embedding
from palacelog.prepare import prepare
from palacelog.readers import Readers
from projections.generations import Generations
from projections.queries import QUERIES
from projections.reading import Reading
from projections.sqlite import snapshot
from projections.views import read_checkpoint
from replay.log import Log
from replay.storage_errors import storage_error
from replay.trail import Trail
from replay.writer import System, Turn, Writer

CATCH_UP_SECONDS: Final = 2.0
"""How long a read waits for views that lag; then it answers as far as they have come."""


Permits = Callable[[Known], None]
"""Raises where a write may not be done any more; asked under the write lock."""


def always(known: Known) -> None:
    """Permit it."""


class Palace:
    """An open palace. Safe to use from any number of threads."""

    def __init__(
        self,
        log: Log,
        generations: Generations,
        writer: Writer,
        trail: Trail,
        system: System,
        *,
        zone: str,
        context: Context,
    ) -> None:
        """Put the parts together; `bootstrap.open_palace` does this.

        Args:
            zone: IANA zone of times without one.
            context: who calls, where a call does not say.
        """
        self.log = log
        self.writer: Final = writer
        self.trail = trail
        self._system = system
        self._zone = zone
        self._context = context
        self._readers = Readers(generations)
        self.embedding: Embedding | None = None
        self.written: Callable[[str], None] = lambda tool: None
        self._closing = threading.RLock()

    def close(self) -> None:
        """Finish what is being read and written, and close every file. Idempotent."""
        with self._closing:
            if self.embedding is not None:
                self.embedding.stop()
            nobody_reads = self._readers.close()
            if self.embedding is not None:
                self.embedding.close()
            self.writer.close()
            self.trail.close()
            if nobody_reads:
                self.log.close()

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: Context | None = None,
        report: Report = silent,
        permits: Permits = always,
    ) -> dict[str, Any]:
        """Do one operation.

        Args:
            tool: a name of the catalog.
            arguments: as `asks` of that operation says; times as texts.
            context: who asks and how much memory the session has; default as configured.
            report: told how far a long operation has come.
            permits: of a write; its answer to a key that was used is given without.

        Returns:
            As `answers` of that operation says; of a write once it is durable.

        Raises:
            PalaceError: refused, invalid input, or storage that failed. Nothing was changed then.
        """
        who = self._context if context is None else context
        try:
            answer = self._answer(tool, arguments, who, report, permits)
        except PalaceError as refusal:
            self.trail.refused(tool if tool in CATALOG else UNKNOWN_TOOL, arguments, who, refusal)
            raise
        if not CATALOG[tool].writes or answer.get("dry_run"):
            self.trail.read(tool, arguments, who, answer)
        return answer

    def _answer(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        who: Context,
        report: Report,
        permits: Permits,
    ) -> dict[str, Any]:
        entry = CATALOG.get(tool)
        operation_class = gate.WRITE if entry is None else entry.operation_class
        gate.check(tool, operation_class, who.session_mode, who.ceiling)
        gate.check_place(tool, operation_class, here=who.here)
        if entry is None:
            raise InvalidInput(
                "input::unknown_tool", f"There is no tool {tool!r}.", "See the list of operations."
            )
        _check_storable({name: getattr(who, name) for name in _WHO})
        asked = self._validate(entry, arguments)
        if entry.name == gate.SET_MODE:
            chosen = gate.choose(asked.model_dump()["mode"], who.ceiling, remembers=who.remembers)
            return {"session_mode": chosen, "ceiling": who.ceiling}
        try:
            return (
                self._write(entry, asked, arguments, who, report, permits)
                if entry.writes
                else self._read(entry, asked)
            )
        except (sqlite3.Error, OSError) as error:
            raise storage_error(error) from error

    def _validate(self, entry: Entry, arguments: Mapping[str, Any]) -> Asks:
        _check_storable(arguments)
        try:
            clock = Clock(self._zone, self._system.now())
            return entry.asks.model_validate(dict(arguments), context=clock)
        except ValidationError as error:
            raise _first_fault(error) from None

    def _write(
        self,
        entry: Entry,
        asked: Asks,
        arguments: Mapping[str, Any],
        context: Context,
        report: Report,
        permits: Permits,
    ) -> dict[str, Any]:
        dry_run = getattr(asked, "dry_run", False)
        asked = prepare(asked, context, self.embedding, self._system.now, report)
        key = None if dry_run else getattr(asked, "idempotency_key", None)
        as_asked = dict(arguments)

        def turn(at: Turn) -> list[Operation] | dict[str, Any]:
            if key is not None:
                earlier = _answered(at, key, entry.name, as_asked, context)
                if earlier:
                    return earlier
            permits(at.known)
            assert entry.decide is not None
            payload, target = entry.decide(asked, at.known, at.now)
            draft = Draft(
                tool=entry.name,
                payload=payload,
                asked=as_asked,
                context=context,
                target=target,
                idempotency_key=key,
            )
            parts = legs(entry.name, payload, at.known)
            return payload if dry_run else self._record(at, draft, parts)

        done = self.writer.do(turn)
        if self.embedding is not None:
            self.embedding.written(entry.name)
        self.written(entry.name)
        return tried(entry, done) if isinstance(done, dict) else answer(entry, *done)

    def _record(self, at: Turn, draft: Draft, parts: list[Leg]) -> list[Operation]:
        """Append what each stream records of a call, and what fixes a new local wing before it."""
        implied = [
            Draft("create_wing", {"wing": wing, "policy": LOCAL}, asked={}, context=draft.context)
            for wing in new_local_wings(draft.tool, parts, at.known)
        ]
        call_id = self._system.nonce().hex() if len(parts) + len(implied) > 1 else None
        for one in implied:
            at.append(replace(one, stream=LOCAL, call_id=call_id))
        return [
            at.append(replace(draft, stream=leg.stream, payload=leg.payload, call_id=call_id))
            for leg in parts
        ]

    def _read(self, entry: Entry, asked: Asks) -> dict[str, Any]:
        with self.reading(
            getattr(asked, "as_of", None), getattr(asked, "known_at", None)
        ) as reading:
            return QUERIES[entry.name](reading, asked)

    @contextmanager
    def reading(
        self, as_of: int | None = None, known_at: KnownAt | None = None
    ) -> Iterator[Reading]:
        """One snapshot of the views, caught up with the log, at one moment."""
        with self._readers.reading():
            self._catch_up()
            with self._readers.connection() as connection, snapshot(connection) as cursor:
                yield Reading(
                    cursor,
                    self.log,
                    self.trail,
                    now=self._system.now(),
                    device=self.log.about.device,
                    as_of=as_of,
                    known_at=known_at,
                    meaning=self.embedding,
                )

    def _catch_up(self) -> None:
        """Have the writer fold what the views lack; where that cannot be now, go on without."""
        self.log.check_file()
        with self._readers.connection() as connection, snapshot(connection) as cursor:
            behind = read_checkpoint(cursor).position < self.log.position()
        if behind:
            with suppress(Unusable, TimeoutError):
                self.writer.submit(lambda turn: None).result(CATCH_UP_SECONDS)


def tried(entry: Entry, payload: dict[str, Any]) -> dict[str, Any]:
    """The answer to a dry run: what would be recorded, and no event."""
    assert entry.answer is not None
    envelope = dict.fromkeys(("op_id", "origin_device", "stream", "local_seq", "position"))
    shown = {"duplicate": bool(payload.get("duplicate", False)), "dry_run": True}
    return envelope | shown | entry.answer(payload, "")


def answer(entry: Entry, *operations: Operation) -> dict[str, Any]:
    """The answer to a write: a function of the stored events alone; the first is named."""
    assert entry.answer is not None
    header, payload = operations[0].header, merged(one.payload() for one in operations)
    known = all(one.recorded.payload is not None for one in operations)
    own = entry.answer(payload, header.op_id) if known else {}
    envelope = {
        "op_id": header.op_id,
        "origin_device": header.origin_device,
        "stream": header.stream,
        "local_seq": header.local_seq,
        "position": operations[0].position,
        "duplicate": bool(payload.get("duplicate", False)),
    }
    return envelope | ({"dry_run": False} if entry.can_be_tried else {}) | own


def _answered(
    turn: Turn, key: str, tool: str, asked: dict[str, Any], context: Context
) -> list[Operation]:
    """The operations that this key was used for already.

    Raises:
        Refused: `palacelog::idempotency::conflict`, it was used for something else.
    """
    position = turn.folding.keyed(base_device(turn.log.about.device), context.principal, key)
    if position is None:
        return []
    [first] = turn.log.at([position])
    header, nonce = first.header, first.recorded.nonce
    if nonce is not None and asked_digest(nonce, tool, asked).hex() != header.asked_digest:
        raise Refused(
            "idempotency::conflict",
            f"The idempotency key {key!r} was used for another call.",
            "Use a new key for a new call.",
            position,
        )
    if header.call_id is None:
        return [first]
    found = turn.log.at(turn.folding.called(header.call_id))
    return [one for one in found if one.header.idempotency_key == key]


_WHO: Final = ("agent", "client", "session", "principal")


def _check_storable(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        try:
            storable({name: value}, "it")
        except NotStorable as error:
            field = str(name).encode("utf-8", "backslashreplace").decode()
            reason = f"cannot be stored: {str(error).removeprefix('it.')}"
            raise invalid(field, reason, "Send what JSON can hold.") from None


def _first_fault(error: ValidationError) -> PalaceError:
    fault = error.errors()[0]
    reason = fault["msg"].removeprefix("Value error, ")
    reason = reason[:1].lower() + reason[1:] if not reason.startswith(("'", '"')) else reason
    field = ".".join(str(part) for part in fault["loc"]) or "arguments"
    if fault["type"] == "extra_forbidden":
        return invalid(field, "is not an argument of this operation", "See the operation's help.")
    if fault["type"] == "missing":
        return invalid(field, "is missing", f"Give `{field}`.")
    return invalid(field, f"is not valid: {reason.rstrip('.')}")
