"""Ids that follow from content or from an operation, each worked out by hand."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity import (
    DEVICE_NAME_CHARACTERS_MAX,
    base_device,
    device_name_from,
    drawer_id,
    fact_id,
    next_incarnation,
    operation_id,
    stream_id,
    valid_device,
)


def test_a_drawer_id_is_the_id_that_mempalace_gives() -> None:
    """DESIGN section 5: 24 hex digits of sha256 over `<characters>:<part>` of the three."""
    joined = "4:home" + "5:notes" + "4:caf\u00e9"
    expected = sha256(joined.encode()).hexdigest()[:24]
    assert drawer_id("home", "notes", "caf\u00e9") == f"drawer_home_notes_{expected}"


def test_a_drawer_id_counts_characters_and_not_bytes() -> None:
    joined = "1:\U0001f600" + "1:r" + "2:\u4f1a\u8bae"
    expected = sha256(joined.encode()).hexdigest()[:24]
    assert drawer_id("\U0001f600", "r", "\u4f1a\u8bae").endswith(f"_{expected}")


def test_a_drawer_id_tells_apart_what_a_plain_join_would_not() -> None:
    hashes = {
        drawer_id(*parts).rpartition("_")[2]
        for parts in [("ab", "c", "x"), ("a", "bc", "x"), ("a", "b", "cx"), ("", "abc", "x")]
    }
    assert len(hashes) == 4


def test_texts_in_any_script_have_ids_of_their_own() -> None:
    """L18: "Meet us" and "Meet US" are two, and so is each one-emoji text."""
    contents = ["Meet us", "Meet US", "\u4f1a\u8bae", "\U0001f600", "\U0001f601", "Meet us\n"]
    assert len({drawer_id("w", "r", content) for content in contents}) == len(contents)


def test_a_fact_id_follows_from_the_operation_and_the_part() -> None:
    assert fact_id("ab") == "fact_" + sha256(b"2:ab" + b"1:0").hexdigest()[:24]
    assert fact_id("ab", 12) == "fact_" + sha256(b"2:ab" + b"2:12").hexdigest()[:24]


def test_an_op_id_is_over_device_stream_number_tool_and_raw_payload_digest() -> None:
    payload_digest = bytes(range(32))
    parts = b"3:ada" + b"6:shared" + b"2:41" + b"6:kg_add" + b"32:" + payload_digest
    expected = sha256(parts).hexdigest()
    assert operation_id("ada", "shared", 41, "kg_add", payload_digest) == expected


@pytest.mark.parametrize("name", ["a", "my-laptop-x7k2", "0", "a" * 64, "a~2", "a~10", "a~999999"])
def test_a_device_name_may_carry_an_incarnation(name: str) -> None:
    assert valid_device(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "a b", "a/local", "a_b", "\u00e9", "a" * 65, "a~", "a~0", "a~1", "a~02", "a~2~3",
     "a\n", "~2", "a~1000000"],
)  # fmt: skip
def test_another_text_is_no_device_name(name: str) -> None:
    assert not valid_device(name)


def test_incarnations_count_from_two() -> None:
    names = ["laptop"]
    for _ in range(10):
        names.append(next_incarnation(names[-1]))
    assert names[1:4] == ["laptop~2", "laptop~3", "laptop~4"]
    assert names[-1] == "laptop~11"
    assert all(map(valid_device, names))
    assert {base_device(name) for name in names} == {"laptop"}


def test_the_shared_stream_has_the_device_s_name_and_the_local_one_its_own() -> None:
    assert stream_id("ada", "shared") == "ada"
    assert stream_id("ada~2", "local") == "ada~2/local"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Ada-Lovelace.local", "ada-lovelace-local-x7k2"),
        ("--B\u00fcro PC--", "b-ro-pc-x7k2"),
        ("", "device-x7k2"),
        ("\u4f1a", "device-x7k2"),
        ("a" * 100, "a" * 59 + "-x7k2"),
        ("a" * 58 + ".b", "a" * 58 + "-x7k2"),
    ],
)
def test_a_host_s_name_is_made_to_fit(host: str, name: str) -> None:
    assert device_name_from(host, "x7k2") == name


@given(st.text())
def test_every_host_s_name_makes_a_device_name(host: str) -> None:
    name = device_name_from(host, "0a9z")
    assert valid_device(name)
    assert len(name) <= DEVICE_NAME_CHARACTERS_MAX
    assert name.endswith("-0a9z")
