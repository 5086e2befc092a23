"""A picture of the activity, drawn with matplotlib where that is installed.

Protects the install: the library is an extra, and nothing else needs it. Shows counts, no content.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from domain.errors import Refused, invalid


def check(path: Path) -> None:
    """That a picture can be drawn into a file, before the work for it is done.

    Raises:
        InvalidInput: the file's name does not end in .png.
        Refused: `palacelog::plot::not_installed`.
    """
    if path.suffix.lower() != ".png":
        raise invalid("--png", f"names {path}, which does not end in .png")
    if find_spec("matplotlib") is None:
        raise Refused(
            "plot::not_installed",
            "Pictures are drawn with matplotlib, which is not installed.",
            "Install `palacelog[plot]`, or leave --png out for bars in the terminal.",
        )


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw operations per day and per device into a PNG file.

    Args:
        document: `days` and `devices`, each with `operations`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    over_time, per_device = figure.subplots(2, 1)
    days, devices = document["days"], document["devices"]
    over_time.bar([row["day"] for row in days], [row["operations"] for row in days])
    over_time.set_ylabel("operations a day")
    over_time.tick_params(axis="x", labelrotation=45)
    per_device.barh([row["device"] for row in devices], [row["operations"] for row in devices])
    per_device.set_xlabel("operations")
    figure.savefig(path, format="png")
