"""What the fault tests share; what they measured is told at the end of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.register_assert_rewrite(
    "tests.palaces", "tests.faults.processes", "tests.faults.judging", "tests.faults.damage"
)

_told = pytest.StashKey[list[str]]()


@pytest.fixture
def tell(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Say something in the summary of the run."""
    return pytestconfig.stash.setdefault(_told, []).append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(_told, []):
        terminalreporter.write_line(line)
