"""What the tests with processes of their own share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.palaces")

from tests.palaces import Device, Fleet  # noqa: E402 - after its asserts are registered


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Devices of one test; at its end each palace still open must equal its rebuild."""
    fleet = Fleet(tmp_path)
    yield fleet
    fleet.close()


@pytest.fixture
def ada(fleet: Fleet) -> Device:
    """A palace that knows all there is."""
    return fleet.device("ada")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
