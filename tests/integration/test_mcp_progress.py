"""Progress of long operations, told to a client that asked for it."""

from __future__ import annotations

import asyncio

import pytest

from tests.mcp_clients import ERAS, SECONDS_MAX, answered, over_streams, session_of
from tests.palaces import Device, Fleet

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

VECTORS = {"embedder": "wordllama", "wait_seconds": 60}
PLACE = {"wing": "home", "room": "notes"}
TEXTS = [f"Note number {number}" for number in range(40)]


@pytest.fixture
def eve(fleet: Fleet) -> Device:
    return fleet.device("eve", vectors=VECTORS)


class Heard:
    """What a client heard of a call's progress."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, float | None]] = []
        self._last = asyncio.Event()

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        self.reports.append((done, total))
        if done == total:
            self._last.set()

    async def all(self) -> list[tuple[float, float | None]]:
        """What came, once the last of it has."""
        await asyncio.wait_for(self._last.wait(), SECONDS_MAX)
        return self.reports


async def test_embedding_tells_how_far_it_is(eve: Device, era: str) -> None:
    for text in TEXTS:
        eve.add_drawer(**PLACE, content=text)
    heard = Heard()
    async with over_streams(session_of(eve), era) as client:
        done = answered(await client.call_tool("embed", progress_callback=heard))
        assert done["embedded"] == 40
        assert await heard.all() == [(16, 40), (40, 40)]


async def test_a_checkpoint_of_many_texts_tells_how_far_it_is(eve: Device, era: str) -> None:
    heard = Heard()
    items = [{**PLACE, "content": text} for text in TEXTS]
    async with over_streams(session_of(eve), era) as client:
        done = answered(
            await client.call_tool("checkpoint", {"items": items}, progress_callback=heard)
        )
        assert done["stored"] == 40
        assert await heard.all() == [(16, 40), (32, 40), (40, 40)]


async def test_an_error_comes_through_beside_progress(ada: Device, era: str) -> None:
    async with over_streams(session_of(ada), era) as client:
        result = await client.call_tool("embed", progress_callback=Heard())
    assert result.is_error
    assert "palacelog::vectors::no_embedder" in result.content[0].text
