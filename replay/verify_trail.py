"""Verifying the audit trail: each segment read again, and compared with all that ties it together.

Protects the evidence: after a flipped bit either a segment says the same, or it is named. Looks at
the files themselves and writes nothing; a month that cannot be read says nothing of the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from projections import trail as tables
from projections.sqlite import connect, snapshot
from replay.scan import Finding, scan
from replay.store import decode_row
from replay.verify import integrity


def verify_segment(path: Path) -> list[Finding]:
    """What is wrong with a segment, codes `trail::...`; nothing with one that is just being made.

    Raises:
        OSError: the file cannot be opened.
    """
    try:
        with (
            closing(connect(path, synchronous="NORMAL", read_only=True)) as connection,
            snapshot(connection) as cursor,
        ):
            if tables.is_made(cursor):
                return _of_tables(cursor)
            [(held,)] = cursor.execute("SELECT count(*) FROM sqlite_master").fetchall()
            said = "it lacks tables that a segment has"
            return [Finding(None, None, "trail::tables", said)] if held else []
    except sqlite3.DatabaseError as error:
        return [Finding(None, None, "trail::unreadable", f"it cannot be read ({error})")]


def _of_tables(cursor: sqlite3.Cursor) -> list[Finding]:
    damage = integrity(cursor, "trail")
    _, found = scan(cursor, None, lambda done, total: None, intact=not damage)
    damage += [one._replace(code=one.code.replace("log::", "trail::")) for one in found]
    # Where the events themselves are not what was written, their lines prove nothing.
    return damage or list(_of_lines(cursor))


def _of_lines(cursor: sqlite3.Cursor) -> Iterator[Finding]:
    """Lines by which events are found that do not say what the events say."""
    events = 0
    for place, stream, local_seq, state, line in tables.events_and_lines(cursor):
        events += 1
        operation = decode_row(place, stream, local_seq, state)
        said = operation.payload()
        if line != tables.line_of(operation, said.get("code"), said["times"]):
            message = f"the line of event {place} is not what the event says"
            yield Finding(place, None, "trail::line", message)
    lines, *_ = tables.counts(cursor)
    if lines > events:
        yield Finding(None, None, "trail::line", f"it holds {events} events and {lines} lines")
