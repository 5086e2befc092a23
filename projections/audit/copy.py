"""The file of the audit copy: caught up, asked, closed; made anew whenever it is in doubt.

Protects the palace from its own copy: a copy of another log, of another schema, ahead of the log or
damaged is removed and made again, so nobody has to repair it. The caller holds the audit lock.
Questions of a person run on a connection that can read this one file and do nothing else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb

from domain.errors import Damaged, Unusable
from projections.audit import schema
from projections.audit.sources import Source, StartAnew
from projections.reading import Reading

COPY_FILE: Final = "audit.duckdb"
MEMORY: Final = "1GB"
SPILLED: Final = "4GB"
"""What a question may put on the disk for a while, where it does not fit into memory."""
_PRIVATE: Final = 0o077
_AGAIN_SECONDS: Final = 0.05
_CLOSED: Final[dict[str, Any]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": MEMORY,
    "max_temp_directory_size": SPILLED,
}
_LOCKED_IN: Final[dict[str, Any]] = _CLOSED | {"enable_external_access": "false"}
_SAVE_ABOUT: Final = "INSERT OR REPLACE INTO stored.about VALUES (?, ?)"
A = TypeVar("A")
Question = Callable[[duckdb.DuckDBPyConnection], A]


class AuditCopy:
    """The copy of one palace."""

    def __init__(self, folder: Path, sources: Sequence[Source], zone: str) -> None:
        """Look at a palace's folder; nothing is opened.

        Args:
            sources: what is copied.
            zone: IANA zone of times without one, and of days.
        """
        self.path = folder / COPY_FILE
        self._sources = sources
        self._zone = zone

    def ask(self, reading: Reading, question: Question[A], *, locked_in: bool = False) -> A:
        """Catch up with a reading, and put a question to the copy.

        Args:
            locked_in: the question is a person's: read this file and do nothing else.

        Raises:
            Unusable: `palacelog::audit::busy`, another program has the file open;
                `palacelog::storage::full`.
            Damaged: `palacelog::audit::damaged`, a copy that was just made cannot be read.
        """
        with _private(), _interruptible(), self._without_leftovers():
            try:
                return self._ask(reading, question, locked_in)
            except duckdb.Error as error:
                _stop_where_it_is_not_the_copy(error)
            self._remove()
            try:
                return self._ask(reading, question, locked_in)
            except duckdb.Error as error:
                _stop_where_it_is_not_the_copy(error)
                raise Damaged(
                    "audit::damaged",
                    f"A copy that was just made cannot be read ({type(error).__name__}).",
                    f"Look at the disk; {self.path.name} can be removed at any time.",
                ) from error

    def _ask(self, reading: Reading, question: Question[A], locked_in: bool) -> A:
        with self._open() as connection:
            ready = self._fits(connection, reading) and self._added(connection, reading)
            if ready and not locked_in:
                return question(connection)
        if not ready:
            self._remove()
            with self._open() as connection:
                _transaction(connection, lambda: _create(connection, reading))
                self._catch_up(connection, reading)
        with self._open(locked_in=locked_in) as connection:
            return _waited_for(connection, question)

    @contextmanager
    def _open(self, *, locked_in: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        config = _LOCKED_IN if locked_in else _CLOSED
        connection = duckdb.connect(str(self.path), read_only=locked_in, config=config)
        try:
            connection.execute(f"SET TimeZone = {quoted(self._zone)}")
            connection.execute("SET enable_progress_bar = false")  # it goes to standard output
            if locked_in:
                connection.execute("SET lock_configuration = true")
            yield connection
        finally:
            connection.close()

    def _fits(self, connection: duckdb.DuckDBPyConnection, reading: Reading) -> bool:
        """Whether what was copied is a beginning of what is to be copied."""
        try:
            about = dict(connection.execute("SELECT name, value FROM stored.about").fetchall())
        except duckdb.CatalogException:
            return False
        return (
            about.get("schema") == schema.COPY_SCHEMA
            and about.get("log_id") == reading.checkpoint.log_id
            and (after := int(about.get("position", -1))) >= 0
            and after <= reading.position
        )

    def _added(self, connection: duckdb.DuckDBPyConnection, reading: Reading) -> bool:
        """Catch up; whether adding to what was copied is enough."""
        try:
            self._catch_up(connection, reading)
        except StartAnew:
            return False
        return True

    def _catch_up(self, connection: duckdb.DuckDBPyConnection, reading: Reading) -> None:
        """All sources in one transaction, so that the copy is of one moment."""

        def work() -> None:
            for source in self._sources:
                source.catch_up(connection, reading, after)
            connection.execute(_SAVE_ABOUT, ["position", str(reading.position)])

        found = connection.execute("SELECT value FROM stored.about WHERE name = 'position'")
        after = int(found.fetchall()[0][0])
        _transaction(connection, work)

    @contextmanager
    def _without_leftovers(self) -> Iterator[None]:
        """What a question has put on the disk goes with it, also that of one that was killed."""
        spilled = self.path.with_name(f"{self.path.name}.tmp")
        try:
            yield
        finally:
            shutil.rmtree(spilled, ignore_errors=True)

    def _remove(self) -> None:
        for path in (self.path, self.path.with_name(f"{self.path.name}.wal")):
            path.unlink(missing_ok=True)


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _create(connection: duckdb.DuckDBPyConnection, reading: Reading) -> None:
    for statement in schema.creation():
        connection.execute(statement)
    about = {"schema": schema.COPY_SCHEMA, "log_id": reading.checkpoint.log_id, "position": "0"}
    for name, value in about.items():
        connection.execute(_SAVE_ABOUT, [name, value])


def _transaction(connection: duckdb.DuckDBPyConnection, work: Callable[[], None]) -> None:
    """Do it as one; what fails leaves nothing, as the connection is closed then."""
    connection.begin()
    work()
    connection.commit()


def _stop_where_it_is_not_the_copy(error: duckdb.Error) -> None:
    """Raise what making the copy anew would not cure.

    Raises:
        Unusable: another program has the file open, or the disk is full.
    """
    text = str(error).lower()
    if "lock" in text and isinstance(error, duckdb.IOException):
        raise Unusable(
            "audit::busy",
            "Another program has the audit copy open.",
            "Close it there, and ask again.",
        ) from error
    if "no space left" in text or "disk quota" in text:
        raise Unusable(
            "storage::full",
            "There is no room left to copy the log for the audit.",
            "Free some space and ask again; the palace itself is not touched.",
        ) from error


def _waited_for(connection: duckdb.DuckDBPyConnection, question: Question[A]) -> A:
    """Ask in a thread: DuckDB looks for signals only now and then, who waits is stopped at once."""
    with ThreadPoolExecutor(1) as asking:
        answer = asking.submit(question, connection)
        try:
            # Who waits without an end is not woken where another thread takes the signal.
            while wait([answer], _AGAIN_SECONDS).not_done:
                pass
            return answer.result()
        except KeyboardInterrupt:
            # An interrupt that comes before the question has begun is forgotten.
            while wait([answer], _AGAIN_SECONDS).not_done:
                connection.interrupt()
            raise


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C within stops as it does elsewhere: DuckDB has words of its own for it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


@contextmanager
def _private() -> Iterator[None]:
    """What is made within is for its owner alone: DuckDB makes files as the process is told to."""
    before = os.umask(_PRIVATE)
    try:
        yield
    finally:
        os.umask(before)
