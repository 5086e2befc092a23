"""The table of DESIGN section 13: what a log answers to an event, and to a whole stream."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.acceptance import (
    Behind,
    Claim,
    Diverged,
    Duplicate,
    Forked,
    Gap,
    Later,
    Rejected,
    Stored,
    judge,
    judge_stream,
)
from domain.canonical import ZERO_HASH
from domain.operation import (
    EVENT_BYTES_MAX,
    NOTHING_YET,
    Draft,
    Recorded,
    StreamHead,
    record,
)

NONCE = bytes(16)


def next_after(
    before: StreamHead, payload: dict[str, Any] | None = None, recorded_at: int = 1, hlc: int = 1
) -> Recorded:
    return record(
        Draft("delete_drawer", payload or {"drawer_id": "d"}, {}),
        device="ada",
        host=None,
        before=before,
        recorded_at=recorded_at,
        hlc=hlc,
        nonce=NONCE,
    )


def head_at(event: Recorded) -> StreamHead:
    return StreamHead(event.header.local_seq, event.chain, event.header.hlc)


def stored_as(event: Recorded, position: int) -> Stored:
    return Stored(event.header.op_id, event.chain, position)


FIRST = next_after(NOTHING_YET)
SECOND = next_after(head_at(FIRST))
THIRD = next_after(head_at(SECOND))


def test_the_next_number_whose_chain_fits_is_taken() -> None:
    assert judge(FIRST, NOTHING_YET, None) is None
    assert judge(SECOND, head_at(FIRST), None) is None


def test_a_held_event_is_a_duplicate_at_the_position_where_it_is_held() -> None:
    assert judge(FIRST, head_at(SECOND), stored_as(FIRST, 7)) == Duplicate(7)
    assert judge(SECOND, head_at(SECOND), stored_as(SECOND, 9)) == Duplicate(9)


def test_the_same_operation_with_another_chain_is_forked_and_no_duplicate() -> None:
    """E23: clones that write the same delete at the same number have one op_id and two chains."""
    clone = next_after(head_at(FIRST), recorded_at=2)
    assert clone.header.op_id == SECOND.header.op_id
    assert clone.chain != SECOND.chain
    assert judge(clone, head_at(SECOND), stored_as(SECOND, 9)) == Forked(1)


def test_another_operation_at_a_held_number_is_forked() -> None:
    other = next_after(head_at(FIRST), {"drawer_id": "e"})
    assert judge(other, head_at(THIRD), stored_as(SECOND, 9)) == Forked(1)


def test_the_next_number_whose_chain_does_not_fit_is_forked_after_the_head() -> None:
    """E3: the log was copied or restored; the stream went two ways somewhere up to the head."""
    clone = next_after(head_at(FIRST), {"drawer_id": "e"})
    assert judge(THIRD, head_at(clone), None) == Forked(2)


def test_a_number_beyond_the_next_is_a_gap_that_names_the_one_expected() -> None:
    """E2: an operation dropped from the middle of a batch."""
    assert judge(THIRD, head_at(FIRST), None) == Gap(2)
    assert judge(THIRD, NOTHING_YET, None) == Gap(1)


@pytest.mark.parametrize("number", [0, -1, 2])
def test_a_number_that_no_new_event_can_have_is_malformed_although_its_chain_fits(
    number: int,
) -> None:
    header = THIRD.header._replace(local_seq=number)
    chain = sha256(SECOND.chain + header.encoded()).digest()
    forged = THIRD._replace(header=header, header_bytes=header.encoded(), chain=chain)
    outcome = judge(forged, head_at(SECOND), None)
    assert isinstance(outcome, Rejected)
    assert outcome.code == "replay::malformed"


def test_an_event_of_a_newer_schema_is_for_later_whatever_its_number() -> None:
    newer = SECOND._replace(header=SECOND.header._replace(schema=2))
    for head in (NOTHING_YET, head_at(FIRST), head_at(THIRD)):
        assert judge(newer, head, None) == Later("replay::newer_schema")


def test_an_event_over_the_limit_is_rejected_and_one_at_the_limit_is_taken() -> None:
    size = len(FIRST.header_bytes) + len(FIRST.payload or b"")
    assert FIRST.bytes_count() == size
    assert judge(FIRST, NOTHING_YET, None, event_bytes_max=size) is None
    outcome = judge(FIRST, NOTHING_YET, None, event_bytes_max=size - 1)
    assert isinstance(outcome, Rejected)
    assert outcome.code == "replay::too_large"
    assert EVENT_BYTES_MAX == 16 * 1024 * 1024


def test_what_the_sender_may_not_write_is_rejected_with_the_code_that_says_why() -> None:
    refusal = Rejected("replay::not_permitted", "this token may not write the wing")
    assert judge(FIRST, NOTHING_YET, None, permits=lambda _: refusal) == refusal


def test_permission_is_asked_only_of_an_event_that_would_be_taken() -> None:
    """A permission that was withdrawn later makes no duplicate, gap or fork into a rejection."""

    def permits(event: Recorded) -> Rejected:
        raise AssertionError("asked")

    assert judge(FIRST, head_at(SECOND), stored_as(FIRST, 7), permits) == Duplicate(7)
    assert judge(THIRD, NOTHING_YET, None, permits) == Gap(1)
    assert judge(SECOND, StreamHead(1, bytes(32), 1), None, permits) == Forked(1)


def test_a_voided_event_travels_without_its_payload_and_is_taken() -> None:
    voided = FIRST._replace(payload=None, nonce=None)
    assert voided.bytes_count() == len(FIRST.header_bytes)
    assert judge(voided, NOTHING_YET, None) is None


def chain_of(*names: str) -> list[bytes]:
    """A stream's chains at 0, 1, 2 ...: equal as far as the names before are equal."""
    return [
        ZERO_HASH,
        *(sha256("/".join(names[: n + 1]).encode()).digest() for n in range(len(names))),
    ]


def judged(
    here: list[bytes],
    there: list[bytes],
    *,
    acknowledged: int = 0,
    log_id: str | None = "log",
    position: int = 0,
    head_position: int = 100,
) -> object:
    def at(chains: list[bytes], number: int) -> bytes | None:
        assert number >= 1, "numbers begin at 1"
        return chains[number] if number < len(chains) else None

    claim = Claim(len(there) - 1, there[-1], acknowledged, there[acknowledged], log_id, position)
    return judge_stream(
        claim,
        log_id="log",
        position=head_position,
        head=StreamHead(len(here) - 1, here[-1], 1),
        chain_here=lambda number: at(here, number),
        chain_there=lambda number: at(there, number),
    )


ABC, ABCDE = chain_of("a", "b", "c"), chain_of("a", "b", "c", "d", "e")


def test_a_stream_that_continues_what_the_log_holds_is_taken_from_there() -> None:
    assert judged(ABC, ABCDE, acknowledged=3, position=50) is None
    assert judged(ABC, ABC, acknowledged=3, position=100) is None
    assert judged(chain_of(), ABC) is None
    assert judged(chain_of(), chain_of(), log_id=None) is None


def test_a_device_that_never_was_acknowledged_may_begin_with_any_log() -> None:
    assert judged(chain_of(), ABC, log_id=None) is None


def test_a_claim_without_an_acknowledgement_is_that_of_a_new_device() -> None:
    assert Claim(3, ABC[3]) == Claim(3, ABC[3], 0, bytes(32), None, 0)


def test_a_device_that_holds_less_of_its_stream_than_the_log_is_behind() -> None:
    assert judged(ABCDE, ABC, acknowledged=3, position=50) == Behind(5)
    assert judged(ABCDE, chain_of(), log_id=None) == Behind(5)


def test_a_log_that_is_another_one_diverged_and_the_device_resends_what_it_lacks() -> None:
    """E4: the primary was replaced by an empty one, or by one that holds a part."""
    assert judged(chain_of(), ABC, acknowledged=3, log_id="old") == Diverged(0)
    assert judged(ABC, ABCDE, acknowledged=5, log_id="old") == Diverged(3)
    assert judged(ABCDE, ABC, acknowledged=3, log_id="old") == Diverged(3)


def test_a_log_that_lost_what_it_acknowledged_diverged() -> None:
    """E4: the primary was restored from an older backup under its own log_id."""
    assert judged(ABC, ABCDE, acknowledged=5, position=50) == Diverged(3)
    assert judged(ABC, ABC, acknowledged=3, position=101) == Diverged(3)


def test_a_fork_is_told_before_anything_else() -> None:
    copy = chain_of("a", "b", "x", "y")
    assert judged(copy, ABCDE, acknowledged=5, log_id="old", position=500) == Forked(2)
    assert judged(chain_of("x"), ABC) == Forked(0)


@given(common=st.integers(0, 20), here=st.integers(0, 20), there=st.integers(0, 20))
def test_a_fork_names_the_last_number_at_which_both_agree(
    common: int, here: int, there: int
) -> None:
    shared = [str(n) for n in range(common)]
    mine = chain_of(*shared, *(f"here {n}" for n in range(here)))
    theirs = chain_of(*shared, *(f"there {n}" for n in range(there)))
    outcome = judged(mine, theirs)
    if here and there:
        assert outcome == Forked(common)
    else:
        assert outcome == (Behind(common + here) if here else None)
