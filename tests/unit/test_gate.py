"""What a session may do: DESIGN section 10."""

from __future__ import annotations

import pytest

from domain.errors import InvalidInput, Refused
from domain.gate import CLASSES, SESSION_MODES, check, least, session_mode

PASSES = {
    ("full", "read"), ("full", "write"), ("full", "maintenance"), ("full", "destructive"),
    ("full", "control"), ("read_only", "read"), ("read_only", "control"), ("disabled", "control"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "read_only", "disabled"])
@pytest.mark.parametrize("operation_class", sorted(CLASSES))
def test_the_mode_lets_a_class_pass_or_refuses_it(mode: str, operation_class: str) -> None:
    if (mode, operation_class) in PASSES:
        check("a_tool", operation_class, mode)
    else:
        with pytest.raises(Refused) as refusal:
            check("a_tool", operation_class, mode)
        assert refusal.value.code == "palacelog::mode::forbidden"
        assert "a_tool" in refusal.value.message
        assert mode in refusal.value.message


def test_the_table_is_about_every_mode_and_every_class() -> None:
    assert set(SESSION_MODES) == {mode for mode, _ in PASSES}
    assert set(CLASSES) == {operation_class for _, operation_class in PASSES}


def test_a_class_that_nobody_knows_never_passes() -> None:
    for mode in SESSION_MODES:
        with pytest.raises(Refused):
            check("a_tool", "nonsense", mode)


@pytest.mark.parametrize("text", ["", "Full", "readonly", "read-only", "off", " full", "none"])
def test_a_mode_has_exactly_one_spelling(text: str) -> None:
    with pytest.raises(InvalidInput, match="session_mode") as error:
        session_mode(text)
    assert error.value.code == "palacelog::input::invalid"
    assert "full, read_only, disabled" in error.value.help
    with pytest.raises(InvalidInput):
        check("status", "control", text)


def test_a_spelling_that_is_one_is_given_back() -> None:
    assert [session_mode(mode) for mode in SESSION_MODES] == ["full", "read_only", "disabled"]


@pytest.mark.parametrize("ceiling", SESSION_MODES)
@pytest.mark.parametrize("mode", SESSION_MODES)
def test_no_class_passes_in_a_mode_above_the_ceiling(mode: str, ceiling: str) -> None:
    if least(mode, ceiling) == mode:
        check("a_tool", "control", mode, ceiling)
    else:
        with pytest.raises(Refused) as refusal:
            check("a_tool", "control", mode, ceiling)
        assert refusal.value.code == "palacelog::mode::above_ceiling"
