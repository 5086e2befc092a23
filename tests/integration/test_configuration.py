"""The settings that change what history means are in the log, not in a file alone."""

from __future__ import annotations

from tests.command_line import CommandLine
from tests.palaces import Device, Fleet, fingerprint

RICH = {"memory": {"mode": "rich"}}
PLACE = {"wing": "home", "room": "notes"}


def recorded(device: Device) -> list[dict[str, object]]:
    found = device.list_operations(tool="configuration_recorded")["operations"]
    shown = [device.show_operation(op_id=one["op_id"])["operation"] for one in reversed(found)]
    return [one["payload"]["settings"] for one in shown]


def test_a_palace_with_its_defaults_records_nothing(ada: Device) -> None:
    ada.reopen()
    assert ada.position() == 0


def test_settings_are_recorded_when_they_change_and_only_then(ada: Device) -> None:
    ada.add_drawer(**PLACE, content="flat")
    ada.reopen(**RICH)
    ada.reopen(**RICH)
    ada.add_drawer(**PLACE, content="rich")
    ada.reopen()
    assert recorded(ada) == [{"memory": {"mode": "rich"}}, {"memory": {"mode": "flat"}}]
    modes = [one["memory_mode"] for one in ada.list_operations(tool="add_drawer")["operations"]]
    assert modes == ["rich", "flat"]


def test_a_command_records_under_the_settings_that_it_was_run_with(ada: Device) -> None:
    ada.close()
    line = CommandLine(ada.folder, PALACELOG_MEMORY__MODE="rich")
    line("add", "rich", "--wing", "home", "--room", "notes")
    line("list")
    found = line("log", "list", "--reads")["operations"]
    modes = {one["tool"]: one["memory_mode"] for one in found}
    assert (modes["add_drawer"], modes["list_drawers"]) == ("rich", "rich")


def test_a_session_that_may_not_write_records_nothing(ada: Device) -> None:
    for mode in ("read_only", "disabled"):
        ada.reopen(**RICH, session_mode=mode)
        assert ada.position() == 0
    before = fingerprint(ada.house)
    ada.reopen()
    assert fingerprint(ada.house) == before


def test_what_a_device_recorded_travels_and_is_of_that_device(fleet: Fleet) -> None:
    ada, bob = fleet.device("ada", **RICH), fleet.device("bob")
    fleet.share()
    fleet.agrees()
    assert recorded(bob) == [{"memory": {"mode": "rich"}}]
    bob.reopen()
    assert bob.position() == 1
    ada.reopen(**RICH)
    assert ada.position() == 1
