"""The log's storage, on the eventsourcing library: our recorder, transaction, connection, pool,
factory, transcoder.

Protects the stored form. The only module that knows the library. Every setting of the library is
passed here and nothing is read from the environment; the stored topic is one constant and any other
is refused before decoding, because the library imports what a topic names. The key column is named
`rowid` and is AUTOINCREMENT, so that no position is ever used twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Row
from typing import Any, ClassVar, Final

import orjson
from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteFactory,
)
from eventsourcing.utils import Environment, EnvType, register_topic

from domain.canonical import digest
from domain.errors import Damaged
from domain.identity import operation_id
from domain.operation import Operation, Recorded, read_header
from projections.sqlite import connect, end, is_open

TOPIC: Final = "operation"
READERS_MAX: Final = 16


@dataclass(frozen=True)
class LoggedEvent:
    """An operation as the library stores it; everything but the two ids is the state."""

    TOPIC: ClassVar[str] = TOPIC

    originator_id: str
    originator_version: int
    header: bytes
    payload: bytes | None
    nonce: bytes | None
    chain: bytes
    logged_at: int
    order_hlc: int
    link: bytes


register_topic(TOPIC, LoggedEvent)


def logged_event(operation: Operation) -> LoggedEvent:
    """The stored form of an operation."""
    recorded = operation.recorded
    return LoggedEvent(
        originator_id=recorded.stream_id,
        originator_version=recorded.header.local_seq,
        header=recorded.header_bytes,
        payload=recorded.payload,
        nonce=recorded.nonce,
        chain=recorded.chain,
        logged_at=operation.logged_at,
        order_hlc=operation.order_hlc,
        link=operation.link,
    )


def operation_at(position: int, event: LoggedEvent) -> Operation:
    """The operation of a stored event.

    Raises:
        ValueError: the header bytes are not a header.
    """
    header = read_header(event.header)
    recorded = Recorded(header, event.header, event.payload, event.nonce, event.chain)
    return Operation(recorded, position, event.logged_at, event.order_hlc, event.link)


def decode_row(position: int, stream_id: str, local_seq: int, state: bytes) -> Operation:
    """The operation of a row as it lies in the file, without the library in between.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the state is not what was written.
    """
    fields = StateTranscoder().decode(state)
    return operation_at(position, LoggedEvent(stream_id, local_seq, **fields))


def digest_faults(operation: Operation) -> Iterator[tuple[str, str]]:
    """What in an operation does not fit its own digests, as code and message.

    Raises:
        ValueError, TypeError: a digest in its header is none.
    """
    recorded, header = operation.recorded, operation.header
    payload_digest = bytes.fromhex(header.payload_digest)
    identity = (header.origin_device, header.stream, header.local_seq, header.tool)
    if operation_id(*identity, payload_digest) != header.op_id:
        yield "log::op_id", "op_id does not follow from the header"
    if recorded.payload is not None and (
        recorded.nonce is None or digest(recorded.nonce, recorded.payload) != payload_digest
    ):
        yield "log::payload", "the payload does not have the digest that the header names"


class StateTranscoder(Transcoder):
    """State as one JSON object: header and payload as the texts that were hashed, hashes in hex."""

    def encode(self, obj: Any) -> bytes:
        """Encode the state of a `LoggedEvent`."""
        payload, nonce = obj["payload"], obj["nonce"]
        return orjson.dumps(
            {
                "header": obj["header"].decode(),
                "payload": None if payload is None else payload.decode(),
                "nonce": None if nonce is None else nonce.hex(),
                "chain": obj["chain"].hex(),
                "logged_at": obj["logged_at"],
                "order_hlc": obj["order_hlc"],
                "link": obj["link"].hex(),
            }
        )

    def decode(self, data: bytes) -> Any:
        """Decode it; any failure is the mapper's to report."""
        state = orjson.loads(data)
        payload, nonce = state["payload"], state["nonce"]
        state["header"] = state["header"].encode()
        state["payload"] = None if payload is None else payload.encode()
        state["nonce"] = None if nonce is None else bytes.fromhex(nonce)
        state["chain"] = bytes.fromhex(state["chain"])
        state["link"] = bytes.fromhex(state["link"])
        return state


class LogMapper(Mapper[str]):
    """Refuses foreign topics before anything is decoded or imported."""

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[str]:
        """Decode a stored event of our one topic."""
        if stored_event.topic != TOPIC:
            raise Damaged(
                "log::foreign_topic",
                f"An event of {stored_event.originator_id!r} has a foreign topic.",
                "Run `palacelog log verify`, and restore from a backup.",
            )
        return super().to_domain_event(stored_event)


class LogPool(SQLiteConnectionPool):
    """Opens connections the way this house does."""

    def _create_connection(self) -> SQLiteConnection:
        connection = connect(Path(self.db_name), synchronous="FULL")
        connection.row_factory = Row
        return SQLiteConnection(sqlite_conn=connection, max_age=None)


class LogDatastore(SQLiteDatastore):
    """Joins what the library writes into the one transaction that the write lock holds open."""

    def __init__(self, db_name: str) -> None:
        """Open lazily; `db_name` is a path."""
        super().__init__(db_name, originator_id_type="text")
        self.pool = LogPool(db_name=db_name, pool_size=READERS_MAX, max_overflow=READERS_MAX)
        self._open = threading.local()
        self._writer: SQLiteConnection | None = None

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        """This thread's open write transaction, else one that only reads."""
        cursor: SQLiteCursor | None = getattr(self._open, "cursor", None)
        if cursor is not None:
            yield cursor
        elif commit:
            raise AssertionError("the log is written under the write lock only")
        else:
            with self.get_connection(commit=False) as connection:
                reading = connection.cursor()
                reading.execute("BEGIN")
                try:
                    yield reading
                finally:
                    _end(connection)

    @contextmanager
    def writing(self) -> Iterator[SQLiteCursor]:
        """The write transaction of this thread; rolled back unless `commit` was called in it."""
        if self._writer is None:
            self._writer = self.pool._create_connection()
        cursor = self._writer.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        self._open.cursor = cursor
        try:
            yield cursor
        finally:
            self._open.cursor = None
            _end(self._writer)
            if self._writer.closed:
                self._writer = None

    def commit(self) -> None:
        """Make the open write transaction durable."""
        assert self._writer is not None
        self._writer.commit()

    def writer(self) -> Any:
        """The driver's writing connection, for pragmas and checkpoints."""
        if self._writer is None:
            self._writer = self.pool._create_connection()
        return self._writer._sqlite_conn

    def close(self) -> None:
        """Close every connection."""
        writer, self._writer = getattr(self, "_writer", None), None
        if writer is not None:
            writer.close()
        super().close()


def _end(connection: SQLiteConnection) -> None:
    """Roll back; the library must know where that closed the connection."""
    driver = connection._sqlite_conn
    end(driver)
    if not is_open(driver):
        connection.close()


class LogRecorder(SQLiteApplicationRecorder):
    """The library's recorder over a table whose positions are never reused."""

    def __init__(
        self, datastore: SQLiteDatastore, events_table_name: str = "stored_events"
    ) -> None:
        """Name the columns in the insert: the key is the database's to give."""
        super().__init__(datastore, events_table_name)
        self.insert_events_statement = (
            f"INSERT INTO {events_table_name} "
            "(originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        )

    def construct_create_table_statements(self) -> list[str]:
        """The events, and what the log says about itself."""
        return [
            f"CREATE TABLE IF NOT EXISTS {self.events_table_name} ("
            "rowid INTEGER PRIMARY KEY AUTOINCREMENT, "
            "originator_id TEXT NOT NULL, originator_version INTEGER NOT NULL, "
            "topic TEXT NOT NULL, state BLOB NOT NULL, "
            "UNIQUE (originator_id, originator_version))",
            "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        ]


class LogFactory(SQLiteFactory):
    """The library's way to our datastore and recorder."""

    application_recorder_class = LogRecorder

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Replace the library's datastore by ours before anything is opened."""
        super().__init__(env)
        self.datastore = LogDatastore(self.datastore.pool.db_name)


_AT = (
    "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events "
    "WHERE rowid IN"
)


class LogApplication(Application[str]):
    """The library's application over one log file."""

    name = "palacelog"
    persistence = "replay.store:LogFactory"

    def __init__(self, path: Path, *, create: bool) -> None:
        """Open the log at `path`; `create` makes its tables."""
        self._create = create
        super().__init__(
            {
                "PERSISTENCE_MODULE": self.persistence,
                "TRANSCODER_TOPIC": "replay.store:StateTranscoder",
                "ORIGINATOR_ID_TYPE": "text",
                "SQLITE_DBNAME": str(path),
                "CREATE_TABLE": "no",
                "IS_SNAPSHOTTING_ENABLED": "no",
                "COMPRESSOR_TOPIC": "",
                "CIPHER_TOPIC": "",
            }
        )
        if create:
            with self.datastore.writing() as cursor:
                self.log_recorder._create_table(cursor)
                self.datastore.commit()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Only what is passed: a stray CIPHER_KEY in the environment must not encrypt a log."""
        return Environment(name, env)

    def construct_mapper(self) -> Mapper[str]:
        """Our mapper, which refuses foreign topics."""
        return self.factory.mapper(transcoder=self.construct_transcoder(), mapper_class=LogMapper)

    @property
    def datastore(self) -> LogDatastore:
        """Our datastore."""
        factory = self.factory
        assert isinstance(factory, LogFactory)
        assert isinstance(factory.datastore, LogDatastore)
        return factory.datastore

    @property
    def log_recorder(self) -> LogRecorder:
        """Our recorder."""
        assert isinstance(self.recorder, LogRecorder)
        return self.recorder

    def append(self, operations: Sequence[Operation]) -> None:
        """Insert operations in order, inside the open write transaction.

        By the library's mapper and recorder alone: at each call its `save` looks for aggregates,
        snapshots and subscribers, which a log does not have, and that takes longer than the rest.

        Raises:
            Damaged: the database gave an event another position than its link was made for.
        """
        stored = [self.mapper.to_stored_event(logged_event(one)) for one in operations]
        positions = self.log_recorder.insert_events(stored) or ()
        for operation, position in zip(operations, positions, strict=True):
            if position != operation.position:
                raise Damaged(
                    "log::positions",
                    "The log's positions do not continue where its newest event stands.",
                    "Run `palacelog log verify`.",
                    operation.position,
                )

    def read(self, after: int, limit: int) -> list[Operation]:
        """Operations behind a position, in order of arrival."""
        found = self.recorder.select_notifications(after, limit, inclusive_of_start=False)
        return [self.decode(one.id, one) for one in found]

    def read_at(self, positions: Sequence[int]) -> dict[int, Operation]:
        """The operations at some positions, a few hundred at most, with one query; what the log
        does not hold is left out.
        """
        marks = ", ".join("?" * len(positions))
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(f"{_AT} ({marks})", tuple(positions))
            rows = cursor.fetchall()
        return {row["rowid"]: self.decode(row["rowid"], _stored(row)) for row in rows}

    def decode(self, position: int, stored: StoredEvent) -> Operation:
        """The operation of a stored event.

        Raises:
            Damaged: it is not what was written.
        """
        try:
            event = self.mapper.to_domain_event(stored)
            assert isinstance(event, LoggedEvent)
            operation = operation_at(position, event)
            faults = list(digest_faults(operation))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged("log::undecodable", "cannot be decoded", position, stored) from error
        for code, _ in faults:
            raise _damaged(code, "is not what was written", position, stored)
        return operation


def _stored(row: Any) -> StoredEvent:
    return StoredEvent(
        originator_id=row["originator_id"],
        originator_version=row["originator_version"],
        topic=row["topic"],
        state=row["state"],
    )


def _damaged(code: str, what: str, position: int, stored: StoredEvent) -> Damaged:
    return Damaged(
        code,
        f"Event {stored.originator_version} of {stored.originator_id!r} {what}.",
        "Run `palacelog log verify`, and restore from a backup.",
        position or None,
    )
