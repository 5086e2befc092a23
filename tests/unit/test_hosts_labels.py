"""Whoever turns memory down is heard, and nobody turns it up again."""

from __future__ import annotations

import pytest

from domain.errors import InvalidInput
from palacelog.hosts.labels import MODES, ceiling, effective, known

WORDS = ["full", "read-only", "off", "Full", "readonly", "on", "", "disabled"]


@pytest.mark.parametrize("label", WORDS)
def test_a_label_that_nobody_knows_is_off(label: str) -> None:
    assert known(label) == (label if label in ("full", "read-only", "off") else "off")


def test_each_label_is_a_session_mode() -> None:
    assert MODES == {"full": "full", "read-only": "read_only", "off": "disabled"}


@pytest.mark.parametrize("installed", WORDS)
@pytest.mark.parametrize("said", WORDS)
def test_of_two_labels_the_lesser_counts(installed: str, said: str) -> None:
    order = list(MODES)
    least = max(order.index(known(installed)), order.index(known(said)))
    assert effective(installed, {"PALACELOG_LABEL": said}) == order[least]


@pytest.mark.parametrize(
    ("mode", "label"),
    [("full", "full"), ("read_only", "read-only"), ("disabled", "off"), ("nonsense", "off")],
)
def test_the_session_mode_of_the_environment_counts_too(mode: str, label: str) -> None:
    assert effective("full", {"PALACELOG_MODE": mode}) == label
    assert effective("off", {"PALACELOG_MODE": mode}) == "off"


@pytest.mark.parametrize("given", [None, *MODES.values()])
@pytest.mark.parametrize("said", [None, "", *MODES.values()])
@pytest.mark.parametrize("label", [None, "nonsense", *MODES])
def test_a_session_gets_the_least_of_what_was_given_and_what_the_environment_says(
    given: str | None, said: str | None, label: str | None
) -> None:
    there = {"PALACELOG_MODE": said, "PALACELOG_LABEL": label}
    environment = {name: word for name, word in there.items() if word is not None}
    order = list(MODES.values())
    asked = [mode for mode in (given, said) if mode]
    asked += [] if label is None else [MODES[known(label)]]
    expected = max(asked, key=order.index) if asked else None
    assert ceiling(given, environment) == expected


def test_a_session_mode_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidInput):
        ceiling("full", {"PALACELOG_MODE": "off"})
