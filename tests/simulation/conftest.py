"""Which histories are told: `--seed` names the first, `--histories` says how many.

make simulate ARGS="--seed=1234 --histories=1 --shrink"
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.register_assert_rewrite(
    "tests.simulation.checks", "tests.simulation.fleet", "tests.simulation.post"
)

HISTORIES = 100
MEMORY = Path("/dev/shm")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=1, help="seed of the first history")
    parser.addoption("--histories", type=int, default=HISTORIES, help="how many histories")
    parser.addoption("--shrink", action="store_true", help="leave out steps of what fails")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first = metafunc.config.getoption("--seed")
        seeds = list(range(first, first + metafunc.config.getoption("--histories")))
        metafunc.parametrize("seed", seeds, ids=lambda seed: f"seed={seed}")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place for the palaces of one history: in memory where there is such a place, for what is
    simulated is no loss of power, and each write waits for its fsync.
    """
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="palacelog-", dir=memory) as place:
        yield Path(place)


@pytest.fixture(scope="session")
def seen() -> Counter[str]:
    """What happened in all histories together."""
    return Counter()
