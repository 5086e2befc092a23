"""What a session mode lets through, for every operation of the catalog."""

from __future__ import annotations

import pytest

from domain.catalog import CATALOG
from domain.errors import InvalidInput, PalaceError
from domain.gate import CONTROL, READ
from domain.jobs import STEERING
from domain.operation import Context
from palacelog.bootstrap import open_palace
from tests.palaces import Device, Fleet, digest_of
from tests.samples import SAMPLES, Known, furnished

Palace = tuple[Device, Known]
UNKNOWN = ["drop_everything", "mempalace_add_drawer", "Status", "get_drawer ", ""]


@pytest.fixture(scope="module")
def palace(still_fleet: Fleet) -> Palace:
    """One palace for all that the gate stops."""
    device = still_fleet.device("ada")
    return device, furnished(device)


def allowed(tool: str, mode: str) -> bool:
    kind = CATALOG[tool].operation_class
    return mode == "full" or kind == CONTROL or (mode == "read_only" and kind == READ)


@pytest.mark.parametrize("mode", ["read_only", "disabled"])
@pytest.mark.parametrize("tool", sorted(SAMPLES))
def test_a_mode_lets_through_what_it_allows_and_refuses_the_rest(
    palace: Palace, tool: str, mode: str
) -> None:
    ada, known = palace
    session, given, before = ada.by(session_mode=mode), SAMPLES[tool](known), ada.position()
    if allowed(tool, mode):
        session.call(tool, given)
    else:
        with ada.refuses("mode::forbidden"):
            session.call(tool, given)
    # A job can be steered by whoever asks, and that is recorded.
    assert ada.position() == before + (tool in STEERING)


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_a_refusal_comes_before_the_arguments_are_looked_at(palace: Palace, tool: str) -> None:
    ada, _ = palace
    if not allowed(tool, "disabled"):
        with ada.refuses("mode::forbidden"):
            ada.by(session_mode="disabled").call(tool, {"nonsense": object()})


@pytest.mark.parametrize("tool", UNKNOWN)
def test_an_unknown_tool_is_refused_as_a_write_would_be(palace: Palace, tool: str) -> None:
    ada, _ = palace
    for mode in ("read_only", "disabled"):
        with ada.refuses("mode::forbidden"):
            ada.house.palace.call(tool, {}, Context(session_mode=mode))
    with ada.refuses("input::unknown_tool"):
        ada.house.palace.call(tool, {}, Context(session_mode="full"))


@pytest.mark.parametrize("mode", ["", "FULL", "read-only", "readonly", "off", "none", "full "])
@pytest.mark.parametrize("tool", ["status", "list_drawers", "add_drawer", "nonsense"])
def test_only_the_three_spellings_are_session_modes(palace: Palace, tool: str, mode: str) -> None:
    ada, _ = palace
    with ada.refuses("input::invalid", "session_mode"):
        ada.house.palace.call(tool, {}, Context(session_mode=mode))


def test_the_mode_of_a_call_is_recorded_with_it(ada: Device) -> None:
    told = ada.by(session_mode="full").add_drawer(wing="w", room="r", content="c")
    assert ada.show_operation(op_id=told["op_id"])["operation"]["session_mode"] == "full"


@pytest.mark.parametrize("mode", ["read_only", "disabled"])
def test_a_palace_opened_in_a_mode_has_it_for_calls_that_name_none(
    ada: Device, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = furnished(ada)
    before = digest_of(ada.house)
    monkeypatch.setenv("PALACELOG_MODE", mode)
    ada.reopen()
    for tool in CATALOG:
        if not allowed(tool, mode):
            with pytest.raises(PalaceError) as caught:
                ada.call(tool, SAMPLES[tool](known))
            assert caught.value.code == "palacelog::mode::forbidden"
    assert digest_of(ada.house) == before
    ada.status()


def test_a_mode_that_is_none_stops_the_opening(
    ada: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALACELOG_MODE", "off")
    with pytest.raises(InvalidInput, match="PALACELOG_MODE"):
        open_palace(ada.folder)
    monkeypatch.delenv("PALACELOG_MODE")
