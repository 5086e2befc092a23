"""Loading: no garbage is looked for meanwhile, and it is again afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from palacelog.loading import loading


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_garbage_is_not_looked_for_while_modules_are_loaded() -> None:
    before = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before


def test_garbage_is_looked_for_again_where_a_module_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
