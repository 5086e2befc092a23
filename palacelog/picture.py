"""A picture of the activity, drawn with matplotlib where that is installed.

Protects the install: the library is an extra, and nothing else needs it. Shows counts, no content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from domain.errors import Refused, invalid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_INCHES: Final = (10, 5)
DOTS_PER_INCH: Final = 150
BARS_MAX: Final = 120
"""A bar stands for more than a day where there would be more of them."""
BARS_MIN: Final = 8
DATES_MAX: Final = 7
DEVICES_MAX: Final = 7
OTHERS: Final = "others"


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


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw operations over time into a PNG file, each device in a colour of its own.

    Args:
        rows: `{day, device, operations}`, one for each day and device; days as `2026-03-31`, UTC.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.subplots()
    if rows:
        _stack(axes, rows)
    else:
        axes.text(0.5, 0.5, "No operations were recorded.", ha="center", transform=axes.transAxes)
        axes.set_axis_off()
    figure.savefig(path, format="png")


def _stack(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """A bar for each day (or more, where the time is long), its parts the devices."""
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    days = [date.fromisoformat(row["day"]) for row in rows]
    first, last = min(days), max(days)
    step = 1 + (last - first).days // BARS_MAX
    starts = [first + timedelta(days=number) for number in range(0, (last - first).days + 1, step)]
    places = range(len(starts))
    below = [0] * len(starts)
    for number, (device, counted) in enumerate(_parts(rows, days, starts, step).items()):
        colour = "0.8" if device == OTHERS else colormaps["tab10"](number)
        label = f"{device} ({sum(counted):,})"
        axes.bar(places, counted, 0.9, bottom=below, color=colour, label=label)
        below = [low + high for low, high in zip(below, counted, strict=True)]
    when = f"on {first}" if first == last else f"from {first} to {last}"
    axes.set_title(f"Operations recorded {when} (UTC)")
    axes.set_ylabel("operations a day" if step == 1 else f"operations in {step} days")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    room = max(0.5, (BARS_MIN - len(starts)) / 2)
    axes.set_xlim(-0.5 - room, len(starts) - 0.5 + room)
    shown = places[:: 1 + (len(starts) - 1) // DATES_MAX]
    axes.set_xticks(shown, [str(starts[place]) for place in shown])
    axes.legend(title="device", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _parts(
    rows: Sequence[Mapping[str, Any]], days: Sequence[date], starts: Sequence[date], step: int
) -> dict[str, list[int]]:
    """How much of each bar is whose: the busiest devices first, the rest together."""
    totals = Counter[str]()
    for row in rows:
        totals[row["device"]] += row["operations"]
    busiest = [device for device, _ in totals.most_common(DEVICES_MAX)]
    named = busiest + [OTHERS] * (len(totals) > len(busiest))
    parts = {device: [0] * len(starts) for device in named}
    for row, day in zip(rows, days, strict=True):
        device = row["device"] if row["device"] in parts else OTHERS
        parts[device][(day - starts[0]).days // step] += row["operations"]
    return parts
