"""The views of a palace: one file is one generation, with one checkpoint for everything in it.

Protects the promise that a view equals a fold of the log: events are taken one after the other, in
the same transaction as the checkpoint that names the last of them (log_id, position, link). The
checkpoint is also the witness of the log's length. May not swallow anything: a fold that fails
stops the transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import bindparam, false, func, insert, select, true, update
from sqlalchemy.dialects.sqlite import insert as upsert

from domain.belief import LOCAL, UNDO, Event, Fold, event_of
from domain.canonical import ZERO_HASH, comparable, digest, twin_digest
from domain.catalog import ACKNOWLEDGED, FOLDS, folds_of
from domain.errors import Damaged, Unusable
from domain.identity import base_device
from domain.operation import Operation, is_local, rank, stamp_of
from domain.ports import LogReader
from projections import tables
from projections.beliefs import Beliefs
from projections.full_text import take_in
from projections.sqlite import checkpoint as move_wal
from projections.sqlite import connect, end
from projections.tables import VIEWS_SCHEMA, Prepared

_B = bindparam

_CHECKPOINT = Prepared(select(tables.checkpoint))
_SET_CHECKPOINT = Prepared(
    update(tables.checkpoint).values(
        position=_B("position"), link=_B("link"), logged_at=_B("logged_at"), seal=_B("seal")
    )
)
_NEW_CHECKPOINT = Prepared(insert(tables.checkpoint))
_ABOUT = Prepared(select(tables.about.c.value).where(tables.about.c.name == _B("name")))
_NEW_ABOUT = Prepared(insert(tables.about))
_OPERATION = Prepared(insert(tables.operations))
_MENTION = Prepared(upsert(tables.mentions).on_conflict_do_nothing())
_NAME = Prepared(upsert(tables.names).on_conflict_do_nothing())
_NEW_TEXT = upsert(tables.texts)
_TEXT = Prepared(
    _NEW_TEXT.on_conflict_do_update(
        index_elements=["drawer_id"],
        set_={"shared": true()},
        where=(tables.texts.c.shared == false()) & _NEW_TEXT.excluded.shared,
    )
)
_ACKNOWLEDGED = Prepared(insert(tables.acknowledgements))
_BY_OP = Prepared(
    select(tables.operations.c.position, tables.operations.c.rank).where(
        tables.operations.c.op_id == _B("op_id"),
        tables.operations.c.device == _B("device"),
        tables.operations.c.stream == "shared",
    )
)
_KEYED = Prepared(
    select(tables.operations.c.position)
    .where(
        tables.operations.c.base_device == _B("base"),
        tables.operations.c.idempotency_key == _B("key"),
        tables.operations.c.idempotency_key.is_not(None),
        tables.operations.c.principal.is_not_distinct_from(_B("principal")),
    )
    .order_by(tables.operations.c.position)
    .limit(1)
)
_CALL = Prepared(upsert(tables.calls).on_conflict_do_nothing())
_CALLED = Prepared(
    select(tables.calls.c.position)
    .where(tables.calls.c.call_id == _B("call_id"))
    .order_by(tables.calls.c.position)
)
_RESTAMP = Prepared(
    update(tables.operations)
    .where(tables.operations.c.position == _B("at"))
    .values(rank=_B("new_rank"))
)
_NEWEST_RANK = Prepared(select(func.max(tables.operations.c.rank)))


class Checkpoint(NamedTuple):
    """How far a generation has folded which log.

    Attributes:
        link: of the log at that position, 32 bytes.
    """

    log_id: str
    position: int
    link: bytes
    logged_at: int


class Views:
    """One generation of views, open. One writer at a time; readers take snapshots."""

    def __init__(self, path: Path, *, for_bulk: bool = False) -> None:
        """Open a views file that `create` made.

        Args:
            for_bulk: nobody reads it yet and a crash may spoil it: without a journal, and nothing
                waits for the disk, until `end_bulk`.

        Raises:
            Unusable: it is of another schema of views, which is rebuilt, never migrated.
        """
        self.path = path
        self._writer = connect(path, synchronous="OFF" if for_bulk else "NORMAL")
        if for_bulk:
            self._writer.execute("PRAGMA journal_mode=OFF")
        schema = _ABOUT(self._writer.cursor(), name="views_schema").fetchone()
        if schema is None or schema[0] != str(VIEWS_SCHEMA):
            self._writer.close()
            raise Unusable(
                "views::schema",
                "The views are of another schema than this version's.",
                "Run `palacelog rebuild`; nothing is lost, views are made from the log.",
            )

    def close(self) -> None:
        """Close the writing connection."""
        self._writer.close()

    def checkpoint(self) -> Checkpoint:
        """The last committed checkpoint; inside `writing`, the one reached."""
        return read_checkpoint(self._writer.cursor())

    @contextmanager
    def writing(self, log: LogReader) -> Iterator[Folding]:
        """A transaction to fold events in; rolled back unless `commit` was called."""
        cursor = self._writer.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield Folding(cursor, log)
        finally:
            end(self._writer)

    def commit(self) -> None:
        """Commit what was folded, checkpoint included."""
        self._writer.commit()

    def end_bulk(self) -> None:
        """Keep a journal from now on, and create the indexes that the file was made without."""
        self._writer.execute("PRAGMA journal_mode=WAL")
        tables.create_read_indexes(self._writer.cursor())

    def move_wal(self, how: str = "PASSIVE") -> None:
        """Move the WAL into the file; under the write lock."""
        move_wal(self._writer, how)


class Folding:
    """Folds events into the views inside one transaction."""

    def __init__(self, cursor: sqlite3.Cursor, log: LogReader) -> None:
        """Work on the cursor of an open transaction; `log` gives events back for refolds."""
        self.cursor = cursor
        self._log = log
        self._noted: set[tuple[str, str, str]] = set()
        self._unwritten: dict[Prepared, list[dict[str, Any]]] = {
            statement: [] for statement in (_OPERATION, _MENTION, _TEXT)
        }
        self.beliefs = Beliefs(cursor, self._load)

    def checkpoint(self) -> Checkpoint:
        """How far the folding has come."""
        return read_checkpoint(self.cursor)

    def newest_stamp(self) -> int:
        """The highest stamp of any event held, -1 where there is none."""
        newest = _NEWEST_RANK(self.cursor).fetchone()[0]
        return -1 if newest is None else stamp_of(newest)

    def keyed(self, base: str, principal: str | None, key: str) -> int | None:
        """The position of the operation that a device's principal used an idempotency key for."""
        row = _KEYED(self.cursor, base=base, principal=principal, key=key).fetchone()
        return None if row is None else int(row[0])

    def operations(self, positions: Iterable[int]) -> Iterator[Operation]:
        """The operations at some positions, in the order given."""
        return self._log.at(positions)

    def called(self, call_id: str) -> list[int]:
        """The positions of the events of one call."""
        return [position for (position,) in _CALLED(self.cursor, call_id=call_id).fetchall()]

    def fold(self, operation: Operation) -> None:
        """Take the next operation into every view; what no fold asks for, and the checkpoint,
        follow in `reached`.
        """
        header = operation.header
        place = rank(operation.order_hlc, header.origin_device, header.stream, header.local_seq, 0)
        self._unwritten[_OPERATION].append(_operation_row(operation, place))
        if header.root_op_id is not None:
            self._note((), [(tables.ROOT, header.root_op_id)], operation.position)
        if header.call_id is not None:
            _CALL(self.cursor, call_id=header.call_id, position=operation.position)
        if operation.recorded.payload is None:
            return
        if header.tool == ACKNOWLEDGED:
            self._write()
            self._acknowledged(operation)
            return
        event = event_of(operation, operation.order_hlc)
        for fold in folds_of(header.tool):
            for part in fold.split(event):
                self._take(fold, part, operation.position)

    def reached(self, operation: Operation) -> None:
        """Set the checkpoint to an operation that was folded."""
        self._write()
        _SET_CHECKPOINT(
            self.cursor,
            position=operation.position,
            link=operation.link,
            logged_at=operation.logged_at,
            seal=digest(operation.position, operation.link, operation.logged_at),
        )

    def fold_all(self, operations: Iterable[Operation]) -> int:
        """Fold operations and set the checkpoint to the last; returns how many there were."""
        count, last = 0, None
        for last in operations:
            self.fold(last)
            count += 1
        if last is not None:
            self.reached(last)
        return count

    def _take(self, fold: Fold, part: Event, position: int) -> None:
        if part.tool != UNDO:
            self._note(fold.names(part), fold.mentions(part), position)
            self._keep(fold.texts(part), position, shared=not is_local(part.rank))
        self.beliefs.fold(fold, part, position)

    def _acknowledged(self, operation: Operation) -> None:
        told = operation.payload()
        _ACKNOWLEDGED(
            self.cursor,
            position=operation.position,
            stream_device=told["stream_device"],
            upto=told["upto"],
            log_id=told["log_id"],
            head=told["head"],
        )
        self._take_orders(told["stream_device"], told["orders"], operation.position)

    def _take_orders(self, device: str, orders: dict[str, int], position: int) -> None:
        """Learn the orders that a primary gave to events of a stream, and refold what they touch.

        What a receipt says of other streams is not its business and is passed over.
        """
        stale: dict[tuple[str, int], None] = {}
        for op_id, order in orders.items():
            found = _BY_OP(self.cursor, op_id=op_id, device=device).fetchone()
            if found is None:
                continue
            at, old = found
            stamp = order.to_bytes(8, "big")
            _RESTAMP(self.cursor, at=at, new_rank=stamp + old[8:])
            stale |= dict.fromkeys(self.beliefs.restamp(at, stamp))
        for area, key in stale:
            self.beliefs.refold(FOLDS[area.removesuffix(LOCAL)], key, position)

    def _load(self, fold: Fold, touched: Sequence[tuple[int, bytes]]) -> Iterator[Event]:
        operations = self._log.at(position for position, _ in touched)
        for operation, (_, wanted) in zip(operations, touched, strict=True):
            if operation.recorded.payload is None:
                continue
            for part in fold.split(event_of(operation, stamp_of(wanted))):
                if part.rank == wanted:
                    yield part

    def _note(
        self, names: Iterable[Any], mentions: Iterable[tuple[str, str]], position: int
    ) -> None:
        for spelt in names:
            if spelt not in self._noted:
                self._noted.add(spelt)
                kind, scope, name = spelt
                folded = comparable(name)
                _NAME(
                    self.cursor,
                    kind=kind,
                    scope=comparable(scope),
                    folded=folded,
                    spelling=name,
                    position=position,
                )
        self._unwritten[_MENTION] += [
            {"kind": kind, "name": name, "position": position} for kind, name in mentions
        ]

    def _keep(
        self, texts: Iterable[tuple[str, str, str, str]], position: int, *, shared: bool
    ) -> None:
        self._unwritten[_TEXT] += [
            {
                "drawer_id": drawer_id,
                "wing": wing,
                "room": room,
                "wing_key": comparable(wing),
                "room_key": comparable(room),
                "twin": twin_digest(content),
                "position": position,
                "shared": shared,
                "content": content,
            }
            for drawer_id, wing, room, content in texts
        ]

    def _write(self) -> None:
        for statement, rows in self._unwritten.items():
            if rows:
                statement.many(self.cursor, rows)
                rows.clear()
                if statement is _TEXT:
                    take_in(self.cursor)


def create(path: Path, log_id: str, *, for_bulk: bool = False) -> None:
    """Make an empty generation for a log, with its checkpoint before the first event.

    Args:
        for_bulk: without the indexes that only reads ask; `Views.end_bulk` makes them.
    """
    connection = connect(path, synchronous="NORMAL")
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    tables.create(cursor, read_indexes=not for_bulk)
    _NEW_ABOUT(cursor, name="views_schema", value=str(VIEWS_SCHEMA))
    seal = digest(0, ZERO_HASH, 0)
    _NEW_CHECKPOINT(cursor, log_id=log_id, position=0, link=ZERO_HASH, logged_at=0, seal=seal)
    cursor.execute("COMMIT")
    move_wal(connection, "TRUNCATE")
    connection.close()


def read_checkpoint(cursor: sqlite3.Cursor) -> Checkpoint:
    """The checkpoint as a cursor's transaction sees it.

    Raises:
        Damaged: it is not what was written; a witness that was altered must not accuse the log.
    """
    row = _CHECKPOINT(cursor).fetchone()
    if row is None or digest(*row[1:-1]) != row[-1]:
        raise Damaged(
            "views::checkpoint",
            "What the views say of how far they have come was changed.",
            "Run `palacelog rebuild`; nothing is lost, views are made from the log.",
        )
    return Checkpoint(*row[:-1])


def _operation_row(operation: Operation, place: bytes) -> dict[str, Any]:
    header = operation.header
    return {
        "position": operation.position,
        "op_id": header.op_id,
        "tool": header.tool,
        "device": header.origin_device,
        "base_device": base_device(header.origin_device),
        "host": header.origin_host,
        "stream": header.stream,
        "local_seq": header.local_seq,
        "recorded_at": header.recorded_at,
        "logged_at": operation.logged_at,
        "rank": place,
        "agent": header.agent,
        "client": header.client,
        "session": header.session,
        "principal": header.principal,
        "session_mode": header.session_mode,
        "memory_mode": header.memory_mode,
        "idempotency_key": header.idempotency_key,
    }
