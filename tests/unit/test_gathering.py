"""Notes that wait: written once, in order, and repeats as one event that counts them."""

from __future__ import annotations

import pytest

from domain.operation import Context
from domain.trail import NOTHING_SEEN, Note, Seen, asked_bytes, seen_in, storable_context
from replay import gathering
from replay.gathering import HELD, QUICKLY, Gathering

SECOND = 1_000_000


def note(at: int, tool: str = "status", session: str = "s", seen: Seen = NOTHING_SEEN) -> Note:
    return Note(tool, b"{}", Context(session=session), seen, None, at)


def taken(gathered: Gathering, now: int, *, everything: bool = False) -> list[tuple[str, int, int]]:
    return [
        (one.tool, one.first_at, one.times) for one in gathered.take(now, everything=everything)
    ]


def test_notes_are_given_out_once_and_in_order() -> None:
    gathered = Gathering()
    assert all(gathered.add(note(at, tool)) for at, tool in ((2, "b"), (1, "a"), (3, "c")))
    assert gathered.waiting == 3
    assert taken(gathered, 4) == [("a", 1, 1), ("b", 2, 1), ("c", 3, 1)]
    assert taken(gathered, 5, everything=True) == []
    assert gathered.waiting == 0


def test_calls_differ_by_who_asked_what_and_what_was_seen() -> None:
    gathered = Gathering()
    gathered.add(note(1))
    gathered.add(note(2, session="other"))
    gathered.add(note(3, seen=Seen("log", 1, ("id",), (), 1)))
    gathered.add(note(4, seen=Seen("log", 2, ("id",), (), 1)))
    assert [times for _, _, times in taken(gathered, 5)] == [1, 1, 2]


def test_repeats_are_held_back_and_counted() -> None:
    gathered = Gathering()
    gathered.add(note(0))
    assert taken(gathered, 0) == [("status", 0, 1)]
    for second in range(1, 30):
        gathered.add(note(second * SECOND))
        assert taken(gathered, second * SECOND) == []
    assert gathered.waiting == 1
    assert taken(gathered, 29 * SECOND + QUICKLY) == []
    assert taken(gathered, 29 * SECOND + QUICKLY + 1) == [("status", SECOND, 29)]


def test_a_poll_that_does_not_end_is_written_now_and_then() -> None:
    gathered = Gathering()
    written = []
    for second in range(200):
        gathered.add(note(second * SECOND))
        written += taken(gathered, second * SECOND)
    written += taken(gathered, 200 * SECOND, everything=True)
    assert sum(times for _, _, times in written) == 200
    assert 4 <= len(written) <= 2 + 200 * SECOND // HELD


def test_a_call_after_a_pause_is_no_repeat_even_if_the_repeats_still_wait() -> None:
    gathered = Gathering()
    gathered.add(note(0))
    taken(gathered, 0)
    gathered.add(note(1))
    gathered.add(note(2 + QUICKLY))
    assert gathered.waiting == 2
    assert taken(gathered, 2 + QUICKLY) == [("status", 1, 1), ("status", 2 + QUICKLY, 1)]


def test_a_clock_that_runs_back_holds_nothing_for_ever() -> None:
    gathered = Gathering()
    gathered.add(note(100 * SECOND))
    taken(gathered, 100 * SECOND)
    gathered.add(note(101 * SECOND))
    gathered.add(note(5))
    assert taken(gathered, 5) == [("status", 101 * SECOND, 2)]


def test_beyond_a_bound_notes_are_not_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "WAITING_MAX", 2)
    gathered = Gathering()
    found = [gathered.add(note(at, tool)) for at, tool in ((1, "a"), (2, "b"), (3, "c"), (4, "a"))]
    assert found == [True, True, False, True], "a repeat takes no room"
    assert taken(gathered, 5) == [("a", 1, 2), ("b", 2, 1)]


def test_only_some_polls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "POLLS_MAX", 2)
    gathered = Gathering()
    for at, tool in enumerate("abc"):
        gathered.add(note(at, tool))
    taken(gathered, 3)
    gathered.add(note(4, "a"))
    gathered.add(note(5, "c"))
    assert taken(gathered, 6) == [("a", 4, 1)]
    assert taken(gathered, 6, everything=True) == [("c", 5, 1)]


def test_what_an_answer_showed_is_its_ids_and_wings_and_no_text() -> None:
    answer = {
        "log_id": "log_1",
        "position": 7,
        "total": 9,
        "drawers": [{"id": "d1", "wing": "Home ", "preview": "text"}, {"id": "d2", "wing": "home"}],
        "fact": {"fact_id": "f1", "sources": [{"drawer_id": "d3"}]},
        "cursor": "c",
    }
    assert seen_in(answer) == ("log_1", 7, ("d1", "d2", "f1"), ("home", "home"), 9)
    assert seen_in({"head": 3}) == (None, 3, (), (), 0)


def test_what_nobody_checked_is_noted_as_far_as_an_event_can_hold_it() -> None:
    assert asked_bytes({"b": 1, "a": object()}) == b"{}"
    assert asked_bytes({"b": 1, "a": 2}) == b'{"a":2,"b":1}'
    who: Context = Context(agent="\x00", client=["x"], session="s", session_mode="?")  # type: ignore[arg-type]
    assert storable_context(who) == Context(session="s", session_mode="unknown")
