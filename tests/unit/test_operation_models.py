"""What may be asked, and what may be recorded: names, contents, times, tags, limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.catalog import CATALOG, records_of
from domain.instants import EARLIEST, LATEST, AtInstant, AtPosition, Reach, parse
from domain.operations.common import Clock, default_as_of

NOW = 1_785_078_245_678_901
DAY = 86_400_000_000


def asked(tool: str, zone: str = "UTC", **arguments: Any) -> Any:
    return CATALOG[tool].asks.model_validate(arguments, context=Clock(zone, NOW))


def refused(tool: str, **arguments: Any) -> list[str]:
    """The arguments that a refusal names."""
    with pytest.raises(ValidationError) as error:
        asked(tool, **arguments)
    return [".".join(map(str, fault["loc"])) for fault in error.value.errors()]


def drawer(**changed: Any) -> dict[str, Any]:
    return {"wing": "w", "room": "r", "content": "c"} | changed


def fact(**changed: Any) -> dict[str, Any]:
    return {"subject": "s", "predicate": "p", "object": "o"} | changed


@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "a\nb", "a\x00b", "a\u2028b", "a\x85b"])
def test_a_name_has_1_to_128_characters_and_none_that_control(name: str) -> None:
    assert refused("add_drawer", **drawer(wing=name)) == ["wing"]
    assert refused("kg_add", **fact(subject=name)) == ["subject"]


@pytest.mark.parametrize("name", ["a/b", "a\\b", "..", "a..b"])
def test_a_wing_or_room_holds_nothing_that_leads_out_of_a_folder(name: str) -> None:
    assert refused("add_drawer", **drawer(room=name)) == ["room"]
    assert asked("kg_add", **fact(subject=name)).subject == name


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" a  b ", "a  b"),
        ("cafe\u0301", "caf\u00e9"),
        ("O'Brien", "O'Brien"),
        ("x" * 128, "x" * 128),
        ("\U0001f600" * 128, "\U0001f600" * 128),
    ],
)
def test_a_name_is_kept_in_nfc_and_trimmed(typed: str, kept: str) -> None:
    assert asked("add_drawer", **drawer(wing=typed)).wing == kept


def test_an_object_is_a_name_without_the_limit_on_its_length_and_may_have_lines() -> None:
    assert asked("kg_add", **fact(object=" " + "x" * 5_000)).object == "x" * 5_000
    assert asked("kg_add", **fact(object="a\r\n\tb")).object == "a\r\n\tb"
    for unclean in ("a\x00b", "a\x1bb", "a\u2028b", " "):
        assert refused("kg_add", **fact(object=unclean)) == ["object"]


@pytest.mark.parametrize("content", [" a\r\nb \n", "\u4f1a\u8bae", "\U0001f600", "cafe\u0301"])
def test_a_content_is_kept_as_given(content: str) -> None:
    """L18."""
    assert asked("add_drawer", **drawer(content=content)).content == content


def test_a_content_is_not_empty_and_has_at_most_8_mib() -> None:
    """L20: 5 MB of text is taken."""
    megabyte = 1024 * 1024
    assert len(asked("add_drawer", **drawer(content="x" * 5 * megabyte)).content) == 5 * megabyte
    assert asked("add_drawer", **drawer(content="x" * 8 * megabyte))
    assert refused("add_drawer", **drawer(content="x" * (8 * megabyte + 1))) == ["content"]
    assert refused("add_drawer", **drawer(content="\u4f1a" * 3 * megabyte)) == ["content"]
    assert refused("add_drawer", **drawer(content=" \n")) == ["content"]


@pytest.mark.parametrize("name", ["owner", "origin_device", "op_id", "revives", "drawer_id"])
def test_an_argument_smuggled_in_is_refused(name: str) -> None:
    """L21: refused as an argument; within metadata it is kept and never obeyed."""
    assert refused("add_drawer", **drawer(**{name: "x"})) == [name]
    assert asked("add_drawer", **drawer(metadata={name: "x"})).metadata == {name: "x"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (["a", "b", "a"], ["a", "b"]),
        ("a, b,, a", ["a", "b"]),
        ('["a,b", "c"]', ["a,b", "c"]),
        ("", []),
        ([" a "], ["a"]),
    ],
)
def test_tags_are_a_list_a_json_list_or_texts_between_commas(typed: Any, kept: list[str]) -> None:
    assert asked("add_drawer", **drawer(tags=typed)).tags == kept


@pytest.mark.parametrize("tags", ['["a"', '["a", "a\\u0000"]', [""], ["x" * 129], 7])
def test_tags_that_are_none_are_refused(tags: Any) -> None:
    assert refused("add_drawer", **drawer(tags=tags))[0].startswith("tags")


def test_there_are_at_most_64_tags() -> None:
    assert len(asked("add_drawer", **drawer(tags=[f"t{n}" for n in range(64)])).tags) == 64
    assert refused("add_drawer", **drawer(tags=[f"t{n}" for n in range(65)])) == ["tags"]


def test_a_start_is_the_first_instant_of_a_date_and_an_end_reaches_through_it() -> None:
    """L3: a fact valid 2026-05-06 to 2026-05-06 is true in the afternoon of that day."""
    stated = asked("kg_add", **fact(valid_from="2026-05-06", valid_to="2026-05-06"))
    afternoon = parse("2026-05-06T15:00Z", zone="UTC", now=NOW, reach=Reach.POINT)
    assert stated.valid_from <= afternoon < stated.valid_to
    assert stated.valid_to - stated.valid_from == DAY


def test_a_time_is_read_in_the_configured_zone() -> None:
    tokyo = asked("kg_add", "Asia/Tokyo", **fact(valid_from="2026-05-06")).valid_from
    assert tokyo == asked("kg_add", **fact(valid_from="2026-05-05T15:00:00Z")).valid_from


@pytest.mark.parametrize("text", ["Jan 2026", "2026-02-30", "03/01/2026", "", 7, True, 1.5])
def test_what_is_no_time_is_refused_by_the_name_of_its_field(text: Any) -> None:
    """L2."""
    assert refused("kg_add", **fact(valid_from=text)) == ["valid_from"]
    assert refused("kg_supersede", subject="s", predicate="p", old_object="a", new_object="b",
                   at=text) == ["at"]  # fmt: skip
    assert refused("get_drawer", drawer_id="d", as_of=text) == ["as_of"]
    assert refused("get_drawer", drawer_id="d", known_at=text) == ["known_at"]


def test_known_at_is_an_instant_or_a_position() -> None:
    assert asked("get_drawer", drawer_id="d", known_at="@7").known_at == AtPosition(7)
    assert asked("get_drawer", drawer_id="d", known_at="now").known_at == AtInstant(NOW)


def test_a_read_that_names_no_as_of_is_about_the_moment_that_known_at_means() -> None:
    def logged_at(position: int) -> int:
        return position * DAY

    assert default_as_of(None, NOW, logged_at) == NOW
    assert default_as_of(AtInstant(5), NOW, logged_at) == 5
    assert default_as_of(AtPosition(7), NOW, logged_at) == 7 * DAY


@pytest.mark.parametrize(
    "chosen",
    [
        {"as_of": "now", "from": "today"},
        {"as_of": "now", "until": "today"},
        {"as_of": "now", "include_historical": True},
        {"from": "today", "include_historical": True},
    ],
)
def test_as_of_a_window_and_all_of_history_exclude_each_other(chosen: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exclude each other"):
        asked("list_drawers", **chosen)
    with pytest.raises(ValidationError, match="exclude each other"):
        asked("kg_query", entity="e", **chosen)


def test_a_window_is_one_choice() -> None:
    dates: dict[str, Any] = {"from": "2026-07-01", "until": "2026-07-02"}
    window = asked("list_drawers", **dates)
    assert window.until - window.from_ == 2 * DAY


def test_an_operation_is_shown_by_its_id_or_by_its_position() -> None:
    assert asked("show_operation", position=1).position == 1
    assert asked("show_operation", op_id="ab").op_id == "ab"
    with pytest.raises(ValidationError, match="one of the two"):
        asked("show_operation")
    with pytest.raises(ValidationError, match="one of the two"):
        asked("show_operation", op_id="ab", position=1)
    assert refused("show_operation", position=0) == ["position"]


@pytest.mark.parametrize("limit", [0, 201, -1])
def test_a_page_holds_1_to_200(limit: int) -> None:
    assert refused("list_drawers", limit=limit) == ["limit"]
    assert asked("list_drawers").limit == 20


def test_a_key_has_1_to_128_characters() -> None:
    assert asked("add_drawer", **drawer(idempotency_key="k" * 128))
    for key in ("", "k" * 129):
        assert refused("add_drawer", **drawer(idempotency_key=key)) == ["idempotency_key"]


@pytest.mark.parametrize("confidence", [-0.1, 1.1, "high"])
def test_a_confidence_lies_between_0_and_1(confidence: Any) -> None:
    assert refused("kg_add", **fact(confidence=confidence)) == ["confidence"]


@given(st.text(max_size=5), st.text(max_size=5))
def test_a_name_that_may_be_asked_is_in_the_form_that_may_be_recorded(
    name: str, object: str
) -> None:
    try:
        named = asked("kg_add", subject=name, predicate=name, object=object, wing=name)
    except ValidationError:
        return
    records = records_of("kg_add")
    assert records is not None
    kept = named.model_dump(include={"subject", "predicate", "object", "wing"})
    assert records.model_validate(kept | {"valid_from": NOW}).model_dump(include=set(kept)) == kept


@pytest.mark.parametrize(
    "changed",
    [{"subject": " s"}, {"predicate": ""}, {"object": "cafe\u0301"}, {"wing": "a/b"},
     {"subject": "x" * 129}, {"object": "a\x00b"}, {"valid_from": LATEST + 2},
     {"valid_to": EARLIEST - 1}],
)  # fmt: skip
def test_a_name_or_an_instant_that_no_origin_records_is_refused_at_receipt(
    changed: dict[str, Any],
) -> None:
    records = records_of("kg_add")
    assert records is not None
    with pytest.raises(ValidationError):
        records.model_validate(recorded_fact(**changed))
    records.model_validate(recorded_fact(valid_from=EARLIEST, valid_to=LATEST + 1))


def recorded_fact(**changed: Any) -> dict[str, Any]:
    return fact(wing="w", valid_from=1) | changed


@pytest.mark.parametrize(
    "changed",
    [{"valid_from": "1"}, {"valid_from": True}, {"valid_from": 1.0}, {"object": 7}, {"op_id": "x"},
     {"duplicate": 1}, {"duplicate": None}],
)  # fmt: skip
def test_a_payload_of_another_form_is_refused_at_receipt(changed: dict[str, Any]) -> None:
    records = records_of("kg_add")
    assert records is not None
    records.model_validate(recorded_fact())
    with pytest.raises(ValidationError):
        records.model_validate(recorded_fact(**changed))


@pytest.mark.parametrize("missing", ["drawer_id", "wing", "room", "content"])
def test_a_supersede_brings_a_whole_text_or_none(missing: str) -> None:
    records = records_of("supersede_drawer")
    assert records is not None
    ended = {"supersedes": "d", "valid_from": 1}
    text = {"drawer_id": "e", "wing": "w", "room": "r", "content": "c"}
    records.model_validate(ended)
    records.model_validate(ended | text)
    with pytest.raises(ValidationError, match="come together"):
        records.model_validate(ended | {key: text[key] for key in text if key != missing})
