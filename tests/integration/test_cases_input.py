"""Huge, hostile and malformed input: cases L20 and L21."""

from __future__ import annotations

import math
from typing import Any

import pytest

from domain.canonical import NotStorable, read_json
from domain.operation import CONTENT_BYTES_MAX, EVENT_BYTES_MAX
from tests.palaces import Device

PLACE = {"wing": "home", "room": "notes"}
MEGABYTE = 1024 * 1024


def nested(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"in": value}
    return value


def test_five_megabytes_of_text_are_one_drawer(ada: Device) -> None:
    """L20"""
    text = "0123456789abcdef" * (5 * MEGABYTE // 16)
    drawer = ada.add_drawer(**PLACE, content=text)["drawer_id"]
    assert ada.get_drawer(drawer_id=drawer)["drawer"]["content"] == text
    [line] = ada.list_drawers()["drawers"]
    assert line["preview"] == text[:200]


def test_a_text_of_exactly_the_limit_is_taken_and_one_byte_more_is_refused(ada: Device) -> None:
    """L20"""
    ada.add_drawer(**PLACE, content="a" * CONTENT_BYTES_MAX)
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content="a" * (CONTENT_BYTES_MAX + 1))
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content="\u00e9" * (CONTENT_BYTES_MAX // 2 + 1))
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content="a" * 9 * MEGABYTE)


def test_what_no_primary_would_take_is_refused_where_it_is_written(ada: Device) -> None:
    """L20"""
    heavy = {"blob": "a" * EVENT_BYTES_MAX}
    with ada.refuses("input::too_large"):
        ada.add_drawer(**PLACE, content="tea", metadata=heavy)
    with ada.refuses("input::too_large"):
        ada.add_drawer(**PLACE, content="\x01" * (CONTENT_BYTES_MAX // 2))
    ada.add_drawer(**PLACE, content="tea", metadata={"blob": "a" * (EVENT_BYTES_MAX - 4096)})


@pytest.mark.parametrize(
    "value",
    [
        "a\x00b",
        "\x00",
        "\ud800",
        "ok \udfff",
        math.nan,
        math.inf,
        -math.inf,
        2**63,
        -(2**63) - 1,
        10**400,
        b"bytes",
        {1, 2},
        object(),
        {1: "a key that is no text"},
        {"a\x00": 1},
        {"\ud800": 1},
        nested(40),
        nested(100_000),
        [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, dict) else "dict",
)
def test_what_json_cannot_hold_is_refused_wherever_it_stands(ada: Device, value: Any) -> None:
    """L20"""
    with ada.refuses("input::invalid", "metadata"):
        ada.add_drawer(**PLACE, content="tea", metadata={"a": value})
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content=value)
    with ada.refuses("input::invalid", "tags"):
        ada.add_drawer(**PLACE, content="tea", tags=[value])
    with ada.refuses("input::invalid", "entity"):
        ada.kg_query(entity=value)
    with ada.refuses("input::invalid", "limit"):
        ada.list_drawers(limit=value)


def test_metadata_may_be_nested_to_the_limit_and_comes_back_as_it_was(ada: Device) -> None:
    """L20"""
    extreme = {
        "deep": nested(29),
        "numbers": [2**63 - 1, -(2**63), 0.1, 1e308, 5e-324, -0.0, True, None],
        "texts": ["", "\u2028", "\x7f", "🦊", "\U0010ffff"],
    }
    drawer = ada.add_drawer(**PLACE, content="tea", metadata=extreme)["drawer_id"]
    assert ada.get_drawer(drawer_id=drawer)["drawer"]["metadata"] == extreme
    with ada.refuses("input::invalid", "metadata"):
        ada.add_drawer(**PLACE, content="tea", metadata={"deep": nested(31)})


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": "\\ud800"}',
        '{"a": "\\u0000"}',
        "[" * 100 + "]" * 100,
        "[" * 100_000,
        '{"a": 1' + "0" * 5000 + "}",
        '{"a": 1} trailing',
        b"\xff\xfe",
        "",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_json_with_two_meanings_or_none_is_refused(text: str | bytes) -> None:
    """L20"""
    with pytest.raises(NotStorable):
        read_json(text)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u2003"])
def test_an_empty_text_is_refused(ada: Device, text: str) -> None:
    with ada.refuses("input::invalid", "content"):
        ada.add_drawer(**PLACE, content=text)


@pytest.mark.parametrize(
    "name", ["", "  ", "a/b", "a\\b", "..", "a..b", "a\nb", "a\x7fb", "a\u2028b", "x" * 129]
)
def test_what_cannot_be_a_name_is_refused(ada: Device, name: str) -> None:
    for field in ("wing", "room"):
        with ada.refuses("input::invalid", field):
            ada.add_drawer(**PLACE | {"content": "tea", field: name})
    if "." not in name and "/" not in name and "\\" not in name:
        with ada.refuses("input::invalid", "subject"):
            ada.kg_add(subject=name, predicate="p", object="o")
        with ada.refuses("input::invalid", "tags"):
            ada.add_drawer(**PLACE, content="tea", tags=["fine", name])


def test_names_of_128_characters_are_names_in_any_script(ada: Device) -> None:
    wing, room = "會" * 128, "🦊" * 128
    drawer = ada.add_drawer(wing=wing, room=room, content="tea")["drawer_id"]
    assert ada.get_drawer(drawer_id=drawer)["drawer"]["room"] == room
    assert ada.list_drawers(wing=wing, room=room)["total"] == 1
    for number in range(3):
        ada.add_drawer(wing=wing, room=room, content=f"tea {number}")
    page = ada.list_drawers(wing=wing, limit=1)
    assert ada.list_drawers(wing=wing, limit=1, cursor=page["cursor"])["drawers"]


def test_an_object_may_be_a_long_text(ada: Device) -> None:
    text = "word " * 100_000
    ada.kg_add(subject="Kiran", predicate="wrote", object=text)
    [fact] = ada.kg_query(entity=text.upper())["facts"]
    assert fact["object"] == text.strip()
    with ada.refuses("input::invalid", "object"):
        ada.kg_add(subject="Kiran", predicate="wrote", object="a" * (CONTENT_BYTES_MAX + 1))


def test_metadata_is_kept_and_never_obeyed(ada: Device) -> None:
    """L21"""
    smuggled = {
        "content": "other text",
        "owner": "mallory",
        "origin_device": "mallory-laptop",
        "op_id": "0" * 64,
        "drawer_id": "drawer_x_y_z",
        "wing": "private",
        "valid_from": 0,
        "revives": ["0" * 64],
        "duplicate": True,
        "principal": "root",
        "state": "hidden",
    }
    answer = ada.add_drawer(**PLACE, content="tea", metadata=smuggled)
    shown = ada.get_drawer(drawer_id=answer["drawer_id"])["drawer"]

    assert answer["origin_device"] == shown["provenance"]["device"] == "ada"
    assert answer["duplicate"] is False
    assert answer["op_id"] != smuggled["op_id"]
    assert (shown["content"], shown["wing"], shown["state"]) == ("tea", "home", "current")
    assert shown["metadata"] == smuggled
    assert ada.list_drawers(wing="private")["total"] == 0
    header = ada.show_operation(op_id=answer["op_id"])["operation"]
    assert (header["principal"], header["device"]) == (None, "ada")


@pytest.mark.parametrize(
    "field",
    ["op_id", "origin_device", "owner", "principal", "session_mode", "revives", "from_", "hlc"],
)
def test_what_only_the_palace_may_say_is_no_argument(ada: Device, field: str) -> None:
    """L21"""
    with ada.refuses("input::invalid", field):
        ada.call("add_drawer", PLACE | {"content": "tea", field: "x"})
    with ada.refuses("input::invalid", field):
        ada.call("list_drawers", {field: "2020"})
    with ada.refuses("input::invalid", field):
        ada.call("kg_query", {"entity": "x", field: "2020"})


@pytest.mark.parametrize("who", ["agent", "client", "session", "principal"])
def test_a_caller_whose_name_cannot_be_stored_gets_an_error(ada: Device, who: str) -> None:
    """L20"""
    for name in ("\ud800", "a\x00b"):
        with ada.refuses("input::invalid", who):
            ada.by(**{who: name}).add_drawer(**PLACE, content="tea")
