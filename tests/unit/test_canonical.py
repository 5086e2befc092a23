"""Canonical JSON, digests and comparable forms, against FORMATS and not against our own code."""

from __future__ import annotations

import json
import unicodedata
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.canonical import (
    NESTING_LEVELS_MAX,
    NotStorable,
    canonical,
    comparable,
    digest,
    read_json,
    storable,
    twin_digest,
    twin_form,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ({"b": 1, "a": [True, None, ""]}, b'{"a":[true,null,""],"b":1}'),
        ({"\u00e9": "\u00e9", "z": "/"}, '{"z":"/","\u00e9":"\u00e9"}'.encode()),
        ({"\U00010000": 1, "\uffff": 2}, '{"\uffff":2,"\U00010000":1}'.encode()),
        ({"a": "\"\\\n\t\x01\x7f"}, b'{"a":"\\"\\\\\\n\\t\\u0001\x7f"}'),
        ([2**63 - 1, -(2**63), 0], b"[9223372036854775807,-9223372036854775808,0]"),
        ([1.0, 0.1, 1e16, 5e-324], b"[1.0,0.1,1e+16,5e-324]"),
        ({}, b"{}"),
    ],
)  # fmt: skip
def test_canonical_json_is_utf8_with_keys_by_code_point_and_no_spaces(
    value: Any, encoded: bytes
) -> None:
    assert canonical(value) == encoded


@given(values)
def test_canonical_json_is_what_the_standard_library_writes_with_sorted_keys(value: Any) -> None:
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical(value).decode() == written
    assert read_json(canonical(value)) == value


@given(st.dictionaries(texts, st.integers(0, 9), max_size=6), st.randoms())
def test_canonical_json_does_not_depend_on_the_order_of_the_keys(
    value: dict[str, int], chance: Any
) -> None:
    shuffled = list(value.items())
    chance.shuffle(shuffled)
    assert canonical(dict(shuffled)) == canonical(value)


def test_a_digest_is_over_the_parts_each_behind_its_length_in_bytes() -> None:
    netstrings = b"5:caf\xc3\xa9" + b"2:-7" + b"3:\x00\xff:"
    assert digest("caf\u00e9", -7, b"\x00\xff:") == sha256(netstrings).digest()
    assert digest() == sha256(b"").digest()
    assert digest("") == sha256(b"0:").digest()
    assert digest(12) == digest("12") == digest(b"12") == sha256(b"2:12").digest()


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_digests_of_different_parts_differ_however_they_are_cut(
    left: list[str], right: list[str]
) -> None:
    assert (digest(*left) == digest(*right)) == (left == right)


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


UNSTORABLE = [
    ("a\x00b", "NUL"),
    ({"a\x00": 1}, "NUL"),
    (["\ud83d"], "lone surrogate"),
    ({"\udc00": 1}, "lone surrogate"),
    (2**63, "64 bits"),
    (-(2**63) - 1, "64 bits"),
    (float("nan"), "finite"),
    ({"a": float("inf")}, "finite"),
    ([-float("inf")], "finite"),
    ({1: 2}, "key"),
    ({"a": {1, 2}}, "type"),
    (b"a", "type"),
    (nested(NESTING_LEVELS_MAX + 1), "nested"),
    (nested(100), "nested"),
]


@pytest.mark.parametrize(("value", "reason"), UNSTORABLE, ids=range(len(UNSTORABLE)))
def test_a_value_without_one_canonical_form_is_refused(value: Any, reason: str) -> None:
    """L20."""
    with pytest.raises(NotStorable, match=reason):
        storable(value)


def test_the_refusal_names_the_part_that_cannot_be_stored() -> None:
    with pytest.raises(NotStorable, match=r"^metadata\.a\.1 contains a NUL"):
        storable({"a": ["x", "\x00"]}, "metadata")


@pytest.mark.parametrize(
    "value", [nested(NESTING_LEVELS_MAX), 2**63 - 1, -(2**63), "\U0001f600", 1.5, (1, "a"), None]
)
def test_a_value_at_the_limit_is_stored(value: Any) -> None:
    storable(value)
    assert json.loads(canonical(value)) == json.loads(json.dumps(value))


UNREADABLE = [
    ('{"a":1,"a":2}', "key 'a' twice"),
    ('{"b":{"a":1,"\\u0061":2}}', "key 'a' twice"),
    ("NaN", "NaN"),
    ("[Infinity]", "Infinity"),
    ("[-Infinity]", "-Infinity"),
    ("1e400", "finite"),
    ("123456789012345678901234567890", "64 bits"),
    ("1" * 5_000, "number that cannot be read"),
    ('"\\ud800"', "lone surrogate"),
    ('"\\u0000"', "NUL"),
    ("[" * 33 + "]" * 33, "nested"),
    ("[" * 100 + "]" * 100, "nested"),
    ("[" * 100_000, "nested"),
    ("", "not JSON"),
    ("{'a':1}", "not JSON"),
    ("[1,]", "not JSON"),
    ("1 2", "not JSON"),
    (b"\xff", "not UTF-8"),
    (b'"\xed\xa0\x80"', "not UTF-8"),
    ('{"a":1}'.encode("utf-16"), "not UTF-8"),
    ('{"a":1}'.encode("utf-32-le"), "NUL|not JSON"),
    ('{"a":1}'.encode("utf-16-be"), "NUL|not JSON"),
]


@pytest.mark.parametrize(("text", "reason"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_json_from_outside_is_read_strictly(text: str | bytes, reason: str) -> None:
    """L20: a clear error, never a crash."""
    with pytest.raises(NotStorable, match=reason):
        read_json(text)


def test_json_from_outside_is_read_as_utf8_with_or_without_a_mark() -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        assert read_json(mark + '{"a":"é"}'.encode()) == {"a": "é"}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("  Kiran \t B ", "kiran b"),
        ("cafe\u0301", "caf\u00e9"),
        ("CAF\u00c9", "cafe\u0301"),
        ("Stra\u00dfe", "STRASSE"),
        ("\u03a3\u039f\u03a6\u039f\u03a3", "\u03c3\u03bf\u03c6\u03bf\u03c2"),
        ("a\u00a0b", "a b"),
        ("\u212b", "\u00e5"),
        ("I", "i"),
    ],
)
def test_names_are_compared_after_nfc_spacing_and_case(left: str, right: str) -> None:
    """L19: "cafe\u0301" and "caf\u00e9" are one."""
    assert comparable(left) == comparable(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("O'Brien", "OBrien"), ("a b", "ab"), ("caf\u00e9", "cafe"), ("\ufb01", "\ufb02")],
)
def test_names_that_differ_in_more_are_two(left: str, right: str) -> None:
    """L19: "O'Brien" and "OBrien" are two."""
    assert comparable(left) != comparable(right)


@given(st.text())
def test_the_comparable_form_is_its_own_and_that_of_every_equivalent(name: str) -> None:
    form = comparable(name)
    assert comparable(form) == form
    assert comparable(unicodedata.normalize("NFD", name)) == form
    assert comparable(f" {name}\n") == form


@pytest.mark.parametrize("tail", ["\n", "\r\n", " ", "\t\r\n\n", "\u3000"])
def test_a_trailing_newline_makes_no_other_content(tail: str) -> None:
    """L18: a trailing newline or CRLF alone is a twin."""
    assert twin_form(f"Meet us{tail}") == "Meet us"


def test_contents_are_compared_with_their_case_and_inner_spacing() -> None:
    """L18: "Meet us" and "Meet US" are two."""
    forms = {twin_form(text) for text in ("Meet us", "Meet US", "Meet  us", " Meet us")}
    assert len(forms) == 4
    assert twin_form("a\r\nb\rc") == "a\nb\rc"
    assert twin_form("cafe\u0301") == twin_form("caf\u00e9")


def test_contents_in_any_script_have_digests_of_their_own() -> None:
    """L18: as many digests as texts, and none is that of the empty string."""
    contents = [
        "\u4f1a\u8bae", "\u4f1a\u8b70", "\u3053\u3093\u306b\u3061\u306f", "\uc548\ub155",
        "\u0645\u0631\u062d\u0628\u0627", "\u043f\u0440\u0438\u0432\u0435\u0442",
        "\U0001f600", "\U0001f601", "\u2764\ufe0f", "\u2764",
    ]  # fmt: skip
    digests = {twin_digest(content) for content in contents}
    assert len(digests) == len(contents)
    assert sha256(b"").digest() not in digests
    assert twin_digest("\U0001f600\r\n") == sha256("\U0001f600".encode()).digest()
