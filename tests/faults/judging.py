"""What must hold after a fault, whatever it was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.errors import PalaceError
from domain.operation import Operation
from palacelog.bootstrap import House, open_palace
from palacelog.folder import PalaceFolder
from replay.verify import Finding, verify
from tests.faults.work import note
from tests.palaces import operations, rebuilt_equals_live


def findings(folder: Path) -> list[Finding]:
    """What `verify` says of a palace."""
    palace = PalaceFolder(folder)
    return verify(palace.log, palace.views).findings


def sound(
    folder: Path, acknowledged: Collection[str] = (), *, brings: Collection[str] = ()
) -> list[Operation]:
    """That a palace is whole and goes on; returns what it held before it went on.

    Nothing acknowledged is missing or doubled, no number is left out, `verify` has nothing to say,
    the views equal their rebuild, and a write succeeds.

    Args:
        brings: what `verify` finds all the same, until the palace is opened.
    """
    assert sorted(one.code for one in findings(folder)) == sorted(brings)
    with open_palace(folder) as house:
        held = operations(house)
        unbroken(held, acknowledged)
        assert note(house, f"after {len(held)}")["position"] == len(held) + 1
        rebuilt_equals_live(house)
    assert findings(folder) == []
    return held


def unbroken(held: list[Operation], acknowledged: Collection[str]) -> None:
    """Positions and numbers without a hole, each acknowledged operation once."""
    assert [one.position for one in held] == list(range(1, len(held) + 1))
    streams: dict[str, list[int]] = {}
    for one in held:
        streams.setdefault(one.recorded.stream_id, []).append(one.header.local_seq)
    for numbers in streams.values():
        assert numbers == list(range(1, len(numbers) + 1))
    ids = [one.header.op_id for one in held]
    assert len(ids) == len(set(ids))
    assert len(acknowledged) == len(set(acknowledged))
    missing = set(acknowledged) - set(ids)
    assert not missing, f"{len(missing)} acknowledged operations are lost"


@contextmanager
def refused(code: str) -> Any:
    """What is called within raises `palacelog::<code>` and says what is wrong and what to do."""
    with pytest.raises(PalaceError) as caught:
        yield caught
    explained(caught.value)
    assert caught.value.code == f"palacelog::{code}", caught.value


def error_of(attempt: Callable[[], object]) -> PalaceError | None:
    """The error that it raises, which must say what is wrong and what to do; else None."""
    try:
        attempt()
    except PalaceError as error:
        explained(error)
        return error
    return None


def explained(error: PalaceError) -> None:
    """That an error has a code, a sentence and a cure."""
    answer = error.as_answer()
    assert answer["code"].startswith("palacelog::"), answer
    assert answer["error"], answer
    assert answer["help"], answer


def bytes_of(held: Iterable[Operation]) -> list[tuple[Any, ...]]:
    """Everything that is stored of operations, header as bytes."""
    return [
        (
            one.position,
            one.recorded.header_bytes,
            one.recorded.payload,
            one.recorded.nonce,
            one.recorded.chain,
            one.logged_at,
            one.order_hlc,
            one.link,
        )
        for one in held
    ]


def goes_on(house: House) -> None:
    """That reads answer and a write succeeds."""
    before = house.palace.call("list_operations", {})["total"]
    answer = note(house, f"going on after {before}")
    assert answer["position"] == before + 1
    assert house.palace.call("list_operations", {})["total"] == before + 1
