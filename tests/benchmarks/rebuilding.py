"""Rebuilding every view: against only reading and decoding the same log."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from palacelog.bootstrap import House
from replay.log import Log
from replay.rebuild import rebuild
from tests.benchmarks.measuring import Goal, Report, Sizes
from tests.benchmarks.palaces import with_history

PAGE: Final = 1_000
ROUNDS: Final = 5


def rebuild_against_scan(folder: Path, sizes: Sizes) -> Report:
    """Goal 4: `rebuild` of a mixed history of several devices / scanning the same log with the
    library alone (`select_notifications` in pages of 1,000, and `Mapper.to_domain_event`).

    The scan goes on a piece at a time whenever the rebuild tells its progress, so that both take
    their turns on a busy machine; its time is taken off the rebuild's.
    """
    count = sizes.of(100_000, 10_000)
    with with_history(folder / "palace", count) as house:
        rounds = [_round(house) for _ in range(ROUNDS)]
        views_mb = house.generations.current().stat().st_size / 1e6
    absolute = {
        "rebuild events per s": round(count / median(own for own, _ in rounds), 1),
        "scan and decode events per s": round(count / median(scan for _, scan in rounds), 1),
        "views MB": round(views_mb, 1),
    }
    return Report(
        [
            Goal(
                number=4,
                name="rebuild",
                compares=f"rebuild of {count:,} mixed operations / scan and decode of the same log",
                ratio=median(scan / own for own, scan in rounds),
                bound=0.05,
                at_least=True,
                absolute=absolute,
                reasons=f"{ROUNDS} rounds",
            )
        ]
    )


def _round(house: House) -> tuple[float, float]:
    """Seconds of a rebuild and of a scan of the same log, taken in turns."""
    scan = _Scan(house.log)
    started = perf_counter()
    rebuild(house.log, house.generations, house.lock, lambda done, total: scan.up_to(done))
    whole = perf_counter() - started
    if scan.position != house.log.position():
        raise AssertionError("the scan did not reach the end of the log")
    return whole - scan.seconds, scan.seconds


class _Scan:
    """Reads and decodes a log a piece at a time."""

    def __init__(self, log: Log) -> None:
        self._recorder, self._mapper = log.app.recorder, log.app.mapper
        self.position = 0
        self.seconds = 0.0

    def up_to(self, position: int) -> None:
        """Go on to a position."""
        started = perf_counter()
        while self.position < position:
            page = self._recorder.select_notifications(
                self.position, PAGE, inclusive_of_start=False
            )
            for one in page:
                self._mapper.to_domain_event(one)
            self.position = page[-1].id
        self.seconds += perf_counter() - started
