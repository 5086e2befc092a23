"""The child process of goal 8: replays a log into an empty palace and says how much memory it took.

python -m tests.benchmarks.replaying LOG COUNT PALACE
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from domain.acceptance import Appended
from domain.operation import Operation
from replay.log import Log
from tests.benchmarks.palaces import make

BATCH: Final = 500


def replay(source: Path, count: int, target: Path) -> dict[str, Any]:
    """Receive and project `count` events; peak memory in MB and rates in events per second."""
    before = _peak_mb()
    log = Log(source)
    times = [perf_counter()]
    with make(target) as house:
        for start in range(0, count, BATCH):
            page = log.after(start, min(BATCH, count - start))
            house.palace.writer.do(_turn(page))
            times.append(perf_counter())
        views_mb = house.generations.current().stat().st_size / 1e6
    log.close()
    tenth = max(1, (len(times) - 1) // 10)
    return {
        "rss_mb_before": before,
        "rss_mb": _peak_mb(),
        "rate": round(count / (times[-1] - times[0]), 1),
        "rate_first_tenth": round(tenth * BATCH / (times[tenth] - times[0]), 1),
        "rate_last_tenth": round(tenth * BATCH / (times[-1] - times[-1 - tenth]), 1),
        "views_mb": round(views_mb),
    }


def _turn(page: Sequence[Operation]) -> Callable[[Any], None]:
    def turn(at: Any) -> None:
        for operation in page:
            outcome = at.receive(operation.recorded, operation.order_hlc, lambda _: None)
            if not isinstance(outcome, Appended):
                raise AssertionError(f"{operation.position} was not taken: {outcome}")

    return turn


def _peak_mb() -> float:
    """Peak resident memory of this process.

    Not ru_maxrss where it can be helped: on Linux a child inherits its parent's, exec or not.
    """
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1024, 1)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(replay(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
