"""The hybrid clock: a device's order is kept, and a clock that is ahead gains five minutes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from domain.hlc import AHEAD_US_MAX, next_hlc, received_order, stamp_at
from domain.operation import rank, stamp_of

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
YEAR = 365 * DAY
NOW = 1_785_078_245_678_901

jumps = st.sampled_from([0, 1, 999, 1_000, SECOND, -SECOND, MINUTE, -DAY, DAY, YEAR, -YEAR])
names = st.from_regex(r"[a-z0-9-]{1,4}(~[2-9])?", fullmatch=True)
places = st.tuples(
    st.integers(0, 2**63 - 1) | st.integers(0, 2),
    names,
    st.sampled_from(["shared", "local"]),
    st.integers(1, 2**40) | st.integers(1, 3),
    st.integers(0, 2**32 - 1) | st.integers(0, 2),
)


def test_a_stamp_holds_milliseconds_above_sixteen_bits_of_counter() -> None:
    assert stamp_at(1_999) == 1 << 16
    assert stamp_at(NOW) == 1_785_078_245_678 << 16


def test_a_new_stamp_is_the_clock_s_or_one_above_the_highest_held() -> None:
    assert next_hlc(-1, NOW) == stamp_at(NOW)
    assert next_hlc(stamp_at(NOW), NOW) == stamp_at(NOW) + 1
    assert next_hlc(stamp_at(NOW + DAY), NOW) == stamp_at(NOW + DAY) + 1
    assert next_hlc(stamp_at(NOW - DAY), NOW) == stamp_at(NOW)


def test_the_first_stamp_of_a_clock_before_the_epoch_still_has_a_place() -> None:
    assert next_hlc(-1, -DAY) == 0
    assert received_order(-1, -5, NOW) == 0


def test_what_arrives_keeps_its_claim_unless_it_is_too_far_ahead() -> None:
    assert received_order(-1, stamp_at(NOW - YEAR), NOW) == stamp_at(NOW - YEAR)
    just_within = stamp_at(NOW + 5 * MINUTE)
    assert received_order(-1, just_within, NOW) == just_within
    assert received_order(-1, just_within + 1, NOW) == just_within
    assert received_order(-1, stamp_at(NOW + YEAR), NOW) == just_within
    assert AHEAD_US_MAX == 5 * MINUTE


def test_what_arrives_stays_behind_what_came_before_it_in_its_stream() -> None:
    assert received_order(stamp_at(NOW), stamp_at(NOW - DAY), NOW) == stamp_at(NOW) + 1
    ahead = stamp_at(NOW + YEAR)
    assert received_order(ahead, ahead + 1, NOW) == ahead + 1


def test_a_clock_a_year_ahead_does_not_beat_what_others_do_later() -> None:
    """L27."""
    fast = received_order(-1, next_hlc(-1, NOW + YEAR), NOW)
    others_hlc = next_hlc(-1, NOW + 6 * MINUTE)
    other = received_order(-1, others_hlc, NOW + 6 * MINUTE)
    assert other > fast
    assert rank(other, "ada", "shared", 1, 0) > rank(fast, "bob", "shared", 9, 0)


@given(st.lists(st.tuples(jumps, jumps), min_size=1, max_size=30))
def test_a_device_s_order_is_kept_whatever_its_clock_does(ticks: list[tuple[int, int]]) -> None:
    """E11: set back a day mid-run, set a year ahead, equal times; here and at a receiver."""
    clock, logged_at, hlc, order = NOW, NOW, -1, -1
    for device_jump, waited in ticks:
        clock += device_jump
        logged_at += max(1, waited)
        hlc, before_hlc = next_hlc(hlc, clock), hlc
        order, before = received_order(order, hlc, logged_at), order
        assert hlc > before_hlc
        assert hlc >= stamp_at(clock)
        assert order > before
        assert order <= max(before + 1, stamp_at(logged_at + 5 * MINUTE))
        assert order == before + 1 or order <= hlc


@given(st.lists(st.tuples(st.integers(0, 2), jumps), max_size=40))
def test_what_a_device_writes_stands_after_all_that_it_holds(
    turns: list[tuple[int, int]],
) -> None:
    """Three devices with clocks of their own, each taking all that the others wrote."""
    clocks, written = [NOW, NOW - DAY, NOW + YEAR], [-1]
    for device, jump in turns:
        clocks[device] += jump
        stamp = next_hlc(max(written), clocks[device])
        assert stamp > max(written)
        written.append(stamp)


@given(places, places)
def test_ranks_sort_as_the_canonical_order_does(
    left: tuple[int, str, str, int, int], right: tuple[int, str, str, int, int]
) -> None:
    assert (rank(*left) < rank(*right)) == (left < right)
    assert (rank(*left) == rank(*right)) == (left == right)
    assert stamp_of(rank(*left)) == left[0]


def test_a_device_whose_name_begins_another_s_sorts_before_it() -> None:
    ranks = [rank(1, name, "shared", 9, 9) for name in ("a", "a-b", "a0", "ab", "a~2")]
    assert ranks == sorted(ranks)
    assert ranks[0] == b"\x00" * 7 + b"\x01" + b"a\x00shared\x00" + b"\x00" * 7 + b"\x09" + bytes(
        [0, 0, 0, 9]
    )
