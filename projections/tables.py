"""All tables of the views, and the statements that are compiled once and run on the driver's
cursor.

Protects the views' shape: the belief tables are made from the folds' row classes, so a row and its
table cannot drift apart. May not decide anything: no rule of the palace stands here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Final, NamedTuple, get_type_hints

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

from domain.configuration import Configured
from domain.conflicts import Conflict
from domain.drawers import Superseding, Support, Taken, Tombstone
from domain.embedders import Attached, Embedding
from domain.entities import Alias, Link
from domain.facts import Assertion, Declared, Source
from domain.jobs import Job, JobFile
from domain.places import Place
from domain.resolutions import Resolution
from domain.tunnels import Closed, Tunnel
from projections.tokens import TOKENIZER

VIEWS_SCHEMA: Final = 17
STILL_BELIEVED: Final = 2**63 - 1
_DIALECT: Final = sqlite.dialect(paramstyle="qmark")
_COLUMN_TYPES: Final = {str: Text, int: Integer, bool: Integer, bytes: LargeBinary, float: Float}

metadata = MetaData()

about = Table(
    "about",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("log_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("link", LargeBinary, nullable=False),
    Column("logged_at", Integer, nullable=False),
    Column("seal", LargeBinary, nullable=False),
)

operations = Table(
    "operations",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("op_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("base_device", Text, nullable=False),
    Column("host", Text),
    Column("stream", Text, nullable=False),
    Column("local_seq", Integer, nullable=False),
    Column("recorded_at", Integer, nullable=False),
    Column("logged_at", Integer, nullable=False),
    Column("rank", LargeBinary, nullable=False),
    Column("agent", Text),
    Column("client", Text),
    Column("session", Text),
    Column("principal", Text),
    Column("session_mode", Text, nullable=False),
    Column("memory_mode", Text, nullable=False),
    Column("idempotency_key", Text),
    Index("operations_by_op", "op_id", unique=True),
    Index("operations_by_rank", "rank"),
    Index("operations_by_logged_at", "logged_at"),
    Index("operations_by_stream", "device", "stream", "local_seq"),
)
Index(
    "operations_by_key",
    operations.c.base_device,
    operations.c.idempotency_key,
    sqlite_where=operations.c.idempotency_key.is_not(None),
)

mentions = Table(
    "mentions",
    metadata,
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("kind", "name", "position"),
    sqlite_with_rowid=False,
)

ROOT: Final = "root"
"""The kind of a mention by which an operation is found that was recorded again: its first op_id."""

names = Table(
    "names",
    metadata,
    Column("kind", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("spelling", Text, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("kind", "scope", "folded"),
    sqlite_with_rowid=False,
)

texts = Table(
    "texts",
    metadata,
    Column("drawer_id", Text, primary_key=True),
    Column("wing", Text, nullable=False),
    Column("room", Text, nullable=False),
    Column("wing_key", Text, nullable=False),
    Column("room_key", Text, nullable=False),
    Column("twin", LargeBinary, nullable=False),
    Column("position", Integer, nullable=False),
    Column("shared", Boolean(create_constraint=False), nullable=False),
    Column("content", Text, nullable=False),
    Index("texts_by_twin", "twin"),
    Index("texts_by_place", "wing_key", "room_key", "drawer_id"),
)

numbered = Table(
    "numbered",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("drawer_id", Text, nullable=False),
    Column("wing_key", Text, nullable=False),
    Column("room_key", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("words", Integer, nullable=False),
    Column("words_upto", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Index("numbered_by_position", "position"),
    Index("numbered_by_digest", "digest"),
)
"""Each text in the indexes of words and of vectors: numbered as it arrived, with the words in it
and up to it, where it lies, and the sha256 of what was embedded, so that a search need not look at
the texts themselves.
"""

WORDS: Final = "words"
WORD_PLACES: Final = "word_places"
WORD_COUNTS: Final = "word_counts"
_FULL_TEXT: Final = (
    f"CREATE VIRTUAL TABLE {WORDS} USING fts5(body, content='', tokenize=\"{TOKENIZER}\")",
    f"CREATE VIRTUAL TABLE {WORD_PLACES} USING fts5vocab({WORDS}, instance)",
    f"CREATE VIRTUAL TABLE {WORD_COUNTS} USING fts5vocab({WORDS}, row)",
)
"""The index itself holds no texts, and loses none: what is hidden is left out by a join."""

acknowledgements = Table(
    "acknowledgements",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("stream_device", Text, nullable=False),
    Column("upto", Integer, nullable=False),
    Column("log_id", Text, nullable=False),
    Column("head", Integer, nullable=False),
    Index("acknowledgements_by_stream", "stream_device"),
)

calls = Table(
    "calls",
    metadata,
    Column("call_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("call_id", "position"),
    sqlite_with_rowid=False,
)

keys = Table(
    "keys",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("area", Text, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("area", Text, nullable=False),
    Column("member", Text, nullable=False),
    Column("key", Integer, nullable=False),
    PrimaryKeyConstraint("area", "member"),
    Index("members_by_key", "key"),
    sqlite_with_rowid=False,
)

touches = Table(
    "touches",
    metadata,
    Column("key", Integer, nullable=False),
    Column("rank", LargeBinary, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("key", "rank"),
    Index("touches_by_position", "position"),
    sqlite_with_rowid=False,
)


_HELD: Final = ("believed_until", "believed_from")
_WHEN: Final = ("valid_from", "valid_to")


def _belief_table(kind: type[Any], name: str, *indexes: tuple[str, ...]) -> Table:
    """The table of a row class: its fields, the key, and from and until which position it was
    believed.

    Every index ends with these positions (where it does not name them itself), so that rows that
    were not believed are passed over without a look at the table.
    """
    hints = get_type_hints(kind)
    fields = [
        Column(field, _column_type(hints[field]), nullable=_optional(hints[field]))
        for field in kind._fields
    ]
    return Table(
        name,
        metadata,
        *fields,
        Column("key", Integer, nullable=False),
        Column("believed_from", Integer, nullable=False),
        Column("believed_until", Integer, nullable=False),
        *(_belief_index(name, index) for index in indexes),
    )


def _belief_index(table: str, fields: tuple[str, ...]) -> Index:
    """Named after the fields before the positions; what follows them only saves a look-up."""
    asked = fields[: fields.index(_HELD[0])] if _HELD[0] in fields else fields
    columns = dict.fromkeys((*fields, *_HELD))
    return Index(f"{table}_by_{'_'.join(asked)}", *columns)


def _column_type(hint: Any) -> Any:
    plain = next((one for one in getattr(hint, "__args__", (hint,)) if one is not type(None)), hint)
    return _COLUMN_TYPES[plain]


def _optional(hint: Any) -> bool:
    return type(None) in getattr(hint, "__args__", ())


BELIEFS: Final[dict[type[Any], Table]] = {
    Support: _belief_table(Support, "supports", ("drawer_id", *_HELD, *_WHEN), ("id",), ("key",)),
    Taken: _belief_table(Taken, "taken", ("drawer_id",), ("key",)),
    Tombstone: _belief_table(Tombstone, "tombstones", ("drawer_id",), ("key",)),
    Superseding: _belief_table(
        Superseding, "supersedings", ("drawer_id",), ("successor",), ("key",)
    ),
    Configured: _belief_table(Configured, "configurations", ("key",)),
    Embedding: _belief_table(Embedding, "embeddings", ("key",)),
    Attached: _belief_table(Attached, "attached_embeddings", ("key",), ("embedder",)),
    Place: _belief_table(Place, "places", ("key",), ("wing_key",)),
    Assertion: _belief_table(
        Assertion,
        "assertions",
        ("key", "object_key", *_HELD, *_WHEN),
        ("subject_key", "wing_key", *_HELD, *_WHEN),
        ("object_key", "wing_key", *_HELD, *_WHEN),
        ("predicate_key", "wing_key", "key", "valid_from", "object_key", *_HELD, *_WHEN, "opened"),
    ),
    Source: _belief_table(Source, "sources", ("assertion_id",), ("id",), ("key",)),
    Declared: _belief_table(Declared, "declared", ("key",)),
    Conflict: _belief_table(Conflict, "conflicts", ("key",), ("rank",), ("id",)),
    Alias: _belief_table(Alias, "aliases", ("key",), ("alias_key",), ("entity_key",)),
    Link: _belief_table(Link, "links", ("key",)),
    Tunnel: _belief_table(Tunnel, "tunnels", ("key",)),
    Closed: _belief_table(Closed, "closed_tunnels", ("key",)),
    Resolution: _belief_table(Resolution, "resolutions", ("key",), ("id",)),
    Job: _belief_table(Job, "jobs", ("key",), ("id",), ("wing_key",)),
    JobFile: _belief_table(JobFile, "job_files", ("key", "id"), ("job_id", "path", "outcome")),
}
_supports: Final = BELIEFS[Support]
Index(
    "supports_by_recorded_at",
    _supports.c.recorded_at.desc(),
    _supports.c.drawer_id,
    *(_supports.c[name] for name in _HELD),
)
Index(
    "supports_by_source_file",
    _supports.c.source_file,
    *(_supports.c[name] for name in ("drawer_id", *_HELD, *_WHEN)),
    sqlite_where=_supports.c.source_file.is_not(None),
)
_attached: Final = BELIEFS[Attached]
for _name in reversed(_HELD):
    Index(f"attached_embeddings_by_{_name}", _attached.c[_name])


class _Compiled(NamedTuple):
    """A statement for SQLite: its parameters in order, and the constants that are bound in it."""

    sql: str
    names: tuple[str, ...]
    constants: dict[str, Any]


class Prepared:
    """A statement compiled once, when it is first needed: a process that asks one thing does not
    wait for the statements of all others. Run as often as needed on a cursor of the driver.
    """

    def __init__(self, statement: ClauseElement) -> None:
        """Compile nothing yet."""
        self._statement = statement

    @property
    def sql(self) -> str:
        """The statement as SQLite takes it."""
        return self._compiled.sql

    @cached_property
    def _compiled(self) -> _Compiled:
        compiled = self._statement.compile(dialect=_DIALECT)
        assert isinstance(compiled, SQLCompiler)
        given = {name: value for name, value in compiled.params.items() if value is not None}
        return _Compiled(str(compiled), tuple(compiled.positiontup or ()), given)

    def __call__(self, cursor: sqlite3.Cursor, **parameters: Any) -> sqlite3.Cursor:
        """Execute with named parameters, which the driver takes faster by their places."""
        sql, names, constants = self._compiled
        if constants:
            parameters = constants | parameters
        return cursor.execute(sql, [parameters[name] for name in names])

    def many(self, cursor: sqlite3.Cursor, rows: Iterable[dict[str, Any]]) -> None:
        """Execute once for each row of named parameters; of a statement without constants.

        On a cursor of its own: one that executed many holds the statement, and with it the lock of
        a connection that is closed because it fails to roll back.
        """
        sql, names, _ = self._compiled
        cursor.connection.executemany(sql, ([row[name] for name in names] for row in rows))


def create(cursor: sqlite3.Cursor, *, read_indexes: bool = True) -> None:
    """Create every table and index in an empty views file.

    Args:
        read_indexes: also those that only reads ask; else `create_read_indexes` is to follow.
    """
    for statement in _creation():
        cursor.execute(statement)
    if read_indexes:
        create_read_indexes(cursor)


def create_read_indexes(cursor: sqlite3.Cursor) -> None:
    """Create the indexes that folds do without."""
    for statement in _creation_of_read_indexes():
        cursor.execute(statement)


@cache
def _creation() -> Sequence[str]:
    made: list[CreateTable | CreateIndex] = [CreateTable(one) for one in metadata.sorted_tables]
    made += [CreateIndex(index) for index in _indexes() if _serves_folds(index)]
    return [*(str(one.compile(dialect=_DIALECT)) for one in made), *_FULL_TEXT]


@cache
def _creation_of_read_indexes() -> Sequence[str]:
    made = [CreateIndex(index) for index in _indexes() if not _serves_folds(index)]
    return [str(one.compile(dialect=_DIALECT)) for one in made]


def _indexes() -> Iterator[Index]:
    for table in metadata.sorted_tables:
        yield from sorted(table.indexes, key=lambda one: str(one.name))


def _serves_folds(index: Index) -> bool:
    """Folds ask for the rows of a key, and for operations that were acknowledged."""
    first, *_ = index.columns
    return first.name in ("key", "op_id") or first.table is touches
