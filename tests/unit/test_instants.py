"""The rules of DESIGN section 6 and of cases L1 to L4, held against domain/instants.py."""

import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from freezegun import freeze_time
from hypothesis import example, given
from hypothesis import strategies as st

from domain import instants
from domain.instants import EARLIEST, ENDLESS, LATEST, InstantError, Reach, show, shown, zone_named

START, END, POINT = Reach.START, Reach.END, Reach.POINT
HOUR = 3_600_000_000
DAY = 24 * HOUR
NOW = 1_785_078_245_678_901
NOW_SHOWN = "2026-07-26T15:04:05.678901Z"
TOKYO, NEW_YORK, PARIS = "Asia/Tokyo", "America/New_York", "Europe/Paris"

NO_FORM = "none of the accepted forms"
NOT_REAL = "names no real date"
YEARS = "outside the years 1 to 9999"


def at(text: str, zone: str | tzinfo = "UTC", reach: Reach = START, now: int = NOW) -> int:
    return instants.parse(text, zone=zone, now=now, reach=reach)


def seen(text: str, zone: str | tzinfo = "UTC", reach: Reach = START) -> str:
    return show(at(text, zone, reach))


def known_at(text: str, zone: str = "UTC") -> instants.KnownAt:
    return instants.parse_known_at(text, zone, NOW)


@pytest.mark.parametrize(
    ("text", "instant"),
    [("1970-01-01T00:00:00.000000Z", 0), ("1970-01-01T00:00:00.000001Z", 1),
     ("1969-12-31T23:59:59.999999Z", -1), (NOW_SHOWN, NOW),
     ("0001-01-01T00:00:00.000000Z", EARLIEST), ("9999-12-31T23:59:59.999999Z", LATEST)],
)  # fmt: skip
def test_an_instant_is_microseconds_and_shows_as_six_digits_and_z(text: str, instant: int) -> None:
    assert at(text) == instant
    assert show(instant) == shown(instant) == text


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize(
    ("text", "meant"),
    [("26t15:04:05z", "26T15:04:05.000000"), ("26 15:04Z", "26T15:04:00.000000"),
     ("26T15:04", "26T15:04:00.000000"), ("26T15:04:05", "26T15:04:05.000000"),
     ("26T15:04:05.5Z", "26T15:04:05.500000"), ("26T15:04:05.00005", "26T15:04:05.000050"),
     ("26T15:04:05+02:00", "26T13:04:05.000000"), ("26T15:04-03:30", "26T18:34:00.000000"),
     ("26T00:00+23:59", "25T00:01:00.000000"), ("26T00:00-23:59", "26T23:59:00.000000"),
     ("26T00:00-00:00", "26T00:00:00.000000"), ("26T15:04\t \n", "26T15:04:00.000000")],
)  # fmt: skip
def test_a_date_and_time_has_one_meaning_at_any_reach(text: str, meant: str, reach: Reach) -> None:
    assert seen(f" 2026-07-{text}", reach=reach) == f"2026-07-{meant}Z"


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize(
    ("text", "back"),
    [("now", 0), ("NOW", 0), ("-0m", 0), ("-30m", HOUR // 2), ("-2h", 2 * HOUR), ("-7d", 7 * DAY)],
)  # fmt: skip
def test_a_relative_text_is_one_instant_at_any_reach(text: str, back: int, reach: Reach) -> None:
    assert at(text, reach=reach) == NOW - back


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [("2026-07-26", "2026-07-26", "2026-07-27"), ("20260726", "2026-07-26", "2026-07-27"),
     (" 2026-07-26\t", "2026-07-26", "2026-07-27"), ("2024-02-29", "2024-02-29", "2024-03-01"),
     ("2026-12-31", "2026-12-31", "2027-01-01"), ("2026-02", "2026-02-01", "2026-03-01"),
     ("2026-12", "2026-12-01", "2027-01-01"), ("2026", "2026-01-01", "2027-01-01"),
     ("0001", "0001-01-01", "0002-01-01"), ("today", "2026-07-26", "2026-07-27"),
     ("Today", "2026-07-26", "2026-07-27"), ("YESTERDAY", "2026-07-25", "2026-07-26")],
)  # fmt: skip
def test_a_bare_period_starts_at_its_first_instant_and_reaches_through_its_last(
    text: str, first: str, after: str
) -> None:
    assert seen(text, reach=START) == f"{first}T00:00:00.000000Z"
    assert seen(text, reach=END) == f"{after}T00:00:00.000000Z"
    assert at(text, reach=POINT) == at(text, reach=END) - 1


def test_today_is_the_day_that_the_zone_has_now_and_a_relative_day_is_24_hours() -> None:
    assert at("today", TOKYO) == at("2026-07-27T00:00+09:00")
    assert at("yesterday", NEW_YORK) == at("2026-07-25T00:00-04:00")
    after_a_clock_change = at("2026-03-29T12:00", PARIS)
    assert at("-1d", PARIS, now=after_a_clock_change) == after_a_clock_change - DAY
    assert at("yesterday", PARIS, now=after_a_clock_change) == at("2026-03-28", PARIS)


def test_a_bare_date_as_an_end_or_a_point_reaches_through_that_day_and_no_further() -> None:
    memory = at("2026-03-31T15:00Z")
    assert at("2026-03-30", reach=END) <= memory < at("2026-03-31", reach=END)
    last = at("2026-07-26T23:59:59.999999Z", reach=POINT)
    assert at("2026-07-26", reach=POINT) == at("20260726", reach=POINT) == last


def test_a_fact_valid_for_one_date_is_true_within_that_day_only() -> None:
    valid_from, valid_to = at("2026-05-06", reach=START), at("2026-05-06", reach=END)
    assert valid_from <= at("2026-05-06T15:00Z") < at("2026-05-06", reach=POINT) < valid_to
    assert at("2026-05-05", reach=POINT) < valid_from < valid_to <= at("2026-05-07T00:00Z")


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), (TOKYO, 9), (NEW_YORK, -4)])
def test_a_time_without_a_zone_is_in_the_configured_one(zone: str, hours: int) -> None:
    assert at("2026-07-26T12:00Z", zone) - at("2026-07-26T12:00", zone) == hours * HOUR


@pytest.fixture(params=[(TOKYO, 9), (NEW_YORK, -5), ("UTC", 0)])
def _host_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    name, hours_in_winter = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        assert time.localtime(1_767_225_600).tm_gmtoff == hours_in_winter * 3600
        yield
    time.tzset()


@pytest.mark.usefixtures("_host_zone")
@pytest.mark.parametrize(
    ("text", "zone", "reach", "understood"),
    [("2026-03-31", "UTC", END, "2026-04-01T00:00:00.000000Z"),
     ("2026-03-31", "UTC", POINT, "2026-03-31T23:59:59.999999Z"),
     ("2026-03-31T15:00", "UTC", START, "2026-03-31T15:00:00.000000Z"),
     ("2026-03-31T15:00", PARIS, START, "2026-03-31T13:00:00.000000Z"),
     ("2026-03-31", PARIS, END, "2026-03-31T22:00:00.000000Z"),
     ("today", "UTC", START, "2026-07-26T00:00:00.000000Z"),
     ("yesterday", PARIS, END, "2026-07-25T22:00:00.000000Z"), ("now", "UTC", START, NOW_SHOWN)],
)  # fmt: skip
def test_a_text_means_the_same_on_hosts_in_any_zone(
    text: str, zone: str, reach: Reach, understood: str
) -> None:
    assert seen(text, zone, reach) == understood


@pytest.mark.parametrize("host_time", ["2001-01-01", "2030-06-15"])
@pytest.mark.parametrize("text", ["now", "today", "yesterday", "-7d", "2026-07-26", "2026-07"])
def test_a_text_means_the_same_whatever_the_host_clock_says(text: str, host_time: str) -> None:
    expected = at(text, PARIS, POINT)
    with freeze_time(host_time):
        assert datetime.now(UTC).isoformat().startswith(host_time)
        assert at(text, PARIS, POINT) == expected


@pytest.mark.parametrize(
    ("zone", "day", "first_instant", "hours"),
    [(PARIS, "2026-03-28", "2026-03-27T23:00", 24), (PARIS, "2026-03-29", "2026-03-28T23:00", 23),
     ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30", 23.5),
     # Midnight skipped: 00:00 became 01:00.
     ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00", 23),
     ("Asia/Beirut", "2022-03-27", "2022-03-26T22:00", 23),
     # Midnight skipped from before: 23:30 became 00:30.
     ("America/Toronto", "1919-03-31", "1919-03-31T04:30", 23.5),
     # The hour before midnight, and midnight itself, happen twice.
     ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00", 25),
     ("America/Havana", "2026-11-01", "2026-11-01T04:00", 25),
     # 00:01 became 23:01 of the day before: a day once begun is not left again.
     ("America/St_Johns", "2010-11-07", "2010-11-07T02:30", 25),
     # The whole day skipped: it is empty, and its first instant is the next day's.
     ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00", 0),
     ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00", 24)],
)  # fmt: skip
def test_a_local_day_starts_and_ends_where_its_clocks_make_it(
    zone: str, day: str, first_instant: str, hours: float
) -> None:
    assert seen(day, zone) == f"{first_instant}:00.000000Z"
    assert at(day, zone, END) - at(day, zone, START) == hours * HOUR


@pytest.mark.parametrize(
    ("zone", "text", "same_as"),
    [(PARIS, "2026-10-25T02:30", "2026-10-25T02:30+02:00"),
     (NEW_YORK, "2026-11-01T01:30", "2026-11-01T01:30-04:00"),
     (PARIS, "2026-03-29T02:30", "2026-03-29T03:30+02:00"),
     ("America/Sao_Paulo", "2018-11-04T00:00", "2018-11-04T01:00-02:00"),
     ("America/Toronto", "1919-03-31T00:00", "1919-03-31T01:00-04:00")],
)  # fmt: skip
def test_a_time_that_is_twice_is_the_first_and_a_skipped_one_moves_on(
    zone: str, text: str, same_as: str
) -> None:
    assert at(text, zone) == at(same_as)


@given(
    st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    st.sampled_from(
        ["America/Havana", "America/Sao_Paulo", "America/St_Johns", "America/Toronto",
         "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", PARIS, "UTC"]),
)  # fmt: skip
@example(date(2018, 11, 4), "America/Sao_Paulo")
@example(date(1919, 3, 31), "America/Toronto")
@example(date(2011, 12, 30), "Pacific/Apia")
def test_days_start_at_the_first_instant_not_before_them(day: date, zone: str) -> None:
    start, following = at(day.isoformat(), zone), (day + timedelta(days=1)).isoformat()
    after = datetime.fromisoformat(show(start)).astimezone(ZoneInfo(zone)).date()
    before = datetime.fromisoformat(show(start - 1)).astimezone(ZoneInfo(zone)).date()
    assert before < day <= after
    assert at(day.isoformat(), zone, END) == at(following, zone)


def test_a_zone_may_be_given_by_name_or_as_an_object() -> None:
    assert seen("2026-07-26", timezone(timedelta(hours=5.75))) == "2026-07-25T18:15:00.000000Z"
    assert at("2026-07-26", ZoneInfo(TOKYO)) == at("2026-07-26", TOKYO)
    assert datetime(2026, 7, 26, 12, tzinfo=UTC).astimezone(zone_named(TOKYO)).hour == 21
    assert zone_named("UTC") is UTC


def test_a_zone_object_without_an_offset_is_a_mistake_of_the_program() -> None:
    class Nowhere(tzinfo):
        def utcoffset(self, _: datetime | None) -> None:
            return None

        dst = tzname = utcoffset

    with pytest.raises(ValueError, match="no offset from UTC"):
        at("2026-07-26", Nowhere())


FORMS = ["1111-11-11T11:11:11.1+11:11", "11111111", "1111-11-11", "-1d"]
REJECTED = {
    NO_FORM: [
        "", "   ", "Jan 2026", "03/01/2026", "tomorrow", "24:00", "12:30", "202607", "2026-7-26",
        "2026-0726", "202607-26", "2026-W30", "2026-207", "12026-07-26", "-2026", "+2026-07-26",
        "2026-07-26Z", "2026-07-26T", "2026-07-26T10", "2026-07-26T10Z", "2026-07-26T1000",
        "20260726T100000Z", "2026-07-26  10:00", "2026-07-26_10:00", "2026-07-26T10:00 Z",
        "2026-07-26T10:00+02", "2026-07-26T10:00+0200", "2026-07-26T10:00\u221202:00",
        "2026-07-26T10:00:05,5Z", "2026-07-26T10:00:05.Z", "2026-07-26T10:00.5Z",
        "2026-07-26T10:00Z\x00", "2026-07-26\n2026-07-27", "1785078245678901", "-7", "-7w", "-7D",
        "-7.5h", "- 7d", "+7d", "7d", "--7d", "@123", "\ud800", "２０２６", "٢٠٢٦-٠٧-٢٦",
        *(text[:i] + "٣" + text[i + 1 :] for text in FORMS for i, x in enumerate(text) if x == "1"),
    ],
    NOT_REAL: [
        "2026-02-30", "20260230", "2026-02-29", "2026-02-30T10:00Z", "2026-13", "2026-13-01",
        "2026-00", "2026-07-00", "0000", "0000-01", "0000-12-31", "0000-12-31T23:00-23:00",
        "2026-07-26T24:00", "2026-07-26T24:00:00Z", "2026-07-26T10:60Z", "2026-07-26T10:00:61Z",
    ],
    "Leap seconds": ["2026-12-31T23:59:60Z", "2026-12-31T23:59:60.5"],
    "more than 6 digits": ["2026-07-26T10:00:05.1234567Z", "2026-07-26T10:00:05.1234560"],
    "offset is not within": [f"2026-07-26T10:00{x}" for x in ("+24:00", "-24:00", "+02:60")],
    YEARS: ["0001-01-01T00:00+00:01", "9999-12-31T23:59:59-00:01", "-800000d", f"-{'9' * 12}d"],
    "more than 12 digits": ["-1000000000000m", f"-{'9' * 5000}d"],
}  # fmt: skip


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize(
    ("text", "reason"), [(text, reason) for reason, texts in REJECTED.items() for text in texts]
)
def test_anything_else_is_an_error_that_names_the_text_and_the_accepted_forms(
    text: str, reason: str, reach: Reach
) -> None:
    with pytest.raises(InstantError) as caught:
        at(text, reach=reach)
    error = caught.value
    assert error.text == text
    assert reason in error.reason
    assert "2026-07-26, 20260726, 2026-07, 2026, now, today, yesterday, -30m" in error.hint
    assert str(error).startswith(repr(text)[:60])
    assert str(error).endswith(f" {error.reason} {error.hint}")


def test_an_error_is_a_value_error_that_quotes_a_long_text_shortened_and_can_be_pickled() -> None:
    with pytest.raises(ValueError, match=NO_FORM) as caught:
        at("x" * 5_000_000)
    assert len(str(caught.value)) < 600
    assert str(caught.value).startswith(f"'{'x' * 64}'... cannot be read.")
    twin = pickle.loads(pickle.dumps(InstantError("Jan 2026", "It is wrong.", "Do it right.")))
    assert (twin.text, twin.reason, twin.hint) == ("Jan 2026", "It is wrong.", "Do it right.")
    assert str(twin) == "'Jan 2026' cannot be read. It is wrong. Do it right."


@given(st.text(max_size=40) | st.text("0123456789-T:.Z +@mhd", max_size=30))
def test_any_text_at_all_gives_an_instant_in_range_or_an_instant_error(text: str) -> None:
    for reach in Reach:
        answer = EARLIEST
        with suppress(InstantError):
            answer = at(text, NEW_YORK, reach)
        assert EARLIEST <= answer <= LATEST + 1


@pytest.mark.parametrize(
    "name",
    ["", "Nowhere/City", "America", "../UTC", "/etc/localtime", "UTC+2", " UTC", "a\x00b", "\ud800",
     "zone.tab", pytest.param("a" * 5000, id="long"),
     # Found on some machines, and meaning what the machine likes.
     "localtime", "posixrules", "right/UTC", "posix/Europe/Paris"],
)  # fmt: skip
def test_an_unknown_zone_is_an_error_that_names_it_whatever_the_text(name: str) -> None:
    with pytest.raises(InstantError, match=r"No time zone has this name|depends on the machine"):
        zone_named(name)
    for read in (at, known_at):
        for text in ("2026-07-26T10:00Z", "@123", "not a time"):
            with pytest.raises(InstantError) as caught:
                read(text, name)
            assert caught.value.text == name
            assert repr(name)[:60] in str(caught.value)
            assert "Europe/Paris" in caught.value.hint


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12", "9999"])
def test_the_end_of_year_9999_is_one_past_the_latest_and_shows_as_the_latest(text: str) -> None:
    assert at(text, reach=END) == LATEST + 1
    assert at(text, reach=POINT) == LATEST
    assert seen(text, reach=END) == shown(LATEST + 1) == "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize(
    ("text", "zone", "reach", "now"),
    [("0001-01-01", TOKYO, START, NOW), ("0001", TOKYO, START, NOW),
     ("0001-01-01T00:00", TOKYO, START, NOW), ("9999-12-31", NEW_YORK, END, NOW),
     ("9999", NEW_YORK, POINT, NOW), ("9999-12-31T23:00", NEW_YORK, POINT, NOW),
     ("today", TOKYO, START, LATEST), ("today", NEW_YORK, END, EARLIEST),
     ("yesterday", "UTC", START, EARLIEST), ("yesterday", "UTC", POINT, EARLIEST),
     ("-1m", "UTC", END, EARLIEST), ("now", "UTC", END, LATEST + 1),
     ("now", "UTC", START, EARLIEST - 1), ("today", "UTC", START, ENDLESS)],
)  # fmt: skip
def test_a_text_whose_zone_or_now_moves_it_out_of_the_years_is_an_error(
    text: str, zone: str, reach: Reach, now: int
) -> None:
    with pytest.raises(InstantError, match=YEARS):
        at(text, zone, reach, now)


def test_a_text_at_the_edge_that_stays_within_the_years_is_fine() -> None:
    assert seen("9999-12-31", TOKYO, END) == "9999-12-31T15:00:00.000000Z"
    assert seen("0001-01-01", NEW_YORK, START) == "0001-01-01T04:56:02.000000Z"
    assert seen("9999-12") == "9999-12-01T00:00:00.000000Z"
    assert at("yesterday", "UTC", END, now=EARLIEST) == EARLIEST


@given(st.integers(EARLIEST, LATEST))
@example(EARLIEST)
@example(LATEST)
def test_what_is_shown_reads_back_to_the_same_instant(instant: int) -> None:
    for reach in Reach:
        assert at(show(instant), TOKYO, reach) == instant


def test_no_end_is_later_than_every_instant_and_shows_as_none() -> None:
    assert ENDLESS > LATEST + 1
    assert shown(ENDLESS) is None
    with pytest.raises(ValueError, match="ENDLESS"):
        show(ENDLESS)


@pytest.mark.parametrize("instant", [EARLIEST - 1, LATEST + 2, ENDLESS - 1, -ENDLESS])
def test_an_instant_that_no_date_can_show_is_a_value_error(instant: int) -> None:
    for give in (show, shown):
        with pytest.raises(ValueError, match=f"instant {instant} lies outside"):
            give(instant)


def test_known_at_is_an_instant_or_a_position_here_or_at_the_primary() -> None:
    assert known_at("@0") == instants.AtPosition(0)
    assert known_at(" @123\n") == instants.AtPosition(123)
    assert known_at(f"@{'9' * 18}") == instants.AtPosition(10**18 - 1)
    assert known_at("@primary:0") == instants.AtPrimary(0)
    assert known_at("@primary:123") == instants.AtPrimary(123)
    assert known_at("now") == known_at(NOW_SHOWN) == instants.AtInstant(NOW)
    assert known_at("2026-07-26", TOKYO) == instants.AtInstant(at("2026-07-26T15:00Z") - 1)


BAD_POSITIONS = [
    "@", "@-1", "@+1", "@1.0", "@1_000", "@ 1", "@1 2", "@0x1", "@abc", "@@1", "@١٢٣", "@primary",
    "@1234567890123456789", "@primary:", "@primary:-1", "@primary: 1", "@Primary:1", "@replica:1",
    "@primary:1234567890123456789", "@2026-07-26",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [*((text, "A position is @ or @primary: and 1 to 18 digits") for text in BAD_POSITIONS),
     ("123", NO_FORM), ("primary:1", NO_FORM), ("", NO_FORM), ("2026-02-30", NOT_REAL)],
)  # fmt: skip
def test_a_malformed_known_at_is_an_error_that_offers_positions(text: str, reason: str) -> None:
    with pytest.raises(InstantError, match=reason) as caught:
        known_at(text)
    assert caught.value.text == text
    assert str(caught.value).startswith(repr(text))
    assert caught.value.hint.endswith("-7d, @123, @primary:123.")


def test_moments_and_positions_are_values_that_cannot_be_changed() -> None:
    moment = instants.Moment(as_of=NOW, position=12, known_at=None)
    assert moment == instants.Moment(NOW, 12, None) != instants.Moment(NOW, 13, None)
    for value in (moment, instants.AtPosition(1), instants.AtPrimary(1)):
        with pytest.raises(AttributeError):
            setattr(value, "position", 2)  # noqa: B010 - an assignment would not type-check
