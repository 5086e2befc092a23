"""An entry goes into a person's JSON and comes out of it, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palacelog.hosts import jsonc

ENTRY = {"command": "/bin/palacelog", "args": ["mcp"]}
MEMBER = ("mcpServers", "palacelog")
ITEM = ("hooks", "SessionStart", lambda value: value == ENTRY)
FILES = {
    "empty object": "{}",
    "empty object and line": "{}\n",
    "one line": '{"a": 1}',
    "one line, trailing comma": '{"a":1,}',
    "lines": '{\n  "a": 1\n}\n',
    "tabs": '{\n\t"a": [1]\n}',
    "comment behind": '{\n  "a": 1 // why, and why not\n}\n',
    "comma and comment behind": '{\n  "a": 1, // why, and why not\n}\n',
    "block comment behind": '{\n  "a": 1 /* why, */\n}\n',
    "comment last": '{\n  "a": 1\n  // the end\n}\n',
    "servers": '{\n  "mcpServers": {\n    "x": {"command": "y"}\n  },\n  "z": 1\n}\n',
    "servers and hooks": '{"mcpServers": {"x": {}}, "hooks": {"SessionStart": [{}]}, "z": null}',
    "no servers yet": '{\n    "mcpServers": {},\n    "hooks": {"SessionStart": []}\n}\n',
    "windows": '{\r\n  "mcpServers": {\r\n    "x": {}\r\n  }\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "a": "// no comment", /* one */ "b": "/* none */"\n}\n',
    "quotes": '{\n  "a\\"b": "c\\\\", // "d"\n  "e": "\\u00e9 ü 你"\n}\n',
}


@pytest.mark.parametrize("path", [MEMBER, ITEM], ids=["member", "item"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_put_in_is_there_and_comes_out_to_the_byte(name: str, path: Any) -> None:
    text = FILES[name]
    before = jsonc.read(text)
    made = jsonc.put(text, path, ENTRY)
    assert jsonc.get(made, path) == ENTRY
    assert jsonc.put(made, path, ENTRY) == made
    assert jsonc.drop(made, path, stood_in(before, path)) == text


@pytest.mark.parametrize("name", FILES)
def test_nothing_but_the_entry_is_new(name: str) -> None:
    text = FILES[name]
    said = jsonc.read(jsonc.put(text, MEMBER, ENTRY))
    assert said["mcpServers"].pop("palacelog") == ENTRY
    if "mcpServers" not in jsonc.read(text):
        assert said.pop("mcpServers") == {}
    assert said == jsonc.read(text)


def test_a_comment_stays_with_what_it_is_about() -> None:
    made = jsonc.put('{\n  "a": 1 // about a\n}\n', ("b",), 2)
    assert made == '{\n  "a": 1, // about a\n  "b": 2\n}\n'


def test_an_entry_is_replaced_where_it_stands() -> None:
    text = '{\n  "mcpServers": {\n    "palacelog": {"old": 1}, // ours\n    "x": {}\n  }\n}\n'
    made = jsonc.put(text, MEMBER, {"new": 2})
    assert made == text.replace('{"old": 1}', '{\n      "new": 2\n    }')


def test_of_two_members_with_one_name_the_last_counts_as_for_every_reader() -> None:
    text = '{"mcpServers": {"palacelog": 1}, "mcpServers": {"palacelog": 2}}'
    assert jsonc.get(text, MEMBER) == json.loads(text)["mcpServers"]["palacelog"] == 2
    assert jsonc.read(jsonc.put(text, MEMBER, 3))["mcpServers"] == {"palacelog": 3}


def test_lines_end_as_they_end_in_the_file() -> None:
    made = jsonc.put(FILES["windows"], MEMBER, ENTRY)
    assert made.count("\n") == made.count("\r\n") > FILES["windows"].count("\r\n")


def test_of_many_items_ours_alone_is_taken_out() -> None:
    items = [{"n": 1}, ENTRY, {"n": 2}]
    for indent in (None, 2):
        text = json.dumps({"hooks": {"SessionStart": items}}, indent=indent)
        left = jsonc.drop(text, ITEM, lambda length: True)
        assert left == json.dumps({"hooks": {"SessionStart": [{"n": 1}, {"n": 2}]}}, indent=indent)


def test_what_is_empty_without_the_entry_goes_unless_it_was_there_before() -> None:
    made = jsonc.put("{}", ITEM, ENTRY)
    assert jsonc.drop(made, ITEM, lambda length: False) == "{}"
    assert jsonc.read(jsonc.drop(made, ITEM, lambda length: True)) == {
        "hooks": {"SessionStart": []}
    }


@pytest.mark.parametrize(
    "text",
    ["{", '{"a": }', "{'a': 1}", '{"a": 1} {}', "[" * 100_000, '{"a": 1 // }', "nothing"],
    ids=range(7),
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotEditable):
        jsonc.put(text, MEMBER, ENTRY)
    with pytest.raises(jsonc.NotEditable):
        jsonc.drop(text, MEMBER, lambda length: False)


@pytest.mark.parametrize("text", ["[]", '"a"', '{"mcpServers": []}', '{"mcpServers": null}'])
def test_a_file_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotEditable):
        jsonc.put(text, MEMBER, ENTRY)


def stood_in(before: Any, path: Any) -> Any:
    inner = before.get(path[0], {})
    return lambda length: path[0] in before if length == 1 else path[1] in inner


LETTERS = 'a"\\/*{}[],: \n\u00fc\u4f60'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(LETTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(LETTERS, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
COMMENTS = st.sampled_from(["", " // c, {", " /* [,] */", "\n// own line", "/**/"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Objects as people write them: any indentation, comments between lines, trailing commas."""
    value = draw(st.dictionaries(st.sampled_from(["a", "b", "mcpServers", "c"]), VALUES))
    if "mcpServers" in value:
        value["mcpServers"] = draw(st.dictionaries(st.sampled_from(["x", "y"]), VALUES))
    lines = json.dumps(value, indent=draw(st.sampled_from([1, 2, 4, "\t"]))).split("\n")
    ends = [line.endswith(("{", "[", ",")) for line in lines]
    told = [line + (draw(COMMENTS) if end else "") for line, end in zip(lines, ends, strict=True)]
    return "\n".join(told) + draw(st.sampled_from(["", "\n"]))


@given(documents())
def test_any_document_is_what_it_was_after_putting_in_and_taking_out(text: str) -> None:
    before = jsonc.read(text)
    made = jsonc.put(text, MEMBER, ENTRY)
    said = jsonc.read(made)
    assert said["mcpServers"].pop("palacelog") == ENTRY
    assert said == {"mcpServers": {}} | before
    left = jsonc.drop(made, MEMBER, lambda length: "mcpServers" in before)
    assert jsonc.read(left) == before
    assert "".join(left.split()) == "".join(text.split())
