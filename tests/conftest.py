"""How much the property tests draw: HYPOTHESIS_PROFILE=deep raises it, CI makes it repeatable."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

# Tests that are not of vectors need no model; those that are name an embedder.
os.environ.setdefault("PALACELOG_VECTORS__EMBEDDER", "none")
pytest.register_assert_rewrite("tests.folds", "tests.memory_engine")

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("deep", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)


def pytest_collection_finish() -> None:
    """Thousands of collected tests are no garbage to look through again and again."""
    gc.collect()
    gc.freeze()
