"""Whoever turns memory down is heard, and nobody turns it up again."""

from __future__ import annotations

import pytest

from palacelog.hosts.labels import MODES, effective, known

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
