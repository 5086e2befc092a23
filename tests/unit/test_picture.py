"""The picture of the activity: a PNG of a known size, a colour for each device."""

from __future__ import annotations

import struct
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy
import pytest
from matplotlib import colormaps, image

from palacelog.picture import DEVICES_MAX, DOTS_PER_INCH, SIZE_INCHES, draw

GREY = (204, 204, 204)
WIDTH, HEIGHT = (side * DOTS_PER_INCH for side in SIZE_INCHES)


def rows(days: int, devices: int) -> list[dict[str, Any]]:
    """As many operations on each day on each device."""
    first = date(2026, 2, 20)
    return [
        {"day": str(first + timedelta(day)), "device": f"device-{number}", "operations": 5}
        for day in range(days)
        for number in range(devices)
    ]


def colours(file: Path) -> dict[tuple[int, ...], int]:
    """The colours of a picture, and how many of its dots have each."""
    dots = (image.imread(file)[:, :, :3] * 255).round().astype(int) @ [1 << 16, 1 << 8, 1]
    found, counted = numpy.unique(dots, return_counts=True)
    return {
        (dot >> 16, dot >> 8 & 255, dot & 255): count
        for dot, count in zip(found.tolist(), counted.tolist(), strict=True)
    }


def of_device(number: int) -> tuple[int, ...]:
    return tuple(round(part * 255) for part in colormaps["tab10"](number)[:3])


@pytest.mark.parametrize("days", [0, 1, 120, 121])
def test_a_picture_is_a_png_of_a_known_size(tmp_path: Path, days: int) -> None:
    draw(rows(days, 2), tmp_path / "activity.png")
    head = (tmp_path / "activity.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">4sII", head[12:24]) == (b"IHDR", WIDTH, HEIGHT)


@pytest.mark.parametrize("days", [1, 30, 400])
def test_each_device_has_a_colour_and_as_much_of_it_as_it_recorded(
    tmp_path: Path, days: int
) -> None:
    draw(rows(days, 3), tmp_path / "activity.png")
    found = colours(tmp_path / "activity.png")
    areas = [found[of_device(number)] for number in range(3)]
    assert min(areas) > 0.9 * max(areas) > 1_000
    assert of_device(3) not in found


def test_devices_beyond_the_busiest_are_drawn_together(tmp_path: Path) -> None:
    draw(rows(10, DEVICES_MAX), tmp_path / "all.png")
    draw(rows(10, DEVICES_MAX + 2), tmp_path / "more.png")
    assert GREY not in {dot for dot, dots in colours(tmp_path / "all.png").items() if dots > 1_000}
    assert colours(tmp_path / "more.png")[GREY] > 1_000


def test_the_library_is_loaded_for_a_picture_alone() -> None:
    code = (
        "import palacelog.picture, palacelog.cli.main, sys; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
