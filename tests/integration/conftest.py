"""Palaces for tests, and a clock that stands still.

`clock` freezes every clock of the process (`clock.move_to("2026-03-31T15:00Z")`); without it a test
runs in real time. Palaces lie in memory where there is room: what is tried here is no loss of
power, and each write waits for its fsync.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import freezegun
import pytest
from freezegun.api import FrozenDateTimeFactory

pytest.register_assert_rewrite("tests.palaces")

from tests.embedders import loaded  # noqa: E402 - after asserts are registered
from tests.palaces import Device, Fleet  # noqa: E402 - after its asserts are registered
from tests.samples import settings_for  # noqa: E402

# The writer is a thread: freezegun must not spare what threads call.
freezegun.configure(default_ignore_list=["_pytest.timing", "_pytest.terminal", "_pytest.runner"])

MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 2_000_000_000

if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES_MIN:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

START = "2026-03-31T15:00:00Z"


@pytest.fixture(autouse=True)
def _loaded_once() -> Iterator[None]:
    """Reading the files of an embedder takes longer than most tests."""
    with patch("projections.vectors.indexes.load", loaded):
        yield


@pytest.fixture
def clock() -> Iterator[FrozenDateTimeFactory]:
    with freezegun.freeze_time(START) as frozen:
        yield frozen


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Devices of one test; at its end each palace still open must equal its rebuild."""
    fleet = Fleet(tmp_path)
    yield fleet
    fleet.close()


@pytest.fixture(scope="module")
def still_clock() -> Iterator[FrozenDateTimeFactory]:
    """A clock that stands still for every test of a module."""
    with freezegun.freeze_time(START) as frozen:
        yield frozen


@pytest.fixture(scope="module")
def still_fleet(
    tmp_path_factory: pytest.TempPathFactory, still_clock: FrozenDateTimeFactory
) -> Iterator[Fleet]:
    """Devices of one module, for tests that change nothing."""
    fleet = Fleet(tmp_path_factory.mktemp("still"))
    yield fleet
    fleet.close()


@pytest.fixture
def ada(fleet: Fleet, request: pytest.FixtureRequest) -> Device:
    """A palace that knows all there is; with an embedder where the operation tested needs one."""
    call = getattr(request.node, "callspec", None)
    return fleet.device("ada", **settings_for("" if call is None else call.params.get("tool", "")))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
